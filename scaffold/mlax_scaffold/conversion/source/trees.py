"""Small syntax trees: made, looked at, and replaced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    NodeVisitor,
    cloned,
    walk,
)
from mlax_scaffold.model.arithmetic import COMPARE

AT_ONCE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
"""Statements that hold no others: each is run as a whole."""
LATER = (
    *(ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp),
    *(ast.IfExp, ast.BoolOp),
)
"""What evaluates a part of itself later, more often, or never."""

ARRAY = "_array_"
"""The name of an array in an expression that is written around it."""


def expression(text: str, **parts: ast.expr) -> ast.expr:
    """The expression of a text, with expressions in the place of some names."""
    return replaced(ast.parse(text, mode="eval").body, parts)


def statement(text: str, **parts: ast.expr) -> ast.stmt:
    """The statement of a text, likewise."""
    made = ast.parse(text).body[0]
    return Names(parts).visit(made)


def name(text: str) -> ast.Name:
    """A name that is read."""
    return ast.Name(text, ast.Load())


def marked(text: str, **parts: ast.expr) -> ast.expr:
    """The expression of a text whose modules, and whose words `word_...`, are marked as such."""
    words = {
        n.id: name("@word:" + n.id.removeprefix("word_"))
        for n in walk(ast.parse(text))
        if isinstance(n, ast.Name) and n.id.startswith("word_")
    }
    return expression(text, **{**_MODULES, **words, **parts})


def constant(value: object) -> ast.Constant:
    """A literal."""
    return ast.Constant(value)  # type: ignore[arg-type]


_MODULES = {
    module: name(f"@module:{module}") for module in ("jnp", "jax", "lax", "math")
}


def visited(visitor: NodeVisitor, node: ast.expr) -> ast.expr:
    """What a visitor makes of an expression, which is one, too."""
    made = visitor.visit(node)
    assert isinstance(made, ast.expr)
    return made


def replaced(node: ast.expr, parts: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with others in the place of names."""
    return Names(parts).visit(cloned(node))


def with_names(node: ast.stmt, parts: Mapping[str, ast.expr]) -> ast.stmt:
    """A statement with expressions in the place of names; calls of functions are written out."""
    made = Names(parts).visit(node)

    class Reduce(NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            func = node.func
            if (
                isinstance(func, ast.Lambda)
                and len(func.args.args) == len(node.args) == 1
            ):
                return replaced(func.body, {func.args.args[0].arg: node.args[0]})
            return node

    return Reduce().visit(made)


class Names(NodeTransformer):
    """Puts expressions in the place of names; keywords of calls stay."""

    def __init__(self, parts: Mapping[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if part is None:
            return node
        made = cloned(part)
        if isinstance(made, ast.Name):
            made.ctx = node.ctx
            if hasattr(node, "rank"):
                # What a pattern of axes said of the array.
                made.rank = node.rank  # type: ignore[attr-defined]
        return made


class Removing(NodeTransformer):
    """Takes out what its methods return None for; a block that nothing is left of is `pass`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """See the class."""
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.copy_location(ast.Pass(), node)]  # type: ignore[attr-defined]
        return node


def as_function(node: ast.stmt) -> ast.FunctionDef | None:
    """A function, or the one that a name is, `dense = lambda key, n: ...`; None of anything else."""
    match node:
        case ast.FunctionDef():
            return node
        case ast.Assign(
            targets=[ast.Name(id=title)], value=ast.Lambda(args=given, body=body)
        ):
            returned = ast.copy_location(ast.Return(body), node)
            made = ast.FunctionDef(title, given, [returned], [], None)
            return ast.copy_location(made, node)
    return None


def self_attribute(node: ast.AST) -> str | None:
    """The name of an attribute of self; None for anything else."""
    if isinstance(node, ast.Attribute) and is_name(node.value, "self"):
        return node.attr
    return None


def is_name(node: ast.AST | None, text: str) -> bool:
    """Whether a node is that name."""
    return isinstance(node, ast.Name) and node.id == text


def is_none(node: ast.AST | None) -> bool:
    """Whether a node is the literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def literal(node: ast.AST | list[ast.expr] | None) -> object:
    """The value of a literal; the node itself where it is none."""
    if isinstance(node, ast.AST):
        try:
            return ast.literal_eval(node)  # type: ignore[arg-type]
        except (ValueError, TypeError, SyntaxError, MemoryError):
            return node
    return node


def names(node: ast.AST) -> set[str]:
    """The names that are read or bound in a tree."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def reached(known: Mapping[str, ast.AST], start: Iterable[str]) -> set[str]:
    """Those of the known names that some names lead to, directly or not."""
    found: set[str] = set()
    queue = [*start]
    while queue:
        title = queue.pop()
        if title in known and title not in found:
            found.add(title)
            queue += names(known[title])
    return found


def same(left: ast.AST, right: ast.AST) -> bool:
    """Whether two trees are the same text."""
    return ast.unparse(left) == ast.unparse(right)


def targets(node: ast.AST) -> Iterator[str]:
    """The names that a target of an assignment binds."""
    for part in walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id


_UNSEEN = {
    ord(c): t for c, t in zip("\a\b\f\v", (r"\a", r"\b", r"\f", r"\v"), strict=True)
}


def docstring(node: ast.ClassDef | ast.FunctionDef | ast.Module) -> str:
    """The docstring, without its indentation; escapes that cannot be seen are as they were written."""
    return (ast.get_docstring(node) or "").translate(_UNSEEN)


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements after a docstring."""
    first = body[0] if body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return body[1:]
    return body


def folded(node: ast.expr) -> ast.expr:
    """Arithmetic of literals, computed; and what multiplying by one or adding zero leaves."""

    class Fold(NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
            self.generic_visit(node)
            left, right = literal(node.left), literal(node.right)
            operate = _OPERATIONS.get(type(node.op))
            if type(left) is int and type(right) is int and operate:
                try:
                    return constant(operate(left, right))
                except (ZeroDivisionError, OverflowError, ValueError):
                    return node
            if isinstance(node.op, ast.Mult | ast.FloorDiv) and right == 1:
                return node.left
            if isinstance(node.op, ast.FloorDiv) and _multiplies(node.left, node.right):
                return node.left.left  # type: ignore[attr-defined]
            parts = _parted(node) if isinstance(node.op, ast.FloorDiv) else None
            if parts is not None:
                return parts
            if isinstance(node.op, ast.Mult) and left == 1:
                return node.right
            if isinstance(node.op, ast.Add | ast.Sub) and type(right) is int:
                return _shifted(node, right)
            return node

        def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
            self.generic_visit(node)
            decided = literal(node.test)
            if isinstance(decided, bool):
                return node.body if decided else node.orelse
            return node.body if same(node.body, node.orelse) else node

        def visit_Compare(self, node: ast.Compare) -> ast.expr:
            self.generic_visit(node)
            match literal(node.left), [literal(c) for c in node.comparators]:
                case int(left), [int(right)]:
                    compare = COMPARE.get(type(node.ops[0]))
                    return constant(compare(left, right)) if compare else node
            return node

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
            self.generic_visit(node)
            if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.UnaryOp):
                inner = node.operand
                if isinstance(inner.op, ast.USub):
                    return inner.operand
            value = literal(node.operand)
            if isinstance(node.op, ast.USub) and type(value) is int and value < 0:
                return constant(-value)
            return node

    return Fold().visit(cloned(node))


def _multiplies(node: ast.expr, by: ast.expr) -> bool:
    """Whether an expression is a multiple by a number, a hyperparameter or a size, which is not zero."""
    match node:
        case ast.BinOp(op=ast.Mult(), right=right):
            value = literal(by)
            known = type(value) is int and value != 0
            symbol = isinstance(by, ast.Name) and by.id.startswith("@")
            known = known or symbol or self_attribute(by) is not None
            return known and same(right, by)
    return False


def _parted(node: ast.BinOp) -> ast.expr | None:
    """`3 * features // 3`, of whole numbers, without the division; None where there is something left."""
    by = literal(node.right)
    match node.left:
        case ast.BinOp(left=factor, op=ast.Mult(), right=size):
            times = literal(factor)
            if type(times) is int and type(by) is int and by > 0 and not times % by:
                count = times // by
                return (
                    size
                    if count == 1
                    else expression("n * a", n=constant(count), a=size)
                )
    return None


def _shifted(node: ast.BinOp, by: int) -> ast.expr:
    """A sum with a literal, and with the one that the left side ends with already."""
    total = by if isinstance(node.op, ast.Add) else -by
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add | ast.Sub):
        before = literal(left.right)
        if type(before) is int:
            total += before if isinstance(left.op, ast.Add) else -before
            left = left.left
        elif isinstance(left.op, ast.Add) and type(literal(left.left)) is int:
            total += ast.literal_eval(left.left)
            left = left.right
    if total == 0:
        return left
    operator = ast.Add() if total > 0 else ast.Sub()
    return ast.BinOp(left, operator, constant(abs(total)))


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Pow: lambda a, b: a**b if 0 <= b < 8 else a // 0,
}


def negated(node: ast.expr) -> ast.expr:
    """The negation of a condition, without two in a row."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=positive):
            return positive
        case ast.Compare(
            left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=right
        ):
            other = ast.IsNot() if isinstance(op, ast.Is) else ast.Is()
            return ast.Compare(left, [other], right)
    return ast.UnaryOp(ast.Not(), node)


def both(left: ast.expr | None, right: ast.expr | None) -> ast.expr | None:
    """Two conditions that both have to hold; None is one that always does."""
    if left is None or right is None or same(left, right):
        return left if right is None else right
    parts = left.values if _is_and(left) else [left]  # type: ignore[attr-defined]
    if any(same(part, right) for part in parts):
        return left
    return ast.BoolOp(ast.And(), [cloned(left), cloned(right)])


def _is_and(node: ast.expr) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)


def is_layer(call: ast.Call) -> bool:
    """Whether a call declares a layer, by its mark."""
    return isinstance(call.func, ast.Name) and call.func.id.startswith(
        ("@layer:", "@own:")
    )


class AsLocal(NodeTransformer):
    """Reads an attribute of self as a local."""

    def __init__(self, attribute: str, local: str):
        self.attribute, self.local = attribute, local

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) == self.attribute:
            return ast.copy_location(ast.Name(self.local, node.ctx), node)
        self.generic_visit(node)
        return node
