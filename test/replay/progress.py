# SPDX-License-Identifier: BSD-3-Clause
"""The line that says how far a replay is: on a terminal only, and gone at the end."""
import os
import pathlib
import pty
import re
import subprocess
import time

import capture
from command_lines import NEAR
from edges import BASE, edge, load
from program import TIMEOUT

REPEATS = 50  # more frames than the program replays between two looks at the clock


def errors_on_terminal(longhaul, data, *options):
    """Standard error, a terminal, of a replay whose second half comes later than the line is due."""
    main, terminal = pty.openpty()
    with subprocess.Popen([longhaul.path, "replay", "-", "--near", NEAR, *options], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=terminal) as process:
        os.close(terminal)
        process.stdin.write(data[:len(data) // 2])
        process.stdin.flush()
        time.sleep(1)
        process.stdin.write(data[len(data) // 2:])
        process.stdin.close()
        seen = b""
        while True:
            try:
                got = os.read(main, 4096)
            except OSError:  # how Linux says that nobody has the terminal open any more
                break
            if not got:
                break
            seen += got
        process.wait(TIMEOUT)
    os.close(main)
    return process.returncode, seen.decode()


@edge
def progress_line(longhaul, directory):
    path = pathlib.Path(directory) / "long.pcap"
    capture.write_pcap(path, load(BASE) * REPEATS)
    data = path.read_bytes()
    _, seen = errors_on_terminal(longhaul, data)
    if not re.search(r"\r\x1b\[K-: \d+ frames, \d+ a second", seen) or not seen.endswith("\r\x1b[K"):
        yield f"on a terminal: {seen!r}"
    _, quiet = errors_on_terminal(longhaul, data, "--quiet")
    if quiet:
        yield f"with --quiet: {quiet!r}"
    done = longhaul.raw(path, "--near", NEAR)
    if done.stderr:
        yield f"without a terminal: {done.stderr!r}"
