#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Markdown of the project: links lead somewhere, files that it names exist, lines are at most 120 characters.

docs/records/ is history: files that a record names may have moved since, and generated pages have long rows.
"""
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE = 120
GENERATED = {'docs/operate/metrics.md', 'docs/operate/keys.md', 'docs/literature.md'}
# Named by the map and not built yet, or another project's. A word in capitals stands for any name.
ELSEWHERE = {'lib/relay', 'drivers/infiniband'}

FILES = [pathlib.Path(name) for name in subprocess.run(
    ['git', '-C', str(ROOT), 'ls-files', '*.md'], check=True, capture_output=True, text=True).stdout.split()]
LIVING = [path for path in FILES if not str(path).startswith('docs/records/')]


def anchors(path):
    """As GitHub makes them of headings."""
    for heading in re.findall(r'^#+ (.*)$', (ROOT / path).read_text(), re.M):
        heading = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).replace('`', '')
        yield re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


class Markdown(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in FILES:
            text = re.sub(r'^```.*?^```', '', (ROOT / path).read_text(), flags=re.M | re.S)
            for target in re.findall(r'\]\(([^)\s]+)\)', text):
                if re.match(r'[a-z]+:', target):
                    continue
                name, _, anchor = target.partition('#')
                there = (path.parent / name) if name else path
                with self.subTest(f'{path}: {target}'):
                    self.assertTrue((ROOT / there).exists())
                    if anchor:
                        self.assertIn(anchor, list(anchors((ROOT / there).resolve().relative_to(ROOT))))

    def test_named_files_exist(self):
        for path in LIVING:
            for name in re.findall(r'`((?:lib|app|drivers|test|tools|config|docs)/[\w/.-]*[\w/])`', (ROOT / path).read_text()):
                if any(name.startswith(other) for other in ELSEWHERE) or re.search(r'[A-Z]{3,}/', name + '/'):
                    continue
                with self.subTest(f'{path}: {name}'):
                    self.assertTrue((ROOT / name).exists() or (ROOT / path.parent / name).exists())

    def test_lines_are_short(self):
        for path in LIVING:
            if str(path) in GENERATED:
                continue
            for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
                with self.subTest(f'{path}:{number}'):
                    self.assertLessEqual(len(line), LINE)


if __name__ == '__main__':
    unittest.main()
