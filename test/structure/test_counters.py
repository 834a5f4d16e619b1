#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each counter is counted: one that nothing increments would say "never" of something that happens."""
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / 'lib/metrics/counters.hpp'
SHOWS = ('lib/metrics', 'lib/expose', 'lib/replay', 'lib/sim', 'lib/plan')  # what only reads counters


class CountersAreCounted(unittest.TestCase):
    def test_each_is_named_where_something_happens(self):
        names = re.findall(r'^  X\((\w+),', TABLE.read_text(), re.M)
        self.assertGreater(len(names), 90)
        counting = '\n'.join(file.read_text() for place in ('lib', 'drivers') for file in (ROOT / place).rglob('*.[ch]pp')
                             if not str(file.relative_to(ROOT)).startswith(SHOWS))
        for name in names:
            with self.subTest(name):
                self.assertRegex(counting, rf'\bCounter::{name}\b', 'nothing counts it')


if __name__ == '__main__':
    unittest.main()
