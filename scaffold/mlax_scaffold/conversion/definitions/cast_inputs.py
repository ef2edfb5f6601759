"""The dtypes of what a call computes of indices and masks."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.weight_dtypes import (
    in_dtype_of,
    weight_of,
    with_masks_of_numbers,
    without_casts,
)
from mlax_scaffold.conversion.definitions.class_methods import ClassMethods
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import expression


class CastInputs(ClassMethods):
    """Gives them the dtypes that they have here."""

    framework: str

    def _cast_to_weight(self, forward: ast.FunctionDef, env: dict[str, Value]) -> None:
        """Give arrays the dtype of a weight where the first input holds indices."""
        value = env.get(first := self.builder.calculations.first_input)
        if not isinstance(value, Array) or value.kind != "Int":
            return
        weight = weight_of(self.builder.attributes, {})
        inner = weight_of(self.builder.attributes, self.builder.own)
        if inner is not None:
            # Tables are added to indices where layers of other classes look these up.
            own = weight is not None
            dtype, others = expression(f"{inner}.dtype"), self.framework != "torch"
            in_dtype_of(forward, first, dtype, arrays=own and others, casts=own)
            with_masks_of_numbers(forward, env, dtype)
        if weight is None:
            # Who casts to that dtype says so; a setting that tells one is another.
            for method in (forward, *self.builder.methods):
                original = self.methods.get(method.name.lstrip("_")) or self.call
                if original and f"{first}.dtype" not in ast.unparse(original):
                    without_casts(method, first)
