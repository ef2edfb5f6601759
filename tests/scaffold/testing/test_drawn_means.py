"""What PyTorch draws is its mean where an original is compared with its layer in inference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mlax_scaffold.testing.drawn_means import drawn_means


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
