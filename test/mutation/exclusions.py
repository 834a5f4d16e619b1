# SPDX-License-Identifier: BSD-3-Clause
"""What is not mutated, and why: no test should notice it, or the compiler does."""
import re

LIBRARIES = ('wire', 'flow', 'custody', 'engine', 'steer')

FILES = {
    'lib/engine/settings.hpp': 'defaults of settings: tuning',
    'lib/flow/lifetimes.hpp': 'tuning constants',
    'lib/custody/consistency.cpp': 'assertions about custody, which are a judge themselves',
    'lib/engine/consistency.cpp': 'assertions about the engine, which are a judge themselves',
}

# Statements with one of these words in them, and functions or variables with one in their name.
WORDS = {
    'prefetch': 'is about when memory is read ahead, not about what is done',
    'reserve': 'is about when memory is taken, not about what is done',
}

# Calls: nothing in their arguments is mutated.
CALLS = {
    r'(fmt|spdlog)::|^(format|log)$': 'text for people',
    r'^assert$|^RTE_(ASSERT|VERIFY)$|^__assert_fail$': 'assertions',
    r'^__builtin_expect': 'hints to the compiler',
}

# Calls whose arguments may stand in any order.
COMMUTATIVE = {'min', 'max', 'swap', 'combine'}

# Types whose unit is too small for a step of one to matter: only relations are mutated.
FINE = {'Time': 'one nanosecond', 'Duration': 'one nanosecond'}


def excluded_file(file):
    return file in FILES


def excluded_text(text):
    return any(word in text for word in WORDS)


def excluded_call(name):
    return any(re.search(pattern, name) for pattern in CALLS)
