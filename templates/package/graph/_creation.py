"""What the modules of a block create: their calls are noted, and then made on zeros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ._applied import Applied
from ._graph import shown_path
from ._params import Params
from ._part import Part, own_params
from ._stacks import stacked

Call = tuple[Part, int | None, tuple[Any, Mapping[str, Any]]]
"""A module, how many times its weights are stacked, and the shapes of its inputs."""


class Noted(Applied):
    """A module whose calls are noted, with the shapes of their inputs."""

    def __init__(
        self, module: Part, count: int | None, params: Params, calls: list[Call]
    ) -> None:
        super().__init__(module)
        self.count = count
        self.params = params
        self.calls = calls

    def apply(
        self,
        x: Any,
        trainables: Params,
        non_trainables: Params,
        inference_mode: bool = False,
        key: Any = None,
        **inputs: Any,
    ) -> tuple[Any, Params]:
        """What a block calls."""
        module, calls = self.module, self.calls
        if not module._passes_calls or self.count is not None:
            calls.append(noted(module, self.count, x, inputs))
            calls = []
        y = module._trace(self.params, calls, x, not inference_mode, key, **inputs)
        return y, non_trainables


def noted(module: Part, count: int | None, x: Any, inputs: Mapping[str, Any]) -> Call:
    """A call of a module."""
    return module, count, jax.tree.map(_struct, (x, dict(inputs)))


def _struct(value: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(value), jnp.result_type(value))


def created(
    module: Part,
    params: Params,
    x: Any,
    is_training: bool,
    inputs: Mapping[str, Any],
    count: int | None,
) -> Params:
    """The params with those that a module creates for a call, where it is stacked that often.

    Raises:
        ValueError: where one of them is there for a module that is not repeated.
    """
    if count is None:
        return module._create(params, x, is_training, **inputs)
    known, rows, there = set(params), [], own_params(module, params)
    for path, param in there.items():
        if jnp.shape(param.value)[:1] != (count,):
            raise ValueError(
                f"the parameter {shown_path(path)} of shape {jnp.shape(param.value)} is that of a module "
                f"which also stands elsewhere; where it is repeated {count} times it has that "
                "many entries, so that it needs a module of its own"
            )
    for i in range(count):
        entry = {path: param.value[i] for path, param in there.items()}
        made = module._create(params.update(entry), x, is_training, **inputs)
        new, params = made.split(lambda path, _: path not in known)
        rows.append(new)
    return params.update(there).merge(stacked(rows))
