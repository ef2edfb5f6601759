"""Hyperparameters of a spec's class: its annotated fields, and how they are bound."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.spec.words import Word, canonical


@dataclass(frozen=True)
class Fields:
    """The annotated fields of a class, in order."""

    owner: str
    annotations: Mapping[str, Any]
    defaults: Mapping[str, Any]

    @classmethod
    def of(cls, owner: type) -> Fields:
        """Takes the fields off a class.

        The defaults are removed from the class, so that on its instances a field is
        looked up among the canonical values and nowhere else.
        """
        own = inspect.get_annotations(owner, eval_str=True)
        defaults = {n: owner.__dict__[n] for n in own if n in owner.__dict__}
        for name in defaults:
            delattr(owner, name)
        base: Fields | None = getattr(owner, "_fields_", None)
        if base is None:
            return cls(owner.__name__, own, defaults)
        annotations = _inherited(base.annotations, own, vars(owner))
        defaults = {
            name: value
            for name, value in {**base.defaults, **defaults}.items()
            if name in annotations and (name in defaults or name not in own)
        }
        return cls(owner.__name__, annotations, defaults)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The canonical value of every field.

        Raises:
            TypeError: an argument is missing, unknown, or given twice.
            ValueError: a value is not what the field's word takes.
        """
        signature = inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=self.defaults.get(name, inspect.Parameter.empty),
                )
                for name in self.annotations
            ]
        )
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            annotation = self.annotations[name]
            values[name] = canonical(self.owner, name, annotation, value, values)
        return values

    @property
    def layers(self) -> tuple[str, ...]:
        """The fields that hold one initialized layer."""
        return self.holding("layer")

    @property
    def structural(self) -> tuple[str, ...]:
        """The fields that hold initialized layers: one, or several."""
        return (*self.layers, *self.holding("layers"))

    @property
    def stacked(self) -> tuple[str, ...]:
        """The fields that hold a layer whose weights are stacked."""
        return tuple(
            name for name in self.layers if self.annotations[name].type.word.stacked
        )

    @property
    def initializers(self) -> tuple[str, ...]:
        """The fields that hold initializers."""
        return self.holding("initializer")

    def word(self, name: str) -> Any:
        """The row of the word of a field."""
        return self.annotations[name].type.word

    def holding(self, attribute: str) -> tuple[str, ...]:
        """The fields whose words make attributes of a kind."""
        return tuple(
            name
            for name, annotation in self.annotations.items()
            if isinstance(annotation, Word)
            and annotation.type.word.attribute == attribute
        )


def _inherited(
    base: Mapping[str, Any], own: Mapping[str, Any], others: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a class that is based on another, in their order.

    One that is given another default keeps its place, and a new one stands behind the one
    before it; what the class has a value or a method for is no field any more.
    """
    found: dict[str, Any] = {}
    names = list(own)
    for name, annotation in base.items():
        if name in own:
            for following in names[names.index(name) :]:
                if following != name and following in base:
                    break
                found[following] = own[following]
        elif name not in others:
            found[name] = annotation
    return {**found, **{name: own[name] for name in names if name not in found}}
