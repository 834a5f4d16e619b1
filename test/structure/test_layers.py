#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The layers of the code: what a file includes, its library links with; none is in a circle; and the map names them all.

Reads each meson.build under lib/, drivers/ and app/ for static_library() and declare_dependency(), each #include of
their sources, and the table of libraries in docs/design.md, section 8.1.
"""
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ('lib', 'drivers', 'app')


class Library:
    def __init__(self, name, directory, sources, uses):
        self.name, self.directory, self.sources, self.uses = name, directory, sources, uses


def read_libraries():
    """By the name of its meson dependency: 'custody_dep'."""
    libraries, variables = {}, {}
    for file in sorted(path for place in PLACES for path in (ROOT / place).rglob('meson.build')):
        text = re.sub(r'#.*', '', file.read_text())
        for name, body in re.findall(r"(\w+) = static_library\((.*?)\)\n", text, re.S):
            listed = re.findall(r'dependencies:\s*\[([^\]]*)\]', body)
            variables[name] = Library(name.removesuffix('_lib'), file.parent.relative_to(ROOT),
                                      set(re.findall(r"'([\w/]+)\.cpp'", body.split('dependencies:')[0])),
                                      set(re.findall(r'\w+_dep', listed[0] if listed else '')))
        for name, body in re.findall(r'(\w+_dep) = declare_dependency\((.*?)\)\n', text, re.S):
            linked = re.search(r'link_with: (\w+)', body)
            libraries[name] = variables[linked[1]] if linked else Library(  # headers only
                name.removesuffix('_dep'), file.parent.relative_to(ROOT), set(), set(re.findall(r'\w+_dep', body)))
    for library in libraries.values():
        library.uses &= libraries.keys()  # the rest are others' libraries
    return libraries


LIBRARIES = read_libraries()


def closure(library, seen=None):
    """All that `library` links with, itself included."""
    seen = set() if seen is None else seen
    if library.name not in seen:
        seen.add(library.name)
        for name in library.uses:
            closure(LIBRARIES[name], seen)
    return seen


def homes(path):
    """The libraries that a source or header may belong to: that which compiles it, else all of its directory."""
    here = [library for library in LIBRARIES.values() if library.directory == path.parent]
    return [library for library in here if path.stem in library.sources] or here


def included(file):
    for name in re.findall(r'#include "([\w/]+\.hpp)"', file.read_text()):
        for path in (pathlib.Path('lib') / name, pathlib.Path(name)):
            if (ROOT / path).exists():
                yield path


class Layers(unittest.TestCase):
    def test_files_include_only_what_their_library_links_with(self):
        for file in sorted(path for place in PLACES for path in (ROOT / place).rglob('*.[ch]pp')):
            path = file.relative_to(ROOT)
            own = homes(path)
            if path == pathlib.Path('app/main.cpp'):
                continue
            self.assertTrue(own, f'{path} belongs to no library')
            # A header without a source may belong to any library of its directory.
            reach = [closure(library) for library in own]
            for header in included(file):
                names = {library.name for library in homes(header)}
                self.assertTrue(any(names & one for one in reach),
                                f'{path} includes {header}, which is in {names}: not linked by {[o.name for o in own]}')

    def test_no_circle(self):
        for library in LIBRARIES.values():
            for name in library.uses:
                self.assertNotIn(library.name, closure(LIBRARIES[name]), f'{library.name} uses {name} and the reverse')

    def test_ctl_links_neither_engine_nor_ports(self):
        self.assertFalse(closure(LIBRARIES['app_ctl_dep']) & {'engine', 'drivers', 'box'})

    def test_nothing_depends_on_the_planner(self):
        for library in LIBRARIES.values():
            if library.name not in ('app_plan', 'plan'):
                self.assertNotIn('plan', closure(library), f'{library.name} uses the planner')

    def test_the_map_names_each_directory_and_what_it_uses(self):
        section = (ROOT / 'docs/design.md').read_text().split('### 8.1 Libraries')[1].split('\n#')[0]
        rows = dict(re.findall(r'^\| `((?:lib|drivers|app)[\w/]*)` \|(?! \*\*planned)[^|]*\|([^|]*)\|$', section, re.M))
        directories = {}
        for library in LIBRARIES.values():
            directories.setdefault(str(library.directory), []).append(library)
        self.assertEqual(sorted(rows), sorted(directories), 'rows of section 8.1 and directories with a library')
        order = list(rows)
        for directory, uses in rows.items():
            said = set(re.findall(r'`([\w/]+)`', uses))
            needed = {str(LIBRARIES[name].directory) for library in directories[directory] for name in library.uses}
            needed.discard(directory)
            said = {next((name for name in (word, f'lib/{word}', f'app/{word}') if name in directories), word)
                    for word in said}
            self.assertLessEqual(said, needed, f'{directory}: the map says more than meson.build')
            reach = {str(LIBRARIES[f'{name}_dep'].directory) for name in
                     set().union(*(closure(one) for where in said for one in directories[where])) } if said else set()
            self.assertLessEqual(needed, reach, f'{directory}: meson.build says more than the map')
            for where in said:
                self.assertLess(order.index(where), order.index(directory), f'{directory} stands above {where}')


if __name__ == '__main__':
    unittest.main()
