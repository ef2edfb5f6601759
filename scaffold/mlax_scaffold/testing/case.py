"""A case: one layer with its hyperparameters, and the inputs it is tested with."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.testing import toys
from mlax_scaffold.testing.axes import mapped_over, names_of
from mlax_scaffold.testing.dims import Shapes, untold
from mlax_scaffold.testing.draws import Draw
from mlax_scaffold.testing.dtypes import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    is_inexact,
    matching,
    weights_dtypes,
)

PyTree = Any
T = TypeVar("T")


class Triple(NamedTuple):
    """What `init` returns."""

    trainables: PyTree
    non_trainables: PyTree
    hyperparams: Any


class Arguments(NamedTuple):
    """What `fwd` is called with, but for `inference_mode` and `key`."""

    x: PyTree
    trainables: PyTree
    non_trainables: PyTree
    hyperparams: Any
    inputs: dict[str, PyTree]


@dataclass(frozen=True)
class Case:
    """A layer with its hyperparameters bound, and the shapes of its inputs.

    Args:
        name: what messages call it.
        init: `init(key, dtype)` returns `(trainables, non_trainables, hyperparams)`, with
            weights in `dtype`. The hyperparameters are a static pytree.
        fwd: `fwd(x, trainables, non_trainables, hyperparams, inference_mode=False,
            key=None, **inputs)` returns `(y, non_trainables)`.
        x: the positional input, a pytree of `jax.ShapeDtypeStruct`.
        inputs: the keyword inputs, each such a pytree.
        allow: dtypes in which the layer may compute although its input has another.
        draws_keys: whether it needs a key in training.
        trains: whether it does something else in training than in inference.
        ranges: the half-open range of the values, by the name of the input (`"x"` or a
            keyword), or by name and path of a leaf (`"x[1]"`); integers are 0 and 1 and
            floating values normal where none is given.
        smooth: whether finite differences are meaningful: no kinks, no rounding.
        y: the shape of the output as annotated: a tuple in the place of each array; None
            where the annotation does not say.
        key_optional: whether training works without a key too (blocks: it is for the
            layers in them to ask).
        complex_numbers: whether it computes with complex numbers, in the precision of the input.
        stored: whether what only the new state depends on may be computed in the dtypes
            of the state.
        module: `module(node, rng)` is the module of the layer with these hyperparameters.
        spread: whether a module takes the items of x one by one.
        hyperparameters: what `init` is called with; a layer in the place of one is a toy.
        requirements: messages with which the layer may refuse what was picked.
        unsaid: whether the spec may refuse what was picked by its own code, and tell it by no
            requirement.
        shapes: those that the inputs were made from, with their annotations.
        layer: the module that has its `init` and `fwd`.
        module_class: the class of `module`.
        entry: the method of the spec that `fwd` follows from.
        axes: those that it is mapped over: names, several of them, or None.
        keys: how many keys a module takes to create its parameters; None: it depends.
    """

    name: str
    init: Callable[[Any, DTypeLike | None], tuple[PyTree, PyTree, Any]]
    fwd: Callable[..., tuple[PyTree, PyTree]]
    x: PyTree
    inputs: Mapping[str, PyTree] = field(default_factory=dict)
    allow: tuple[DTypeLike, ...] = ()
    draws_keys: bool = False
    trains: bool = False
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    smooth: bool = True
    y: PyTree = None
    key_optional: bool = False
    complex_numbers: bool = False
    stored: bool = False
    module: Callable[[Any, Any], Any] | None = None
    spread: bool = False
    hyperparameters: Mapping[str, Any] | None = None
    requirements: tuple[str, ...] = ()
    unsaid: bool = False
    shapes: Shapes | None = None
    keys: int | None = None
    layer: Any = None
    module_class: Any = None
    entry: str = "forward"
    axes: tuple[str | tuple[str, ...] | None, ...] = ()

    @classmethod
    def of_function(
        cls,
        function: Callable[..., PyTree],
        x: tuple[PyTree, ...],
        hyperparameters: Mapping[str, Any],
        **settings: Any,
    ) -> Case:
        """A function of arrays as a layer whose input is the tuple of its arguments."""

        def init(key: Any, dtype: DTypeLike | None) -> tuple[None, None, None]:
            return None, None, None

        def fwd(
            x: tuple[PyTree, ...], *trees: PyTree, **mode: Any
        ) -> tuple[PyTree, None]:
            return function(*x, **hyperparameters), None

        return cls(
            function.__name__, init, fwd, x, hyperparameters=hyperparameters, **settings
        )

    @classmethod
    def of_layer(
        cls,
        name: str,
        layer: Any,
        module: Any | None,
        hyperparameters: Mapping[str, Any],
        *,
        aliases: Mapping[str, str] | None = None,
        entry: str = "forward",
        **settings: Any,
    ) -> Case:
        """A generated layer, or another of its entry points than `fwd`.

        Args:
            name, layer, entry, **settings: arguments of `Case`.
            module: its module class; None: it has none.
            hyperparameters: what `init` and `module` are called with.
            aliases: names of hyperparameters by their names in `module`.
        """
        parameters = inspect.signature(module).parameters if module else {}
        positional = [
            name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD
        ][1:]

        positional += untold(module, entry, settings.get("shapes"))

        def make(node: Any, rng: Any) -> Any:
            given = {n: hyperparameters[(aliases or {}).get(n, n)] for n in positional}
            drawn = {"rng": rng} if "rng" in parameters else {}
            assert module is not None
            return module(node, **toys.as_modules(module, given, node, rng), **drawn)

        init = functools.partial(initialize, layer, hyperparameters)
        return cls(
            name,
            init,
            layer.fwd if entry == "forward" else getattr(layer, entry),
            module=make if module else None,
            layer=layer,
            module_class=module,
            entry=entry,
            hyperparameters=hyperparameters,
            **settings,
        )

    def on_devices(self, run: Callable[[], T]) -> T:
        """What `run` returns where the axes are mapped that the hyperparameters name."""
        return mapped_over(names_of(self.axes), run)

    def __str__(self) -> str:
        return self.name if self.entry == "forward" else f"{self.name}.{self.entry}"

    def plain_hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters that are no layers."""
        given = self.hyperparameters or {}
        return {n: v for n, v in given.items() if not isinstance(v, toys.Toy)}

    def has_layers(self) -> bool:
        """Whether layers are among the hyperparameters."""
        given = (self.hyperparameters or {}).values()
        return any(isinstance(v, toys.Toy) and v.count != 0 for v in given)

    def refuses(self, error: Exception) -> bool:
        """Whether an error is that of a requirement of the spec."""
        return any(message in str(error) for message in self.requirements)

    def with_dtype(self, dtype: DTypeLike) -> Case:
        """The case with all floating inputs in `dtype`."""
        return dataclasses.replace(
            self, x=cast(self.x, dtype), inputs=cast(dict(self.inputs), dtype)
        )

    @property
    def dtypes(self) -> tuple[Any, ...]:
        """The dtypes of inputs in which it keeps the contract."""
        declared = any(jnp.dtype(d).itemsize >= 4 for d in self.allow)
        return COMPLEX_DTYPES if self.complex_numbers and not declared else FLOAT_DTYPES

    def weights_dtypes(self, dtype: DTypeLike) -> tuple[Any, ...]:
        """Dtypes of weights for inputs of a dtype: the same, and another."""
        if not self.complex_numbers:
            return weights_dtypes(dtype)
        same = jnp.dtype(dtype) if jnp.dtype(dtype) in COMPLEX_DTYPES else jnp.float32
        return jnp.dtype(same), weights_dtypes(dtype, jnp.float64)[1]

    @property
    def allowed(self) -> tuple[Any, ...]:
        """The declared dtypes, and their complex ones where it has complex numbers."""
        wide = [d for d in self.allow if jnp.dtype(d).itemsize >= 4]
        return (*self.allow, *self.complex_of(*wide))

    def complex_of(self, *dtypes: DTypeLike) -> tuple[Any, ...]:
        """The complex dtypes of floating ones, where it has complex numbers."""
        found = [d for d in dtypes if jnp.dtype(d).itemsize >= 4]
        return tuple(matching(jnp.complex64, d) for d in found if self.complex_numbers)

    def modes(self) -> tuple[bool, ...]:
        """Values of "training" that make a difference: inference first."""
        return (False, True) if self.trains or self.draws_keys else (False,)

    def takes_key(self, training: bool) -> bool:
        """Whether it is given a key: in training where it draws, and at inference where it asks."""
        return self.draws_keys and (training or self._asks_at_inference)

    @functools.cached_property
    def _asks_at_inference(self) -> bool:
        """Whether it asks for a key at inference, too. Compiles nothing."""
        x, trainables, non_trainables, hyperparams, inputs = self.abstract_arguments(
            jnp.float32, jnp.float32
        )

        def run(*arrays: PyTree) -> PyTree:
            x, trainables, non_trainables, inputs = arrays
            given = x, trainables, non_trainables, hyperparams
            return self.on_devices(
                lambda: self.fwd(*given, inference_mode=True, **inputs)
            )

        try:
            jax.eval_shape(run, x, trainables, non_trainables, inputs)
        except ValueError as error:
            return "draws random numbers" in str(error)
        return False

    def abstract(self, weights_dtype: DTypeLike | None) -> Triple:
        """What `init` returns, arrays as `jax.ShapeDtypeStruct`. Compiles nothing."""
        if self.layer is None:
            key = jax.eval_shape(lambda: jax.random.key(0))
            return Triple(*jax.eval_shape(lambda k: self.init(k, weights_dtype), key))
        return abstract(self.layer, self.hyperparameters or {}, weights_dtype)

    def abstract_arguments(
        self, dtype: DTypeLike, weights_dtype: DTypeLike
    ) -> Arguments:
        """The arguments of `fwd` as `jax.ShapeDtypeStruct`."""
        case = self.with_dtype(dtype)
        return Arguments(case.x, *self.abstract(weights_dtype), dict(case.inputs))

    def arguments(
        self, dtype: DTypeLike, weights_dtype: DTypeLike | None = None, seed: int = 0
    ) -> Arguments:
        """The arguments of `fwd` as arrays, drawn from `seed` without compiling.

        Inputs are standard normal, weights a half of that. State is from 0.5 to 1.5, which
        means and variances can be; integers of the state are zero.
        """
        abstract = self.abstract_arguments(dtype, weights_dtype or dtype)
        draw = Draw(seed, self.ranges)
        return Arguments(
            x=draw.tree("x", abstract.x, draw.normal),
            trainables=draw.tree("trainables", abstract.trainables, draw.weight),
            non_trainables=draw.tree("state", abstract.non_trainables, draw.state),
            hyperparams=abstract.hyperparams,
            inputs={
                name: draw.tree(name, value, draw.normal)
                for name, value in abstract.inputs.items()
            },
        )

    def call(
        self, arguments: Arguments, *, training: bool = False, key: Any = None
    ) -> tuple[PyTree, PyTree]:
        """`fwd` with these arguments; the key is passed on where it may draw."""
        x, trainables, non_trainables, hyperparams, inputs = arguments
        run = functools.partial(
            self.fwd,
            x,
            trainables,
            non_trainables,
            hyperparams,
            inference_mode=not training,
            key=key if self.takes_key(training) else None,
            **inputs,
        )
        return self.on_devices(run)


def initialize(
    layer: Any,
    hyperparameters: Mapping[str, Any],
    key: Any,
    dtype: DTypeLike | None,
    **initializers: Any,
) -> tuple[PyTree, PyTree, Any]:
    """`layer.init`, with toys in the place of layers, and the key and the dtype if it takes them."""
    takes = inspect.signature(layer.init).parameters
    given, key = with_layers(hyperparameters, key, dtype, "key" in takes)
    if "dtype" in takes:
        given["dtype"] = dtype
    if "key" in takes:
        given["key"] = key
    return layer.init(**given, **initializers)


def with_layers(
    hyperparameters: Mapping[str, Any], key: Any, dtype: DTypeLike | None, keyed: bool
) -> tuple[dict[str, Any], Any]:
    """The hyperparameters with toys in the place of layers, and the key that `init` gets if it takes one."""
    given = dict(hyperparameters)
    if keyed and any(isinstance(v, toys.Toy) for v in given.values()):
        of_layers, key = jax.random.split(key)
        return toys.initialized(given, of_layers, dtype), key
    return toys.initialized(given, key, dtype), key


_ABSTRACT: dict[Any, Triple] = {}
_MOST = 512


def abstract(
    layer: Any, hyperparameters: Mapping[str, Any], dtype: DTypeLike | None
) -> Triple:
    """What `layer.init` returns, arrays as `jax.ShapeDtypeStruct`. Compiles nothing.

    Some results are kept, since many cases have the same hyperparameters.
    """
    wide = jax.numpy.result_type(float)
    place = layer.init, repr(hyperparameters), dtype and jnp.dtype(dtype), wide
    if place not in _ABSTRACT:
        make = functools.partial(initialize, layer, hyperparameters, dtype=dtype)
        key = jax.eval_shape(lambda: jax.random.key(0))
        made = Triple(*jax.eval_shape(lambda key: make(key=key), key))
        while len(_ABSTRACT) >= _MOST:
            del _ABSTRACT[next(iter(_ABSTRACT))]
        _ABSTRACT[place] = made
    return _ABSTRACT[place]


def cast(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """The tree with floating and complex leaves in the precision of `dtype`.

    Leaves are arrays or ShapeDtypeStructs.
    """

    def leaf(value: Any) -> Any:
        if not is_inexact(value):
            return value
        own = matching(value.dtype, dtype)
        if isinstance(value, jax.ShapeDtypeStruct):
            return jax.ShapeDtypeStruct(value.shape, own)
        return value.astype(own)

    return jax.tree.map(leaf, tree)
