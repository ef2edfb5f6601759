"""Classes of layers that a setting chooses, where they are made.

norm = nn.RMSNorm if self.rms else nn.LayerNorm        (nn.RMSNorm() if self.rms else nn.LayerNorm())(x)
x = norm()(x)                                 becomes

So are those that branches choose, `if self.rms: norm = nn.RMSNorm`, those of a table,
`{"rms": nn.RMSNorm, "layer": nn.LayerNorm}[self.norm]`, and attributes, `self.norm_cls = A if rms else B`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    names,
    replaced,
    same,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_STARTS = ("__init__", "setup", "__post_init__")


def without_chosen_classes(origin: Origin, layers: Collection[str]) -> None:
    """Write the choice where layers are made, in place, if nothing but calls reads it.

    Args:
        origin: the file.
        layers: the full names of the classes of layers of libraries.
    """
    for node in origin.classes.values():
        if framework_of(origin, node) in ("flax", "nnx", "equinox", "haiku"):
            _Chosen(origin, layers, node).write()
        elif framework_of(origin, node) == "torch":
            _Chosen(origin, layers, node).write_start()
    located(origin.tree)


class _Chosen:
    """The choices of one class."""

    def __init__(self, origin: Origin, layers: Collection[str], node: ast.ClassDef):
        self.origin, self.layers, self.node = origin, layers, node

    def write(self) -> None:
        for method in self.node.body:
            if isinstance(method, ast.FunctionDef):
                self._locals(method)
                if method.name in _STARTS:
                    self._attributes(method)

    def write_start(self) -> None:
        """Write what a constructor of PyTorch chooses for itself."""
        for method in self.node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                self._locals(method)

    def _locals(self, method: ast.FunctionDef) -> None:
        for part in list(method.body):
            found = self._choice(part)
            if found is None or not isinstance(found[0], ast.Name):
                continue
            target, chosen = found
            bound = [t for s in method.body if s is not part for t in targets(s)]
            if {*names(target), *_read(chosen)} & {*bound}:
                continue
            if _only_called([method], target, but=part):
                method.body.remove(part)
                _Calls(target, chosen).visit(method)

    def _attributes(self, start: ast.FunctionDef) -> None:
        kept = {
            part.value.id: str(self_attribute(part.targets[0]))
            for part in start.body
            if isinstance(part, ast.Assign)
            and isinstance(part.value, ast.Name)
            and self_attribute(part.targets[0])
        }
        for part in list(start.body):
            found = self._choice(part)
            if found is None or not self_attribute(found[0]):
                continue
            target, chosen = found
            own = {local: expression(f"self.{a}") for local, a in kept.items()}
            elsewhere = replaced(chosen, own)
            if _read(elsewhere) - {"self"} or not _only_called(
                [self.node], target, but=part
            ):
                continue
            start.body.remove(part)
            _without_field(self.node, str(self_attribute(target)))
            for method in self.node.body:
                if isinstance(method, ast.FunctionDef):
                    written = chosen if method is start else elsewhere
                    _Calls(target, written).visit(method)

    def _choice(self, node: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
        """What a statement makes one of several classes, and the choice."""
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
                value = self._of_table(node.value)
                chosen = value if self._is_choice(value) else None
                return (target, chosen) if chosen is not None else None
            case ast.If(
                test=test, body=[ast.stmt() as one], orelse=[ast.stmt() as two]
            ):
                first, second = self._side(one), self._side(two)
                if first is None or second is None or not same(first[0], second[0]):
                    refuses = isinstance(two, ast.Raise)
                    return first if first is not None and refuses else None
                return first[0], ast.IfExp(test, first[1], second[1])
        return None

    def _side(self, node: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
                return (target, node.value) if self._is_class(node.value) else None
        return self._choice(node)

    def _of_table(self, node: ast.expr) -> ast.expr:
        """An element of a table of classes as a choice by its key; the last one for all other keys."""
        match node:
            case ast.Subscript(value=table, slice=key):
                title = getattr(table, "id", "")
                known = self.origin.assigned.get(title)
                table = known.value if known is not None and known.value else table
                if not isinstance(table, ast.Dict) or len(table.keys) < 2:
                    return node
                if not all(isinstance(literal(k), str) for k in table.keys):
                    return node
                made = table.values[-1]
                for title_, value in zip(
                    table.keys[-2::-1], table.values[-2::-1], strict=True
                ):
                    test = ast.Compare(key, [ast.Eq()], [title_])  # type: ignore[list-item]
                    made = ast.IfExp(test, value, made)
                return made
        return node

    def _is_choice(self, node: ast.expr) -> bool:
        return isinstance(node, ast.IfExp) and all(
            self._is_class(side) or self._is_choice(side)
            for side in (node.body, node.orelse)
        )

    def _is_class(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            partial = self.origin.qualified(node.func) == "functools.partial"
            return partial and bool(node.args) and self._is_class(node.args[0])
        own = self.origin.classes.get(getattr(node, "id", ""))
        if own is not None:
            return is_layer_class(self.origin, own)
        return self.origin.qualified(node) in self.layers


class _Calls(NodeTransformer):
    """Makes the one or the other layer where the choice is called."""

    def __init__(self, target: ast.expr, chosen: ast.expr):
        self.target, self.chosen = target, chosen

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not same(node.func, self.target):
            return node
        return ast.copy_location(_made(self.chosen, node), node)


def _made(chosen: ast.expr, call: ast.Call) -> ast.expr:
    if isinstance(chosen, ast.IfExp):
        sides = [_made(side, call) for side in (chosen.body, chosen.orelse)]
        return ast.IfExp(cloned(chosen.test), *sides)
    made = cloned(call)
    made.func = cloned(chosen)
    if isinstance(chosen, ast.Call):
        # A part of a call.
        made.func = cloned(chosen.args[0])
        given = {k.arg for k in call.keywords}
        held = [cloned(k) for k in chosen.keywords if k.arg not in given]
        made.args = [*cloned(chosen.args[1:]), *made.args]
        made.keywords = [*held, *made.keywords]
    return made


def _read(node: ast.expr) -> set[str]:
    """The names that the tests of a choice, and what its classes are given, read."""
    if isinstance(node, ast.IfExp):
        return names(node.test) | _read(node.body) | _read(node.orelse)
    if isinstance(node, ast.Call):
        parts: Iterable[ast.expr] = [*node.args[1:], *(k.value for k in node.keywords)]
        return {n for part in parts for n in names(part)}
    return set()


def _only_called(trees: list[ast.AST], target: ast.expr, but: ast.stmt) -> bool:
    """Whether nothing but its calls reads what is chosen, beside the statement that chooses."""
    inside = {id(p) for p in walk(but)}
    parts = [p for t in trees for p in walk(t) if id(p) not in inside]
    calls = [p.func for p in parts if isinstance(p, ast.Call)]
    uses = [p for p in parts if isinstance(p, ast.expr) and _same_place(p, target)]
    return bool(uses) and len(uses) == sum(_same_place(c, target) for c in calls)


def _same_place(node: ast.expr, target: ast.expr) -> bool:
    if isinstance(target, ast.Name):
        return is_name(node, target.id)
    return self_attribute(node) == self_attribute(target)


def _without_field(node: ast.ClassDef, title: str) -> None:
    node.body = [
        part
        for part in node.body
        if not (isinstance(part, ast.AnnAssign) and is_name(part.target, title))
    ]
