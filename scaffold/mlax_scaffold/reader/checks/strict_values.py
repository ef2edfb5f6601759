"""Functions that widen half precision where they are values: handed on, chosen, or bound to another name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.widening import WIDENING
from mlax_scaffold.reader.remedies.names import word as import_of
from mlax_scaffold.reader.source import Source, dotted

_ALIKE = frozenset(
    [
        *("jax.numpy.mean", "jax.numpy.prod", "jax.numpy.std", "jax.numpy.sum"),
        *("jax.numpy.var", "jax.numpy.linalg.norm", "jax.nn.log_softmax"),
        *("jax.nn.logmeanexp", "jax.nn.logsumexp", "jax.nn.softmax"),
        "jax.scipy.special.logsumexp",
    ]
)
"""Those whose strict word takes an array, and `axis` and the like by name, with the same defaults."""
_TAKEN = ("axis", "keepdims", "where")


def check_strict_values(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.mean if self.average else jnp.max` and the like, with the strict word in its place."""
    del attributes
    for node, given in _values(method):
        name = qualified(node, imports) or ""
        if name not in WIDENING:
            continue
        word = WIDENING[name]
        called = _named_axes(source, method, node)
        fix = None
        if name in _ALIKE and given <= {*_TAKEN} and called is not None:
            needed = import_of(source, word)
            fix = Fix((source.edit(node, needed.bound), *called), (needed,))
        source.report(
            node,
            f"`{dotted(node)}` computes half-precision input in float32",
            f"Use the strict `{word}` of mlax_scaffold.spec, which takes what is no array by name: "
            f"`{word}(x, axis=-1)`.",
            fix=fix,
        )


def _values(method: ast.FunctionDef) -> Iterator[tuple[ast.expr, set[str]]]:
    """The names that are not called, and what `functools.partial` gives them by name."""
    given: dict[ast.expr, set[str]] = {}
    other: set[ast.AST] = set()
    for node in walk(method):
        match node:
            case ast.Call(func=function, args=[first, *rest], keywords=keywords):
                other.add(function)
                name = (dotted(function) or "").rpartition(".")[2]
                if name == "widened":
                    other.add(first)
                elif name == "partial":
                    given[first] = {k.arg or "" for k in keywords}
                    given[first] |= {""} if rest else set()
            case ast.Call(func=function):
                other.add(function)
            case ast.Attribute(value=inner):
                other.add(inner)
            case ast.arg(annotation=ast.expr() as annotation):
                other.add(annotation)
    for node in walk(method):
        if isinstance(node, ast.Attribute | ast.Name) and node not in other:
            yield node, given.get(node, set())


def _named_axes(
    source: Source, method: ast.FunctionDef, value: ast.expr
) -> list[Edit] | None:
    """The edits that give the axis by name where a local that may be the function is called.

    None where it is called in another way than with an array and an axis.
    """
    names = {
        target.id
        for node in walk(method)
        if isinstance(node, ast.Assign)
        and any(n is value for n in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    edits = []
    for node in walk(method):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if name in names:
                if len(args) > 2 or any(isinstance(a, ast.Starred) for a in args):
                    return None
                edits += [source.insert(a, "axis=") for a in args[1:]]
    return edits
