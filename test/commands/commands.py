# SPDX-License-Identifier: BSD-3-Clause
"""The commands and options that the program has, as its help lists them."""
import re


def help_of(program, path):
    """The text, the subcommands and the long options of a command."""
    text = program.text(*path[1:], "--help", command=path[0]) if path else program.text(command="--help")
    subcommands = re.search(r"^Subcommands:\n((?:  .*\n|\n)*)", text, re.M)
    names = re.findall(r"^  ([a-z]+)\b", subcommands.group(1), re.M) if subcommands else []
    return text, names, re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", text, re.M)


def tree(program, path=()):
    """{("ctl", "flows"): (help, subcommands, options)}, everything below `path`."""
    here = help_of(program, path)
    found = {path: here}
    for name in here[1]:
        found.update(tree(program, (*path, name)))
    return found
