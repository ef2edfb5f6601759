"""Inputs that are lists of arrays, such as the maps of an image pyramid: `for feature in features`.

Where each is given to a layer of its own, `self.inner[i](x[i])`, there are as many as there are layers, and
loops over them are written out. Elsewhere there is any number of them, which are all alike.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from mlax_scaffold.conversion.shapes.values import Array, Each, Record, Several, Value
from mlax_scaffold.conversion.source.trees import (
    folded,
    is_name,
    literal,
    self_attribute,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LISTS = re.compile(
    r"['\"]?(typing\.)?(List|list|Sequence|Tuple|tuple)\[(torch\.)?Tensor(, \.\.\.)?\]['\"]?"
)
_SEVERAL = re.compile(r"(feat(ure)?s?|maps|pyramid|levels|scales|stages|skips|outs)$")
"""How inputs are called that are lists of maps."""
_MOST = 8
"""Loops of more passes are not written out."""


def containers_given(
    forward: ast.FunctionDef, inputs: Iterable[ast.arg], of_torch: bool
) -> dict[str, Value]:
    """The inputs that are dictionaries, and in PyTorch also those that are lists."""
    inputs = list(inputs)
    listed = listed_inputs(forward, inputs) if of_torch else {}
    return keyed_inputs(forward, inputs) | listed


def listed_inputs(
    forward: ast.FunctionDef, inputs: Iterable[ast.arg]
) -> dict[str, Value]:
    """Those of a method of PyTorch, whose loops over them are written out in place."""
    found: dict[str, Value] = {}
    bound = {t for part in walk(forward) for t in _bound(part)}
    for argument in inputs:
        given = argument.arg
        if given in bound or not _is_listed(forward, argument):
            continue
        count = _count(forward, given)
        if count is None:
            found[given] = Each(Array([], True), alike=False)
            continue
        _WrittenOut(given, count).visit(forward)
        found[given] = Several([Array([], True) for _ in range(count)])
    located(forward)
    return found


def keyed_inputs(
    forward: ast.FunctionDef, inputs: Iterable[ast.arg]
) -> dict[str, Value]:
    """Inputs that are dictionaries, of which a method reads arrays by their names alone."""
    found: dict[str, Value] = {}
    for argument in inputs:
        given = argument.arg
        parts = [p for p in walk(forward) if isinstance(p, ast.Subscript)]
        read = {id(p.value): literal(p.slice) for p in parts if is_name(p.value, given)}
        every = [p for s in forward.body for p in walk(s) if is_name(p, given)]
        if every and all(isinstance(read.get(id(p)), str) for p in every):
            found[given] = Record({})
    return found


def _bound(node: ast.AST) -> list[str]:
    return list(targets(node)) if isinstance(node, ast.Assign | ast.AugAssign) else []


def _is_listed(forward: ast.FunctionDef, argument: ast.arg) -> bool:
    """Whether an input is a list, as its type says, or the layers that its elements are given to."""
    if argument.annotation is not None:
        return _LISTS.fullmatch(ast.unparse(argument.annotation)) is not None
    given = argument.arg
    return _count(forward, given) is not None or _is_gone_through(forward, given)


def _is_gone_through(forward: ast.FunctionDef, given: str) -> bool:
    """Whether an input called as several are is gone through alone, and its elements given to layers."""
    reads = [p for p in walk(forward) if is_name(p, given)]
    sources: list[ast.AST] = []
    for part in walk(forward):
        if not isinstance(part, ast.For | ast.comprehension):
            continue
        source = _numbered(part.iter)
        if not is_name(source, given):
            continue
        names = [n.id for n in walk(part.target) if isinstance(n, ast.Name)]
        calls = [
            call
            for call in walk(forward)
            if isinstance(call, ast.Call)
            and self_attribute(call.func)
            and any(is_name(a, n) for a in call.args for n in names)
        ]
        sources += [source] if calls else []
    return bool(_SEVERAL.search(given) and reads) and len(sources) == len(reads)


def _numbered(node: ast.expr) -> ast.expr:
    """What a loop goes over, with the number of each."""
    match node:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return inner
    return node


def _count(forward: ast.FunctionDef, given: str) -> int | None:
    """How many arrays there are, told by the layers that they are given to; None where nothing tells."""
    counts: set[int] = set()
    for part in walk(forward):
        match part:
            case ast.Call(func=ast.Subscript(value=layers, slice=at), args=[first, *_]):
                same = isinstance(at, ast.Name) and _is_element(first, given, at.id)
                if same and (count := _layers(layers)):
                    counts.add(count)
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=index), _]), iter=source
            ) if source is not _numbered(source) and is_name(_numbered(source), given):
                counts |= {
                    count
                    for p in walk(part)
                    if isinstance(p, ast.Subscript) and is_name(p.slice, index)
                    if (count := _layers(p.value))
                }
            case ast.Call(func=ast.Name(id="zip"), args=args):
                if any(is_name(a, given) for a in args):
                    counts |= {c for a in args if (c := _layers(a))}
    return counts.pop() if len(counts) == 1 else None


def _is_element(node: ast.expr, given: str, index: str) -> bool:
    match node:
        case ast.Subscript(value=value, slice=at):
            return is_name(value, given) and is_name(at, index)
    return False


def _layers(node: ast.expr) -> int:
    """How many layers stand in a list; 0 for anything else."""
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return len(elements) if all(self_attribute(e) for e in elements) else 0


class _WrittenOut(NodeTransformer):
    """Writes out the loops over the arrays of a list, and how many there are."""

    def __init__(self, given: str, count: int):
        self.given, self.count = given, count

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        counts = is_name(node.func, "len") and len(node.args) == 1
        if counts and is_name(node.args[0], self.given):
            return ast.copy_location(ast.Constant(self.count), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return folded(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = literal(node.slice)
        if isinstance(at, int) and _layers(node.value):
            return node.value.elts[at]  # type: ignore[attr-defined]
        return node

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        node.iter = self.visit(node.iter)
        passes = self._passes(node.target, node.iter)
        ends = any(isinstance(p, ast.Break | ast.Continue) for p in walk(node))
        if passes is None or len(passes) > _MOST or ends or node.orelse:
            self.generic_visit(node)
            return node
        made = [
            with_names(cloned(part), parts) for parts in passes for part in node.body
        ]
        return [self.visit(part) for part in made]

    def _passes(
        self, target: ast.expr, source: ast.expr
    ) -> list[dict[str, ast.expr]] | None:
        """What the names of a loop are in each pass; None for another loop."""
        bound = target.elts if isinstance(target, ast.Tuple) else [target]
        columns = self._columns(source)
        if columns is None or len(bound) != len(columns):
            return None
        made: list[dict[str, ast.expr]] = [{} for _ in columns[0]]
        for place, column in zip(bound, columns, strict=True):
            inner = place.elts if isinstance(place, ast.Tuple) else [place]
            for parts, value in zip(made, column, strict=True):
                values = value.elts if isinstance(value, ast.Tuple) else [value]
                if len(values) != len(inner):
                    return None
                for one, part in zip(inner, values, strict=True):
                    if not isinstance(one, ast.Name):
                        return None
                    parts[one.id] = part
        return made

    def _columns(self, source: ast.expr) -> list[list[ast.expr]] | None:
        """What each name of a loop goes over."""
        if is_name(source, self.given):
            indices = map(ast.Constant, range(self.count))
            name = ast.Name(self.given, ast.Load())
            return [[ast.Subscript(cloned(name), i, ast.Load()) for i in indices]]  # fmt: skip
        if _layers(source):
            return [[*source.elts]]  # type: ignore[attr-defined]
        func = getattr(source, "func", None)
        args = source.args if isinstance(source, ast.Call) else []
        if is_name(func, "range") and all(isinstance(literal(a), int) for a in args):
            numbers = range(*(literal(a) for a in args))  # type: ignore[arg-type]
            return [[ast.Constant(n) for n in numbers]]
        inner = [self._columns(a) for a in args]
        whole = [i[0] for i in inner if i is not None and len(i) == 1]
        if len(whole) < len(inner) or len({*map(len, whole)}) != 1:
            return None
        if is_name(func, "reversed"):
            return [whole[0][::-1]]
        if is_name(func, "enumerate") and len(whole) == 1:
            return [[ast.Constant(i) for i in range(len(whole[0]))], whole[0]]
        if is_name(func, "zip"):
            return whole
        return None
