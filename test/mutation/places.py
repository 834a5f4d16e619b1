# SPDX-License-Identifier: BSD-3-Clause
"""All mutants of the libraries, found once for a state of the source."""
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess

from exclusions import LIBRARIES, excluded_file
from mutant import Mutant
from tree import ROOT


# Files beside this one that decide which mutants there are.
DECIDES = ('exclusions', 'mutant', 'operators', 'syntax', 'vital')


def digest():
    """Of all that decides which mutants there are."""
    sums = hashlib.sha256()
    files = [path for name in ('base', *LIBRARIES) for path in (ROOT / 'lib' / name).glob('*.?pp')]
    files += [pathlib.Path(__file__).parent / f'{name}.py' for name in DECIDES]
    for path in sorted(files):
        sums.update(path.name.encode() + b'\0' + path.read_bytes())
    return sums.hexdigest()[:16]


def _find(task):
    """The mutants of files of one library that are compiled together: a source, or all headers."""
    import syntax  # where libclang is needed, and only there
    main, text, names, flags = task
    unit = syntax.parse(main, flags, [(main, text)] if text else None)
    found = []
    for name in names:
        finder = syntax.Finder(name, (ROOT / name).read_bytes())
        found += finder.find(unit, str(ROOT / name))
    return found


def tasks(tree):
    resources = subprocess.run(['clang-16', '-print-resource-dir'], check=True, capture_output=True,
                               text=True).stdout.strip()
    for library in LIBRARIES:
        flags = tree.flags(library) + ['-resource-dir', resources]
        directory = ROOT / 'lib' / library
        names = [f'lib/{library}/{path.name}' for path in sorted(directory.glob('*.?pp'))]
        names = [name for name in names if not excluded_file(name)]
        headers = [name for name in names if name.endswith('.hpp')]
        text = ''.join(f'#include "{name.removeprefix("lib/")}"\n' for name in headers)
        yield str(directory / 'all_headers.cpp'), text, headers, flags
        for name in names:
            if name.endswith('.cpp'):
                yield str(ROOT / name), None, [name], flags


def all_mutants(tree, jobs):
    kept = tree.directory / f'mutants-{digest()}.json'
    if not kept.exists():
        with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
            found = [mutant for part in pool.map(_find, tasks(tree)) for mutant in part]
        for old in tree.directory.glob('mutants-*.json'):
            old.unlink()
        kept.write_text(json.dumps(found))
    return [Mutant(*row) for row in json.loads(kept.read_text())]
