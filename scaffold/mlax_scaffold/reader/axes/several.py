"""What several inputs have in common: axes that nothing says are the same have names of their own."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence

from mlax_scaffold.reader.axes.aliases import Alias
from mlax_scaffold.reader.axes.index_parts import is_new, is_whole
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.operations import Find, by_element


def tell_apart(
    function: ast.FunctionDef, inputs: Iterable[Known], fields: Collection[str]
) -> None:
    """Note of each input what axes of those before it are called, and are none of its own.

    A field that is the size of another one's axis is no likely size of its own. Axes of masks and indices are
    like the one that is called so, where there is one. Two inputs whose
    lengths the code calls otherwise, `n, m = x.shape[0], y.shape[0]`, are not as long.
    """
    words: set[str] = set()
    before: list[Known] = []
    lengths = _lengths(function)
    inputs = [*inputs]
    _are_of_boxes(function, {known.name: known for known in inputs})
    for known in inputs:
        length = lengths.get(known.name, "")
        if length and {lengths.get(k.name, length) for k in before} - {length}:
            known.name_axis(0, length)
        for other, rows, last in known.each_with:
            if any(other is k for k in before):
                known.ends_like = other if last else known.ends_like
                if rows:
                    known.name_axis(0, f"{known.name}_batch")
        if known.kind == "Float":
            sizes = (k.axes.values() for k in inputs if k is not known)
            known.others = words.union(*sizes)
            words.update(known.shape(fields).split())
        else:
            known.others = {w for w in words if any(o.endswith(f"_{w}") for o in words)}
        before.append(known)


def _are_of_boxes(function: ast.FunctionDef, inputs: Mapping[str, Known]) -> None:
    """`jnp.maximum(a[:, None, :2], b[None, :, :2])`: each goes with each, by some of their columns."""
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left=left, right=right):
                pass
            case ast.Call(func=called, args=[left, right]) if by_element(called):
                pass
            case _:
                continue
        one, first_rows = _rows_of(left)
        other, second_rows = _rows_of(right)
        first, second = inputs.get(one), inputs.get(other)
        if first is None or second is None or first_rows == second_rows:
            continue
        for known in (first, second):
            known.has(2)
        _meet(first, second, rows=True, last=False)


def _rows_of(node: ast.expr) -> tuple[str, int]:
    """The name in `a[:, None, :2]`, and which axis its rows are; no name for any other index."""
    match node:
        case ast.Subscript(
            value=ast.Name(id=name), slice=ast.Tuple(elts=[*parts, ast.Slice()])
        ) if len(parts) == 2 and {*map(is_new, parts)} == {True, False}:
            rows = [is_new(part) for part in parts].index(False)
            return (name, rows) if is_whole(parts[rows]) else ("", 0)
    return "", 0


def _lengths(function: ast.FunctionDef) -> dict[str, str]:
    """What locals call the lengths of inputs."""
    found: dict[str, str] = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target, value in zip(*_sides(node), strict=False):
            match target, value:
                case ast.Name(id=local), ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
                    slice=ast.Constant(value=0),
                ):
                    found.setdefault(name, local)
    return found


def _sides(node: ast.Assign) -> tuple[list[ast.expr], list[ast.expr]]:
    match node.targets, node.value:
        case [ast.Tuple(elts=targets)], ast.Tuple(elts=values):
            return targets, values
    return node.targets, [node.value] * len(node.targets)


def are_rows(pair: Sequence[Alias]) -> None:
    """Two arrays of rows, each of which goes with each: as long ones, but not as many."""
    rows = [alias.known for alias in pair if alias.whole and not alias.extra]
    for known in rows:
        known.has(2)
    if len(rows) == 2:
        _meet(rows[0], rows[1], rows=True, last=True)


def are_each_with_each(left: ast.expr, right: ast.expr, find: Find) -> bool:
    """Whether two inputs go with each other as in `x[:, None] - y[None, :]`; what that says is noted."""
    one, other = _whole(left), _whole(right)
    pair = [find(n.value) for n in (left, right) if isinstance(n, ast.Subscript)]
    if one and other and len(one) != len(other) and not (one[-1] or other[-1]):
        # `x[:, :, None] - y[:, None]`: new axes do not meet, so that others stand behind them.
        for alias in pair:
            if alias and not alias.extra:
                alias.known.has(max(len(one), len(other)))
        if pair[0] and pair[1]:
            _meet(pair[0].known, pair[1].known, rows=False, last=True)
        return True
    if len(one) != len(other) or not any(
        a and not b for a, b in zip(one, other, strict=True)
    ):
        return False
    if not any(b and not a for a, b in zip(one, other, strict=True)):
        return False
    if pair[0] and pair[1]:
        rows = one.index(True) != other.index(True)
        last = one[-1] and other[-1]
        _meet(pair[0].known, pair[1].known, rows=rows, last=last)
    return True


def _meet(first: Known, second: Known, *, rows: bool, last: bool) -> None:
    """Two inputs, whose first axes are not the same, or whose last ones are."""
    if first is not second:
        first.each_with.append((second, rows, last))
        second.each_with.append((first, rows, last))


def _whole(node: ast.expr) -> list[bool]:
    """Which parts of `x[:, None, :]` are axes of the array; none of any other index."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=parts)) if all(
            is_new(p) or is_whole(p) for p in parts
        ):
            return [is_whole(p) for p in parts]
    return []
