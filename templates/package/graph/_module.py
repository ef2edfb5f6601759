"""The base class of modules: static objects with a node of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import recording
from .._core.arrays import Initializer, create
from .._core.outlines import fits
from .._core.paths import path_name
from ._given import checked_params
from ._graph import Path, shown_path
from ._params import Params
from ._part import Part
from ._trees import check_like

if TYPE_CHECKING:
    from ._rng import Rng


class Module(Part):
    """A part of a model: `y, params = module(params, x)`.

    It holds hyperparameters and other modules, and no arrays: parameters are in `Params`,
    and `get_param` creates them in the first call. A module is static: never traced, safe
    to close over, and hashable by identity. A compiled function is not traced again when
    an attribute changes.

    >>> class Scale(Module):
    ...     def __init__(self, graph):
    ...         super().__init__(graph)
    ...
    ...     def __call__(self, params, x):
    ...         scale, params = self.get_param(params, "scale", x.shape[-1:], ones)
    ...         return scale * x, params

    Args:
        graph: a node of its own, `graph.child("name")`.

    Raises:
        TypeError, ValueError: where that is no node, the root, or the node of another.
    """

    def get_param(
        self,
        params: Params,
        name: str,
        shape: Sequence[int] | None = None,
        initializer: Initializer | None = None,
        dtype: DTypeLike | None = None,
        *,
        init: Initializer | None = None,
        rng: Rng | None = None,
        trainable: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Params]:
        """The value of a parameter of this module, which is created where it is missing.

        Args:
            params: where it is.
            name: its name in this module.
            shape: its shape; None: any, of a parameter that is there.
            initializer: `initializer(key, shape, dtype)` creates it.
            dtype: its dtype; None: that of the initializer.
            init: another name of `initializer`.
            rng: where the initializer's key comes from; None: the initializer gets None.
            trainable: whether it gets gradients.
            metadata: what else is known about it, such as `{"sharding": P("model")}`.

        Returns:
            `(value, params)`.

        Raises:
            KeyError: where it is missing, and there is no initializer.
            LockedError: where it is missing from locked params. It is a KeyError too.
            ValueError: where it is there in another shape, or where the initializer needs a
                key and there is no rng.
            TypeError: where both `initializer` and `init` are given.
        """
        if init is not None:
            if initializer is not None:
                raise TypeError(
                    f"{type(self).__name__}: get_param takes one initializer, as "
                    "`initializer` or as `init`; got both"
                )
            initializer = init
        path = self.param_path(name)
        if path not in checked_params(self, params):
            params.require_unlocked(path)
            if initializer is None or shape is None:
                raise KeyError(
                    f"{type(self).__name__}: there is no parameter {shown_path(path)}; "
                    "a shape and an initializer would create it"
                )
            key: Any = None
            if rng is not None:
                key, params = rng(params)
            value = self._created_value(path, initializer, key, shape, dtype)
            params = params.add(path, value, trainable=trainable, metadata=metadata)
            return value, params
        value = params[path].value
        if shape is not None and not fits(jnp.shape(value), tuple(shape)):
            raise ValueError(
                f"{type(self).__name__}: the parameter {shown_path(path)} must have shape "
                f"{tuple(shape)}, got {jnp.shape(value)}"
            )
        return value, params

    def sow(self, name: str, value: Any) -> None:
        """Keep a value for whoever looks: see `recorded`. Otherwise this does nothing.

        Args:
            name: its name in this module.
            value: any tree of arrays.
        """
        recording.keep(path_name((self.param_path(name),)), value)

    def _created_value(
        self,
        path: Path,
        initializer: Initializer,
        key: Any,
        shape: Sequence[int],
        dtype: DTypeLike | None,
    ) -> Any:
        try:
            return create(initializer, key, shape, dtype)
        except (TypeError, AttributeError) as error:
            if key is not None:
                raise
            raise ValueError(
                f"{type(self).__name__}: the initializer of {shown_path(path)} failed without a key; if "
                "it draws at random, pass rng=..., an Rng, to get_param"
            ) from error

    def set_param(
        self,
        params: Params,
        name: str,
        value: Any,
        *,
        trainable: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Params:
        """The params with a value for a parameter of this module.

        >>> params = linear.set_param(params, "kernel", None, trainable=False)  # freezes it

        Args:
            params: where it is.
            name: its name in this module.
            value: an array, which one that is there gets in the same shape and kind of
                dtype; None: what is there, whose flag and metadata are set.
            trainable: whether it gets gradients. With a value it is for a parameter that is
                not there yet, as in `get_param`; None: True for that, else as before.
            metadata: what else is known about it, likewise.

        Raises:
            LockedError: where it is missing from locked params.
            KeyError: where it is missing, and the value is None.
            ValueError: where the value has another shape, or another kind of dtype.
            TypeError: where the flag is not True or False, or the value a `Param`.
        """
        path = self.param_path(name)
        if path not in checked_params(self, params):
            if value is None:
                params.require_unlocked(path)
                raise KeyError(
                    f"{type(self).__name__}: there is no parameter {shown_path(path)} whose value could "
                    "be kept; pass a value"
                )
            flag = True if trainable is None else trainable
            return params.add(path, value, trainable=flag, metadata=metadata)
        if value is None:
            return params.mark(path, trainable=trainable, metadata=metadata)
        check_like(self, path, value, params.value(path))
        return params.set(path, value)
