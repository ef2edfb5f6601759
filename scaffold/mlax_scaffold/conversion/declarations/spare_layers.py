"""Layers of PyTorch that some passes of a loop alone append: a list has one for each pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.source.trees import names, targets

SPARE = "is made in each pass of the loop"
"""What is said of them: of the weights of the others the original has none."""
_WEIGHED = re.compile(r"torch\.nn\.\w*(Linear|Conv|Norm|LSTM|GRU|RNN|Embedding|PReLU)")


def remark_spare(
    builder: Builder,
    loop: ast.For,
    appended: Iterable[tuple[ast.expr, ast.expr | None]],
) -> None:
    """Tell which layers these are, and what becomes of them.

    Args:
        builder: the class that is converted.
        loop: the loop.
        appended: what its passes append, and under which conditions.
    """
    if builder.framework != "torch":
        return
    bound = {*targets(loop.target)}
    for made, condition in appended:
        if condition is None or not names(condition) & bound:
            continue
        if isinstance(made, ast.Call) and _has_weights(builder, made.func):
            builder.notes.remark(
                made,
                f"`{ast.unparse(made)}` {SPARE}, and called under a condition alone",
                "leave out of a file of weights what the others hold",
            )


def _has_weights(builder: Builder, func: ast.expr) -> bool:
    full = builder.origin.qualified(func)
    own = getattr(func, "id", "") in builder.origin.classes
    return own or _WEIGHED.match(full) is not None
