"""Functions inside of one that makes weights, which read nothing of it, as functions of the file.

def init(key, width):                                   def dense(key, n):
    def dense(key, n):                                      return {"w": random.normal(key, (n, n))}
        return {"w": random.normal(key, (n, n))}
    return {"fc": dense(key, width)}        becomes     def init(key, width):
                                                            return {"fc": dense(key, width)}
"""

from __future__ import annotations

import ast
import re

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, targets

_MAKES = re.compile(r"init|params|weights")


def without_inner_helpers(origin: Origin) -> None:
    """Write them so, in place."""
    for function in list(origin.functions.values()):
        if not _MAKES.search(function.name):
            continue
        own = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
        own |= {t for part in function.body for t in targets(part)}
        for part in list(function.body):
            made = _as_function(part)
            if made is None or made.name in {*origin.functions, *origin.classes}:
                continue
            bound = [t for p in function.body if p is not part for t in targets(p)]
            if made.decorator_list or made.name in bound:
                continue
            if not _free(made) & own - {made.name}:
                function.body.remove(part)
                origin.lift(made)


def _as_function(node: ast.stmt) -> ast.FunctionDef | None:
    """A function, or the one that a name is, `dense = lambda key, n: ...`; None of anything else."""
    match node:
        case ast.FunctionDef():
            return node
        case ast.Assign(
            targets=[ast.Name(id=title)], value=ast.Lambda(args=given, body=body)
        ):
            returned = ast.copy_location(ast.Return(body), node)
            made = ast.FunctionDef(title, given, [returned], [], None)
            return ast.copy_location(made, node)
    return None


def _free(function: ast.FunctionDef) -> set[str]:
    """The names that a function reads of what is around it."""
    given = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    bound = {t for part in function.body for t in targets(part)}
    defaults = [*function.args.defaults, *(d for d in function.args.kw_defaults if d)]
    outside = {n for d in defaults for n in names(d)}
    return {n for part in function.body for n in names(part)} - given - bound | outside
