"""What a function's results depend on."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax


def depends(function: Callable[[Any], Any], argument: Any) -> bool:
    """Whether a result depends on the values of an argument, and not on their shapes alone.

    Args:
        function: a traceable function.
        argument: a tree of arrays.
    """
    program = jax.make_jaxpr(function)(argument).jaxpr
    reached = set(program.invars)
    for eqn in program.eqns:
        if any(operand in reached for operand in _variables(eqn.invars)):
            reached.update(eqn.outvars)
    return any(result in reached for result in _variables(program.outvars))


def _variables(operands: Iterable[Any]) -> Iterator[Any]:
    """Those that are no literals."""
    return (operand for operand in operands if not hasattr(operand, "val"))
