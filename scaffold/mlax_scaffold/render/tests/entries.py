"""The cases that an entry point of a definition is tested with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.definition import (
    ArrayType,
    Definition,
    Example,
    Input,
    Kind,
    Method,
)
from mlax_scaffold.model.hyper_types import AXES
from mlax_scaffold.model.shapes import Conditional, Shape
from mlax_scaffold.render.tests.names import local
from mlax_scaffold.render.tests.ranges import ranges
from mlax_scaffold.render.tests.shapes import (
    drawn,
    has_axes,
    known_sizes,
    loose,
    rank,
    ranked,
    sized_carry,
    trees,
    variadic,
)
from mlax_scaffold.render.tests.values import (
    dividing,
    kept_sizes,
    like_default,
    per_dim_axes,
)

_PICKED = 'pick("{} is given", booleans())'
_PASSED = (("shift", 'shapes.array("shift")', _PICKED.format("shift")),)
"""The keyword input of the layers that blocks are tested with."""


@dataclass(frozen=True)
class EntryView:
    """The function that picks the cases of `fwd`, of another entry point, or of a function."""

    cases: str
    """What it is called."""
    of: str
    """What the cases are of, in a sentence."""
    function: str
    """The function that is tested; empty for `fwd`."""
    draws: tuple[str, ...]
    sizes: str
    """Values of what shapes of a layer name."""
    patterns: str
    known: str
    axes: str
    """Names of hyperparameters that are the sizes of axes, and may be one for all."""
    x: str
    inputs: tuple[tuple[str, str, str], ...]
    """Keyword inputs: name, expression, and when they are given; empty where they always are."""
    y: str
    ranges: str
    returns: str
    """The shape of the result, as annotated; empty where that is no array's."""
    loose: str
    """Names of inputs whose annotations allow more shapes than are picked."""
    trees: str
    """Names of those that may be anything."""
    spread: bool


def entry_view(definition: Definition, method: Method, unsaid: bool) -> EntryView:
    """What is picked for an entry point; `unsaid` where the spec may refuse what no requirement tells."""
    patterns = drawn(method)
    first = method is definition.entry
    return EntryView(
        cases="cases" if first else f"{method.name}_cases",
        of=definition.name if first else f"{definition.name}.{method.name}",
        function="" if first else method.name,
        draws=tuple(_draws(definition, method, unsaid)),
        sizes=known_sizes(definition, patterns),
        patterns=", ".join(f"{label!r}: {text!r}" for label, text in patterns),
        known="".join(f"{item}, " for item in _known(definition, method, patterns)),
        axes=", ".join(map(repr, per_dim_axes(definition, method))),
        x=_x(method, definition),
        inputs=tuple(
            (
                i.name,
                _abstract(i.name, i.type, definition, i.default is None),
                _given(definition, i) if i.default is not None else "",
            )
            for i in method.keyword
        )
        + _PASSED * method.passes,
        y='example["y"]'
        if first and definition.result_shape is not None
        else _expected(method.returns),
        ranges=ranges(definition, method),
        returns=_returned(method.returns),
        loose=", ".join(f'"{label}"' for label in loose(method)),
        trees=", ".join(f'"{label}"' for label in trees(method)),
        spread=len(method.positional) > 1,
    )


def _draws(definition: Definition, method: Method, unsaid: bool) -> Iterator[str]:
    if definition.examples:
        examples = ", ".join(map(_literal, definition.examples))
        yield f'example = pick("example", choices({examples}))'
    if ranked(definition, method):
        yield 'rank = pick("rank", choices(1, 2, 3))'
    elif has_axes(definition):
        yield f"rank = {rank(definition)}"
    many = any(h.type.word.many for h in definition.structural())
    if many or any(_any_number(i.type) for i in method.inputs):
        yield 'count = pick("count", sizes(max=3))'
    same = kept_sizes(definition, method)
    for h in definition.hyperparameters:
        if h.name in same:
            yield f"{local(h.name)} = {local(same[h.name])}"
            continue
        if h.name in definition.example_values:
            yield f'{local(h.name)} = example["{h.name}"]'
            continue
        if h.type.word.structural:
            if h.type.word.attribute == "optimizer":
                yield 'traced = pick("traced", booleans())'
            continue
        strategy = "choices(1, 2)" if h.name == AXES else h.type.strategy
        if definition.kind is Kind.SCHEDULE:  # numbers of steps, which cost nothing
            strategy = strategy.replace("sizes()", "sizes(max=32)").replace(
                "size_sequences()", "size_sequences(min_size=1, max=32)"
            )
        if h.type.word.mapped and h.type.optional and not _is_mapped(definition.kind):
            strategy = "nothing()"
        domain = (
            (unsaid and like_default(definition, h))
            or dividing(definition, h)
            or strategy
        )
        yield f'{local(h.name)} = pick("{h.name}", {domain})'


def _is_mapped(kind: Kind) -> bool:
    """Whether tests call it on several devices."""
    return kind.is_layer or kind is Kind.FUNCTION


def _literal(example: Example) -> str:
    values = [*example.values, *((n, str(shape)) for n, shape in example.shapes)]
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in values)}}}"


def _known(
    definition: Definition, method: Method, patterns: list[tuple[str, str]]
) -> Iterator[str]:
    labels = [label for label, _ in patterns]
    shapes = [name for name in definition.given_shapes if name in labels]
    if shapes:
        given = ", ".join(f'"{name}": example["{name}"]' for name in shapes)
        yield f"given={{{given}}}"
    if sized := sized_carry(definition, method):
        inputs, carry = sized
        # As the spec says it: what is generated is to agree with that.
        whose = "hyperparams"
        if not definition.structural():
            whose = "SPEC.load()(**hyperparameters)"
        yield f'carry=("{inputs}", "{carry}", {whose}.initial_carry)'
    name = variadic(patterns)
    if name and ranked(definition, method):
        others = [word for word in patterns[0][1].split() if word != f"*{name}"]
        fields = {f"*{h.name}" for h in definition.hyperparameters}
        groups = [word[1:] for word in others if word in fields]
        fixed = [f"len({group})" for group in groups]
        if len(others) > len(groups):
            fixed.append(str(len(others) - len(groups)))
        left = f"max({' - '.join(['rank', *fixed])}, 0)" if fixed else "rank"
        yield f'ranks={{"{name}": {left}}}'


def _x(method: Method, definition: Definition) -> str:
    parts = [
        _abstract(i.name, i.type, definition, i.default is None)
        for i in method.positional
    ]
    if definition.kind is Kind.FUNCTION:
        parts = [
            f"{part} if {_given(definition, i)} else None"
            if i.default and i.default.is_none
            else f'*(({part},) * pick("number of {i.name}", choices(0, 1, 2)))'
            if i.several
            else part
            for i, part in zip(method.positional, parts, strict=True)
        ]
        return f"({', '.join(parts)},)"
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _given(definition: Definition, item: Input) -> str:
    """When an input is given that may be left out: not where a size of its shape is None."""
    sizes = (local(name) for name in definition.absent_sizes(item.type))
    there = [f"{name} is not None" for name in sizes]
    return " and ".join([*there, _PICKED.format(item.name)])


def _any_number(array: ArrayType) -> bool:
    """Whether it is a tuple of arrays, however many."""
    return array.kind == "tuple" and array.items[-1].kind == "..."


def _abstract(
    label: str, array: ArrayType, definition: Definition, needed: bool = False
) -> str:
    """An array, or a tree of them, of the drawn shapes; `needed` says that it is always given."""
    if array.kind == "tuple":
        if _any_number(array):
            part = _abstract(f"{label}[0]", array.items[0], definition, needed)
            return f"({part},) * count"
        parts = [
            _abstract(f"{label}{at}", part, definition, needed)
            for _, at, part in array.parts
        ]
        return f"({', '.join(parts)},)"
    if array.kind == "dict":
        pairs = [
            f'"{key}": {_abstract(f"{label}{at}", part, definition, needed)}'
            for key, at, part in array.parts
        ]
        return f"{{{', '.join(pairs)}}}"
    if array.kind == "PyTree" and not needed and _chooses(definition):
        return "None"
    if array.kind == "Key":
        return "abstract_key()"
    if array.kind == "PyTree":
        return f'shapes.array("{label}")'
    kind = KINDS[array.kind]
    dtype = f", jnp.{kind.example}" if kind.example else ""
    integers = ", integers=True" if kind.computes and "integer" in kind.dtypes else ""
    return f'shapes.array("{label}"{dtype}{integers})'


def _chooses(definition: Definition) -> bool:
    """Whether its layers have a tree of their own where none is given: no cell does."""
    return bool(definition.structural()) and definition.method("initial_carry") is None


def _expected(array: ArrayType | None) -> str:
    """Expression of the shapes of the result; empty where the spec does not say."""
    if array is None or array.holds("PyTree"):
        return ""
    if array.kind == "tuple":
        parts = [_expected(part) for part in array.items]
        return "" if "" in parts else f"({', '.join(parts)},)"
    if array.shape is None or _unknown(array.shape):
        return ""
    return f'shapes.expected("{array.shape}")'


def _returned(array: ArrayType | None) -> str:
    return "" if array is None or array.shape is None else str(array.shape)


def _unknown(shape: Shape | Conditional) -> bool:
    return "..." in str(shape).split()
