# SPDX-License-Identifier: BSD-3-Clause
"""What all of `longhaul plan` prints: help that leads to a plot, one table three ways, pictures, failures."""
import os
import pathlib
import re
import shlex
import shutil
import stat
import struct
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib

from plan_program import Plan, expect

COMMANDS = {
    "throughput": ("--distance", "100km"),
    "depth": ("--distance", "100km"),
    "buffer": ("--distance", "100km", "--loss", "1e-6", "--burst", "10ms"),
    "workload": ("retail-web",),
}
PLOTTED = [(name, *arguments) for name, arguments in COMMANDS.items()] + [
    ("throughput", "--distance", "1km", "1000km", "--message", "64KiB"),
    *(("workload", name) for name in ("vm-migration", "database", "radio-telescope")),
]


def examples(plan):
    """the examples in the help of the four commands run as they stand, in their order; so does the parent's"""
    with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as directory:
        shutil.copy(pathlib.Path(__file__).resolve().parents[2] / "config" / "workloads" / "gps.yaml",
                    pathlib.Path(directory) / "my-own.yaml")
        (pathlib.Path(directory) / "longhaul").symlink_to(pathlib.Path(plan.program).resolve())
        environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}
        for path in ((), *((name,) for name in COMMANDS)):
            lines = re.findall(r"^  (longhaul (?:plan|run) .*)$", plan.text(*path, "--help"), re.M)
            expect(lines, f"no example in the help of plan {' '.join(path)}")
            for line in lines:
                done = subprocess.run(["/bin/sh", "-c", line], cwd=directory, env=environment, capture_output=True, text=True,
                                      timeout=300, check=False)
                expect(done.returncode == 0, f"{line}: exit code {done.returncode}: {done.stderr}")
                if "--plot" in line:
                    words = shlex.split(line)
                    expect((pathlib.Path(directory) / words[words.index("--plot") + 1]).stat().st_size > 1000, f"{line}: no picture")


def value_of(text):
    """A CSV field as the number that it may be."""
    if text in ("", "True", "False", "true", "false"):
        return {"": None, "true": True, "false": False}.get(text.lower(), text)
    try:
        return float(text)
    except ValueError:
        return text


def alike(plan):
    """text, CSV and JSON have the same rows, each with its kind"""
    key = {"throughput": "rows", "depth": "frames", "buffer": "custody", "workload": "ways"}
    for name, arguments in COMMANDS.items():
        rows, objects = plan.csv(name, *arguments), plan.json(name, *arguments)
        listed = objects[key[name]]
        expect(objects["kind"] == "calculated" and all(row["kind"] == "calculated" for row in rows), f"{name}: a row without kind")
        expect(len(rows) == len(listed) and rows, f"{name}: {len(rows)} rows of CSV, {len(listed)} of JSON")
        for row, one in zip(rows, listed):
            for column, value in one.items():
                if column != "kinds":
                    wanted = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
                    expect(value_of(row[column]) == wanted, f"{name}: {column} is {row[column]} in CSV and {value} in JSON")
        text = plan.text(name, *arguments)
        expect(len(re.findall(r"^(?:-+ +)+-+$", text, re.M)) >= 1 and "(calculated)" in text, f"{name}: no table with its kind")
        table = re.split(r"^(?:-+ +)+-+\n", text, flags=re.M)[1]
        expect(len(table.split("\n\n")[0].splitlines()) == len(rows), f"{name}: another number of rows in the text")


def check_svg(path, where):
    """Well-formed, has curves, its title and its kind."""
    tree = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    words = " ".join("".join(text.itertext()) for text in tree.iter(f"{space}text"))
    expect("(calculated)" in words, f"{where}: the picture does not say that it is calculated: {words[:200]}")
    curves = [one for one in tree.iter(f"{space}path") if len(one.get("d", "").split("L")) > 10 or one.get("d", "").count("\n") > 5]
    expect(curves, f"{where}: no curve")


def check_png(data, where):
    """Its checksums are right, and it is not of one colour."""
    expect(data.startswith(b"\x89PNG\r\n\x1a\n"), f"{where}: no PNG")
    at, pixels = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        expect(zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], f"{where}: damaged")
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
            expect(width >= 900 and height >= 500, f"{where}: {width} x {height}")
        pixels += body if kind == b"IDAT" else b""
        at += 12 + length
    expect(len(set(zlib.decompress(pixels))) > 20, f"{where}: an empty picture")


def pictures(plan):
    """each command draws SVG and PNG with curves and a title that says what they are"""
    for arguments in PLOTTED:
        with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as directory:
            for ending in ("svg", "png"):
                path = pathlib.Path(directory) / f"it's a plot.{ending}"
                printed = plan.text(*arguments, "--plot", path)
                expect(printed == plan.text(*arguments), f"{arguments}: prints something else with --plot")
                if ending == "svg":
                    check_svg(path, arguments)
                else:
                    check_png(path.read_bytes(), arguments)


def put_gnuplot(directory, script):
    """A gnuplot of the test's own."""
    path = pathlib.Path(directory) / "gnuplot"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def no_picture(plan):
    """without gnuplot, with one that fails, and where nothing can be written, it says so and fails"""
    with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as directory:
        picture = pathlib.Path(directory) / "a.svg"
        for script, word in ((None, "gnuplot-nox"), ("echo out of ink >&2; exit 3", "out of ink"), ("exit 0", "drew nothing")):
            broken = Plan(plan.program, {**os.environ, "PATH": directory})
            if script is not None:
                put_gnuplot(directory, script)
            done = broken.raw("throughput", "--distance", "100km", "--plot", picture)
            expect(done.returncode == 1, f"{script}: exit code {done.returncode}")
            expect(word in done.stderr and not picture.exists(), f"{script}: {done.stderr}")
        done = plan.raw("throughput", "--distance", "100km", "--plot", pathlib.Path(directory) / "none" / "a.svg")
        expect(done.returncode == 1 and "none/a.svg" in done.stderr, f"a directory that is not there: {done.stderr}")
    plan.refused("throughput", "--distance", "1km", "2km", "--plot", "never.svg", words=("one --message",))


def full_output(plan):
    """an answer that cannot be written is a failure"""
    for name, arguments in COMMANDS.items():
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([plan.program, "plan", name, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=300, check=False)
        expect(done.returncode == 1 and "standard output" in done.stderr, f"{name}: {done.returncode}, {done.stderr}")


def usage(plan):
    """`longhaul plan` alone, and an unknown subcommand, are wrong usage"""
    plan.refused()
    plan.refused("surprise")
    expect("--plot" in plan.text("--help"), "the help does not lead to a plot")


CASES = {
    "output-examples": examples,
    "output-alike": alike,
    "output-pictures": pictures,
    "output-no-picture": no_picture,
    "output-full": full_output,
    "output-usage": usage,
}
