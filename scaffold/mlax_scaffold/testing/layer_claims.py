"""What is claimed of layers, blocks and functions. All but the last only trace."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from mlax_scaffold.testing._functions import abstract_key, assert_static
from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.case import Arguments
from mlax_scaffold.testing.compare import assert_same_structure, by_name
from mlax_scaffold.testing.copies import assert_equal_copies
from mlax_scaffold.testing.domains import NotFinite, hold_where_defined
from mlax_scaffold.testing.dtypes import is_inexact, real
from mlax_scaffold.testing.layer_gradients import assert_gradients
from mlax_scaffold.testing.oracle import first_carry
from mlax_scaffold.testing.programs import (
    Program,
    assert_maps,
    assert_same_programs,
    assert_same_rules,
    assert_same_values,
    quick,
    same_operations,
)
from mlax_scaffold.testing.situation import Situation
from mlax_scaffold.testing.sums import assert_no_narrow_sums

PyTree = Any


def compute_what_the_spec_says(situation: Situation) -> None:
    """`fwd` gives the values and the state of the spec."""
    with situation.precision():
        assert_same_programs(
            situation.expected,
            situation.forward,
            situation.drawn,
            situation.compute_dtype,
            what=str(situation),
            names=("y", "state"),
            spec=situation.spec.path,
        )


def have_the_derivatives_of_the_spec(situation: Situation) -> None:
    """Gradients are those of the spec, also where a function has a derivative of its own."""
    # All other derivatives follow from the program.
    with situation.precision():
        what = f"{situation}: gradients"
        programs = situation.expected, situation.forward
        same = same_operations(*programs) and assert_same_rules(
            *programs, what=what, spec=situation.spec.path
        )
    if same:
        return
    expected, actual = situation.expected_gradient, situation.gradient
    if actual is None or expected is None:
        return

    # A word may have a derivative of its own in the package, which a spec leaves to jax.
    def drawn() -> list[Any]:
        ones = actual.jaxpr.in_avals[len(situation.forward.jaxpr.in_avals) :]
        return [*situation.drawn(), *(jnp.ones(v.shape, v.dtype) for v in ones)]

    with situation.precision():
        dtype = situation.compute_dtype
        assert_same_values(expected, actual, drawn, dtype, what=what)


def keep_the_dtype(situation: Situation) -> None:
    """Outputs and every intermediate have the dtype of the input, and state keeps its own.

    No sum adds 16-bit numbers one after another, and nothing that is returned is weakly typed.
    """
    what, dtype = str(situation), situation.compute_dtype
    y, state = situation.forward.out
    for path, value in jax.tree_util.tree_leaves_with_path(y):
        if is_inexact(value) and real(value.dtype) not in situation.compute_dtypes:
            raise AssertionError(
                f"{what}: the output y{jax.tree_util.keystr(path)} is {value.dtype}, "
                f"expected {dtype}, the dtype of the input"
            )
    assert_same_structure(
        situation.arguments.non_trainables, state, what=f"{what}: the new state"
    )
    _assert_dtypes(situation, situation.forward, 0, f"{what}, forward")
    # What jax writes where a layer of one's own differentiates is not what somebody wrote.
    assert_no_narrow_sums(
        situation.forward.jaxpr,
        gradients=not situation.case.unsaid,
        what=f"{what}, forward",
    )


def keep_integers(situation: Situation) -> None:
    """Where the inputs may be of integers, so is the result, and all that is computed in between."""
    case = situation.case
    wide = case.shapes.integers if case.shapes else set()
    if not wide or not all(
        label in wide or not is_inexact(array)
        for label, array in (case.shapes.arrays if case.shapes else {}).items()
    ):
        return
    spread = dataclasses.replace(case, ranges={"x": (0, 100), **case.ranges})
    for dtype in map(jnp.dtype, (jnp.uint8, jnp.int32)):
        given = dataclasses.replace(situation, case=spread, dtype=dtype)
        try:
            y, _ = given.forward.out
        except ValueError as error:
            if not case.refuses(error):
                raise
            continue
        for path, value in jax.tree_util.tree_leaves_with_path(y):
            if value.dtype not in (dtype, jnp.bool_):
                raise AssertionError(
                    f"{given}: the output y{jax.tree_util.keystr(path)} is "
                    f"{value.dtype}, expected {dtype}, the dtype of the input"
                )
        assert_dtypes(given.forward.jaxpr, (), what=f"{given}, forward")
        compute_what_the_spec_says(given)


def keep_the_dtype_of_gradients(situation: Situation) -> None:
    """Gradients have the dtype of what they are gradients of, and are computed in that of the input."""
    program, what = situation.gradient, str(situation)
    if program is None:
        return
    _, gradients = program.out
    inputs = situation.forward.jaxpr.in_avals
    for (position, place), gradient in zip(
        situation.differentiable, gradients, strict=True
    ):
        value = inputs[position]
        if (gradient.dtype, gradient.shape) != (value.dtype, value.shape):
            raise AssertionError(
                f"{what}: the gradient of {place} is {gradient.dtype}{gradient.shape}, "
                f"expected {value.dtype}{value.shape}"
            )
    _assert_dtypes(situation, program, len(gradients), f"{what}, gradient")


def _assert_dtypes(
    situation: Situation, program: Program, gradients: int, what: str
) -> None:
    case = situation.case
    leaves = jax.tree.leaves(situation.arguments.non_trainables)
    of_state = [v.dtype for v in leaves if is_inexact(v)]
    stored = of_state if case.stored else ()
    outputs = len(jax.tree.leaves(situation.forward.out[0]))
    kept = [False] * outputs + [True] * len(leaves) + [False] * gradients
    computed = situation.compute_dtypes
    allowed = (*computed, *case.complex_of(*computed), *case.allowed)
    # Rules of derivatives are traced, and remembered as they are traced first.
    with situation.precision():
        assert_dtypes(
            program.jaxpr,
            allowed,
            stored=stored,
            kept=kept,
            passed=of_state,
            weak=situation.is_given_no_dtype,
            what=what,
        )


def compute_the_same_compiled_and_mapped(situation: Situation) -> None:
    """Compiled, with the hyperparameters as an argument, it is the same program, and `vmap` can map it."""
    program, training = situation.forward, situation.training

    @jax.jit
    def compiled(given: Arguments, key: Any) -> Any:
        y, new = situation.case.call(given, training=training, key=key)
        return by_name(y), new

    with situation.precision():
        x, weights, state, inputs, key = situation.arrays
        given = situation.arguments._replace(
            x=x, trainables=weights, non_trainables=state, inputs=inputs
        )
        assert_same_programs(
            program,
            Program.of(compiled, given, key),
            situation.drawn,
            situation.compute_dtype,
            what=f"{situation}: compiled",
            names=("y", "state"),
        )
        assert_maps(program, what=f"{situation}: mapped by vmap")


def keep_every_dtype(situation: Situation) -> None:
    """The dtype contract: forward and backward."""
    keep_the_dtype(situation)
    keep_the_dtype_of_gradients(situation)


def have_the_annotated_shapes(situation: Situation) -> None:
    """Results have the shapes of the annotation, where that says them."""
    expected = situation.case.y
    if expected is None:
        return
    shapes = jax.tree.map(lambda v: tuple(v.shape), situation.forward.out[0])
    if not _fits(shapes, expected):
        raise AssertionError(
            f"{situation}: the output has the shape {shapes}, expected {expected}"
        )


def create_what_the_spec_declares(situation: Situation) -> None:
    """`init` makes the weights and states that the spec makes of the same key."""
    _assert_creates(situation, {})


def take_an_initializer_for_each_weight(situation: Situation) -> None:
    """Each initializer makes its weight, and no other."""
    layer = situation.case.layer
    names = [n for n in parameter_names(layer.init) if n.endswith("initializer")]
    given = {name: _Constant(i + 2.0) for i, name in enumerate(names)}
    _assert_creates(situation, given)


def _assert_creates(situation: Situation, initializers: Any) -> None:
    expected, actual = situation.creation(**initializers)
    weights = situation.arguments[1:3]
    what = f"{situation.case.name}: init, weights and state"
    with situation.precision():
        assert_same_structure(expected.out, weights, what=what)

        def key() -> list[Any]:
            return [jax.random.key(0)]

        dtype = situation.weights_dtype
        assert_same_programs(
            expected,
            actual,
            key,
            dtype,
            what=what,
            names=("trainables", "non_trainables"),
            spec=situation.spec.path,
        )


def parameter_names(function: Any) -> tuple[str, ...]:
    """The names of the parameters of a function."""
    return tuple(inspect.signature(function).parameters)


class _Constant:
    """An initializer that fills with a value."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(
        self, key: Any, shape: Any, dtype: Any = jnp.float32, **options: Any
    ) -> Any:
        return jnp.full(shape, self.value, dtype)


def have_static_hyperparameters(situation: Situation) -> None:
    """Those of two calls of `init`, and copies, are equal, hashable, and a pytree without leaves."""
    case = situation.case
    try:
        first, second = (_made_hyperparams(case) for _ in range(2))
    except TypeError as error:
        raise AssertionError(
            f"{case.name}: init cannot be traced; are hyperparams a static pytree? {error}"
        ) from error
    assert_static(first, second, what=case.name)
    assert_equal_copies(first, what=case.name)


def _made_hyperparams(case: Any) -> Any:
    # Of a function of its own: `eval_shape` remembers what it has traced.
    made = jax.eval_shape(lambda key: case.init(key, jnp.float32), abstract_key())
    return made[2]


def make_the_first_carry(situation: Situation) -> None:
    """The first carry of a cell is what its steps take and return."""
    with situation.precision():
        inputs, carry = situation.arguments.x
        given = inputs.shape, inputs.dtype
        made = situation.arguments.hyperparams.initial_carry(*given)
        declared = first_carry(
            situation.case, situation.spec, situation.arguments, *given
        )
    shapes = jax.tree.map(lambda v: jax.ShapeDtypeStruct(v.shape, v.dtype), made)
    assert shapes == carry, f"{situation}: initial_carry makes {shapes}, not {carry}"
    # A NamedTuple of the spec is another class than that of the module.
    same = jax.tree.map(np.array_equal, by_name(made), by_name(declared))
    assert jax.tree.all(same), f"{situation}: initial_carry makes {made}"


def have_the_gradients_of_finite_differences(situation: Situation) -> None:
    """Gradients are those of finite differences, in float64. This compiles a program."""
    assert_gradients(situation.case, training=situation.training)


def have_the_gradients_of_its_own_rules(situation: Situation) -> None:
    """Where the spec says what a derivative is, gradients are those of finite differences.

    All other derivatives follow from the program.
    """
    text = situation.spec.path.read_text(encoding="utf-8")
    if any(word in text for word in _OWN_RULES) and situation.gradient is not None:
        assert_gradients(situation.case, training=situation.training)


def have_finite_gradients(situation: Situation) -> None:
    """Results and gradients are numbers. This compiles a program."""
    hold_where_defined(
        situation.case,
        lambda case: _assert_finite(
            situation
            if case is situation.case
            else dataclasses.replace(situation, case=case)
        ),
    )


def _assert_finite(situation: Situation) -> None:
    found = ""
    # XLA has made NaN of finite numbers where it optimizes nothing: users' code decides.
    for options in (quick(), None):
        found = _not_finite(situation, options)
        if not found:
            return
    raise NotFinite(f"{situation}: {found}")


def _not_finite(situation: Situation, options: dict[str, Any] | None) -> str:
    """Which result or gradient is no number, in code that is compiled with these options."""
    program = situation.gradient
    if program is None:
        return ""
    with situation.precision():
        inputs = situation.forward.jaxpr.in_avals
        ones = [
            jnp.ones(v.shape, v.dtype) for v in program.jaxpr.in_avals[len(inputs) :]
        ]
        run = jax.jit(jaxpr_as_fun(program.jaxpr), compiler_options=options)
        flat = [np.asarray(v) for v in run(*situation.drawn(), *ones)]
    count = len(jax.tree.leaves(situation.forward.out[0]))
    y, gradients = flat[:count], flat[-len(situation.differentiable) :]
    names = [place for _, place in situation.differentiable]
    for place, gradient in zip(names, gradients, strict=True):
        if not np.all(np.isfinite(_wide(gradient))):
            return f"the gradient of {place} is not finite"
    if any(is_inexact(value) and np.any(np.isnan(_wide(value))) for value in y):
        return "y is not a number"
    return ""


def _wide(value: Any) -> Any:
    """The array in double precision, which numpy knows."""
    return value.astype(np.complex128 if np.iscomplexobj(value) else np.float64)


_OWN_RULES = ("custom_jvp", "custom_vjp", "custom_gradient", "stop_gradient")
"""With these a spec makes a gradient that may not be the derivative."""


def _fits(shapes: PyTree, expected: PyTree) -> bool:
    """Whether shapes are the expected ones, of which None is any size."""
    sizes, tree = jax.tree.flatten(shapes, is_leaf=_is_none)
    wanted, wanted_tree = jax.tree.flatten(expected, is_leaf=_is_none)
    return tree == wanted_tree and all(
        size in (None, given) for size, given in zip(wanted, sizes, strict=True)
    )


def _is_none(value: Any) -> bool:
    return value is None
