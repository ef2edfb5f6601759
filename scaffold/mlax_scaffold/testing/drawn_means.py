"""PyTorch whose random numbers are their means, as those of a layer in inference are here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def drawn_means(torch: Any) -> Iterator[None]:
    """Let the functions that draw from a normal or a uniform distribution return its mean meanwhile.

    Args:
        torch: the module.
    """
    functions = {
        "randn": lambda *size, **given: torch.zeros(*size, **_plain(given)),
        "randn_like": lambda x, **given: torch.zeros_like(x, **_plain(given)),
        "rand": lambda *size, **given: torch.zeros(*size, **_plain(given)) + 0.5,
        "rand_like": lambda x, **given: torch.zeros_like(x, **_plain(given)) + 0.5,
        "normal": lambda mean, std=1.0, size=None, **given: _normal(
            torch, mean, std, size
        ),
    }
    methods = {
        "normal_": lambda x, mean=0.0, std=1.0, **given: x.fill_(mean),
        "uniform_": lambda x, low=0.0, high=1.0, **given: x.fill_((low + high) / 2),
    }
    kept = [(torch, n, getattr(torch, n)) for n in functions]
    kept += [(torch.Tensor, n, getattr(torch.Tensor, n)) for n in methods]
    try:
        for title, function in functions.items():
            setattr(torch, title, function)
        for title, function in methods.items():
            setattr(torch.Tensor, title, function)
        yield
    finally:
        for owner, title, function in kept:
            setattr(owner, title, function)


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in given.items() if k != "generator"}


def _normal(torch: Any, mean: Any, std: Any, size: Any) -> Any:
    if size is not None:
        return torch.zeros(size) + mean
    return mean + 0 * std
