# SPDX-License-Identifier: BSD-3-Clause
"""Published figures about RDMA over long distances, as their sources print them. Nothing here is ours.

NTT-TR: Long-distance RDMA-acceleration Frameworks, NTT Technical Review 22(3), 2024.
NTT-PoC: IOWN Global Forum, RDMA over Open APN PoC Report, June 2024 (100G, distance emulated).
CHT-PoC: IOWN Global Forum, RDMA over Open APN between two DCI physical nodes, November 2024 (380 km of fibre).
SNIA: Optimizing NVMe over Fabrics performance, April 2021 (no distance).
ASTRON: RoCE for radio telescope data transport, MSc thesis.
"""
KIB, MIB = 1 << 10, 1 << 20

# N1, NTT-TR: RC WRITE by perftest at 100 Gbit/s; Gbit/s by km. Neither message size nor depth is given.
STANDARD_BY_KM = {10: 25.0, 100: 3.0, 1000: 0.3}

# N2, NTT-TR: the formula's example, 100 km; the rest is the same formula's, km to depth and back.
FRAME_BYTES = 4178
DEPTH_BY_KM = {10: 299, 20: 598, 100: 2991, 200: 5983, 380: 11369, 1000: 29918, 1534: 45895}
KM_BY_DEPTH = {128: 4.28, 2048: 68.5, 8192: 273.8, 16384: 547.6}
DEPTH_BY_FRAME = {590: 21186, 334: 37425}  # 512 B and 256 B of payload and 78 B more, 100 km
BANDWIDTH_DELAY_MB = {100: 12.5, 1534: 191.75}

# N3, NTT-TR: the accelerator, RC WRITE, 500 us one way.
GAIN_AT_512 = 35
AHEAD_OF_DEEP_FROM = 256
NOT_AHEAD_AT = 8192  # the one size at which theirs was not

# N4, CHT-PoC: perftest over 380 km, RTT 3.81 ms; 4 QPs for WRITE and SEND, 16 for READ; the maximum of 20 runs, Gbit/s.
RTT_380_MS = 3.81
SIZES_380 = tuple(4 * KIB << i for i in range(9)) + (8 * MIB,)
RATE_380 = {
    "write": (4.40, None, 17.56, 35.09, 69.91, 97.68, 97.98, 98.12, 98.20, 98.26),  # None: a misprint
    "send": (4.36, 8.72, 17.44, 34.81, 69.30, 91.68, 92.20, 92.44, 92.57, 92.69),
    "read": (2.19, 4.39, 8.78, 17.54, 35.06, 69.87, 97.92, 98.14, 98.20, 98.26),
}
QPS_380 = {"write": 4, "send": 4, "read": 16}
# us, by bytes
LATENCY_380 = {
    "write": {2: 1907.2, 4 * KIB: 1905.3, 64 * KIB: 1911.9, MIB: 1994.2, 8 * MIB: 2605.5},
    "send": {2: 1905.2, 4 * KIB: 1904.9, 64 * KIB: 1909.8, MIB: 1997.7, 8 * MIB: 2649.4},
    "read": {2: 3810.6, 4 * KIB: 3808.5, 64 * KIB: 3814.2, MIB: 3903.5, 8 * MIB: 4523.7},
}

# N5, NTT-PoC.
NIC_BEST = 98.27  # Gbit/s, WRITE, SEND and READ
LATENCY_1534_KM_MS = (8.5, 8.33)  # of 8 MiB, two cards
RAMP_UP_100_KM = {"write": 256, "read": 32 * KIB}  # bytes at which the rate begins to be of use; READ with one QP
READ_STALL_100_KM_MS = 0.992  # with 16 READs of 4096 B

# N6, NTT-PoC and SNIA.
NVME_BEST, NVME_1000_KM = 90.4, (25.0, 13.5)  # Gbit/s
SNIA_4K = {"random write": (573024, 0.224), "random read": (523214, 0.245)}  # IOPS, ms
SNIA_OUTSTANDING = 128

# N8, ASTRON.
STREAMS, STREAM_MBPS, STREAMS_GBPS, STREAM_MESSAGE = 2000, 45, 90, 16 * KIB
EFFICIENCY = 98.1  # per cent: 4096 / (4096 + 78)
