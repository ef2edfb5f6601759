"""Optimizer contracts: they hold for a correct one, and fail for each broken variant."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from handmade_layers import static

from mlax.optim import freeze as Freeze
from mlax.optim import lion as Lion
from mlax_scaffold.testing import optimizer as contracts
from mlax_scaffold.testing import optimizer_claims as claims
from mlax_scaffold.testing.case import cast
from mlax_scaffold.testing.domains import Undefined
from mlax_scaffold.testing.dtypes import FLOAT_DTYPES
from mlax_scaffold.testing.optimizer import OptimizerCase
from mlax_scaffold.testing.optimizer_situation import OptimizerSituation
from mlax_scaffold.testing.optimizer_weights import taken, trees
from mlax_scaffold.testing.oracle import Spec, find_spec
from mlax_scaffold.testing.picks import Refused
from mlax_scaffold.testing.refusals import assert_names_masks
from mlax_scaffold.testing.strategies import Domain

HALF = jnp.bfloat16


class State(NamedTuple):
    steps: Any
    trace: Any


@static
class Hyperparams:
    learning_rate: Any
    moment_dtype: Any = None
    epsilon: float = 1e-3


def init(params, hyperparams):
    def zeros(param):
        return jnp.zeros(param.shape, hyperparams.moment_dtype or param.dtype)

    return State(jnp.zeros((), jnp.int32), jax.tree.map(zeros, params)), hyperparams


def step(gradients, state, params, hyperparams):
    rate = hyperparams.learning_rate
    if callable(rate):
        rate = rate(state.steps.astype(jnp.float32))
    rate = jnp.asarray(rate, jnp.float32)

    def moment(grad, trace):
        dtype = trace.dtype
        return 0.5 * trace + grad.astype(dtype) ** 2

    def update(grad, trace, param):
        dtype = trace.dtype
        scaled = grad.astype(dtype) / (jnp.sqrt(trace) + hyperparams.epsilon)
        return (-rate.astype(dtype) * scaled).astype(param.dtype)

    trace = jax.tree.map(moment, gradients, state.trace)
    updates = jax.tree.map(update, gradients, trace, params)
    return updates, State(state.steps + 1, trace)


def schedule(step):
    return 0.1 / (step + 1)


def case(moment_dtype=None, learning_rate: Any = 0.1, epsilon=1e-3, **kwargs):
    def bound(params):
        dtype = None if moment_dtype is None else jnp.dtype(moment_dtype)
        return init(params, Hyperparams(learning_rate, dtype, epsilon))

    arguments = {"init": bound, "step": step, "moment_dtype": moment_dtype} | kwargs
    return OptimizerCase("RMSProp", **arguments)


def situation(case, dtype=jnp.float32):
    """A case with weights of a dtype; there is no spec."""
    spec = Spec(Path(__file__), Path(__file__).parent)
    weights = cast(trees()["dict"], dtype)
    return OptimizerSituation(case, spec, jnp.dtype(dtype), weights)


def changed(change_updates=lambda u: u, **changes):
    def changed_step(gradients, state, params, hyperparams):
        updates, new = step(gradients, state, params, hyperparams)
        return change_updates(updates), new._replace(
            **{k: f(getattr(new, k)) for k, f in changes.items()}
        )

    return case(step=changed_step)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
@pytest.mark.parametrize("moment_dtype", [None, jnp.float32, jnp.float64])
@pytest.mark.parametrize("rate", [0.1, schedule])
def test_dtypes(dtype, moment_dtype, rate):
    claims.keep_the_dtype(situation(case(moment_dtype, rate), dtype))


@pytest.mark.parametrize("moment_dtype", [None, jnp.float32])
def test_mixed_dtypes(moment_dtype):
    contracts.assert_mixed_dtypes(case(moment_dtype, schedule))


def test_structure():
    contracts.assert_structure(case())
    claims.have_static_hyperparameters(situation(case(learning_rate=schedule)))


def map_all(fn):
    return lambda tree: jax.tree.map(fn, tree)


def array_rate(gradients, state, params, hyperparams):
    rate = jnp.full((3,), 0.1, jnp.float32)
    updates, new = step(gradients, state, params, hyperparams)
    return map_all(lambda u: (rate * u).astype(u.dtype))(updates), new


def to_float32(value):
    return value.astype(jnp.float32)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (changed(map_all(to_float32)), r"updates\['bias'\] is float32\[3\]"),
        (changed(trace=map_all(to_float32)), r"state.trace\['bias'\] is float32"),
        (case(step=array_rate), r"(?s)float32\[3\].*mul result"),
        (changed(steps=lambda _: jnp.asarray(1)), "weakly typed"),
        (changed(lambda u: [u]), "updates has the structure"),
        (
            case(
                init=lambda p: ({"steps": jnp.asarray(0), "trace": p}, Hyperparams(1))
            ),
            "init makes weakly typed state",
        ),
    ],
)
def test_broken_dtypes(broken, message):
    with pytest.raises(AssertionError, match=message):
        claims.keep_the_dtype(situation(broken, HALF))


def test_undeclared_moment_dtype_is_found():
    undeclared = dataclasses.replace(case(jnp.float32), moment_dtype=None)
    with pytest.raises(AssertionError, match=r"float32\[2,3\]"):
        claims.keep_the_dtype(situation(undeclared, HALF))


def test_broken_mixed_dtypes():
    def one_dtype(updates):
        return map_all(lambda u: u.astype(HALF))(updates)

    with pytest.raises(AssertionError, match=r"updates\['single'\] is bfloat16\[11\]"):
        contracts.assert_mixed_dtypes(changed(one_dtype))


def rounds_all(gradients, state, params, hyperparams):
    """A step that rounds every gradient to the narrowest dtype of the tree."""
    narrow = min((p.dtype for p in jax.tree.leaves(params)), key=lambda d: d.itemsize)
    rounded = map_all(lambda g: 2 * g.astype(narrow))(gradients)
    back = jax.tree.map(lambda r, g: r.astype(g.dtype), rounded, gradients)
    return step(back, state, params, hyperparams)


def test_a_weight_rounded_to_the_dtype_of_another_is_found():
    with pytest.raises(AssertionError, match=r"(?s)dtypes, single.*bfloat16\[11\]"):
        contracts.assert_mixed_dtypes(case(step=rounds_all))


class OtherState(NamedTuple):
    trace: Any


def state_of(make):
    return case(
        init=lambda params: (OtherState(make(params)), Hyperparams(0.1)),
        step=lambda gradients, state, params, hyperparams: (gradients, state),
    )


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (state_of(jax.tree.leaves), "'leaf': the moment trace has the structure"),
        (state_of(lambda p: (p,)), "moment trace has the structure"),
        (
            case(init=lambda params: ([params], Hyperparams(0.1))),
            "expected a NamedTuple",
        ),
        (changed(jax.tree.leaves), "'leaf': updates has the structure"),
    ],
)
def test_broken_structure(broken, message):
    with pytest.raises(AssertionError, match=message):
        contracts.assert_structure(broken)


def test_moments_may_have_other_shapes():
    contracts.assert_structure(state_of(map_all(lambda v: v[..., None])))


def test_partial_moments_need_no_structure():
    broken = state_of(jax.tree.leaves)
    contracts.assert_structure(dataclasses.replace(broken, partial_moments=("trace",)))


def new_function_each_time():
    return case(
        init=lambda params: init(params, Hyperparams(lambda step: 0.1)),
    )


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (new_function_each_time(), "not equal or have different hashes"),
        (
            case(
                init=lambda p: (init(p, Hyperparams(0.1))[0], (Hyperparams(0.1), 0.1))
            ),
            "must be a static pytree, but have the leaves",
        ),
        (case(init=lambda p: init(p, Hyperparams([0.1]))), "must be hashable"),
    ],
)
def test_hyperparameters_that_are_not_static(broken, message):
    with pytest.raises(AssertionError, match=message):
        claims.have_static_hyperparameters(situation(broken))


def divided(gradients, state, params, hyperparams):
    """Gradients divided by the mean of all."""
    leaves = jax.tree.leaves(gradients)
    mean = sum(abs(g).max() for g in leaves) / len(leaves)
    updates, new = step(gradients, state, params, hyperparams)
    return map_all(lambda u: u / jnp.asarray(mean, u.dtype))(updates), new


@pytest.mark.parametrize(
    ("scale", "error"),
    [
        (lambda leaves: leaves[0].shape[0], IndexError),
        (lambda leaves: functools.reduce(max, leaves), TypeError),
        (lambda leaves: operator.attrgetter("dtype")(sum(leaves)), AttributeError),
    ],
)
def test_what_takes_a_leaf_may_be_undefined_without_weights(scale, error):
    def scaled(gradients, state, params, hyperparams):
        if not jax.tree.leaves(gradients):
            scale([])
        return step(gradients, state, params, hyperparams)

    with pytest.raises(error):
        contracts.assert_structure(case(step=scaled))
    contracts.assert_structure(case(step=scaled, unsaid=True))


def test_what_may_be_undefined_without_gradients():
    mean = case(step=divided)
    with pytest.raises(AssertionError, match="not finite within 3 steps with zero"):
        contracts.assert_zero_gradients(mean)
    with pytest.raises(ZeroDivisionError):
        contracts.assert_structure(mean)
    unsaid = dataclasses.replace(mean, unsaid=True)
    contracts.assert_zero_gradients(unsaid)
    contracts.assert_structure(unsaid)
    with pytest.raises(AssertionError, match="that are zero in one array"):
        contracts.assert_zero_gradients(case(epsilon=1e-12, unsaid=True))


def test_hyperparameters_for_which_it_is_undefined_are_told_apart():
    def undefined(gradients, state, params, hyperparams):
        updates, new = step(gradients, state, params, hyperparams)
        return map_all(lambda u: u * jnp.asarray(jnp.nan, u.dtype))(updates), new

    with pytest.raises(Undefined):
        contracts.assert_zero_gradients(case(step=undefined, unsaid=True))
    with pytest.raises(AssertionError) as told:
        contracts.assert_zero_gradients(case(step=undefined))
    assert not isinstance(told.value, Undefined)
    with pytest.raises(AssertionError) as told:
        contracts.assert_zero_gradients(case(epsilon=1e-12, unsaid=True))
    assert not isinstance(told.value, Undefined)


def test_zero_gradients():
    contracts.assert_zero_gradients(case())
    contracts.assert_zero_gradients(case(), HALF)
    with pytest.raises(AssertionError, match=r"(?s)'updates'.*not finite.*in float16"):
        contracts.assert_zero_gradients(case(epsilon=1e-12))
    contracts.assert_zero_gradients(case(jnp.float32, epsilon=1e-12))


def test_a_key_that_an_optimizer_may_do_without_is_used_once():
    def twice(gradients, state, params, hyperparams, key=None, **inputs):
        updates, new = step(gradients, state, params, hyperparams)
        if key is None:
            return updates, new
        return jax.tree.map(
            lambda u: u * jax.random.normal(key, u.shape, u.dtype), updates
        ), new

    given = situation(case(step=twice))
    claims.use_no_key_twice(given)
    given = dataclasses.replace(given, inputs=("value", "key"))
    with pytest.raises(AssertionError, match="key"):
        claims.use_no_key_twice(given)


def test_a_mask_that_selects_nothing_is_told():
    def spec(name):
        return find_spec(f"mlax_scaffold/specs/optim/{name}.py", near=__file__)

    def silent(trainables, **given):
        return Freeze.init(trainables, **given | {"mask": lambda path, weight: True})

    required = OptimizerCase.of("Freeze", Freeze, {"mask": None})
    optional = OptimizerCase.of("Lion", Lion, {"learning_rate": 0.1})
    assert_names_masks(required, spec("freeze"), Freeze.init)
    assert_names_masks(optional, spec("lion"), Lion.init)
    with pytest.raises(AssertionError, match=r"tells \[\], expected a ValueError"):
        assert_names_masks(
            required, spec("freeze"), functools.wraps(Freeze.init)(silent)
        )
    renamed = dataclasses.replace(optional, name="Lions")
    with pytest.raises(AssertionError, match="expected a UserWarning that says so"):
        assert_names_masks(renamed, spec("lion"), Lion.init)


@pytest.mark.parametrize(
    ("fails", "unsaid"), list(itertools.product((True, False), repeat=2))
)
def test_hyperparameters_that_the_spec_takes_no_step_with_are_no_case(
    fails: bool, unsaid: bool
):
    def failing(gradients, state, params, hyperparams):
        raise IndexError("of an axis of size 0")

    class Situation(OptimizerSituation):
        @functools.cached_property
        def expected(self) -> Any:
            return failing(*4 * [None]) if fails else (None, None)

    def first(name: str, domain: Domain):
        return domain.levels[0][0]

    spec = Spec(Path(__file__), Path(__file__).parent)
    told = Refused if fails and unsaid else IndexError
    with pytest.raises(told):
        Situation.pick(case(step=failing, unsaid=unsaid), spec, first)


def moved(change):
    """The optimizer with another last step, of its update and the weight."""

    def changed_step(gradients, state, params, hyperparams):
        updates, new = step(gradients, state, params, hyperparams)
        return jax.tree.map(change, updates, params), new

    return case(step=changed_step)


@pytest.mark.parametrize(
    "change",
    [
        lambda u, w: w + u,
        lambda u, w: jnp.clip(w + u, -1, 1),
        lambda u, w: (w + u) / jnp.maximum(jnp.linalg.norm(w + u), 0.1).astype(w.dtype),
        lambda u, w: jnp.sign(w + u) * jnp.maximum(jnp.abs(w + u) - 0.01, 0),
    ],
    ids=["alone", "cut off", "normalized", "shrunk"],
)
def test_the_weight_after_the_step_is_no_update(change):
    with pytest.raises(AssertionError, match="the updates are the weights after"):
        contracts.assert_zero_gradients(moved(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda u, w: u - 0.5 * w,
        lambda u, w: -u + w,
        lambda u, w: jnp.where(w + u < 0, -w, u),
        lambda u, w: jnp.clip(w + u, -1, 1) - w,
    ],
    ids=["decayed", "L2", "kept positive", "projected"],
)
def test_what_follows_from_the_weight_may_be_an_update(change):
    contracts.assert_zero_gradients(moved(change))


def of_matrices(message="a weight has two axes", **settings):
    """The optimizer for matrices alone, as a requirement of it says."""

    def bound(params):
        for param in jax.tree.leaves(params):
            if param.ndim != 2:
                raise ValueError(message)
        return init(params, Hyperparams(0.1))

    return case(init=bound, requirements=("two axes",), **settings)


def test_weights_that_a_requirement_refuses_are_left_out():
    only = of_matrices()
    given = trees()["dict"]
    assert taken(only, given) == given | {"bias": None}
    assert taken(case(requirements=("two axes",)), given) is given
    assert taken(of_matrices("something else"), given) is given
    contracts.assert_structure(only)
    contracts.assert_mixed_dtypes(only)
    contracts.assert_zero_gradients(only)
    with pytest.raises(AssertionError, match="float32"):
        contracts.assert_mixed_dtypes(of_matrices(step=widened))
    assert taken(of_matrices(), given["bias"]) is given["bias"]
    with pytest.raises(ValueError, match="two axes"):
        jax.eval_shape(only.initialize, given["bias"])


def widened(gradients, state, params, hyperparams):
    updates, new = step(gradients, state, params, hyperparams)
    return jax.tree.map(
        lambda u: (u.astype(jnp.float32) * 2).astype(u.dtype), updates
    ), new
