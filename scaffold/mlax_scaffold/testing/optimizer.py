"""Contracts of an optimizer. Each function raises AssertionError where one is broken."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mlax_scaffold.testing import toys
from mlax_scaffold.testing.audit import audit_jaxpr, report
from mlax_scaffold.testing.case import cast
from mlax_scaffold.testing.compare import assert_same_structure
from mlax_scaffold.testing.domains import Undefined
from mlax_scaffold.testing.dtypes import precision_for
from mlax_scaffold.testing.optimizer_weights import taken, trees, weights
from mlax_scaffold.testing.picks import Unfit
from mlax_scaffold.testing.programs import quick

PyTree = Any
ASKS = "give moment_dtype"
"""What an error says that asks for a moment_dtype."""


INPUTS = "value", "value_and_gradients", "key"
"""The inputs of every `step`, beside gradients, state and weights."""


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
        held_moments: names of those that are containers, at whose places are such of the
            structure of the weights.
        needs: names of the keyword-only inputs that `step` cannot do without.
        other_dtypes: other dtypes that the hyperparameters declare.
        per_example: whether `step` takes the gradients of each example.
        hyperparameters: what `init` is called with; an optimizer in the place of one is a toy.
        requirements: messages with which it may refuse what was picked.
        unsaid: whether it may be undefined where nothing is left of the gradients, without
            weights or where all of them are zero, and tell it by no requirement.
    """

    name: str
    init: Callable[[PyTree], tuple[Any, Any]]
    step: Callable[..., tuple[PyTree, Any]]
    moment_dtype: DTypeLike | None = None
    partial_moments: tuple[str, ...] = ()
    held_moments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    other_dtypes: tuple[DTypeLike | None, ...] = ()
    per_example: bool = False
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    unsaid: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        optimizer: Any,
        hyperparameters: Mapping[str, Any],
        **settings: Any,
    ) -> OptimizerCase:
        """A generated optimizer: the module that has its `init` and `step`."""
        takes_weights = "trainables" in inspect.signature(optimizer.init).parameters

        def init(trainables: PyTree) -> tuple[Any, Any]:
            given = toys.with_optimizers(hyperparameters, trainables)
            return optimizer.init(*[trainables] * takes_weights, **given)

        return cls(
            name, init, optimizer.step, hyperparameters=hyperparameters, **settings
        )

    def plain_hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters that are no optimizers."""
        given = self.hyperparameters
        return {n: v for n, v in given.items() if not isinstance(v, toys.ToyOptimizer)}

    def refuses(self, error: Exception) -> bool:
        """Whether an error is that of a requirement of the spec."""
        return any(message in str(error) for message in self.requirements)

    def initialize(self, trainables: PyTree) -> tuple[Any, Any]:
        """`init`. Raises Unfit where it asks for a `moment_dtype`."""
        try:
            return self.init(trainables)
        except ValueError as error:
            if ASKS in str(error):
                raise Unfit from error
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
    structs = taken(case, structs)
    what = f"{case.name} with weights of mixed dtypes"
    declared = declared_dtypes(case)
    with precision_for(*declared):
        jaxpr = _trace(case, structs, structs, what)
    for name, struct in structs.items():
        if struct is None:
            continue
        allowed = (struct.dtype, *declared)
        findings = [f for f in audit_jaxpr(jaxpr, allowed) if f.shape == struct.shape]
        if findings:
            raise AssertionError(report(findings, allowed, what=f"{what}, {name}"))


_WITHOUT_WEIGHTS = (
    *(ArithmeticError, ValueError, LookupError, TypeError, AttributeError),
)
"""What is raised where something takes one of no leaves, or calls the sum of none an array."""


def assert_structure(case: OptimizerCase) -> None:
    """Moments have the pytree structure of the weights, whatever that is.

    Their arrays may have other shapes: moments that are not kept, or are factored.
    `step` returns updates and a state of the structures that it was given. Only traces.
    """
    for name, given in trees().items():
        structs = taken(case, given)
        what = f"{case.name} with weights of the structure {name!r}"
        state, _ = jax.eval_shape(case.initialize, structs)
        for moment, value in _fields(state, what).items():
            if moment in case.partial_moments or value is None or _is_scalar(value):
                continue
            parts = [value]
            if moment in case.held_moments:
                parts = _parts(structs, value)
            for part in parts:
                _assert_mirrors(structs, part, f"{what}: the moment {moment}")
        try:
            _trace(case, structs, structs, what)
        except _WITHOUT_WEIGHTS:
            if not case.unsaid or jax.tree.leaves(structs):
                raise


def assert_zero_gradients(
    case: OptimizerCase, dtype: DTypeLike = jnp.float16, steps: int = 3
) -> None:
    """Where gradients, or weights too, are zero, updates and state remain finite.

    What may be undefined without gradients remains so where they are zero in one array. Updates
    are what is added to weights, and not the weights after it.
    """
    structs = taken(case, cast(trees()["dict"], dtype))
    params = weights(structs)
    _, hyperparams = jax.eval_shape(case.initialize, structs)

    def run(params: PyTree, gradients: PyTree) -> Any:
        def body(state: Any, _: None) -> tuple[Any, PyTree]:
            updates, state = case.take(gradients, state, params, hyperparams)
            return state, updates

        return jax.lax.scan(body, case.init(params)[0], length=steps)

    program = jax.jit(run, compiler_options=quick())

    zeros = jax.tree.map(jnp.zeros_like, params)
    one = params | {"kernel": zeros["kernel"]}
    given = {"gradients that are zero in one array": (params, one)}
    if not case.unsaid:
        given["zero gradients"] = params, zeros
        given["zero weights and gradients"] = zeros, zeros
    for how, (values, gradients) in given.items():
        new_state, updates = program(values, gradients)
        results = {"updates": updates, "state": new_state}
        for path, value in jax.tree_util.tree_leaves_with_path(results):
            if not np.all(np.isfinite(np.asarray(value).astype(np.float64))):
                place = jax.tree_util.keystr(path)
                usual = jax.tree.leaves(program(params, params))
                wide = [np.asarray(v).astype(np.float64) for v in usual]
                # Where gradients change nothing, hyperparameters make it undefined.
                undefined = not all(np.all(np.isfinite(v)) for v in wide)
                kind = Undefined if case.unsaid and undefined else AssertionError
                raise kind(
                    f"{case.name}: {place} is not finite within {steps} steps with "
                    f"{how} in {jnp.dtype(dtype)}: {value}\nA constant that is added may be zero "
                    "there, as 1e-8 is: `jnp.maximum(x, jnp.finfo(x.dtype).tiny)` is not."
                )
    drawn = (weights(structs, seed) for seed in range(_DRAWS))
    _assert_changes(
        case.name, [(p, program(p, zeros)[1], program(p, p)[1]) for p in drawn]
    )


_DRAWS = 8
"""So many weights tell what points along them from what does by chance."""


def _assert_changes(name: str, steps: Sequence[tuple[PyTree, PyTree, PyTree]]) -> None:
    """Updates that point along the weights without a gradient, and against it with one, are weights.

    Of each step: the weights, the updates of zero gradients, and those where the weights are the
    gradients. What adds a share of the weights to gradients, as L2 regularization does, points along both.
    """
    along: list[float] = []
    against: list[float] = []
    for weight, *updates in steps:
        p, still, moved = map(
            _flat, (weight, *(jax.tree.map(lambda u: u[0], u) for u in updates))
        )
        lengths = np.linalg.norm(p) * np.linalg.norm(still)
        along.append(float(p @ still / lengths) if lengths else 0.0)
        against.append(float(p @ (moved - still)))
    if np.mean(along) > 0.5 and np.mean(against) < 0.0:
        raise AssertionError(
            f"{name}: the updates are the weights after the step, where what is added to the weights "
            "is asked for: return the difference, `new - param`"
        )


def _flat(tree: PyTree) -> np.ndarray:
    """All numbers of a tree, as one vector of float64."""
    leaves = [np.asarray(leaf).astype(np.float64) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


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


def _parts(params: PyTree, moment: PyTree) -> list[PyTree]:
    """What is in a container of moments."""
    structure = jax.tree.structure(params)
    return jax.tree.leaves(
        moment, is_leaf=lambda node: jax.tree.structure(node) == structure
    )


def _assert_mirrors(params: PyTree, moment: PyTree, what: str) -> None:
    expected, given = jax.tree.structure(params), jax.tree.structure(moment)
    if expected != given:
        raise AssertionError(
            f"{what} has the structure {given}, expected that of the weights, {expected}"
        )
