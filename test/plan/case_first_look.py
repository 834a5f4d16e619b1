# SPDX-License-Identifier: BSD-3-Clause
"""The two commands of the first look (README, docs/operate/first-look.md): as typed there, and what they draw and say."""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

from plan_program import Skipped, expect

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "operate" / "first-look.md")
INSTALLED = "/usr/share/longhaul/captures/"
NOBODY = 65534
UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def typed(subcommand):
    """The command line of that kind, which all pages must have alike, as words behind `longhaul`."""
    found = {page: re.findall(rf"^ *longhaul ({subcommand} .*)$", page.read_text(encoding="utf-8"), re.M) for page in PAGES}
    expect(all(len(lines) == 1 for lines in found.values()), f"not once on each page: {found}")
    expect(len({line for (line,) in found.values()}) == 1, f"the pages differ: {found}")
    return shlex.split(found[PAGES[0]][0])


def bars_of(text):
    """{place: {way: (characters, value)}} of the picture."""
    picture = [part for part in text.split("\n\n") if re.search(r"^.*  \|#+ ", part, re.M)]
    expect(len(picture) == 1, f"{len(picture)} pictures in {text}")
    drawn, place = {}, None
    for line in picture[0].splitlines()[1:]:
        place_text, way, bar, value = re.fullmatch(r" *([\d.]*(?: [KM]?i?B)?)  (\w+(?: \w+)?) +\|(#*) ([\d.]+)", line).groups()
        place = place_text or place
        drawn.setdefault(place, {})[way] = (len(bar), float(value))
        expect(len(line) <= 100, f"longer than 100 columns: {line}")
    return drawn


def check_bars(plan, arguments, place_of):
    """Each row of the answer has its bar, and each bar the length of its value."""
    rows = plan.json(*arguments)["rows"]
    drawn = bars_of(plan.text(*arguments, "--bars"))
    expect(sum(map(len, drawn.values())) == len(rows), f"{len(rows)} rows, but {drawn}")
    most = max(row["bits_per_second"] for row in rows)
    longest = max(length for bars in drawn.values() for length, _ in bars.values())
    expect(longest >= 40, f"the longest bar has {longest} characters")
    for row in rows:
        length, value = drawn[place_of(row)][row["way"]]
        expect(abs(value * 1e9 - row["bits_per_second"]) <= 0.01 * row["bits_per_second"], f"{row['way']}: {value} for {row}")
        wanted = longest * row["bits_per_second"] / most
        expect(abs(length - wanted) <= 1, f"{row['way']} at {place_of(row)}: {length} characters instead of {wanted:.1f}")


def distances(plan):
    """the documented command draws a bar for each row, as long as its rate"""
    words = typed("plan simulate")
    words.remove("--bars")
    check_bars(plan, words[1:], lambda row: f"{row['kilometres']:g}")


def sizes(plan):
    """so it does for message sizes"""
    check_bars(plan, ("simulate", "--distance", "100km", "--message", "512B", "4KiB", "--ways", "standard", "pair"),
               lambda row: {512: "512 B", 4096: "4 KiB"}[row["message_bytes"]])


def seen(plan):
    """what was seen is one sentence with the figures of the row where the pair is furthest ahead"""
    words = typed("plan simulate")[1:]
    answer = plan.json(*(word for word in words if word != "--bars"))
    text = " ".join(plan.text(*words).split())
    by_place = {}
    for row in answer["rows"]:
        by_place.setdefault(row["kilometres"], {})[row["way"]] = row["bits_per_second"]
    place, rates = max(by_place.items(), key=lambda item: item[1]["pair"] / item[1]["standard"])
    found = re.search(r"Seen, where the pair helped most: over (\d+) km with messages of 4 KiB standard RDMA carried "
                      r"([\d.]+) (\S+), the pair ([\d.]+) (\S+), (\d+) times as much\. Each byte arrived", text)
    expect(found, f"no such sentence: {text[-900:]}")
    kilometres, slow, slow_unit, fast, fast_unit, times = found.groups()
    expect(float(kilometres) == place, f"{kilometres} km instead of {place}")
    for value, unit, wanted in ((slow, slow_unit, rates["standard"]), (fast, fast_unit, rates["pair"])):
        expect(abs(float(value) * UNITS[unit] - wanted) <= 0.01 * wanted, f"{value} {unit} instead of {wanted} bit/s")
    expect(abs(int(times) - rates["pair"] / rates["standard"]) <= 1, f"{times} times")
    expect(any(note.startswith("Seen") for note in answer["notes"]), "programs do not get it")
    one = plan.text("simulate", "--distance", "10km", "--message", "4KiB", "--messages", "200", "--ways", "pair")
    expect("Seen: Each byte arrived" in one and "times as much" not in one, f"one way alone: {one}")
    near = " ".join(plan.text("simulate", "--distance", "100m", "--message", "64KiB").split())
    expect("nowhere was the pair ahead" in near, f"where nothing helps: {near[-600:]}")


def refused(plan):
    """bars are for people, and what no picture can show is refused before anything is simulated"""
    for form in ("--json", "--csv"):
        done = plan.raw("simulate", "--distance", "10km", "--bars", form)
        expect(done.returncode != 0 and not done.stdout and "--bars" in done.stderr, f"{form}: {done.returncode} {done.stderr}")
    plan.refused("simulate", "--distance", "1km", "2km", "--message", "1KiB", "2KiB", "--bars", words=("one --message",))


def replayed(plan):
    """the documented replay of the capture that is installed agrees, and says so at the end"""
    words = typed("replay")
    expect(words[1].startswith(INSTALLED), f"not the installed capture: {words}")
    name = words[1].removeprefix(INSTALLED)
    expect(f"test/pcaps/{name}'" in (ROOT / "config" / "meson.build").read_text(encoding="utf-8"), f"{name} is not installed")
    text = plan.text(str(ROOT / "test" / "pcaps" / name), *words[2:], command="replay")
    matched = int(re.search(r"^  matched +(\d+)$", text, re.M)[1])
    last = " ".join(text.split("\n\n")[-1].split())
    expect(matched > 50 and last.startswith("Seen: ") and f"all {matched} ACKs" in last, f"{matched} matched, then: {last}")


def unprivileged(plan):
    """both run for a user who has no privileges and no place to write to"""
    if os.geteuid() != 0:
        raise Skipped("only root can become nobody")
    with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        for name, source in (("longhaul", plan.program), ("capture.pcap", ROOT / "test/pcaps/write_bw_r_4k.pcap")):
            (place / name).write_bytes(pathlib.Path(source).read_bytes())
            (place / name).chmod(0o555)
        for words in (typed("plan simulate"), ["replay", "capture.pcap", *typed("replay")[2:]]):
            done = subprocess.run([str(place / "longhaul"), *words], cwd=place, user=NOBODY, group=NOBODY, extra_groups=[],
                                  env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, capture_output=True, text=True,
                                  timeout=300, check=False)
            expect(done.returncode == 0 and "Seen" in done.stdout, f"{words}: {done.returncode} {done.stderr}")


CASES = {
    "first-look-distances": distances,
    "first-look-sizes": sizes,
    "first-look-seen": seen,
    "first-look-refused": refused,
    "first-look-replay": replayed,
    "first-look-unprivileged": unprivileged,
}
