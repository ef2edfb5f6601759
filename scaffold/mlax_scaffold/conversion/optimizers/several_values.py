"""Several values that a function of trees returns, each by itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlax_scaffold.conversion.forms.leaf_functions import Straight, straight
from mlax_scaffold.conversion.source.trees import expression, name, replaced

if TYPE_CHECKING:
    from mlax_scaffold.conversion.optimizers.leaf_expressions import LeafExpressions


_TRANSPOSES = ("jax.tree.transpose", "jax.tree_util.tree_transpose")


@dataclass
class Several:
    """The values, and what is bound before them."""

    values: list[ast.expr]
    steps: list[tuple[str, ast.expr]] = field(default_factory=list)


class SeveralValues:
    """Reads calls that return tuples of trees."""

    def __init__(self, of: LeafExpressions):
        self.of_ = of

    def of(self, node: ast.expr, used: set[str]) -> Several | None:
        """The values of a call; None where it is none that is followed.

        u, acc = lax.cond(emit, lambda a: (a, zeros(a)), lambda a: (zeros(a), a), acc)
        u = where(emit, acc, zeros(acc));  acc = where(emit, zeros(acc), acc)

        u, acc = jax.tree.transpose(structure(grads), structure((0, 0)), both)
        u = both[0];  acc = both[1]
        """
        if not isinstance(node, ast.Call):
            return None
        full = self.of_.full(node.func)
        if full.endswith("lax.cond") and [k.arg for k in node.keywords] == ["operand"]:
            args = [*node.args, node.keywords[0].value]
            node = ast.Call(node.func, args, [])
        if node.keywords:
            return None
        if full in _TRANSPOSES and len(node.args) == 3:
            return self._transposed(node.args[1], node.args[2], used)
        if full.endswith("lax.cond") and len(node.args) >= 3:
            test, one, other, *given = node.args
            sides = [self._returned(f, given, used) for f in (one, other)]
            first, second = sides
            if not first or not second or len(first.values) != len(second.values):
                return None
            modules = {"jnp": name("@module:jnp")}
            chosen = [
                expression("jnp.where(t, a, b)", **modules, t=test, a=a, b=b)
                for a, b in zip(first.values, second.values, strict=True)
            ]
            return Several(chosen, [*first.steps, *second.steps])
        return self._returned(node.func, node.args, used)

    def _transposed(
        self, structure: ast.expr, both: ast.expr, used: set[str]
    ) -> Several | None:
        """The trees of a tree of tuples, whose structure says how many there are."""
        match structure:
            case ast.Call(args=[ast.Tuple(elts=parts)]):
                title = "parted"
                while title in used:
                    title = f"{title}_"
                places = [expression(f"{title}[{i}]") for i in range(len(parts))]
                return Several(places, [(title, both)])
        return None

    def _returned(
        self, function: ast.expr, given: list[ast.expr], used: set[str]
    ) -> Several | None:
        made = self._straight(function)
        if made is None or len(made.given) != len(given):
            return None
        parts = dict(zip(made.given, given, strict=True))
        steps: list[tuple[str, ast.expr]] = []
        for local, value in made.steps:
            free = local
            while free in used:
                free = f"{free}_"
            used.add(free)
            steps.append((free, replaced(value, parts)))
            parts[local] = name(free)
        result = replaced(made.result, parts)
        if not isinstance(result, ast.Tuple):
            return None
        return Several(result.elts, steps)

    def _straight(self, function: ast.expr) -> Straight | None:
        if isinstance(function, ast.Name) and function.id in self.of_.known:
            function = self.of_.known[function.id]
        if isinstance(function, ast.Lambda):
            return Straight([a.arg for a in function.args.args], [], function.body)
        if not isinstance(function, ast.Name):
            return None
        own = self.of_.functions.get(function.id)
        node = own or self.of_.translator.origin.functions.get(function.id)
        return straight(node) if node is not None else None
