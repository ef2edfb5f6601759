"""What modules are given: `Params`, and inputs."""

from __future__ import annotations

from typing import Any

from ._params import Params


def checked_call(owner: object, params: Any, x: Any) -> None:
    """Refuse arguments of a module that are not `Params` and an input.

    Raises:
        TypeError: where the first is something else, or an input is what a module returned.
    """
    if not isinstance(params, Params):
        checked_params(owner, params)
    for part in x if isinstance(x, tuple) else ():
        inner = part if isinstance(part, tuple) else (part,)
        if any(isinstance(value, Params) for value in inner):
            raise TypeError(
                f"{type(owner).__name__}: an input holds Params: it is all that a module "
                "returned; take it apart, y, params = module(params, x), and pass y"
            )


def checked_params(owner: object, params: Any) -> Params:
    """The first argument of a module.

    Raises:
        TypeError: where it is something else.
    """
    if not isinstance(params, Params):
        raise TypeError(
            f"{type(owner).__name__}: the first argument must be Params, as in "
            f"y, params = module(params, x), got {type(params).__name__}"
        )
    return params
