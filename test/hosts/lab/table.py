# SPDX-License-Identifier: BSD-3-Clause
"""Text tables."""


def render(heading, rows):
    """Right-aligned columns, the first left-aligned, a line under the heading."""
    widths = [max(len(row[i]) for row in [heading] + rows) for i in range(len(heading))]

    def line(row):
        first = row[0].ljust(widths[0])
        return "  ".join([first] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
    return "\n".join([line(heading), "  ".join("-" * width for width in widths)] + [line(row) for row in rows])
