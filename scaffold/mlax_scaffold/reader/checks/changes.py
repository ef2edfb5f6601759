"""Finds optimizers that return the weight after the step, or states, where its change is returned."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.read_names import bound_in
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source

_Scope = ast.FunctionDef | ast.Lambda


def check_changes(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `return param - step` in `update` of an optimizer, and `lambda p, g: p - g` in its `step`."""
    if method.name not in ("update", "step") or "dither" not in attributes:
        return
    after: list[_After] = []
    for returned, weight, scope in _returned(method):
        value = _value(returned, scope)
        if method.name == "update" and isinstance(value, ast.Tuple | ast.List):
            # optax returns states beside the updates, and other libraries the new weights.
            source.report(
                value,
                "`update` returns what is added to a weight, and nothing beside it",
                "Set what is kept, as in `self.trace = trace`, and return the change alone.",
            )
            continue
        rebound = [*_in_order(weight, True, {}, scope)]
        known = {weight: rebound[-1] if rebound else True}
        if _is_after(value, known, scope):
            after.append(_After(value, returned, weight, scope, bool(rebound)))
    for at, found in enumerate(after):
        if not found.rebound:
            fix = _mended(source, found)
        else:
            # Where one is mended, all are: the weight has a name then.
            fix = None if at else _kept(source, [a for a in after if a.rebound])
        source.report(
            found.value,
            f"`{method.name}` returns what is added to a weight, and this is the weight after it",
            f"Return the change alone, without `{found.weight}`.",
            fix=fix,
        )


@dataclass(frozen=True)
class _After:
    """A weight after the step that is returned."""

    value: ast.expr
    returned: ast.expr
    """The expression of the statement; the value is what it holds, where it is a local."""
    weight: str
    """What the weight is called there."""
    scope: _Scope
    rebound: bool
    """Whether the name of the weight is given to something else, too."""


def _returned(
    method: ast.FunctionDef,
) -> Iterator[tuple[ast.expr, str, _Scope]]:
    """What is returned for one weight, what the weight is called there, and the function that returns it."""
    names = [a.arg for a in (*method.args.posonlyargs, *method.args.args)]
    if len(names) < 3:
        return
    weight = names[2]
    functions = (n for n in walk(method) if isinstance(n, ast.FunctionDef))
    # A function inside of the method returns what it likes.
    inside = {id(n) for f in functions if f is not method for n in walk(f)}
    for node in walk(method):
        if not isinstance(node, ast.Return) or node.value is None or id(node) in inside:
            continue
        if method.name == "update":
            chosen = ((part, weight, method) for part in _chosen(node.value))
        else:
            chosen = (
                (part, name, scope)
                for body, name, scope in _of_leaves(
                    _value(node.value, method), weight, method
                )
                for part in _chosen(body)
            )
        yield from chosen


def _value(node: ast.expr, scope: _Scope) -> ast.expr:
    """What a local holds, where one statement binds it; of all else itself."""
    if isinstance(node, ast.Name) and isinstance(scope, ast.FunctionDef):
        return next(iter(only_value(node.id, scope)), node)
    return node


def _chosen(node: ast.expr) -> Iterator[ast.expr]:
    """The values of which an expression is one."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            yield from (*_chosen(one), *_chosen(other))
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
            yield from (*_chosen(one), *_chosen(other))
        case _:
            yield node


def _is_read_once(local: ast.expr, scope: _Scope) -> bool:
    name = local.id if isinstance(local, ast.Name) else ""
    loads = (
        n
        for n in walk(scope)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id == name
    )
    return len(list(loads)) == 1


def _of_leaves(
    value: ast.expr, weights: str, method: ast.FunctionDef
) -> Iterator[tuple[ast.expr, str, _Scope]]:
    """The same of a function that is mapped over the leaves of trees."""
    match value:
        case ast.Call(
            func=ast.Attribute(attr="map" | "tree_map"), args=[mapped, *trees]
        ):
            at = next((i for i, t in enumerate(trees) if _is(t, weights)), None)
            function = _function(mapped, method)
            if function is None or at is None or at >= len(function.args.args):
                return
            name = function.args.args[at].arg
            if isinstance(function, ast.Lambda):
                yield function.body, name, function
                return
            for node in walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    yield node.value, name, function


def _function(node: ast.expr, method: ast.FunctionDef) -> _Scope | None:
    """The lambda, or the function inside of a method, that an expression is."""
    if isinstance(node, ast.Lambda):
        return node
    name = node.id if isinstance(node, ast.Name) else ""
    inner = (n for n in walk(method) if isinstance(n, ast.FunctionDef))
    return next((f for f in inner if f is not method and f.name == name), None)


_KEEPS = frozenset(
    ("abs", "asarray", "astype", "clip", "maximum", "minimum", "nan_to_num", "relu")
)
"""Functions that leave weights weights."""


def _is_after(value: ast.expr, known: Mapping[str, bool], scope: _Scope) -> bool:
    """Whether a weight is part of a value as it is, or less a share: that is the weight after a step.

    `known` says of names whether they are such, that of the weight itself among them. Another local
    is one where any of its values is.
    """
    match value:
        case ast.Name(id=name):
            if name in known:
                return known[name]
            return any(_in_order(name, False, known, scope))
        case ast.BinOp(left=left, op=ast.Div()):
            return _is_after(left, known, scope)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            terms = [(_is_after(t, known, scope), added) for t, added in _terms(value)]
            return (True, True) in terms and (True, False) not in terms
        case ast.BinOp(op=ast.Mult()):
            return (
                _share(value, {n for n, is_one in known.items() if is_one}) is not None
            )
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=args):
            # The function of a module, or the method of an array.
            return name in _KEEPS and any(
                _is_after(v, known, scope) for v in (of, *args[:1])
            )
    return False


def _in_order(
    name: str, first: bool, known: Mapping[str, bool], scope: _Scope
) -> Iterator[bool]:
    """Whether a name is a weight after each statement that binds it, which may read what it was before."""
    now = first
    for node in walk(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                if target == name:
                    scaled = now and _is_scaled(value, name)
                    now = scaled or _is_after(value, {**known, name: now}, scope)
                    yield now
            case ast.AugAssign(target=ast.Name(id=target)):
                if target == name:
                    yield now


def _is_scaled(value: ast.expr, name: str) -> bool:
    """Whether it is what a name was before, times something: `param * decay`."""
    match value:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is(left, name) or _is(right, name)
    return False


def _terms(value: ast.expr, *, added: bool = True) -> Iterator[tuple[ast.expr, bool]]:
    """The terms of a sum, and whether each is added, and not taken from it."""
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(left, added=added)
            yield from _terms(right, added=added == isinstance(op, ast.Add))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _terms(operand, added=not added)
        case _:
            yield value, added


def _share(term: ast.expr, weights: Container[str]) -> ast.expr | None:
    """`decay` of `w * (1 - decay)`."""
    match term:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for one, other in ((left, right), (right, left)):
                match one, other:
                    case (
                        ast.Name(id=name),
                        ast.BinOp(
                            left=ast.Constant(value=1), op=ast.Sub(), right=share
                        ),
                    ) if name in weights:
                        return share
    return None


def _term(value: ast.expr, weight: str) -> ast.BinOp | None:
    """The sum in which a weight stands as it is: `w + x`, `x + w` or `w - x`."""
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()) if _is(left, weight):
            return value
        case ast.BinOp(op=ast.Add(), right=right) if _is(right, weight):
            return value
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            return _term(left, weight)
    return None


def _is(node: ast.expr, weight: str) -> bool:
    return isinstance(node, ast.Name) and node.id == weight


def _without(source: Source, term: ast.BinOp, weight: str) -> Fix:
    """The sum without the weight; what was taken from it is negative."""
    if not _is(term.left, weight):
        text = _operand(source, term.left)
    elif isinstance(term.op, ast.Sub):
        text = f"-{_operand(source, term.right, negated=True)}"
    else:
        text = _operand(source, term.right)
    return Fix((source.edit(term, text),))


def _changed(source: Source, value: ast.expr, weight: str) -> Fix:
    """A sum without the weight, or with the share of it that is lost."""
    term = _term(value, weight)
    if term is not None:
        return _without(source, term, weight)
    first, _ = next(_terms(value))
    share = _share(first, (weight,))
    if share is None:
        return _difference(source, value, weight)
    text = f"-{_operand(source, share, negated=True)} * {weight}"
    return Fix((source.edit(first, text),))


def _mended(source: Source, found: _After) -> Fix:
    """The change in the place of a weight after the step."""
    value, returned, weight = found.value, found.returned, found.weight
    alone = returned is value or _is_read_once(returned, found.scope)
    if _is(returned, weight):
        jnp = of_jax(source, "jnp")
        edit = source.edit(returned, f"{jnp.bound}.zeros_like({weight})")
        return Fix((edit,), (jnp,))
    if alone and not isinstance(value, ast.Name):
        return _changed(source, value, weight)
    return _difference(source, returned, weight)


def _kept(source: Source, after: Sequence[_After]) -> Fix:
    """The same where the name of the weight is given to something else: it is kept by another one."""
    edits: dict[Edit, None] = {}
    for found in after:
        if isinstance(found.scope, ast.Lambda):
            continue
        names = bound_in(walk(found.scope))
        fresh = ("before", f"{found.weight}_before", f"{found.weight}_before_step")
        name = next(n for n in fresh if n not in names)
        first = found.scope.body[1 if ast.get_docstring(found.scope) else 0]
        indent = " " * first.col_offset
        edits[source.insert(first, f"{name} = {found.weight}\n{indent}")] = None
        edits |= dict.fromkeys(_difference(source, found.returned, name).edits)
    return Fix((*edits,))


def _difference(source: Source, returned: ast.expr, weight: str) -> Fix:
    """What is returned, less the weight."""
    text = _operand(source, returned)
    return Fix((source.edit(returned, f"{text} - {weight}"),))


def _operand(source: Source, node: ast.expr, *, negated: bool = False) -> str:
    """The text of what may stand first in a sum, or behind a minus: in parentheses where it needs them."""
    text = source.text_of(node)
    match node:
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
            return text
        case ast.Constant() | ast.BinOp(op=ast.Pow()):
            return text
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.MatMult(), left=left):
            return f"({text})" if negated and _rounds(left) else text
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.UnaryOp(op=ast.USub()):
            return f"({text})" if negated else text
    return f"({text})"


def _rounds(node: ast.expr) -> bool:
    """Whether the factor that a minus would belong to is of `//` or `%`, which take it otherwise."""
    while isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            return True
        node = node.left
    return False
