"""Brings a spec's text into the form that the passes know: one statement to a line, one line to a string.

`if c: y = f(x)` and `a = b; c = d` become statements on lines of their own, so that what a pass puts
before a statement stands in the same branch. A `pass` beside other statements goes: the reader writes it for
another name of a layer. A string that spans lines becomes one that does not, so that indenting a body cannot
change its value. Identifiers are normalized as Python's parser does it.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from mlax_scaffold.rewrite.nodes import expression
from mlax_scaffold.rewrite.traversal import Transformer


@lru_cache(maxsize=8)
def normalized(text: str) -> cst.Module:
    """The module of a text in that form."""
    module = cst.parse_module(text)
    return module.visit(_Layout()) if any(_unusual(text)) else module


def _unusual(text: str) -> Iterator[bool]:
    """Whether something of a text is not in that form: finding out is cheaper than a visit."""
    yield not text.isascii()
    lines = text.split("\n")
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.AnnAssign(target=ast.Attribute() | ast.Subscript()) | ast.Pass():
                yield True
            case ast.stmt():
                yield bool(lines[node.lineno - 1][: node.col_offset].strip())
            case ast.JoinedStr() | ast.Constant(value=str() | bytes()):
                yield node.lineno != node.end_lineno and id(node) not in docstrings


class _Layout(Transformer):
    def leave_SimpleStatementSuite(
        self,
        original_node: cst.SimpleStatementSuite,
        updated_node: cst.SimpleStatementSuite,
    ) -> cst.BaseSuite:
        lines = _lines(updated_node.body)
        trailing = updated_node.trailing_whitespace
        lines[-1] = lines[-1].with_changes(trailing_whitespace=trailing)
        return cst.IndentedBlock(body=lines)

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        if len(updated_node.body) == 1:
            [only] = updated_node.body
            if only.semicolon is cst.MaybeSentinel.DEFAULT:
                return updated_node
        lines = _lines(updated_node.body)
        trailing = updated_node.trailing_whitespace
        lines[-1] = lines[-1].with_changes(trailing_whitespace=trailing)
        leading = updated_node.leading_lines
        lines[0] = lines[0].with_changes(leading_lines=leading)
        return cst.FlattenSentinel(lines)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        body: list[cst.BaseStatement] = []
        comments: list[cst.EmptyLine] = []
        for line in updated_node.body:
            if _is_pass(line):
                comments += getattr(line, "leading_lines", ())
                continue
            kept = cst.ensure_type(line, cst.BaseStatement)
            if comments and isinstance(kept, _COMMENTED):
                own = [*comments, *kept.leading_lines]
                kept, comments = kept.with_changes(leading_lines=own), []
            body.append(kept)
        if not any(map(_does_something, body)):
            return updated_node
        return updated_node.with_changes(
            body=body, footer=[*comments, *updated_node.footer]
        )

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.AnnAssign | cst.Assign:
        """An annotated attribute of self is a plain one: what it becomes has a type already."""
        target, value = updated_node.target, updated_node.value
        if isinstance(target, cst.Name) or value is None:
            return updated_node
        return cst.Assign([cst.AssignTarget(target)], value)

    def visit_Expr(self, node: cst.Expr) -> bool:
        # A docstring: its lines are free.
        return not isinstance(node.value, cst.SimpleString)

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.BaseExpression:
        if "\n" not in updated_node.value and "\r" not in updated_node.value:
            return updated_node
        text = expression(repr(updated_node.evaluated_value))
        return text.with_changes(lpar=updated_node.lpar, rpar=updated_node.rpar)

    def leave_FormattedStringText(
        self,
        original_node: cst.FormattedStringText,
        updated_node: cst.FormattedStringText,
    ) -> cst.FormattedStringText:
        # The reader refuses raw ones, in which a line break cannot be written otherwise.
        text = updated_node.value.replace("\\\n", "").replace("\n", "\\n")
        return updated_node.with_changes(value=text)

    def leave_Name(
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        if updated_node.value.isascii():
            return updated_node
        name = unicodedata.normalize("NFKC", updated_node.value)
        return updated_node.with_changes(value=name)


_COMMENTED = cst.SimpleStatementLine | cst.BaseCompoundStatement


def _is_pass(line: cst.CSTNode) -> bool:
    match line:
        case cst.SimpleStatementLine(
            body=[cst.Pass()], trailing_whitespace=cst.TrailingWhitespace(comment=None)
        ):
            return True
    return False


def _does_something(line: cst.BaseStatement) -> bool:
    """Whether a statement is no docstring."""
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString())]):
            return False
    return True


def _lines(parts) -> list[cst.SimpleStatementLine]:
    return [
        cst.SimpleStatementLine(
            [part.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]
        )
        for part in parts
    ]
