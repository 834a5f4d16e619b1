# SPDX-License-Identifier: BSD-3-Clause
"""What became of a sample: lines of JSON while it runs, a table and the bar at the end."""
import json
from typing import NamedTuple

from mutant import squeezed
from trial import KILLED, SURVIVED, UNREACHED

EQUIVALENT = 'equivalent'
BAR = 0.9  # of the mutants that are not equivalent must be killed, and all vital ones
MOST_EQUIVALENT = 0.1  # of the sample


class Sums(NamedTuple):
    judged: int
    killed: int
    equivalent: int
    vital: int
    vital_killed: int
    survivors: list  # results

    @property
    def share(self):
        return self.killed / self.judged if self.judged else 1.0

    @property
    def holds(self):
        everything = self.judged + self.equivalent
        return (self.share >= BAR and self.vital_killed == self.vital and
                self.equivalent <= MOST_EQUIVALENT * everything)


def add_up(results):
    judged = [r for r in results if r['status'] in (KILLED, SURVIVED, UNREACHED)]
    killed = [r for r in judged if r['status'] == KILLED]
    return Sums(len(judged), len(killed), sum(r['status'] == EQUIVALENT for r in results),
                sum(r['vital'] for r in judged), sum(r['vital'] for r in killed),
                sorted((r for r in judged if r['status'] != KILLED),
                       key=lambda r: (not r['vital'], r['file'], r['line'])))


def described(mutant):
    return {'id': mutant.id, 'file': mutant.file, 'line': mutant.line, 'operator': mutant.operator,
            'before': squeezed(mutant.before), 'after': squeezed(mutant.after), 'vital': mutant.vital}


def line_of(result):
    mark = 'vital ' if result['vital'] else ''
    change = f'{result["before"][:100]}  ->  {result["after"][:100] or "(nothing)"}'
    return f'{result["file"]}:{result["line"]}  {mark}{result["operator"]}  [{result["id"]}]\n    {change}'


def text(results, invalid):
    sums = add_up(results)
    lines = []
    if sums.survivors:
        lines.append('Survivors:')
        for result in sums.survivors:
            lines.append(line_of(result))
            lines.append(f'    {result["checks"] or "no"} checks come by it')
        lines.append('')
    by = {}
    for result in results:
        if result['status'] == KILLED:
            name = result['by'].split(' ')[0]
            by[name] = by.get(name, 0) + 1
    if by:
        most_first = sorted(by.items(), key=lambda item: -item[1])
        lines.append('Killed by: ' + ', '.join(f'{name} {count}' for name, count in most_first))
    if invalid:
        lines.append(f'{len(invalid)} did not compile, and others were drawn in their place.')
    everything = sums.judged + sums.equivalent
    lines.append(f'{everything} mutants: {sums.killed} killed, {len(sums.survivors)} survived, '
                 f'{sums.equivalent} equivalent; '
                 f'{sums.share:.1%} of {sums.judged} killed (at least {BAR:.0%}); '
                 f'vital: {sums.vital_killed} of {sums.vital} (all). '
                 f'{"The bar holds." if sums.holds else "Below the bar."}')
    return '\n'.join(lines)


def document(results, invalid, header):
    sums = add_up(results)
    return json.dumps({**header, 'killed': sums.killed, 'survived': len(sums.survivors), 'equivalent': sums.equivalent,
                       'judged': sums.judged, 'vital': sums.vital, 'vital_killed': sums.vital_killed,
                       'holds': sums.holds, 'invalid': [described(m) for m in invalid], 'mutants': results}, indent=1)
