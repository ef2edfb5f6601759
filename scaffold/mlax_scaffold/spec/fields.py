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
        annotations = inspect.get_annotations(owner, eval_str=True)
        defaults = {n: owner.__dict__[n] for n in annotations if n in owner.__dict__}
        for name in defaults:
            delattr(owner, name)
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
            try:
                values[name] = canonical(self.annotations[name], value, values)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{self.owner}: {name}: {error}") from error
        return values

    @property
    def layers(self) -> tuple[str, ...]:
        """The fields that hold one initialized layer."""
        return self.named("SubLayer", "Cell", "Stacked")

    @property
    def initializers(self) -> tuple[str, ...]:
        """The fields that hold initializers."""
        return self.named("Initializer")

    def named(self, *words: str) -> tuple[str, ...]:
        """The fields that are annotated with one of the words of those names, or None."""
        return tuple(
            name
            for name, annotation in self.annotations.items()
            if isinstance(annotation, Word)
            and annotation.name.removesuffix(" | None") in words
        )
