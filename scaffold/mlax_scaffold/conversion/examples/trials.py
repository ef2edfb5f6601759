"""Values that the original and what it became can both be run with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.conversion.examples.examples import fitting, optional_inputs
from mlax_scaffold.conversion.output.description import Field, Trial, Written
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Each, Several, Value
from mlax_scaffold.conversion.source.arguments_of import defaults_of
from mlax_scaffold.conversion.source.trees import is_none
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import walk


def trial(
    symbols: Symbols,
    fields: Iterable[Field],
    env: Mapping[str, Value],
    setup: Iterable[ast.stmt],
    methods: Iterable[ast.FunctionDef],
    renamed: Mapping[str, str],
    flags: Iterable[str],
    *,
    single: bool,
) -> Trial | None:
    """What a test of both runs them with; None where that is not to be told.

    Args:
        symbols: the sizes.
        fields: all of the definition.
        env: its inputs.
        setup: the declarations.
        methods: what computes.
        renamed: the fields by the parameters of the constructor; "" for what was left out.
        flags: parameters of the call that were left out.
        single: whether the original is for one example, and mapped over others.
    """
    fields, methods = list(fields), list(methods)
    found = dict(fitting(symbols, fields, env, setup, methods))
    # What may be left out is left out of both, and given to both by its name.
    optional = {name for method in methods for name in optional_inputs(method)}
    beside = {k: v for k, v in env.items() if k in optional}
    known_shapes = {k: found.get(k) for k in beside}
    env = {k: v for k, v in env.items() if k not in optional}
    found = {k: v for k, v in found.items() if k not in optional}
    if not env or not set(env) <= set(found):
        return None
    shapes = {k: found.pop(k) for k in env}
    arrays = {k: v for name, value in env.items() for k, v in _named(name, value)}
    leads = {array.lead for array in arrays.values()}
    if single and len(leads) > 1:
        return None
    named = [
        (name, shape)
        for name, value in beside.items()
        if (shape := _plain_shape(value, known_shapes[name], single=single))
    ]
    arrays |= {k: v for k, _ in named if isinstance(v := beside[k], Array)}
    # A function that has to be given: both take the same one.
    required = [f.name for f in fields if f.word == "Activation" and f.default is None]
    found |= {name: Written("jax.nn.softplus") for name in required}
    # A field that no value was chosen for keeps its default in both.
    known = {f.name for f in fields if f.name in found}
    pairs = [(p, f) for p, f in renamed.items() if f in known]
    return Trial(
        tuple(pairs),
        tuple(found.items()),
        tuple((k, s) for k, s in shapes.items() if isinstance(s, tuple)),
        tuple(k for k, v in arrays.items() if v.kind == "Int"),
        tuple(k for k, v in arrays.items() if v.kind == "Bool"),
        int(single and True in leads),
        tuple(flags),
        optional=tuple(named),
    )


def _plain_shape(
    value: Value, shape: object, *, single: bool
) -> tuple[int, ...] | None:
    """The shape of an array that may be left out; None of others, and of what is no part of one example."""
    if not isinstance(value, Array) or (single and not value.lead):
        return None
    if not isinstance(shape, tuple) or not all(isinstance(n, int) for n in shape):
        return None
    return shape


def _named(name: str, value: Value) -> Iterator[tuple[str, Array]]:
    """The arrays of an input, of a tuple by their places: `x[0]`."""
    if isinstance(value, Array):
        yield name, value
    elif isinstance(value, Several):
        for place, part in enumerate(value.items):
            yield from _named(f"{name}[{place}]", part)
    elif isinstance(value, Each):
        # Two stand for any number of them.
        yield from _named(name, Several([value.first] * 2))


def without_absent_keys(
    flags: Iterable[str], call: ast.FunctionDef, text: str
) -> list[str]:
    """The flags that the original is given: no key that it asks for, and that is None in inference.

    Args:
        flags: parameters of the call that were left out.
        call: the call of the original.
        text: its file.
    """
    absent = {
        title
        for title, default in defaults_of(call.args).items()
        if title in KEYS and is_none(default)
        if re.search(rf"\b{title} is (not )?None\b(?!:\s*raise)", text)
    }
    return [flag for flag in flags if flag not in absent]


def drawing(function: ast.FunctionDef | None) -> tuple[tuple[str, str], ...]:
    """The parameters for random numbers of a constructor, and what each is.

    What has methods is a generator of NumPy, and all else a key of jax.
    """
    if function is None:
        return ()
    generators = {
        node.value.id
        for node in walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    given = (*function.args.args, *function.args.kwonlyargs)
    return tuple(
        (a.arg, "generator" if a.arg in generators else "key")
        for a in given
        if a.arg in KEYS
    )
