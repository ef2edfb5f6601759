"""What a spec says of axes is kept, and told where it is not."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from mlax import graph
from mlax.nn import global_avg_pool as GlobalAvgPool
from mlax.nn import layer_norm as LayerNorm
from mlax.nn import multi_head_attention as MultiHeadAttention
from mlax_scaffold.model.invariances import Invariance
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import claims
from mlax_scaffold.testing.dims import Shapes, shapes_of
from mlax_scaffold.testing.fitting import hyperparams_of, known
from mlax_scaffold.testing.invariances import _inputs, assert_invariance
from mlax_scaffold.testing.kinds import layer
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.strategies import booleans, just

ATTENTION = "mlax_scaffold/specs/nn/multi_head_attention.py"
POOL = "mlax_scaffold/specs/nn/global_avg_pool.py"


def attention(line, fwd=MultiHeadAttention.fwd):
    """The contract of attention, causal or not, with another `fwd`."""
    module = SimpleNamespace(init=MultiHeadAttention.init, fwd=fwd)
    shape = "*batch queries features"

    @layer(
        "MultiHeadAttention",
        find_spec(ATTENTION, near=__file__),
        module.init,
        invariances=[line],
        returns=shape,
    )
    def cases(pick):
        fields = {
            "features": 4,
            "heads": pick("heads", just(1, 2)),
            "causal": pick("causal", booleans()),
        }
        shapes = shapes_of(pick, {"x": shape}, known(hyperparams_of(module, fields)))
        return Case.of_layer(
            "MultiHeadAttention",
            module,
            graph.MultiHeadAttention,
            fields,
            shapes=shapes,
            x=shapes.array("x"),
        )

    return cases


def pool(fwd):
    module = SimpleNamespace(init=GlobalAvgPool.init, fwd=fwd)

    @layer(
        "GlobalAvgPool",
        find_spec(POOL, near=__file__),
        module.init,
        invariances=["permutable spatial"],
        returns="...",
    )
    def cases(pick):
        fields = {"spatial_dims": 1, "keepdims": False}
        shapes = shapes_of(
            pick, {"x": "*batch *spatial"}, known(hyperparams_of(module, fields))
        )
        return Case.of_layer(
            "GlobalAvgPool",
            module,
            graph.GlobalAvgPool,
            fields,
            shapes=shapes,
            x=shapes.array("x"),
        )

    return cases


def try_last(contract):
    claims(contract)[-1].values[0]()


def always_sees_all(x, trainables, non_trainables, hyperparams, **options):
    other = dataclasses.replace(hyperparams, causal=False)
    return MultiHeadAttention.fwd(x, trainables, non_trainables, other, **options)


def weighted(x, trainables, non_trainables, hyperparams, **options):
    weights = jnp.arange(x.shape[-1], dtype=x.dtype)
    return GlobalAvgPool.fwd(
        x * weights, trainables, non_trainables, hyperparams, **options
    )


def test_what_is_said_is_kept():
    try_last(attention("causal queries if causal"))
    try_last(attention("permutable queries if not causal"))
    try_last(attention("independent batch"))
    try_last(pool(GlobalAvgPool.fwd))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("causal queries if not causal", "be causal along queries"),
        ("independent queries", "be independent along queries"),
        ("permutable queries if causal", "be permutable along queries"),
    ],
)
def test_what_does_not_hold_is_told(line, message):
    with pytest.raises(AssertionError, match=message) as error:
        try_last(attention(line))
    assert "The smallest case is" in str(error.value)


def test_code_that_breaks_it_is_caught():
    with pytest.raises(AssertionError, match="be causal along queries"):
        try_last(attention("causal queries if causal", always_sees_all))
    with pytest.raises(AssertionError, match="be permutable along spatial"):
        try_last(pool(weighted))


def test_where_nothing_shows_it_the_claim_is_broken():
    with pytest.raises(AssertionError, match="no case shows it"):
        try_last(attention("causal features if not heads"))


def test_lines():
    for line in "causal time", "independent batch if inference", "causal t if not x":
        assert str(Invariance.parse(line)) == line
    for line in "causal", "slow time", "causal time when x", "causal time if x and y":
        with pytest.raises(ValueError, match=r"nothing of an axis|is none of"):
            Invariance.parse(line)


def test_a_mask_that_may_be_left_out_is_left_out_where_positions_change():
    spec = find_spec("mlax_scaffold/specs/nn/layer_norm.py", near=__file__)

    @layer("LayerNorm", spec, LayerNorm.init, invariances=["permutable batch"])
    def cases(pick):
        hyperparameters = {"features": 3}
        shapes = shapes_of(
            pick,
            {"x": "*batch features", "mask": "# *batch features"},
            known(hyperparams_of(LayerNorm, hyperparameters)),
            ranks={"batch": 1},
        )
        given = pick("mask is given", booleans())
        inputs = {"mask": shapes.array("mask", jnp.bool_)} if given else {}
        x = shapes.array("x")
        return Case.of_layer(
            "LayerNorm",
            LayerNorm,
            None,
            hyperparameters,
            shapes=shapes,
            x=x,
            inputs=inputs,
        )

    claim = claims(cases)[-1].values[0].claim
    assert claim.name == "be_permutable_along_batch"
    shown = [picked for situation, picked in cases.covering if claim.where(situation)]
    assert shown
    assert not any(picked["mask is given"] for picked in shown)
    for situation, picked in cases.covering:
        if picked["mask is given"] and picked.get("axes that mask lacks", 0) == 0:
            assert_invariance(
                situation, Invariance.parse("permutable batch"), "*batch features"
            )


def test_what_broadcasts_has_the_same_axis_of_several():
    array: Any = jax.ShapeDtypeStruct
    patterns = {"x": "*batch features", "bias": "# *batch features"}
    for shape, axis in (((1, 4, 3), 1), ((4, 3), 0), ((1, 1, 3), None), ((3,), None)):
        arrays = {"x": array((1, 4, 3), jnp.float32), "bias": array(shape, jnp.float32)}
        sizes = {"batch": (1, 4), "features": 3}
        shapes = Shapes({}, sizes, {}, patterns, arrays=arrays)
        case = SimpleNamespace(
            shapes=shapes, x=arrays["x"], inputs={"bias": arrays["bias"]}
        )
        given = arrays["x"], None, None, {"bias": arrays["bias"]}, None
        situation: Any = SimpleNamespace(case=case, arrays=given)
        assert dict(_inputs(situation, "batch")) == {0: 1, 1: axis}
