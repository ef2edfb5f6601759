"""Pure calls of optimizers in functions inside of a method, which may run several times.

Where they do, or the functions set states, each call is given a key of its own. Else the branches of a
`lax.cond` have the key of the place that it stands at, and stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.closures import Closures
from mlax_scaffold.reader.constructs import Effect, construct
from mlax_scaffold.reader.evaluation import COMPREHENSIONS
from mlax_scaffold.reader.source import path_of

_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.While, *COMPREHENSIONS)


def closures_of_step(
    method: ast.FunctionDef,
    effects: Mapping[str, Effect],
    optimizers: Collection[str],
    found: Callable[[Mapping[str, Effect]], Closures],
) -> Closures:
    """The functions inside of a method that draw or change states, and what calls them.

    Args:
        method: the method.
        effects: of a call of each attribute of self.
        optimizers: the attributes that are one optimizer.
        found: what there is by such effects, of which `name.apply` is that of a pure call.
    """
    others = found(effects)
    if not optimizers:
        return others
    if not others and not any(_applied_again(method, name) for name in optimizers):
        return others
    drawing = {f"{name}.apply": Effect(draws=True) for name in optimizers}
    return found({**effects, **drawing})


def _applied_again(method: ast.FunctionDef, name: str) -> bool:
    """Whether a pure call of an optimizer stands in a function that may run several times."""
    nodes = [*walk(method)]
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}

    def around(node: ast.AST) -> Iterator[ast.AST]:
        while (node := parents[node]) is not method:
            yield node

    def once(use: ast.AST) -> bool:
        """Whether a function is called where it stands, or is a branch of what takes one."""
        listed = (ast.List, ast.Tuple)
        parent = next((n for n in around(use) if not isinstance(n, listed)), use)
        if isinstance(parent, ast.Call) and parent.func is use:
            return True
        made = construct(parent)
        return made is not None and made.name in ("cond", "switch")

    def again(function: ast.AST, within: tuple[ast.AST, ...] = ()) -> bool:
        if function in within:  # It calls itself.
            return True
        uses = [function]
        if isinstance(function, ast.FunctionDef):
            called = (n for n in nodes if isinstance(n, ast.Name) and n is not function)
            uses = [n for n in called if n.id == function.name]
        return len(uses) > 1 or any(
            not once(use)
            or any(
                isinstance(outer, _LOOPS) or again(outer, (*within, function))
                for outer in around(use)
                if isinstance(outer, (*_FUNCTIONS, *_LOOPS))
            )
            for use in uses
        )

    return any(
        again(function)
        for call in nodes
        if isinstance(call, ast.Call) and path_of(call.func) == f"{name}.apply"
        for function in around(call)
        if isinstance(function, _FUNCTIONS)
    )
