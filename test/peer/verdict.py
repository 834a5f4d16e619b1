# SPDX-License-Identifier: BSD-3-Clause
"""How a case says that something is wrong, or that it cannot run here."""


class Failed(Exception):
    """Its text says what is wrong."""


class Skipped(Exception):
    """Its text says what is missing."""


def expect(truth, text):
    if not truth:
        raise Failed(text)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what}: {found!r}, not {wanted!r}")
