# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per packet of each workload, counted by valgrind's callgrind, function by function."""
import collections
import os
import pathlib
import re
import subprocess

# What a machine's processor decides is pinned or counted apart. glibc: its SSE2 routines, which every x86-64 has.
GLIBC = "glibc.cpu.hwcaps=" + ",".join(
    "-" + name for name in ("AVX512F", "AVX512VL", "AVX2", "AVX_Fast_Unaligned_Load", "RTM", "SSSE3", "ERMS", "FSRM"))
# The ICRC's own routine and ISA-L take the widest that valgrind's processor has, which knows no VPCLMULQDQ: counted apart.
ICRC_LIBRARY = "libisal"
ICRC_ROUTINE = re.compile(r"wire::v?pclmul\w*::")

# More callers than any call has: each function's cost comes with all that led to it, so that the ICRC's can be left out
# of every one of them.
CALLERS = 40

# It calls the engine; what calls it is the benchmark.
TURN = "bench::InlineBox::turn"

Cost = collections.namedtuple("Cost", "inclusive own")


class Count:
    """Of one workload, per packet."""

    def __init__(self, instructions, icrc, functions):
        self.instructions = instructions  # without the ICRC
        self.icrc = icrc
        self.functions = functions  # name: Cost, without the ICRC


def count(program, packets, directory, only=None):
    """{workload: Count}; callgrind's files stay in `directory`. Raises RuntimeError."""
    out = pathlib.Path(directory) / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--compress-strings=no",
               "--compress-pos=no", f"--separate-callers={CALLERS}", f"--callgrind-out-file={out}", str(program),
               f"--packets={packets}"] + ([f"--only={only}"] if only else [])
    done = subprocess.run(command, env={**os.environ, "GLIBC_TUNABLES": GLIBC, "LC_ALL": "C"}, capture_output=True,
                          text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    counts = {}
    # One line and one file for each workload, in the same order.
    for number, line in enumerate(done.stdout.splitlines(), 1):
        name, packets_sent = line.split()
        counts[name] = read(out.with_name(f"{out.name}.{number}"), int(packets_sent))
    if not counts:
        raise RuntimeError(f"{program} knows no such workload")
    return counts


def read(path, packets):
    """One file of callgrind's, as the options above let it be written."""
    own, inclusive = collections.Counter(), collections.Counter()
    icrc = total = collected = 0
    library = chain = None
    called = False  # the next line is what a call cost, which stands with the callee again
    with open(path, errors="replace") as lines:
        for line in lines:
            if line.startswith("ob="):
                library = os.path.basename(line[3:].strip())
            elif line.startswith("fn="):
                # "'2" is what callgrind calls a function within itself.
                names = [name for name in line[3:].strip().split("'") if not name.isdigit()]
                chain = [readable(names[0], library)] + [readable(name, None) for name in names[1:]]
                if TURN in chain:
                    del chain[chain.index(TURN) + 1:]
            elif line.startswith("calls="):
                called = True
            elif line[0].isdigit():
                cost = 0 if called else int(line.split()[1])
                called = False
                total += cost
                if library.startswith(ICRC_LIBRARY) or ICRC_ROUTINE.match(chain[0]):
                    icrc += cost
                else:
                    own[chain[0]] += cost
                    for function in set(chain) - {TURN}:
                        inclusive[function] += cost
            elif line.startswith("totals:"):
                collected = int(line.split()[1])
    if collected != total:
        raise RuntimeError(f"{path}: callgrind collected {collected} instructions, its functions have {total}")
    functions = {name: Cost(inclusive[name] / packets, own[name] / packets) for name in inclusive}
    return Count((total - icrc) / packets, icrc / packets, functions)


def readable(name, library):
    """A function's name without its arguments; of one whose name is not known, its library's."""
    if name.startswith("0x"):
        return f"[{library.split('.so')[0]}]" if library else "[unnamed]"
    end = name.find("(", name.find("operator()") + len("operator()") if "operator()" in name else 0)
    return (name if end <= 0 else name[:end]).replace("longhaul::", "")
