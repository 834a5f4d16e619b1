#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of mutation testing without a compiler: operators, exclusions, samples, weaving, the table of equivalents."""
import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import equivalent  # noqa: E402
import exclusions  # noqa: E402
import judges  # noqa: E402
import report  # noqa: E402
import schemata  # noqa: E402
import syntax  # noqa: E402
import trial  # noqa: E402
from judges import CAPTURES, FEW_WORLDS, NAMED_WORLDS, UNITS, Check, Clean  # noqa: E402
from mutant import draw, mutated  # noqa: E402
from operators import OPERATORS, literal_neighbours  # noqa: E402
from vital import is_vital  # noqa: E402

DECLARED = '''
using Time = unsigned long;
struct Flow { unsigned una = 0; unsigned h = 0; };
bool psn_lt(unsigned, unsigned);
void take(unsigned, unsigned);
void note(unsigned, Flow&);
void rte_prefetch0(const void*);
namespace fmt { unsigned format(const char*, unsigned); }
namespace std { unsigned min(unsigned, unsigned); }
'''


def changes(body, operator, head='unsigned f(Flow& flow, unsigned a, unsigned b, Time now)'):
    """What the operator makes of a function's body. It may be written for any of these arguments."""
    text = DECLARED + head + ' {\n' + body + '\n}\n'
    first = text.index(body)
    return [m.change for m in syntax.find_in_text(text) if m.operator == operator and m.begin >= first]


class Operators(unittest.TestCase):
    def test_relations(self):
        for before, after in (('a < b', ['a <= b', 'a >= b']), ('a == b', ['a != b']), ('a >= b', ['a > b', 'a < b']),
                              ('psn_lt(a, b)', ['::longhaul::wire::psn_le(a, b)'])):
            with self.subTest(before):
                self.assertCountEqual(changes(f'return {before};', 'relation'), [f'{before} -> {one}' for one in after])

    def test_min_is_a_relation_and_has_no_order(self):
        self.assertEqual(changes('return std::min(a, b);', 'relation'), ['std::min(a, b) -> std::max(a, b)'])
        self.assertEqual(changes('return std::min(a, b);', 'arguments'), [])

    def test_integers_are_off_by_one(self):
        self.assertCountEqual(changes('take(a, 7);', 'off-by-one', 'void f(unsigned a)'), ['7 -> 8', '7 -> 6'])
        self.assertEqual(literal_neighbours('0xffU'), ('0x100U', '0xfeU'))
        self.assertEqual(literal_neighbours("1'000ull"), ('1001ull', '999ull'))
        self.assertEqual(literal_neighbours('kMost'), ())

    def test_values_are_off_by_one(self):
        for body in ('return a;', 'flow.una = a;', 'const unsigned c = a;'):
            with self.subTest(body):
                self.assertCountEqual(changes(body, 'off-by-one'), ['a -> static_cast<unsigned int>((a) + 1)',
                                                                    'a -> static_cast<unsigned int>((a) - 1)'])

    def test_statements_are_left_out(self):
        self.assertEqual(changes('flow.una = a;\nreturn a;', 'statement'), ['flow.una = a; -> nothing'])
        self.assertEqual(changes('if (a) take(a, b);\nelse take(b, a);\nreturn a;', 'statement'),
                         ['if (a) take(a, b); else take(b, a); -> nothing', 'take(a, b); -> nothing',
                          'take(b, a); -> nothing'])

    def test_no_function_loses_its_only_return(self):
        self.assertEqual(changes('return a;', 'statement'), [])
        self.assertEqual(changes('if (a) return a;\nelse return b;', 'statement'), [])
        self.assertEqual(changes('if (a) return a;\nreturn b;', 'statement'),
                         ['if (a) return a; -> nothing', 'return a; -> nothing'])

    def test_no_jump_to_where_it_goes_anyway(self):
        for there, jump, body in ((False, 'break', 'switch (a) { default: take(a, b); break; }'),
                                  (True, 'break', 'switch (a) { case 1: break; default: take(a, b); }'),
                                  (True, 'break', 'for (;;) { if (a) break; }'),
                                  (False, 'continue', 'for (;;) { if (a) continue; }'),
                                  (True, 'continue', 'for (;;) { if (a) continue; take(a, b); }')):
            with self.subTest(body):
                self.assertEqual(f'{jump}; -> nothing' in changes(f'{body}\nreturn a;', 'statement'), there)
        self.assertEqual(changes('return;', 'statement', 'void f()'), [])

    def test_arguments_of_one_type_are_swapped(self):
        self.assertEqual(changes('take(a, b);', 'arguments'), ['take(a, b) -> take(b, a)'])
        self.assertEqual(changes('note(a, flow);', 'arguments'), [])
        self.assertEqual(changes('take(a, a);', 'arguments'), [])

    def test_conditions_are_dropped(self):
        self.assertCountEqual(changes('return a && b;', 'condition'), ['a && b -> static_cast<bool>(a)',
                                                                       'a && b -> static_cast<bool>(b)'])
        self.assertCountEqual(changes('return !a;', 'condition'), ['!a -> static_cast<bool>(a)'])
        self.assertEqual(changes('if (a) take(a, b);', 'condition'), ['a -> true'])
        self.assertEqual(changes('if (unsigned c = a) take(c, b);', 'condition'), [])
        self.assertCountEqual(changes('return a ? b : a;', 'condition'), ['a -> true', 'a -> false'])

    def test_every_operator_is_explained(self):
        text = DECLARED + 'unsigned f(unsigned a, unsigned b) { if (a < 3) take(a, b); return b; }'
        self.assertEqual({m.operator for m in syntax.find_in_text(text)}, set(OPERATORS))


class Exclusions(unittest.TestCase):
    def test_what_the_compiler_decides(self):
        for text in ('static_assert(1 < 2);', 'constexpr int kMost = 7;', 'enum E { one = 1 };',
                     'struct S { int bits : 3; };', 'struct S { int field[4]; };',
                     'template <int N> int get();  int (*g)() = get<3>;'):
            with self.subTest(text):
                self.assertEqual(syntax.find_in_text(text), [])

    def test_functions_that_only_the_compiler_runs(self):
        checked = 'constexpr bool sorted() { return 1 < 2; }\nstatic_assert(sorted());\n'
        self.assertEqual(syntax.find_in_text(checked), [])
        self.assertNotEqual(syntax.find_in_text(checked + 'bool f() { return sorted(); }'), [])
        self.assertEqual(syntax.find_in_text('consteval int twice(int a) { return 2 * a; }'), [])

    def test_prefetches(self):
        for body in ('rte_prefetch0(&flow);', 'if (a < b) rte_prefetch0(&flow);',
                     'for (unsigned i = 0; i < a; ++i) rte_prefetch0(&flow + i);'):
            with self.subTest(body):
                for operator in OPERATORS:
                    self.assertEqual(changes(body, operator, 'void f(Flow& flow, unsigned a, unsigned b)'), [])

    def test_text_for_people(self):
        for operator in OPERATORS:
            self.assertEqual(changes('fmt::format("{}", 3);', operator), [])

    def test_one_nanosecond(self):
        body = 'const Time then = now;\nreturn then != now;'
        self.assertEqual(changes(body, 'off-by-one'), [])
        self.assertEqual(changes(body, 'relation'), ['then != now -> then == now'])

    def test_excluded_files_exist(self):
        for file in exclusions.FILES:
            self.assertTrue((ROOT / file).exists(), file)


class Vital(unittest.TestCase):
    def test_names(self):
        for statement in ('flow.una = psn;', 'flow.h = psn;', 'flow.msn_h = 0;', 'flow.bytes_promised = 0;',
                          'verify_icrc(f)'):
            self.assertTrue(is_vital('lib/custody/answer.cpp', statement), statement)
        for statement in ('flow.tail = psn;  // behind una', 'head = h2;', 'leave_unpromised(flow);', 'say("una");'):
            self.assertFalse(is_vital('lib/custody/answer.cpp', statement), statement)
        self.assertTrue(is_vital('lib/wire/icrc.cpp', 'return 0;'))


class Samples(unittest.TestCase):
    TEXT = DECLARED + '''unsigned f(unsigned a, unsigned b) {
  if (a < b) take(a, b);
  if (a < b) take(b, a);
  return a;
}
'''

    def test_the_seed_decides(self):
        mutants = syntax.find_in_text(self.TEXT)
        self.assertEqual(draw(mutants, 7), draw(mutants[::-1], 7))
        self.assertNotEqual(draw(mutants, 7), draw(mutants, 8))
        self.assertEqual(draw(mutants[3:], 7), [m for m in draw(mutants, 7) if m in mutants[3:]])

    def test_names_differ_and_stay_when_lines_move(self):
        names = [m.id for m in syntax.find_in_text(self.TEXT)]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names, [m.id for m in syntax.find_in_text('// A line more.\n' + self.TEXT)])

    def test_a_mutant_is_one_change(self):
        source = self.TEXT.encode()
        for mutant in syntax.find_in_text(self.TEXT):
            self.assertEqual(source[mutant.begin:mutant.end].decode(), mutant.before)
            self.assertIn(mutant.after, mutated(source, mutant).decode())


class Weaving(unittest.TestCase):
    def test_the_woven_text_is_valid_whatever_is_in_it(self):
        text = Samples.TEXT
        numbered = list(enumerate(syntax.find_in_text(text)))
        woven, spans = schemata.weave(text.encode(), numbered, 'switch.hpp')
        self.assertEqual({span.number for span in spans}, {number for number, _ in numbered})
        declared = ('namespace longhaul_mutation { constexpr bool is_on(int) { return false; } }\n'
                    'namespace longhaul::wire { bool psn_le(unsigned, unsigned); }\n'
                    'namespace std { unsigned max(unsigned, unsigned); }\n')
        syntax.parse('woven.cpp', ['-std=c++20'], [('woven.cpp', declared + woven.decode().split('\n', 1)[1])])

    def test_an_else_keeps_its_if(self):
        text = DECLARED + 'void f(unsigned a) {\n  if (a) take(a, 1);\n  else take(1, a);\n}\n'
        woven, _ = schemata.weave(text.encode(), list(enumerate(syntax.find_in_text(text))), 'switch.hpp')
        self.assertRegex(woven.decode(), r'\} \}\s*else \{ if')

    def test_an_error_is_blamed_on_the_smallest_place(self):
        text = b'one\ntwo three\nfour'
        spans = [schemata.Span(0, 13, 0), schemata.Span(8, 13, 1), schemata.Span(8, 13, 2)]
        self.assertEqual(schemata.blamed(text, spans, 2, 5), [1, 2])
        self.assertEqual(schemata.blamed(text, spans, 2, 1), [0])
        self.assertEqual(schemata.blamed(text, spans, 3, 1), [])


class Trials(unittest.TestCase):
    def test_only_what_comes_by_it_judges_and_the_cheap_first(self):
        clean = {Check(CAPTURES, 'replay a', ('replay',)): Clean(1, frozenset({7})),
                 Check(FEW_WORLDS, 'soak 1', ('soak', '1')): Clean(9, frozenset({7})),
                 Check(FEW_WORLDS, 'soak 2', ('soak', '2')): Clean(9, frozenset({8})),
                 Check(UNITS, 'slow', ('slow',), 'one'): Clean(5, frozenset({7})),
                 Check(UNITS, 'fast', ('fast',), 'one'): Clean(2, frozenset({7})),
                 Check(UNITS, 'fast', ('fast',), 'two'): Clean(1, frozenset({7})),
                 Check(UNITS, 'fast', ('fast',), 'three'): Clean(1, frozenset()),
                 Check(NAMED_WORLDS, 'sim', ('sim',), 'one'): Clean(2, frozenset({8}))}
        self.assertEqual([[check.test or check.name for check in group] for group in trial.plan(7, clean)],
                         [['two', 'one'], ['one'], ['soak 1'], ['replay a']])
        self.assertEqual(trial.plan(9, clean), [])

    def test_what_was_found_without_mutants_is_kept(self):
        clean = {Check(UNITS, 'fast', ('fast', '--now'), 'one'): Clean(2.5, frozenset({7, 9}))}
        self.assertEqual(judges.read(json.loads(json.dumps(judges.written(clean)))), clean)

    def test_what_failed(self):
        self.assertEqual(trial.what_failed('started\na_test.cpp:7: failed: x == 1 for: 2 == 1\nFailed 1 test case\n'),
                         'a_test.cpp:7: failed: x == 1 for: 2 == 1')
        self.assertEqual(trial.what_failed(''), '')


class Reports(unittest.TestCase):
    def results(self, killed=0, survived=0, equivalents=0, vital_survived=0):
        plan = ((trial.KILLED, killed, False), (trial.SURVIVED, survived, False),
                (report.EQUIVALENT, equivalents, True), (trial.UNREACHED, vital_survived, True))
        return [{'status': status, 'vital': vital, 'file': 'f', 'line': 1}
                for status, count, vital in plan for _ in range(count)]

    def test_the_bar(self):
        for holds, counts in ((True, {'killed': 90, 'survived': 10}), (False, {'killed': 89, 'survived': 11}),
                              (True, {'killed': 81, 'survived': 9, 'equivalents': 10}),
                              (False, {'killed': 88, 'equivalents': 12}),
                              (False, {'killed': 99, 'vital_survived': 1})):
            with self.subTest(counts):
                self.assertEqual(report.add_up(self.results(**counts)).holds, holds)


class Equivalents(unittest.TestCase):
    def test_each_row_names_a_line_of_the_source(self):
        for row in equivalent.EQUIVALENT:
            with self.subTest(row.line):
                self.assertIn(row.line, [line.strip() for line in (ROOT / row.file).read_text().splitlines()])
                self.assertIn(row.operator, OPERATORS)
                self.assertIn(' -> ', row.change)

    def test_each_row_gives_its_reason_in_a_line(self):
        for row in equivalent.EQUIVALENT:
            with self.subTest(row.line):
                self.assertGreater(len(row.why), 20)
                self.assertNotIn('\n', row.why)

    def test_rows_differ(self):
        rows = [(row.file, row.line, row.operator, row.change, row.nth) for row in equivalent.EQUIVALENT]
        self.assertEqual(len(rows), len(set(rows)))

    def test_a_row_finds_its_mutant_and_a_stale_one_is_told(self):
        mutants = syntax.find_in_text(Samples.TEXT)
        for mutant in mutants:
            written = equivalent.row_for(mutant, mutants).strip().removesuffix(',')
            row = eval(written, {'Equivalent': equivalent.Equivalent})
            self.assertEqual(equivalent.match(mutants, [row]), ({mutant.id: row}, []))
        stale = row._replace(line='it was here')
        self.assertEqual(equivalent.match(mutants, [stale]), ({}, [stale]))


if __name__ == '__main__':
    unittest.main()
