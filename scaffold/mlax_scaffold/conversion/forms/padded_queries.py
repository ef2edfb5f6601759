"""Masks of attention in which a query may attend to nothing, `nn.make_attention_mask(x > 0, x > 0)`.

What such a query gets is zeros here, and the mean of all values in flax, haiku and equinox.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.made_of import leave_others_out
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import walk

_MASKS = ("flax.linen.make_attention_mask", "flax.nnx.make_attention_mask")
_FULL = ("ones", "ones_like", "full", "full_like")
_ATTENDS = (
    *("MultiHeadDotProductAttention", "MultiHeadAttention", "SelfAttention"),
    "MultiheadAttention",
)

_GIVEN_MASKS = {
    "haiku.MultiHeadAttention": "haiku",
    "equinox.nn.MultiheadAttention": "equinox",
}
"""Attention that is given masks as arrays, and its library."""
_COMPARED = ("jax.numpy.greater", "jax.numpy.not_equal")


def tell_padded_queries(origin: Origin, thing: str, notes: Notes) -> bool:
    """Tell of them; whether there are any, so that what both are compared with is to pad nothing."""
    before = len(notes.found)
    made = [p for p in walk(origin.tree) if isinstance(p, ast.Call)]
    if not any(origin.qualified(c.func).endswith(_ATTENDS) for c in made):
        return False
    for call in made:
        if origin.qualified(call.func) in _MASKS and call.args:
            first = call.args[0]
            title = ast.unparse(first.func) if isinstance(first, ast.Call) else ""
            if title.rpartition(".")[2] not in _FULL:
                notes.remark(
                    call,
                    "a query that this mask lets attend to nothing gets zeros",
                    "in flax it gets the mean of all values: leave padded positions out of what is compared",
                )
    given = {_GIVEN_MASKS.get(origin.qualified(call.func), "") for call in made} - {""}
    for library in sorted(given):
        for part in walk(origin.tree):
            if _keeps_padding(origin, part):
                notes.remark(
                    part,
                    "a query that this mask lets attend to nothing gets zeros",
                    f"in {library} it gets the mean of all values: leave padded positions out of "
                    "what is compared",
                )
    leave_others_out(origin, thing, notes, before)
    return len(notes.found) > before


def _keeps_padding(origin: Origin, node: ast.AST) -> bool:
    """Whether a statement keeps which positions are no padding as a mask: `mask = tokens != 0`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=title)], value=value) if "mask" in title:
            pass
        case _:
            return False
    match value:
        # In another dtype it is that mask.
        case ast.Call(func=ast.Attribute(attr="asarray" | "array"), args=[inner, *_]):
            value = inner
        case ast.Call(func=ast.Attribute(value=inner, attr="astype")):
            value = inner
    match value:
        case ast.Compare(left=ast.Name(), ops=[ast.Gt() | ast.NotEq()]):
            return True
        case ast.Call(func=func):
            return origin.qualified(func) in _COMPARED
    return False
