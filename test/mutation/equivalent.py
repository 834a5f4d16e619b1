# SPDX-License-Identifier: BSD-3-Clause
"""Mutants that no test can kill, because the program does the same: each with the reason, in a line.

A row names the mutant by what stands in the source, so that it is found again when lines move. `test_mutation.py`
checks that the line is still there, and `run` that it has such a mutant. `run --show ID` prints the row to copy.
"""
from typing import NamedTuple


class Equivalent(NamedTuple):
    file: str
    line: str  # without indentation
    operator: str
    change: str  # Mutant.change
    why: str
    nth: int = 1  # of the mutants of which all that is the same


EQUIVALENT = []


def key(mutant):
    return mutant.file, mutant.text, mutant.operator, mutant.change


def match(mutants, table=None):
    """{id: row} of the mutants in the table, and the rows that name none."""
    alike = {}
    for mutant in sorted(mutants, key=lambda m: (m.file, m.begin, m.end, m.operator, m.after)):
        alike.setdefault(key(mutant), []).append(mutant)
    found, stale = {}, []
    for row in EQUIVALENT if table is None else table:
        candidates = alike.get((row.file, row.line, row.operator, row.change), [])
        if len(candidates) < row.nth:
            stale.append(row)
        else:
            found[candidates[row.nth - 1].id] = row
    return found, stale


def row_for(mutant, mutants):
    """What to copy into the table."""
    alike = [m.id for m in sorted(mutants, key=lambda m: (m.begin, m.end, m.after)) if key(m) == key(mutant)]
    nth = alike.index(mutant.id) + 1
    tail = f', nth={nth}' if nth > 1 else ''
    return (f'    Equivalent({mutant.file!r},\n               {mutant.text!r},\n               {mutant.operator!r}, '
            f'{mutant.change!r},\n               \'WHY\'{tail}),')
