"""Classes that are given what makes their layers: `Block(64, conv=partial(nn.Conv, use_bias=False))`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_PARTIAL = ("functools.partial", "jax.tree_util.Partial")


def without_given_layers(
    origin: Origin, thing: str, layers: Collection[str], notes: Notes
) -> None:
    """Write into such a class what it is given, in place; it has no such field then."""
    written: dict[str, dict[str, str]] = {}
    held: dict[str, dict[str, ast.Call]] = {}
    for owner in origin.classes.values():
        _with_default_classes(origin, owner, layers, notes)
    # What a class is given it may give to others; what others of the file are given is nothing to it.
    used = used_by(origin, thing)
    owners = [c for title, c in origin.classes.items() if title in used]
    while any(
        _given(origin, thing, owner, layers, notes, written, held) for owner in owners
    ):
        pass


def _given(
    origin: Origin,
    thing: str,
    owner: ast.ClassDef,
    layers: Collection[str],
    notes: Notes,
    written: dict[str, dict[str, str]],
    held: dict[str, dict[str, ast.Call]],
) -> bool:
    """Write into others what one class gives them, in place; whether there was anything.

    Args:
        origin: the file.
        thing: the class that is converted.
        owner: the class.
        layers: the full names of the classes of layers of libraries.
        notes: where to tell what is said once for all.
        written: what classes were given so far, in words.
        held: the same, as what makes the layers.
    """
    makers = _makers(origin, owner, layers, held.get(owner.name, {}))
    changed = False
    for call in walk(owner):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        other = origin.classes.get(call.func.id)
        if other is None:
            continue
        given = {
            str(k.arg): made
            for k in call.keywords
            if k.arg is not None
            and (made := _maker(origin, k.value, makers, layers)) is not None
        }
        gone = written.get(other.name, {})
        fields = {f for f in given if _has_field(other, f) or f in gone}
        said = {f: ast.unparse(given[f]) for f in sorted(fields)}
        if not fields or written.setdefault(other.name, said) != said:
            continue
        inside = {f: cloned(given[f]) for f in sorted(fields)}
        more = [_handed_on(owner, other, f, made) for f, made in inside.items()]
        held.setdefault(other.name, inside)
        _write(other, inside)
        for field in sorted(fields - {*gone}) if other.name == thing else ():
            notes.remark(
                other,
                f"`{field}` of {other.name} is {said[field]}",
                "write a class for each other one",
            )
        call.keywords = [k for k in call.keywords if k.arg not in fields]
        call.keywords += [k for one in more for k in one]
        located(owner)
        changed = True
    return changed


def _handed_on(
    owner: ast.ClassDef, other: ast.ClassDef, field: str, maker: ast.Call
) -> list[ast.keyword]:
    """What a maker reads of the object that gives it: fields of the other class, which the call is given.

    The maker reads them there, in place.
    """
    titles: dict[str, str] = {}
    for part in walk(maker):
        attribute = self_attribute(part)
        if attribute is None:
            continue
        known = next((p for p in owner.body if _declares(p, attribute)), None)
        # A class that is given the same twice has the field already.
        given = attribute.startswith(f"{field}_")
        title = attribute if given else f"{field}_{attribute}"
        if known is not None and not any(_declares(p, title) for p in other.body):
            declared = cloned(known)
            assert isinstance(declared, ast.AnnAssign)
            declared.target = ast.Name(title, ast.Store())
            declared.value = None
            other.body.insert(_first_field(other), declared)
        if known is not None:
            titles[attribute] = title
    for part in walk(maker):
        if isinstance(part, ast.Attribute) and self_attribute(part) in titles:
            part.attr = titles[part.attr]
    read = ast.Name("self", ast.Load())
    return [
        ast.keyword(title, ast.Attribute(cloned(read), attribute, ast.Load()))
        for attribute, title in titles.items()
    ]


def _declares(node: ast.stmt, attribute: str) -> bool:
    return isinstance(node, ast.AnnAssign) and is_name(node.target, attribute)


def _first_field(node: ast.ClassDef) -> int:
    """Where a field without a default may stand: behind those that have none, by place."""
    fields = [i for i, p in enumerate(node.body) if isinstance(p, ast.AnnAssign)]
    late = [
        i
        for i in fields
        if isinstance(p := node.body[i], ast.AnnAssign) and p.value is not None
    ]
    return late[0] if late else (fields[-1] + 1 if fields else 0)


def _with_default_classes(
    origin: Origin, owner: ast.ClassDef, layers: Collection[str], notes: Notes
) -> None:
    """Write the class of layers that a field is by default in the place of the field."""
    made = [p.func for p in walk(owner) if isinstance(p, ast.Call)]
    made += [
        p.args[0]
        for p in walk(owner)
        if isinstance(p, ast.Call) and origin.qualified(p.func) in _PARTIAL and p.args
    ]
    for part in list(owner.body):
        match part:
            case ast.AnnAssign(target=ast.Name(id=field), value=ast.expr() as value):
                own = origin.classes.get(getattr(value, "id", ""))
                known = is_layer_class(origin, own) if own is not None else False
                if not known and origin.qualified(value) not in layers:
                    continue
                reads = [p for p in walk(owner) if self_attribute(p) == field]
                if all(any(read is func for func in made) for read in reads):
                    owner.body.remove(part)
                    _Fields({field: value}).visit(owner)
                    notes.remark(
                        part,
                        f"`{field}` of {owner.name} is {ast.unparse(value)}",
                        "write a class for each other one",
                    )


class _Fields(NodeTransformer):
    def __init__(self, given: Mapping[str, ast.expr]):
        self.given = given

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        made = self.given.get(self_attribute(node) or "")
        return ast.copy_location(cloned(made), node) if made else node


def _makers(
    origin: Origin,
    owner: ast.ClassDef,
    layers: Collection[str],
    held: Mapping[str, ast.Call],
) -> dict[str, ast.Call]:
    """Locals of a class's methods that make layers, and what it was given, `self.conv`."""
    found = {f"self.{field}": made for field, made in held.items()}
    for part in walk(owner):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                made = _maker(origin, value, found, layers)
                if made is not None:
                    found[local] = made
    return found


def _maker(
    origin: Origin,
    node: ast.expr,
    known: Mapping[str, ast.Call],
    layers: Collection[str],
) -> ast.Call | None:
    """The call that a maker of layers makes without what it is called with."""
    if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in known:
        return known[ast.unparse(node)]
    own = origin.classes.get(node.id) if isinstance(node, ast.Name) else None
    if own is not None and framework_of(origin, own) == "flax":
        return ast.Call(node, [], [])
    if origin.qualified(node) in layers:
        return ast.Call(node, [], [])
    if isinstance(node, ast.Call) and origin.qualified(node.func) in _PARTIAL:
        inner = _maker(origin, node.args[0], known, layers) if node.args else None
        if inner is not None:
            kept = [
                k for k in inner.keywords if k.arg not in {n.arg for n in node.keywords}
            ]
            keywords = [*kept, *node.keywords]
            return ast.Call(inner.func, [*inner.args, *node.args[1:]], keywords)
    return None


def _has_field(node: ast.ClassDef, name: str) -> bool:
    return any(
        isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
        and part.target.id == name
        for part in node.body
    )


def _write(node: ast.ClassDef, given: Mapping[str, ast.Call]) -> None:
    """Make the layers in the class itself."""
    node.body = [
        part
        for part in node.body
        if not (
            isinstance(part, ast.AnnAssign)
            and isinstance(part.target, ast.Name)
            and part.target.id in given
        )
    ]
    _Calls(given).visit(node)
    located(node)


class _Calls(NodeTransformer):
    def __init__(self, given: Mapping[str, ast.Call]):
        self.given = given

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        maker = self.given.get(self_attribute(node.func) or "")
        if maker is None:
            return node
        made = cloned(maker)
        own = {k.arg for k in node.keywords}
        kept = [k for k in made.keywords if k.arg not in own]
        made.args, made.keywords = [*made.args, *node.args], [*kept, *node.keywords]
        for part in walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return made
