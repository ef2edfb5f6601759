"""Numbers that are computed for an initializer alone, written where it is made.

if w_init is None:
    stddev = 1 / jnp.sqrt(size)
    w_init = hk.initializers.TruncatedNormal(stddev)

becomes one statement, which setup can make as it is.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, targets, with_names
from mlax_scaffold.conversion.source.walking import cloned, walk


def without_rule_locals(origin: Origin) -> None:
    """Write them so in methods of flax and haiku, in place."""
    if not (origin.uses("haiku") or origin.uses("flax")):
        return
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            node.body = _inlined(origin, node, node.body)
            for part in walk(node):
                if isinstance(part, ast.If):
                    part.body = _inlined(origin, node, part.body)
                    part.orelse = _inlined(origin, node, part.orelse)


def _inlined(
    origin: Origin, function: ast.FunctionDef, body: list[ast.stmt]
) -> list[ast.stmt]:
    """The statements of a branch, or of a method, without such locals."""
    made = list(body)
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                pass
            case _:
                continue
        at = made.index(part)
        rest = made[at + 1 :]
        users = [s for s in rest if any(is_name(n, local) for n in walk(s))]
        inside = sum(is_name(n, local) for s in (part, *users) for n in walk(s))
        whole = sum(is_name(n, local) for n in walk(function))
        bound = [t for s in rest for t in targets(s)]
        changed = local in bound or any(
            is_name(n, t) for n in walk(value) for t in bound
        )
        if not users or inside != whole or changed:
            continue
        if all(_is_of_rules(origin, user, local) for user in users):
            parts = {local: cloned(value)}
            made = [
                with_names(s, parts) if s in users else s for s in made if s is not part
            ]
    return made


def _is_of_rules(origin: Origin, node: ast.stmt, local: str) -> bool:
    """Whether initializers of a library alone are given a local."""
    rules = [
        part
        for part in walk(node)
        if isinstance(part, ast.Call)
        and ".initializers." in origin.qualified(part.func)
    ]
    given = {id(n) for rule in rules for n in walk(rule)}
    reads = [n for n in walk(node) if is_name(n, local)]
    return bool(reads) and all(id(n) in given for n in reads)
