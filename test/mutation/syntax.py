# SPDX-License-Identifier: BSD-3-Clause
"""Finds the mutants of C++ source in its syntax tree, as libclang reads it."""
import bisect
import re

import clang.cindex
from clang.cindex import CursorKind as Kind
from clang.cindex import TypeKind

from exclusions import COMMUTATIVE, FINE, excluded_call, excluded_text
from mutant import Mutant
from operators import NAMED_RELATIONS, RELATIONS, literal_neighbours, one_side, other_relations, value_neighbours
from vital import is_vital

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.CONVERSION_FUNCTION,
             Kind.FUNCTION_TEMPLATE, Kind.LAMBDA_EXPR}
# What is decided when it is compiled, or has nothing to mutate in it.
CLOSED = {Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.TYPEDEF_DECL, Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL,
          Kind.PARM_DECL, Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.TEMPLATE_TYPE_PARAMETER, Kind.USING_DECLARATION,
          Kind.CXX_UNARY_EXPR, Kind.TYPE_REF, Kind.TEMPLATE_REF, Kind.ALIGNED_ATTR}
LOOPS = {Kind.FOR_STMT, Kind.WHILE_STMT, Kind.DO_STMT, Kind.CXX_FOR_RANGE_STMT}
CONTROL = LOOPS | {Kind.IF_STMT, Kind.SWITCH_STMT}
JUMPS = {Kind.BREAK_STMT, Kind.CONTINUE_STMT, Kind.RETURN_STMT}
LABELS = {Kind.CASE_STMT, Kind.DEFAULT_STMT}
INTEGERS = {TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG, TypeKind.SHORT, TypeKind.INT,
            TypeKind.LONG, TypeKind.LONGLONG, TypeKind.UCHAR, TypeKind.SCHAR}
REFERENCES = {TypeKind.LVALUEREFERENCE, TypeKind.RVALUEREFERENCE}


def has_kind(cursor, kinds):
    try:
        return cursor.kind in kinds
    except ValueError:  # newer than the binding knows
        return False


def range_of(cursor):
    extent = cursor.extent
    return extent.start.offset, extent.end.offset


def peel(cursor):
    """Without the implicit conversions around it."""
    while has_kind(cursor, {Kind.UNEXPOSED_EXPR}):
        inner = [child for child in cursor.get_children() if range_of(child) == range_of(cursor)]
        if len(inner) != 1:
            break
        cursor = inner[0]
    return cursor


class Surroundings:
    """What a node is in: its function, its statement, and what follows the statement."""

    def __init__(self, returns_value=False, statement=None, falls_off=True, last_of=frozenset({Kind.RETURN_STMT})):
        self.returns_value = returns_value  # the function must not reach its end
        self.statement = statement  # (begin, end)
        self.falls_off = falls_off  # nothing follows in the function
        self.last_of = last_of  # jumps that would lead to where it goes on anyway

    def within(self, **changes):
        return Surroundings(**{**self.__dict__, **changes})


class Finder:
    def __init__(self, file, source):
        self.file, self.source = file, source
        self.found = {}
        self.lines = [line.decode() for line in source.splitlines()]
        self.line_starts = [0]
        for line in source.splitlines(keepends=True):
            self.line_starts.append(self.line_starts[-1] + len(line))
        self.nth, seen = [], {}
        for line in self.lines:
            seen[line.strip()] = seen.get(line.strip(), 0) + 1
            self.nth.append(seen[line.strip()])

    def text(self, begin, end):
        return self.source[begin:end].decode()

    def of(self, cursor):
        return self.text(*range_of(cursor))

    def is_here(self, cursor):
        at = cursor.location.file
        return at is not None and at.name == self.file_name

    def find(self, unit, file_name):
        self.file_name = file_name
        for cursor in unit.cursor.get_children():
            if self.is_here(cursor):
                self.visit(cursor, Surroundings())
        return [self.found[key] for key in sorted(self.found)]

    def add(self, begin, end, operator, after, around, is_statement=False, of_type=''):
        before = self.text(begin, end)
        if not before.strip() or '#' in before or before == after:
            return
        statement = self.text(*(around.statement or (begin, end)))
        if is_statement and before not in statement:
            statement += before
        row = bisect.bisect_right(self.line_starts, begin) - 1
        line = self.lines[row]
        indent = len(line) - len(line.lstrip())
        mutant = Mutant(self.file, begin, end, row + 1, begin - self.line_starts[row] - indent, line.strip(),
                        self.nth[row], operator, before, after, is_statement, of_type, statement,
                        is_vital(self.file, statement))
        self.found.setdefault((begin, end, operator, after), mutant)

    # ---- declarations

    def visit(self, cursor, around):
        if has_kind(cursor, CLOSED):
            return
        begin, end = range_of(cursor)
        if begin >= end:
            return
        if self.excluded(cursor):
            return
        if has_kind(cursor, FUNCTIONS):
            self.visit_function(cursor)
        elif has_kind(cursor, {Kind.VAR_DECL, Kind.FIELD_DECL}):
            self.visit_variable(cursor, around)
        elif has_kind(cursor, {Kind.COMPOUND_STMT}):
            self.visit_block(cursor, around)
        elif has_kind(cursor, CONTROL):
            self.visit_control(cursor, around)
        elif has_kind(cursor, LABELS):
            children = list(cursor.get_children())
            if children:
                self.visit_statement(children[-1], around)
        elif has_kind(cursor, {Kind.RETURN_STMT}):
            around = around.within(statement=(begin, end))
            for value in cursor.get_children():
                self.visit_value(value, around, value.type)
                self.visit(value, around)
        elif has_kind(cursor, {Kind.DECL_REF_EXPR, Kind.MEMBER_REF_EXPR}):
            for child in cursor.get_children():
                if not has_kind(child, {Kind.INTEGER_LITERAL}):  # a template's argument
                    self.visit(child, around)
        else:
            self.visit_expression(cursor, around)
            self.visit_children(cursor, around)

    def visit_children(self, cursor, around):
        for child in cursor.get_children():
            self.visit(child, around)

    def visit_function(self, cursor):
        if excluded_text(cursor.spelling):
            return
        body = next((c for c in cursor.get_children() if has_kind(c, {Kind.COMPOUND_STMT})), None)
        if body is None or not self.of(body).startswith('{') or self.is_run_by_compiler(cursor, body):
            return
        if has_kind(cursor, {Kind.LAMBDA_EXPR}):
            returns_value = bool(re.search(r'\breturn\s*[^;\s]', self.of(body)))
        else:
            returns_value = cursor.result_type.kind not in (TypeKind.VOID, TypeKind.INVALID)
        around = Surroundings(returns_value=returns_value)
        member = None
        for child in cursor.get_children():  # what a constructor initializes
            if has_kind(child, {Kind.MEMBER_REF}):
                member = range_of(child)[0]
            elif member is not None and not has_kind(child, {Kind.COMPOUND_STMT}):
                self.visit_initial(child, member, around.within(statement=(member, range_of(child)[1])))
                member = None
        self.visit(body, around)

    def is_run_by_compiler(self, cursor, body):
        """A consteval function; or one of this file alone that only static_assert calls. No test runs it."""
        head = self.text(range_of(cursor)[0], range_of(body)[0])
        if 'consteval' in head:
            return True
        if self.file.endswith('.hpp') or 'constexpr' not in head:
            return False
        elsewhere = re.sub(rb'\bstatic_assert\([^;]*;', b'', self.source)
        return len(re.findall(rb'\b' + re.escape(cursor.spelling.encode()) + rb'\b', elsewhere)) == 1

    def visit_initial(self, cursor, name, around):
        """What stands behind a name that begins at `name`, which is no call although it may look like one."""
        if has_kind(peel(cursor), {Kind.CALL_EXPR}) and range_of(cursor)[0] == name:
            self.visit_children(peel(cursor), around)
        else:
            self.visit(cursor, around)

    def visit_variable(self, cursor, around):
        begin, end = range_of(cursor)
        name = cursor.location.offset
        if re.search(r'\b(constexpr|constinit|static const)\b', self.text(begin, name)) or cursor.is_bitfield():
            return
        if excluded_text(cursor.spelling):
            return
        within = around.within(statement=(begin, end))
        for child in cursor.get_children():
            start = range_of(child)[0]
            between = self.text(name, start) if start > name else ''
            if start < name:
                continue  # of its type
            if not re.search(r'[={(]', between) and not has_kind(peel(child), {Kind.CALL_EXPR, Kind.INIT_LIST_EXPR}):
                continue  # the size of an array
            if '=' in between:
                self.visit_value(child, within, cursor.type)
            self.visit_initial(child, name, within)

    # ---- statements

    def visit_block(self, cursor, around):
        children = list(cursor.get_children())
        for i, child in enumerate(children):
            last = i == len(children) - 1
            self.visit_statement(child, around.within(falls_off=around.falls_off and last,
                                                      last_of=around.last_of if last else frozenset()))

    def whole(self, cursor):
        """The range of a statement, with its semicolon."""
        begin, end = range_of(cursor)
        if has_kind(cursor, {Kind.COMPOUND_STMT}):
            return begin, end
        if has_kind(cursor, (CONTROL - {Kind.DO_STMT}) | LABELS | {Kind.UNEXPOSED_STMT}):
            return begin, self.whole(list(cursor.get_children())[-1])[1]
        tail = re.match(rb'\s*;', self.source[end:]) if self.source[end - 1:end] != b';' else None
        return begin, end + (tail.end() if tail else 0)

    def visit_statement(self, cursor, around):
        """One that may be left out."""
        begin, end = self.whole(cursor)
        text = self.text(begin, end)
        if excluded_text(text) and '{' not in text:
            return
        if has_kind(cursor, {Kind.UNEXPOSED_STMT}):  # attributes
            for child in cursor.get_children():
                self.visit_statement(child, around)
            return
        if has_kind(cursor, {Kind.DECL_STMT, Kind.COMPOUND_STMT, Kind.NULL_STMT} | LABELS):
            self.visit(cursor, around)
            return
        if cursor.kind.is_expression():
            around = around.within(statement=(begin, end))
        is_known = cursor.kind.is_expression() or has_kind(cursor, CONTROL | JUMPS)
        idle = cursor.kind in around.last_of and not list(cursor.get_children())
        may_end_function = around.returns_value and around.falls_off and re.search(r'\breturn\b', text)
        may_go = text[-1:] in ';}' and not idle and not may_end_function and not excluded_text(text)
        if is_known and may_go and not self.excluded(cursor):
            self.add(begin, end, 'statement', '', around.within(statement=(begin, end)), is_statement=True)
        self.visit(cursor, around)

    def visit_control(self, cursor, around):
        begin, end = range_of(cursor)
        children = list(cursor.get_children())
        bodies, heads = self.parts(cursor, children)
        head_end = range_of(bodies[0])[0] if bodies else end
        if has_kind(cursor, {Kind.DO_STMT}):
            around = around.within(statement=range_of(heads[-1])) if heads else around
        else:
            around = around.within(statement=(begin, head_end))
        decided_early = re.match(r'if\s+constexpr\b', self.text(begin, head_end)) is not None
        for head in [] if decided_early else heads:
            self.visit(head, around)
        if has_kind(cursor, {Kind.IF_STMT}) and not decided_early:
            condition = heads[-1] if heads else None
            declares = any(has_kind(head, {Kind.VAR_DECL}) for head in heads)
            if condition is not None and condition.kind.is_expression() and not declares:
                at = range_of(condition)
                self.add(*at, 'condition', 'true', around, of_type='bool')
        around = around.within(statement=None)
        if has_kind(cursor, LOOPS):
            around = around.within(last_of=frozenset({Kind.CONTINUE_STMT}))
        elif has_kind(cursor, {Kind.SWITCH_STMT}):
            around = around.within(last_of=around.last_of - {Kind.CONTINUE_STMT} | {Kind.BREAK_STMT})
        for body in bodies:
            self.visit_statement(body, around)

    def parts(self, cursor, children):
        """The bodies, and what stands in the head."""
        if has_kind(cursor, {Kind.DO_STMT}):
            return children[:1], children[1:]
        if has_kind(cursor, {Kind.IF_STMT}):
            close = self.closing(cursor)
            return [c for c in children if range_of(c)[0] > close], [c for c in children if range_of(c)[0] < close]
        if has_kind(cursor, {Kind.CXX_FOR_RANGE_STMT}):
            close = self.closing(cursor)
            return [c for c in children if range_of(c)[0] > close][-1:], [
                c for c in children if range_of(c)[0] < close and not has_kind(c, {Kind.VAR_DECL, Kind.DECL_STMT})]
        return children[-1:], children[:-1]

    def closing(self, cursor):
        """Where the head's parenthesis closes."""
        begin, end = range_of(cursor)
        depth = 0
        for token in re.finditer(rb'//[^\n]*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|[()]', self.source[begin:end]):
            if token[0] == b'(':
                depth += 1
            elif token[0] == b')':
                depth -= 1
                if depth == 0:
                    return begin + token.start()
        return end

    # ---- expressions

    def excluded(self, cursor):
        return has_kind(peel(cursor), {Kind.CALL_EXPR}) and excluded_call(self.callee(peel(cursor)))

    def callee(self, call):
        return self.of(call).split('(')[0].strip()

    def visit_expression(self, cursor, around):
        if has_kind(cursor, {Kind.INTEGER_LITERAL}):
            self.visit_literal(cursor, around)
        elif has_kind(cursor, {Kind.BINARY_OPERATOR}):
            self.visit_binary(cursor, list(cursor.get_children()), around)
        elif has_kind(cursor, {Kind.UNARY_OPERATOR}):
            self.visit_negation(cursor, around)
        elif has_kind(cursor, {Kind.CONDITIONAL_OPERATOR}):
            children = list(cursor.get_children())
            if len(children) == 3:
                at = range_of(children[0])
                self.add(*at, 'condition', 'true', around, of_type='bool')
                self.add(*at, 'condition', 'false', around, of_type='bool')
        elif has_kind(cursor, {Kind.CALL_EXPR}):
            self.visit_call(cursor, around)

    def visit_literal(self, cursor, around):
        begin, end = range_of(cursor)
        for other in literal_neighbours(self.text(begin, end)):
            self.add(begin, end, 'off-by-one', other, around)

    def between(self, left, right):
        """The operator between two operands."""
        return self.text(range_of(left)[1], range_of(right)[0]) if range_of(left)[1] <= range_of(right)[0] else ''

    def visit_binary(self, cursor, sides, around):
        if len(sides) != 2:
            return
        begin, end = range_of(cursor)
        if range_of(sides[0])[0] != begin or range_of(sides[1])[1] != end:
            return  # from a macro
        operator = re.sub(r'//[^\n]*|\s', '', self.between(*sides))
        left, right = self.of(sides[0]), self.of(sides[1])
        if operator in RELATIONS:
            for after in other_relations(left + ' ', operator, ' ' + right):
                self.add(begin, end, 'relation', after, around)
        elif operator in ('&&', '||'):
            for after in one_side(left, right):
                self.add(begin, end, 'condition', after, around)
        elif operator == '=':
            self.visit_value(sides[1], around, sides[0].type)

    def visit_negation(self, cursor, around):
        begin, end = range_of(cursor)
        text = self.text(begin, end)
        if text.startswith('!') and not text.startswith('!='):
            self.add(begin, end, 'condition', f'static_cast<bool>({text[1:]})', around)

    def visit_value(self, cursor, around, target):
        """One that is returned, assigned, or what a variable begins with."""
        kind = cursor.type.get_canonical().kind
        inner = peel(cursor)
        if kind not in INTEGERS or inner.type.get_canonical().kind not in INTEGERS:
            return
        if has_kind(inner, {Kind.INTEGER_LITERAL}) or target.kind in REFERENCES:
            return
        types = (inner.type, cursor.type, target)
        if any(one.spelling.removeprefix('const ').split('::')[-1] in FINE for one in types):
            return
        begin, end = range_of(cursor)
        of_type = inner.type.get_canonical().spelling.removeprefix('const ')
        for after in value_neighbours(self.text(begin, end), of_type):
            self.add(begin, end, 'off-by-one', after, around, of_type=of_type)

    def visit_call(self, cursor, around):
        begin, end = range_of(cursor)
        text = self.text(begin, end)
        arguments = list(cursor.get_arguments())
        if cursor.spelling.startswith('operator') and cursor.spelling != 'operator()':
            self.visit_binary(cursor, arguments, around)
            return
        if not text.endswith(')') or self.excluded(cursor):
            return
        if cursor.spelling == 'operator()':
            arguments = arguments[1:]
        name = cursor.spelling
        if name in NAMED_RELATIONS:
            head = re.match(r'((?:\w+::)*)' + name + r'\b', text)
            if head:
                self.add(begin, end, 'relation', NAMED_RELATIONS[name] + text[head.end():], around)
        if name in COMMUTATIVE:
            return
        for one, two in zip(arguments, arguments[1:]):
            if has_kind(peel(one), {Kind.LAMBDA_EXPR}) or not self.alike(one, two):
                continue
            first, second = range_of(one), range_of(two)
            if not begin < first[0] < first[1] <= second[0] < second[1] < end:
                continue  # from a macro, or a default
            after = (self.text(begin, first[0]) + self.text(*second) + self.text(first[1], second[0]) +
                     self.text(*first) + self.text(second[1], end))
            self.add(begin, end, 'arguments', after, around)

    def alike(self, one, two):
        """Of one type, as the function takes them, and not the same."""
        types = [a.type.get_canonical().spelling for a in (one, two)]
        types = [spelling if '*' in spelling else spelling.removeprefix('const ') for spelling in types]
        return types[0] == types[1] and types[0] not in ('', '<dependent type>') and self.of(one) != self.of(two)


def parse(path, flags, unsaved=None):
    index = clang.cindex.Index.create()
    unit = index.parse(str(path), args=flags, unsaved_files=unsaved or [])
    errors = [str(d) for d in unit.diagnostics if d.severity >= clang.cindex.Diagnostic.Error]
    if errors:
        raise RuntimeError(f'{path} does not compile for libclang:\n' + '\n'.join(errors[:5]))
    return unit


def find_in_text(text, file='lib/example/snippet.cpp', flags=('-std=c++20',)):
    """The mutants of a snippet, for tests."""
    unit = parse('snippet.cpp', list(flags), [('snippet.cpp', text)])
    return Finder(file, text.encode()).find(unit, 'snippet.cpp')
