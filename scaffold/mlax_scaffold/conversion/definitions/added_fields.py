"""Sizes that the original tells by its inputs, as hyperparameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from mlax_scaffold.conversion.definitions.class_fields import (
    ClassFields,
)
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import (
    expression,
    name,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import walk

_OF_INPUT = (
    *("in_features", "in_dim", "input_dim"),
    *("in_channels", "in_chans", "in_ch", "in_planes"),
)
"""What hyperparameters are called that say how many features, or channels, the input has."""


class AddedFields(ClassFields):
    """Fields that are added."""

    symbols: Symbols

    def _added(self, env: dict[str, Value]) -> list[Field]:
        """Fields for sizes that the original tells by its inputs."""
        added: list[Field] = []
        for node in self.builder.setup:
            for part in walk(node):
                if not is_symbol(part):
                    continue
                for found in walk(self.symbols.find(part)):  # type: ignore[arg-type]
                    if isinstance(found, ast.Name) and is_symbol(found):
                        if own := self._own_size(found, env):
                            self.symbols.known[found.id] = expression(f"self.{own}")
                            continue
                        field = self._field_for(found, env, added)
                        self.symbols.known[found.id] = expression(f"self.{field.name}")
                        added.append(field)
        return added

    def _own_size(self, symbol: ast.Name, env: dict[str, Value]) -> str:
        """The hyperparameter that says by its name how many features the input has; "" for none."""
        first = next((v for v in env.values() if isinstance(v, Array)), None)
        axes = [self.symbols.find(a) for a in first.axes] if first else []
        places = [i for i, a in enumerate(axes) if getattr(a, "id", "") == symbol.id]
        channels = self.symbols.hints.get(symbol.id) == "channels"
        if not places or not (channels or places[-1] == len(axes) - 1):
            return ""
        fields = self.builder.fields
        known = [t for t in _OF_INPUT if t in fields and fields[t].word == "Size"]
        return known[0] if len(known) == 1 and fields[known[0]].default is None else ""

    def _field_for(
        self, symbol: ast.Name, env: dict[str, Value], added: list[Field]
    ) -> Field:
        wanted, said = "in_features", "size of the last axis of the input"
        for number, (given, value) in enumerate(env.items()):
            if not isinstance(value, Array):
                continue
            for i, axis in enumerate(value.axes):
                found = self.symbols.find(axis)
                if isinstance(found, ast.Name) and found.id == symbol.id:
                    last = i == len(value.axes) - 1
                    hint = self.symbols.hints.get(symbol.id, "")
                    wanted = (
                        hint
                        if hint not in ("", "_", "features") and not last
                        else wanted
                    )
                    if hint == "channels":
                        wanted, said = "in_channels", "channels of the input"
                    elif not last or hint in ("height", "width"):
                        wanted = hint if hint.strip("_") else f"size_{i}"
                        said = f"size of axis {i - len(value.axes)} of {given}"
                    elif number:
                        wanted = f"{given}_features"
                        said = f"size of the last axis of {given}"
        names = {
            *self.builder.fields,
            *self.builder.attributes,
            *(f.name for f in added),
        }
        made, count = wanted, 1
        while made in names:
            count += 1
            made = f"{wanted}_{count}"
        return Field(made, "Size", None, said)

    def _own_initializers(self) -> None:
        """A field for the initializer of a weight: every weight has a parameter for that."""
        for attribute, known in self.builder.attributes.items():
            if known.kind != "weight" or known.call is None:
                continue
            given = self_attribute(known.call.args[0])
            field = self.builder.fields.get(given or "")
            if field is not None and given == f"{attribute}_initializer":
                known.call.args[0] = field.default or expression(
                    "i()", i=name("@word:lecun_normal")
                )
                del self.builder.fields[str(given)]


def read_of(
    added: list[Field], fields: list[Field], parts: Iterable[ast.stmt]
) -> tuple[list[Field], list[Field]]:
    """The fields that were added, and all of them, without those added that nothing reads in the end.

    What a size was needed for may be left out, or computed of another one.
    """
    texts = [ast.unparse(part) for part in parts]
    unread = {
        f.name for f in added if not any(re.search(rf"\b{f.name}\b", t) for t in texts)
    }
    return (
        [f for f in added if f.name not in unread],
        [f for f in fields if f.name not in unread],
    )
