# SPDX-License-Identifier: BSD-3-Clause
"""The trial of one mutant: the checks that come by it, the cheapest first, until one notices."""
import re
import time

from judges import PATIENCE, START, run_checks, title

KILLED, SURVIVED, UNREACHED = 'killed', 'survived', 'not reached'


def plan(number, clean):
    """Lists of checks that are run together: those of one Catch2 program, or one."""
    groups = {}
    for check, found in clean.items():
        if number in found.reached:
            groups.setdefault((check.stage, check.command if check.test else check.name), []).append(check)

    def cost(key):
        return key[0], sum(clean[check].seconds for check in groups[key])

    return [sorted(groups[key], key=lambda check: clean[check].seconds) for key in sorted(groups, key=cost)]


def what_failed(said):
    """The line that says it best."""
    lines = said.strip().splitlines()
    telling = [line for line in lines if re.search(r'failed|FAILED|SIG|rule \d|Assertion|terminate', line)]
    return (telling or lines or [''])[0 if telling else -1].strip()[:300]


def judge(number, clean, tree):
    """How it went, as a dictionary for the report."""
    began = time.monotonic()
    groups = plan(number, clean)
    result = {'status': SURVIVED if groups else UNREACHED, 'checks': sum(map(len, groups))}
    for group in groups:
        ended = run_checks(group, tree, START + PATIENCE * sum(clean[check].seconds for check in group), number)
        if ended.code == 0:
            continue
        how = 'too slow' if ended.code is None else 'died' if ended.code < 0 else 'failed'
        result.update(status=KILLED, by=title(group[0]) if len(group) == 1 else group[0].name, how=how,
                      said=what_failed(ended.said))
        break
    result['seconds'] = round(time.monotonic() - began, 1)
    return result
