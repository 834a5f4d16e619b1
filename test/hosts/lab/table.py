# SPDX-License-Identifier: BSD-3-Clause
"""Text tables: right-aligned columns, the first left-aligned, a line under the heading."""


class Columns:
    """Columns wide enough for the heading and for rows like these, for a table that is printed row by row."""

    def __init__(self, heading, rows):
        self._heading = heading
        self._widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]

    def heading(self):
        """Two lines."""
        return self.line(self._heading) + "\n" + "  ".join("-" * width for width in self._widths)

    def line(self, row):
        """One row."""
        first = row[0].ljust(self._widths[0])
        return "  ".join([first] + [cell.rjust(width) for cell, width in zip(row[1:], self._widths[1:])])


def render(heading, rows):
    """A whole table."""
    columns = Columns(heading, rows)
    return "\n".join([columns.heading(), *map(columns.line, rows)])
