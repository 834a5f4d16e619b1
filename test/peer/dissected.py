# SPDX-License-Identifier: BSD-3-Clause
"""What tshark makes of a capture with config/wireshark/longhaul.lua."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import frames

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "config/wireshark/longhaul.lua"
TSHARK = shutil.which("tshark")
SEPARATOR = "\x1f"


def tshark(capture, *arguments):
    """Standard output; RuntimeError with what tshark complained of, an error of the script too."""
    with tempfile.TemporaryDirectory(prefix="longhaul-wireshark-") as home:  # no settings but ours
        run = subprocess.run([TSHARK, "-X", f"lua_script:{SCRIPT}", "-n", "-r", capture, *arguments], capture_output=True,
                             text=True, timeout=60, env=os.environ | {"HOME": home, "XDG_CONFIG_HOME": home})
    complaints = [line for line in run.stderr.splitlines() if not line.startswith("Running as user")]
    if run.returncode or complaints or "Lua Error" in run.stdout:
        lua = [line for line in run.stdout.splitlines() if "Lua Error" in line]
        raise RuntimeError(f"tshark: exit code {run.returncode}\n" + "\n".join((complaints + lua)[:10]))
    return run.stdout


def fields(listed, names, *options, most=65535):
    """For each frame: {name: text}, with all values of a field, separated by commas."""
    with tempfile.TemporaryDirectory(prefix="longhaul-dissector-") as directory:
        capture = pathlib.Path(directory) / "peers.pcap"
        frames.write_pcap(capture, listed, most)
        wanted = [argument for name in names for argument in ("-e", name)]
        text = tshark(capture, *options, "-T", "fields", "-E", f"separator={SEPARATOR}", *wanted)
        tshark(capture, *options, "-V")  # an error of the script is a text in the tree
    return [dict(zip(names, line.split(SEPARATOR))) for line in text.split("\n")[:-1]]
