"""Parameters of a module as the trees that `fwd` takes, and back."""

from __future__ import annotations

from typing import Any

from ._module import Module
from ._params import Params


def params_to_pair(module: Module, params: Params) -> tuple[Any, Any]:
    """The parameters of a module as `fwd` of its layer takes them.

    >>> trainables, non_trainables = params_to_pair(linear, params)
    >>> y, _ = nn.Linear.fwd(x, trainables, non_trainables, linear.hyperparams)

    Args:
        module: of a layer or a block, after its first call. The trees of a module of one's
            own are `Params`.
        params: where its parameters are.

    Returns:
        `(trainables, non_trainables)`.

    Raises:
        KeyError: where a parameter is missing.
        ValueError: where the module learns its sizes from an input, and had none yet.
        TypeError: where the module is no module, or the params are no `Params`.
    """
    _check(module, params)
    return module._to_pair(params)


def pair_to_params(
    module: Module, trainables: Any, non_trainables: Any, params: Params | None = None
) -> Params:
    """The parameters of a module from the trees that `init` and `fwd` of its layer return.

    Args:
        module: of a layer or a block.
        trainables: its weights.
        non_trainables: its state.
        params: where they are put; None: into new ones.

    Returns:
        The params, with these values.

    Raises:
        LockedError: where one is missing from locked params.
        ValueError: where the trees are those of another layer.
        TypeError: where the module is no module, or the params are no `Params`.
    """
    into = Params() if params is None else params
    _check(module, into)
    return module._from_pair(into, trainables, non_trainables)


def _check(module: Any, params: Any) -> None:
    for name, given, kind in (("module", module, Module), ("params", params, Params)):
        if not isinstance(given, kind):
            raise TypeError(
                f"{name} must be a {kind.__name__}, got {type(given).__name__}; the arguments "
                "are params_to_pair(module, params) and "
                "pair_to_params(module, trainables, non_trainables, params)"
            )
