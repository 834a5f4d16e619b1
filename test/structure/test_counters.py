#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each counter is counted, and has its place in the picture of the packet's path.

One that nothing increments would say "never" of something that happens.
"""
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / 'lib/metrics/counters.hpp'
SHOWS = ('lib/metrics', 'lib/expose', 'lib/replay', 'lib/sim', 'lib/plan')  # what only reads counters
PICTURE = ROOT / 'docs/operate/packet-path'
ALSO_ENGLISH = {'requests', 'resends'}  # the picture has these words for other things, too


class Counters(unittest.TestCase):
    def setUp(self):
        self.names = re.findall(r'^  X\((\w+),', TABLE.read_text(), re.M)
        self.assertGreater(len(self.names), 90)

    def test_each_is_named_where_something_happens(self):
        counting = '\n'.join(file.read_text() for place in ('lib', 'drivers') for file in (ROOT / place).rglob('*.[ch]pp')
                             if not str(file.relative_to(ROOT)).startswith(SHOWS))
        for name in self.names:
            with self.subTest(name):
                self.assertRegex(counting, rf'\bCounter::{name}\b', 'nothing counts it')

    def test_each_is_in_the_picture_once(self):
        for suffix in ('.dot', '.svg'):
            words = re.findall(r'\w+', PICTURE.with_suffix(suffix).read_text().replace('&#45;', '-'))
            for name in self.names:
                with self.subTest(name + suffix):
                    count = words.count(name)
                    self.assertGreater(count, 0, f'packet-path{suffix} does not show it (dot -Tsvg makes the SVG)')
                    if name not in ALSO_ENGLISH:
                        self.assertEqual(count, 1)


if __name__ == '__main__':
    unittest.main()
