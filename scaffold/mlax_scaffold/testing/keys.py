"""The contract of PRNG keys: none is used twice. Judged on jaxprs, without the spec.

`jax.debug_key_reuse` follows typed keys through compiled functions and the bodies of loops. What it does not
see are numbers that are folded into one key twice. Everything here only traces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def assert_key_is_used_once(
    function: Callable[..., Any], *args: Any, what: str
) -> None:
    """No key is drawn from or split twice, those that are split off it included.

    Args:
        function: of arrays and typed keys.
        *args: what it is traced on, arrays or `jax.ShapeDtypeStruct`.
        what: what the message calls it.
    """
    with jax.debug_key_reuse(True):
        try:
            jax.jit(function).trace(*args)
        except jax.errors.KeyReuseError as error:
            raise AssertionError(
                f"{what} uses a PRNG key twice, so that it draws the same numbers: {error}"
            ) from error
