"""Contracts of an optimizer. Each function raises AssertionError where one is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import assume
from jax.typing import DTypeLike

from mlax_scaffold.testing._functions import assert_static
from mlax_scaffold.testing.audit import assert_dtypes, audit_jaxpr, report
from mlax_scaffold.testing.case import cast
from mlax_scaffold.testing.compare import assert_matches, assert_same_structure
from mlax_scaffold.testing.dtypes import precision_for

PyTree = Any


class _Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class OptimizerCase:
    """An optimizer with its hyperparameters bound.

    Args:
        name: what messages call it.
        init: `init(trainables)` returns `(state, hyperparams)`; the state is a NamedTuple
            of scalars and moments, the hyperparameters are a static pytree.
        step: `step(gradients, state, trainables, hyperparams)` returns
            `(updates, state)`.
        moment_dtype: the dtype in which moments are held and updates are computed; None:
            that of each weight.
        partial_moments: names of the fields of the state that need not have the structure
            of the weights, such as the states of inner optimizers.
        needs: names of the keyword-only inputs that `step` cannot do without.
        other_dtypes: other dtypes that the hyperparameters declare.
        per_example: whether `step` takes the gradients of each example.
    """

    name: str
    init: Callable[[PyTree], tuple[Any, Any]]
    step: Callable[..., tuple[PyTree, Any]]
    moment_dtype: DTypeLike | None = None
    partial_moments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    other_dtypes: tuple[DTypeLike | None, ...] = ()
    per_example: bool = False

    def initialize(self, trainables: PyTree) -> tuple[Any, Any]:
        """`init`; hyperparameters with which it asks for a `moment_dtype` are not drawn."""
        try:
            return self.init(trainables)
        except ValueError as error:
            assume("give moment_dtype" not in str(error))
            raise

    def given(self, gradients: PyTree) -> PyTree:
        """Gradients as `step` takes them: where it takes several examples, of two."""
        if not self.per_example:
            return gradients
        return jax.tree.map(lambda g: jnp.stack([g, g + g]), gradients)

    def take(
        self, gradients: PyTree, state: Any, params: PyTree, hyperparams: Any
    ) -> tuple[PyTree, Any]:
        """`step` with the inputs that the optimizer needs."""
        inputs = inputs_of_step(gradients, params)
        given = {name: inputs[name] for name in self.needs}
        return self.step(self.given(gradients), state, params, hyperparams, **given)


def trees() -> dict[str, PyTree]:
    """Weights of many structures, as `jax.ShapeDtypeStruct` in float32."""
    matrix = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    vector = jax.ShapeDtypeStruct((3,), jnp.float32)
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    return {
        "leaf": matrix,
        "dict": {"kernel": matrix, "bias": vector},
        "none": {"kernel": matrix, "bias": None},
        "named tuple": _Pair(matrix, [vector, (scalar,)]),
        "partial": jax.tree_util.Partial(max, matrix),
        "empty": {},
        "only none": (None, None),
    }


def inputs_of_step(gradients: PyTree, params: PyTree) -> dict[str, Any]:
    """Inputs of `step`: a loss with these gradients at these weights, and a key.

    The loss is 1 + gradients (p - params) + |p - params|^2 / 2.
    """

    def value_and_gradients(p: PyTree) -> tuple[jax.Array, PyTree]:
        moved = jax.tree.map(jnp.subtract, p, params)
        losses = jax.tree.map(_loss, gradients, moved)
        value = sum(jax.tree.leaves(losses), jnp.ones((), jnp.result_type(float)))
        return value, jax.tree.map(jnp.add, gradients, moved)

    return {
        "value": jnp.ones((), jnp.result_type(float)),
        "value_and_gradients": value_and_gradients,
        "key": jax.random.key(0),
    }


def _loss(gradient: jax.Array, moved: jax.Array) -> jax.Array:
    products = gradient * moved + moved * moved / 2
    axes = tuple(range(products.ndim))
    total = jax.lax.reduce(products, products.dtype.type(0), jax.lax.add, axes)
    return total.astype(jnp.result_type(float))


def weights(structs: PyTree, seed: int = 0) -> PyTree:
    """Standard normal arrays of these shapes and dtypes."""
    generator = np.random.default_rng(seed)

    def draw(struct: Any) -> Any:
        values = np.asarray(generator.standard_normal(struct.shape))
        return jax.device_put(values.astype(struct.dtype))

    return jax.tree.map(draw, structs)


def assert_optimizer_dtypes(
    case: OptimizerCase, dtype: DTypeLike, gradients_dtype: DTypeLike | None = None
) -> None:
    """Updates have the weights' dtype, state keeps its own, and no array is widened.

    Scalars may be in the default float dtype, and arrays in `moment_dtype` where the case
    has one; all other arithmetic is in `dtype`. Compiles nothing.
    """
    gradients_dtype = dtype if gradients_dtype is None else gradients_dtype
    declared = declared_dtypes(case)
    what = f"{case.name} with weights in {jnp.dtype(dtype)}"
    with precision_for(dtype, gradients_dtype, *declared):
        structs = cast(trees()["dict"], dtype)
        jaxpr = _trace(case, structs, cast(structs, gradients_dtype), what)
        assert_dtypes(
            jaxpr,
            (dtype, *declared),
            scalars=(jnp.float32, jnp.result_type(float)),
            what=what,
        )


def declared_dtypes(case: OptimizerCase) -> tuple[DTypeLike, ...]:
    """The dtypes that hyperparameters name."""
    named = (case.moment_dtype, *case.other_dtypes)
    return tuple(dtype for dtype in named if dtype is not None)


def assert_mixed_dtypes(case: OptimizerCase) -> None:
    """In a tree of mixed dtypes each weight keeps its own. Compiles nothing.

    The update has the dtype of its weight, and what is computed of it is in that dtype or
    in one that the hyperparameters declare: no weight is rounded to, or widened by, the
    dtype of another one. Values are known by their shapes, which no two weights share.
    """
    structs = {
        "half": jax.ShapeDtypeStruct((2, 5), jnp.bfloat16),
        "single": jax.ShapeDtypeStruct((11,), jnp.float32),
    }
    what = f"{case.name} with weights of mixed dtypes"
    declared = declared_dtypes(case)
    with precision_for(*declared):
        jaxpr = _trace(case, structs, structs, what)
    for name, struct in structs.items():
        allowed = (struct.dtype, *declared)
        findings = [f for f in audit_jaxpr(jaxpr, allowed) if f.shape == struct.shape]
        if findings:
            raise AssertionError(report(findings, allowed, what=f"{what}, {name}"))


def assert_structure(case: OptimizerCase) -> None:
    """Moments have the pytree structure of the weights, whatever that is.

    Their arrays may have other shapes: moments that are not kept, or are factored.
    `step` returns updates and a state of the structures that it was given. Only traces.
    """
    for name, structs in trees().items():
        what = f"{case.name} with weights of the structure {name!r}"
        state, _ = jax.eval_shape(case.initialize, structs)
        for field, value in _fields(state, what).items():
            if field in case.partial_moments or value is None or _is_scalar(value):
                continue
            _assert_mirrors(structs, value, f"{what}: the moment {field}")
        _trace(case, structs, structs, what)


def assert_jit(case: OptimizerCase) -> None:
    """`jit` takes hyperparameters in every way, traces once, and equals the eager step."""
    params = weights(trees()["dict"])
    gradients = weights(trees()["dict"], seed=1)
    state, hyperparams = case.initialize(params)
    _, again = case.initialize(params)
    assert_static(hyperparams, again, what=case.name)
    traces = 0

    def step(gradients: PyTree, state: Any, params: PyTree, hyperparams: Any) -> Any:
        nonlocal traces
        traces += 1
        return case.take(gradients, state, params, hyperparams)

    plain = jax.jit(step)
    expected = step(gradients, state, params, hyperparams)
    traces = 0
    first = plain(gradients, state, params, hyperparams)
    plain(gradients, first[1], params, again)
    _assert_one_trace(case, traces, "as a plain argument")
    assert_matches(expected, first, jnp.float32, what=f"{case.name}: jit, step")

    # The others run the same program: tracing them is enough.
    by_name = jax.jit(step, static_argnames="hyperparams")
    of_partial = jax.jit(lambda call, *args: call(*args))

    def static_argument(h: Any) -> None:
        by_name.trace(gradients, state, params, hyperparams=h)

    def partial(h: Any) -> None:
        call = jax.tree_util.Partial(_call, jax.tree_util.Partial(step), h)
        of_partial.trace(call, gradients, state, params)

    for trace, how in (
        (static_argument, "in static_argnames"),
        (partial, "in a jax.tree_util.Partial"),
    ):
        traces = 0
        trace(hyperparams)
        trace(again)
        _assert_one_trace(case, traces, how)
    closed_over = jax.jit(lambda g, s, p: step(g, s, p, hyperparams))
    closed_over.trace(gradients, state, params)


def _call(
    step: Callable[..., Any], hyperparams: Any, gradients: Any, state: Any, params: Any
) -> Any:
    return step(gradients, state, params, hyperparams)


def _assert_one_trace(case: OptimizerCase, traces: int, how: str) -> None:
    if traces != 1:
        raise AssertionError(
            f"{case.name}: with hyperparams {how}, jit traced {traces} times for two "
            "steps, expected once"
        )


def assert_scan(case: OptimizerCase, dtype: DTypeLike = jnp.float32) -> None:
    """`lax.scan` takes weights and state as its carry. Compiles nothing."""
    structs = cast(trees()["dict"], dtype)

    def run(params: PyTree, gradients: PyTree) -> Any:
        state, hyperparams = case.initialize(params)

        def body(carry: Any, _: None) -> tuple[Any, None]:
            params, state = carry
            updates, state = case.take(gradients, state, params, hyperparams)
            return (jax.tree.map(jnp.add, params, updates), state), None

        return jax.lax.scan(body, (params, state), length=3)[0]

    with precision_for(dtype):
        try:
            jax.eval_shape(run, structs, structs)
        except TypeError as error:
            raise AssertionError(
                f"{case.name}: lax.scan does not take weights and state in "
                f"{jnp.dtype(dtype)} as its carry: {error}"
            ) from error


def assert_zero_gradients(
    case: OptimizerCase, dtype: DTypeLike = jnp.float16, steps: int = 3
) -> None:
    """Where gradients, or weights too, are zero, updates and state remain finite."""
    params = weights(cast(trees()["dict"], dtype))
    state, hyperparams = case.initialize(params)

    @jax.jit
    def run(params: PyTree, state: Any, gradients: PyTree) -> Any:
        def body(state: Any, _: None) -> tuple[Any, PyTree]:
            updates, state = case.take(gradients, state, params, hyperparams)
            return state, updates

        return jax.lax.scan(body, state, length=steps)

    zeros = jax.tree.map(jnp.zeros_like, params)
    for how, (values, gradients) in {
        "zero gradients": (params, zeros),
        "gradients that are zero in one array": (
            params,
            params | {"kernel": zeros["kernel"]},
        ),
        "zero weights and gradients": (zeros, zeros),
    }.items():
        new_state, updates = run(values, state, gradients)
        results = {"updates": updates, "state": new_state}
        for path, value in jax.tree_util.tree_leaves_with_path(results):
            if not np.all(np.isfinite(np.asarray(value).astype(np.float64))):
                place = jax.tree_util.keystr(path)
                raise AssertionError(
                    f"{case.name}: {place} is not finite within {steps} steps with "
                    f"{how} in {jnp.dtype(dtype)}: {value}"
                )


def _trace(case: OptimizerCase, params: PyTree, gradients: PyTree, what: str) -> Any:
    """The jaxpr of a step, after checking the types of what it returns."""
    state, hyperparams = jax.eval_shape(case.initialize, params)
    weak = [
        jax.tree_util.keystr(path)
        for path, value in jax.tree_util.tree_leaves_with_path(state)
        if getattr(value, "weak_type", False)
    ]
    if weak:
        raise AssertionError(
            f"{what}: init makes weakly typed state: {', '.join(weak)}"
        )

    def step(gradients: PyTree, state: Any, params: PyTree) -> Any:
        return case.take(gradients, state, params, hyperparams)

    traced = jax.make_jaxpr(step, return_shape=True)(gradients, state, params)
    jaxpr, (updates, new_state) = traced
    assert_same_structure(params, updates, what=f"{what}: updates")
    assert_same_structure(state, new_state, what=f"{what}: the new state")
    for v in jaxpr.out_avals:
        if getattr(v, "weak_type", False):
            raise AssertionError(
                f"{what}: step returns the weakly typed {v}; cast Python numbers with "
                "jnp.asarray(value, dtype)"
            )
    return jaxpr


def _fields(state: Any, what: str) -> dict[str, Any]:
    if not (isinstance(state, tuple) and hasattr(state, "_asdict")):
        raise AssertionError(
            f"{what}: the state is a {type(state).__name__}, expected a NamedTuple"
        )
    return state._asdict()  # pyright: ignore[reportAttributeAccessIssue]


def _is_scalar(value: Any) -> bool:
    """Whether a field of the state is a counter or coefficient of the whole tree."""
    return isinstance(value, jax.ShapeDtypeStruct) and value.shape == ()


def _assert_mirrors(params: PyTree, moment: PyTree, what: str) -> None:
    expected, given = jax.tree.structure(params), jax.tree.structure(moment)
    if expected != given:
        raise AssertionError(
            f"{what} has the structure {given}, expected that of the weights, {expected}"
        )
