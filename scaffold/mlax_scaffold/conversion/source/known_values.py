"""Expressions of a constructor with what is known of their names: sizes, tables, what is computed of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from mlax_scaffold.conversion.source.computed_literals import TEXTS, computed, written
from mlax_scaffold.conversion.source.direct_names import attribute_named
from mlax_scaffold.conversion.source.known_mappings import entry, mapped, spread_out
from mlax_scaffold.conversion.source.trees import (
    folded,
    is_none,
    literal,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk
from mlax_scaffold.model.arithmetic import BINARY, COMPARE

MOST = 256
"""Sequences of more elements are not written out."""
_COMPUTED: Mapping[str, Callable[..., object]] = {
    **{f.__name__: f for f in (int, float, bool, abs, round, min, max, sum, len, str)},
    **{f.__name__: f for f in (sorted, any, all)},
}
_KINDS = {"int": int, "float": float, "str": str, "list": list, "tuple": tuple}


class Known(NodeTransformer):
    """Writes what is known in place."""

    def __init__(
        self,
        names: MutableMapping[str, ast.expr],
        attributes: MutableMapping[str, ast.expr],
        called: Callable[[ast.Call], ast.expr | None] = lambda _: None,
        there: Callable[[ast.expr], bool] = lambda _: False,
        read: Callable[[ast.Attribute], ast.expr | None] = lambda _: None,
    ):
        self.names, self.attributes, self.called = names, attributes, called
        self.there, self.read = there, read
        """Whether an expression is an object of the file, such as a class, which is not None."""

    def value(self, node: ast.expr) -> ast.expr:
        """The expression with all that is known written in it."""
        made = self.visit(cloned(node))
        return ast.copy_location(made, node)

    # Names.

    def _truth(self, node: ast.expr) -> bool | None:
        return True if self.there(node) else truth(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.names.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return cloned(known) if known is not None else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        known = self.attributes.get(self_attribute(node) or "")
        if known is not None and isinstance(node.ctx, ast.Load):
            return cloned(known)
        self.generic_visit(node)
        known = self.read(node) if isinstance(node.ctx, ast.Load) else None
        return known if known is not None else node

    def _without(self, titles: set[str], node: ast.AST) -> None:
        """Visit what is in a scope of its own, where these names are others."""
        saved = self.names
        self.names = {k: v for k, v in saved.items() if k not in titles}
        self.generic_visit(node)
        self.names = saved

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._without({a.arg for a in node.args.args}, node)
        return node

    # Operators.

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = items_of(node.left), items_of(node.right)
        if isinstance(node.op, ast.Add) and left is not None and right is not None:
            return ast.List([*left, *right], ast.Load())
        count = literal(node.right)
        if isinstance(node.op, ast.Mult) and left is not None and type(count) is int:
            return ast.List([cloned(e) for _ in range(count) for e in left], ast.Load())
        operate = BINARY.get(type(node.op))
        return computed(operate, [node.left, node.right]) or folded(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            decided = self._truth(node.operand)
            return node if decided is None else ast.Constant(not decided)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and is_none(right):
            there = isinstance(
                left, ast.Call | ast.List | ast.Tuple | ast.Lambda | ast.BinOp
            )
            if there or self.there(left):
                return ast.Constant(isinstance(node.ops[0], ast.IsNot))
        kinds = self._kind_of(left), self._kind_of(right)
        equal = isinstance(node.ops[0], ast.Eq | ast.Is)
        if isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot) and all(
            kinds
        ):
            return ast.Constant((kinds[0] == kinds[1]) == equal)
        return computed(COMPARE.get(type(node.ops[0])), [left, right]) or node

    def _kind_of(self, node: ast.expr) -> str:
        """What a class, or the class of something, is called; "" where that is not to be told."""
        match node:
            case ast.Call(func=ast.Name(id="type"), args=[ast.Call(func=func)]):
                return ast.unparse(func) if self.there(func) else ""
            case ast.Call(func=ast.Name(id="type"), args=[inner]):
                if self.there(inner):
                    return "type"
                value = literal(inner)
                known = isinstance(inner, ast.List | ast.Tuple)
                known = known or not isinstance(value, ast.AST)
                kind = type(inner).__name__.lower() if known else ""
                return kind if kind in _KINDS else type(value).__name__ if known else ""
            case ast.Name(id=title) if title in _KINDS and title not in self.names:
                return title
            case ast.Name() | ast.Attribute() if self.there(node):
                return ast.unparse(node)
        return ""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        both = isinstance(node.op, ast.And)
        kept: list[ast.expr] = []
        for part in node.values:
            made = self.visit(part)
            decided = self._truth(made)
            if decided is not None and decided == both and part is not node.values[-1]:
                continue
            kept.append(made)
            if decided is not None and decided != both:
                break
        node.values = kept
        return node if len(kept) > 1 else kept[0]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.visit(node.test)
        decided = self._truth(node.test)
        if decided is not None:
            return self.visit(node.body if decided else node.orelse)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        texts: list[str] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            if not isinstance(inner, ast.Constant):
                return node
            texts.append(str(inner.value))
        return ast.Constant("".join(texts))

    # Sequences.

    def _spread(self, elements: Sequence[ast.expr]) -> list[ast.expr]:
        found: list[ast.expr] = []
        for element in elements:
            made = self.visit(element)
            items = items_of(made.value) if isinstance(made, ast.Starred) else None
            found += [made] if items is None else items
        return found

    def visit_List(self, node: ast.List) -> ast.expr:
        node.elts = self._spread(node.elts)
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        node.elts = self._spread(node.elts)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        items = items_of(node.value)
        if isinstance(node.value, ast.Dict):
            return entry(node.value, node.slice) or node
        if items is None or any(isinstance(i, ast.Starred) for i in items):
            return node
        if isinstance(node.slice, ast.Slice):
            ends = [node.slice.lower, node.slice.upper, node.slice.step]
            values: list[Any] = [None if e is None else literal(e) for e in ends]
            if all(v is None or type(v) is int for v in values):
                return ast.List(items[slice(*values)], ast.Load())
            return node
        at = literal(node.slice)
        if type(at) is int and -len(items) <= at < len(items):
            return items[at]
        return node

    def _inner(self, bound: Mapping[str, ast.expr]) -> Known:
        given = (self.called, self.there, self.read)
        return Known({**self.names, **bound}, self.attributes, *given)

    def _comprehended(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        passes: list[dict[str, ast.expr]] = [{}]
        for generator in node.generators:
            longer: list[dict[str, ast.expr]] = []
            for bound in passes:
                inner = self._inner(bound)
                items = items_of(inner.value(generator.iter))
                if items is None or any(isinstance(i, ast.Starred) for i in items):
                    bound_here = {
                        n.id
                        for g in node.generators
                        for n in walk(g.target)
                        if isinstance(n, ast.Name)
                    }
                    self._without(bound_here, node)
                    return node
                for item in items:
                    pairs = unpacked(generator.target, item)
                    if pairs is None:
                        return node
                    now = {**bound, **pairs}
                    tested = self._inner(now)
                    tests = [truth(tested.value(t)) for t in generator.ifs]
                    if None in tests:
                        return node
                    if all(tests):
                        longer.append(now)
            passes = longer
        made = [self._inner(bound).value(node.elt) for bound in passes[:MOST]]
        return ast.List(made, ast.Load())

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._comprehended(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._comprehended(node)

    # Calls.

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.func = self.visit(node.func)
        node.args = self._spread(node.args)
        node.keywords = [
            one
            for k in node.keywords
            for one in spread_out(ast.keyword(k.arg, self.visit(k.value)))
        ]
        made = self.called(node)
        made = made if made is not None else mapped(node)
        if made is not None:
            return made
        attribute = attribute_named(node)
        if attribute is not None:
            return self.visit(attribute)
        match node:
            case ast.Call(func=ast.Name(id=title), keywords=[]):
                return self._builtin(title, node) or node
            case ast.Call(func=ast.Lambda(args=given, body=body), keywords=[]):
                places = [a.arg for a in given.args]
                if len(places) == len(node.args):
                    return self.visit(
                        replaced(body, dict(zip(places, node.args, strict=True)))
                    )
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(), attr="item"), args=[]
            ):
                return node.func.value  # type: ignore[attr-defined]
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str(text)), attr=title)
            ) if title in TEXTS and not node.keywords:
                return computed(getattr(text, title), node.args) or node
            case ast.Call(
                func=ast.Attribute(value=owner, attr="tolist" | "copy"), args=[]
            ):
                return owner if items_of(owner) is not None else node
        return node

    def _builtin(self, title: str, node: ast.Call) -> ast.expr | None:
        given = [items_of(a) for a in node.args]
        known = [
            g
            for g in given
            if g is not None and not any(isinstance(e, ast.Starred) for e in g)
        ]
        whole = len(known) == len(given) > 0
        match title:
            case "range":
                values = [literal(a) for a in node.args]
                if all(type(v) is int for v in values):
                    counts = range(*values)  # type: ignore[arg-type]
                    if len(counts) <= MOST:
                        return ast.List([written(i) for i in counts], ast.Load())
                return None
            case "zip" if whole:
                rows = zip(*known, strict=False)
                return ast.List([ast.Tuple([*r], ast.Load()) for r in rows], ast.Load())
            case "enumerate" if known and given[0] is not None:
                first = literal(node.args[1]) if len(node.args) > 1 else 0
                if type(first) is int:
                    rows = ((ast.Constant(i), e) for i, e in enumerate(known[0], first))
                    return ast.List(
                        [ast.Tuple([*r], ast.Load()) for r in rows], ast.Load()
                    )
            case "reversed" if whole:
                return ast.List(known[0][::-1], ast.Load())
            case "list" | "tuple" if whole:
                return ast.List([*known[0]], ast.Load())
            case "list" | "tuple" if not node.args:
                return ast.List([], ast.Load())
            case "len" if whole:
                return ast.Constant(len(known[0]))
            case "map" if len(given) == 2 and given[1] is not None:
                calls = [ast.Call(cloned(node.args[0]), [e], []) for e in given[1]]
                return ast.List([self.visit(c) for c in calls], ast.Load())
            case "callable" if len(node.args) == 1:
                number = isinstance(
                    node.args[0], ast.BinOp | ast.Constant | ast.UnaryOp
                )
                return ast.Constant(False) if number else None
            case "isinstance":
                return self._is_instance(node)
            case "sum" if whole and len(node.args) == 1 and known[0]:
                total = known[0][0]
                for part in known[0][1:]:
                    total = self.visit(ast.BinOp(total, ast.Add(), part))
                return total
        return computed(_COMPUTED.get(title), node.args)

    def _is_instance(self, node: ast.Call) -> ast.expr | None:
        if len(node.args) != 2:
            return None
        parts = items_of(node.args[1]) or [node.args[1]]
        kinds = [_KINDS.get(getattr(p, "id", "")) for p in parts]
        value = literal(node.args[0])
        if isinstance(node.args[0], ast.List | ast.Tuple):
            # Both are sequences, as the tool writes lists of either.
            return ast.Constant(any(k in (list, tuple) for k in kinds))
        if isinstance(value, ast.AST) or None in kinds:
            return None
        return ast.Constant(any(k is type(value) for k in kinds))


def items_of(node: ast.AST) -> list[ast.expr] | None:
    """The elements of a sequence that is written out; None of anything else."""
    return node.elts if isinstance(node, ast.List | ast.Tuple) else None


def truth(node: ast.expr) -> bool | None:
    """Whether a condition holds, where that is known."""
    items = items_of(node)
    if items is not None and not any(isinstance(i, ast.Starred) for i in items):
        return bool(items)
    value = literal(node)
    return None if isinstance(value, ast.AST) else bool(value)


def unpacked(target: ast.expr, value: ast.expr) -> dict[str, ast.expr] | None:
    """What names of a target are bound to; None where that is not to be told."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    items = items_of(value)
    if items is None or len(items) != len(target.elts):
        return None
    found: dict[str, ast.expr] = {}
    for one, item in zip(target.elts, items, strict=True):
        inner = unpacked(one, item)
        if inner is None:
            return None
        found |= inner
    return found
