#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the table of defects that need no compiler: `run` finds the same, half an hour later."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from table import DEFECTS  # noqa: E402


class Table(unittest.TestCase):
    def test_each_text_to_change_stands_once(self):
        for defect in DEFECTS:
            with self.subTest(defect.name):
                self.assertEqual((ROOT / defect.file).read_text().count(defect.old), 1, f'in {defect.file}')

    def test_names_differ(self):
        names = [defect.name for defect in DEFECTS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == '__main__':
    unittest.main()
