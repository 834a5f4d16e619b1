# SPDX-License-Identifier: BSD-3-Clause
"""What judges a mutant: unit tests, named worlds, captures, random worlds. And which of them come by it at all.

A check is the smallest part that can be run alone: one test case, 200 worlds, one capture. Each is run once
without a mutant. It must pass, and what it comes by then is all that it can judge: up to there a mutant changes
nothing.
"""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from typing import NamedTuple

# Everything random has a seed, so that a check does the same with a mutant and without.
FIXED = {'RC_PARAMS': 'seed=1', 'LONGHAUL_SEED': '1'}
PATIENCE = 10  # times what it takes without a mutant,
START = 5  # seconds, on top
MEMORY = 6 << 20  # KiB that a program may fill
WORLDS = 200  # in one check
# In this order: the cheap and deadly first.
UNITS, FEW_WORLDS, NAMED_WORLDS, CAPTURES, THREADS, WORLDS_LEFT = range(6)
FEW = 1  # checks
# Of the programs of unit tests:
NO_JUDGES = {'linerate': 'measures by the real clock'}
WORLDS_BY_NAME = ('sim_test', 'fair_test')
WITH_THREADS = {'box_loop', 'control', 'hand_over'}  # they wait for each other: when busy, one may fail by chance

# Catch2 counts a test that is marked [!mayfail] or [!shouldfail] and fails as no test.
MAY_FAIL = re.compile(r'^Passed all 0 test cases', re.MULTILINE)


class Check(NamedTuple):
    stage: int
    name: str
    command: tuple
    test: str = ''  # of a Catch2 program: the command takes a file with several


class Clean(NamedTuple):
    """A check without a mutant."""
    seconds: float
    reached: frozenset  # numbers of mutants


class Ended(NamedTuple):
    code: int  # above zero: failed; below: by a signal; None: too late
    said: str
    seconds: float


def run(command, tree, seconds, number=None, reached=None):
    """Runs a command for at most `seconds` of processor time, with one mutant or none."""
    with tempfile.TemporaryDirectory(prefix='longhaul-mutant-') as room:
        environment = os.environ | FIXED | {'TMPDIR': room}
        environment.pop('LONGHAUL_MUTANT', None)
        if number is not None:
            environment['LONGHAUL_MUTANT'] = str(number)
        if reached is not None:
            environment['LONGHAUL_MUTANTS_REACHED'] = str(reached)
        limits = f'ulimit -c 0; ulimit -v unlimited; ulimit -d {MEMORY}; ulimit -S -t {int(seconds) + 1}; exec "$@"'
        with open(pathlib.Path(room) / 'said', 'w+b') as said:
            before = time.monotonic()
            process = subprocess.Popen(['bash', '-c', limits, '-', *map(str, command)], cwd=tree.build, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                       start_new_session=True)
            code = None
            try:
                # On a busy machine everything takes longer; what waits for ever uses no processor.
                code = process.wait(30 + 3 * seconds)
            except subprocess.TimeoutExpired:
                pass
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has left behind
                except ProcessLookupError:
                    pass
                process.wait()
            said.seek(0)
            text = said.read(1 << 20).decode(errors='replace')
    return Ended(None if code == -signal.SIGXCPU else code, text, time.monotonic() - before)


def list_tests(program, tree):
    done = subprocess.run([program, '--list-test-names-only'], cwd=tree.build, capture_output=True, text=True,
                          timeout=60)
    return [line for line in done.stdout.splitlines() if line.strip()]


def catch2(stage, name, program, tree):
    for test in list_tests(program, tree):
        yield Check(stage, name, (program,), test)


def captures(tree):
    program = str(tree.source / 'test/replay/run')
    listed = subprocess.run([program, '--list'], capture_output=True, text=True, timeout=60, check=True).stdout
    command = (program, '--longhaul', str(tree.build / 'app/longhaul'), '--no-tshark', '--case')
    for case in listed.split():
        yield Check(CAPTURES, f'replay {case}', (*command, case))


def all_checks(tree, worlds):
    for name, program in tree.programs().items():
        if name in NO_JUDGES:
            continue
        yield from catch2(THREADS if name in WITH_THREADS else UNITS, f'unit_{name}', program, tree)
    for name in WORLDS_BY_NAME:
        yield from catch2(NAMED_WORLDS, name, str(tree.build / 'test/sim' / name), tree)
    yield from captures(tree)
    soak = str(tree.build / 'test/sim/soak')
    for i, seed in enumerate(range(1, worlds + 1, WORLDS)):
        count = min(WORLDS, worlds + 1 - seed)
        yield Check(FEW_WORLDS if i < FEW else WORLDS_LEFT, f'soak --seed {seed} --cases {count}',
                    (soak, '--no-shrink', '--seed', str(seed), '--cases', str(count)))


def with_tests(command, tests, room):
    """A Catch2 program with some of its tests. The file is read when it starts."""
    names = pathlib.Path(room) / 'tests'
    names.write_text(''.join(re.sub(r'([\\,\[\]"])', r'\\\1', test) + '\n' for test in tests))
    return (*command, '--abort', '-r', 'compact', '-f', names)


def run_checks(checks, tree, seconds, number=None, reached=None):
    """Several of one program, or a single one."""
    if not checks[0].test:
        return run(checks[0].command, tree, seconds, number, reached)
    with tempfile.TemporaryDirectory(prefix='longhaul-tests-') as room:
        command = with_tests(checks[0].command, [check.test for check in checks], room)
        return run(command, tree, seconds, number, reached)


def title(check):
    return f'{check.name} "{check.test}"' if check.test else check.name


def judge_clean(check, tree):
    """Clean, or what is wrong with it; nothing for a test that may fail, which cannot judge."""
    with tempfile.NamedTemporaryFile(prefix='longhaul-reached-') as file:
        ended = run_checks([check], tree, 600, reached=file.name)
        content = pathlib.Path(file.name).read_bytes()
    if ended.code != 0:
        return f'{title(check)} fails without a mutant:\n{ended.said[-2000:]}'
    if check.test and MAY_FAIL.search(ended.said):
        return None
    if check.test and not re.search(r'\b1 test case\b', ended.said):
        return f'{title(check)} cannot be run alone:\n{ended.said[-500:]}'
    return Clean(round(ended.seconds, 3), frozenset(i for i, byte in enumerate(content) if byte))


def written(clean):
    return [[*check, found.seconds, sorted(found.reached)] for check, found in clean.items()]


def read(rows):
    return {Check(stage, name, tuple(command), test): Clean(seconds, frozenset(reached))
            for stage, name, command, test, seconds, reached in rows}


def judge_all_clean(checks, tree, jobs, told):
    """{check: Clean}, and the complaints."""
    clean, complaints = {}, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for i, (check, result) in enumerate(zip(checks, pool.map(lambda check: judge_clean(check, tree), checks))):
            told(i + 1, len(checks))
            if isinstance(result, str):
                complaints.append(result)
            elif result:
                clean[check] = result
    return clean, complaints
