"""Losses of optax, as those of the library."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

_PAIR = "(predictions, targets)"
_ROWS = {
    **{
        loss: Row(_PAIR, f"loss.{loss}(predictions, targets)")
        for loss in ("l2_loss", "squared_error", "log_cosh")
    },
    "huber_loss": Row(
        "(predictions, targets, delta=_)",
        "loss.huber_loss(predictions, targets, delta=delta)",
    ),
    "hinge_loss": Row(
        "(predictor_outputs, targets)", "loss.hinge_loss(predictor_outputs, targets)"
    ),
    **{
        loss: Row(
            "(predictions, targets, epsilon=_, axis=-1)",
            f"loss.{loss}(predictions, targets, epsilon=epsilon)",
        )
        for loss in ("cosine_similarity", "cosine_distance")
    },
    "sigmoid_binary_cross_entropy": Row(
        "(logits, labels)", "loss.sigmoid_binary_cross_entropy(logits, labels)"
    ),
    "sigmoid_focal_loss": Row(
        "(logits, labels, alpha=_, gamma=_)",
        "loss.sigmoid_focal_loss(logits, labels, alpha=alpha, gamma=gamma)",
    ),
    "softmax_cross_entropy": Row(
        "(logits, labels, axis=-1, where=_)",
        "loss.softmax_cross_entropy(logits, labels, where)",
    ),
    "softmax_cross_entropy_with_integer_labels": Row(
        "(logits, labels, axis=-1)",
        "loss.softmax_cross_entropy_with_integer_labels(logits, labels)",
    ),
    "poly_loss_cross_entropy": Row(
        "(logits, labels, epsilon=_, axis=-1)",
        "loss.poly_loss_cross_entropy(logits, labels, epsilon=epsilon)",
    ),
    "kl_divergence": Row(
        "(log_predictions, targets, axis=-1)",
        "loss.kl_divergence(log_predictions, targets)",
    ),
    "kl_divergence_with_log_targets": Row(
        "(log_predictions, log_targets, axis=-1)",
        "loss.kl_divergence_with_log_targets(log_predictions, log_targets)",
    ),
    "smooth_labels": Row("(labels, alpha)", "loss.smooth_labels(labels, alpha=alpha)"),
}
FUNCTIONS = {
    f"{module}.{name}": row
    for module in ("optax", "optax.losses")
    for name, row in _ROWS.items()
}
