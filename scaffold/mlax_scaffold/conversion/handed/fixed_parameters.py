"""Parameters of PyTorch's classes that are None by default and never given: what None stands for.

`if norm_layer is None: norm_layer = nn.BatchNorm2d` makes the class one with batch norms, where its calls
hand on such a parameter of their own at most.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of, without_arguments
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_fixed_parameters(origin: Origin, thing: str, notes: Notes) -> None:
    """Write what they stand for in place; of what is converted it is told."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if framework_of(origin, node) != "torch" or start is None:
            continue
        for part in list(start.body):
            found = _fallback(origin, part)
            if found is None or found[0] not in {a.arg for a in start.args.args}:
                continue
            parameter, value = found
            if _is_given(origin, node, start, parameter):
                continue
            if node.name == thing:
                notes.remark(
                    part,
                    f"`{parameter}` is always what this line says",
                    "write another spec for another one",
                )
            _fix(origin, node, start, part, parameter, value)
        _without_false(node, start)
    located(origin.tree)


def _fallback(origin: Origin, node: ast.stmt) -> tuple[str, ast.expr] | None:
    """The parameter that a statement sets where it is None, and what to: a class of layers, or flags."""
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=local), ops=[ast.Is()], comparators=[none]),
            body=[ast.Assign(targets=[ast.Name(id=target)], value=value)],
            orelse=[],
        ) if local == target and is_none(none):  # fmt: skip
            full = origin.qualified(value)
            made = (
                full.startswith("torch.nn.") and full.rpartition(".")[2][:1].isupper()
            )
            flags = (
                isinstance(value, ast.List)
                and bool(value.elts)
                and all(isinstance(literal(e), bool) for e in value.elts)
            )
            return (local, value) if made or flags else None
    return None


def _is_given(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, parameter: str
) -> bool:
    """Whether the file gives it anything but a parameter of the same name."""
    place = [a.arg for a in start.args.args].index(parameter) - 1
    for call in _calls(origin, node):
        given = [k.value for k in call.keywords if k.arg == parameter]
        given += call.args[place : place + 1]
        if any(not is_name(g, parameter) for g in given):
            return True
    return False


def _calls(origin: Origin, node: ast.ClassDef) -> list[ast.Call]:
    """The calls that make the class, by its name or, in other classes, by `block`, which may be any."""
    own = {id(part) for part in walk(node)}
    return [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call)
        and (
            is_name(part.func, node.name)
            or (is_name(part.func, "block") and id(part) not in own)
        )
    ]


def _fix(
    origin: Origin,
    node: ast.ClassDef,
    start: ast.FunctionDef,
    part: ast.stmt,
    parameter: str,
    value: ast.expr,
) -> None:
    place = [a.arg for a in start.args.args].index(parameter) - 1
    start.body.remove(part)
    without_arguments(start.args, {parameter})
    kept = {
        str(self_attribute(s.targets[0]))
        for s in start.body
        if isinstance(s, ast.Assign)
        and is_name(s.value, parameter)
        and self_attribute(s.targets[0])
    }
    aliases = {
        (m.name, s.targets[0].id)
        for m in node.body
        if isinstance(m, ast.FunctionDef)
        for s in m.body
        if isinstance(s, ast.Assign)
        and isinstance(s.targets[0], ast.Name)
        and self_attribute(s.value) in kept
    }
    for call in _calls(origin, node):
        call.keywords = [k for k in call.keywords if k.arg != parameter]
        if any(is_name(a, parameter) for a in call.args[place : place + 1]):
            del call.args[place]
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            names = {n for m, n in aliases if m == method.name}
            names |= {parameter} if method is start else set()
            method.body = [
                s
                for s in method.body
                if not (
                    isinstance(s, ast.Assign)
                    and (
                        self_attribute(s.targets[0]) in kept
                        or getattr(s.targets[0], "id", "") in names
                    )
                )
            ]
            _Values(names, kept, value).visit(method)


class _Values(NodeTransformer):
    def __init__(self, names: set[str], attributes: set[str], value: ast.expr):
        self.names, self.attributes, self.value = names, attributes, value

    def _made(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(cloned(self.value), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        read = isinstance(node.ctx, ast.Load)
        return self._made(node) if read and node.id in self.names else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) in self.attributes:
            return self._made(node)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = literal(node.slice)
        if isinstance(node.value, ast.List) and type(at) is int:
            count = len(node.value.elts)
            return node.value.elts[at] if -count <= at < count else node
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node.test:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[ast.List(elts=elts)]),
                ops=[ast.NotEq()],
                comparators=[ast.Constant(value=count)],
            ) if len(elts) == count and not node.orelse:
                # What is refused of others.
                return []
        return node


def _without_false(node: ast.ClassDef, start: ast.FunctionDef) -> None:
    """Leave out what a method does where a flag holds that is False in all of its calls."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method is start:
            continue
        calls = [
            p
            for p in walk(node)
            if isinstance(p, ast.Call) and self_attribute(p.func) == method.name
        ]
        for parameter in [a.arg for a in method.args.args[1:]]:
            places = [a.arg for a in method.args.args[1:]]
            place, late = (
                places.index(parameter),
                len(places) - len(method.args.defaults),
            )
            if not calls or place < late:
                continue
            default = method.args.defaults[place - late]
            given = [
                g
                for c in calls
                for g in (
                    *[k.value for k in c.keywords if k.arg == parameter],
                    *c.args[place : place + 1],
                )
            ]
            if literal(default) is not False or any(
                literal(g) is not False for g in given
            ):
                continue
            asked = [
                s
                for s in method.body
                if isinstance(s, ast.If) and is_name(s.test, parameter)
            ]
            reads = [p for s in method.body for p in walk(s) if is_name(p, parameter)]
            # It says nothing else.
            if not asked or len(reads) != len(asked):
                continue
            if any(len(c.args) > place for c in calls):
                continue
            for call in calls:
                call.keywords = [k for k in call.keywords if k.arg != parameter]
            without_arguments(method.args, {parameter})
            method.body = [
                s
                for part in method.body
                for s in (
                    part.orelse
                    if isinstance(part, ast.If) and is_name(part.test, parameter)
                    else [part]
                )
            ]
