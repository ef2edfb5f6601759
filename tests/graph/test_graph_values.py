"""Values and flags of parameters: what may be set, what is copied, what is refused."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start
from jax.sharding import PartitionSpec as P

import mlax.graph as bx

X = jnp.ones((2, 3))
PATH = ("model", "linear", "kernel")


def linear() -> tuple[bx.Linear, bx.Params]:
    """A layer and its parameters, locked."""
    graph, rng, params = start()
    module = bx.Linear(graph.child("linear"), 4, rng=rng)
    return module, module(params, X, is_training=False)[1].locked()


def test_none_keeps_the_value_and_sets_what_is_known_about_it():
    module, params = linear()
    frozen = module.set_param(params, "kernel", None, trainable=False)
    assert frozen[PATH].value is params[PATH].value
    assert not frozen[PATH].trainable
    assert list(frozen) == list(params)
    assert frozen.is_locked
    assert PATH not in frozen.split()[0]
    assert module(frozen, X, is_training=False)[0].shape == (2, 4)
    tagged = module.set_param(frozen, "kernel", None, metadata={"sharding": P("a")})
    assert not tagged[PATH].trainable
    assert bx.partition_specs(tagged)[PATH].value == P("a")
    back = module.set_param(tagged, "kernel", None, trainable=np.True_)  # type: ignore[arg-type]
    assert back[PATH].trainable is True
    assert back[PATH].metadata == {"sharding": P("a")}
    assert module.set_param(back, "kernel", None)[PATH] == back[PATH]
    for some, error in ((params, bx.LockedError), (params.unlocked(), KeyError)):
        with pytest.raises(error, match="/nothing'"):
            module.set_param(some, "nothing", None, trainable=False)


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (jnp.ones((7, 7)), r"float32\[7, 7\]"),
        (jnp.ones((4, 3)), r"float32\[4, 3\]"),
        (jnp.ones(4), r"float32\[4\]"),
        (0.0, r"float32\[\]"),
        (np.ones((3, 4), np.int32), r"int32\[3, 4\]"),
        (jnp.ones((3, 4), bool), r"bool\[3, 4\]"),
        (jnp.ones((3, 4), complex), r"complex64\[3, 4\]"),
        (jax.random.split(jax.random.key(0), (3, 4)), r"key<fry>\[3, 4\]"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value, given):
    module, params = linear()
    message = rf"Linear: the parameter '{'/'.join(PATH)}' must be float32\[3, 4\], got {given}"
    message = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=message):
        module.set_param(params, "kernel", value)
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda v: module.set_param(params, "kernel", v))(value)


def test_a_value_that_fits_is_taken():
    module, params = linear()
    for value in (jnp.zeros((3, 4), jnp.bfloat16), np.zeros((3, 4), np.float32)):
        after = module.set_param(params, "kernel", value)
        assert after[PATH].value.dtype == value.dtype
    shapes = jax.eval_shape(lambda: params)
    struct = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    assert module.set_param(shapes, "kernel", struct)[PATH].value is struct


def test_pairs_have_the_shapes_and_dtypes_of_the_parameters():
    module, params = linear()
    weights, state = bx.params_to_pair(module, params)
    for wrong, shown in (
        (weights._replace(kernel=jnp.ones((4, 4))), r"float32\[4, 4\]"),
        (weights._replace(kernel=jnp.ones((3, 4), jnp.bfloat16)), r"bfloat16\[3, 4\]"),
        (weights._replace(kernel=jnp.ones((3, 4), int)), r"int32\[3, 4\]"),
        (jax.tree.map(lambda w: w[None], weights), r"float32\[1, 3, 4\]"),
    ):
        for into in (params, None):
            with pytest.raises(
                ValueError, match=rf"kernel.*float32\[3, 4\], got {shown}"
            ):
                bx.pair_to_params(module, wrong, state, into)


def test_pairs_of_repeated_modules_have_an_entry_for_each():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    inner = bx.Repeat(graph.child("inner"), linear, 2)
    model = bx.Repeat(graph.child("outer"), inner, 5)
    _, params = model(params, X, is_training=False)
    assert params["model", "linear", "kernel"].value.shape == (5, 2, 3, 3)
    pair = bx.params_to_pair(model, params)
    made = bx.pair_to_params(model, *pair)
    assert made["model", "linear", "kernel"].value.shape == (5, 2, 3, 3)
    swapped = jax.tree.map(lambda w: w.swapaxes(0, 1), pair)
    for into in (params, None):
        with pytest.raises(
            ValueError, match=r"\[5, 2, 3, 3\], got float32\[2, 5, 3, 3\]"
        ):
            bx.pair_to_params(model, swapped[0], swapped[1], into)


def ways_in(value: object) -> dict[str, bx.Params]:
    """Params with a value, by each way that a value gets in."""
    made = bx.Params({PATH: value})
    module, params = linear()
    return {
        "entries": made,
        "Param": bx.Params({PATH: bx.Param(value)}),
        "add": bx.Params().add(PATH, value),
        "set": made.set(PATH, value),
        "update": params.update({PATH: value}),
        "set_param": module.set_param(params, "kernel", value),
        "tree": jax.tree.map(lambda _: value, made),
        "pickle": pickle.loads(pickle.dumps(made)),
        "deepcopy": copy.deepcopy(made),
        "pair": bx.pair_to_params(
            module,
            bx.params_to_pair(module, params)[0]._replace(kernel=value),
            None,
            params,
        ),
    }


@pytest.mark.parametrize("view", [False, True])
def test_arrays_of_numpy_are_not_shared(view):
    value = np.ones((3, 4), np.float32)
    given = np.broadcast_to(value, value.shape) if view else value
    found = ways_in(given)
    value[:] = 7.0
    for name, params in found.items():
        kept = params[PATH].value
        assert (kept == 1.0).all(), name
        with pytest.raises(ValueError, match="read-only"):
            kept[0, 0] = 2.0


def test_what_nobody_can_write_to_is_not_copied():
    _, params = linear()
    fetched = jax.device_get(params.split()[0])
    again = bx.Params({path: param.value for path, param in fetched.items()})
    for path in again:
        assert again[path].value is fetched[path].value
    weight = jnp.ones(3)
    assert bx.Params({("a",): weight})["a",].value is weight


@pytest.mark.parametrize("flag", [np.True_, np.False_, np.array(True), True, False])
def test_flags_of_numpy_are_flags(flag):
    module, _ = linear()
    made = [
        bx.Params({("a",): bx.Param(X, trainable=flag)}),
        bx.Params().add(("a",), X, trainable=flag),
        bx.Params({("a",): X}).mark(("a",), trainable=flag),
        module.set_param(bx.Params(), "a", X, trainable=flag),
        module.get_param(
            bx.Params(), "a", (), jax.nn.initializers.ones, trainable=flag
        )[1],
    ]
    for params in made:
        [param] = params.values()
        assert param.trainable is bool(flag)
        parts = params.split()
        assert [len(part) for part in parts] == ([1, 0] if flag else [0, 1])
        assert list(parts[0].merge(parts[1])) == list(params)


@pytest.mark.parametrize(
    "flag", [1, 0, "no", 1.0, Fraction(1), jnp.array(True), [True]]
)
def test_other_flags_are_refused(flag):
    module, params = linear()
    for make in (
        lambda: bx.Param(X, trainable=flag),
        lambda: bx.Params().add(("a",), X, trainable=flag),
        lambda: params.mark(PATH, trainable=flag),
        lambda: module.set_param(params, "kernel", None, trainable=flag),
        lambda: module.set_param(bx.Params(), "a", X, trainable=flag),
    ):
        with pytest.raises(TypeError, match="trainable must be True or False, got"):
            make()


@pytest.mark.parametrize(
    "counter", [2**32, 2**32 + 3, -1, np.int64(2**32 + 3), np.int8(-1), jnp.int32(-1)]
)
def test_a_counter_that_would_be_another_is_refused(counter):
    _, rng, params = start()
    with pytest.raises(TypeError, match=r"below 2\*\*32 and an integer of at least 0"):
        rng.seed(params, counter=counter)
    assert int(rng.get_counter(rng.seed(params, counter=2**32 - 1))) == 2**32 - 1
