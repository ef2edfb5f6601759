"""Contracts of the module class of a layer. Each function raises AssertionError where one is broken."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.testing.case import Arguments, Case
from mlax_scaffold.testing.compare import assert_same_results
from mlax_scaffold.testing.dtypes import precision_for

PyTree = Any


def make_module(case: Case, graph: Any) -> tuple[Any, Any, Any]:
    """The module of a case, its `Rng`, and params with the seed alone."""
    root = graph.Graph("model")
    rng = graph.Rng(root.child("rng"))
    assert case.module is not None
    return case.module(root.child("module"), rng), rng, rng.seed(graph.Params(), seed=1)


def call_module(
    case: Case, module: Any, params: Any, training: bool, *arrays: PyTree
) -> Any:
    """A call with `x, inputs`, the arrays of a case."""
    x, inputs = arrays
    given = x if case.spread else (x,)
    return module(params, *given, is_training=training, **inputs)


def assert_module_equals_layer(
    case: Case, graph: Any, dtype: DTypeLike = jnp.float32, seed: int = 0
) -> None:
    """The module, with a layer's weights as parameters, returns what `fwd` returns.

    So does its state, in training and in inference. What it draws, it draws with the next
    key of its `Rng`. Its parameters are locked.
    """
    module, rng, params = make_module(case, graph)
    with precision_for(dtype, *case.allow):
        # A module that is given no dtype creates its parameters in the default one.
        arguments = case.arguments(dtype, jnp.result_type(float), seed=seed)
        x, trainables, state, hyperparams, inputs = arguments
        created = jax.eval_shape(
            lambda *arrays: call_module(case, module, params, False, *arrays)[1],
            x,
            inputs,
        )
        params = graph.pair_to_params(module, trainables, state, params)
        if set(params) != set(created):
            raise AssertionError(
                f"{case.name}: the first call makes {sorted(created)}, and the trees of init "
                f"are {sorted(params)}"
            )
        pair = graph.params_to_pair(module, params)
        if jax.tree.structure(pair) != jax.tree.structure((trainables, state)):
            raise AssertionError(
                f"{case.name}: params_to_pair makes {jax.tree.structure(pair)}, expected "
                f"{jax.tree.structure((trainables, state))}"
            )

        for training in case.modes():

            def both(params: Any, x: PyTree, inputs: PyTree) -> tuple[PyTree, PyTree]:
                key = jax.random.fold_in(rng.get_seed(params), rng.get_counter(params))
                weights, state = graph.params_to_pair(module, params)
                expected = case.call(
                    Arguments(x, weights, state, hyperparams, inputs),
                    training=training,  # noqa: B023
                    key=key,
                )
                y, after = call_module(case, module, params, training, x, inputs)  # noqa: B023
                return expected, (y, graph.params_to_pair(module, after)[1])

            assert_same_results(
                both,
                params.locked(),
                x,
                inputs,
                dtype=dtype,
                what=f"{case.name}: module in {'training' if training else 'inference'}",
            )


def assert_module_creates(case: Case, graph: Any, keys: int | None) -> None:
    """The first call creates the parameters, and later ones none. Only traces.

    It takes `keys` keys, one for each declaration, and locked parameters are refused.
    """
    with precision_for(jnp.float32, *case.allow):
        _assert_module_creates(case, graph, keys)


def _assert_module_creates(case: Case, graph: Any, keys: int | None) -> None:
    module, rng, params = make_module(case, graph)
    arguments = case.abstract_arguments(jnp.float32, jnp.float32)
    arrays = arguments.x, arguments.inputs

    def run(params: Any) -> Any:
        return jax.eval_shape(
            lambda params, x, inputs: call_module(
                case, module, params, False, x, inputs
            )[1],
            params,
            *arrays,
        )

    created = run(params)
    again = run(created.locked())
    if jax.tree.structure(created.locked()) != jax.tree.structure(again):
        raise AssertionError(f"{case.name}: the second call of its module creates more")
    drawn: list[Any] = []
    draw = type(rng).__call__
    try:
        type(rng).__call__ = lambda self, params: drawn.append(0) or draw(self, params)
        run(params)
    finally:
        type(rng).__call__ = draw
    # Where everything is absent, nothing is created.
    keys = 0 if len(created) == len(params) else keys
    if keys is not None and len(drawn) != keys:
        raise AssertionError(
            f"{case.name}: its module takes {len(drawn)} keys, expected {keys}: one for each "
            "declaration"
        )
    if len(created) == len(params):
        return
    try:
        run(params.locked())
    except graph.LockedError:
        return
    raise AssertionError(f"{case.name}: its module adds to locked parameters")
