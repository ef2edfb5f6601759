"""Metrics of classes that are predicted by number."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.static import static
from ..functional import pair_counts
from ._metric import Metric, numbers, wide
from ._states import Count

Average = Literal["binary", "macro", "micro", "none"]
_AVERAGES = ("binary", "macro", "micro", "none")


@static
class ConfusionMatrix(Metric[Count]):
    """How often each class is predicted where each class is right, (labels, predictions).

    Its state is the exact count, up to 2^47 in each place. Examples with a label or a
    prediction that is no class do not count.

    >>> confusion = ConfusionMatrix(2)
    >>> labels, predictions = jnp.array([0, 1, 1]), jnp.array([0, 0, 1])
    >>> state = confusion.update(confusion.init(), predictions, labels)
    >>> confusion.result(state).tolist()
    [[1.0, 0.0], [1.0, 1.0]]

    Args:
        classes: number of the classes.
        dtype: that of the result, of 32 or 64 bits.
    """

    classes: int
    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        classes = checks.size("ConfusionMatrix", classes=self.classes)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "dtype", wide("ConfusionMatrix", self.dtype))

    def init(self) -> Count:
        """The state of no example."""
        return Count.zeros((self.classes, self.classes))

    def of(self, predictions: Any, labels: Any, where: Any = None) -> Count:
        """The state of predictions and labels, integers or booleans of one shape.

        Raises:
            TypeError: where they are scores.
        """
        return _pairs(type(self).__name__, self.classes, predictions, labels, where)

    def result(self, state: Count) -> jax.Array:
        """The matrix; a row for each label."""
        return state.floating(self.dtype)


class _Retrieval(Metric[Count]):
    """What the hits, the predictions and the labels of each class tell."""

    classes: int
    average: Average
    dtype: Any

    def __post_init__(self) -> None:
        owner = type(self).__name__
        classes = checks.size(owner, classes=self.classes)
        average = checks.choice(owner, _AVERAGES, average=self.average)
        checks.require(
            owner,
            average != "binary" or classes == 2,
            "the average 'binary' is of 2 classes",
            classes=classes,
            average=average,
        )
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "average", average)
        object.__setattr__(self, "dtype", wide(owner, self.dtype))

    def init(self) -> Count:
        """The state of no example: a confusion matrix, (labels, predictions)."""
        return Count.zeros((self.classes, self.classes))

    def of(self, predictions: Any, labels: Any, where: Any = None) -> Count:
        """The state of predictions and labels, integers or booleans of one shape.

        Raises:
            TypeError: where they are scores.
        """
        return _pairs(type(self).__name__, self.classes, predictions, labels, where)

    def result(self, state: Count) -> jax.Array:
        """The value, or those of all classes."""
        matrix = state.floating(self.dtype)
        hits = jnp.diagonal(matrix)
        labels, predictions = jnp.sum(matrix, axis=1), jnp.sum(matrix, axis=0)
        if self.average == "micro":
            hits, labels, predictions = map(jnp.sum, (hits, labels, predictions))
        seen = (labels > 0) | (predictions > 0)
        values = self._share(hits, predictions, labels)
        if self.average == "macro":
            values = jnp.sum(jnp.where(seen, values, 0.0)) / jnp.sum(
                seen, dtype=self.dtype
            )
        elif self.average == "binary":
            values = values[1]
        return jnp.where(jnp.any(seen), values, jnp.full_like(values, jnp.nan))

    def _share(
        self, hits: jax.Array, predictions: jax.Array, labels: jax.Array
    ) -> jax.Array:
        raise NotImplementedError


@static
class Precision(_Retrieval):
    """Share of the predictions of a class that are right, 0 where there are none.

    NaN of no example. The state is that of `ConfusionMatrix`, which serves `Recall` and
    `F1` as well.

    Args:
        classes: number of the classes.
        average: "macro": the mean over the classes that are a label or a prediction;
            "micro": of all predictions; "binary": of class 1 of two; "none": of each class.
        dtype: that of the result, of 32 or 64 bits.
    """

    classes: int
    average: Average = "macro"
    dtype: Any = jnp.float32

    def _share(
        self, hits: jax.Array, predictions: jax.Array, labels: jax.Array
    ) -> jax.Array:
        return _divided(hits, predictions)


@static
class Recall(_Retrieval):
    """Share of the examples of a class that are predicted so, 0 where there are none.

    NaN of no example. The state is that of `ConfusionMatrix`, which serves `Precision` and
    `F1` as well.

    Args:
        classes: number of the classes.
        average: "macro": the mean over the classes that are a label or a prediction;
            "micro": of all examples; "binary": of class 1 of two; "none": of each class.
        dtype: that of the result, of 32 or 64 bits.
    """

    classes: int
    average: Average = "macro"
    dtype: Any = jnp.float32

    def _share(
        self, hits: jax.Array, predictions: jax.Array, labels: jax.Array
    ) -> jax.Array:
        return _divided(hits, labels)


@static
class F1(_Retrieval):
    """Harmonic mean of precision and recall: 2 hits / (predictions + labels).

    NaN of no example, 0 of a class that is neither. The state is that of
    `ConfusionMatrix`, which serves `Precision` and `Recall` as well.

    Args:
        classes: number of the classes.
        average: "macro": the mean over the classes that are a label or a prediction;
            "micro": of all examples; "binary": of class 1 of two; "none": of each class.
        dtype: that of the result, of 32 or 64 bits.
    """

    classes: int
    average: Average = "macro"
    dtype: Any = jnp.float32

    def _share(
        self, hits: jax.Array, predictions: jax.Array, labels: jax.Array
    ) -> jax.Array:
        return _divided(2.0 * hits, predictions + labels)


def _pairs(
    owner: str, classes: int, predictions: Any, labels: Any, where: Any
) -> Count:
    predictions, labels = numbers(predictions), numbers(labels)
    for name, value in (("predictions", predictions), ("labels", labels)):
        if not jnp.issubdtype(dtype := jnp.result_type(value), jnp.integer):
            raise TypeError(
                f"{owner}: {name} must be the numbers of classes, integers or booleans, got "
                f"{dtype} of shape {jnp.shape(value)}; of scores pass jnp.argmax(scores, axis=-1)"
            )
    counts = pair_counts(
        labels,
        predictions,
        where,
        row_count=classes,
        column_count=classes,
    )
    return Count.of(counts)


def _divided(a: jax.Array, b: jax.Array) -> jax.Array:
    """A / b, 0 where b is."""
    return a / jnp.where(b > 0, b, jnp.ones_like(b))
