"""Params: immutable, a pytree by path, split and merged without loss."""

from __future__ import annotations

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_strategies import PATHS, examples, params_of, same
from hypothesis import given
from hypothesis import strategies as st

import mlax
import mlax.graph as bx


@examples
@given(params_of(), st.data())
def test_what_is_split_is_merged_as_it_was(params, data):
    chosen = (
        data.draw(st.sets(st.sampled_from(sorted(params)))) if len(params) else set()
    )
    for first, rest in (params.split(), params.split(lambda path, _: path in chosen)):
        assert len(first) + len(rest) == len(params)
        assert same(first.merge(rest), params)
        assert same(rest.merge(first), params)
    assert all(param.trainable for param in params.split()[0].values())


@examples
@given(params_of())
def test_flattening_is_undone(params):
    leaves, structure = jax.tree.flatten(params)
    assert same(jax.tree.unflatten(structure, leaves), params)
    assert (
        structure == jax.tree.structure(params.set(next(iter(params)), 0))
        if len(params)
        else True
    )
    rows = jax.tree_util.tree_leaves_with_path(params)
    assert [keys[0].key for keys, _ in rows] == list(params)
    assert [jax.tree_util.keystr(keys) for keys, _ in rows] == [
        f"[{p!r}]" for p in params
    ]


@examples
@given(params_of(), PATHS)
def test_nothing_changes_in_place(params, path):
    before, values = list(params.items()), jax.tree.leaves(params)
    params.locked().unlocked()
    for old in params:
        changed = params.set(old, 7)
        assert changed[old].value == 7
        assert changed[old].trainable == params[old].trainable
        assert old not in params.remove([old])
    if path not in params and not params.is_locked:
        assert path in params.add(path, 1)
    assert all(a is b for a, b in zip(values, jax.tree.leaves(params), strict=True))
    assert [p for p, _ in before] == list(params)
    with pytest.raises(AttributeError, match="immutable"):
        params.is_locked = True
    with pytest.raises(AttributeError, match="immutable"):
        del params._values


@examples
@given(params_of())
def test_it_is_copied_and_pickled(params):
    for other in (
        copy.copy(params),
        copy.deepcopy(params),
        pickle.loads(pickle.dumps(params)),
    ):
        assert jax.tree.structure(other) == jax.tree.structure(params)
        assert other.is_locked == params.is_locked
        assert hash(jax.tree.structure(other)) == hash(jax.tree.structure(params))


def model_params() -> bx.Params:
    made = {
        ("m", "kernel"): bx.Param(jnp.ones((2, 2)), metadata={"decay": True}),
        ("m", "count"): bx.Param(jnp.zeros(()), trainable=False),
    }
    return bx.Params(made).locked()


def step(params: bx.Params, x: jax.Array) -> tuple[bx.Params, jax.Array]:
    kernel, count = params["m", "kernel"].value, params["m", "count"].value
    return params.set(("m", "count"), count + 1), (x @ kernel).sum()


def test_transformations_see_through_it():
    params, x = model_params(), jnp.ones((3, 2))
    eager, y = step(params, x)
    traces = 0

    @jax.jit
    def counted(params, x):
        nonlocal traces
        traces += 1
        return step(params, x)

    compiled, other = counted(params, x)
    counted(compiled, x)
    assert traces == 1, "the result has the structure of the argument"
    assert jax.tree.structure(compiled) == jax.tree.structure(eager)
    assert compiled.is_locked
    assert y == other

    trainable, rest = params.split()
    gradients = jax.grad(lambda t: step(t.merge(rest), x)[1])(trainable)
    assert list(gradients) == [("m", "kernel")]
    np.testing.assert_array_equal(gradients["m", "kernel"].value, jnp.full((2, 2), 3.0))

    last, ys = jax.lax.scan(step, params, jnp.stack([x, x]))
    assert last["m", "count"].value == 2
    assert ys.shape == (2,)

    many = jax.vmap(lambda s: params.set(("m", "count"), s))(jnp.arange(4.0))
    assert many["m", "count"].value.shape == (4,)


def test_masks_are_made_of_paths_and_metadata():
    optax = pytest.importorskip("optax")
    trainable, _ = model_params().split()
    mask = trainable.update(
        {path: param.metadata.get("decay", False) for path, param in trainable.items()}
    )
    optimizer = optax.masked(optax.sgd(0.5), mask)
    updates, _ = optimizer.update(
        jax.tree.map(jnp.ones_like, trainable), optimizer.init(trainable), trainable
    )
    assert (updates["m", "kernel"].value == -0.5).all()


def test_names_in_files_are_paths():
    params = model_params().unlocked().add(("m", "a/b"), jnp.zeros(2))
    named = mlax.flatten(params)
    assert list(named) == ["m/kernel", "m/count", "m/a~1b"]
    assert same(mlax.unflatten(named, like=params), params)
    assert "m/kernel" in mlax.summary(params)


def test_locked_params_refuse_what_is_new():
    params = model_params()
    with pytest.raises(RuntimeError, match="Params is locked") as error:
        params.add(("m", "kernal"), 1)
    assert isinstance(error.value, KeyError)
    assert "did you mean 'm/kernel'?" in str(error.value)
    assert ("m", "bias") in params.unlocked().add(("m", "bias"), 1)
    assert len(params) == 2


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda p: p["m", "kernal"], KeyError, "did you mean"),
        (lambda p: p.set(("m", "kernal"), 1), KeyError, "did you mean"),
        (lambda p: p.unlocked().add(("m", "kernel"), 1), ValueError, "already"),
        (lambda p: p.unlocked().add("kernel", 1), TypeError, "tuple of strings"),
        (lambda p: p.unlocked().add((), 1), TypeError, "tuple of strings"),
        (lambda p: p.merge(p), ValueError, "both have"),
        (lambda p: p.merge({}), TypeError, "takes Params"),
        (lambda p: p.remove([("m", "bias")]), KeyError, "no parameter"),
        (lambda p: bx.Param(1, metadata={"axes": ["a"]}), TypeError, "tuple of a list"),
        (lambda p: bx.Metadata({1: 2}), TypeError, "a string"),  # type: ignore[dict-item]
    ],
)
def test_errors_say_what_to_do(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(model_params())
