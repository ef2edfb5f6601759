"""What losses of the library make of shapes."""

from __future__ import annotations

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value

_OF_ELEMENTS = (
    *("l2_loss", "squared_error", "log_cosh", "huber_loss", "hinge_loss"),
    *("sigmoid_binary_cross_entropy", "sigmoid_focal_loss"),
)
_OF_CLASSES = (
    *("cosine_similarity", "cosine_distance", "softmax_cross_entropy"),
    *("poly_loss_cross_entropy", "kl_divergence", "kl_divergence_with_log_targets"),
)


def loss_shape(symbols: Symbols, loss: str, given: list[Value]) -> Value:
    """The result of a loss; None where it is not to be told."""
    if len(given) < 2:
        return None
    first, second = given[:2]
    if loss == "softmax_cross_entropy_with_integer_labels" and isinstance(
        second, Array
    ):
        _indices(symbols, first, second)
    if not isinstance(first, Array) or not isinstance(second, Array):
        return None
    if loss in _OF_ELEMENTS:
        return symbols.together(first, second)
    if loss in _OF_CLASSES:
        symbols.axis(first, -1, "classes")
        both = symbols.together(first, second)
        return both.like(both.axes[:-1])
    if loss == "softmax_cross_entropy_with_integer_labels":
        scores = first.turned if first.lead and not first.axes else None
        if scores is not None and second.lead:
            return None
        if scores is not None:
            # There is one axis more than labels have, the second one, and no other.
            symbols.ranked(scores, ["batch", "classes", *["_"] * len(second.axes[1:])])
            return second.like(second.axes)
        symbols.axis(first, -1, "classes")
        made = first.like(first.axes[:-1])
        if second.lead and not second.axes:
            second.prefix, second.against = made.prefix, first
        return made
    return None


def _indices(symbols: Symbols, scores: Value, labels: Array) -> None:
    """Take labels to be indices; where both were reshaped, those that they were before, too."""
    labels.kind = "Int"
    whole = scores.source if isinstance(scores, Array) else None
    rows = labels.source
    if rows is None:
        return
    rows.kind = "Int"
    if whole is not None and rows.lead and not rows.axes and not whole.lead:
        symbols.ranked(rows, ["_"] * (len(whole.axes) - 1))
        for one, other in zip(rows.axes, whole.axes, strict=False):
            symbols.equal(one, other)
