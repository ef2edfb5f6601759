"""Arrays that may be of integers are inputs of what has no weights, which are cast to their dtype."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.word import SPEC
from mlax_scaffold.reader.source import Source

_KEPT = ("trainable", "state", "sub-layer", "container", "layer", "layers")
"""What attributes are that have weights or states."""


def check_real_inputs(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `Real["..."]` among the inputs of what keeps weights, states or layers."""
    kept = next((n for n, what in attributes.items() if what in _KEPT), None)
    if kept is None:
        return
    for argument in (*method.args.args, *method.args.kwonlyargs):
        for node in ast.walk(argument.annotation or ast.Pass()):
            if isinstance(node, ast.Name) and node.id == "Real":
                source.report(
                    node,
                    f"`{argument.arg}` may be of integers, and `self.{kept}` would be "
                    "cast to its dtype",
                    "Write `Float`.",
                    fix=Fix(
                        (source.edit(node, "Float"),), (Needed(SPEC, "Float", "Float"),)
                    ),
                )
