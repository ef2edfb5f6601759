"""Finds arguments by the names that NumPy and PyTorch have for them: `dim`, `keepdim`, `a_min`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import Source

_OURS = {"dim": "axis", "keepdim": "keepdims"}
"""Names of PyTorch, and what every function of jax calls it."""
_OF_FUNCTIONS = {
    "clip": {"a": "arr", "a_min": "min", "a_max": "max"},
    "reshape": {"newshape": "shape"},
    "round": {"ndigits": "decimals"},
    "roll": {"shifts": "shift", "dims": "axis"},
    "flip": {"dims": "axis"},
    "transpose": {"dims": "axes"},
}
"""Names that one function has elsewhere."""
_METHODS = frozenset(
    [
        *("all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum"),
        *("max", "mean", "min", "prod", "sort", "squeeze", "std", "sum", "var"),
    ]
)
"""Methods of arrays that have such arguments."""
_MODULES = ("jax.numpy.", "jax.nn.", "functional.", "jax.lax.")


def check_other_keywords(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.sum(x, dim=-1)` and `jnp.clip(x, a_min=0)`."""
    for call in walk(method):
        if not isinstance(call, ast.Call):
            continue
        full = qualified(call.func, imports) or ""
        function = full.rpartition(".")[2]
        if isinstance(call.func, ast.Attribute) and not full:
            function = call.func.attr
            if function not in _METHODS:
                continue
        elif not full.startswith(_MODULES):
            continue
        named = _OURS | _OF_FUNCTIONS.get(function, {})
        given = {k.arg for k in call.keywords}
        theirs = [
            k for k in call.keywords if named.get(k.arg or "", k.arg) not in given
        ]
        if not theirs:
            continue
        edits = []
        for keyword in theirs:
            line, column = source.start(keyword)
            end = line, column + len(keyword.arg or "")
            edits.append(source.replace((line, column), end, named[keyword.arg or ""]))
        source.report(
            theirs[0],
            f"`{source.text_of(call.func)}` takes no {_listed(k.arg for k in theirs)}",
            f"In jax: {_listed(named[k.arg or ''] for k in theirs)}.",
            fix=Fix(tuple(edits)),
        )


def _listed(names: Iterable[str | None]) -> str:
    return ", ".join(f"`{name}`" for name in names)
