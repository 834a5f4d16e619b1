# SPDX-License-Identifier: BSD-3-Clause
"""Judges cases that do not depend on each other, as many at a time as there are cores."""
import argparse
import concurrent.futures
import functools
import importlib
import os
import pathlib
import signal
import sys
import traceback

from plan_program import Failed, Plan, Skipped


def judged(cases):
    """For each (name, function), in order: its name and what is wrong with it, a list; empty if all is well; or Skipped.

    A function returns its errors, or nothing, or raises Failed or Skipped. One broken case does not hide the others.
    """
    cases = list(cases)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from zip((name for name, _ in cases), pool.map(_errors_of, (function for _, function in cases)))


def _errors_of(function):
    try:
        return function() or []
    except Skipped as skipped:
        return skipped
    except Failed as failure:
        return [str(failure)]
    except Exception:
        return [traceback.format_exc(limit=3)]


def _cases(directory):
    """Those of each module case_*.py: its CASES, a table of names and functions of the program."""
    found = {}
    for file in sorted(directory.glob("case_*.py")):
        for name, function in importlib.import_module(file.stem).CASES.items():
            if name in found:
                raise SystemExit(f"two cases are called {name}")
            found[name] = function
    return found


def main(description, directory):
    """Runs the cases of a directory; the exit code. The last line is the sum."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longhaul", default=str(pathlib.Path(__file__).resolve().parents[2] / "build/app/longhaul"),
                        help="the program (default: %(default)s)")
    parser.add_argument("--only", default="", help="run cases whose name contains this")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that directories are removed
    if not pathlib.Path(options.longhaul).exists():
        print(f"{options.longhaul} does not exist: build first\n0 passed, 1 failed, 0 skipped")
        return 1
    plan = Plan(str(pathlib.Path(options.longhaul).resolve()))  # cases run elsewhere, too
    chosen = {name: case for name, case in _cases(directory).items() if options.only in name}
    passed = failed = skipped = 0
    for name, errors in judged((name, functools.partial(case, plan)) for name, case in chosen.items()):
        if isinstance(errors, Skipped):
            print(f"skip   {name}: {errors}", flush=True)
            skipped += 1
            continue
        print(f"{'FAILED' if errors else 'ok    '} {name}: {chosen[name].__doc__}", flush=True)
        for error in errors:
            print("         " + error.replace("\n", "\n         "))
        passed, failed = passed + (not errors), failed + bool(errors)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
