"""Classes that are built on a layer, as classes that have one."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from mlax_scaffold.conversion.rows.rows import Row, default_in, places_of
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CALLED = ("forward", "__call__")


def composed(
    origin: Origin, node: ast.ClassDef, layers: Collection[str], notes: Notes
) -> None:
    """Let a class have the layer that it is built on, in place.

    Args:
        origin: the file.
        node: the class.
        layers: the full names of the layers that can be had.
        notes: what has no counterpart.
    """
    found = [b for b in node.bases if origin.qualified(b) in layers]
    start = next((f for f in _methods(node) if f.name == "__init__"), None)
    if len(found) == 1 and start is None:
        start = _inherited(origin, node, found[0])
    if len(found) != 1 or start is None:
        return
    base, attribute = found[0], _free(node)
    begun = [
        part
        for part in walk(start)
        if isinstance(part, ast.Expr) and _of_super(part.value, ("__init__",))
    ]
    if len(begun) != 1 or begun[0] not in start.body:
        return
    call = begun[0].value
    assert isinstance(call, ast.Call)
    if origin.qualified(base) in SEQUENTIAL:
        for method in _methods(node):
            _Passes().visit(method)
    if origin.qualified(base) in SEQUENTIAL and not call.args and not call.keywords:
        _in_order(origin, node, start, notes)
        return
    made = ast.Call(base, call.args, call.keywords)
    target = ast.Attribute(ast.Name("self", ast.Load()), attribute, ast.Store())
    at = start.body.index(begun[0])
    own = ast.copy_location(ast.Assign([target], made), begun[0])
    start.body[at] = own
    for method in _methods(node):
        _Base(attribute).visit(method)
    if not any(f.name in _CALLED for f in _methods(node)):
        forward = statement(f"def forward(self, x):\n    return self.{attribute}(x)")
        node.body.append(ast.copy_location(forward, node))
    located(node)


def _inherited(
    origin: Origin, node: ast.ClassDef, base: ast.expr
) -> ast.FunctionDef | None:
    """The constructor that a class has of its base, put in place, with what calls of the file give it."""
    row = LAYERS.get(origin.qualified(base))
    calls = [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call) and is_name(part.func, node.name)
    ]
    if row is None or not calls:
        return None
    inputs = ast.parse(f"def f{row.signature}: pass").body[0]
    assert isinstance(inputs, ast.FunctionDef)
    own = _own_defaults(node, places_of(row))
    places = [a.arg for a in inputs.args.args][: max(len(c.args) for c in calls)]
    named = {str(k.arg) for c in calls for k in c.keywords} | own.keys()
    rest = sorted(named - {*places})
    given = [*places, *rest]
    if not all(name.isidentifier() and name != "None" for name in given):
        return None
    told = [_parameter(row, n, own, calls, places) for n in given]
    told[len(places) :] = ["*", *told[len(places) :]] if rest else []
    text = f"def __init__(self, {', '.join(told)}):\n    super().__init__("
    text += ", ".join([*places, *(f"{n}={n}" for n in rest)]) + ")"
    made = statement(text)
    assert isinstance(made, ast.FunctionDef)
    for part in walk(made):
        if hasattr(part, "lineno"):
            ast.copy_location(part, node)
    node.body = [made, *(part for part in node.body if _field(part) not in own)]
    return made


def _own_defaults(node: ast.ClassDef, known: Collection[str]) -> dict[str, ast.expr]:
    """What a class sets parameters of its base to, as fields: `num_groups: int = 4`."""
    return {
        str(_field(part)): part.value
        for part in node.body
        if isinstance(part, ast.AnnAssign) and part.value and _field(part) in known
    }


def _field(part: ast.stmt) -> str | None:
    target = part.target if isinstance(part, ast.AnnAssign) else None
    return target.id if isinstance(target, ast.Name) else None


def _parameter(
    row: Row,
    title: str,
    own: Mapping[str, ast.expr],
    calls: Sequence[ast.Call],
    places: Sequence[str],
) -> str:
    """A parameter of the constructor, with its default where a call leaves it out."""
    at = places.index(title) if title in places else None
    always = all(
        title in {k.arg for k in call.keywords}
        or (at is not None and at < len(call.args))
        for call in calls
    )
    default = own.get(title) or (None if always else default_in(row, title))
    return title if default is None else f"{title}={ast.unparse(default)}"


def _in_order(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, notes: Notes
) -> None:
    """Let a sequence call the attributes that its constructor sets, one after the other."""
    methods = _methods(node)
    called = any(f.name in _CALLED for f in methods)
    if called and not any(_of_super(p, _CALLED) for m in methods for p in walk(m)):
        return
    places: list[str] = []
    for part in start.body:
        for inner in walk(part):
            target = inner.targets[0] if isinstance(inner, ast.Assign) else None
            value = inner.value if isinstance(inner, ast.Assign) else None
            place = self_attribute(target) if target is not None else None
            if place is None or not _is_module(origin, value):
                continue
            if inner is not part:
                notes.refuse(
                    inner,
                    f"`{ast.unparse(inner)}` makes an element of a sequence, or does not",
                    "write `forward`, which calls the layers that there are",
                )
            places.append(place)
    lines = ["def forward(self, x):", *(f"    x = self.{p}(x)" for p in places)]
    title = "_in_order" if called else "forward"
    lines[0] = lines[0].replace("forward", title)
    made = ast.copy_location(statement("\n".join([*lines, "    return x"])), node)
    for part in walk(made):
        if hasattr(part, "lineno"):
            ast.copy_location(part, node)
    for method in methods:
        _Super().visit(method)
    node.body.append(made)
    located(node)


def _is_module(origin: Origin, value: ast.expr | None) -> bool:
    """Whether a value is made by a class: a module, and no number."""
    if not isinstance(value, ast.Call):
        return False
    last = ast.unparse(value.func).rpartition(".")[2]
    known = last in origin.functions or last in origin.classes
    return known or (last[:1].isupper() and last != "Parameter")


class _Passes(NodeTransformer):
    """Writes `for layer in self: x = layer(x)` as the call of the sequence that it is."""

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        own = ("self", "self.children()", "self._modules.values()")
        match node:
            case ast.For(
                target=ast.Name(id=layer),
                body=[
                    ast.Assign(
                        targets=[ast.Name(id=local)],
                        value=ast.Call(
                            func=ast.Name(id=called), args=[given], keywords=[]
                        ),
                    )
                ],
                orelse=[],
            ) if layer == called and is_name(given, local):
                if ast.unparse(node.iter) in own:
                    made = statement(f"{local} = super().forward({local})")
                    for part in walk(made):
                        if hasattr(part, "lineno"):
                            ast.copy_location(part, node)
                    return made
        return node


class _Super(NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if _of_super(node, _CALLED):
            node.func = ast.copy_location(expression("self._in_order"), node)
        return node


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [f for f in node.body if isinstance(f, ast.FunctionDef)]


def _free(node: ast.ClassDef) -> str:
    used = {p.attr for p in walk(node) if isinstance(p, ast.Attribute)}
    return next(n for n in ("base", "base_layer", "own_base_layer") if n not in used)


def _of_super(node: ast.AST, names: Collection[str]) -> bool:
    """Whether a call is one of a method of the base, as `super()` says it."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and isinstance(node.func.value, ast.Call)
        and isinstance(node.func.value.func, ast.Name)
        and node.func.value.func.id == "super"
    )


class _Base(NodeTransformer):
    """Calls the layer where the base was called."""

    def __init__(self, attribute: str):
        self.attribute = attribute

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if _of_super(node, _CALLED):
            node.func = expression(f"self.{self.attribute}")
        return node
