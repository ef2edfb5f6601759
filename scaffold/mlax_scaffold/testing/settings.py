"""Configurations that originals are given: objects of settings, which mappings hold, too."""

from __future__ import annotations

import inspect
import types
from typing import Any


class Settings(types.SimpleNamespace):
    """Settings that are attributes, and that a mapping holds, too; a device is that of all arrays here."""

    device = "cpu"

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def keys(self) -> Any:
        return vars(self).keys()

    def get(self, name: str, default: Any = None) -> Any:
        found = getattr(self, name, None)
        return default if found is None else found


_UNREAD = {"int": 1, "float": 1.0, "bool": False, "str": ""}


def made_of(holder: Any, held: dict[str, Any]) -> Any:
    """A configuration with these settings; what else its class needs, nothing reads."""
    values = nested(held, holder)
    if holder is Settings:
        return holder(**values)
    for parameter in inspect.signature(holder).parameters.values():
        named = parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        )
        if (
            named
            and parameter.default is parameter.empty
            and parameter.name not in values
        ):
            kind = getattr(parameter.annotation, "__name__", parameter.annotation)
            values[parameter.name] = _UNREAD.get(str(kind))
    return holder(**values)


def nested(held: dict[str, Any], holder: Any) -> dict[str, Any]:
    """Settings, of which those with dots in their names are held by settings: `encoder.width`."""
    made: dict[str, Any] = {}
    for name, value in held.items():
        first, _, rest = name.partition(".")
        if rest:
            made.setdefault(first, {})[rest] = value
        else:
            made[first] = value
    inner = {name.partition(".")[0] for name in held if "." in name}
    return {
        name: holder(**nested(value, holder)) if name in inner else value
        for name, value in made.items()
    }
