"""Numbers of an object that its calls change, `self.count = 0`: they are states without axes."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.declarations.initial import Initial, of_whole_numbers
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.source.trees import literal, marked, self_attribute


def counted(begins: ast.expr, fields: Mapping[str, Field]) -> Initial | None:
    """What such a state begins as; None for what is no number.

    Args:
        begins: what the attribute begins as, in setup.
        fields: the hyperparameters.
    """
    known = literal(begins)
    field = fields.get(self_attribute(begins) or "")
    if field is not None:
        whole = field.word.startswith(_WHOLE)
        if not whole and not field.word.startswith(_NUMBERS):
            return None
    elif isinstance(known, bool) or not isinstance(known, int | float):
        return None
    else:
        whole = isinstance(known, int)
    shape = ast.Tuple([], ast.Load())
    begun = marked("word_constant(v)", v=begins)
    if whole:
        return Initial(of_whole_numbers(begun), shape, marked("jnp.int32"))
    return Initial(begun, shape)


_NUMBERS = ("float", "Positive", "NonNegative", "Probability", "Decay")
_WHOLE = ("Count", "int")
