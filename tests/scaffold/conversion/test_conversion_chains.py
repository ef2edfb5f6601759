"""Optimizers that functions put together: chains of optax, with conditions, schedules and masks."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

OPTAX = "import jax\nimport jax.numpy as jnp\nimport optax\n\n\n"


def made(body: str) -> Converted:
    return convert("thing.py", OPTAX + body, "thing", "FromThing", "OPTIMIZER")


def converted(body: str) -> str:
    found = made(body)
    assert found.whole, found.notes
    return found.text


def test_an_optimizer_of_optax_in_a_chain_is_what_it_computes():
    text = converted("""\
def thing(learning_rate, b1=0.9):
    return optax.chain(optax.clip(1.0), optax.adam(learning_rate, b1=b1))
""")
    assert "mu = self.b1 * self.mu + (1 - self.b1) * jnp.clip(grad, -1.0, 1.0)" in text


def test_a_mask_of_shapes_says_which_weights_decay():
    text = converted("""\
def thing(learning_rate, decay=0.1):
    mask = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
    return optax.chain(
        optax.add_decayed_weights(decay, mask=mask), optax.scale_by_learning_rate(learning_rate)
    )
""")
    assert "grad + self.decay * param if param.ndim > 1 else grad" in text


def test_a_mask_that_names_tell_is_listed():
    found = made("""\
def named(params):
    return {k: k != "bias" for k in params}


def thing(learning_rate, decay=0.1):
    return optax.chain(
        optax.add_decayed_weights(decay, mask=named), optax.scale_by_learning_rate(learning_rate)
    )
""")
    [note] = [n for n in found.notes if n.blocks]
    assert note.line == OPTAX.count("\n") + 7
    assert note.what == "the mask `named` is not told by each weight alone"


def test_an_argument_of_a_transformation_that_has_no_counterpart_is_listed():
    found = made("""\
def thing(learning_rate):
    return optax.rmsprop(learning_rate, centered=True)
""")
    [note] = [n for n in found.notes if n.blocks]
    assert note.what == "`centered=True` of `optax.rmsprop` has no counterpart"


def test_a_schedule_that_is_made_there_is_the_rate_of_each_step():
    text = converted("""\
def thing(rate=0.1, steps=10):
    schedule = optax.exponential_decay(rate, steps, 0.9)
    return optax.sgd(schedule)
""")
    assert "self.rate_2 = self.rate * 0.9 ** ((self.step - 1.0) / self.steps)" in text


def test_a_stage_that_a_traced_number_decides_is_chosen_by_jax():
    text = converted("""\
def thing(learning_rate, weight_decay=0.0):
    parts = []
    if weight_decay > 0:
        parts.append(optax.add_decayed_weights(weight_decay))
    parts += [optax.sgd(learning_rate)]
    return optax.chain(*parts)
""")
    assert "update = jnp.where(self.weight_decay > 0, step, grad)" in text


def test_locals_of_two_transformations_are_apart():
    text = converted("""\
def twice():
    def init(params):
        return optax.EmptyState()

    def update(updates, state, params=None):
        step = jax.tree.map(lambda g: 2 * g, updates)
        return jax.tree.map(lambda s: s + 1, step), state

    return optax.GradientTransformation(init, update)


def thing():
    return optax.chain(twice(), twice())
""")
    assert "step_ = 2 * (step + 1)" in text
    assert "return step_ + 1" in text


def test_numbers_of_a_tuple_are_hyperparameters():
    text = converted("""\
def thing(betas=(0.9, 0.99)):
    b1, b2 = betas

    def init(params):
        return jax.tree.map(jnp.zeros_like, params)

    def update(updates, state, params=None):
        state = jax.tree.map(lambda m, g: b1 * m + b2 * g, state, updates)
        return state, state

    return optax.GradientTransformation(init, update)
""")
    assert "b1: Decay = 0.9\n    b2: Decay = 0.99\n" in text


@pytest.mark.parametrize("module", ["optax", "optax.tree_utils", "optax.tree"])
def test_functions_of_optax_over_trees_are_what_they_do_to_a_leaf(module):
    tree = "tree_" * module.endswith("utils")
    text = converted(f"""\
def thing(rate=0.1, b1=0.9):
    def init(params):
        return {{"mu": jax.tree.map(jnp.zeros_like, params), "count": jnp.zeros([], jnp.int32)}}

    def update(updates, state, params=None):
        mu = {module}.{tree}update_moment(updates, state["mu"], b1, 1)
        count = optax.safe_int32_increment(state["count"])
        step = {module}.{tree}bias_correction(mu, b1, count)
        return {module}.{tree}scale(-rate, step), {{"mu": mu, "count": count}}

    return optax.GradientTransformation(init, update)
""")
    assert "mu = (1 - self.b1) * grad ** 1 + self.b1 * self.mu" in text
    assert "step = mu / (1 - self.b1 ** self.step)" in text
    assert "return -self.rate * step" in text


def test_schedules_one_after_another_count_from_where_each_begins():
    text = converted("""\
def rates(peak, warm):
    return optax.join_schedules(
        [optax.linear_schedule(0.0, peak, warm), optax.constant_schedule(peak)], [warm]
    )


def thing(peak=0.1, warm=5):
    schedule = rates(peak, warm)
    return optax.chain(optax.trace(0.9), optax.scale_by_schedule(lambda c: -schedule(c)))
""")
    assert "self.rate = -jnp.where(self.step - 1.0 < self.warm, " in text
    assert "/ self.warm, 0.0, 1.0), self.peak)" in text


def test_a_transformation_that_is_masked_is_one_of_those_weights():
    text = converted("""\
def thing(rate=0.1, decay=0.1):
    large = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
    return optax.chain(
        optax.masked(optax.add_decayed_weights(decay), large), optax.scale(-rate)
    )
""")
    assert "if param.ndim > 1 else grad" in text


def test_what_is_injected_is_a_hyperparameter():
    text = converted("""\
def thing(rate=0.1):
    return optax.inject_hyperparams(optax.sgd)(learning_rate=rate)
""")
    assert "return -self.rate * grad" in text


def test_keywords_that_are_passed_on_are_left_out():
    found = made("""\
def inner(b=0.5):
    return optax.trace(b)


def thing(rate=0.1, **kwargs):
    return optax.chain(inner(**kwargs), optax.scale(-rate))
""")
    assert found.whole
    assert [n.what for n in found.notes] == ["`**kwargs` of `inner` is left out"]
