# SPDX-License-Identifier: BSD-3-Clause
"""Captures compressed by gzip and zstd themselves, and what damage and pipes do to them."""
import gzip
import json
import pathlib
import subprocess

from edges import BASE, CLIENT, edge, findings
from program import CAPTURES

NEAR = CLIENT[0]


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, capture_output=True, check=True).stdout


def packed(whole):
    half = len(whole) // 2
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0\0\0\0\0"  # with which pzstd begins
    return {
        "gzip": gzip.compress(whole),
        "gzip, stored": gzip.compress(whole, 0),
        "gzip of several members": b"".join(gzip.compress(whole[at:at + 1000]) for at in range(0, len(whole), 1000)),
        "zstd": zstd(whole),
        "zstd with a checksum": zstd(whole, "--check"),
        "zstd of two frames": zstd(whole[:half]) + zstd(whole[half:]),
        "zstd with a skippable frame": skippable + zstd(whole),
    }


@edge
def compressed_captures(longhaul, directory):
    """One report, whatever the compression, the name and the way in: found by the first bytes."""
    whole = (CAPTURES / f"{BASE}.pcap").read_bytes()
    base = longhaul.replay(CAPTURES / f"{BASE}.pcap", CLIENT)
    path = pathlib.Path(directory) / "capture.pcap"
    for name, data in packed(whole).items():
        path.write_bytes(data)
        run = longhaul.replay(path, CLIENT)
        if run.exit_code != 0 or findings(run) != findings(base) or run.out != base.out:
            yield f"{name}: another result than the original's: exit {run.exit_code}, {run.stderr.strip()}"
    for name, data in {"uncompressed": whole, **packed(whole)}.items():
        path.write_bytes(data)
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as sender:
            done = longhaul.raw("-", "--near", NEAR, "--json", stdin=sender.stdout)
        if done.returncode != 0 or json.loads(done.stdout) != {**base.report, "capture": "-"}:
            yield f"{name} through a pipe: exit {done.returncode}: {done.stdout}{done.stderr}"


@edge
def damaged_compressed_captures(longhaul, directory):
    """Exit 2 and a message that says where and what, never a part taken for the whole."""
    whole = (CAPTURES / f"{BASE}.pcap").read_bytes()
    path = pathlib.Path(directory) / "in.pcap.gz"
    stored = bytearray(gzip.compress(whole, 0))
    stored[len(stored) // 2] ^= 1  # only the CRC at the end tells
    checked = bytearray(zstd(whole, "--check"))
    checked[-1] ^= 1
    damaged = {
        "gzip cut": (gzip.compress(whole)[:-2000], "gzip: the file ends inside the compressed data"),
        "gzip cut before its CRC": (gzip.compress(whole)[:-8], "gzip: the file ends inside the compressed data"),
        "gzip changed": (bytes(stored), "gzip: incorrect data check"),
        "gzip with something behind": (gzip.compress(whole) + b"tail", "gzip: incorrect header check"),
        "gzip of text": (gzip.compress(b"to be or not to be" * 100), "unknown file format"),
        "gzip of nothing": (gzip.compress(b""), "truncated dump file"),
        "gzip of a cut capture": (gzip.compress(whole[:len(whole) // 2]), "truncated dump file"),
        "gzip of a damaged capture": (gzip.compress(whole[:1000] + b"\xff" * 100000), "after frame"),
        "zstd cut": (zstd(whole)[:-2000], "zstd: the file ends inside the compressed data"),
        "zstd changed": (bytes(checked), "zstd: Restored data doesn't match checksum"),
        "first bytes only": (b"\x1f\x8b", "gzip: the file ends inside the compressed data"),
    }
    for name, (data, words) in damaged.items():
        path.write_bytes(data)
        done = longhaul.raw(path, "--near", NEAR)
        if done.returncode != 2 or str(path) not in done.stderr or words not in done.stderr or done.stdout:
            yield f"{name}: exit {done.returncode}, stderr {done.stderr!r}, {len(done.stdout)} bytes on stdout"
    done = longhaul.raw(directory, "--near", NEAR)
    if done.returncode != 2 or "Is a directory" not in done.stderr:
        yield f"a directory: exit {done.returncode}, stderr {done.stderr!r}"
