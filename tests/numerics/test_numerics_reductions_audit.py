"""No item of the library adds 16-bit numbers one after another, gradients included."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.benchmarks.accuracy import Subject
from tests.library import library

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.render.docs.accuracy import place
from mlax_scaffold.testing.sums import assert_no_narrow_sums, narrow_sums

KINDS = (Kind.FUNCTION, Kind.LAYER, Kind.BLOCK)
ITEMS = {place(d): d for d in library() if d.kind in KINDS}
UNDERIVED = {
    *(
        "functional/bernoulli",
        "functional/categorical",
        "functional/dropout",
        "functional/reduce_windows",
        "nn/alibi_bias",
        "nn/einsum",
        "nn/f",
    ),
    *("nn/linear_general", "nn/patch_embed", "nn/running_z_norm"),
}
"""Items whose arguments nothing derives from their specs."""


def _program(definition):
    """The item on bfloat16 with its gradients, as a jaxpr."""
    subject = Subject(definition, 64, 8)
    made = getattr(
        importlib.import_module(f"mlax.{definition.section}"), definition.name
    )

    def abstract(value):
        value = np.asarray(value)
        floating = np.issubdtype(value.dtype, np.floating)
        return jax.ShapeDtypeStruct(
            value.shape, jnp.bfloat16 if floating else value.dtype
        )

    arrays = jax.tree.map(abstract, subject.arrays)
    trees = (None, None, None)
    if definition.kind is not Kind.FUNCTION:
        dtype = {"dtype": jnp.bfloat16} if definition.declarations else {}
        keys = [jax.random.key(0)] if definition.declarations else []
        trees = jax.eval_shape(lambda: made.init(*keys, **subject.values, **dtype))
    trainables, state, hyperparams = trees

    def call(floats, others, state, key):
        arrays, trainables = jax.tree.unflatten(structure, _merged(floats, others))
        if definition.kind is Kind.FUNCTION:
            return made(*arrays, **subject.values)
        x = arrays[0] if len(arrays) == 1 else tuple(arrays)
        return made.fwd(x, trainables, state, hyperparams, False, key)[0]

    leaves, structure = jax.tree.flatten((arrays, trainables))
    floats = [v if jnp.issubdtype(v.dtype, jnp.floating) else None for v in leaves]
    others = [v if f is None else None for v, f in zip(leaves, floats, strict=True)]

    def gradient(floats, others, state, key):
        def results(floats):
            y = jax.tree.leaves(call(floats, others, state, key))
            return [v for v in y if jnp.issubdtype(v.dtype, jnp.floating)]

        y, vjp = jax.vjp(results, floats)
        return vjp([jnp.ones_like(v) for v in y])

    key = jax.eval_shape(lambda: jax.random.key(0))
    return jax.make_jaxpr(gradient)(floats, others, state, key)


def _merged(floats, others):
    pairs = zip(floats, others, strict=True)
    return [other if value is None else value for value, other in pairs]


@pytest.mark.parametrize("name", ITEMS)
def test_no_sum_is_narrow(name):
    if ITEMS[name].structural() or name in UNDERIVED:
        return
    assert_no_narrow_sums(_program(ITEMS[name]), what=name)


def test_items_that_are_not_derived_are_items():
    assert ITEMS.keys() >= UNDERIVED


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.lax.reduce(x, x.dtype.type(0), jax.lax.add, (0,)),
        lambda x: jnp.cumsum(x, 0),
        lambda x: jnp.zeros_like(x).at[jnp.zeros(3, int)].add(x),
        lambda x: jax.lax.reduce_window(
            x, x.dtype.type(0), jax.lax.add, (2, 2), (1, 1), "VALID"
        ),
        jax.jit(jax.grad(lambda x: (jnp.ones((5, 3, 3), x.dtype) * x)[0, 0, 0])),
    ],
    ids=["reduce", "cumsum", "scatter", "window", "broadcast"],
)
def test_the_audit_finds_sums_of_16_bits_only(function):
    for dtype, several in (("bfloat16", 1), ("float16", 1), ("float32", 0)):
        x = jnp.ones((3, 3), dtype)
        found = narrow_sums(jax.make_jaxpr(function)(x))
        assert len(found) >= several if several else not found, found
