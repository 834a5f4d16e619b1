# SPDX-License-Identifier: BSD-3-Clause
"""The build that has a sample's mutants in it: a copy of the project's files, some of them woven, and its programs.

Everything lies in one directory (build-mutation/), so that the next sample compiles only what differs.
"""
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

import schemata
from exclusions import LIBRARIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = 'clang++-16'  # without gcc's optimization across files, which would be repeated for each program
OPTIONS = ['-Doptimization=1', '-Ddebug=false', '-Dwerror=false', '-Dcpp_args=-w -Wno-c++11-narrowing']
ERROR = re.compile(r'^(\S+?):(\d+):(\d+): (fatal error|error|note):', re.MULTILINE)


class Broken(Exception):
    """The build failed, and not because of a mutant."""


def write_if_other(path, content):
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def may_be_woven(name):
    return name.startswith(tuple(f'lib/{library}/' for library in LIBRARIES)) and name.endswith(('.cpp', '.hpp'))


class Tree:
    def __init__(self, directory, jobs):
        self.directory, self.jobs = directory, jobs
        self.source, self.build = directory / 'source', directory / 'build'
        self.woven = {}  # {file: (text, spans)}
        self.environment = os.environ | {'CCACHE_BASEDIR': str(directory), 'CCACHE_NOHASHDIR': '1',
                                         'CXX': f'ccache {COMPILER}', 'CC': 'ccache clang-16'}

    def files(self):
        command = ['git', '-C', str(ROOT), 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
        listed = subprocess.run(command, check=True, capture_output=True, text=True)
        return [name for name in listed.stdout.split('\0') if name and (ROOT / name).is_file()]

    def configure(self):
        """A copy of the project, and its build as it would be. Returns a digest of all files."""
        sums, names = hashlib.sha256(), self.files()
        for name in names:
            source, target = ROOT / name, self.source / name
            content = source.read_bytes()
            sums.update(name.encode() + b'\0' + content)
            if not (may_be_woven(name) and target.exists()):  # weave() sees to those
                write_if_other(target, content)
            if os.access(source, os.X_OK):
                target.chmod(0o755)
        for path in self.source.rglob('*'):
            if path.is_file() and str(path.relative_to(self.source)) not in names and '__pycache__' not in path.parts:
                path.unlink()
        if not (self.build / 'build.ninja').exists():
            self.run(['meson', 'setup', str(self.build), str(self.source), *OPTIONS])
        return sums.hexdigest()[:16]

    def run(self, command):
        done = subprocess.run(command, env=self.environment, cwd=self.directory, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f'{shlex.join(command[:4])} failed:\n{(done.stdout + done.stderr)[-4000:]}')
        return done.stdout

    def weave(self, mutants):
        """{number: mutant} into the files of the copy; all others are as they are."""
        by_file, self.woven = {}, {}
        for number, mutant in sorted(mutants.items()):
            by_file.setdefault(mutant.file, []).append((number, mutant))
        for file in filter(may_be_woven, self.files()):
            text = (ROOT / file).read_bytes()
            if file in by_file:
                text, spans = schemata.weave(text, by_file[file], self.source / schemata.SWITCH)
                self.woven[file] = text, spans
            write_if_other(self.source / file, text)

    def compile(self, targets, told):
        """The numbers of the mutants that do not compile; none when all targets are made."""
        said = []
        with subprocess.Popen(['ninja', '-C', str(self.build), '-k', '0', '-j', str(self.jobs), *targets], text=True,
                              env=self.environment | {'NINJA_STATUS': '[%f/%t] '}, stdout=subprocess.PIPE) as ninja:
            for line in ninja.stdout:
                step = re.match(r'\[(\d+)/(\d+)\]', line)
                if step:
                    told(int(step[1]), int(step[2]))
                else:
                    said.append(line)
        return set() if ninja.returncode == 0 else self.to_blame(''.join(said))

    def to_blame(self, said):
        """The numbers of the mutants in which the compiler sees errors, or notes that explain them."""
        bad = set()
        blamed, unexplained = False, None
        for found in ERROR.finditer(said):
            if found[4] != 'note':
                if unexplained and not blamed:
                    break
                blamed, unexplained = False, found[0]
            if blamed:
                continue
            path = (self.build / found[1]).resolve()
            if path.is_relative_to(self.source):
                text, spans = self.woven.get(str(path.relative_to(self.source)), (b'', []))
                numbers = schemata.blamed(text, spans, int(found[2]), int(found[3]))
                blamed = bool(numbers)
                bad.update(numbers)
        if not bad or (unexplained and not blamed):
            raise Broken(f'the build fails, and not in a mutant: {unexplained}\n{said[-4000:]}')
        return bad

    def programs(self):
        """{name: command} of the unit tests, as meson knows them."""
        tests = json.loads(self.run(['meson', 'introspect', '--tests', str(self.build)]))
        return {test['name']: test['cmd'][0] for test in tests if any(s.endswith(':unit') for s in test['suite'])}

    def libraries(self, names):
        return [f'lib/{name}/lib{name}.a' for name in names]

    def flags(self, directory):
        """What the files of lib/DIRECTORY are compiled with, for libclang, on the project and not on the copy."""
        entries = json.loads((self.build / 'compile_commands.json').read_text())
        wanted = self.source / 'lib' / directory
        commands = [entry['command'] for entry in entries if (self.build / entry['file']).resolve().parent == wanted]
        if commands:  # a directory may have two libraries, one of which needs less
            return self._without_files(shlex.split(max(commands, key=len)))
        raise Broken(f'nothing of lib/{directory} is in {self.build}/compile_commands.json')

    def _without_files(self, words):
        kept = []
        words = iter(word for word in words[1:] if word != 'ccache' and not word.endswith(COMPILER))
        for word in words:
            if word in ('-o', '-c', '-MQ', '-MF'):
                next(words)
            elif word.startswith('-I'):
                path = os.path.normpath(self.build / word[2:])
                kept.append('-I' + path.replace(str(self.source), str(ROOT), 1))
            elif word == '-isystem':
                kept += [word, os.path.normpath(self.build / next(words))]
            elif word != '-MD':
                kept.append(word)
        return kept
