"""What a call does that is not compiled: again only what it has to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import mlax.graph as bx
from mlax import functional, nn
from mlax._core.checks import _shapes

KEY = jax.random.key(0)


def linear() -> Callable[[jax.Array], Any]:
    """A layer, with an input that is not given: the mask of its kernel."""
    layer = nn.Linear.init(KEY, 3, 3)
    return lambda x: nn.Linear.fwd(x, *layer)


def convolution() -> Callable[[jax.Array], Any]:
    """A function, which has no hyperparameters to remember anything."""
    kernel = jnp.ones((3, 3, 3))
    return lambda x: functional.conv(x, kernel, spatial_dims=1, channel_last=True)


@pytest.mark.parametrize("make", [linear, convolution])
def test_shapes_that_fitted_are_not_compared_again(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Callable[[jax.Array], Any]]
):
    call = make()
    call(jnp.ones((2, 4, 3)))

    def compared(*given: Any) -> None:
        raise AssertionError(f"compared again: {given}")

    monkeypatch.setattr(_shapes, "_check", compared)
    call(jnp.ones((2, 4, 3)))
    with pytest.raises(AssertionError, match="compared again"):
        call(jnp.ones((2, 5, 3)))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Bias.init(KEY, 3), (2, 3)),
        (nn.Scaler.init(KEY, 3, leading_features=(4,)), (2, 4, 3)),
        (nn.Conv.init(KEY, 1, 3, 4, 2, channel_last=True), (1, 5, 3)),
        (nn.DepthwiseConv.init(KEY, 1, 3, 2, channel_last=True), (1, 5, 3)),
        (nn.SeparableConv.init(KEY, 1, 3, 4, 2, channel_last=True), (1, 5, 3)),
        (nn.ConvTranspose.init(KEY, 1, 3, 4, 2, channel_last=True), (1, 5, 3)),
    ],
    ids=["Bias", "Scaler", "Conv", "DepthwiseConv", "SeparableConv", "ConvTranspose"],
)
def test_weights_of_the_last_axis_get_no_others(
    monkeypatch: pytest.MonkeyPatch, layer: Any, shape: tuple[int, ...]
):
    added: list[Any] = []
    expanded = jax.lax.expand_dims

    def expand(x: Any, axes: Any) -> Any:
        added.append(tuple(axes))
        return expanded(x, axes)

    monkeypatch.setattr(jax.lax, "expand_dims", expand)
    layer[2].apply(jnp.ones(shape), *layer[:2])
    assert () not in added


def test_so_many_shapes_are_remembered_and_the_last_of_them(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(_shapes, "_REMEMBERED", 2)
    call = convolution()
    for size in range(3, 9):
        call(jnp.ones((size, 3)))
        assert len(_shapes._OF_FUNCTIONS) <= 2
    compared: list[Any] = []
    monkeypatch.setattr(_shapes, "_check", lambda *given: compared.append(given))
    call(jnp.ones((8, 3)))
    assert not compared


def test_the_outline_of_a_module_is_made_again_where_it_changes(
    monkeypatch: pytest.MonkeyPatch,
):
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    module = bx.Linear(graph.child("linear"), 3, rng=rng)
    x = jnp.ones((1, 2))
    _, params = module(rng.seed(bx.Params(), seed=0), x)
    made: list[Any] = []
    shapes_of = jax.eval_shape
    monkeypatch.setattr(
        jax, "eval_shape", lambda *given: made.append(given) or shapes_of(*given)
    )
    module(params, x)
    assert not made
    module.output_size = 4
    with pytest.raises(ValueError, match=r"must have shape \(2, 4\)"):
        module(params, x)
    assert len(made) == 1
