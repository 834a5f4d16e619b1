# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory: real RDMA hosts, boxes and a long link, each a process in a network namespace of its own."""
