"""Recurrent networks of PyTorch over whole sequences: cells, and the method that runs them over time."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.rows.rows import MisfitError, Row
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    is_none,
    literal,
    name,
    names,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.walking import cloned, walk

_SIGNATURE = (
    "(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, "
    "bidirectional=False, nonlinearity='tanh')"
)
_CELLS = {
    "torch.nn.LSTM": "LSTMCell",
    "torch.nn.GRU": "GRUCell",
    "torch.nn.RNN": "SimpleCell",
}
_PROJECTED = (
    "begin with `new-layer --like LSTMCell`, map h by a weight of shape (features, proj_size) where a"
    " step ends, and loop over time"
)
RECURRENT = frozenset(_CELLS)
"""What runs a cell over all steps."""


@dataclass(frozen=True)
class Recurrence:
    """One such network."""

    attribute: str
    cell: str
    inputs: ast.expr
    hidden: ast.expr
    layers: ast.expr
    batch_first: bool
    both: bool
    """Whether it runs from the end, too."""
    drops: bool

    @property
    def title(self) -> str:
        """The method that runs it."""
        return f"_{self.attribute}"

    def result(self, symbols: Symbols, given: list[Value]) -> Value:
        """What is known of the result of a call."""
        x = given[0] if given else None
        hints = ("batch", "time") if self.batch_first else ("time", "batch")
        if not isinstance(x, Array) or not symbols.ranked(x, (*hints, "features")):
            return None
        symbols.equal(x.axes[-1], self.inputs)
        out = expression("2 * h", h=self.hidden) if self.both else self.hidden
        count = expression("2 * n", n=self.layers) if self.both else self.layers
        batch = x.axes[0] if self.batch_first else x.axes[1]
        last = Array([folded(count), batch, self.hidden], False)
        start = given[1] if len(given) > 1 else None
        for state in start.items if isinstance(start, Several) else [start]:
            if isinstance(state, Array) and symbols.ranked(state, ("_", "batch", "_")):
                for axis, known in zip(state.axes, last.axes, strict=True):
                    symbols.equal(axis, known)
        states: Value = Several([last, last]) if self.cell == "LSTMCell" else last
        return Several([x.like([*x.axes[:-1], folded(out)]), states])


def recurrence(builder: Builder, full: str, attribute: str, call: ast.Call) -> None:
    """Declare the cells of a network, and the method that runs them, or note what has no counterpart."""
    try:
        bound = Row(_SIGNATURE, "_").bind(call)
        flags = [_flag(bound, f) for f in ("batch_first", "bidirectional")]
        if literal(_one(bound, "nonlinearity")) != "tanh":
            raise MisfitError(
                f"`nonlinearity={ast.unparse(_one(bound, 'nonlinearity'))}`"
            )
    except MisfitError as error:
        builder.notes.refuse(
            call,
            f"`{ast.unparse(call.func)}` {error.said} has no counterpart",
            _PROJECTED
            if "proj_size" in str(error)
            else "write the cell and loop over time",
        )
        return
    given = {k: builder.translator.expression(_one(bound, k)) for k in bound}
    rate = given["dropout"]
    made = Recurrence(
        attribute,
        _CELLS[full],
        given["input_size"],
        given["hidden_size"],
        given["num_layers"],
        *flags,
        drops=literal(rate) not in (0, 0.0) and literal(given["num_layers"]) != 1,
    )
    _declare(builder, made, given["bias"], rate)


def _one(bound: dict[str, ast.expr | list[ast.expr]], key: str) -> ast.expr:
    value = bound[key]
    assert isinstance(value, ast.expr)
    return value


def _flag(bound: dict[str, ast.expr | list[ast.expr]], key: str) -> bool:
    value = literal(_one(bound, key))
    if not isinstance(value, bool):
        raise MisfitError(f"`{key}` that is not True or False where it is written")
    return value


def _declare(
    builder: Builder, made: Recurrence, bias: ast.expr, rate: ast.expr
) -> None:
    places = [f"{made.attribute}_cells"] + [f"{made.attribute}_back"] * made.both
    width = expression("2 * h", h=made.hidden) if made.both else made.hidden
    first = expression("i if layer == 0 else w", i=made.inputs, w=folded(width))
    if literal(made.layers) == 1:
        first = cloned(made.inputs)
    for place in places:
        cell = ast.Call(
            name(f"@layer:{made.cell}"),
            [cloned(first), cloned(made.hidden)],
            [] if literal(bias) is True else [ast.keyword("use_bias", bias)],
        )
        target = "_" if literal(made.layers) == 1 else "layer"
        passes = expression("range(n)", n=made.layers)
        loop = ast.comprehension(ast.Name(target, ast.Store()), passes, [], 0)
        builder.declare_list(builder.free(place), cell, [loop])
    if made.drops:
        call = ast.Call(name("@layer:Dropout"), [rate], [])
        builder.declare(builder.free(f"{made.attribute}_dropout"), call)
    builder.attributes[made.attribute] = Attribute("sequence")
    builder.recurrences[made.title] = made
    builder.methods.append(_method(made, started=_is_started(builder.node, made)))
    builder.translator.around.attributes[made.attribute] = expression(
        f"self.{made.title}"
    )


def _method(made: Recurrence, *, started: bool) -> ast.FunctionDef:
    """The method that runs the cells over time; `started` where a call gives the first states."""
    lstm, attribute = made.cell == "LSTMCell", made.attribute
    lines = [
        f"def {made.title}(self, x{', start' if started else ''}):",
        f"    y, last = {'jnp.swapaxes(x, 0, 1)' if made.batch_first else 'x'}, []",
    ]
    cells = [("cell", f"self.{attribute}_cells", "step", "")]
    if made.both:
        cells.append(("back", f"self.{attribute}_back", "step_back", ", reverse=True"))
    source = cells[0][1] if len(cells) == 1 else f"zip({cells[0][1]}, {cells[1][1]})"
    bound = ", ".join(c for c, *_ in cells)
    if made.drops:
        bound = f"number, {bound}" if len(cells) == 1 else f"number, ({bound})"
        source = f"enumerate({source})"
    lines.append(f"    for {bound} in {source}:")
    if made.drops:
        lines += [
            "        if number > 0:",
            f"            y = self.{attribute}_dropout(y)",
        ]
    if not started:
        lines.append("        h = jnp.zeros((y.shape[1], hidden), x.dtype)")
    # What is local to the constructor, the weights tell.
    local = names(made.hidden) - {"self"}
    hidden = expression("cell.recurrent_kernel.shape[0]") if local else made.hidden
    results = []
    for cell, _, step, reverse in cells:
        carry = "(h, h)" if lstm else "h"
        if started:
            carry = (
                "(start[1][len(last)], start[0][len(last)])"
                if lstm
                else "start[len(last)]"
            )
        lines += [
            f"        def {step}(carry, x):",
            f"            y, carry = {cell}((x, carry))",
            "            return carry, y",
            f"        end, {cell}_y = scan({step}, {carry}, y{reverse})",
            "        last.append(end)",
        ]
        results.append(f"{cell}_y")
    joined = results[0]
    if made.both:
        joined = f"jnp.concatenate([{', '.join(results)}], axis=-1)"
    y = "jnp.swapaxes(y, 0, 1)" if made.batch_first else "y"
    states = "jnp.stack(last)"
    if lstm:
        states = "(jnp.stack([h for c, h in last]), jnp.stack([c for c, h in last]))"
    lines += [f"        y = {joined}", f"    return {y}, {states}"]
    node = statement(
        "\n".join(lines),
        jnp=name("@module:jnp"),
        scan=name("@word:scan"),
        hidden=cloned(hidden),
    )
    assert isinstance(node, ast.FunctionDef)
    return node


def _is_started(node: ast.AST, made: Recurrence) -> bool:
    """Whether calls give the states to begin with."""
    return any(
        isinstance(part, ast.Call)
        and self_attribute(part.func) == made.attribute
        and bool(states_given(part))
        for part in walk(node)
    )


def pairs_given(recurrences: Mapping[str, object], node: ast.AST) -> dict[str, Several]:
    """The pairs of states that an LSTM of a class begins with, in a method of it, by name."""
    pairs = {t for t, made in recurrences.items() if _is_lstm(made)}
    return {
        state.id: Several([Array([], True), Array([], True)])
        for part in walk(node)
        if isinstance(part, ast.Call) and self_attribute(part.func) in pairs
        for state in states_given(part)
        if isinstance(state, ast.Name)
    }


def _is_lstm(made: object) -> bool:
    return isinstance(made, Recurrence) and made.cell == "LSTMCell"


def states_given(call: ast.Call) -> list[ast.expr]:
    """The states that a call begins with, if any."""
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "hx")]
    return [g for g in given if not is_none(g)]
