# SPDX-License-Identifier: BSD-3-Clause
"""The status page as a browser shows it: headless Chromium, light and dark."""
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

from lab.process import LabError, spawn, stop

# Titles of the plots, and what stands in a page that has got its data.
SHOWN = ("Host port", "WAN port", "Requests", "Custody", "Round trip on the WAN", "Repair", "Busiest worker",
         "Busiest pairs of hosts", "Unconfirmed", "link up", "all running")


def program():
    """Its path, or None."""
    return shutil.which("chromium-headless-shell")


def chromium(namespace, profile, *words, timeout=300):
    """Runs it to its end; what it printed, and what it said (the console of the page too)."""
    process = spawn(
        # Root has no sandbox; the page is our own.
        [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad",
         f"--user-data-dir={profile}", "--enable-logging=stderr", "--log-level=0", "--hide-scrollbars",
         "--virtual-time-budget=4000", *words],
        namespace=namespace, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"the browser did not end within {timeout} s") from error
    finally:
        stop(process, grace=1)
    return out.decode(errors="replace"), said.decode(errors="replace")


def png_colours(data):
    """Different bytes in the decoded rows of a PNG: a page that shows nothing has few."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise LabError("no PNG")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(packed)))


def check_status_page(url, namespace, directory, say, also=()):
    """Its text has what it should and `also`, no error is in the console, and what is drawn is not blank."""
    with tempfile.TemporaryDirectory() as profile:
        page, said = chromium(namespace, profile, "--dump-dom", url)
        errors = [line for line in said.splitlines() if "CONSOLE" in line]
        if errors:
            raise LabError("the page's console: " + "; ".join(errors))
        absent = [text for text in (*SHOWN, *also) if text not in page]
        state = re.search(r'id="state"[^>]*class="(\w+)"|class="(\w+)"[^>]*id="state"', page)
        if absent or not state or "running" not in state.groups():
            raise LabError(f"the page lacks {absent}, state {state and state.groups()}:\n{page[-2000:]}")
        lines = set(re.findall(r'data-column="(\w+)"', page))
        if not {"host_receive_bits", "custody_bytes", "resends", "busy"} <= lines:
            raise LabError(f"only these lines are drawn: {lines}")
        for name, words in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
            shot = directory / f"status-{name}.png"
            chromium(namespace, profile, f"--screenshot={shot}", "--window-size=1280,1250", *words, url)
            if not shot.is_file() or png_colours(shot.read_bytes()) < 40:
                raise LabError(f"{shot} is blank")
        say(f"status page drawn: {directory}/status-light.png, status-dark.png")
