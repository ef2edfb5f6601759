"""Branches of an update function that only bind names, as values that are chosen.

if bias_correction:
    scale = 1 - b1**step              becomes    scale = 1 - b1**step if bias_correction else 1.0
else:
    scale = 1.0

An argument beside the updates, the state and the weights that is None where nobody gives it is None.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.leaf_functions import as_lambda
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.trees import (
    is_none,
    names,
    replaced,
    same,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_GIVEN = "value"
"""The loss, which the optimizers here are given."""


def with_chosen_values(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function, written so."""
    made = cloned(function)
    given = made.args
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    absent: dict[str, ast.expr] = {
        a.arg: d for a, d in pairs if d is not None and is_none(d) and a.arg != _GIVEN
    }
    if absent:
        tests = {
            n
            for part in walk(made)
            if isinstance(part, ast.If | ast.IfExp)
            for n in names(part.test) & absent.keys()
        }
        known = Known({n: v for n, v in absent.items() if n in tests}, {})
        made.body = _decided(made.body, known)
    args = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    there = {a.arg for a in args}
    body: list[ast.stmt] = []
    for part in made.body:
        body += _chosen(part, there)
        there |= {*targets(part)}
    made.body = body
    return located(made)


def _decided(body: list[ast.stmt], known: Known) -> list[ast.stmt]:
    """Statements without branches that ask whether such an argument is given, up to where it is bound."""
    made: list[ast.stmt] = []
    for part in body:
        if isinstance(part, ast.If) and names(part.test) <= known.names.keys():
            test = known.value(part.test)
            branch = ast.If(test, part.body, part.orelse)
            decided = Decided(Known({}, {})).visit(ast.copy_location(branch, part))
            made += decided if isinstance(decided, list) else [decided]
        else:
            made.append(part)
        for bound in targets(part):
            known.names.pop(bound, None)
    return made


def _chosen(node: ast.stmt, there: set[str]) -> list[ast.stmt]:
    """One statement, or those that choose what its branches bind.

    What one branch alone binds, and nothing before, means something there alone: it is what it is there.
    """
    if not isinstance(node, ast.If):
        return [node]
    sides = [s for s in (_bound(node.body), _bound(node.orelse)) if s is not None]
    bound = [*dict.fromkeys(n for side in sides for n in side)]
    if len(sides) < 2 or not bound or names(node.test) & {*bound}:
        return [node]
    if not all(_in_order(side, bound) for side in sides):
        return [node]
    made: list[ast.stmt] = []
    for local in bound:
        kept = ast.Name(local, ast.Load())
        bound_by = [side for side in sides if local in side]
        if local not in there and len(bound_by) == 1:
            sides_of = (bound_by[0], bound_by[0])
        else:
            sides_of = (sides[0], sides[1])
        one, other = (side.get(local, kept) for side in sides_of)
        value = one if same(one, other) else ast.IfExp(node.test, one, other)
        target = ast.Name(local, ast.Store())
        assign = ast.Assign([target], cloned(value), lineno=node.lineno)
        made.append(ast.copy_location(assign, node))
    return made


def _in_order(side: dict[str, ast.expr], bound: list[str]) -> bool:
    """Whether each value reads what its branch has bound by then, and no more."""
    places = {local: at for at, local in enumerate(side)}
    return all(
        (places[n] < places[local]) == (bound.index(n) < bound.index(local))
        for local, value in side.items()
        for n in names(value) & places.keys() - {local}
    )


def _bound(body: list[ast.stmt]) -> dict[str, ast.expr] | None:
    """What each name is bound to once; None of a body that does anything else.

    A function of straight lines that a branch defines for itself is written out in what it binds.
    """
    found: dict[str, ast.expr] = {}
    functions: dict[str, ast.expr] = {}
    for part in body:
        match part:
            case ast.Assign(targets=places, value=value) if all(
                isinstance(t, ast.Name) and t.id not in found for t in places
            ):
                value = replaced(value, functions) if functions else value
                found |= {t.id: value for t in places if isinstance(t, ast.Name)}
            case ast.FunctionDef(name=title, decorator_list=[]):
                inner = as_lambda(part)
                if inner is None or names(inner.body) & found.keys():
                    return None
                functions[title] = replaced(inner, functions)
            case ast.Pass():
                pass
            case _:
                return None
    return found
