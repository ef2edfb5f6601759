"""Axes and shapes that types leave open, and the code does not, as findings of the spec."""

from __future__ import annotations

import re

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.trial_failures import Failure
from mlax_scaffold.reader.remedies.axes import LAST, renamed, reshaped
from mlax_scaffold.reader.remedies.examples import with_example
from mlax_scaffold.reader.source import Source

_REFUSED = "must have shape ("
"""What a layer says of an input with other axes than its own."""


def with_given_layers(traced: Definition, failure: Failure) -> list[Diagnostic]:
    """Sizes of a block that only the tests' layers need, which keep shapes: its types stay as they are."""
    source = Source(traced.source, traced.text)
    fix = with_example(source, failure.fits, traced.name)
    if fix is None or not traced.structural():
        return []
    named = (n for n in source.tree.body if getattr(n, "name", "") == traced.name)
    known = " and ".join(f"`{text}`" for text in dict.fromkeys(failure.axes.values()))
    source.report(
        next(named, source.tree),
        f"with layers that keep the shapes of their inputs, which the tests give {traced.name}, "
        f"its code fits inputs of the size {known}",
        "Give the tests an example that fits. Layers that change sizes take others all the same.",
        fix=fix,
    )
    return source.diagnostics


def with_sizes(traced: Definition, failure: Failure) -> list[Diagnostic]:
    """Axes that the types leave open, and the code does not, at the first type that has one."""
    source = Source(traced.source, traced.text)
    shown = {a: "the last of `...`" if a == LAST else f"`{a}`" for a in failure.axes}
    names = " and ".join(f"{shown[a]} is `{text}`" for a, text in failure.axes.items())
    summary = failure.message.strip().split("\n")[0]
    found = renamed(source, traced.name, failure.axes)
    if found is not None:
        place, fix = found
        shape = source.text_of(place)
        known = re.findall(r"\w+", shape)
        if _REFUSED in summary and any(text in known for text in failure.axes.values()):
            # Channels stand first there, perhaps: no name of an axis mends that.
            source.report(
                place,
                f"a layer that this is given to takes other axes than {shape}",
                summary,
            )
            return source.diagnostics
        source.report(
            place,
            f"the code fits this where {names}, and its type says any size",
            f"With others: {summary}",
            fix=fix,
        )
    return source.diagnostics


def with_shapes(traced: Definition, failure: Failure) -> list[Diagnostic]:
    """Inputs whose types say any shape, or are guessed to say another one than that which the code takes."""
    source = Source(traced.source, traced.text)
    summary = failure.message.strip().split("\n")[0]
    for place, shape, fix in reshaped(source, traced.name, failure.types):
        said = "any" if source.text_of(place).strip("\"'") == "..." else "another"
        source.report(
            place,
            f'the code fits this where its shape is "{shape}", and its type says {said}',
            f"With others: {summary}" if summary else "",
            fix=fix,
        )
    return source.diagnostics
