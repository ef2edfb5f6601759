"""Private attributes of a class under public names, as fields of a tree have them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.building import TAKEN
from mlax_scaffold.conversion.trees import self_attribute


def publicized(node: ast.ClassDef) -> None:
    """Give attributes like `self._torso` names without the underscore, in place."""
    places = [p for p in ast.walk(node) if isinstance(p, ast.Attribute)]
    used = {n for n in map(self_attribute, places) if n}
    used |= {p.name for p in node.body if isinstance(p, ast.FunctionDef)}
    stored = {
        attribute
        for place in places
        if isinstance(place.ctx, ast.Store)
        and (attribute := self_attribute(place))
        and attribute.startswith("_")
        and not attribute.startswith("__")
    }
    renamed: dict[str, str] = {}
    for name in sorted(stored):
        public = name.lstrip("_")
        # `self._head` beside a method `head`
        for free in (public, f"own_{public}"):
            if free.isidentifier() and free not in used and free not in TAKEN:
                used.add(free)
                renamed[name] = free
                break
    for place in places:
        attribute = self_attribute(place)
        if attribute in renamed:
            place.attr = renamed[attribute]
