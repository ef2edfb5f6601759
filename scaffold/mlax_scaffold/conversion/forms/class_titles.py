"""Classes of PyTorch that are called as attributes are, `self.moving_avg = moving_avg(3)`: `MovingAvg`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute


def with_class_titles(origin: Origin, thing: str) -> None:
    """Give such classes other names in place; the one that is converted has the name that it is given."""
    if not origin.uses("torch"):
        return
    attributes = {a for p in ast.walk(origin.tree) if (a := self_attribute(p))}
    taken = {*origin.classes, *origin.functions, *origin.imports, *origin.assigned}
    renamed: dict[str, str] = {}
    for title, node in origin.classes.items():
        if title not in attributes or title == thing:
            continue
        if not is_layer_class(origin, node):
            continue
        made = "".join(p[:1].upper() + p[1:] for p in title.split("_"))
        while made in taken or made == title:
            made += "Layer"
        taken.add(made)
        renamed[title] = made
    if not renamed:
        return
    for part in ast.walk(origin.tree):
        if isinstance(part, ast.Name) and part.id in renamed:
            part.id = renamed[part.id]
        elif isinstance(part, ast.ClassDef) and part.name in renamed:
            part.name = renamed[part.name]
    origin.__dict__.pop("classes", None)
