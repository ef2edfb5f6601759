"""Functions that a call of flax or haiku defines for itself and calls more than once, written out in each.

Each call makes layers of its own, which one function over attributes could not have:

def block(x):                                  becomes    y = nn.relu(nn.Dense(8)(x))
    return nn.relu(nn.Dense(8)(x))                        y = nn.relu(nn.Dense(8)(y))
y = block(block(x))
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.handed.making_functions import Blocks, is_followed
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names, targets
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_LOOPS = (ast.For, ast.While)


def without_making_locals(origin: Origin, layers: Collection[str]) -> None:
    """Write them out, in place."""
    methods = [
        method
        for node in origin.classes.values()
        if framework_of(origin, node) in ("flax", "haiku")
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    ]
    for method in methods:
        for part in list(method.body):
            if isinstance(part, ast.FunctionDef) and _makes(origin, part, layers):
                _write(method, part)
    located(origin.tree)


def _makes(origin: Origin, function: ast.FunctionDef, layers: Collection[str]) -> bool:
    """Whether a function makes layers, and is statements and one return at their end."""
    made = any(
        isinstance(part, ast.Call)
        and (
            origin.qualified(part.func) in layers
            or getattr(part.func, "id", "") in origin.classes
        )
        for part in walk(function)
    )
    return made and is_followed(function, alone=True)


def _write(method: ast.FunctionDef, function: ast.FunctionDef) -> None:
    others = [s for s in method.body if s is not function]
    calls = [
        p
        for s in others
        for p in walk(s)
        if isinstance(p, ast.Call) and is_name(p.func, function.name)
    ]
    read = [p for s in others for p in walk(s) if is_name(p, function.name)]
    loops = [p for s in others for p in walk(s) if isinstance(p, _LOOPS)]
    again = len(calls) > 1 or any(c in walk(p) for p in loops for c in calls)
    bound = [t for s in others for t in targets(s)]
    free = names(function) - {a.arg for a in function.args.args}
    if not again or len(read) != len(calls):
        return
    if any(bound.count(n) > 1 for n in free - {*targets(function)}):
        # It would read another value where it is called.
        return
    taken = names(method) | {a.arg for a in method.args.args}
    known = {function.name: cloned(function)}
    method.body.remove(function)
    Blocks(known, taken).visit(method)
