# SPDX-License-Identifier: BSD-3-Clause
"""Which mutants must be killed without exception: those of a statement that has to do with what is promised.

They touch what is acknowledged and answered (`una`, `h`), how many messages that is (MSN), the promise to the restart
record, or the ICRC.
"""
import re

NAMES = re.compile(r'\b(una|h)\b|msn|icrc|(?<!un)promis', re.IGNORECASE)
FILES = re.compile(r'/icrc\w*\.[ch]pp$')


def is_vital(file, statement):
    code = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', '', statement, flags=re.DOTALL)
    return bool(FILES.search(file) or NAMES.search(code))
