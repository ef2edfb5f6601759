"""Where the state of an optimizer lies: each moment where its weight does."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec, Sharding

from .arrays import Initializer


def moment_sharding(
    sharding: Sharding, weight: Sequence[int], moment: Sequence[int]
) -> Sharding:
    """The sharding of a moment, from that of its weight and from both shapes.

    A moment of the weight's shape lies where the weight lies, and so do several that are
    stacked along a new first axis; those of other shapes are replicated.
    """
    weight, moment = tuple(weight), tuple(moment)
    if moment == weight:
        return sharding
    if moment[1:] == weight and isinstance(sharding, NamedSharding):
        stacked = PartitionSpec(None, *sharding.spec)
        return NamedSharding(sharding.mesh, stacked, memory_kind=sharding.memory_kind)
    return everywhere(sharding)


def everywhere(sharding: Sharding) -> Sharding:
    """The sharding of an array that all devices of another one hold."""
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec())
    return sharding


def create_moment(
    initializer: Initializer, shape: Sequence[int], dtype: Any, param: Any
) -> jax.Array:
    """A moment of one weight, where the weight is; a dtype of None is that of the weight.

    While tracing it is not known where the weight is: the moment is tied to it, so that
    the compiler creates both alike.
    """
    shape, chosen = tuple(shape), param.dtype if dtype is None else dtype
    if sharding := _sharding(param):
        place = moment_sharding(sharding, param.shape, shape)
        return _created(initializer, shape, chosen, place)
    return _alike(_initial(initializer, shape, chosen), param)


def create_state(
    initializer: Initializer, shape: Sequence[int], dtype: Any, trainables: Any
) -> jax.Array:
    """An array that is kept once for all weights, on all of their devices.

    A dtype of None is the default one.
    """
    shape, chosen = tuple(shape), jnp.result_type(float) if dtype is None else dtype
    if sharding := _all_devices(trainables):
        return _created(initializer, shape, chosen, sharding)
    return _tied(_initial(initializer, shape, chosen), trainables)


def create_count(trainables: Any) -> jax.Array:
    """The number of steps before the first one, on all devices of the weights."""
    return create_state(jax.nn.initializers.zeros, (), jnp.int32, trainables)


def copied(value: jax.Array, dtype: Any) -> jax.Array:
    """A copy, so that weights and state can both be donated."""
    copy = jnp.array(value, value.dtype if dtype is None else dtype)
    return in_place(copy, value)


def adopted(state: Any, trainables: Any) -> Any:
    """A state that something else created, where `init` of an optimizer creates its own."""

    def place(value: Any, param: Any) -> Any:
        if param is None:
            sharding = _all_devices(trainables)
            return (
                jax.device_put(value, sharding)
                if sharding
                else _tied(value, trainables)
            )
        if sharding := _sharding(param):
            beside = moment_sharding(sharding, param.shape, value.shape)
            return jax.device_put(value, beside)
        return _alike(value, param)

    return _beside(place, state, trainables)


def kept(state: Any, before: Any, trainables: Any) -> Any:
    """The new state of an optimizer in another one, where the one before lies.

    Its moments may have other shapes than the weights: see `in_place`.
    """
    params: list[Any] = []
    _beside(lambda value, param: params.append(param), state, trainables)
    leaves, structure = jax.tree.flatten(state)
    rows = zip(leaves, jax.tree.leaves(before), params, strict=True)
    return structure.unflatten([in_place(*row) for row in rows])


def state_shardings(state: Any, trainables: Any, shardings: Any) -> Any:
    """The shardings of an optimizer's state that go with those of the weights.

    A moment of the weight's shape lies where the weight lies, and so do several that are
    stacked along a new first axis; scalars, and moments of other shapes, are replicated
    over the same mesh. So `init` creates them, and a step leaves them there.

    Args:
        state: of any optimizer; `jax.eval_shape` of `init` will do.
        trainables: the weights, or their shapes.
        shardings: a `jax.sharding.NamedSharding` for each weight.

    Returns:
        The state, with a sharding in the place of each array.
    """
    placed = jax.tree.leaves(shardings)

    def place(value: Any, weight: Any, sharding: Any) -> Any:
        if weight is None:
            return everywhere(placed[0]) if placed else None
        return moment_sharding(sharding, weight.shape, value.shape)

    return _beside(place, state, trainables, shardings)


def _beside(
    function: Callable[..., Any], state: Any, trainables: Any, *others: Any
) -> Any:
    """Call a function on each array of a state, on its weight, and what others have for it.

    An array is a moment of the weight whose path its own path ends with. Where it is that
    of none, they are None.
    """
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(trainables)]
    columns = [jax.tree.leaves(tree) for tree in (trainables, *others)]
    rows = dict(zip(paths, zip(*columns, strict=True), strict=True))
    nothing = (None,) * len(columns)

    def call(path: Any, value: Any) -> Any:
        ends = [path[i:] for i in range(len(path) + 1)]
        return function(value, *next((rows[e] for e in ends if e in rows), nothing))

    return jax.tree_util.tree_map_with_path(call, state)


def in_place(new: Any, old: Any, param: Any = None) -> Any:
    """The new value of an array, where the old one lies.

    While tracing, that is left to the compiler, which keeps what has the shape of its
    weight. Where `param` is a weight of another shape the array is replicated, and
    remains so.
    """
    if new.shape != old.shape:
        return new
    if isinstance(new, jax.core.Tracer) or isinstance(old, jax.core.Tracer):
        alone = param is not None and not _is_like(old, param)
        return _replicated(new, old) if alone and old.size else new
    sharding = _sharding(old)
    if sharding is None or new.sharding.is_equivalent_to(sharding, new.ndim):
        return new
    return jax.device_put(new, sharding)


def _replicated(new: Any, old: Any) -> Any:
    """A traced array that the compiler keeps on all devices of the one before."""
    sharding = jax.typeof(old).sharding
    if set(sharding.mesh.axis_types) != {AxisType.Auto}:
        return new
    return lax.with_sharding_constraint(new, everywhere(sharding))


def _is_like(moment: Any, param: Any) -> bool:
    """Whether a moment has the shape of its weight, or several are stacked."""
    return param.shape in (moment.shape, moment.shape[1:])


def _sharding(array: Any) -> Sharding | None:
    """Where an array has been put; None where it is free to move, or not known."""
    if isinstance(array, jax.core.Tracer) or not getattr(array, "committed", False):
        return None
    return array.sharding


def _all_devices(trainables: Any) -> Sharding | None:
    """The sharding of an array that all devices of the weights hold."""
    shardings = [
        s for s in map(_sharding, jax.tree.leaves(trainables)) if s is not None
    ]
    if not shardings:
        return None
    return everywhere(max(shardings, key=lambda sharding: sharding.num_devices))


def _tied(value: Any, trainables: Any) -> Any:
    """A value that the compiler creates on the devices of traced weights.

    Nothing else says to it on which devices the value is needed.
    """
    leaves = jax.tree.leaves(trainables)
    traced = [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]
    return lax.optimization_barrier((value, traced))[0] if traced else value


def _is_explicit(sharding: Sharding) -> bool:
    """Whether shardings are part of the types of arrays."""
    mesh = getattr(sharding, "mesh", None)
    return mesh is not None and AxisType.Explicit in mesh.axis_types


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _made(
    initializer: Initializer, shape: tuple[int, ...], dtype: Any, sharding: Sharding
) -> jax.Array:
    value = _initial(initializer, shape, dtype)
    if _is_explicit(sharding):
        return jax.sharding.reshard(value, sharding)
    return lax.with_sharding_constraint(value, sharding)


def _created(
    initializer: Initializer, shape: tuple[int, ...], dtype: Any, sharding: Sharding
) -> jax.Array:
    """An array that each device creates its own part of."""
    return _made(initializer, shape, jnp.dtype(dtype), sharding)


def _initial(initializer: Initializer, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """What an initializer makes. One that draws has the same key always: a state is made of weights alone."""
    plain = initializer in (jax.nn.initializers.zeros, jax.nn.initializers.ones)
    return initializer(None if plain else jax.random.key(0), shape, dtype)


def _alike(moment: jax.Array, param: Any) -> jax.Array:
    """A moment that the compiler creates where a traced weight is."""
    if not isinstance(param, jax.core.Tracer):
        return moment
    if not _is_like(moment, param):
        return _tied(moment, param)
    if _is_explicit(sharding := jax.typeof(param).sharding):
        place = moment_sharding(sharding, param.shape, moment.shape)
        return jax.sharding.reshard(moment, place)
    weight = lax.broadcast(param, moment.shape[: moment.ndim - param.ndim])
    # Both are the same, which the compiler must not see: it would forget the weight.
    return jnp.where(jnp.isnan(weight), lax.optimization_barrier(moment), moment)
