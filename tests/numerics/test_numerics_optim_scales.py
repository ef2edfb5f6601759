"""Optimizers around one that takes gradients with the scale of the loss."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import optim, train

WEIGHTS = {
    "a": jnp.asarray([1.0, -2.0, 0.5]),
    "b": jnp.asarray([[0.3, 0.2], [1.0, -1.0]]),
}
LABELS = {"a": "scaled", "b": "plain"}
Initialized = tuple[Any, Any]


def sgd() -> Initialized:
    return optim.Sgd.init(WEIGHTS, 0.1)


def clip() -> Initialized:
    return optim.ClipByGlobalNorm.init(WEIGHTS, 0.5)


def scaling(optimizer: Initialized) -> Initialized:
    return optim.DynamicLossScaling.init(optimizer)


def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
    terms = jax.tree.map(lambda w: jnp.sum(jnp.sin(batch * w) ** 2), trainables)
    return terms["a"] + terms["b"], non_trainables


def trained(optimizer: Initialized, steps: int = 4) -> Any:
    state = train.init(WEIGHTS, None, optimizer, jax.random.key(0))
    step = jax.jit(train.step(loss, optimizer))
    for _ in range(steps):
        state, _ = step(state, jnp.asarray(0.7))
    return state.trainables


AROUND: dict[str, Callable[[Callable[[Initialized], Initialized]], Initialized]] = {
    "first_in_a_chain": lambda s: optim.Chain.init([s(clip()), sgd()]),
    "first_of_names": lambda s: optim.named_chain({"clip": s(clip()), "sgd": sgd()}),
    "lookahead": lambda s: optim.Lookahead.init(WEIGHTS, s(sgd()), 2),
    "accumulate": lambda s: optim.Accumulate.init(WEIGHTS, s(sgd()), 2),
    "average": lambda s: optim.AverageWeights.init(WEIGHTS, s(sgd()), 0.9),
    "free": lambda s: optim.ScheduleFree.init(WEIGHTS, s(sgd()), 0.1),
    "inject": lambda s: optim.Chain.init([s(optim.inject(sgd(), learning_rate=0.1))]),
    "masked_for_all": lambda s: optim.Masked.init(WEIGHTS, s(sgd()), lambda *_: True),
    "one_group": lambda s: optim.partition(
        WEIGHTS, {"all": s(sgd())}, lambda *_: "all"
    ),
    "groups": lambda s: s(
        optim.partition(WEIGHTS, {"scaled": sgd(), "plain": sgd()}, LABELS)
    ),
    "sam": lambda s: s(optim.Sam.init(sgd())),
    "mechanic": lambda s: s(optim.Mechanic.init(WEIGHTS, sgd())),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_scale_of_the_loss_changes_no_weights(name):
    make = AROUND[name]
    actual, expected = (
        trained(make(scaling)),
        trained(make(lambda optimizer: optimizer)),
    )
    for path, weight in expected.items():
        np.testing.assert_allclose(actual[path], weight, rtol=1e-5, err_msg=path)
        assert not np.array_equal(weight, WEIGHTS[path])


WITHIN: dict[str, Callable[[], Any]] = {
    "Sam": lambda: optim.Sam.init(scaling(sgd())),
    "Adversarial": lambda: optim.Adversarial.init(scaling(sgd()), sgd()),
    "Adversarial ": lambda: optim.Adversarial.init(sgd(), scaling(sgd())),
    "BacktrackingSearch": lambda: optim.BacktrackingSearch.init(scaling(sgd())),
    "ZoomSearch": lambda: optim.ZoomSearch.init(scaling(sgd())),
    "Masked": lambda: optim.Masked.init(
        WEIGHTS, scaling(sgd()), {"a": True, "b": False}
    ),
    "Conditionally": lambda: optim.Conditionally.init(scaling(sgd()), lambda n: n < 2),
    "SkipLargeUpdates": lambda: optim.SkipLargeUpdates.init(scaling(sgd()), 9.0),
    "ApplyIfFinite": lambda: optim.ApplyIfFinite.init(scaling(sgd())),
    "Mechanic": lambda: optim.Mechanic.init(WEIGHTS, scaling(sgd())),
    "LowRank": lambda: optim.LowRank.init(WEIGHTS, scaling(sgd()), 1),
    "Accumulate": lambda: optim.Accumulate.init(
        WEIGHTS, scaling(sgd()), 2, skip_above=9.0
    ),
    "Accumulate ": lambda: optim.Accumulate.init(
        WEIGHTS, optim.Lookahead.init(WEIGHTS, scaling(sgd())), 2, skip_not_finite=True
    ),
    "Chain": lambda: trained(optim.Chain.init([clip(), scaling(sgd())])),
    "named_chain": lambda: optim.named_chain({"clip": clip(), "sgd": scaling(sgd())}),
    "partition": lambda: optim.partition(
        WEIGHTS, {"scaled": optim.Chain.init([scaling(sgd())]), "plain": sgd()}, LABELS
    ),
}


@pytest.mark.parametrize("name", WITHIN)
def test_gradients_with_a_scale_are_refused_where_it_is_not_known(name):
    where = rf"^{name.strip()}: (.|\n)*DynamicLossScaling"
    with pytest.raises(ValueError, match=where):
        WITHIN[name]()


def test_a_group_with_a_scale_is_told_the_form_that_works():
    groups = {"scaled": scaling(sgd()), "plain": sgd()}
    expected = re.escape(
        "partition: DynamicLossScaling is in the group 'scaled', and the gradients of all "
        "groups would have the scale of the loss; put it around all of them: "
        "DynamicLossScaling.init(partition(trainables, {...}, labels))"
    )
    with pytest.raises(ValueError, match=f"^{expected}$"):
        optim.partition(WEIGHTS, groups, LABELS)
