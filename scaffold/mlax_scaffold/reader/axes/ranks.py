"""How many axes an input has that gets new ones at its end, by what it then goes with: `mask[:, None, None]`.

Beside four axes it has two, `(batch, 1, 1, length)`, and beside three one. Both are written alike.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.reader.axes import operations
from mlax_scaffold.reader.axes.calls import parameters
from mlax_scaffold.reader.axes.index_parts import is_new, is_whole
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.operations import by_element
from mlax_scaffold.reader.axes.outer import of_elements, outer
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import dotted

_SAME = ("astype", "swapaxes", "moveaxis", "softmax", "log_softmax", "cumsum", "flip")
"""What leaves as many axes as its first argument has."""
_MADE = ("ones", "zeros", "full", "empty", "normal", "uniform")
_VECTORS = ("arange", "linspace")
_DEPTH = 6


def tell(
    function: ast.FunctionDef, inputs: Mapping[str, Known | None], scope: Scope
) -> list[Known]:
    """Note the number of axes of the inputs of a method or a function; those of which it is told."""
    told: list[Known] = []
    ranks = Ranks(function, scope, inputs=inputs)
    for one, other in pairs(function):
        name, taken, added = _lengthened(one, ranks.bound)
        known = inputs.get(name)
        if known is None or not added:
            continue
        rank = ranks.of(other)
        if rank is not None and rank >= taken + added:
            known.has(rank - added)
            told.append(known)
    return told


def beside(
    function: ast.FunctionDef, inputs: Mapping[str, Known], scope: Scope
) -> None:
    """An input of three axes at least has as many as what it is added to, or one of two as outer products."""
    ranks = Ranks(function, scope)
    for one, other in pairs(function):
        same = inputs.get(of_elements(one))
        if same and same.exact is None and same.front == outer(other, ranks.bound):
            same.has(same.front)
        known = inputs.get(one.id) if isinstance(one, ast.Name) else None
        if known is None or known.exact is not None or known.axes or known.least < 3:
            continue
        rank = ranks.of(other)
        if rank is not None and rank > known.least:
            known.has(rank)
            for axis in range(rank):
                known.name_axis(axis, f"{known.name}_{axis}")


def asked(function: ast.FunctionDef, inputs: Mapping[str, Known]) -> None:
    """An input has any number of axes where that number is read: `(1,) * (x.ndim - 1)`, `x.shape[1:-1]`.

    What it is compared with is what it is to be. So many as are taken from it there are at least.
    """
    compared = {
        id(part)
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        for part in ast.walk(node)
    }
    found: dict[str, Known] = {}
    for node in ast.walk(function):
        name, front, rear = _apart(node)
        known = inputs.get(name)
        if known is None or id(node) in compared:
            continue
        found[name] = known
        known.least = max(known.least, front + rear)
        known.front = max(known.front, front if rear else 0)
        known.rear = max(known.rear, rear)
    apart = [k for k in found.values() if k.like is None]
    for known in found.values():
        known.open = "*rest" if len(apart) < 2 else f"*{known.name}_rest"


def _apart(node: ast.AST) -> tuple[str, int, int]:
    """The input whose number of axes an expression reads, and how many at either end it sets apart."""
    match node:
        case ast.BinOp(left=inner, op=ast.Sub(), right=ast.Constant(value=int(less))):
            return _counted(inner), less, 0
        case ast.Call(
            func=ast.Name(id="range"), args=[ast.Constant(value=int(first)), end]
        ):
            return _counted(end), first, 0
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
            slice=ast.Slice(
                lower=ast.Constant(value=int(first)),
                upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(last))),
                step=None,
            ),
        ):
            return name, first, last
    return _counted(node), 0, 0


def _counted(node: ast.AST) -> str:
    """The name in `x.ndim`, `jnp.ndim(x)` and `len(x.shape)`; empty for anything else."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="ndim"):
            return name
        case ast.Call(func=ast.Attribute(attr="ndim"), args=[ast.Name(id=name)]):
            return name
        case ast.Call(
            func=ast.Name(id="len"),
            args=[ast.Attribute(value=ast.Name(id=name), attr="shape")],
        ):
            return name
    return ""


def joined(function: ast.FunctionDef, inputs: Mapping[str, Known]) -> None:
    """What is joined with `t[None]` along axis 0 has one axis, and `t` none, where nothing says more."""
    for node in ast.walk(function):
        parts, axis = operations.joined(node) or ([], None)
        if axis != 0:
            continue
        rows = [_row_of(part, inputs) for part in parts]
        whole = [inputs.get(p.id) for p in parts if isinstance(p, ast.Name)]
        found = [known for known in (*rows, *whole) if known]
        if any(rows) and len(found) == len(parts) and not any(k.told for k in found):
            for known in filter(None, rows):
                known.has(0)
            for known in filter(None, whole):
                known.has(1)


def _row_of(node: ast.expr, inputs: Mapping[str, Known]) -> Known | None:
    """The input in `t[None]`."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=index) if is_new(index):
            return inputs.get(name)
    return None


def name(function: ast.FunctionDef, told: list[Known], inputs: list[Known]) -> None:
    """Call the axes of such an input like the first ones of the other input, where there is one other.

    Of several it is the one that has as many axes, all of which it then shares.
    """
    types = {a.arg: _words(a.annotation) for a in parameters(function)}
    others = [k for k in inputs if k not in told and (k.told or types[k.name])]
    named = {k.name: dict(enumerate(types[k.name] or ())) or k.names for k in others}
    for known in told:
        alike = [k for k in others if len(named[k.name]) == known.exact]
        if len(others) > 1 and len(alike) == 1:
            for axis, word in named[alike[0].name].items():
                known.name_axis(axis, word)
        elif len(others) == 1:
            _as_first(known, named[others[0].name])


def _as_first(known: Known, words: Mapping[int, str]) -> None:
    for axis in range(known.exact or 0):
        # The last one is that of features.
        if axis in words and axis < max(words):
            known.name_axis(axis, words[axis])
    if known.exact and known.exact > 1:
        known.name_axis(known.exact - 1, "length")


def pairs(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What goes with what, element by element."""
    for node in ast.walk(function):
        operands: list[ast.expr] = []
        match node:
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(
                op, ast.MatMult
            ):
                operands = [left, right]
            case ast.AugAssign(target=ast.Name() as left, value=right):
                operands = [left, right]
            case ast.Call(func=called, args=args) if _last_name(called) == "where":
                operands = args
        for one in operands:
            yield from ((one, other) for other in operands if other is not one)


def _lengthened(
    node: ast.expr, bound: Mapping[str, list[ast.expr]]
) -> tuple[str, int, int]:
    """The name in `mask[:, None, None]`, its axes that are taken, and how many are new; without any, 0."""
    match node:
        case (
            ast.UnaryOp(operand=inner)
            | ast.BinOp(left=ast.Constant(), right=inner)
            | ast.BinOp(left=inner, right=ast.Constant())
        ):
            return _lengthened(inner, bound)
        case ast.Name(id=name):
            own = [_lengthened(v, {}) for v in bound.get(name, ())]
            return next((found for found in own if found[0] == name), ("", 0, 0))
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=parts)):
            new = sum(map(is_new, parts))
            plain = all(is_new(p) or is_whole(p) for p in parts)
            if plain and is_new(parts[-1]):
                return name, len(parts) - new, new
    return "", 0, 0


def _bindings(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement binds, each with a value that has as many axes."""
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=parts), ast.Tuple(elts=values) if len(parts) == len(values):
            for part, own in zip(parts, values, strict=True):
                yield from _bindings(part, own)
        case ast.Tuple(elts=parts), ast.ListComp(elt=each) | ast.GeneratorExp(elt=each):
            for part in parts:
                yield from _bindings(part, each)


@dataclass
class Ranks:
    """How many axes expressions of a method have."""

    function: ast.FunctionDef
    scope: Scope
    depth: int = 0
    inputs: Mapping[str, Known | None] = field(default_factory=dict)
    """What is known of the function's inputs already, as docstrings tell it."""

    def __post_init__(self) -> None:
        self.bound: dict[str, list[ast.expr]] = {}
        self.unpacked: dict[str, int] = {}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                for target, value in _bindings(node.targets[0], node.value):
                    self.bound.setdefault(target, []).append(value)
                self._unpack(node.targets[0], node.value)
        self.open: set[str] = set()

    def _unpack(self, target: ast.expr, value: ast.expr) -> None:
        """`batch, time = x.shape`, which tells how many axes the input has."""
        match target, value:
            case ast.Tuple(elts=parts), ast.Attribute(
                value=ast.Name(id=name), attr="shape"
            ) if not any(isinstance(p, ast.Starred) for p in parts):
                self.unpacked.setdefault(name, len(parts))

    def of(self, node: ast.expr) -> int | None:
        """The number of axes of an expression, where the method says it."""
        match node:
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(value=inner, attr="T" | "mT" | "real" | "imag"):
                return self.of(inner)
            case ast.UnaryOp(operand=inner):
                return self.of(inner)
            case ast.BinOp(left=left, op=op, right=right):
                both = [self.of(left), self.of(right)]
                if isinstance(op, ast.MatMult) and (None in both or 1 in both):
                    return None
                return max((n for n in both if n is not None), default=None)
            case ast.Compare(left=left, comparators=[right]):
                return outer(node, self.bound) or self.of(left) or self.of(right)
            case ast.IfExp(body=body, orelse=other):
                return self.of(body) or self.of(other)
            case ast.Subscript(value=inner, slice=ast.Name() as chosen):
                # Each index becomes a row.
                both = self.of(inner), self.of(chosen)
                return both[0] + both[1] - 1 if both[0] and both[1] else None
            case ast.Subscript(value=inner, slice=index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                rank = self.of(inner)
                if rank is None or not all(is_new(p) or is_whole(p) for p in parts):
                    return None
                return rank + sum(map(is_new, parts))
            case ast.Call():
                return self._call(node)
        return None

    def _named(self, name: str) -> int | None:
        if name in self.open:
            return None
        self.open.add(name)
        found = [self.of(value) for value in self.bound.get(name, ())]
        self.open.remove(name)
        if name not in self.bound:
            given = (a for a in parameters(self.function) if a.arg == name)
            types = [_words(a.annotation) for a in given]
            found = [None if words is None else len(words) for words in types]
            found.append(self.unpacked.get(name))
            known = self.inputs.get(name)
            found += [known.exact] if known is not None else []
        return next((n for n in found if n is not None), None)

    def _call(self, call: ast.Call) -> int | None:
        name, args = _last_name(call.func), call.args
        own = self.scope.called(call.func)
        if own is not None:
            return self._returned(own)
        is_method = isinstance(call.func, ast.Attribute) and not _is_module(call.func)
        if is_method and isinstance(call.func, ast.Attribute):
            args = [call.func.value, *args]
        match name, args:
            case "einsum", [ast.Constant(value=str(text)), *_] if "->" in text:
                result = text.partition("->")[2].strip()
                return None if "." in result else len(result)
            case "where", [_, *values]:
                ranks = [n for n in map(self.of, values) if n is not None]
                return max(ranks, default=None)
            case "concatenate" | "concat", [
                ast.List(elts=parts) | ast.Tuple(elts=parts)
            ]:
                return next((n for n in map(self.of, parts) if n is not None), None)
            case "reshape" | "broadcast_to", [_, *shape]:
                return _count(shape)
            case "transpose", [_, *order] if order:
                return _count(order)
            case _ if name in _VECTORS:
                return 1
            case _ if name in _MADE:
                shapes = [a for a in args if isinstance(a, ast.Tuple)]
                return len(shapes[0].elts) if shapes else None
            case _, [first, *_] if name in _SAME or by_element(call.func):
                return self.of(first)
        return None

    def _returned(self, function: ast.FunctionDef) -> int | None:
        """The number of axes of what a method or a function returns."""
        if self.depth >= _DEPTH:
            return None
        inner = Ranks(function, self.scope, self.depth + 1)
        values = (n.value for n in ast.walk(function) if isinstance(n, ast.Return))
        found = {inner.of(value) for value in values if value is not None}
        return found.pop() if len(found) == 1 else None


def _last_name(function: ast.expr) -> str:
    """`where` of `jnp.where`, and of `where`."""
    return (dotted(function) or getattr(function, "attr", "")).rpartition(".")[2]


def _is_module(function: ast.Attribute) -> bool:
    path = dotted(function.value) or ""
    return path.partition(".")[0] in ("jax", "jnp", "lax", "nn")


def _count(given: list[ast.expr]) -> int | None:
    """How many axes `2, 3` or `(2, 3)` are; None where something is spread into them."""
    if len(given) == 1:
        match given[0]:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                given = parts
            case _:
                return None
    return None if any(isinstance(p, ast.Starred) for p in given) else len(given)


def _words(annotation: ast.expr | None) -> list[str] | None:
    """The axes that a type says; None where there may be any number."""
    match annotation:
        case ast.BinOp(left=kind, op=ast.BitOr()):
            return _words(kind)
        case ast.Subscript(slice=ast.Constant(value=str(text))):
            words = text.split()
            if not any(word.startswith(("*", "...")) for word in words):
                return words
    return None
