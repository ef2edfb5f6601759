"""What an optimizer is given: weights, gradients, its state, and what else it needs."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..paths import named_leaves, shown
from ._held import Held


def check_weights(owner: str, trainables: Any) -> None:
    """Weights are floating arrays; None stands for no weight.

    Raises:
        TypeError: where a leaf is not, naming its path.
    """
    for name, leaf in named_leaves(trainables):
        dtype = jnp.result_type(leaf)
        if not jnp.issubdtype(dtype, jnp.floating) or dtype.itemsize < 2:
            raise TypeError(
                f"{owner}: the weight {shown(name)} must be floating, of 16 bits or more, "
                f"got {dtype}"
            )


def check_gradients(
    owner: str, gradients: Any, trainables: Any, per_example: bool = False
) -> None:
    """Gradients have the structure, the shapes and the dtypes of the weights.

    Those of each example have an axis of examples before the shape of the weight.

    Raises:
        ValueError, TypeError: where they differ, naming the first differing path.
    """
    given, expected = dict(named_leaves(gradients)), dict(named_leaves(trainables))
    examples = next((jnp.shape(leaf)[:1] or (1,) for leaf in given.values()), ())
    leading, what = examples, "shape (examples, *weight.shape),"
    if not per_example:
        leading, what = (), "weight's shape"
    for name in [*expected, *given]:
        place = shown(name)
        if (name in given) != (name in expected):
            has, lacks = ("gradients", "trainables")
            if name in expected:
                has, lacks = lacks, has
            raise ValueError(f"{owner}: {has} have a leaf at {place}, {lacks} do not")
        gradient, weight = given[name], expected[name]
        shape = (*leading, *jnp.shape(weight))
        if jnp.shape(gradient) != shape:
            raise ValueError(
                f"{owner}: the gradient at {place} must have the {what} "
                f"{shape}, got {jnp.shape(gradient)}"
                + _other_kind(jnp.shape(gradient), jnp.shape(weight), per_example)
            )
        if gradient.dtype != weight.dtype:
            raise TypeError(
                f"{owner}: the gradient at {place} must have the weight's dtype "
                f"{weight.dtype}, got {gradient.dtype}"
            )
    if jax.tree.structure(gradients) != jax.tree.structure(trainables):
        raise ValueError(
            f"{owner}: gradients and trainables have different structures: "
            f"{jax.tree.structure(gradients)}, {jax.tree.structure(trainables)}"
        )


def _other_kind(found: Any, weight: Any, per_example: bool) -> str:
    """What to do where gradients are of each example and should not be, or the reverse."""
    if per_example and found == weight:
        return (
            "; train.step(..., per_example=True) takes those of each example, and so does "
            "jax.vmap(jax.grad(loss_fn), (None, 0))"
        )
    if not per_example and found[1:] == weight and len(found) > len(weight):
        return (
            "; gradients of each example are for ClipExamples, DifferentiallyPrivate or "
            "AverageExamples, in which this optimizer may be"
        )
    return ""


def check_state(
    owner: str,
    state: Any,
    expected: type,
    trainables: Any = None,
    *moments: str,
    held: Sequence[str] = (),
) -> None:
    """The state is one that `init` of this optimizer made for these weights.

    Those of its moments that are `held` are in containers.

    Raises:
        TypeError: where it is not of the optimizer's type.
        ValueError: where one of its `moments` has not the structure of the weights.
    """
    if not isinstance(state, expected):
        raise TypeError(
            f"{owner}: state must be the {expected.__name__} that init returns, "
            f"got {state if state is None else type(state).__name__}"
        )
    structure = jax.tree.structure(trainables)
    found = [(name, getattr(state, name)) for name in moments]
    for name in held:
        parts, _ = Held(getattr(state, name)).parts(structure)
        found += [(name, part) for part in parts]
    for name, moment in found:
        if moment is not None and jax.tree.structure(moment) != structure:
            place = _first_difference(moment, trainables)
            raise ValueError(
                f"{owner}: state.{name} was made for other weights: they differ{place}; it "
                f"has the structure {jax.tree.structure(moment)}, trainables have "
                f"{structure}; call init with these weights"
            )


def _first_difference(tree: Any, other: Any) -> str:
    """Where one of two trees has a leaf and the other has none: "" where nowhere."""
    names, others = (dict(named_leaves(each)) for each in (tree, other))
    for name in [*others, *names]:
        if (name in names) != (name in others):
            return f" at {shown(name)}"
    return ""


def required(owner: str, **value: Any) -> Any:
    """An input of `step` that this optimizer cannot do without.

    Raises:
        ValueError: where it is None.
    """
    [(name, given)] = value.items()
    if given is None:
        raise ValueError(
            f"{owner}: step needs {name}, which is None; call "
            f"step(gradients, state, trainables, hyperparams, {name}={_GIVE[name]})"
        )
    return given


_GIVE = {
    "value": "loss",
    "value_and_gradients": "jax.value_and_grad(loss_fn)",
    "key": "jax.random.key(0)",
}
"""What the error of a missing input says to give."""
