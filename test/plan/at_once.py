# SPDX-License-Identifier: BSD-3-Clause
"""Judges cases that do not depend on each other, as many at a time as there are cores."""
import concurrent.futures
import os
import traceback

from plan_program import Failed


def judged(cases):
    """For each (name, function), in order: its name and what is wrong with it, a list; empty if all is well.

    A function returns its errors, or nothing, or raises Failed. One broken case does not hide the others.
    """
    cases = list(cases)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from zip((name for name, _ in cases), pool.map(_errors_of, (function for _, function in cases)))


def _errors_of(function):
    try:
        return function() or []
    except Failed as failure:
        return [str(failure)]
    except Exception:
        return [traceback.format_exc(limit=3)]
