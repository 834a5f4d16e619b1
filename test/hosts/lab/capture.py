# SPDX-License-Identifier: BSD-3-Clause
"""Captures of the last frames of a run: rings of bounded size, kept only when the run fails."""
import signal

from .process import spawn, stop

# Headers up to the AETH and RETH, with room for VLAN tags and IPv6; the payload would only fill the disk.
SNAP_LENGTH = 160
RING_FILES, RING_MEGABYTES = 2, 16


class Captures:
    """tcpdump at each of `points`, (role, interface)."""

    def __init__(self, network, points, directory):
        self._directory = directory
        self._running = []
        directory.mkdir()
        for role, interface in points:
            # Immediate mode and a large buffer, or the last frames (the disconnect) are missing.
            with open(directory / f"{role}-{interface}.log", "wb") as log:
                self._running.append(spawn(
                    ["tcpdump", "--immediate-mode", "-B", 65536, "-Z", "root", "-n", "-i", interface,
                     "-s", SNAP_LENGTH, "-C", RING_MEGABYTES, "-W", RING_FILES,
                     "-w", directory / f"{role}-{interface}.pcap"],
                    namespace=network.namespace(role), stdout=log, stderr=log))

    def stop(self, keep):
        for process in self._running:
            process.send_signal(signal.SIGINT)
        for process in self._running:
            stop(process)
        self._running = []
        if not keep:
            for file in self._directory.iterdir():
                file.unlink()
            self._directory.rmdir()
