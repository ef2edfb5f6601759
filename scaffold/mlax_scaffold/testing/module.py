"""What is claimed of the module class of a layer. Everything here only traces, where that decides."""

from __future__ import annotations

import importlib
import re
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.case import Arguments, Case
from mlax_scaffold.testing.keys import assert_key_is_used_once
from mlax_scaffold.testing.programs import Program, assert_same_programs
from mlax_scaffold.testing.situation import Situation

PyTree = Any


def graph_of(case: Case) -> Any:
    """The package of module classes that the case's one is of."""
    package = case.module_class.__module__.partition(".graph")[0]
    return importlib.import_module(f"{package}.graph")


def make_module(case: Case) -> tuple[Any, Any, Any]:
    """The module of a case, its `Rng`, and params with the seed alone."""
    graph = graph_of(case)
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
    run = module if case.entry == "forward" else getattr(module, case.entry)
    return case.on_devices(lambda: run(params, *given, is_training=training, **inputs))


def have_a_module_that_equals_the_layer(situation: Situation) -> None:
    """The module, with a layer's weights as parameters, returns what `fwd` returns.

    So does its state. What it draws, it draws with the next key of its `Rng`.
    """
    case, training = situation.case, situation.training
    graph = graph_of(case)
    module, rng, params = make_module(case)
    with situation.precision():
        # A module that is given no dtype creates its parameters in the default one.
        arguments = case.arguments(situation.dtype, jnp.result_type(float), seed=1)
        x, trainables, state, hyperparams, inputs = arguments
        # An initializer may have a default of its own.
        made = jax.eval_shape(lambda key: case.init(key, None)[:2], jax.random.key(0))
        trainables, state = jax.tree.map(
            lambda a, b: a.astype(b.dtype), (trainables, state), made
        )
        created = jax.eval_shape(
            lambda *arrays: call_module(case, module, params, False, *arrays)[1],
            x,
            inputs,
        )
        params = graph.pair_to_params(module, trainables, state, params)
        if set(params) != set(created) | uncalled(module, params, created):
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
        arrays = params.locked(), x, inputs

        def of_layer(params: Any, x: PyTree, inputs: PyTree) -> PyTree:
            key = jax.random.fold_in(rng.get_seed(params), rng.get_counter(params))
            weights, state = graph.params_to_pair(module, params)
            given = Arguments(x, weights, state, hyperparams, inputs)
            return case.call(given, training=training, key=key)

        def of_module(params: Any, x: PyTree, inputs: PyTree) -> PyTree:
            y, after = call_module(case, module, params, training, x, inputs)
            return y, graph.params_to_pair(module, after)[1]

        assert_same_programs(
            Program.of(of_layer, *arrays),
            Program.of(of_module, *arrays),
            lambda: jax.tree.leaves(arrays),
            situation.compute_dtype,
            what=f"{situation}: module",
        )


def uncalled(module: Any, params: Any, created: Any) -> set[tuple[str, ...]]:
    """The parameters of given layers that a call does not reach, as where a flag is off."""
    fields = getattr(module, "structural", {})
    depth = len(("model", "module"))
    called = {path[depth] for path in created if len(path) > depth}
    return {
        path
        for path in params
        if len(path) > depth
        and path[depth] not in called
        and re.sub(r"_\d+$", "", path[depth]) in fields
    }


def _makes_nothing(module: Any, created: Any) -> bool:
    """Whether all that a module declares beside given layers is absent."""
    declared = {*getattr(module, "declarations", ())}
    depth = len(("model", "module"))
    made = {re.sub(r"_\d+$", "", p[depth]) for p in created if len(p) > depth}
    return bool(declared) and not declared & made


def have_a_module_that_creates_once(situation: Situation) -> None:
    """The first call creates the parameters, and later ones none.

    It takes one key for each declaration, each with another counter of its `Rng`, and uses none
    twice. Locked parameters are refused.
    """
    case = situation.case
    module, rng, params = make_module(case)
    what = f"{case.name}: its module"
    arrays = situation.arguments.x, situation.arguments.inputs
    counters: list[Any] = []
    made: list[tuple[set[str], int]] = []
    draw = type(rng).__call__

    def noted(self: Any, params: Any) -> Any:
        counters.append(self.get_counter(params))
        return draw(self, params)

    def calls(params: Any, *arrays: PyTree) -> Any:
        y, first = call_module(case, module, params, False, *arrays)
        names, own = set(first), case.takes_key(training=False)
        if len(names) == len(params):
            # What `init` makes nothing of is as if it were not drawn.
            del counters[: len(counters) - own]
            if not own and rng.get_counter(first) is not rng.get_counter(params):
                raise AssertionError(f"{what} has no arrays, and keeps keys for them")
        elif _makes_nothing(module, first):
            # So it is beside what given layers create.
            ids = [id(counter) for counter in counters]
            counters[:] = [c for i, c in enumerate(counters) if id(c) not in ids[:i]]
        made.append((names, len(counters) - own))
        after = first
        for _ in range(2 * case.draws_keys):
            y, after = call_module(case, module, after, True, *arrays)
        drawn = len(counters)
        if _creates(case, module, first.locked(), arrays):
            raise AssertionError(f"{what} creates more at the second call")
        missing = len(names) > len(params)
        if missing and not _creates(case, module, params.locked(), arrays):
            raise AssertionError(f"{what} adds to locked parameters")
        del counters[drawn:]
        return y, after

    with situation.precision():
        try:
            type(rng).__call__ = noted
            assert_key_is_used_once(calls, params, *arrays, what=what)
        finally:
            type(rng).__call__ = draw
        [(names, drawn)] = made
        _assert_keys(case, drawn, len(names) == len(params), counters, what)


def _creates(case: Case, module: Any, locked: Any, arrays: tuple[PyTree, ...]) -> bool:
    """Whether a call with locked parameters would create some: they are refused."""
    try:
        call_module(case, module, locked, False, *arrays)
    except graph_of(case).LockedError:
        return True
    return False


def _assert_keys(
    case: Case, drawn: int, empty: bool, counters: list[Any], what: str
) -> None:
    # Where everything is absent, nothing is drawn.
    keys = 0 if empty else case.keys
    if keys is not None and drawn != keys:
        raise AssertionError(
            f"{what} takes {drawn} keys, expected {keys}: one for each declaration"
        )
    if len({id(counter) for counter in counters}) < len(counters):
        raise AssertionError(
            f"{what} takes {len(counters)} keys from its Rng, and some of them with the "
            "same counter: they are the same key"
        )
