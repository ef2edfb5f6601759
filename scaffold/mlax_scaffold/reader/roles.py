"""Tells what becomes of each method of a layer: by its name and types, and by what it uses."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.model.definition import Declaration, Kind, MethodRole, Role
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.kinds import SPECIAL, STATIC
from mlax_scaffold.reader.source import dotted, indexed_attribute, self_attribute
from mlax_scaffold.reader.types import is_array_annotation

_ARRAYS = ("key", "keys", "state", "stored", "trainable", "training")
"""What no method of the hyperparameters has."""
_LAYERS = ("layer", "sub-layer")
SEVERAL = ("layers", "container")
"""Attributes that hold several layers."""
_HELD = ("trainables", "non_trainables", "apply")
"""What a layer has that its hyperparameters have not."""


def role_of(method: ast.FunctionDef, special: dict[str, MethodRole]) -> MethodRole:
    """What becomes of a method, by its name, decorators and annotations."""
    if method.name in special:
        return special[method.name]
    if any(dotted(d) == "property" for d in method.decorator_list):
        return MethodRole.PROPERTY
    arguments = (*method.args.args[1:], *method.args.kwonlyargs)
    if any(a.annotation and is_array_annotation(a.annotation) for a in arguments):
        return MethodRole.ENTRY
    return MethodRole.HYPER


def is_static(method: ast.FunctionDef) -> bool:
    """Whether a method is decorated with `@staticmethod`."""
    return [dotted(d) for d in method.decorator_list] == ["staticmethod"]


def roles_of(
    methods: Iterable[ast.FunctionDef],
    special: dict[str, MethodRole],
    attributes: Mapping[str, str],
) -> dict[str, MethodRole]:
    """The role of each method of a layer or a block, by name.

    `attributes` says what the attributes of self are, but for methods.
    """
    methods = tuple(methods)
    roles = {m.name: role_of(m, special) for m in methods}
    called = _called_by(methods)
    for method in methods:
        if method.name in special or roles[method.name] is MethodRole.PROPERTY:
            continue
        inner = _is_inner(method, called)
        if roles[method.name] is MethodRole.ENTRY:
            own = inner
        else:
            own = is_static(method) or _uses(method, attributes)
            # What others call may read weights of sub-layers, which it is then given.
            own = own or (method.name in called and _reads_parts(method, attributes))
        if own:
            roles[method.name] = MethodRole.OWN
    while more := [m for m in methods if _calls_own(m, roles)]:
        roles |= {m.name: MethodRole.OWN for m in more}
    return roles


def entry_points(node: ast.ClassDef) -> dict[str, int]:
    """The entry points of the class of a layer, and how many inputs without a default each has."""
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    special = SPECIAL[Kind.LAYER]
    called = _called_by(methods)
    return {
        m.name: len(m.args.args) - 1 - len(m.args.defaults)
        for m in methods
        if role_of(m, special) is MethodRole.ENTRY
        and (m.name == "forward" or not _is_inner(m, called))
    }


def _called_by(methods: Iterable[ast.FunctionDef]) -> set[str]:
    """The attributes of self that methods read."""
    nodes = (n for m in methods for n in walk(m) if isinstance(n, ast.Attribute))
    return {name for n in nodes if (name := self_attribute(n))}


def _is_inner(method: ast.FunctionDef, called: set[str]) -> bool:
    """Whether a method is there for the others of its class alone."""
    if method.name.startswith("_"):
        return True
    own = not _all_arrays(method) or not _returns(method)
    return method.name in called and own


def _all_arrays(method: ast.FunctionDef) -> bool:
    """Whether every parameter has the type of an array."""
    given = (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)
    return all(a.annotation and is_array_annotation(a.annotation) for a in given[1:])


def _returns(method: ast.FunctionDef) -> bool:
    """Whether a method returns something: one that does not is called for the states that it sets."""
    returns = (n for n in walk(method) if isinstance(n, ast.Return))
    return any(n.value is not None for n in returns)


def _calls_own(method: ast.FunctionDef, roles: Mapping[str, MethodRole]) -> bool:
    if roles[method.name] is not MethodRole.HYPER:
        return False
    names = {self_attribute(node) for node in walk(method)}
    taken = (MethodRole.ENTRY, MethodRole.OWN)
    return any(roles.get(name or "") in taken for name in names)


def _reads_parts(method: ast.FunctionDef, attributes: Mapping[str, str]) -> bool:
    """Whether a method reads an attribute of a sub-layer, and does not call it."""
    calls = {id(n.func) for n in walk(method) if isinstance(n, ast.Call)}
    return any(
        attributes.get(self_attribute(n.value) or indexed_attribute(n.value) or "")
        in ("sub-layer", *SEVERAL)
        for n in walk(method)
        if isinstance(n, ast.Attribute) and id(n) not in calls
    )


def _uses(method: ast.FunctionDef, attributes: Mapping[str, str]) -> bool:
    """Whether a method uses what hyperparameters do not hold: arrays, keys, layers with their weights."""
    known = {n: kind for n in _called_by([method]) if (kind := attributes.get(n))}
    if any(kind in _ARRAYS for kind in known.values()):
        return True
    # What is only asked of a layer is said by its hyperparameters.
    asked: set[int] = set()
    for node in walk(method):
        match node:
            case ast.Attribute(attr=attr, value=owner) if attr not in _HELD:
                asked.update(map(id, (owner, getattr(owner, "value", None))))
            case ast.Call(func=ast.Name(id="len"), args=[owner]):
                asked.add(id(owner))
            case ast.Compare(left=owner, ops=[ast.Is() | ast.IsNot()]):
                asked.add(id(owner))
    return any(
        known.get(self_attribute(node) or "") in (*_LAYERS, *SEVERAL)
        for node in walk(method)
        if isinstance(node, ast.Attribute) and id(node) not in asked
    )


def attribute_of(declaration: Declaration) -> str:
    """What an attribute is that a declaration makes."""
    if declaration.several:
        return "layers"
    layers = declaration.role is Role.SUB_LAYER
    return "container" if declaration.members and layers else declaration.role.value


def given_layers(
    attributes: Mapping[str, str], declarations: Iterable[Declaration]
) -> dict[str, str]:
    """What the layers that a block is given are where their weights are not there."""
    declared = {d.name for d in declarations}
    fields = {n: what for n, what in attributes.items() if n not in declared}
    return {
        n: STATIC[what] for n, what in fields.items() if what in ("layer", "layers")
    }


def attempted(node: ast.ClassDef) -> dict[str, str]:
    """The attributes that a class means to declare, whether or not it does so correctly."""
    names: list[str | None] = []
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case ast.FunctionDef(
                name="setup" | "setup_tree" | "__init__" | "__post_init__" | "init"
            ):
                for n in walk(statement):
                    if isinstance(getattr(n, "ctx", None), ast.Store):
                        names.append(self_attribute(n))
    return dict.fromkeys(filter(None, names), "unknown")
