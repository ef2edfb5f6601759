"""Finds draws that are compared where no array says their dtype: `uniform(key, shape) < self.rate`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.widening import untyped_call
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, self_attribute


def check_drawn_choices(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report them: booleans need no float."""
    for node in walk(method):
        match node:
            case ast.Compare(
                left=ast.Call(args=[key, shape], keywords=[]) as draw,
                ops=[ast.Lt() | ast.GtE() as op],
                comparators=[rate],
            ) if (
                qualified(draw.func, imports) == "jax.random.uniform"
                and _is_number(rate, attributes)
                and untyped_call(draw, source.tree, imports, method, attributes)
            ):
                needed = word(source, "bernoulli")
                given = map(source.text_of, (key, rate, shape))
                text = "{}({}, p={}, shape={})".format(needed.bound, *given)
                text = text if isinstance(op, ast.Lt) else f"~{text}"
                source.report(
                    node,
                    "this draws numbers of float32 to make booleans of them",
                    "Draw booleans, which have no dtype to compute in: `bernoulli(key, p=..., shape=...)`.",
                    fix=Fix((source.edit(node, text),), (needed,)),
                )


def _is_number(node: ast.expr, attributes: Mapping[str, str]) -> bool:
    """Whether it is computed of hyperparameters and numbers alone."""
    match node:
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_number(left, attributes) and _is_number(right, attributes)
    return attributes.get(self_attribute(node) or "") == "hyperparameter"
