"""What PyTorch and jax draw is its mean where an original is compared with its layer in inference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.testing.drawn_means import drawn_means
from mlax_scaffold.testing.means_of_jax import means_of_jax


class Tensor(np.ndarray):
    """An array with the methods that draw."""

    def fill_(self, value: Any) -> Any:
        self[...] = value
        return self

    def normal_(self, mean: float = 0.0, std: float = 1.0) -> Any:
        raise AssertionError("drawn")

    def uniform_(self, low: float = 0.0, high: float = 1.0) -> Any:
        raise AssertionError("drawn")


def drawn(*size: Any, **given: Any) -> Any:
    raise AssertionError("drawn")


@pytest.fixture
def torch() -> SimpleNamespace:
    """The functions of PyTorch that draw, and those that their means are made of."""
    titles = ("randn", "randn_like", "rand", "rand_like", "normal")
    return SimpleNamespace(
        Tensor=Tensor,
        zeros=lambda *size, **given: np.zeros(
            size[0] if isinstance(size[0], tuple) else size, **given
        ),
        zeros_like=np.zeros_like,
        **dict.fromkeys(titles, drawn),
    )


@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda torch: torch.randn(2, 3, generator=None), 0.0),
        (lambda torch: torch.randn((2, 3)), 0.0),
        (lambda torch: torch.randn_like(np.ones((2, 3))), 0.0),
        (lambda torch: torch.rand(2, 3), 0.5),
        (lambda torch: torch.rand_like(np.ones((2, 3))), 0.5),
        (lambda torch: torch.normal(np.full((2, 3), 4.0), np.ones((2, 3))), 4.0),
        (lambda torch: torch.normal(1.5, 2.0, (2, 3)), 1.5),
        (lambda torch: np.ones((2, 3)).view(Tensor).normal_(2.0, 1.0), 2.0),
        (lambda torch: np.ones((2, 3)).view(Tensor).uniform_(1.0, 2.0), 1.5),
    ],
)
def test_what_is_drawn_is_the_mean(torch, draw, mean):
    with drawn_means(torch):
        np.testing.assert_array_equal(draw(torch), np.full((2, 3), mean))


def test_draws_are_what_they_were_afterwards(torch):
    with pytest.raises(ZeroDivisionError), drawn_means(torch):
        raise ZeroDivisionError
    assert torch.randn is torch.normal is drawn
    with pytest.raises(AssertionError, match="drawn"):
        np.ones(3).view(Tensor).normal_()


@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda key: jax.random.normal(key, (2, 3)), 0.0),
        (lambda key: jax.random.normal(key, shape=(2, 3), dtype=jnp.float16), 0.0),
        (lambda key: jax.random.truncated_normal(key, -2.0, 2.0, (2, 3)), 0.0),
        (lambda key: jax.random.uniform(key, (2, 3)), 0.5),
        (lambda key: jax.random.uniform(key, (2, 3), jnp.float32, -1.0, 2.0), 0.5),
        (lambda key: jax.random.uniform(key, (2, 3), minval=1.0, maxval=2.0), 1.5),
    ],
)
def test_what_jax_draws_is_the_mean_meanwhile(draw, mean):
    drawn_ = draw(jax.random.key(0))
    with means_of_jax():
        made = draw(jax.random.key(0))
    np.testing.assert_array_equal(made, np.full((2, 3), mean))
    assert made.dtype == drawn_.dtype
    np.testing.assert_array_equal(draw(jax.random.key(0)), drawn_)
    assert np.ptp(np.asarray(drawn_, np.float32)) > 0


def test_draws_of_jax_are_what_they_were_after_an_error():
    drawing = jax.random.normal
    with pytest.raises(ZeroDivisionError), means_of_jax():
        raise ZeroDivisionError
    assert jax.random.normal is drawing
