"""Inputs of PyTorch's classes that are None by default, and are always given: without that default.

def forward(self, x, context=None):                      def forward(self, x, context):
    context = x if context is None else context   becomes    ...

where all calls of the file give one, or where the code has no case for None: `assert mask is not None`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    given_to,
    method_of,
)
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk


def with_given_inputs(origin: Origin, thing: str) -> None:
    """Write them so, in place."""
    used = [thing, *used_by(origin, thing)]
    nodes = [
        origin.classes[t]
        for t in dict.fromkeys(used)
        if t in origin.classes and framework_of(origin, origin.classes[t]) == "torch"
    ]
    calls = {node.name: _Calls(origin, node) for node in nodes}
    for _ in range(len(nodes) + 1):
        changed = False
        for node in nodes:
            call = method_of(node, "forward")
            if call is None or call.args.kwonlyargs or call.args.vararg:
                continue
            for title in _absent(call):
                given = node.name != thing and _always_given(
                    node, call, title, calls, origin
                )
                if given or _demanded(call, title, calls[node.name], origin):
                    changed = _required(call, title) or changed
        if not changed:
            break
    located(origin.tree)


def _absent(call: ast.FunctionDef) -> list[str]:
    """The parameters that are None by default, in order."""
    return [n for n, d in defaults_of(call.args).items() if is_none(d)]


class _Calls:
    """What a class makes of others, and where it calls it."""

    def __init__(self, origin: Origin, node: ast.ClassDef):
        self.node = node
        start = method_of(node, "__init__")
        self.made: dict[str, str] = {}
        """The class of each attribute, or of the elements of a list."""
        self.layers: set[str] = set()
        """Attributes that are layers of PyTorch."""
        self.other: set[str] = set()
        """Classes of which objects are made that are no attributes."""
        known: set[int] = set()
        for part in walk(start) if start is not None else ():
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as value):
                    attribute = self_attribute(target)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=owner, attr="append"),
                        args=[ast.Call() as value],
                    )
                ):
                    attribute = self_attribute(owner)
                case _:
                    continue
            for place, element in _elements(origin, value) if attribute else ():
                title = getattr(element.func, "id", "")
                if not place and origin.qualified(element.func).startswith("torch.nn."):
                    self.layers.add(str(attribute))
                if title in origin.classes:
                    # Of a list that holds several classes, none is known.
                    before = self.made.setdefault(f"{attribute}{place}", title)
                    if before == title:
                        known.add(id(element))
        for part in walk(node):
            if isinstance(part, ast.Call) and id(part) not in known:
                title = getattr(part.func, "id", "")
                if title in origin.classes:
                    self.other.add(title)

    def of(self, title: str) -> Iterator[tuple[ast.FunctionDef, ast.Call | None]]:
        """The calls of objects of a class, each with its method; None for a use of one that is no call."""
        owned = {a for a, t in self.made.items() if t == title}
        for method in self.node.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            loops = {
                name.id
                for part in walk(method)
                if isinstance(part, ast.For)
                for place, name in _bound(part.target)
                if f"{self_attribute(part.iter)}{place}" in owned
            }
            called = [p for p in walk(method) if isinstance(p, ast.Call)]
            seen: set[int] = set()
            for call in called:
                if self_attribute(call.func) in owned or (
                    getattr(call.func, "id", "") in loops
                ):
                    seen.add(id(call.func))
                    yield method, call
            whole = {a.partition("@")[0] for a in owned}
            seen |= {
                id(part.iter) for part in walk(method) if isinstance(part, ast.For)
            }
            for part in walk(method):
                if self_attribute(part) in whole and id(part) not in seen:
                    yield method, None


def _elements(origin: Origin, value: ast.Call) -> Iterator[tuple[str, ast.Call]]:
    """The calls that make a layer, or those of a list, each with its place in what a loop takes."""
    if origin.qualified(value.func) != "torch.nn.ModuleList":
        yield "", value
        return
    match value.args:
        case [ast.ListComp(elt=ast.Call() as element)]:
            yield from _elements(origin, element)
        case [ast.List(elts=elements)]:
            for i, element in enumerate(elements):
                if isinstance(element, ast.Call):
                    yield f"@{i}", element


def _bound(target: ast.expr) -> Iterator[tuple[str, ast.Name]]:
    """The names of a loop, each with its place in what it takes."""
    if isinstance(target, ast.Name):
        yield "", target
    for i, part in enumerate(target.elts if isinstance(target, ast.Tuple) else ()):
        if isinstance(part, ast.Name):
            yield f"@{i}", part


def _always_given(
    node: ast.ClassDef,
    call: ast.FunctionDef,
    title: str,
    calls: dict[str, _Calls],
    origin: Origin,
) -> bool:
    """Whether each call of an object of a class gives an input that is there."""
    if any(node.name in c.other for c in calls.values()):
        return False
    found = [use for c in calls.values() for use in c.of(node.name)]
    if not found:
        return False
    for method, use in found:
        bound = given_to(call, use) if use is not None else None
        value = (bound or {}).get(title)
        if value is None or is_none(value) or names(value) & {*_absent(method)}:
            return False
        if not isinstance(value, ast.Name | ast.Call | ast.BinOp):
            return False
    return True


def _demanded(call: ast.FunctionDef, title: str, calls: _Calls, origin: Origin) -> bool:
    """Whether a method has no case for an input that is None."""
    parts = [*walk(call)]
    if any(
        isinstance(p, ast.Assert) and ast.unparse(p.test) == f"{title} is not None"
        for p in parts
    ):
        return True
    reads = [p for p in parts if is_name(p, title) and isinstance(p.ctx, ast.Load)]  # type: ignore[attr-defined]
    used = {
        id(inner)
        for p in parts
        for inner in _used(p, calls, origin)
        if is_name(inner, title)
    }
    asked = {
        id(p)
        for part in parts
        for test in [getattr(part, "test", None)]
        if isinstance(test, ast.expr)
        for p in walk(test)
    }
    return (
        bool(reads)
        and all(id(p) in used for p in reads)
        and not any(id(p) in asked for p in reads)
    )


def _used(node: ast.AST, calls: _Calls, origin: Origin) -> Iterator[ast.AST]:
    """What has to be there for an expression to be computed."""
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=value, ops=[op]) if not isinstance(
            op, ast.Is | ast.IsNot
        ):
            yield value
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            yield value
        case ast.Call(func=func, args=args):
            layer = self_attribute(func) in calls.layers
            if layer or origin.qualified(func).startswith("torch."):
                yield from args
                for part in args:
                    if isinstance(part, ast.Tuple | ast.List):
                        yield from part.elts
                return
            title = calls.made.get(self_attribute(func) or "")
            other = origin.classes.get(title or "")
            call = method_of(other, "forward") if other is not None else None
            bound = given_to(call, node) if call is not None else None
            if call is not None and bound is not None:
                wanted = {*defaults_of(call.args)} | _asked(call)
                yield from (v for p, v in bound.items() if p not in wanted)
            function = origin.functions.get(getattr(func, "id", ""))
            if function is not None:
                given = zip(function.args.args, args, strict=False)
                told = {p.arg for p in function.args.args}
                asks = _asked(function)
                yield from (v for p, v in given if p.arg in told - asks)


def _asked(function: ast.FunctionDef) -> set[str]:
    """What a function asks whether it is None."""
    return {
        n
        for part in walk(function)
        if isinstance(part, ast.Compare) and is_none(part.comparators[0])
        for n in names(part)
    }


def _required(call: ast.FunctionDef, title: str) -> bool:
    """Take a default away, in place, where none stands before it; whether that could be done."""
    given = call.args
    late = given.args[len(given.args) - len(given.defaults) :]
    if not late or late[0].arg != title:
        return False
    del given.defaults[0]
    kept = [
        s
        for s in call.body
        if not (
            isinstance(s, ast.Assert) and ast.unparse(s.test) == f"{title} is not None"
        )
    ]
    stored = any(
        is_name(p, title) and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
        for p in walk(call)
    )
    call.body = kept or [ast.Pass()]
    if not stored or _kept_there(call, title):
        known = Known({}, {}, there=lambda node: is_name(node, title))
        call.body = Decided(known).statements(call.body)
    return True


def _kept_there(call: ast.FunctionDef, title: str) -> bool:
    """Whether a name that is there at first is never bound to None."""
    return not any(
        isinstance(p, ast.Assign)
        and any(is_name(t, title) for t in walk(ast.Tuple(p.targets, ast.Store())))
        and any(is_none(v) for v in walk(p.value))
        and not any(isinstance(v, ast.Compare) for v in walk(p.value))
        for p in walk(call)
    )
