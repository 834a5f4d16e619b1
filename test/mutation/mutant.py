# SPDX-License-Identifier: BSD-3-Clause
"""One mutant: a place in a source file, and what stands there instead. And the sample that a seed draws of them."""
import hashlib
import re
from typing import NamedTuple


def squeezed(text):
    """On one line, comments aside."""
    return ' '.join(re.sub(r'//[^\n]*', '', text).split())


class Mutant(NamedTuple):
    file: str  # from the root of the project
    begin: int  # bytes of the file
    end: int
    line: int  # from 1
    place: int  # column of `begin` in its line without the indentation, from 0
    text: str  # that line, without indentation
    nth: int  # how many lines of the file are like it up to here, from 1
    operator: str  # operators.OPERATORS
    before: str
    after: str
    is_statement: bool  # `after` is nothing: the statement is left out
    of_type: str  # the built-in type of `after`, where that of `before` only converts to it
    statement: str  # the innermost statement around it, or the head of it
    vital: bool

    @property
    def id(self):
        """Stays the same when lines above it change."""
        key = '\0'.join(map(str, (self.file, self.text, self.nth, self.place, self.operator, self.before, self.after)))
        stem = self.file.removeprefix('lib/').replace('.cpp', '').replace('.hpp', '.h')
        return f'{stem}-{hashlib.sha1(key.encode()).hexdigest()[:6]}'

    @property
    def change(self):
        return f'{squeezed(self.before)} -> {squeezed(self.after) or "nothing"}'


def draw(mutants, seed):
    """All of them in the order that belongs to the seed: a sample is how it begins.

    The order of two does not depend on the others, so that a sample stays what it is when the source changes elsewhere.
    """
    return sorted(mutants, key=lambda m: (hashlib.sha1(f'{seed} {m.id}'.encode()).digest(), m.id))


def mutated(source, mutant):
    """The text of the file (bytes) with this one change."""
    after = mutant.after.encode() if not mutant.is_statement else b'{}'
    return source[:mutant.begin] + after + source[mutant.end:]
