"""The statements that are left of a constructor which was run, in their order, and elements of its lists."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.tables.activations import CLASSES
from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import walk


def finished(body: list[ast.stmt], fresh: set[str]) -> list[ast.stmt]:
    """The statements without locals that are read once, and without functions that nothing calls any more.

    Args:
        body: the statements.
        fresh: the locals that the run made.
    """
    called = {n for s in body if not isinstance(s, ast.FunctionDef) for n in names(s)}
    made = [s for s in body if not isinstance(s, ast.FunctionDef) or s.name in called]
    return _inlined(_behind(made, fresh), fresh)


def without_titles(given: list[ast.expr]) -> list[ast.expr]:
    """The layers that a sequence is given, where an `OrderedDict` gives each a name."""
    match given:
        case [ast.Call(args=[ast.List(elts=pairs)])] if all(
            isinstance(p, ast.Tuple) and len(p.elts) == 2 for p in pairs
        ):
            return [p.elts[1] for p in pairs]  # type: ignore[attr-defined]
    return given


def is_made(origin: Origin, value: ast.expr) -> bool:
    """Whether what is given is a layer, which is there once; a partial call of a class is a class."""
    if not isinstance(value, ast.Call) or is_activation(origin, value):
        return False
    return origin.qualified(value.func) != "functools.partial"


def is_activation(origin: Origin, value: ast.expr) -> bool:
    """Whether a layer is made that has no weights, and may be made again."""
    full = origin.qualified(value.func) if isinstance(value, ast.Call) else ""
    module, _, title = full.rpartition(".")
    return module == "torch.nn" and title in (*CLASSES, *_MORE)


_MORE = ("ELU", "GELU", "Identity", "LeakyReLU", "Hardtanh")


def is_plain_function(node: ast.FunctionDef) -> bool:
    """Whether a function binds nothing outside of itself, and is called as it is written."""
    parts = [*walk(node)]
    outside = any(isinstance(p, ast.Nonlocal | ast.Global | ast.Yield) for p in parts)
    spread = node.args.vararg or node.args.kwarg or node.decorator_list
    return not outside and not spread


def shared_lists(node: ast.ClassDef) -> dict[str, ast.expr]:
    """Lists and tuples of literals that a class holds."""
    return {
        part.targets[0].id: part.value
        for part in node.body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        if isinstance(literal(part.value), list | tuple)
    }


def _behind(body: list[ast.stmt], fresh: set[str]) -> list[ast.stmt]:
    """The statements, where lists that grew after they were set stand behind the locals that they hold."""
    made = [*body]
    for part in body:
        if not isinstance(part, ast.Assign) or not self_attribute(part.targets[0]):
            continue
        held = names(part.value) & fresh
        at = made.index(part)
        last = max(
            (i for i, s in enumerate(made) if held & {*stored_names(s)}), default=0
        )
        if last > at:
            made.insert(last, made.pop(at))
    return made


def _inlined(body: list[ast.stmt], fresh: set[str]) -> list[ast.stmt]:
    """The statements, where locals that are read once are written where they are read."""
    for _ in range(len(fresh) + 1):
        for at, part in enumerate(body):
            if not isinstance(part, ast.Assign) or not isinstance(
                part.targets[0], ast.Name
            ):
                continue
            local = part.targets[0].id
            reads = [
                p
                for s in body
                for p in walk(s)
                if is_name(p, local) and p is not part.targets[0]
            ]
            if local in fresh and len(reads) == 1:
                rest = [Known({local: part.value}, {}).visit(s) for s in body[at + 1 :]]
                body = [*body[:at], *rest]
                break
        else:
            return body
    return body


def element_of(held: ast.List, at: object) -> ast.expr | None:
    """The element of a list at a place; of a comprehension, where all its elements are made alike."""
    if type(at) is not int or not -len(held.elts) <= at < len(held.elts):
        return None
    passed = held.elts[: at + 1] if at >= 0 else held.elts[at:]
    if not any(isinstance(e, ast.Starred) for e in passed):
        return held.elts[at]
    match held.elts:
        case [ast.Starred(value=ast.ListComp(elt=made, generators=[over]))]:
            return None if {*targets(over.target)} & names(made) else made
    return None
