"""Examples of layers that others are made of: with the values that those give them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.examples.computing import computed
from mlax_scaffold.conversion.examples.examples import fitting
from mlax_scaffold.conversion.output.description import Described, Field
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Each, Several, Value
from mlax_scaffold.conversion.source.trees import literal, replaced

_LARGEST = 16
"""What is larger makes tests slow."""


@dataclass(frozen=True)
class Fitted:
    """What is known of a class when its example is made."""

    builder: Builder
    symbols: Symbols
    fields: tuple[Field, ...]
    env: Mapping[str, Value]

    def example(
        self, described: Described, given: Mapping[str, object]
    ) -> tuple[tuple[str, object], ...]:
        """An example in which some fields have values that are given."""
        found = fitting(
            self.symbols,
            self.fields,
            self.env,
            described.setup,
            described.methods,
            given,
        )
        # Sizes of the arrays of a tuple are drawn by their names.
        return tuple(
            (k, v) for k, v in found if not isinstance(self.env.get(k), Several | Each)
        )

    def layers(self) -> Iterator[tuple[str, Attribute]]:
        """The layers of the file that this one is made of, by name."""
        for attribute in self.builder.attributes.values():
            mark, _, layer = attribute.layer.partition(":")
            if mark == "@own" and attribute.call is not None:
                yield layer, attribute


def with_nested_examples(
    definitions: list[Described], fitted: Mapping[str, Fitted]
) -> list[Described]:
    """Definitions, of which those that others are made of are tried as the first of these makes them.

    A dilation that a convolution is padded for, and all else that a class computes for another one or
    fixes there, is nothing that may be chosen one by one.
    """
    made = {d.name: d for d in definitions}
    settled: set[str] = set()
    refitted: set[str] = set()
    for outer in reversed(definitions):
        known = fitted.get(outer.name)
        if known is None:
            continue
        values = _values(made[outer.name])
        for layer, attribute in known.layers():
            inner = made.get(layer)
            if inner is None or layer in settled or layer not in fitted:
                continue
            settled.add(layer)
            given = _given(inner, attribute, values, always=outer.name in refitted)
            example = fitted[layer].example(inner, given) if given else ()
            if inner.example and example:
                made[layer] = replace(inner, example=example)
                refitted.add(layer)
    return [made[d.name] for d in definitions]


def _values(described: Described) -> dict[str, object]:
    """The values of the fields of an example."""
    fields = {f.name: f.default for f in described.fields}
    defaults = {k: literal(v) for k, v in fields.items() if v is not None}
    chosen = {k: v for k, v in described.example if k in fields}
    return {**defaults, **chosen}


def _given(
    inner: Described,
    attribute: Attribute,
    values: Mapping[str, object],
    *,
    always: bool,
) -> dict[str, object]:
    """What a layer is made with, where some of it is computed or fixed; nothing where that is too large.

    It is always what it is made with where what makes it has values of that kind itself.
    """
    assert attribute.call is not None
    chosen = dict(inner.example)
    found: dict[str, int] = {}
    differs = False
    arguments = inner.arguments(attribute.call)
    texts = [ast.unparse(given) for given in arguments.values()]
    for field, given in arguments.items():
        made = replaced(given, attribute.first)
        value = computed(made, values)
        if type(value) is not int:
            continue
        found[field] = value
        # Sizes that are always the same may have to be.
        alike = texts.count(ast.unparse(given)) > 1
        fixed = always or alike or isinstance(made, ast.BinOp | ast.Constant)
        differs |= fixed and field in chosen and chosen[field] != value
    small = all(0 <= value <= _LARGEST for value in found.values())
    return dict(found) if differs and small else {}
