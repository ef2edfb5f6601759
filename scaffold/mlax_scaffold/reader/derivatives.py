"""Derivatives that a spec gives itself: rules of functions beside it, and `surrogate_gradient`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.import_time import Refused, meaning
from mlax_scaffold.model.walking import walk
from mlax_scaffold.model.wrappers import RULES, check_wrapper, rule_of
from mlax_scaffold.reader.remedies.classes import decorated, undecorated
from mlax_scaffold.reader.remedies.decorators import called_where_used
from mlax_scaffold.reader.smooth import FORM, read_smooth_at
from mlax_scaffold.reader.source import Source, dotted


def read_decorators(source: Source, node: ast.FunctionDef) -> dict[str, Any]:
    """What the decorator of a function's spec says of its gradient."""
    match node.decorator_list:
        case [ast.Name(id="function")]:
            return {}
        case [ast.Call(func=ast.Name(id="function"), args=[], keywords=keywords)]:
            found = _said(source, keywords)
            if found is not None:
                return found
    source.report(
        node,
        "a function's spec is decorated with @function, and nothing else",
        "`@function(surrogate_gradient=True)` says that its gradient is meant not to be "
        f"the derivative of its values, {FORM} where it is smooth."
        if node.decorator_list
        else "",
        fix=decorated(source, node),
    )
    return {}


def _said(source: Source, keywords: list[ast.keyword]) -> dict[str, Any] | None:
    """The arguments of a decorator; None where some are none of its."""
    found: dict[str, Any] = {}
    for given in keywords:
        match given.arg, given.value:
            case "surrogate_gradient", ast.Constant(value=bool(chosen)):
                found["surrogate_gradient"] = chosen
            case "smooth_at", value:
                found["smooth_at"] = read_smooth_at(source, value)
            case _:
                return None
    return found


_STEPS = frozenset(
    [
        *("argmax", "argmin", "ceil", "fix", "floor", "heaviside", "rint", "round"),
        *("sign", "trunc"),
    ]
)
"""Functions of `jax.numpy` whose derivative is zero wherever there is one."""


def stops_gradients(nodes: Iterable[ast.AST], meanings: Mapping[str, str]) -> bool:
    """Whether code stops gradients, or gives a derivative to what jumps, iterates or changes nothing.

    That of what iterates until it converges is the derivative of the limit, which no number of passes has.
    """
    nodes = [*nodes]
    functions = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef)}
    for tree in nodes:
        for node in walk(tree):
            match node:
                case ast.Attribute() | ast.Name():
                    if meaning(node, meanings) == "jax.lax.stop_gradient":
                        return True
                case ast.FunctionDef(decorator_list=decorators):
                    if any(_gives_rule(d, meanings) for d in decorators) and (
                        any(_steps(part, meanings) for part in walk(node))
                        or _changes_nothing(node)
                        or _iterates(node, functions, meanings)
                    ):
                        return True
    return False


def _changes_nothing(function: ast.FunctionDef) -> bool:
    """Whether a function returns an argument as it is: a derivative of its own is another one then."""
    arguments = {a.arg for a in (*function.args.posonlyargs, *function.args.args)}
    *before, last = function.body
    match last:
        case ast.Return(value=ast.Name(id=name)) if name in arguments:
            return all(isinstance(s, ast.Expr) for s in before)
    return False


def _iterates(
    function: ast.FunctionDef,
    functions: Mapping[str, ast.FunctionDef],
    meanings: Mapping[str, str],
) -> bool:
    """Whether a function, or one beside it that it reads, loops as often as values say."""
    pending, seen = [function], {function.name}
    while pending:
        for node in walk(pending.pop()):
            if not isinstance(node, ast.Attribute | ast.Name):
                continue
            if meaning(node, meanings) in _LOOPS:
                return True
            name = getattr(node, "id", "")
            if name in functions and name not in seen:
                seen.add(name)
                pending.append(functions[name])
    return False


_LOOPS = ("jax.lax.fori_loop", "jax.lax.while_loop")


def _gives_rule(decorator: ast.expr, meanings: Mapping[str, str]) -> bool:
    rules = ("jax.custom_jvp", "jax.custom_vjp")
    parts = (p for p in walk(decorator) if isinstance(p, ast.Attribute | ast.Name))
    return any(meaning(part, meanings) in rules for part in parts)


def _steps(node: ast.AST, meanings: Mapping[str, str]) -> bool:
    """Whether an expression jumps: `jnp.round(x)`, `(x > 0).astype(x.dtype)`, `jnp.where(x > 0, 1, 0)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Compare(), attr="astype")):
            return True
        case ast.Call(func=function, args=[_, first, second]) if (
            meaning(function, meanings) == "jax.numpy.where"
        ):
            return all(_is_number(side, meanings) for side in (first, second))
        case ast.Call(func=function, args=[first, *_]):
            module, _, name = (meaning(function, meanings) or "").rpartition(".")
            if module not in ("jax.numpy", "jax.lax"):
                return False
            made = name in ("array", "asarray") and isinstance(first, ast.Compare)
            return name in _STEPS or made
    return False


def _is_number(node: ast.expr, meanings: Mapping[str, str]) -> bool:
    """Whether it is the same whatever an array holds: a number, also as an array of a dtype or a shape."""
    match node:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Call(func=function, args=[first, *_]):
            _, _, name = (meaning(function, meanings) or "").rpartition(".")
            made = name in ("array", "asarray") and _is_number(first, meanings)
            return made or name in ("ones_like", "zeros_like")
    return False


_CACHES = ("functools.cache", "functools.lru_cache")
"""Decorators that change how fast a function is, and nothing else."""


def is_function(decorator: ast.expr) -> bool:
    """Whether a decorator marks the spec of a function."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(called) == "function"


def given_rules(
    source: Source,
    node: ast.FunctionDef,
    meanings: Mapping[str, str],
    wrapped: Mapping[str, str],
) -> tuple[str, str]:
    """The rule that decorators let a function beside the definition have, and the function it is a rule of.

    Args:
        source: the spec.
        node: the function.
        meanings: what names of the module stand for.
        wrapped: the functions so far that have rules, with `jax.custom_jvp` or `jax.custom_vjp`.
    """
    wrapper, owner = "", ""
    for decorator in node.decorator_list:
        match decorator:
            case ast.Attribute(value=ast.Name(id=name), attr="defjvp") if (
                wrapped.get(name) == "jax.custom_jvp"
            ):
                owner = name
                continue
        try:
            wrapper = check_wrapper(decorator, meanings)
        except Refused:
            cached = _is_cache(decorator, meanings)
            source.report(
                decorator,
                f"`{node.name}`, beside the definition, has a decorator",
                "Remove it: it is called where a layer is compiled, and seldom then."
                if cached
                else f"Use it where the function is called: `jax.vmap({node.name})(x)`; "
                "`jax.jit` is the caller's. There may be `jax.custom_vjp`, "
                "`jax.custom_jvp`, and `jax.checkpoint`.",
                fix=undecorated(source, decorator)
                if cached
                else _applied(source, decorator, node, meanings),
            )
    return wrapper if wrapper in RULES else "", owner


def _is_cache(decorator: ast.expr, meanings: Mapping[str, str]) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return meaning(called, meanings) in _CACHES


def _applied(
    source: Source,
    decorator: ast.expr,
    node: ast.FunctionDef,
    meanings: Mapping[str, str],
) -> Fix | None:
    """A transformation of jax, called where the function is used; none of anything else."""
    match decorator:
        case ast.Call(args=[inner]):
            made = meaning(inner, meanings)
        case _:
            made = meaning(decorator, meanings)
    known = made is not None and made.startswith("jax.") and made not in RULES
    return called_where_used(source, decorator, node) if known else None


def read_rule(
    source: Source, statement: ast.stmt, wrapped: Mapping[str, str]
) -> tuple[str, list[str]] | None:
    """The function that `f.defvjp(forward, backward)` gives rules, and these; None for another statement."""
    found = rule_of(statement)
    if found is None:
        return None
    owner, names = found
    if wrapped.get(owner) != "jax.custom_vjp":
        source.report(
            statement,
            f"`{owner}` is no function with `@jax.custom_vjp` that stands above",
        )
    return owner, names
