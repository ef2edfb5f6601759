"""A layer in one situation: hyperparameters, inputs, dtypes and mode, with its traced programs.

Each program is traced once, and serves every claim.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal

from mlax_scaffold.testing._flow import inputs_read
from mlax_scaffold.testing._functions import abstract_key
from mlax_scaffold.testing.case import Arguments, Case
from mlax_scaffold.testing.compare import assert_same_structure, by_name
from mlax_scaffold.testing.dtypes import FLOAT_DTYPES, is_inexact, precision_for
from mlax_scaffold.testing.oracle import (
    Spec,
    assert_spec_creates,
    run_initialization,
    run_spec,
)
from mlax_scaffold.testing.picks import (
    REFUSALS,
    UNTRACED,
    Pick,
    Unfit,
    assert_fits,
    assert_wanted,
)
from mlax_scaffold.testing.programs import Program
from mlax_scaffold.testing.strategies import choices
from mlax_scaffold.testing.stretched import is_stretched, stretching
from mlax_scaffold.testing.sums import narrow
from mlax_scaffold.testing.toys import Toy

PyTree = Any
NOT_TAKEN = "no layer takes the keyword input"
"""What the error says of a keyword input that a block cannot hand to its layers."""

NOT_REVERSED = "Reverse-mode differentiation does not work"
"""What jax says of a `while_loop` whose gradient is asked for."""


def _is_number(jaxpr: Jaxpr) -> bool:
    """Whether something that is returned is a number of Python: a sum to which a loop added nothing."""
    weak = (v for v in jaxpr.outvars if isinstance(v, Literal))
    return any(is_inexact(v.aval) and getattr(v.aval, "weak_type", False) for v in weak)


_CALLED = "Hyperparams' object is not callable"
_NOT_FLOATING = "must be a floating array, got "


@dataclass(frozen=True, eq=False)
class Situation:
    """A case with the dtypes of its inputs and weights, in training or inference.

    Args:
        case: the layer, or a function as one.
        spec: what it follows from.
        dtype: of the floating inputs.
        weights_dtype: of weights and state.
        training: the mode.
        picked: all that was picked, by name.
    """

    case: Case
    spec: Spec
    dtype: Any
    weights_dtype: Any
    training: bool
    picked: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def pick(cls, case: Case, spec: Spec, pick: Pick) -> Situation:
        """A situation of a case. Raises Unfit where its inputs do not meet the requirements."""
        dtype = pick("dtype", choices(*case.dtypes))
        other = pick("weights", choices("of the same dtype", "of another dtype"))
        same, another = case.weights_dtypes(dtype)
        weights = same if other == "of the same dtype" else another
        modes = {"training" if mode else "inference": mode for mode in case.modes()}
        # Where keys are drawn from, training has more to show.
        more = ["training"] * case.draws_keys
        mode = modes[pick("mode", choices(*modes, *more))]
        assert_wanted(pick)
        found = cls(case, spec, dtype, weights, mode)
        both = (case.requirements or case.unsaid) and len(modes) > 1

        def check() -> None:
            found.assert_fits()
            if both:
                # A module creates its parameters in the other mode.
                dataclasses.replace(found, training=not mode).assert_fits()

        assert_fits(pick, check)
        return found

    def assert_fits(self) -> None:
        """Raise Unfit where a requirement is not met, and AssertionError where the spec has none such."""
        self._assert_sizes()
        if self.case.unsaid and any(0 in w.shape for w in self._weights()):
            # An initializer of an empty array may divide by its size.
            raise Unfit("a weight is empty")
        try:
            with stretching() as stretched:
                program = self.forward.jaxpr.jaxpr
        except UNTRACED:
            raise
        except ValueError as error:
            if not (self.case.refuses(error) or self._unsaid()):
                raise
            self._assert_created()
            if not self.spec_refuses():
                raise AssertionError(
                    f"{self}: the spec takes what is refused: {error}"
                ) from error
            raise Unfit from error
        except TypeError as error:
            # A block that happens to have no layers was given an input for them.
            empty = NOT_TAKEN in str(error) and not self.case.has_layers()
            # No code of a spec calls those, but where it is read in a wrong way; nor is it a matter of sizes
            # that a strict function is given integers or booleans.
            broken = any(text in str(error) for text in (_CALLED, _NOT_FLOATING))
            if empty or (not broken and self._unsaid()):
                raise Unfit from error
            raise
        except REFUSALS as error:
            if self._unsaid():
                raise Unfit from error
            raise
        if self.case.unsaid and _is_number(program):
            raise Unfit("it returns a number of Python")
        if self.case.unsaid and self._leaves_nothing():
            raise Unfit("nothing is left of an axis")
        if self.case.unsaid and self._has_axes_of_weights():
            raise Unfit("its weights have more axes than it")
        if self.case.unsaid and self._is_stretched(program, stretched):
            raise Unfit("an axis of size 1 is stretched")

    def _weights(self) -> list[Any]:
        return [w for w in jax.tree.leaves(self.arguments[1]) if hasattr(w, "shape")]

    def _is_stretched(self, program: Jaxpr, einsums: Sequence[str]) -> bool:
        """Whether it makes more of an axis of size 1 than its type says, or adds what it stretches."""
        shapes = jax.tree.map(lambda v: tuple(v.shape), self.forward.out[0])
        if self.case.y is not None and is_stretched(shapes, self.case.y):
            return True
        return bool(einsums) and any(True for _ in narrow(program))

    def _has_axes_of_weights(self) -> bool:
        """Whether an input without a batch gets axes of size 1 from weights that have more axes."""
        sizes = self.case.shapes.sizes if self.case.shapes else {}
        if () not in sizes.values():
            return False
        shapes = jax.tree.map(lambda v: tuple(v.shape), self.forward.out[0])
        made, said = shapes, self.case.y
        return isinstance(said, tuple) and any(
            made == (1,) * more + said for more in (1, 2, 3)
        )

    def _leaves_nothing(self) -> bool:
        """Whether it returns an empty array, where its type says that there is something in it."""
        shapes = jax.tree.map(lambda v: tuple(v.shape), self.forward.out[0])
        made, tree = jax.tree.flatten(shapes)
        said, wanted = jax.tree.flatten(self.case.y)
        return tree == wanted and any(
            a == 0 != b for a, b in zip(made, said, strict=True)
        )

    def _assert_sizes(self) -> None:
        """Raise Unfit where an `int` is a size in the code of the spec, and is below 1."""
        given = (self.case.hyperparameters or {}).values()
        counted = (n for v in given for n in (v if isinstance(v, tuple) else (v,)))
        small = any(type(n) is int and n < 1 for n in counted)
        if not (self.case.unsaid and small) or any(isinstance(v, Toy) for v in given):
            return
        assert_spec_creates(self.spec, self.case.hyperparameters or {})

    def _unsaid(self) -> bool:
        """Whether the code of the spec refuses it in whatever dtype, and may."""
        return self.case.unsaid and self.in_dtype(jnp.float32).spec_refuses()

    def _assert_created(self) -> None:
        """Raise AssertionError where it may be refused for weights that the spec does not make."""
        made = self.arguments[1:3]
        given = (self.case.hyperparameters or {}).values()
        if not jax.tree.leaves(made) or any(isinstance(v, Toy) for v in given):
            return
        expected = self._declared_creation({})
        what = f"{self.case.name}: init, weights and state"
        assert_same_structure(expected.out, made, what=what)

    def spec_refuses(self) -> bool:
        """Whether the spec does not take it."""
        try:
            _ = self.expected
        except REFUSALS:
            return True
        return False

    def __str__(self) -> str:
        mode = "training" if self.training else "inference"
        return f"{self.case} in {mode}, inputs in {self.dtype}, weights in {self.weights_dtype}"

    def precision(self) -> Any:
        """The context in which its dtypes exist."""
        return precision_for(self.dtype, self.weights_dtype, *self.case.allow)

    @property
    def compute_dtype(self) -> Any:
        """The dtype of the computation: that of floating inputs, or of weights."""
        return self.compute_dtypes[0]

    @property
    def compute_dtypes(self) -> tuple[Any, ...]:
        """Those of which it may be: where nothing is floating, what integers become."""
        given = self._given_dtype
        return FLOAT_DTYPES[2:] if given is None else (given,)

    @property
    def is_given_no_dtype(self) -> bool:
        """Whether neither an input nor a weight is floating: results may be weakly typed then."""
        return self._given_dtype is None

    @functools.cached_property
    def _given_dtype(self) -> Any:
        a = self.arguments
        if any(map(is_inexact, jax.tree.leaves((a.x, dict(a.inputs))))):
            return jnp.dtype(self.dtype)
        # What an entry point does not read gives it no dtype.
        before = len(jax.tree.leaves(a.x))
        weights = jax.tree.leaves((a.trainables, a.non_trainables))
        read = inputs_read(self.forward.jaxpr.jaxpr)[before:]
        given = [w for w, is_read in zip(weights, read, strict=False) if is_read]
        return jnp.dtype(self.weights_dtype) if any(map(is_inexact, given)) else None

    @functools.cached_property
    def arguments(self) -> Arguments:
        """The arguments of `fwd`, arrays as `jax.ShapeDtypeStruct`."""
        with self.precision():
            return self.case.abstract_arguments(self.dtype, self.weights_dtype)

    @property
    def arrays(self) -> tuple[PyTree, ...]:
        """What every program takes: x, weights, state, keyword inputs, a key."""
        a = self.arguments
        key = abstract_key() if self.case.takes_key(self.training) else None
        return a.x, a.trainables, a.non_trainables, a.inputs, key

    def drawn(self, seed: int = 1) -> list[Any]:
        """Arrays for `arrays`, flat."""
        with self.precision():
            a = self.case.arguments(self.dtype, self.weights_dtype, seed=seed)
            key = None if self.arrays[-1] is None else jax.random.key(1)
            trees = a.x, a.trainables, a.non_trainables, a.inputs, key
            return jax.tree.leaves(trees)

    def run(self, x: Any, weights: Any, state: Any, inputs: Any, key: Any) -> Any:
        """`(y, state)` of arrays."""
        given = Arguments(x, weights, state, self.arguments.hyperparams, inputs)
        y, new = self.case.call(given, training=self.training, key=key)
        return by_name(y), new

    @functools.cached_property
    def forward(self) -> Program:
        """The program of `run`."""
        with self.precision():
            return Program.of(self.run, *self.arrays)

    @functools.cached_property
    def expected(self) -> Program:
        """`(y, state)` as the spec says it."""
        like = self.arguments.non_trainables

        def run(x: Any, weights: Any, state: Any, inputs: Any, key: Any) -> Any:
            given = Arguments(x, weights, state, self.arguments.hyperparams, inputs)
            y, new = run_spec(self.case, self.spec, given, self.training, key)
            return by_name(y), as_trees(new, like)

        with self.precision():
            return Program.of(run, *self.arrays)

    @functools.cached_property
    def differentiable(self) -> list[tuple[int, str]]:
        """Flat position and name of each floating input, weight and keyword input."""
        names = "x", "trainables", "state", "inputs", "key"
        leaves = jax.tree_util.tree_leaves_with_path(
            dict(zip("abcde", self.arrays, strict=True))
        )
        return [
            (i, names["abcde".index(path[0].key)] + jax.tree_util.keystr(path[1:]))
            for i, (path, value) in enumerate(leaves)
            if path[0].key in "abd" and is_inexact(value)
        ]

    @functools.cached_property
    def gradient(self) -> Program | None:
        """`((y, state), gradients)`; None where there is nothing to differentiate, or jax cannot."""
        return self._gradient(self.forward)

    @functools.cached_property
    def expected_gradient(self) -> Program | None:
        """The same of the spec."""
        return self._gradient(self.expected)

    @functools.cached_property
    def missed_key(self) -> ValueError | None:
        """The error with which it asks for a key where it is given none."""

        def run(arrays: Any) -> Any:
            return self.run(*arrays, key=None)

        with self.precision():
            return asks_for_a_key(run, self.arrays[:-1])

    def _gradient(self, program: Program) -> Program | None:
        y = jax.tree.leaves(program.out[0])
        if not self.differentiable or not any(map(is_inexact, y)):
            return None
        places = [i for i, _ in self.differentiable]
        try:
            with self.precision():
                return program.gradient(places, len(y), self.case.on_devices)
        except ValueError as error:
            # A loop of a number of passes that values decide has none in reverse mode.
            if self.case.unsaid and NOT_REVERSED in str(error):
                return None
            raise

    def creation(self, **initializers: Any) -> tuple[Program, Program]:
        """`(trainables, non_trainables)` of a key: as `init` makes them, and as the spec says."""

        def generated(key: Any) -> Any:
            return self.case.init(key, self.weights_dtype, **initializers)[:2]

        with self.precision():
            made = Program.of(generated, abstract_key())
        return self._declared_creation(initializers), made

    def _declared_creation(self, initializers: Mapping[str, Any]) -> Program:
        like = self.arguments[1:3]
        hyperparameters = self.case.hyperparameters
        assert hyperparameters is not None

        def declared(key: Any) -> Any:
            made = run_initialization(
                self.spec, hyperparameters, initializers, key, self.weights_dtype
            )
            return tuple(map(as_trees, made, like))

        with self.precision():
            return Program.of(declared, abstract_key())

    def in_dtype(self, dtype: Any) -> Situation:
        """The same in another dtype, weights included."""
        return dataclasses.replace(
            self, dtype=jnp.dtype(dtype), weights_dtype=jnp.dtype(dtype)
        )


def asks_for_a_key(function: Any, arrays: Any) -> ValueError | None:
    """The error that says that a key is missing."""
    try:
        jax.eval_shape(function, arrays)
    except ValueError as error:
        if "key" not in str(error):
            raise
        return error
    return None


def as_trees(actual: Any, like: Any) -> Any:
    """A tree of the spec with the NamedTuples of `like` in the place of dicts."""
    if isinstance(actual, Mapping) and hasattr(like, "_fields"):
        if set(actual) != set(like._fields):
            return actual
        parts = {n: as_trees(actual[n], getattr(like, n)) for n in like._fields}
        return type(like)(**parts)
    if type(actual) is dict and type(like) is dict and set(actual) == set(like):
        return {name: as_trees(actual[name], tree) for name, tree in like.items()}
    if type(actual) is tuple and type(like) is tuple and len(actual) == len(like):
        return tuple(map(as_trees, actual, like))
    return actual
