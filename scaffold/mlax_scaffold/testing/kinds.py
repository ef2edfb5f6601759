"""The contract of each kind of definition: decorators of the functions that pick their cases."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from mlax_scaffold.testing import copies
from mlax_scaffold.testing import key_claims as keys
from mlax_scaffold.testing import layer_claims as layers
from mlax_scaffold.testing import layer_refusals as refusals
from mlax_scaffold.testing import module as modules
from mlax_scaffold.testing import optimizer_claims as optimizers
from mlax_scaffold.testing import schedule as schedules
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim, Contract
from mlax_scaffold.testing.defaults import (
    assert_entry_defaults,
    assert_function_defaults,
    assert_layer_defaults,
    assert_optimizer_defaults,
    assert_schedule_defaults,
)
from mlax_scaffold.testing.held import hold_what_it_is_given
from mlax_scaffold.testing.invalid import assert_refuses_invalid
from mlax_scaffold.testing.invariances import claim_of
from mlax_scaffold.testing.optimizer import OptimizerCase
from mlax_scaffold.testing.optimizer_situation import OptimizerSituation
from mlax_scaffold.testing.oracle import Spec, assert_spec_refuses
from mlax_scaffold.testing.picks import Pick, Refused, Remembering, Unfit
from mlax_scaffold.testing.refusals import assert_names_masks
from mlax_scaffold.testing.result_kinds import have_the_annotated_kinds
from mlax_scaffold.testing.schedule import ScheduleSituation
from mlax_scaffold.testing.situation import Situation

C = TypeVar("C")

_CALLED: tuple[Any, ...] = (
    layers.compute_what_the_spec_says,
    layers.keep_the_dtype,
    layers.have_the_annotated_shapes,
    have_the_annotated_kinds,
    keys.use_no_key_twice,
    keys.ask_for_a_key_where_it_draws,
    keys.ask_for_a_key_where_the_spec_does,
)
"""Of each entry point of a layer, in all cases."""
_CALLED_WITH_OPTIONS: tuple[Any, ...] = (
    refusals.refuse_other_shapes,
    refusals.refuse_other_kinds,
    refusals.refuse_mixed_dtypes,
    layers.keep_integers,
    layers.have_the_derivatives_of_the_spec,
    layers.keep_the_dtype_of_gradients,
    refusals.refuse_other_weights,
)
"""Of each entry point, with every option once."""
_CALLED_ONCE: tuple[Any, ...] = (
    refusals.refuse_half_precision,
    layers.compute_the_same_compiled_and_mapped,
    refusals.refuse_another_mode,
    refusals.refuse_unknown_inputs,
    layers.have_finite_gradients,
)
"""Of each entry point, in one case."""


def layer(
    name: str,
    spec: Spec,
    init: Callable[..., Any],
    *,
    valid: Mapping[str, Any] | None = None,
    creates: bool = False,
    cell: bool = False,
    surrogate: bool = False,
    module: bool = True,
    invariances: Sequence[str] = (),
    returns: str = "",
) -> Callable[[Callable[[Pick], Case]], Contract[Situation]]:
    """The contract of a layer or a block, of the function that picks its cases.

    Args:
        name: that of the layer.
        spec: what it follows from.
        init: its `init`.
        valid: hyperparameters with which `init` makes a layer.
        creates: whether `init` makes weights or states, of a key.
        cell: whether its hyperparameters make the first carry.
        surrogate: whether its gradient is meant not to be the derivative.
        module: whether it has a module class.
        invariances: what it says of axes, such as `causal time`.
        returns: the shape of its result, as annotated.
    """
    every: list[Any] = [*_CALLED]
    if creates:
        every += [layers.create_what_the_spec_declares]
    if cell:
        every += [layers.make_the_first_carry]
    options: list[Any] = [hold_what_it_is_given, *_CALLED_WITH_OPTIONS]
    if module:
        options += [
            modules.have_a_module_that_equals_the_layer,
            modules.have_a_module_that_creates_once,
        ]
    if creates:
        options += [
            layers.take_an_initializer_for_each_weight,
            keys.create_with_each_key_once,
        ]

    def refuse_what_is_no_hyperparameter(situation: Situation) -> None:
        takes_key = "key" in layers.parameter_names(init)
        make = functools.partial(init, jax.random.key(0)) if takes_key else init
        assert_refuses_invalid(name, spec, make, valid)

    def have_the_defaults_of_the_spec(situation: Situation) -> None:
        assert_layer_defaults(name, spec, init, situation.case.fwd)

    one: list[Any] = [
        have_the_defaults_of_the_spec,
        layers.have_static_hyperparameters,
        *_CALLED_ONCE,
        *([refusals.refuse_other_parameters] if module else []),
        *([copies.have_a_module_that_equals_its_copies] if module else []),
        refuse_what_is_no_hyperparameter,
    ]
    if not surrogate:
        one += [layers.have_the_gradients_of_its_own_rules]
    said = [claim_of(line, returns) for line in invariances]
    return _contract(name, spec, every, options, one, said)


def entry(
    entry: str,
    of: Contract[Situation],
    *,
    surrogate: bool = False,
    module: bool = True,
) -> Callable[[Callable[[Pick], Case]], Contract[Situation]]:
    """The contract of an entry point of a layer that is not its `fwd`.

    Args:
        entry: that of the method and of the function.
        of: the contract of the layer.
        surrogate: whether its gradient is meant not to be the derivative.
        module: whether the layer has a module class.
    """

    def have_the_defaults_of_the_spec(situation: Situation) -> None:
        what = f"{of.name}: {entry}"
        assert_entry_defaults(what, of.spec, situation.case.fwd, entry)

    options: list[Any] = [*_CALLED_WITH_OPTIONS]
    if module:
        options += [modules.have_a_module_that_equals_the_layer]
    one: list[Any] = [have_the_defaults_of_the_spec, *_CALLED_ONCE]
    if not surrogate:
        one += [layers.have_the_gradients_of_its_own_rules]
    name = f"{of.name}.{entry}"
    return _contract(name, of.spec, [*_CALLED], options, one, of=of)


def function(
    name: str,
    spec: Spec,
    function: Callable[..., Any],
    *,
    surrogate: bool = False,
) -> Callable[[Callable[[Pick], Case]], Contract[Situation]]:
    """The contract of a function of arrays, of the function that picks its cases.

    `surrogate` says whether its gradient is meant not to be the derivative.
    """

    def refuse_what_is_no_hyperparameter(situation: Situation) -> None:
        x = situation.case.arguments(jnp.float32).x
        valid = situation.case.hyperparameters
        assert_refuses_invalid(name, spec, functools.partial(function, *x), valid)

    def have_the_defaults_of_the_spec(situation: Situation) -> None:
        assert_function_defaults(name, spec, function)

    every: list[Any] = [
        layers.compute_what_the_spec_says,
        layers.keep_the_dtype,
        layers.have_the_annotated_shapes,
        have_the_annotated_kinds,
        keys.use_no_key_twice,
    ]
    one: list[Any] = [
        have_the_defaults_of_the_spec,
        refusals.refuse_half_precision,
        layers.compute_the_same_compiled_and_mapped,
        *([] if surrogate else [layers.have_the_gradients_of_finite_differences]),
        refuse_what_is_no_hyperparameter,
    ]
    options: list[Any] = [
        refusals.refuse_other_shapes,
        refusals.refuse_other_kinds,
        refusals.refuse_mixed_dtypes,
        layers.keep_integers,
        layers.have_the_derivatives_of_the_spec,
        layers.keep_the_dtype_of_gradients,
    ]
    return _contract(name, spec, every, options, one)


def optimizer(
    name: str,
    spec: Spec,
    init: Callable[..., Any],
    *,
    valid: Mapping[str, Any] | None = None,
) -> Callable[[Callable[[Pick], OptimizerCase]], Contract[OptimizerSituation]]:
    """The contract of an optimizer, of the function that picks its cases.

    Args:
        name: that of the optimizer.
        spec: what it follows from.
        init: its `init`.
        valid: hyperparameters with which `init` makes a state.
    """
    takes_weights = "trainables" in layers.parameter_names(init)

    def refuse_what_is_no_hyperparameter(situation: OptimizerSituation) -> None:
        make = functools.partial(init, {}) if takes_weights else init
        assert_refuses_invalid(name, spec, make, valid)

    def tell_of_masks_that_select_nothing(situation: OptimizerSituation) -> None:
        assert_names_masks(situation.case, spec, init)

    def have_the_defaults_of_the_spec(situation: OptimizerSituation) -> None:
        assert_optimizer_defaults(name, spec, init, situation.case.step)

    every: list[Any] = [
        optimizers.compute_what_the_spec_says,
        optimizers.create_what_the_spec_declares,
        optimizers.keep_the_dtype,
        optimizers.use_no_key_twice,
    ]
    options: list[Any] = [
        hold_what_it_is_given,
        optimizers.keep_the_dtype_of_each_weight,
    ]
    one: list[Any] = [
        have_the_defaults_of_the_spec,
        optimizers.have_static_hyperparameters,
        optimizers.have_moments_of_the_structure_of_the_weights,
        optimizers.refuse_what_does_not_fit,
        tell_of_masks_that_select_nothing,
        optimizers.behave_without_gradients,
        refuse_what_is_no_hyperparameter,
    ]
    if takes_weights:
        one += [optimizers.refuse_weights_that_are_not_floating]

    def decorate(
        cases: Callable[[Pick], OptimizerCase],
    ) -> Contract[OptimizerSituation]:
        def make(pick: Pick) -> OptimizerSituation:
            return OptimizerSituation.pick(_asked(spec, cases, pick), spec, pick)

        property = Claim(optimizers.keep_the_dtype)
        return Contract(name, spec, make, _claims(every, options, one), property)

    return decorate


def schedule(
    name: str,
    spec: Spec,
    *,
    requirements: tuple[str, ...] = (),
    unsaid: bool = False,
    valid: Mapping[str, Any] | None = None,
) -> Callable[[Callable[[Pick], Any]], Contract[ScheduleSituation]]:
    """The contract of a schedule, of the function that picks one.

    Args:
        name: that of the schedule.
        spec: what it follows from.
        requirements: messages with which it may refuse what was picked.
        unsaid: whether its own code may refuse it, and no requirement tell it.
        valid: hyperparameters that make one.
    """

    def refuse_what_is_no_hyperparameter(situation: ScheduleSituation) -> None:
        assert_refuses_invalid(name, spec, type(situation.schedule), valid)

    def have_the_defaults_of_the_spec(situation: ScheduleSituation) -> None:
        assert_schedule_defaults(name, spec, type(situation.schedule))

    every: list[Any] = [
        schedules.compute_what_the_spec_says,
        schedules.keep_the_dtype,
        schedules.take_integers_and_arrays,
    ]
    one: list[Any] = [
        have_the_defaults_of_the_spec,
        schedules.be_static,
        refuse_what_is_no_hyperparameter,
    ]

    def decorate(cases: Callable[[Pick], Any]) -> Contract[ScheduleSituation]:
        def make(pick: Pick) -> ScheduleSituation:
            return ScheduleSituation.pick(cases, spec, pick, requirements, unsaid)

        property = Claim(schedules.keep_the_dtype)
        return Contract(name, spec, make, _claims(every, [], one), property)

    return decorate


def _asked(spec: Spec, cases: Callable[[Pick], C], pick: Pick) -> C:
    """A case; where the generated code refuses its hyperparameters, the spec has to."""
    try:
        return cases(pick)
    except Refused as refused:
        assert_spec_refuses(spec, refused.hyperparameters, refused)
        raise


def _claims(every: list[Any], options: list[Any], one: list[Any]) -> tuple[Any, ...]:
    return (
        *map(Claim, every),
        *(Claim(check, "every option") for check in options),
        *(Claim(check, "one") for check in one),
    )


def _contract(
    name: str,
    spec: Spec,
    every: list[Any],
    options: list[Any],
    one: list[Any],
    said: Sequence[Claim[Situation]] = (),
    of: Contract[Situation] | None = None,
) -> Callable[[Callable[[Pick], Case]], Contract[Situation]]:
    def decorate(cases: Callable[[Pick], Case]) -> Contract[Situation]:
        refused: dict[tuple[str, ...], Unfit] = {}

        def make(pick: Pick) -> Situation:
            pick = Remembering(pick, refused)
            return Situation.pick(_asked(spec, cases, pick), spec, pick)

        property = Claim(layers.keep_every_dtype)
        found = *_claims(every, options, one), *said
        return Contract(name, spec, make, found, property, of)

    return decorate
