"""What indices tell of inputs: those that pick rows are indices, and those whose columns are read tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.shapes.node_counts import with_nodes
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_Methods = Mapping[str, ast.FunctionDef]


def with_indexed_inputs(
    symbols: Symbols,
    function: ast.FunctionDef,
    node: ast.AST,
    env: Mapping[str, Value],
) -> None:
    """Take inputs for what indices tell of them, in place.

    Args:
        symbols: the sizes.
        function: the method that is called.
        node: its class.
        env: the inputs.
    """
    with_nodes(symbols, function, env)
    own = [m for m in walk(node) if isinstance(m, ast.FunctionDef)]
    # Those that are called from others have a name of their own by now.
    methods = {title: m for m in own for title in (m.name, f"_{m.name}")}
    for given, value in env.items():
        if not isinstance(value, Array):
            continue
        reads = [*_reads(methods, function, given, set())]
        columns = {column for column, _ in reads}
        is_open = value.lead and not value.axes
        if is_open and None not in columns and len(columns) > 1:
            # `sparse[:, 0]` and `sparse[:, 1]`, and nothing else of it.
            count = max(c for c in columns if c is not None) + 1
            symbols.ranked(value, ("batch", "columns"))
            symbols.equal(value.axes[1], ast.Constant(count))
        if value.kind == "Float" and reads and all(picks for _, picks in reads):
            value.kind = "Int"
            symbols.ranked(value, ("items",))


def pair_indices(symbols: Symbols, array: Value, node: ast.expr, index: Value) -> None:
    """Take indices beside numbers in order, `logits[arange(n), labels]`, as one for each, in place."""
    if not isinstance(node, ast.Tuple) or not isinstance(index, Several):
        return
    parts = [*zip(node.elts, index.items, strict=True)]
    counts = [i for i, (p, _) in enumerate(parts) if _counts(p)]
    if len(counts) != 1 or any(isinstance(p, ast.Slice) for p, _ in parts):
        return
    [place] = counts
    if isinstance(array, Array) and array.lead and len(array.axes) <= len(parts):
        symbols.ranked(array, ("batch", *["_"] * (len(parts) - 1)))
    known = isinstance(array, Array) and not array.lead and len(array.axes) > place
    for _, value in parts:
        if not isinstance(value, Array) or not value.lead or value.axes:
            continue
        if symbols.ranked(value, ("batch",)):
            value.of_integers()
            if known and isinstance(array, Array):
                symbols.equal(value.axes[0], array.axes[place])


def _counts(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    counts = ast.unparse(func).rpartition(".")[2] in ("arange", "range")
    return isinstance(node, ast.Call) and counts


def _reads(
    methods: _Methods, function: ast.FunctionDef, given: str, seen: set[str]
) -> Iterator[tuple[int | None, bool]]:
    """The column of each read of an input, if it is of one, and whether it picks rows there."""
    place = f"{function.name}({given})"
    if place in seen:
        return
    seen.add(place)
    known: set[int] = set()
    for part in walk(function):
        match part:
            case ast.Subscript(
                value=ast.Name(id=name),
                slice=ast.Tuple(elts=[ast.Slice(None, None, None), column]),
            ) if name == given and isinstance(literal(column), int):
                at = literal(column)
                known.add(id(part.value))
                yield (at if isinstance(at, int) and at >= 0 else None), False
            case ast.Subscript(value=ast.Name() | ast.Call(), slice=ast.Name(id=name)):
                if name == given:
                    known.add(id(part.slice))
                    yield None, True
            case ast.Call(func=func, args=arguments):
                method = methods.get(self_attribute(func) or "")
                taken = [a.arg for a in method.args.args[1:]] if method else []
                for argument, title in zip(arguments, taken, strict=False):
                    if method is not None and is_name(argument, given):
                        known.add(id(argument))
                        yield from _reads(methods, method, title, seen)
    for part in walk(function):
        if is_name(part, given) and id(part) not in known:
            yield None, False
