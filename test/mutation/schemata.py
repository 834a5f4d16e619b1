# SPDX-License-Identifier: BSD-3-Clause
"""Weaves mutants of one file into its text, so that a switch (switch.hpp) turns on one of them at run time.

An expression `a < b` becomes `(is_on(7) ? (a <= b) : (a < b))`, and a statement `f();` becomes
`{ if (!is_on(8)) { f(); } }`. Mutants inside of others are woven into the branch that is as it was.
"""
from typing import NamedTuple

SWITCH = 'test/mutation/switch.hpp'


class Span(NamedTuple):
    """Bytes of the woven text that come from a mutant: compilers name lines and columns."""
    begin: int
    end: int
    number: int


class _Place:
    def __init__(self, begin, end, is_statement):
        self.begin, self.end, self.is_statement = begin, end, is_statement
        self.mutants, self.inner = [], []


def _nest(numbered):
    """The places, each within the smallest that it lies in. Raises ValueError where two overlap in part."""
    places = {}
    for number, mutant in numbered:
        key = (mutant.begin, -mutant.end, not mutant.is_statement)
        place = places.setdefault(key, _Place(mutant.begin, mutant.end, mutant.is_statement))
        place.mutants.append((number, mutant))
    root = _Place(-1, 1 << 62, False)
    stack = [root]
    for key in sorted(places):
        place = places[key]
        while stack[-1].end <= place.begin:
            stack.pop()
        if place.end > stack[-1].end:
            raise ValueError(f'{place.mutants[0][1].id} overlaps with {stack[-1].mutants[0][1].id}')
        stack[-1].inner.append(place)
        stack.append(place)
    return root


def weave(source, numbered, switch):
    """The text (bytes) of a file with (number, mutant) woven in, and the spans of the mutants in it.

    `switch` is the path of switch.hpp.
    """
    out, spans = [f'#include "{switch}"\n'.encode()], []
    size = [len(out[0])]

    def put(text):
        out.append(text)
        size[0] += len(text)

    def inside(place, begin, end):
        at = begin
        for inner in place.inner:
            put(source[at:inner.begin])
            render(inner)
            at = inner.end
        put(source[at:end])

    def render(place):
        first = size[0]
        if place.is_statement:
            put(f'{{ if (!::longhaul_mutation::is_on({place.mutants[0][0]})) {{ '.encode())
            inside(place, place.begin, place.end)
            put(b' } }')
        else:
            put(b'(')
            for number, mutant in place.mutants:
                put(f'::longhaul_mutation::is_on({number}) ? '.encode())
                begin = size[0]
                put(f'({mutant.after})'.encode())
                spans.append(Span(begin, size[0], number))
                put(b' : ')
            types = [mutant.of_type for _, mutant in place.mutants if mutant.of_type]
            of_type = min(types, key='bool'.__eq__, default='')
            put(f'static_cast<{of_type}>('.encode() if of_type else b'(')
            inside(place, place.begin, place.end)
            put(b'))')
        spans.extend(Span(first, size[0], number) for number, _ in place.mutants)

    root = _nest(numbered)
    inside(root, 0, len(source))
    return b''.join(out), spans


def blamed(text, spans, line, column):
    """The numbers of the mutants that an error here in the woven text comes from: those of the smallest span."""
    starts = text.split(b'\n', line - 1)
    at = len(text) - len(starts[-1]) + column - 1
    around = [span for span in spans if span.begin <= at < span.end]
    if not around:
        return []
    smallest = min(span.end - span.begin for span in around)
    return [span.number for span in around if span.end - span.begin == smallest]
