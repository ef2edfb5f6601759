"""The text of a spec while it is read: its syntax tree, and the findings so far."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from mlax_scaffold.errors import Diagnostic, Edit, Fix, Location
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.import_time import meaning
from mlax_scaffold.model.resolved import Resolved
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.applying import edited, shown_lines
from mlax_scaffold.reader.remedies.applying import shown as shown_edit
from mlax_scaffold.reader.remedies.syntax import misread

MAX_DEPTH = 100
"""Levels of a syntax tree: far more than a readable expression has, and few enough for every pass."""


_HALF = re.compile(r"[\ud800-\udfff]")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
    rf"|{_HALF.pattern}"
)


@dataclass
class Source:
    """One spec's text. `report` collects what is wrong; reading goes on to find all of it.

    A byte order mark is dropped, and a line ends in a line feed.
    """

    path: str
    text: str
    diagnostics: list[Diagnostic] = field(default_factory=list)
    resolved: Resolved | None = None
    """The text in which containers are resolved, which is then read in its place."""
    lines: list[str] = field(init=False)
    shown: list[str] = field(init=False)
    """The lines as they were written."""
    written: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.text.removeprefix("\ufeff").replace("\r\n", "\n")
        # What Python takes for the end of a line; `splitlines` knows more of them.
        self.lines = self.shown = self.text.split("\n")
        self.written = self.text
        if self.resolved is not None:
            self.text = self.resolved.text
            self.lines = self.text.split("\n")

    def parse(self) -> ast.Module | None:
        """The syntax tree, or None with the syntax error reported."""
        if self._unseen():
            return None
        try:
            tree = self.tree
        except SyntaxError as error:
            self._syntax(error)
        except (RecursionError, MemoryError):
            self._add(1, 1, _TOO_DEEP, "Split the expression.", 1)
        else:
            deep = _too_deep(tree)
            if deep is None:
                return tree
            self._add(deep, 1, _TOO_DEEP, "Split the expression.", 1)
        return None

    def check_compiles(self, tree: ast.Module) -> None:
        """Report what only the compiler finds, such as a parameter that is there twice."""
        if docstring := _with_half_characters(tree):
            message = (
                "this docstring holds half of a character, which cannot be encoded"
            )
            self.report(docstring, message, "Write the whole character.")
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(tree, self.path, "exec", dont_inherit=True)
        except SyntaxError as error:
            self._syntax(error)

    def _syntax(self, error: SyntaxError) -> None:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        hint, edit = misread(self.lines, line, column, error.msg)
        fix = None
        if edit is not None:
            changed = edited(self.text, [edit])
            fix = Fix((edit,), shown=shown_lines(self.text, changed))
        self._add(line, column, f"not valid Python: {error.msg}", hint, 1, fix)

    def _unseen(self) -> bool:
        """Report characters that end a line, or turn it around, for some readers and not for others."""
        found = False
        for number, line in enumerate(self.text.split("\n"), 1):
            for match in _UNSEEN.finditer(line):
                found = True
                self._add(
                    number,
                    match.start() + 1,
                    f"the character U+{ord(match.group()):04X} cannot be seen",
                    "Remove it; in a string, write it as an escape.",
                    1,
                )
        return found

    def report(
        self,
        node: ast.AST | int,
        message: str,
        hint: str = "",
        fix: Fix | None = None,
        offset: int = 0,
    ) -> None:
        """Record a finding at a node (`offset` characters into it), or at a line.

        `fix` is the one mechanical remedy, where there is one.
        """
        if isinstance(node, int):
            text = self.lines[node - 1] if node <= len(self.lines) else ""
            column = len(text) - len(text.lstrip()) + 1
            self._add(node, column, message, hint, 1, fix)
            return
        line = getattr(node, "lineno", 1)
        column = self._characters(line, getattr(node, "col_offset", 0)) + offset
        width = 1
        if not offset and getattr(node, "end_lineno", None) == line:
            end = self._characters(line, getattr(node, "end_col_offset", column + 1))
            width = end - column
        self._add(line, column + 1, message, hint, width, fix)

    def edit(self, node: ast.AST, text: str) -> Edit:
        """Another text for a node."""
        return Edit(*self.start(node), *self.end(node), text)

    def insert(self, node: ast.AST, text: str) -> Edit:
        """A text before a node."""
        return Edit(*self.start(node), *self.start(node), text)

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
        """Another text for what stands between two places."""
        return Edit(*start, *end, text)

    def start(self, node: ast.AST) -> tuple[int, int]:
        """The line and the column of a node's first character."""
        line = getattr(node, "lineno", 1)
        return line, self._characters(line, getattr(node, "col_offset", 0)) + 1

    def end(self, node: ast.AST) -> tuple[int, int]:
        """The line and the column after a node's last character."""
        line = getattr(node, "end_lineno", None) or 1
        return line, self._characters(line, getattr(node, "end_col_offset", 0)) + 1

    def same(self, one: ast.AST | None, other: ast.AST | None) -> bool:
        """Whether two nodes are one by their place: where constants are read in it, one is a copy."""
        if one is None or other is None or type(one) is not type(other):
            return False
        ends = self.end(one) == self.end(other)
        return self.start(one) == self.start(other) and ends

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """The text from one place to another."""
        lines = self.lines[start[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1] - 1]
        lines[0] = lines[0][start[1] - 1 :]
        return "\n".join(lines)

    def text_of(self, node: ast.AST) -> str:
        """The text of a node as it stands there."""
        return self.between(self.start(node), self.end(node))

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of the text, which nothing changes."""
        return parsed(self.text)

    def _characters(self, line: int, utf8_offset: int) -> int:
        if line > len(self.lines):
            return 0
        prefix = self.lines[line - 1].encode()[:utf8_offset]
        return len(prefix.decode(errors="replace"))

    def _add(
        self,
        line: int,
        column: int,
        message: str,
        hint: str,
        width: int,
        fix: Fix | None = None,
    ) -> None:
        inherited = self.resolved is not None and not self.resolved.number(line)
        end = self._before(line, column + width)
        line, column = self._before(line, column)
        width = end[1] - column if end[0] == line else width
        shown = self.shown[line - 1] if 0 < line <= len(self.shown) else ""
        shown = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", shown)
        place = Location(self.path, line, column)
        told = _escaped(message), _escaped(hint)
        if fix is not None and self.resolved is not None and not fix.written:
            edits = self.resolved.edits(fix.edits, self.written.split("\n"))
            fix = None if edits is None else replace(fix, edits=tuple(edits))
        if fix is not None and not fix.shown:
            lines = shown_edit(self.written, fix)
            fix = replace(fix, shown=lines) if lines else None
        self.diagnostics.append(Diagnostic(place, *told, shown, width, fix, inherited))

    def location(self, node: ast.AST) -> Location:
        line = getattr(node, "lineno", 1)
        column = self._characters(line, getattr(node, "col_offset", 0))
        return Location(self.path, *self._before(line, column + 1))

    def _before(self, line: int, column: int) -> tuple[int, int]:
        """Where a place was before containers were resolved."""
        if self.resolved is None:
            return line, column
        return self.resolved.before(line, column)

    def doc_comment(self, first: ast.AST, last: ast.AST | None = None) -> str:
        """The `#:` comment after a statement, or after `last`, or on the lines right before `first`."""
        last = last or first
        end = getattr(last, "end_lineno", 1)
        trailing = self.lines[end - 1]
        column = self._characters(end, getattr(last, "end_col_offset", 0))
        mark = trailing.find("#:", column)
        if mark >= 0:
            return trailing[mark + 2 :].strip()
        above: list[str] = []
        line = getattr(first, "lineno", 1) - 2
        while line >= 0 and self.lines[line].strip().startswith("#:"):
            above.append(self.lines[line].strip()[2:].strip())
            line -= 1
        return " ".join(reversed(above))


def _escaped(text: str) -> str:
    """The text with escapes for what cannot be seen, or written to a terminal."""
    return _UNSEEN.sub(lambda found: repr(found.group())[1:-1], text)


_TOO_DEEP = "nested too deeply to be read"


@lru_cache(maxsize=1)
def _too_deep(tree: ast.Module) -> int | None:
    """The first line that is nested deeper than any pass can follow; None where all is well."""
    pending: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while pending:
        node, depth, line = pending.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_DEPTH:
            return line
        pending += [(child, depth + 1, line) for child in ast.iter_child_nodes(node)]
    return None


def _with_half_characters(tree: ast.Module) -> ast.stmt | None:
    """The first docstring with a lone surrogate: some versions of Python do not compile one."""
    for node in walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text and _HALF.search(text):
                return node.body[0]
    return None


@lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, which nobody changes: whoever asks for it again gets the same one."""
    with warnings.catch_warnings():
        # A doubtful escape in a docstring is not the generator's business.
        warnings.simplefilter("ignore")
        return ast.parse(text)


def source_of(definition: Definition) -> Source:
    """The text of a definition, as its methods are read."""
    return Source(definition.source, definition.text, resolved=definition.resolved)


def tree_of(definition: Definition) -> ast.AST:
    """The statement of a spec that defines a definition, as it is read."""
    statements = parsed(definition.core).body
    defining = (s for s in statements if getattr(s, "name", None) == definition.name)
    return next(defining)


def class_of(tree: ast.Module, method: ast.FunctionDef) -> ast.ClassDef | None:
    """The class that a method stands in, by its place: where constants are read in it, it is another node."""
    return next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.ClassDef)
            and node.lineno < method.lineno <= (node.end_lineno or 0)
        ),
        None,
    )


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as text, or None for any other expression."""
    return meaning(node, {})


def self_attribute(node: ast.AST) -> str | None:
    """`name` for the expression `self.name`."""
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ):
        return node.attr
    return None


def path_of(node: ast.AST) -> str | None:
    """`name` for `self.name`, and `name.part` for `self.name.part`."""
    owner = self_attribute(node.value) if isinstance(node, ast.Attribute) else None
    if owner is None or not isinstance(node, ast.Attribute):
        return self_attribute(node)
    return f"{owner}.{node.attr}"


def indexed_attribute(node: ast.AST) -> str | None:
    """`name` for `self.name[...]`, with any number of subscripts, but at least one."""
    found = None
    while isinstance(node, ast.Subscript):
        node = node.value
        found = self_attribute(node)
    return found


def is_none(node: ast.expr) -> bool:
    """Whether an expression is `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def kind_of_value(node: ast.expr | None) -> str:
    """`float` for `-0.5`, and so for other plain values; "" for all else."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return type(value).__name__
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return kind_of_value(node.operand)
    return ""


def compares_with_none(node: ast.AST) -> bool:
    """Whether an expression is `... is None` or `... is not None`."""
    match node:
        case ast.Compare(
            ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]
        ):
            return True
    return False


def defaults_of(given: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters that have one, each with it."""
    places = [*given.posonlyargs, *given.args]
    pairs = [*zip(reversed(places), reversed(given.defaults), strict=False)]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [*pairs, *((arg, value) for arg, value in named if value is not None)]
