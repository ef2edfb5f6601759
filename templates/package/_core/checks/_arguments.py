"""What every `fwd` takes beside its inputs: trees, the mode, and the key."""

import operator
from typing import Any

import jax
import jax.core

from .. import outlines
from ._errors import named, shown

_SHAPE = operator.attrgetter("shape")


def static_flag(owner: str, /, **value: Any) -> None:
    """True or False. It decides what is computed, so it cannot be traced."""
    name, given = named(value)
    if given is True or given is False:
        return
    if isinstance(given, jax.core.Tracer):
        raise TypeError(
            f"{owner}: {name} is traced; make it static: "
            f'jax.jit(..., static_argnames="{name}")'
        )
    raise TypeError(f"{owner}: {name} must be True or False, got {shown(given)}")


def arguments(
    owner: str,
    trainables: Any,
    non_trainables: Any,
    hyperparams: Any,
    inference_mode: Any,
) -> None:
    """What every `fwd` takes: the trees that belong to the hyperparameters, and the mode.

    Trees have the structure that `init` makes, and its shapes. Inside of `jax.shard_map`
    arrays are parts, and have its ranks.
    """
    if inference_mode is not True and inference_mode is not False:
        static_flag(owner, inference_mode=inference_mode)
    outline = hyperparams.__dict__.get("_outline")
    if outline is None:
        outline = outlines.of(hyperparams)
    # Most layers have a few arrays and no state. Of these not even a call is made, since
    # each takes time where nothing is compiled.
    if non_trainables is None and type(trainables) is outline.flat:
        try:
            if [*map(_SHAPE, trainables)] == outline.shapes:
                return
        except AttributeError:
            pass
    if outline.fits(trainables, non_trainables):
        return
    problems = outline.problems(trainables, non_trainables)
    if problems:
        more = f", and {len(problems) - 4} more" if len(problems) > 4 else ""
        raise ValueError(
            f"{owner}: {'; '.join(problems[:4])}{more}; trainables and non_trainables must be "
            "those of `init` with the same hyperparameters"
        )


class KeyRequired(ValueError):
    """A layer draws random numbers, and was given no key."""


def require_key(owner: str, key: Any) -> jax.Array:
    """The key, which must be there."""
    if key is None:
        raise KeyRequired(
            f"{owner} draws random numbers: "
            "pass key=jax.random.key(...) to fwd, or rng=... to its module"
        )
    return key
