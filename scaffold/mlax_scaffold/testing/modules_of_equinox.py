"""What a module of equinox computes in inference, its state included."""

from __future__ import annotations

import inspect
from typing import Any

import jax

from mlax_scaffold.testing.built import Built, Run


def layer_of_equinox(cls: Any, original: Any, arguments: Any, arrays: Any) -> Built:
    """A module; its weights are all arrays of floating numbers, and the state beside them if it has one.

    The state is handed to the call, which is mapped over a batch where there are averages over one, and what
    comes back of it is left out.
    """
    import equinox as eqx

    takes_key = "key" in inspect.signature(cls.__init__).parameters
    key = {"key": jax.random.key(0)} if takes_key else {}
    made, state = eqx.nn.make_with_state(cls)(**arguments, **key)
    module, flags = eqx.nn.inference_mode(made), original.given_flags()
    weights, rest = eqx.partition(module, eqx.is_inexact_array)
    if not jax.tree.leaves(state):
        return Built(
            weights, lambda moved: lambda *x: eqx.combine(moved, rest)(*x, **flags)
        )
    averages = any(map(_is_norm, jax.tree.leaves(made, is_leaf=_is_norm)))
    called = inspect.signature(cls.__call__).parameters
    holder = next((n for n, p in called.items() if _is_state(p)), "state")
    names = [n for n in list(called)[1:] if n != holder and n not in flags]

    def bound(moved: Any) -> Run:
        weights, state = moved

        def run(*x: Any) -> Any:
            given = dict(zip(names, x, strict=False)) | {holder: state}
            *results, _ = eqx.combine(weights, rest)(**given, **flags)
            return results[0] if len(results) == 1 else tuple(results)

        return jax.vmap(run) if averages else run

    return Built((weights, state), bound)


def _is_norm(part: Any) -> bool:
    import equinox as eqx

    return isinstance(part, eqx.nn.BatchNorm)


def _is_state(parameter: inspect.Parameter) -> bool:
    return parameter.name == "state" or str(parameter.annotation).endswith("State")
