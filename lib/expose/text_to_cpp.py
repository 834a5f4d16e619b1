# SPDX-License-Identifier: BSD-3-Clause
"""text_to_cpp.py TEXT OUTPUT HEADER NAME: a C++ source that defines NAME, declared in HEADER, as the text."""
import json
import pathlib
import sys

text, output, header, name = sys.argv[1:]
namespace, _, variable = name.rpartition("::")
# A literal for each line: compilers limit their length. JSON's escapes are C++'s, as far as ASCII goes.
lines = [json.dumps(line) for line in pathlib.Path(text).read_text(encoding="ascii").splitlines(keepends=True)]
pathlib.Path(output).write_text(
    f'#include "{header}"\nnamespace {namespace} {{\nconst std::string_view {variable} =\n' + "\n".join(lines) + ";\n}\n",
    encoding="ascii")
