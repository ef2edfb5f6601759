"""Attributes of a class under names that fields of a tree have: public, and those of no class."""

from __future__ import annotations

import ast
from keyword import iskeyword

from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.vocabulary import TAKEN
from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.reader.homes import module_name

_MEANT = ("self", "key", "value")
"""What is something else in a method."""


def publicized(node: ast.ClassDef) -> None:
    """Give attributes like `self._torso`, `self.LayerNorm` and `self.self` other names, in place."""
    places = [p for p in walk(node) if isinstance(p, ast.Attribute)]
    used = {n for n in map(self_attribute, places) if n}
    used |= {p.name for p in node.body if isinstance(p, ast.FunctionDef)}
    called = {
        getattr(part.func, "attr", getattr(part.func, "id", ""))
        for part in walk(node)
        if isinstance(part, ast.Call) and self_attribute(part.func) is None
    }
    stored = {
        attribute
        for place in places
        if isinstance(place.ctx, ast.Store)
        and (attribute := self_attribute(place))
        and not (attribute.startswith("__") and attribute.endswith("__"))
        and (
            attribute[0] == "_"
            or attribute in _MEANT
            # `self.LayerNorm = nn.LayerNorm(width)`
            or (attribute[0].isupper() and attribute in called)
        )
    }
    renamed: dict[str, str] = {}
    for name in sorted(stored):
        public = module_name(name.lstrip("_"))
        # `self._head` beside a method `head`
        for free in (public, f"own_{public}"):
            plain = free.isidentifier() and not iskeyword(free)
            if plain and free not in used and free not in TAKEN:
                used.add(free)
                renamed[name] = free
                break
    for place in places:
        attribute = self_attribute(place)
        if attribute in renamed:
            place.attr = renamed[attribute]
    for part in walk(node):
        match part:
            case ast.Call(
                func=ast.Attribute(attr="register_buffer" | "register_parameter"),
                args=[ast.Constant(value=str(title)) as said, *_],
            ):
                said.value = renamed.get(title, title)
