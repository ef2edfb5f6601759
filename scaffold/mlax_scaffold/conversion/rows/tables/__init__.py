"""What calls of other libraries are called here: one table of layers and one of functions for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables import (
    arrays,
    equinox,
    flax,
    haiku,
    initializers,
    losses,
    nnx,
    torch,
    torch_functional,
    torch_mathematics,
    torch_tensors,
)

LAYERS: Mapping[str, Row] = MappingProxyType(
    {
        **flax.LAYERS,
        **nnx.LAYERS,
        **equinox.LAYERS,
        **haiku.LAYERS,
        **torch.LAYERS,
        **torch_functional.LAYERS,
    }
)
"""What makes a layer, by qualified name."""

FUNCTIONS: Mapping[str, Row] = MappingProxyType(
    {
        **arrays.FUNCTIONS,
        **flax.FUNCTIONS,
        **haiku.FUNCTIONS,
        **losses.FUNCTIONS,
        **torch.FUNCTIONS,
        **torch_mathematics.FUNCTIONS,
        **torch_tensors.FUNCTIONS,
        **torch_functional.FUNCTIONS,
    }
)
"""Functions, by qualified name."""

METHODS: Mapping[str, Row] = MappingProxyType(
    {**torch_mathematics.METHODS, **torch_tensors.METHODS}
)
"""Methods of tensors of PyTorch, by name."""

REDUCTIONS: Mapping[str, Row] = MappingProxyType(arrays.METHODS)
"""Methods of arrays that widen half precision, by name."""

INITIALIZERS: Mapping[str, Row] = MappingProxyType(initializers.MAKERS)
"""What makes an initializer, by qualified name."""

CALLS: Mapping[str, Mapping[str, Row]] = MappingProxyType(
    {
        "flax": flax.CALLS,
        "nnx": nnx.CALLS,
        "equinox": equinox.CALLS,
        "haiku": haiku.CALLS,
        "torch": torch.CALLS,
    }
)
"""How layers are called that are called in another way here, by framework and the layer's name here."""
