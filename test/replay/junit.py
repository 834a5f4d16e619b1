# SPDX-License-Identifier: BSD-3-Clause
"""The JUnit file of `longhaul replay`, read by others: the schema of Jenkins' xunit plugin, and python's junitparser.

junit-10.xsd is that plugin's (github.com/jenkinsci/xunit-plugin, src/main/resources/.../types/model/xsd).
"""
import pathlib
import xml.etree.ElementTree

import junitparser
from lxml import etree

import capture
from command_lines import NEAR, write_captures
from edges import edge, load

SCHEMA = pathlib.Path(__file__).parent / "junit-10.xsd"
# Nothing here may break the file: markup, quotes, a control character, a byte that is not UTF-8.
HARD_NAME = b"<a&b> \"c\" 'd'\x01\xff \xc3\xa9.pcap"


def cases(path):
    """{(suite, case): (kind of result, message)} as junitparser reads it."""
    found = {}
    for suite in junitparser.JUnitXml.fromfile(str(path)):
        for case in suite:
            results = [(type(result).__name__, result.message) for result in case.result] or [("passed", "")]
            found[(suite.name, case.name)] = results[0]
    return found


def schema_errors(path):
    schema = etree.XMLSchema(etree.parse(str(SCHEMA)))
    schema.validate(etree.parse(str(path)))
    return [str(error) for error in schema.error_log]


@edge
def junit_file(longhaul, directory):
    """Good and bad captures in one run: valid by the schema, and read as what it says."""
    write_captures(directory)
    path = pathlib.Path(directory) / "r.xml"
    names = ["write.pcap", "uc.pcap", "differs.pcap", "lossy.pcap", "absent.pcap"]
    done = longhaul.raw(*names, "--near", NEAR, "--max-unmatched", "0", "--min-matched", "1", "--junit", path, cwd=directory)
    if done.returncode != 2:
        yield f"exit {done.returncode}: {done.stderr}"
    yield from schema_errors(path)
    found = cases(path)
    failed = {suite: [(case, *result) for (of, case), result in found.items() if of == suite and result[0] != "passed"] for suite in names}
    expected = {
        "write.pcap": [],
        "uc.pcap": [("something was compared", "Failure", "no frame of a reliable connection"),
                    ("at least 1 real ACKs matched", "Failure", "0 real ACKs matched")],
        "differs.pcap": [("pseudo-ACKs agree with real ACKs", "Failure", "real ACKs differ from the pseudo-ACKs")],
        "lossy.pcap": [("at most 0 real ACKs unmatched", "Failure", "real ACKs unmatched")],
        "absent.pcap": [("the capture can be read", "Error", "No such file")],
    }
    for suite, wanted in expected.items():
        got = failed[suite]
        if [(case, kind) for case, kind, _ in got] != [(case, kind) for case, kind, _ in wanted] or \
                not all(words in message for (_, _, message), (_, _, words) in zip(got, wanted)):
            yield f"{suite}: {got}"
    top = xml.etree.ElementTree.parse(path).getroot()
    sums = {key: sum(int(suite.get(key)) for suite in top) for key in ("tests", "failures", "errors")}
    counted = {"tests": len(found), "failures": sum(kind == "Failure" for kind, _ in found.values()),
               "errors": sum(kind == "Error" for kind, _ in found.values())}
    if sums != counted or any(int(top.get(key)) != value for key, value in counted.items()):
        yield f"{dict(top.attrib)} and suites {sums}, but the cases are {counted}"


@edge
def junit_of_any_name(longhaul, directory):
    """File names that XML cannot hold as they are."""
    path = pathlib.Path(directory) / "r.xml"
    hard = pathlib.Path(directory.encode().decode()) / HARD_NAME.decode("utf-8", "surrogateescape")
    capture.write_pcap(hard, load("write_bw_r_4k"))
    longhaul.raw(hard, "--near", NEAR, "--junit", path)
    yield from schema_errors(path)
    names = {suite for suite, _ in cases(path)}
    if names != {f"{directory}/<a&b> \"c\" 'd'?? é.pcap"}:
        yield f"suites {names}"
