"""What PyTorch's code computes, over arrays."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from mlax_scaffold.testing.built import Built, Run, is_array
from mlax_scaffold.testing.drawn_means import drawn_means
from mlax_scaffold.testing.several_arguments import by_name, called_with, spread


def layer_of_torch(cls: Any, original: Any, arguments: Any, arrays: Any) -> Built:
    """A layer of PyTorch in inference; its weights are those that it would save, and buffers beside them.

    What it draws is its mean.
    """
    torch = importlib.import_module("torch")
    placed = {} if _device_of(cls) else {"device": "cpu"}
    module = called_with(cls, {**placed, **arguments}).eval()
    flags = original.given_flags()
    flags |= {name: _tensor(torch, array) for name, array in original.named.items()}
    saved = dict(module.state_dict())
    beside = {
        f"{path}.{name}".removeprefix("."): (part, name, value)
        for path, part in module.named_modules()
        for name, value in (*part.named_buffers(recurse=False), *vars(part).items())
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }
    # Buffers that are not saved, and tensors that are plain attributes, but for what norms of
    # weights compute in each call.
    beside = {
        k: held
        for k, held in beside.items()
        if not {k, f"{k}_orig", f"{k}_g"} & saved.keys()
    }

    held = saved | {name: value for name, (_, _, value) in beside.items()}
    shared: dict[int, str] = {}
    # What several names stand for is one weight, by the first of them.
    first = {
        k: shared.setdefault(v.data_ptr(), k) if v.numel() else k
        for k, v in saved.items()
    }

    def bound(weights: Any) -> Run:
        named = {k: weights[first.get(k, k)] for k in held}
        given = {k: torch.from_numpy(np.array(v)) for k, v in named.items()}
        for name, (part, attribute, _) in beside.items():
            setattr(part, attribute, given.pop(name))
        module.load_state_dict(given)

        def run(*x: Any) -> Any:
            with drawn_means(torch):
                placed, named = by_name(module.forward, spread(module.forward, x))
                return module(*placed, **named, **flags)

        return tensors(run)

    def settled(weights: Any) -> Any:
        made = dict(weights)
        for name in weights:
            if name.endswith("weight_u"):
                settle_norm(made, name.removesuffix("_u"))
        return made

    weights = {
        k: np.asarray(v.detach()) for k, v in held.items() if first.get(k, k) == k
    }
    return Built(weights, bound, settled)


def _device_of(cls: Any) -> bool:
    """Whether a class needs not be told a device: it has a default for it, or takes none."""
    known = inspect.signature(cls).parameters.get("device")
    return known is None or known.default is not known.empty


def settle_norm(weights: dict[str, Any], name: str) -> None:
    """Make the vectors of `spectral_norm` singular ones, as they are after a few steps of training."""
    matrix = np.reshape(weights[f"{name}_orig"], (len(weights[f"{name}_u"]), -1))
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    weights[f"{name}_u"], weights[f"{name}_v"] = left[:, 0], right[0]


def tensors(run: Run) -> Run:
    """A function over tensors of PyTorch as one over arrays."""
    torch = importlib.import_module("torch")

    def called(*x: Any, **given: Any) -> Any:
        with torch.no_grad():
            y = run(
                *(_tensor(torch, a) for a in x),
                **{
                    k: _tensor(torch, v) if is_array(v) else v for k, v in given.items()
                },
            )
        return jax.tree.map(np.asarray, _plain(y))

    return called


def _plain(y: Any) -> Any:
    """What a call returns, with a tuple in the place of each dataclass, which jax takes for one leaf."""
    if dataclasses.is_dataclass(y) and not isinstance(y, type):
        return tuple(_plain(getattr(y, f.name)) for f in dataclasses.fields(y))
    if isinstance(y, Mapping):
        return {name: _plain(value) for name, value in y.items()}
    if isinstance(y, tuple | list):
        return [_plain(value) for value in y]
    return y


def _tensor(torch: Any, array: Any) -> Any:
    """A tensor of an array, or of each in a tuple; indices are as wide as PyTorch has them."""
    if isinstance(array, tuple):
        return tuple(_tensor(torch, a) for a in array)
    made = np.array(array)
    wide = made.astype(np.int64) if made.dtype == np.int32 else made
    return torch.from_numpy(wide)
