"""Running metrics: what is known of all examples so far, as a pytree that can be merged.

A metric is a static object, as a schedule is. Its `init` makes the state of no example,
`update` adds a batch to a state, `merge` adds two states, `reduce` adds those of all
devices of a mapped axis, and `result` is the value. All are pure functions, which work
under `jax.jit`, `jax.lax.scan`, `jax.vmap`, `jax.pmap` and `jax.shard_map`.
"""

from ._classes import F1, ConfusionMatrix, Precision, Recall
from ._errors import R2, MeanAbsoluteError, MeanSquaredError, Variance
from ._means import Accuracy, Mean, Perplexity
from ._metric import Metric
from ._ranking import AUC
from ._scores import area_under_roc, average_precision
from ._states import Count, Moments, Total

__all__ = [
    "AUC",
    "F1",
    "R2",
    "Accuracy",
    "ConfusionMatrix",
    "Count",
    "Mean",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Metric",
    "Moments",
    "Perplexity",
    "Precision",
    "Recall",
    "Total",
    "Variance",
    "area_under_roc",
    "average_precision",
]


def __dir__() -> list[str]:
    return __all__
