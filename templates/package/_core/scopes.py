"""Where something runs: the names of layers in profiles, and in the errors that come out of them.

A layer's operations are in a `jax.named_scope` of its name, and in a block's also of its
position. Scopes are opened for traced arrays only, since nothing else remembers them.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.core

F = TypeVar("F", bound=Callable[..., Any])

_OWN = re.compile(r"\w+(?:: | draws | at ')", re.ASCII)
"""How messages begin that say whose they are."""

_NONE = (None, "")
"""In the place of the function, and of its name, of what has an `apply` of its own."""

_NOTE = "in the layer "
"""How the note begins of an error that does not."""


def applied_by(
    cls: type[Any], init: Callable[..., Any] | None = None
) -> Callable[[F], F]:
    """Make a function the one that hyperparameters of a class run by their `apply`.

    Args:
        cls: the class, named after its layer or optimizer.
        init: what makes them, and with them shows which weights and state are expected.
    """

    def bind(function: F) -> F:
        name = cls.__name__.removesuffix("Hyperparams")
        run = scoped(name, cls)(function)
        cls._function = staticmethod(run)
        cls._bare = (function, name)
        if init is not None:
            cls._init = staticmethod(init)
        return run

    return bind


def scoped(name: str, hyperparams: type[Any] | None = None) -> Callable[[F], F]:
    """Give what a function computes, and its errors, the name of a layer.

    Args:
        name: of the layer.
        hyperparams: the class of its hyperparameters, where the function is its `fwd`: a
            call with those of a layer that stands in its place is handed to that.
    """

    def bind(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **inputs: Any) -> Any:
            if hyperparams is not None:
                given: Any = args[3] if len(args) > 3 else inputs.get("hyperparams")
                kind = type(given)
                if kind is not hyperparams and getattr(kind, "stands_in", False):
                    inputs.pop("hyperparams", None)
                    return given.apply(*args[:3], *args[4:], **inputs)
            try:
                if any(map(is_traced, args[:2] or inputs.values())):
                    with jax.named_scope(name):
                        return function(*args, **inputs)
                return function(*args, **inputs)
            except Exception as error:
                located(error, name)
                raise

        return run  # type: ignore[return-value]

    return bind


def apply_at(
    position: int | str,
    hyperparams: Any,
    x: Any,
    tree: Any,
    other: Any,
    *args: Any,
    **inputs: Any,
) -> Any:
    """Apply one of the layers, or optimizers, of a block, under its position."""
    # `apply` would do. Where nothing is traced there are no scopes to open, and each call
    # of Python counts: the function is called at once, and named in errors as by `apply`.
    function, name = getattr(type(hyperparams), "_bare", _NONE)
    try:
        if is_traced(x) or is_traced(tree):
            name = ""
            with jax.named_scope(str(position)):
                return hyperparams.apply(x, tree, other, *args, **inputs)
        if function is None:
            return hyperparams.apply(x, tree, other, *args, **inputs)
        return function(x, tree, other, hyperparams, *args, **inputs)
    except Exception as error:
        if name:
            located(error, name)
        located(error, f"[{position}]")
        raise


class Place:
    """Do something with some values under a name.

    Scopes and errors get it, as from `scoped`. No generator is made for it, since a block
    comes here for each of its parts.
    """

    def __init__(self, name: str, *values: Any) -> None:
        self._name = name
        self._scope = (
            jax.named_scope(name) if any(map(is_traced, values[:2])) else None
        )

    def __enter__(self) -> None:
        if self._scope is not None:
            self._scope.__enter__()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._scope is not None:
            self._scope.__exit__(kind, error, traceback)
        if isinstance(error, Exception):
            located(error, self._name)


def located(error: Exception, place: str) -> None:
    """Say in an error where it comes from: `Series[3] > Residual > Linear: x must be ...`.

    Where the message says whose it is, the place is put before it, and else into a note.

    Args:
        error: on its way out.
        place: the name of a layer, or a position in brackets.
    """
    text: Any = error.args[0] if error.args else None
    says_whose = isinstance(error, ValueError | TypeError) and isinstance(text, str)
    if says_whose and getattr(error, "_is_located", False):
        error.args = (_within(place, text), *error.args[1:])
    elif says_whose and _OWN.match(text):
        error._is_located = True  # type: ignore[attr-defined]
        if not text.startswith((f"{place}: ", f"{place} draws ", f"{place} at ")):
            error.args = (_within(place, text), *error.args[1:])
    else:
        notes = getattr(error, "__notes__", [])
        for i, note in enumerate(notes):
            if note.startswith(_NOTE):
                notes[i] = _NOTE + _within(place, note.removeprefix(_NOTE))
                return
        error.add_note(_NOTE + place)


def _within(place: str, text: str) -> str:
    return f"{place}{text}" if text.startswith("[") else f"{place} > {text}"


def is_traced(value: Any) -> bool:
    """Whether x is traced, or weights: of several arrays the first one stands for all."""
    if isinstance(value, tuple) and value:
        value = value[0]
    return _is_tracer(type(value))


@functools.cache
def _is_tracer(cls: type) -> bool:
    # Asked of a class once, since abstract ones take their time with each instance.
    return issubclass(cls, jax.core.Tracer)
