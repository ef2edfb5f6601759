"""Weights that a method of PyTorch changes in each call: masks are computed with, all else is listed.

self.weight.data *= self.mask                    weight_ = self.weight * self.mask
return F.conv2d(x, self.weight)      becomes     return F.conv2d(x, weight_)

That is the same where the mask is made of zeros and ones, and where no other method reads the weight.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.changes.changed_buffers import (
    changed_in,
    is_deep,
    rooted,
)
from mlax_scaffold.conversion.changes.changing_calls import Changing, is_changing
from mlax_scaffold.conversion.changes.other_names import OtherNames, tensors_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    AsLocal,
    expression,
    is_name,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_CALLS = ("forward", "__call__")
_MODES = ("train", "eval", "forward")
_STARTS = ("__init__", "reset_parameters", "extra_repr")
_BEGUN = ("zeros", "ones", "zeros_like", "ones_like", "tril", "triu", "eye")
_BOUNDS = (
    "renorm",
    "renorm_",
    "clamp",
    "clamp_",
    "clip",
    "clip_",
    "clamp_min_",
    "clamp_max_",
)
"""What bounds a tensor, the same when it is done again."""
_TODO = (
    "compute with what it becomes, under a name of its own, or declare it with `state`"
)


def without_changed_weights(origin: Origin, thing: str, notes: Notes) -> None:
    """Change the methods of a file in place."""
    tensors = tensors_of(origin.tree)
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch" or not _is_used(origin, thing, node):
            continue
        _modes(node, notes)
        weights, calls = set(_weights(origin, node)), Changing(origin, node)
        for method in _reached(node):
            _masked(node, method, weights)
            _projected(node, method, weights, notes)
            known = OtherNames(method, tensors)
            for part in method.body:
                for at in _changed(part, weights, known, calls):
                    notes.refuse(
                        at,
                        f"`{ast.unparse(at)}` changes a weight in each call",
                        _TODO,
                    )


def _modes(node: ast.ClassDef, notes: Notes) -> None:
    """Note a class that keeps a part of itself in inference, whatever it is told."""
    for method in node.body:
        for part in walk(method):
            match part:
                case ast.Call(func=ast.Attribute(value=owner, attr="eval" | "train")):
                    parts = (
                        not is_name(owner, "self") and ast.unparse(owner) != "super()"
                    )
                    if parts and getattr(method, "name", "") in _MODES:
                        notes.refuse(
                            part,
                            f"`{ast.unparse(part)}` says whether a part is trained",
                            "leave the layer out of training by its inference_mode",
                        )


def _is_used(origin: Origin, thing: str, node: ast.ClassDef) -> bool:
    """Whether a class is one of those that what is converted is made of."""
    nodes = {**origin.classes, **origin.functions}
    queue, found = [thing] if thing in nodes else [*nodes], set[str]()
    while queue:
        title = queue.pop()
        if title in nodes and title not in found:
            found.add(title)
            queue += names(nodes[title])
    return node.name in found


def _weights(origin: Origin, node: ast.ClassDef) -> Iterator[str]:
    """The attributes of a class, and of those that it is derived from, that are trained."""
    for part in walk(node):
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func)):
                if origin.qualified(func).endswith("nn.Parameter"):
                    yield self_attribute(target) or ""
    for base in node.bases:
        own = origin.classes.get(getattr(base, "id", ""))
        if own is not None and own is not node:
            yield from _weights(origin, own)


def _reached(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The methods that a call of the layer runs."""
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    queue = [t for t in _CALLS if t in methods]
    if not queue:
        queue = [t for t in methods if t not in _STARTS and "init" not in t]
    found: dict[str, ast.FunctionDef] = {}
    while queue:
        title = queue.pop()
        if title in methods and title not in found:
            found[title] = methods[title]
            queue += [self_attribute(p) or "" for p in walk(methods[title])]
    return list(found.values())


def _masked(node: ast.ClassDef, method: ast.FunctionDef, weights: set[str]) -> None:
    """Compute with a weight times its mask from there on."""
    for at, part in enumerate(method.body):
        match part.body if isinstance(part, ast.With) else [part]:
            case [ast.AugAssign(target=target, op=ast.Mult(), value=mask)]:
                pass
            case [
                ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=target, attr="mul_"), args=[mask]
                    )
                )
            ]:
                pass
            case [
                ast.Assign(
                    targets=[target],
                    value=ast.BinOp(left=left, op=ast.Mult(), right=mask),
                )
            ] if ast.unparse(target) == ast.unparse(left):
                pass
            case _:
                continue
        place, masked = self_attribute(_data(target)), self_attribute(_data(mask))
        if (
            place not in weights
            or place is None
            or masked is None
            or not _is_binary(node, masked)
            or any(place in _read(m) for m in _others(node, method))
        ):
            continue
        local = f"{place}_"
        while local in names(method):
            local += "_"
        made = ast.Assign(
            [ast.Name(local, ast.Store())],
            expression(f"self.{place} * self.{masked}"),
        )
        method.body[at] = located(ast.copy_location(made, part))
        for later in method.body[at + 1 :]:
            AsLocal(place, local).visit(later)


def _projected(
    node: ast.ClassDef, method: ast.FunctionDef, weights: set[str], notes: Notes
) -> None:
    """Compute with what a weight is bounded to, `self.w.data.clamp_(0)`, from there on."""
    for at, part in enumerate(method.body):
        found = _bounded(part)
        if found is None:
            continue
        place, value = found
        local = f"{place}_"
        while local in names(method):
            local += "_"
        if place not in weights or any(
            place in _read(m) for m in _others(node, method)
        ):
            continue
        made = ast.Assign([ast.Name(local, ast.Store())], value)
        notes.remark(
            part,
            f"`{ast.unparse(part)}` bounds the weight in each call",
            "here the weight stays as it is, and what it is bounded to is computed with",
        )
        method.body[at] = located(ast.copy_location(made, part))
        for later in method.body[at + 1 :]:
            AsLocal(place, local).visit(later)


def _bounded(part: ast.stmt) -> tuple[str, ast.expr] | None:
    """A weight that a statement sets to what it is bounded to, which is the same when it is done again."""
    test: ast.expr | None = None
    if isinstance(part, ast.If) and len(part.body) == 1 and not part.orelse:
        test, part = part.test, part.body[0]
    if isinstance(part, ast.With) and len(part.body) == 1:
        part = part.body[0]
    match part:
        case ast.Assign(targets=[ast.Attribute(attr="data") as target], value=value):
            place = self_attribute(target.value)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=inner)) as value):
            place = self_attribute(_data(inner))
        case _:
            return None
    match value:
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args):
            method = self_attribute(_data(owner)) == place
            given = args[:1] if not method else [owner]
        case _:
            return None
    bounds = attr in _BOUNDS and [self_attribute(_data(g)) for g in given] == [place]
    if place is None or not bounds:
        return None
    value = cloned(value)
    assert isinstance(value, ast.Call)
    assert isinstance(value.func, ast.Attribute)
    value.func.attr = attr.rstrip("_")
    value = _Plain(place).visit(value)
    if test is not None:
        value = ast.IfExp(test, value, expression(f"self.{place}"))
    return place, value


class _Plain(NodeTransformer):
    """A weight in the place of its numbers, `self.w.data`."""

    def __init__(self, place: str):
        self.place = place

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        own = node.attr == "data" and self_attribute(node.value) == self.place
        return node.value if own else node


def _data(node: ast.expr) -> ast.expr:
    return (
        node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node
    )


def _others(node: ast.ClassDef, method: ast.FunctionDef) -> list[ast.FunctionDef]:
    return [m for m in _reached(node) if m is not method]


def _read(node: ast.AST) -> set[str]:
    return {self_attribute(part) or "" for part in walk(node)}


def _is_binary(node: ast.ClassDef, attribute: str) -> bool:
    """Whether a constructor makes a buffer of zeros and ones, and nothing else changes it."""
    local, begun = {attribute}, False
    for method in node.body:
        for part in walk(method):
            match part:
                case ast.Call(
                    func=ast.Attribute(attr="register_buffer"),
                    args=[ast.Constant(value=place), value, *_],
                ) if place == attribute:
                    local.add(getattr(value, "id", ""))
                    begun = begun or _begins(value)
    for part in walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=value):
                if title in local:
                    begun = begun or _begins(value)
                    if not _begins(value):
                        return False
            case ast.Assign(targets=[target], value=value):
                root = rooted(target)
                title = getattr(root, "id", None) or self_attribute(root)
                whole = root is target and isinstance(value, ast.Name)
                if title in local and not whole and literal(value) not in (0, 1):
                    return False
            case ast.AugAssign(target=target):
                root = rooted(target)
                if (getattr(root, "id", None) or self_attribute(root)) in local:
                    return False
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                if is_changing(attr) and names(value) & local:
                    return False
    return begun


def _begins(value: ast.expr) -> bool:
    """Whether an expression makes zeros and ones alone."""
    match value:
        case ast.Call(func=ast.Attribute(attr=attr), args=args):
            inner = (
                all(_begins(a) for a in args[:1]) if attr in ("tril", "triu") else True
            )
            return attr in _BEGUN and inner
    return False


def _changed(
    node: ast.stmt, weights: set[str], known: OtherNames, calls: Changing
) -> Iterator[ast.AST]:
    """The statements that change a weight, or a part of the object, for good."""
    for part in walk(node):
        if isinstance(part, ast.stmt) and _given_away(part, known, calls):
            yield part
        if not isinstance(part, ast.Assign | ast.AugAssign | ast.Expr):
            continue
        found = [*changed_in(part)]
        if isinstance(part, ast.Assign):
            found += [t for t in part.targets if isinstance(t, ast.Attribute)]
        for tensor in found:
            own = self_attribute(tensor)
            if own in weights or is_deep(tensor) or known.is_deep(tensor, part):
                yield part
                break


def _given_away(part: ast.stmt, known: OtherNames, calls: Changing) -> bool:
    """Whether a statement itself calls what changes a part of the object that it is given."""
    inner = [n for n in ast.iter_child_nodes(part) if isinstance(n, ast.expr)]
    for call in (c for n in inner for c in walk(n) if isinstance(c, ast.Call)):
        found = calls.of_call(call, {})
        # Methods of tensors are among what statements change in any case.
        if found is not None and found[0] is not getattr(call.func, "value", None):
            tensor = rooted(found[0])
            if is_deep(tensor) or known.is_deep(tensor, part):
                return True
    return False
