"""Over a mesh of explicit axes, which `jax.make_mesh` makes, a batch is divided as over any other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from numerics_programs import run_on_devices

PROGRAM = """
import json
import jax, jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from numerics_optimizers import FAST_COMPILATION
from mlax import block, functional, loss, nn

draw = jax.random.key(0)


def array(*shape, dtype=jnp.float32):
    return jax.random.normal(jax.random.fold_in(draw, len(shape)), shape, dtype)


def integers(high, *shape):
    return jax.random.randint(jax.random.fold_in(draw, len(shape)), shape, 0, high)


def layer(module, made, x, **inputs):
    trainables, state, hyperparams = made

    def run(trainables, x, **inputs):
        return module.fwd(x, trainables, state, hyperparams, key=draw, **inputs)[0]

    return run, trainables, (x,), inputs


def cell(dtype):
    return nn.GRUCell.init(jax.random.key(1), 3, 4, dtype=dtype)


def function(f, *x, **options):
    return lambda trainables, *x: f(*x, **options), None, x, {}



half = jnp.bfloat16
CASES = {
    "Dropout": layer(nn.Dropout, nn.Dropout.init(rate=0.3), array(8, 5)),
    "AlphaDropout": layer(nn.AlphaDropout, nn.AlphaDropout.init(rate=0.3), array(8, 5)),
    "Embed": layer(nn.Embed, nn.Embed.init(draw, 6, 3), integers(6, 8, 5)),
    "Embed, half": layer(
        nn.Embed, nn.Embed.init(draw, 6, 3, dtype=half), integers(6, 8, 5)
    ),
    "Linear": layer(
        nn.Linear,
        nn.Linear.init(draw, 5, 6),
        array(8, 5),
        kernel_mask=integers(2, 5, 6) > 0,
    ),
    "BatchNorm": layer(nn.BatchNorm, nn.BatchNorm.init(draw, 5), array(8, 5)),
    "GRU": layer(
        block.Recurrent,
        block.Recurrent.init(cell(None)),
        array(8, 6, 3),
        lengths=integers(7, 8),
    ),
    "GRU, half": layer(
        block.Recurrent, block.Recurrent.init(cell(half)), array(8, 6, 3, dtype=half)
    ),
    "MultiHeadAttention": layer(
        nn.MultiHeadAttention,
        nn.MultiHeadAttention.init(draw, 8, 2, dropout_rate=0.2),
        array(8, 4, 8),
    ),
    "chunked_attention": function(
        functional.chunked_attention,
        *(array(8, 7, 2, 4) for _ in range(3)),
        chunk_size=2,
        causal=True,
    ),
    "ctc_loss": function(loss.ctc_loss, array(8, 7, 5), 1 + integers(4, 8, 3)),
    "ctc_loss, half": function(
        loss.ctc_loss, array(8, 7, 5, dtype=half), 1 + integers(4, 8, 3)
    ),
    "softmax_cross_entropy": function(
        loss.softmax_cross_entropy_with_integer_labels, array(8, 5), integers(5, 8)
    ),
    "top_k_logits": function(functional.top_k_logits, array(8, 5), k=2),
}
mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))
divided, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())


def is_of_the_batch(x):
    return x.shape[:1] == (8,)


def place(tree):
    return jax.tree.map(
        lambda x: jax.device_put(x, divided if is_of_the_batch(x) else whole), tree
    )


def everything(run, trainables, x, inputs):
    def total(trainables, x):
        y = run(trainables, *x, **inputs)
        return jnp.sum(jnp.sin(y.astype(jnp.float32))), y

    given = [i for i, a in enumerate(x) if jnp.issubdtype(a.dtype, jnp.floating)]

    def of(trainables, floats):
        full = list(x)
        for i, value in zip(given, floats):
            full[i] = value
        return total(trainables, full)

    run_both = jax.jit(
        jax.grad(of, argnums=(0, 1), has_aux=True), compiler_options=FAST_COMPILATION
    )
    return run_both(trainables, [x[i] for i in given])


for name, (run, trainables, x, inputs) in CASES.items():
    alone = everything(run, trainables, x, inputs)
    with jax.set_mesh(mesh):
        weights = jax.tree.map(lambda w: jax.device_put(w, whole), trainables)
        there = everything(run, weights, place(x), place(inputs))
    y = there[1]
    differences = [
        float(np.max(np.abs(np.float64(a) - np.float64(b))))
        for a, b in zip(jax.tree.leaves(there), jax.tree.leaves(alone), strict=True)
    ]
    largest = max(float(np.max(np.abs(np.float64(a)))) for a in jax.tree.leaves(alone))
    print(json.dumps([name, [y.sharding.spec[0], max(differences) / largest]]))
"""

ROUNDED = {True: 2e-2, False: 1e-5}
"""How far two orders of one sum lie apart, as a part of the largest number; in 16 bits and in 32."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return dict(map(json.loads, run_on_devices(PROGRAM).splitlines()))


def test_results_lie_where_the_batch_does(found):
    assert {name: place for name, (place, _) in found.items() if place != "data"} == {}


def test_numbers_and_gradients_are_those_of_one_device(found):
    assert len(found) == 14
    assert {
        name: far for name, (_, far) in found.items() if far > ROUNDED["half" in name]
    } == {}
