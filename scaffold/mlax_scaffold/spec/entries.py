"""Entry points of layers that run eagerly: which methods they are, and their inputs."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from mlax_scaffold.model.arrays import COMPUTING
from mlax_scaffold.spec.declared import is_called
from mlax_scaffold.spec.words import ArrayWord, is_array

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer


def is_entry(owner: type, name: str, value: Any) -> bool:
    """Whether a method is an entry point, which is called from outside."""
    if not inspect.isfunction(value) or name == "setup" or name.startswith("_"):
        return False
    annotations = inspect.get_annotations(value, eval_str=True)
    annotations.pop("return", None)
    arrays = [*map(is_array, annotations.values())]
    if name == "forward" or not any(arrays):
        return name == "forward"
    # What takes something else, too, is for other methods, where these call it.
    whole = all(arrays) and len(arrays) == len(inspect.signature(value).parameters) - 1
    return whole or not is_called(owner, name)


def with_inputs_of_base(owner: type[Layer], name: str, function: Any) -> None:
    """`def forward(self, *args, **kwargs)`, which hands them to the base, takes the inputs of that."""
    inherited = (getattr(cls, "_entries_", {}).get(name) for cls in owner.__mro__[1:])
    base = next(filter(None, inherited), None)
    if base is None:
        return
    own = [*inspect.signature(function).parameters.values()]
    several = {p.kind for p in own if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    theirs = [*inspect.signature(base).parameters.values()]
    if not several or any(p.kind in _SEVERAL for p in theirs):
        return
    named = [p for p in own if p.kind not in _SEVERAL]
    given = [
        theirs[i].replace(name=p.name) if i < len(theirs) else p
        for i, p in enumerate(named)
    ]
    more = theirs[len(named) :]
    if inspect.Parameter.VAR_KEYWORD not in several:
        more = [p for p in more if p.kind is not p.KEYWORD_ONLY]
    types = inspect.get_annotations(base, eval_str=True)
    types |= {
        p.name: types[t.name]
        for p, t in zip(named, theirs, strict=False)
        if t.name in types
    }
    types |= inspect.get_annotations(function, eval_str=True)
    made = [*given, *more]
    function.__annotations__ = {
        n: t for n, t in types.items() if n in {"return", *(p.name for p in made)}
    }
    function.__signature__ = inspect.Signature(made)


_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@functools.cache
def has_floating(function: Callable[..., Any]) -> bool:
    """Whether an input is a floating array that is always there, whose dtype is that of the computation."""
    parameters = inspect.signature(function).parameters.values()
    annotations = inspect.get_annotations(function, eval_str=True)
    return any(
        _is_floating(annotations.get(p.name))
        for p in parameters
        if p.kind is not p.KEYWORD_ONLY and p.default is p.empty
    )


def takes_tree(function: Callable[..., Any]) -> bool:
    """Whether an input may be any tree."""
    given = inspect.get_annotations(function, eval_str=True).values()
    return any(isinstance(a, ArrayWord) and a.name == "PyTree" for a in given)


def _is_floating(annotation: Any) -> bool:
    if isinstance(annotation, ArrayWord):
        return annotation.name in COMPUTING and not annotation.optional
    if is_named_tuple(annotation) or typing.is_typeddict(annotation):
        fields = inspect.get_annotations(annotation, eval_str=True)
        return any(map(_is_floating, fields.values()))
    given = typing.get_args(annotation)
    several = given[-1:] == (...,)  # There may be none.
    is_tuple = typing.get_origin(annotation) is tuple and not several
    return is_tuple and any(map(_is_floating, given))


def is_named_tuple(annotation: Any) -> bool:
    """Whether an annotation is a NamedTuple."""
    return isinstance(annotation, type) and hasattr(annotation, "_fields")


def as_annotated(
    function: Callable[..., Any], given: tuple[Any, ...], inputs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs of a function without `self`, of which those that are NamedTuples may be plain tuples.

    Args:
        function: the function.
        given: those by their places.
        inputs: those by their names.
    """
    annotations = inspect.get_annotations(function, eval_str=True)
    names = [n for n in inspect.signature(function).parameters if n != "self"]

    pairs = zip(names, given, strict=False)
    placed = (_as_type(annotations.get(n), value) for n, value in pairs)
    named = {n: _as_type(annotations.get(n), value) for n, value in inputs.items()}
    return (*placed, *given[len(names) :]), named


def _as_type(annotation: Any, value: Any) -> Any:
    """A tree of arrays in which tuples are the NamedTuples that its annotation says."""
    parts = typing.get_args(annotation)
    if types.NoneType in parts:
        annotation = parts[0]
        parts = typing.get_args(annotation)
    if not isinstance(value, tuple | list):
        return value
    if is_named_tuple(annotation):
        fields = inspect.get_annotations(annotation, eval_str=True)
        pairs = zip(annotation._fields, value, strict=True)
        return annotation(*(_as_type(fields[n], part) for n, part in pairs))
    if typing.get_origin(annotation) is not tuple:
        return value
    each = parts[:1] * len(value) if parts[-1:] == (...,) else parts
    return tuple(_as_type(t, part) for t, part in zip(each, value, strict=False))


def returned(definition: Any, entry: str = "forward") -> Any:
    """The annotation of what an entry point of a layer, or a function, returns; None without one."""
    entries = getattr(definition, "_entries_", {})
    function = entries.get(entry, definition)
    return inspect.get_annotations(function, eval_str=True).get("return")


def entry(name: str) -> Callable[..., Any]:
    """The entry point of that name, as people call it."""

    def call(
        self: Layer,
        x: Any,
        training: bool = True,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> Any:
        return self._enter_(name, x, training, key, inputs)

    return call


def as_array(leaf: Any) -> Any:
    """The leaf as an array of jax."""
    return leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)


def first_floating(inputs: Any) -> jnp.dtype | None:
    """The dtype of the first floating or complex input; None where there is none."""
    for leaf in jax.tree.leaves(inputs):
        if jnp.issubdtype(leaf.dtype, jnp.inexact):
            return leaf.dtype
    return None
