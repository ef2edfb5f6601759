"""An optimizer in one situation: hyperparameters, the dtype of weights, and its traced programs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.testing._functions import abstract_key
from mlax_scaffold.testing.case import cast
from mlax_scaffold.testing.dtypes import FLOAT_DTYPES, precision_for
from mlax_scaffold.testing.optimizer import (
    ASKS,
    INPUTS,
    OptimizerCase,
    declared_dtypes,
    inputs_of_step,
)
from mlax_scaffold.testing.optimizer_weights import taken, trees
from mlax_scaffold.testing.oracle import (
    Spec,
    assert_spec_refuses,
    run_optimizer,
    run_optimizer_initialization,
)
from mlax_scaffold.testing.picks import (
    REFUSALS,
    UNTRACED,
    Pick,
    Refused,
    Unfit,
    assert_wanted,
)
from mlax_scaffold.testing.programs import Program
from mlax_scaffold.testing.strategies import choices

PyTree = Any


@dataclass(frozen=True, eq=False)
class OptimizerSituation:
    """A case with weights of a structure and a dtype.

    Args:
        case: the optimizer.
        spec: what it follows from.
        dtype: of weights and gradients.
        weights: their types.
        inputs: names of the inputs that a step is given, beside those that it needs.
        picked: all that was picked, by name.
    """

    case: OptimizerCase
    spec: Spec
    dtype: Any
    weights: PyTree
    inputs: tuple[str, ...] = ()
    picked: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def pick(cls, case: OptimizerCase, spec: Spec, pick: Pick) -> OptimizerSituation:
        """A situation of a case. Raises Unfit where the optimizer asks for other moments."""
        dtype = pick("dtype", choices(*FLOAT_DTYPES))
        structure = pick("structure of the weights", choices("dict", "named tuple"))
        others = tuple(name for name in INPUTS if name not in case.needs)
        inputs = pick("inputs that it may do without", choices((), others))
        assert_wanted(pick)
        structs = taken(case, cast(trees()[structure], dtype))
        found = cls(case, spec, dtype, structs, inputs)
        try:
            _ = found.step
        except UNTRACED:
            raise
        except REFUSALS as error:
            if ASKS in str(error):
                raise Unfit from error
            if isinstance(error, ValueError) and case.refuses(error):
                found.assert_spec_refuses(error)
                raise Refused(case.hyperparameters, error) from error
            if case.unsaid and found._spec_fails():
                raise Refused(case.hyperparameters, error) from error
            raise
        return found

    def _spec_fails(self) -> bool:
        """Whether the code of the spec takes no step."""
        try:
            _ = self.expected
        except REFUSALS:
            return True
        return False

    def assert_spec_refuses(self, told: ValueError) -> None:
        """Raise AssertionError where the spec takes hyperparameters, or a step, that are refused."""
        try:
            _ = self.initialized
        except ValueError:
            with self.precision():
                assert_spec_refuses(
                    self.spec, self.case.hyperparameters, told, self.weights
                )
            return
        try:
            _ = self.expected
        except REFUSALS:
            return
        raise AssertionError(f"{self}: the spec takes a step that is refused: {told}")

    def __str__(self) -> str:
        return f"{self.case.name} with weights in {self.dtype}"

    def in_dtype(self, dtype: Any) -> OptimizerSituation:
        """The same with weights in another dtype."""
        weights = cast(self.weights, dtype)
        return dataclasses.replace(self, dtype=jnp.dtype(dtype), weights=weights)

    def precision(self) -> Any:
        """The context in which its dtypes exist."""
        return precision_for(self.dtype, *declared_dtypes(self.case))

    @functools.cached_property
    def initialized(self) -> tuple[Any, Any]:
        """`(state, hyperparams)`, arrays as `jax.ShapeDtypeStruct`."""
        with self.precision():
            return jax.eval_shape(self.case.init, self.weights)

    @property
    def arrays(self) -> tuple[PyTree, ...]:
        """What every program of a step takes: gradients, state, weights, a key."""
        return self.weights, self.initialized[0], self.weights, abstract_key()

    def drawn(self) -> list[Any]:
        """Arrays for `arrays`, flat. What is kept of gradients is positive, as squares are."""
        generator = np.random.default_rng(1)
        gradients, state, weights, _ = self.arrays

        def draw(positive: bool, struct: Any) -> Any:
            values = generator.standard_normal(struct.shape)
            if jnp.issubdtype(struct.dtype, jnp.integer):
                values = np.full(struct.shape, 2)
            elif positive:
                values = np.abs(values) + 0.25
            return jax.device_put(np.asarray(values).astype(struct.dtype))

        with self.precision():
            trees = [(gradients, False), (state, True), (weights, False)]
            leaves = [
                draw(sign, v) for tree, sign in trees for v in jax.tree.leaves(tree)
            ]
            return [*leaves, jax.random.key(1)]

    @functools.cached_property
    def step(self) -> Program:
        """`(updates, state)`."""
        _, hyperparams = self.initialized

        def run(gradients: PyTree, state: Any, params: PyTree, key: Any) -> Any:
            given = self.case.given(gradients)
            inputs = self._inputs(gradients, params, key)
            return self.case.step(given, state, params, hyperparams, **inputs)

        with self.precision():
            return Program.of(run, *self.arrays)

    @functools.cached_property
    def expected(self) -> Program:
        """`(updates, state)` as the spec says it."""
        _, hyperparams = self.initialized

        def run(gradients: PyTree, state: Any, params: PyTree, key: Any) -> Any:
            given = self.case.given(gradients)
            inputs = self._inputs(gradients, params, key)
            return run_optimizer(
                self.case, self.spec, hyperparams, given, state, params, inputs
            )

        with self.precision():
            return Program.of(run, *self.arrays)

    def _inputs(self, gradients: PyTree, params: PyTree, key: Any) -> dict[str, Any]:
        inputs = inputs_of_step(gradients, params) | {"key": key}
        return {name: inputs[name] for name in (*self.case.needs, *self.inputs)}

    def creation(self) -> tuple[Program, Program]:
        """The state of weights: as the spec says it, and as `init` makes it."""
        state, hyperparams = self.initialized
        with self.precision():

            def declared(params: PyTree) -> Any:
                return run_optimizer_initialization(
                    self.case, self.spec, state, hyperparams, params
                )

            return (
                Program.of(declared, self.weights),
                Program.of(lambda params: self.case.init(params)[0], self.weights),
            )
