"""What rows compute of losses: what is done with the losses of examples, and of classes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.rows.array_calculations import Arg
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    marked,
    name,
    replaced,
)

_LAST = "jnp.moveaxis(x, 1, -1)"
"""Classes are the second axis of PyTorch, which is the last of two."""


class LossCalculations:
    """Losses as PyTorch computes them."""

    def _cross_entropy(
        self,
        logits: Arg,
        target: Arg,
        weight: Arg,
        ignored: Arg,
        reduction: Arg,
        smoothing: Arg,
    ) -> Arg:
        losses = marked(f"loss_ce({_LAST}, t)", x=logits, t=target)
        losses = replaced(
            losses,
            {"loss_ce": name("@loss:softmax_cross_entropy_with_integer_labels")},
        )
        if literal(smoothing) != 0.0:
            if not is_none(weight):
                raise MisfitError("`weight` beside `label_smoothing`")
            text = f"(1 - s) * v - s * word_mean(word_log_softmax({_LAST}), axis=-1)"
            losses = marked(text, v=losses, s=smoothing, x=logits)
        return self._of_classes(losses, target, weight, ignored, reduction)

    def _nll(
        self, logits: Arg, target: Arg, weight: Arg, ignored: Arg, reduction: Arg
    ) -> Arg:
        text = f"-jnp.take_along_axis({_LAST}, jnp.expand_dims(t, -1), axis=-1)[..., 0]"
        losses = marked(text, x=logits, t=target)
        return self._of_classes(losses, target, weight, ignored, reduction)

    def _of_classes(
        self, losses: Arg, target: Arg, weight: Arg, ignored: Arg, reduction: Arg
    ) -> Arg:
        """The losses of examples of classes, of which some weigh more than others, or nothing."""
        every = literal(ignored) == -100
        if is_none(weight) and every:
            return self._reduced(losses, reduction)
        text = "jnp.where(t != i, v, 0)"
        if is_none(weight):
            there = {"v": losses, "t": target, "i": ignored}
            return _chosen(
                reduction,
                lambda kind: marked(
                    text if kind == "none" else f"word_{kind}(v, where=t != i)", **there
                ),
            )
        weights = expression("w[t]", w=weight, t=target)
        weighed = expression("v * w", v=losses, w=weights)
        if not every:
            weighed = marked(text, v=weighed, t=target, i=ignored)
            weights = marked(text, v=weights, t=target, i=ignored)

        def reduced(kind: str) -> Arg:
            if kind == "mean":
                return marked("word_sum(v) / word_sum(w)", v=weighed, w=weights)
            return weighed if kind == "none" else marked("word_sum(v)", v=weighed)

        return _chosen(reduction, reduced)

    def _reduced(self, x: Arg, reduction: Arg) -> Arg:
        return _chosen(
            reduction,
            lambda kind: x if kind == "none" else marked(f"word_{kind}(x)", x=x),
        )

    def _logit_losses(self, x: Arg, target: Arg, positive: Arg) -> Arg:
        """Binary losses, of which those of positive labels may weigh more."""
        if is_none(positive):
            made = marked("loss_bce(x, t)", x=x, t=target)
            return replaced(
                made, {"loss_bce": name("@loss:sigmoid_binary_cross_entropy")}
            )
        text = "p * t * jax.nn.softplus(-x) + (1 - t) * jax.nn.softplus(x)"
        return marked(text, x=x, t=target, p=positive)

    def _times(self, x: Arg, weight: Arg) -> Arg:
        return x if is_none(weight) else expression("x * w", x=x, w=weight)

    def _divergence(self, x: Arg, target: Arg, reduction: Arg, logs: Arg) -> Arg:
        """How far logarithms of probabilities are from others, or from the logarithms of others."""
        told = literal(logs)
        if not isinstance(told, bool):
            raise MisfitError(f"`log_target={ast.unparse(logs)}`")
        text = (
            "jnp.exp(t) * (t - x)"
            if told
            else "jnp.where(t > 0, t * (jnp.log(jnp.where(t > 0, t, 1)) - x), 0)"
        )
        each = marked(text, x=x, t=target)
        if literal(reduction) == "batchmean":
            return marked("word_sum(v) / x.shape[0]", v=each, x=x)
        return self._reduced(each, reduction)

    def _cosine(self, left: Arg, right: Arg, dim: Arg, epsilon: Arg) -> Arg:
        return marked(
            "word_sum(a * b, axis=d) / (jnp.maximum(word_l2_norm(a, axis=d), e) * "
            "jnp.maximum(word_l2_norm(b, axis=d), e))",
            a=left, b=right, d=dim, e=epsilon,
        )  # fmt: skip


def _chosen(reduction: Arg, made: Callable[[str], Arg]) -> Arg:
    """What a reduction makes; a setting of the layer is asked for which one it is."""
    kind = literal(reduction)
    if kind in ("mean", "sum", "none"):
        return made(str(kind))
    if isinstance(reduction, ast.Constant):
        raise MisfitError(f"`reduction={ast.unparse(reduction)}`")
    text = "m if r == 'mean' else s if r == 'sum' else n"
    kinds = {k[0]: made(k) for k in ("mean", "sum", "none")}
    return expression(text, r=reduction, **kinds)
