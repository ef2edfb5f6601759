"""Layers that fields of flax and haiku are given, `TwoTower(query=Tower(32))`, as parts that the class makes.

What is converted has those that the first call of the file gives it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    name,
    names,
    self_attribute,
    statement,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def with_field_instances(
    origin: Origin, thing: str, layers: Collection[str], notes: Notes
) -> dict[str, str]:
    """Make them there, in place.

    Args:
        origin: the file.
        thing: the class that is converted.
        layers: the full names of the layers of libraries.
        notes: where to tell what a field is.

    Returns:
        What the original is given for the fields of what is converted that are gone.
    """
    given: dict[str, str] = {}
    for node in list(origin.classes.values()):
        if not is_layer_class(origin, node) or not _of_fields(origin, node):
            continue
        found = _instances(origin, node, layers)
        places = [_title(f) for f in _fields(node)]
        for field, value in found.items():
            _make(node, field, value)
            if node.name == thing:
                given[field] = ast.unparse(value)
                notes.remark(
                    node,
                    f"`{field}` of {thing} is `{ast.unparse(value)}`",
                    "write a class for each other one",
                )
        if found:
            _hand_on(origin, node, found)
            _leave_out(origin, node, places, found)
    located(origin.tree)
    return given


def _of_fields(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether a class is made with its fields: one of flax, or a dataclass of haiku."""
    framework = framework_of(origin, node)
    told = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    return framework == "flax" or (framework == "haiku" and told)


def _fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        part
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]


def _title(field: ast.AnnAssign) -> str:
    assert isinstance(field.target, ast.Name)
    return field.target.id


def _arguments(node: ast.ClassDef) -> ast.arguments:
    """What the class is made with, as flax has it."""
    fields = _fields(node)
    places = [ast.arg(_title(f)) for f in fields]
    # One without a default behind others is none of the language.
    defaults = [f.value or ast.Constant(None) for f in fields]
    return ast.arguments([], places, None, [], [], None, defaults)


def _instances(
    origin: Origin, node: ast.ClassDef, layers: Collection[str]
) -> dict[str, ast.Call]:
    """The layers that the first call gives to fields that the class calls."""
    called = {self_attribute(p.func) for p in walk(node) if isinstance(p, ast.Call)}
    fields = {
        _title(f)
        for f in _fields(node)
        if _title(f) in called and (f.value is None or is_none(f.value))
    }
    if not fields:
        return {}
    inside = {id(p) for p in walk(node)}
    calls = _calls(origin, node)
    for call in calls:
        try:
            bound = bind(_arguments(node), call)
        except MisfitError:
            continue
        # What the one class that makes it has is handed on.
        own = {"self"} if len(calls) == 1 else set()
        found = {
            k: made
            for k, v in bound.items()
            if k in fields
            and isinstance(v, ast.Call)
            and _is_layer(origin, made := _unnamed(v), layers, own)
            and not _attributes(made) & {*_own(node)}
            and id(call) not in inside
        }
        if found:
            return found
    return {}


def _calls(origin: Origin, node: ast.ClassDef) -> list[ast.Call]:
    return [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call) and is_name(part.func, node.name)
    ]


def _own(node: ast.ClassDef) -> set[str]:
    """What a class has of its own: its fields, and what it sets."""
    stored = (p for p in walk(node) if isinstance(p, ast.Attribute))
    kept = {self_attribute(p) or "" for p in stored if isinstance(p.ctx, ast.Store)}
    return kept | {_title(f) for f in _fields(node)}


def _attributes(node: ast.AST) -> set[str]:
    """What an expression reads of the object that makes it."""
    return {self_attribute(part) or "" for part in walk(node)} - {""}


def _unnamed(call: ast.Call) -> ast.Call:
    """A call without a name that is computed, `name=f"block_{i}"`, which numbers nothing but weights."""
    made = cloned(call)
    kept = [k for k in made.keywords if k.arg != "name" or not names(k.value)]
    made.keywords = kept
    return made


def _hand_on(origin: Origin, node: ast.ClassDef, found: dict[str, ast.Call]) -> None:
    """Give the class fields for what its layers are made of, and its one call what these are."""
    read = sorted({t for value in found.values() for t in _attributes(value)})
    calls = _calls(origin, node)
    owner = next(
        (c for c in origin.classes.values() if any(p in calls for p in walk(c))), node
    )
    kinds = {_title(f): f.annotation for f in _fields(owner)}
    for title in read:
        kind = kinds.get(title, name("Any"))
        declared = ast.AnnAssign(name(title), cloned(kind), None, 1)
        declared.target = ast.Name(title, ast.Store())
        node.body.insert(len(node.body) - len(without_docstring(node.body)), declared)
        given = ast.Attribute(name("self"), title, ast.Load())
        calls[0].keywords.append(ast.keyword(title, given))


def _is_layer(
    origin: Origin, call: ast.Call, layers: Collection[str], more: Collection[str]
) -> bool:
    """Whether a call makes a layer of what the file itself says."""
    own = origin.classes.get(getattr(call.func, "id", ""))
    known = own is not None and is_layer_class(origin, own)
    if not known and origin.qualified(call.func) not in layers:
        return False
    beside = {*origin.classes, *origin.functions, *origin.imports, *origin.assigned}
    read = {
        n.id
        for n in walk(call)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    return read <= beside | {*more}


def _make(node: ast.ClassDef, field: str, value: ast.expr) -> None:
    """Make a layer in the class, in the place of a field."""
    node.body = [
        p
        for p in node.body
        if not (isinstance(p, ast.AnnAssign) and _title(p) == field)
    ]
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    start = next((m for m in methods if m.name == "setup"), None)
    reading = [m for m in methods if any(self_attribute(p) == field for p in walk(m))]
    compact = any(
        "compact" in ast.unparse(d) for m in methods for d in m.decorator_list
    )
    if start is None and compact and len(reading) == 1:
        [method] = reading
        taken = {p.arg for p in walk(method) if isinstance(p, ast.arg)} | names(method)
        local = field if field not in taken else f"{field}_layer"
        _Read(field, local).visit(method)
        at = len(method.body) - len(without_docstring(method.body))
        method.body.insert(
            at, ast.Assign([ast.Name(local, ast.Store())], cloned(value))
        )
        return
    if start is None:
        made = statement("def setup(self):\n    pass")
        assert isinstance(made, ast.FunctionDef)
        start, made.body = made, []
        node.body.insert(
            node.body.index(methods[0]) if methods else len(node.body), start
        )
    target = ast.Attribute(name("self"), field, ast.Store())
    start.body.insert(0, ast.Assign([target], cloned(value)))


class _Read(NodeTransformer):
    """Reads a local where a field was read."""

    def __init__(self, field: str, local: str):
        self.field, self.local = field, local

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self_attribute(node) == self.field:
            return ast.copy_location(name(self.local), node)
        return self.generic_visit(node)


def _leave_out(
    origin: Origin, node: ast.ClassDef, places: list[str], gone: Collection[str]
) -> None:
    """Give calls of the class no such layers."""
    for call in walk(origin.tree):
        if isinstance(call, ast.Call) and is_name(call.func, node.name):
            kept = zip(places, call.args, strict=False)
            call.args = [value for place, value in kept if place not in gone]
            call.keywords = [k for k in call.keywords if k.arg not in gone]
