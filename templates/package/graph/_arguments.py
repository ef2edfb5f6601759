"""What `init` of a pair is given by its module, whose attributes the hyperparameters are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any


def initialized(
    module: Any, key: Any, others: Mapping[str, Any]
) -> tuple[Any, Any, Any]:
    """`init` with the hyperparameters of a module.

    Args:
        module: with `functions`, the module of the pair, and `aliases`, the
            hyperparameters that are attributes of another name.
        key: for an `init` that takes one.
        others: the arguments that are no attributes.
    """
    init = module.functions.init
    taken = _taken(init)
    given = {
        name: getattr(module, module.aliases.get(name, name))
        for name in taken
        if name != "key" and name not in others
    }
    return init(*([key] if "key" in taken else []), **given, **others)


@functools.cache
def _taken(init: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters of a function, which to look up takes long."""
    return tuple(inspect.signature(init).parameters)
