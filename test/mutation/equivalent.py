# SPDX-License-Identifier: BSD-3-Clause
"""Mutants that no test can kill, because the program does the same: each with the reason, in a line.

A row names the mutant by what stands in the source, so that it is found again when lines move. `test_mutation.py`
checks that the line is still there, and `run` that it has such a mutant. `run --show ID` prints the row to copy.
"""
from typing import NamedTuple


class Equivalent(NamedTuple):
    file: str
    line: str  # without indentation
    operator: str
    change: str  # Mutant.change
    why: str
    nth: int = 1  # of the mutants of which all that is the same


EQUIVALENT = [
    Equivalent('lib/flow/traffic_learner.cpp',
               'for (const std::uint64_t half : halves) hash = mix_keyed(hash, half, secret_);',
               'off-by-one',
               'mix_keyed(hash, half, secret_) -> static_cast<unsigned long>((mix_keyed(hash, half, secret_)) - 1)',
               'Any function of bytes and secret serves as a hash: all who look for a slot find the same one.'),
    Equivalent('lib/engine/follow.cpp', 'continue;', 'statement', 'continue; -> nothing',
               'A shortcut: parse_neighbour() finds no advertisement in an IPv4 packet either.'),
    Equivalent('lib/flow/key_index.hpp', 'std::uint32_t qpn = 0;', 'off-by-one', '0 -> 1',
               'Keys of hosts only have no QPN: any number serves, as all of them have the same.'),
    Equivalent('lib/custody/budget.hpp', 'std::uint64_t flow_bytes_limit = 0;', 'off-by-one', '0 -> 1',
               'Overwritten from the settings before any flow exists.'),
    Equivalent('lib/custody/near_flow.hpp',
               'Time newcomer_answered = 0;         ///< and when it last said so; 0: never',
               'off-by-one', '0 -> -1',
               'A doubt sets it when it begins, and only a doubted flow is asked for it.'),
    Equivalent('lib/custody/near_flow.hpp',
               "std::uint32_t newcomer_next = 0;    ///< first PSN that a newcomer's responder has not answered,",
               'off-by-one', '0 -> 1',
               'Read only where newcomer_answered is not 0, and both are set together.'),
    Equivalent('lib/custody/near_flow.hpp', 'Time rewound_at = 0;           ///< and when that was; 0: never',
               'off-by-one', '0 -> -1',
               'Times wrap: one nanosecond before the epoch is as long past as the epoch itself.'),
    Equivalent('lib/custody/restart_record.hpp', 'std::uint32_t active_comm_id = 0;', 'off-by-one', '0 -> 1',
               'Without an exchange nobody reads it, and an exchange overwrites it.'),
    Equivalent('lib/engine/engine.cpp',
               'return counters.parsed[static_cast<std::size_t>(wire::ParseStatus::not_ip)];', 'off-by-one',
               'counters.parsed[static_cast<std::size_t>(wire::ParseStatus::not_ip)] -> '
               'static_cast<unsigned long>((counters.parsed[static_cast<std::size_t>(wire::ParseStatus::not_ip)]) + 1)',
               'Its only user compares one value with a later one.'),
    Equivalent('lib/wire/icrc_routine.cpp', 'std::uint32_t random = 1;', 'off-by-one', '1 -> 0',
               'Any bytes that differ serve to compare two routines.'),
    Equivalent('lib/custody/near_flow.hpp',
               'std::uint32_t resume_psn = 0;  ///< where sending stood before the probe',
               'off-by-one', '0 -> -1',
               'Each probe sets it, and only the end of a probe reads it.'),
    Equivalent('lib/custody/near_flow.hpp',
               'std::uint32_t late_end = 0;      ///< packets before it were held back by design: their '
               'pseudo-ACKs measure no delay',
               'off-by-one', '0 -> 1',
               'place() sets it before the flow has any packet.'),
    Equivalent('lib/custody/held.hpp',
               "std::uint64_t end_bytes = 0;    ///< the flow's frame bytes ever taken into custody, up "
               'to and including this packet',
               'off-by-one', '0 -> -1',
               'Custody sets it for each packet that it takes.'),
    Equivalent('lib/custody/near_part.cpp',
               'flow.msn_h = msn;',
               'off-by-one', 'msn -> static_cast<unsigned int>((msn) - 1)',
               'Nobody is told of this h: the box speaks only of a later one, which has an MSN of its own.'),
    Equivalent('lib/engine/connection_state.hpp',
               'std::uint64_t unconfirmed_bytes = 0;  ///< part of custody_bytes acknowledged to the requester',
               'off-by-one', '0 -> 1',
               'describe() sets every field before anybody reads one.'),
    Equivalent('lib/engine/connection_state.hpp',
               'std::uint32_t una = 0;                ///< first PSN that the responder has not answered',
               'off-by-one', '0 -> 1',
               'describe() sets every field before anybody reads one.'),
    Equivalent('lib/engine/connection_state.hpp',
               "std::uint32_t msn = 0;                ///< the responder's, of an ACK for una - 1, as far "
               'as it was counted',
               'off-by-one', '0 -> 1',
               'describe() sets every field before anybody reads one.'),
    Equivalent('lib/engine/connection_state.hpp',
               "std::uint32_t msn = 0;                ///< the responder's, of an ACK for una - 1, as far "
               'as it was counted',
               'off-by-one', '0 -> -1',
               'describe() sets every field before anybody reads one.'),
    Equivalent('lib/custody/near_part.cpp',
               'limits.undivided_large_mbufs = undivided(limits.pair_large_mbufs_limit, limits.large_mbufs_limit);',
               'arguments',
               'undivided(limits.pair_large_mbufs_limit, limits.large_mbufs_limit) -> '
               'undivided(limits.large_mbufs_limit, limits.pair_large_mbufs_limit)',
               'A shortcut: below a smaller bound fewer requests skip has_room(), which lets them pass too.'),
]


def key(mutant):
    return mutant.file, mutant.text, mutant.operator, mutant.change


def match(mutants, table=None):
    """{id: row} of the mutants in the table, and the rows that name none."""
    alike = {}
    for mutant in sorted(mutants, key=lambda m: (m.file, m.begin, m.end, m.operator, m.after)):
        alike.setdefault(key(mutant), []).append(mutant)
    found, stale = {}, []
    for row in EQUIVALENT if table is None else table:
        candidates = alike.get((row.file, row.line, row.operator, row.change), [])
        if len(candidates) < row.nth:
            stale.append(row)
        else:
            found[candidates[row.nth - 1].id] = row
    return found, stale


def row_for(mutant, mutants):
    """What to copy into the table."""
    alike = [m.id for m in sorted(mutants, key=lambda m: (m.begin, m.end, m.after)) if key(m) == key(mutant)]
    nth = alike.index(mutant.id) + 1
    tail = f', nth={nth}' if nth > 1 else ''
    fields = [repr(field) for field in (mutant.file, mutant.text, mutant.operator, mutant.change, 'WHY')]
    return '    Equivalent(' + ',\n               '.join(fields) + f'{tail}),'
