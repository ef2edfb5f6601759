"""Tensors that a constructor of PyTorch changes in place, as what NumPy computes.

self.register_buffer("mask", torch.ones(n, n))             mask_ = torch.ones(n, n)
self.mask.triu_(1)                               becomes   mask_[...] = mask_.triu(1)
self.mask[0] = 0                                           mask_[0] = 0
                                                           self.register_buffer("mask", mask_)

What is begun as a copy of a weight, and filled at once, has the shape of the weight alone.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.changes.changing_calls import is_changing
from mlax_scaffold.conversion.rows.array_leaves import draws
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    AsLocal,
    is_name,
    name,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_FILLS = {"zero_": ast.Constant(0), "fill_": None, "copy_": None}
_COPIES = ("clone", "detach", "contiguous", "float")


def without_changed_buffers(origin: Origin) -> None:
    """Change the constructors of a file in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        started = _started(node)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name in started:
                _buffers(origin, method)
                method.body = _Calls(origin, method).block(method.body)
                located(method)


def _started(node: ast.ClassDef) -> set[str]:
    """The constructor, and the methods that it calls as statements and nothing else does."""
    found, read = {"__init__"}, set[str]()
    for method in node.body:
        for part in walk(method):
            called = part.value if isinstance(part, ast.Expr) else None
            place = self_attribute(getattr(called, "func", ast.Pass())) or ""
            if getattr(method, "name", "") == "__init__":
                found.add(place)
            else:
                read.add(self_attribute(part) or "")
    return found - read


def _buffers(origin: Origin, method: ast.FunctionDef) -> None:
    """Let buffers that are changed, or registered in several branches, be locals until then."""
    torch = origin.name_of("torch")
    places = {f[0] for part in walk(method) if (f := _registered(part))}
    for place in sorted(places):
        body = method.body
        holding = [i for i, s in enumerate(body) if _registrations(s, place)]
        found = [f for i in holding for f in _registrations(body[i], place)]
        loops = any(isinstance(p, ast.For) for i in holding for p in walk(body[i]))
        if len(holding) != 1 or loops or any(draws(origin, f[1]) for f in found):
            continue
        [at] = holding
        last = max(i for i, s in enumerate(body) if i == at or changes(s, place))
        if not changes(body[at], place) and last == at and len(found) == 1:
            continue
        local = f"{place}_"
        while local in names(method):
            local += "_"
        call = cloned(found[0][2])
        body[at] = _Begun(place, local).visit(body[at])
        for later in body[at : last + 1]:
            AsLocal(place, local).visit(later)
        call.args[1] = name(local)
        body.insert(last + 1, ast.copy_location(ast.Expr(call), body[at]))
        if torch and isinstance(body[at], ast.Assign):
            _filled_at_once(body, at, local, torch)


def _registrations(node: ast.AST, place: str) -> list[tuple[str, ast.expr, ast.Call]]:
    """What registers a buffer of this name."""
    told = [_registered(part) for part in walk(node)]
    return [found for found in told if found is not None and found[0] == place]


class _Begun(NodeTransformer):
    """Binds a local in the place of a buffer."""

    def __init__(self, place: str, local: str):
        self.place, self.local = place, local

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        found = _registered(node)
        if found is None or found[0] != self.place:
            return node
        made = ast.Assign([ast.Name(self.local, ast.Store())], found[1])
        return ast.copy_location(made, node)


def _registered(node: ast.AST) -> tuple[str, ast.expr, ast.Call] | None:
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer"),
                args=[ast.Constant(value=str(place)), value, *_],
            ) as call
        ):
            return place, value, call
    return None


def rooted(node: ast.AST) -> ast.AST:
    """What a part, a view by its index or the data of a tensor is taken of."""
    while isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Attribute) and node.attr == "data"
    ):
        node = node.value
    return node


def is_deep(node: ast.AST) -> bool:
    """Whether an expression is an attribute of a part of self: `self.fc.weight`."""
    if not isinstance(node, ast.Attribute) or self_attribute(node):
        return False
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return is_name(node, "self")


def changed_in(node: ast.AST) -> list[ast.AST]:
    """The tensors that a statement, or what stands in it, changes in place."""
    found: list[ast.AST] = []
    for part in walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                if is_changing(attr):
                    found.append(_first(value))
            case ast.Assign(targets=targets):
                found += [rooted(t) for t in targets if rooted(t) is not t]
            case ast.AugAssign(target=target):
                found.append(rooted(target))
    return found


def _first(node: ast.AST) -> ast.AST:
    """What a chain of calls, `mask.fill_(1).triu_()`, begins with."""
    while True:
        node = rooted(node)
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if is_changing(
                attr
            ):
                node = value
            case _:
                return node


def changes(node: ast.AST, attribute: str) -> bool:
    """Whether a statement changes a tensor of self in place."""
    return any(self_attribute(part) == attribute for part in changed_in(node))


def _filled_at_once(body: list[ast.stmt], at: int, local: str, torch: str) -> None:
    """Begin what is filled before it is read with the shape of a weight, and not with its numbers."""
    begun = body[at]
    assert isinstance(begun, ast.Assign)
    source = begun.value
    while (
        isinstance(source, ast.Call)
        and isinstance(source.func, ast.Attribute)
        and source.func.attr in _COPIES
    ):
        source = source.func.value
    source = rooted(source)
    if not isinstance(source, ast.expr) or isinstance(begun.value, ast.Subscript):
        return
    if self_attribute(source) is None:
        return
    for later in body[at + 1 :]:
        match later:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=value, attr="fill_" | "zero_"))
            ) if ast.unparse(value) in (local, f"{local}.data"):
                like = ast.Attribute(name(torch), "zeros_like", ast.Load())
                begun.value = ast.Call(like, [cloned(source)], [])
                return
        if local in names(later) or not isinstance(later, ast.Assign):
            return


class _Calls:
    """Writes `mask.mul_(2)`, of a local, as `mask[...] = mask.mul(2)`."""

    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin = origin
        self.others = {a.arg for a in method.args.args}
        for part in walk(method):
            if isinstance(part, ast.For):
                # A weight of a layer, of those that a loop goes over.
                self.others |= {*targets(part.target)}

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in body:
            for field in ("body", "orelse"):
                inner = getattr(node, field, None)
                if inner and isinstance(node, ast.If | ast.For | ast.With):
                    setattr(node, field, self.block(inner))
            found += self._statement(node)
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.Expr):
            return [node]
        made = self._chain(node.value)
        if not made:
            return [node]
        return [located(ast.copy_location(m, node)) for m in made]

    def _chain(self, value: ast.expr) -> list[ast.stmt]:
        match value:
            case ast.Call(func=ast.Attribute(value=place, attr=attr)):
                if not is_changing(attr):
                    return []
            case _:
                return []
        before = self._chain(place)
        if before:
            assert isinstance(before[-1], ast.Assign)
            place = _whole(before[-1].targets[0])
        elif isinstance(place, ast.Call):
            return []
        root = rooted(place)
        if not isinstance(root, ast.Name) or self._foreign(root):
            return []
        place = _Undone().visit(cloned(place))
        target = cloned(place)
        if not isinstance(target, ast.Subscript):
            target = ast.Subscript(target, ast.Constant(...), ast.Store())
        target.ctx = ast.Store()
        if attr in _FILLS:
            told = _FILLS[attr] or (value.args[0] if value.args else None)
            made = cloned(told)
        else:
            made = ast.Call(
                ast.Attribute(place, attr[:-1], ast.Load()), value.args, value.keywords
            )
        if made is None:
            return []
        return [*before, ast.Assign([target], made)]

    def _foreign(self, root: ast.Name) -> bool:
        return root.id in self.others or bool(self.origin.qualified(root))


def _whole(target: ast.expr) -> ast.expr:
    """The tensor of which all, `mask[...]`, is set."""
    made = cloned(target)
    assert isinstance(made, ast.Subscript)
    made.ctx = ast.Load()
    whole = isinstance(made.slice, ast.Constant) and made.slice.value is ...
    return made.value if whole else made


class _Undone(NodeTransformer):
    """`mask.data` as `mask`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return node.value if node.attr == "data" else node
