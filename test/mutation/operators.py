# SPDX-License-Identifier: BSD-3-Clause
"""The operators: what each puts in the place of what it finds. Texts in, texts out; syntax.py finds the places."""
import re

OPERATORS = {
    'relation': 'another relation: < and <=, == and !=, psn_lt and psn_le, min and max',
    'off-by-one': 'an integer, a returned, assigned or initial one: one more, one less',
    'statement': 'a statement is left out',
    'arguments': 'two neighbouring arguments of one type change places',
    'condition': 'a condition, or one side of && and ||, is left out; a negation too',
}

# The one that differs at the border, and the one that differs everywhere else.
RELATIONS = {
    '<': ('<=', '>='), '<=': ('<', '>'), '>': ('>=', '<='), '>=': ('>', '<'), '==': ('!=',), '!=': ('==',),
}
NAMED_RELATIONS = {
    'psn_lt': '::longhaul::wire::psn_le', 'psn_le': '::longhaul::wire::psn_lt', 'min': 'std::max', 'max': 'std::min',
}

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)$")


def literal_neighbours(text):
    """The integer literals one above and one below; none if it is not one."""
    found = _INTEGER.match(text)
    if not found:
        return ()
    digits, suffix = found[1].replace("'", ''), found[2]
    base = 16 if digits[:2] in ('0x', '0X') else 2 if digits[:2] in ('0b', '0B') else 10
    value = int(digits, base) if base != 10 or not re.match(r'0\d', digits) else int(digits, 8)

    def written(number):
        return ('-' if number < 0 else '') + (hex(abs(number)) if base == 16 else str(abs(number))) + suffix

    return written(value + 1), written(value - 1)


def value_neighbours(text, of_type):
    """An expression of this built-in integral type, one above and one below."""
    return f'static_cast<{of_type}>(({text}) + 1)', f'static_cast<{of_type}>(({text}) - 1)'


def other_relations(left, relation, right):
    return tuple(f'{left}{other}{right}' for other in RELATIONS[relation])


def one_side(left, right):
    """Of a && b, or of a || b."""
    return f'static_cast<bool>({left})', f'static_cast<bool>({right})'
