"""What a strict function is given that is no floating array: booleans, and integers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.remedies.names import of_jax, word
from mlax_scaffold.reader.remedies.widening import holds, narrowed
from mlax_scaffold.reader.source import Source, dotted


def as_floating(source: Source, node: ast.AST, owner: str, name: str) -> Fix | None:
    """What a strict function is given, as floating numbers.

    A function beside the definition may be given integers: then its calls cast them, where a dtype is known.

    Args:
        source: the spec.
        node: the call.
        owner: what is called, which is perhaps beside the definition.
        name: of the parameter of it that is given no floating numbers.
    """
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if counted := _as_integers(source, node):
        return counted
    edits = list(_as_floating(source, _given(source, node, owner, name), ()))
    jnp = of_jax(source, "jnp")
    return None if not edits or None in edits else Fix(tuple(edits), (jnp,))  # type: ignore[arg-type]


def _given(source: Source, call: ast.Call, owner: str, name: str) -> ast.expr:
    """What a call gives for a parameter: the first argument, unless a class beside it says another."""
    beside = (n for n in source.tree.body if getattr(n, "name", "") == owner)
    parts = (part for n in beside for part in getattr(n, "body", []))
    for part in parts:
        if isinstance(part, ast.FunctionDef) and part.name == "forward":
            named = [a.arg for a in part.args.args[1:]]
            given = dict(zip(named, call.args, strict=False))
            given |= {k.arg: k.value for k in call.keywords if k.arg}
            return given.get(name, call.args[0])
    return call.args[0]


def _as_integers(source: Source, node: ast.Call) -> Fix | None:
    """A sum of integers, which is one itself, by jax.numpy; None where it may be of anything else."""
    strict = {word(source, name).bound: name for name in ("prod", "sum")}
    name = strict.get(dotted(node.func) or "")
    # What a function is given may be integers in one call, and no integers in another.
    given = {
        a.arg
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef) and holds(function, node)
        for a in function.args.args
    }
    if not name or len(node.args) != 1 or dotted(node.args[0]) in given:
        return None
    if any(k.arg not in ("axis", "keepdims") for k in node.keywords):
        return None
    jnp = of_jax(source, "jnp")
    text = f"{jnp.bound}.asarray({source.text_of(node.args[0])}, int)"
    made = (
        source.edit(node.args[0], text),
        source.edit(node.func, f"{jnp.bound}.{name}"),
    )
    return Fix(made, (jnp,))


def _as_floating(
    source: Source, operand: ast.expr, above: tuple[str, ...]
) -> Iterator[Edit | None]:
    """Edits that cast an operand, or the arguments that it is; None where that cannot be told."""
    function = next(
        (f for f in ast.walk(source.tree) if holds(f, operand)), ast.Module([], [])
    )
    if not isinstance(function, ast.FunctionDef):
        yield None
        return
    arguments = [a.arg for a in function.args.args]
    typed = any(a.annotation is not None for a in function.args.args)
    if typed or arguments[:1] == ["self"]:
        fix = narrowed(source, operand)
        if fix is None and function.decorator_list:
            # No input is floating: what it computes has the default dtype.
            text = f"{of_jax(source, 'jnp').bound}.asarray({source.text_of(operand)}, float)"
            fix = Fix((source.edit(operand, text),))
        yield from fix.edits if fix else [None]
        return
    given = isinstance(operand, ast.Name) and operand.id in arguments
    calls = [
        call
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == function.name
    ]
    if not given or not calls or function.name in above:
        yield None
        return
    for call in calls:
        place = arguments.index(operand.id)  # type: ignore[attr-defined]
        if place >= len(call.args):
            yield None
            return
        yield from _as_floating(source, call.args[place], (*above, function.name))
