"""What the calls in the methods of an eager layer do: whether they draw keys, or change states."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any

from mlax_scaffold.reader.closures import Closures, closures, effects_in, inside
from mlax_scaffold.reader.constructs import Effect
from mlax_scaffold.reader.source import indexed_attribute, self_attribute
from mlax_scaffold.spec.declared import (
    Several,
    Tree,
    declarations,
    holds,
    kinds_of,
    layer_draws,
    member_draws,
    members_at,
    methods,
    reaches,
)
from mlax_scaffold.spec.entries import has_floating, takes_tree

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer


def closures_of(owner: type[Layer], method: ast.FunctionDef) -> Closures:
    """The functions inside of a method that draw or change states."""
    called = {
        name: Effect(
            _changes(owner, name),
            reaches(owner, name),
            own=_changes(owner, name, given=False),
        )
        for name in owner._methods_
        if name != method.name and name != "setup"
    }
    return _closures(owner, method, called)


def closures_alone(owner: type[Layer], method: ast.FunctionDef) -> Closures:
    """The same, where what other methods do counts for nothing."""
    return _closures(owner, method, {})


def _closures(
    owner: type[Layer], method: ast.FunctionDef, called: dict[str, Effect]
) -> Closures:
    declared = declarations(owner)
    lists = [n for n, kind in declared.items() if isinstance(kind, Several | Tree)]
    lists += owner._fields_.holding("layers")
    states = [n for n, kind in declared.items() if "state" in kinds_of(kind)]
    found = {
        name: Effect(changes := _holds(kind, "state"), layer_draws(kind), own=changes)
        for name, kind in declared.items()
        if not isinstance(kind, str)
    }
    both = Effect(changes=True, draws=True)
    found |= dict.fromkeys(
        (*owner._fields_.layers, *owner._fields_.holding("layers")), both
    )
    found |= called
    found |= dict.fromkeys(("key", "keys"), Effect(draws=True))
    at = functools.partial(_at, owner)
    return closures(method, effects_in(method, found, lists, states, at))


def _at(owner: type[Layer], called: ast.Subscript, whole: Effect) -> Effect:
    """What a call of the layer at a place of a container does."""
    kind = declarations(owner).get(indexed_attribute(called) or "")
    if not isinstance(kind, Tree):
        return whole
    members = members_at(kind, called)
    changes = any(holds(m.what, "state") for m in members)
    return Effect(changes, any(map(member_draws, members)), changes)


def casts_weights(owner: type[Layer], method: ast.FunctionDef) -> bool:
    """Whether functions inside of a method hand weights to sub-layers, themselves or by other methods."""
    pending, found = [*inside(method)], []
    while pending:
        here = pending.pop()
        if here in found:
            continue
        found.append(here)
        kind = declarations(owner).get(here)
        if here in (*owner._fields_.layers, *owner._fields_.holding("layers")):
            return True
        if not isinstance(kind, str | None) and _holds(kind, "trainable"):
            return True
        if here in owner._entries_ and holds(owner, "trainable"):
            return True
        if here in owner._methods_:
            tree = methods(owner)[here]
            pending += [n for node in ast.walk(tree) if (n := self_attribute(node))]
    return False


def _holds(declared: Any, kind: str) -> bool:
    """Whether what is declared has arrays of a kind."""
    return any(
        part == kind if isinstance(part, str) else holds(part, kind)
        for part in kinds_of(declared)
    )


def _changes(owner: type[Layer], name: str, *, given: bool = True) -> bool:
    """Whether a method returns new states: an entry point always does, where there are any.

    `given` says whether those of layers that a block is given count.
    """
    if name in owner._entries_:
        layers = (*owner._fields_.layers, *owner._fields_.holding("layers"))
        return holds(owner, "state") or (given and bool(layers))
    return _sets(owner, name, entries=True, given=given)


def is_apart(owner: type[Layer], name: str) -> bool:
    """Whether a method is an entry point without an input that decides the dtype, and sets no state."""
    entry = owner._entries_.get(name)
    if entry is None or owner._fields_.structural:
        return False
    if has_floating(entry) or takes_tree(entry):
        return False
    return not _sets(owner, name, entries=False)


@functools.cache
def _sets(owner: type[Layer], name: str, *, entries: bool, given: bool = True) -> bool:
    """Whether a method changes states, itself or through what it calls.

    `entries` says whether entry points that it calls count, which return states in any case,
    and `given` whether layers that a block is given do.
    """
    declared = declarations(owner)
    pending, found = [name], []
    while pending:
        here = pending.pop()
        if here in found:
            continue
        found.append(here)
        for node in ast.walk(methods(owner)[here]):
            attribute = self_attribute(node) or ""
            kind = declared.get(attribute)
            if isinstance(getattr(node, "ctx", None), ast.Store) and kind == "state":
                return True
            if not isinstance(kind, str | None) and _holds(kind, "state"):
                return True
            layers = (*owner._fields_.layers, *owner._fields_.holding("layers"))
            if given and attribute in layers:
                return True
            if (
                entries
                and attribute in owner._entries_
                and _changes(owner, attribute, given=given)
            ):
                return True
            if attribute in owner._methods_:
                pending.append(attribute)
    return False
