"""Finds lists and dictionaries of states that would stand at two places: they are values in a method.

After `self.more[1] = self.books[0]` Python has one dictionary under two names, for ever: what is set in
one is in the other. Where nothing is ever set in either, nobody can tell.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.places import Member, Step, container_of, under
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.shared_items import around, parts_of
from mlax_scaffold.reader.containers.declared import step_of
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import (
    Source,
    class_of,
    indexed_attribute,
    self_attribute,
)

_NAMES = {"dict": "dictionary", "list": "list", "": "container"}
_Containers = Mapping[str, Collection[Member]]


def check_same_containers(
    source: Source, method: ast.FunctionDef, containers: _Containers
) -> None:
    """Report them in one method.

    Args:
        source: the spec.
        method: the method.
        containers: what is in each container of states, by the name of its attribute.
    """
    if not containers or method.name == "setup":
        return
    deepest = _deepest(source, method, containers)
    origins = _origins(method, containers)
    for node, names in parts_of(method, containers):
        if not isinstance(node, ast.Assign):
            continue
        pairs = [pair for t in node.targets for pair in _pairs(t, node.value)]
        targets = [(t, v) for t, v in pairs if _attribute(t) in containers]
        if {unparsed(t) for t, _ in targets} == {unparsed(v) for _, v in targets}:
            continue  # They change places.
        for target, value in targets:
            name, steps = _attribute(target) or "", _steps(target)
            members = under(containers[name], steps)
            seen: set[str] = set()
            for part, inside, depth in _leaves(value, members):
                height = max((len(m.steps) for m in inside), default=0)
                new = around(part, names, containers)
                if not 0 <= new < height:
                    continue
                sources = _sources(part, origins, containers)
                again = unparsed(part) in seen or not _differ(part)
                seen.add(unparsed(part))
                if sources == {name} and not steps and not again:
                    continue  # They are put in another order.
                own = len(steps) + depth + new
                set_ = deepest.get(name, 0) > own
                if set_ or any(deepest.get(s, 0) > _taken(part) for s in sources):
                    _report(source, target, part, inside, new)


def _report(
    source: Source,
    target: ast.expr,
    part: ast.expr,
    members: Collection[Member],
    new: int,
) -> None:
    kind = container_of(members)
    height = max(len(m.steps) for m in members)
    needed: tuple[Needed, ...] = ()
    if height == 1 and not new and kind:
        start = f"{kind}("
    else:
        jax = of_jax(source, "jax")
        needed, start = (jax,), f"{jax.bound}.tree.map(lambda leaf: leaf, "
    what = f"this {_NAMES[kind]}" if not new else "what is in this"
    source.report(
        part,
        f"in Python {what} is in `{unparsed(target)}`, too; here that is a copy: what is set in one is "
        "not in the other",
        f"Where a copy is meant, write it: `{start}...)`.",
        fix=Fix(
            (
                source.insert(part, start),
                source.replace(source.end(part), source.end(part), ")"),
            ),
            needed,
        ),
    )


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What each target of an assignment is given, where the text tells."""
    match target, value:
        case (
            ast.Tuple(elts=targets) | ast.List(elts=targets),
            ast.Tuple(elts=values) | ast.List(elts=values),
        ) if len(targets) == len(values):
            for one, other in zip(targets, values, strict=True):
                yield from _pairs(one, other)
        case (ast.Tuple(elts=targets) | ast.List(elts=targets), _):
            pass
        case _:
            yield target, value


def _leaves(
    value: ast.expr, members: Collection[Member], depth: int = 0
) -> Iterator[tuple[ast.expr, Collection[Member], int]]:
    """The parts of a value, each with what belongs there, and how many new containers it stands in."""
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) if not any(
            isinstance(p, ast.Starred) for p in parts
        ):
            for number, part in enumerate(parts):
                step = Step("list", number)
                yield from _leaves(part, under(members, [step]), depth + 1)
        case ast.Dict(keys=keys, values=values) if all(keys):
            for key, part in zip(keys, values, strict=True):
                step = Step(
                    "dict", key.value if isinstance(key, ast.Constant) else None
                )
                yield from _leaves(part, under(members, [step]), depth + 1)
        case ast.IfExp(body=first, orelse=second):
            yield from _leaves(first, members, depth)
            yield from _leaves(second, members, depth)
        case _:
            yield value, members, depth


def _attribute(node: ast.expr) -> str | None:
    return self_attribute(node) or indexed_attribute(node)


def _steps(node: ast.expr) -> list[Step]:
    """The steps from an attribute of self to a place in it."""
    steps = []
    while isinstance(node, ast.Subscript):
        steps.append(step_of(node.slice))
        node = node.value
    return steps[::-1]


def _taken(part: ast.expr) -> int:
    """How deep the place stands that an expression is; 0 where it is another expression."""
    return len(_steps(part)) if _attribute(part) else 0


def _differ(value: ast.expr) -> bool:
    """Whether no place is written twice in a value."""
    nodes = [n for n in walk(value) if isinstance(n, ast.Subscript | ast.Attribute)]
    inner = {n.value for n in nodes}
    texts = [unparsed(n) for n in nodes if n not in inner]
    return len(texts) == len({*texts})


def _deepest(
    source: Source, method: ast.FunctionDef, containers: _Containers
) -> dict[str, int]:
    """How deep the places stand, at most, that any method of the class sets, by attribute."""
    owner = class_of(source.tree, method)
    body = owner.body if owner else [method]
    found: dict[str, int] = {}
    for one in body:
        if not isinstance(one, ast.FunctionDef) or one.name == "setup":
            continue
        for node in walk(one):
            more = isinstance(node, ast.AugAssign)
            place = node.target if isinstance(node, ast.AugAssign) else node
            stored = isinstance(getattr(place, "ctx", None), ast.Store)
            if isinstance(place, ast.expr) and stored:
                name = _attribute(place) or ""
                if name in containers:
                    depth = len(_steps(place)) + more
                    found[name] = max(depth, found.get(name, 0))
    return found


def _origins(
    method: ast.FunctionDef, containers: _Containers
) -> Mapping[str, Collection[str]]:
    """The attributes of which each local may have something, by the text of what it is given."""
    given: dict[str, set[str]] = {}
    for node in walk(method):
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case (
                ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                targets = [target]
            case ast.Call(func=ast.Attribute(value=owner), args=[*_, value]):
                targets = [owner]
            case _:
                continue
        read = {self_attribute(n) or _name(n) for n in walk(value)} - {None, ""}
        for target in targets:
            for part in walk(target):
                if isinstance(part, ast.Name) and part.id != "self":
                    given.setdefault(part.id, set()).update(map(str, read))
    for _ in given:
        for read in given.values():
            read.update(*(given.get(name, ()) for name in {*read}))
    return {name: {r for r in read if r in containers} for name, read in given.items()}


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) and node.id != "self" else ""


def _sources(
    part: ast.expr,
    origins: Mapping[str, Collection[str]],
    containers: _Containers,
) -> set[str]:
    """The attributes of which an expression may have something."""
    found = {self_attribute(n) for n in walk(part)} & {*containers}
    for node in walk(part):
        found.update(origins.get(_name(node), ()))
    return {str(name) for name in found}
