"""What is told of values that are wider than the input, where a trace finds them."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.trial_failures import Failure, Frame
from mlax_scaffold.reader.axes.sizes import hyperparameters
from mlax_scaffold.reader.checks.scatters import report_scatter
from mlax_scaffold.reader.origins import Origin, origin
from mlax_scaffold.reader.remedies.made_of_numbers import of_numbers
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.remedies.pools import as_pool
from mlax_scaffold.reader.remedies.widening import by_numpy, narrowed, wide_operand
from mlax_scaffold.reader.source import Source


def explained_widening(
    definition: Definition, failure: Failure, frame: Frame, text: str
) -> list[Diagnostic]:
    """An expression in another dtype than that of the input; none where somebody asks for it."""
    source = Source(definition.source, definition.text)
    # The place is sought in the tree that edits are of.
    found = origin(definition.text, text, frame.line, frame.span, source.tree)
    node = found.node if found else None
    if failure.message == "sum":
        if node is not None and not report_scatter(source, node):
            source.report(
                node,
                "this adds 16-bit numbers one after another: the error grows with their number",
                "Write `sum`, `mean`, `cumsum` and the like of mlax_scaffold.spec; in a loop "
                "`scan` or `map_chunks`; where rows are added at indices, `add_at`.",
                fix=as_pool(source, node),
            )
        return source.diagnostics
    match node:
        case ast.Subscript() | ast.UnaryOp() | ast.Attribute(attr="T" | "mT"):
            part = True
        case ast.BinOp() | ast.Call() | ast.Compare():
            part = False
        case _:
            return []
    if isinstance(node, ast.Call) and any(map(_asks, ast.walk(node))):
        return []
    whole = failure.message == "array"
    numbers = hyperparameters(source.tree, node)
    operand = (
        node
        if whole or part or of_numbers(node, numbers)
        else wide_operand(node, failure.wide, numbers)
    )
    met = node if failure.meets else None
    fix = by_numpy(source, node)
    if fix is None and operand is not None:
        fix = narrowed(source, operand, met)
    if fix is None and isinstance(node, ast.Call) and found is not None:
        # What it computes on the way, no operand changes.
        of_images = source.text_of(node).startswith("jax.image.")
        fix = widened_call(source, found) if of_images else None
    what = f"`{source.text_of(operand)}` is" if operand is not None else "an operand is"
    source.report(
        operand or node,
        f"{what} made in a dtype of its own"
        if whole
        else f"{what} wider than half-precision input, which becomes as wide here",
        "Cast it to the dtype of the input: `jnp.asarray(..., x.dtype)`.",
        fix=fix,
    )
    return source.diagnostics


def _asks(node: ast.AST) -> bool:
    """Whether it is a cast that may ask for a wider dtype: to that of an array, `x.dtype`, it does not."""
    match node:
        case ast.Call(func=ast.Attribute(attr="astype"), args=[dtype, *_]):
            pass
        case ast.Call(func=ast.Attribute(attr="asarray"), args=[_, dtype]):
            pass
        case ast.Call(func=ast.Attribute(attr="astype" | "asarray")):
            return True
        case _:
            return False
    return not (isinstance(dtype, ast.Attribute) and dtype.attr == "dtype")


def widened_call(source: Source, found: Origin) -> Fix | None:
    calls = [n for n in ast.walk(found.node) if isinstance(n, ast.Call)]
    function = calls[0].func if calls and calls[0] is found.node else found.node
    if not isinstance(function, ast.Attribute):
        return None
    needed = word(source, "widened")
    text = f"{needed.bound}({source.text_of(function)})"
    return Fix((source.edit(function, text),), (needed,))
