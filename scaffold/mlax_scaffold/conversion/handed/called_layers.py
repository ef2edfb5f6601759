"""Layers of a layer that others call, `self.attention.memory_layer(x)`, called by methods of what has them.

class Attention(nn.Module):                          class Attention(nn.Module):
    def __init__(self, dim):                 becomes     ...
        self.memory_layer = Linear(dim)                  def run_memory_layer(self, x):
    ...                                                      return self.memory_layer(x)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_STARTS = {"torch": "__init__", "nnx": "__init__", "flax": "setup"}


def with_called_layers(origin: Origin) -> None:
    """Write them so, in place."""
    made = {node.name: dict(_made(origin, node)) for node in origin.classes.values()}
    for owner in list(origin.classes.values()):
        for part in walk(owner):
            if not isinstance(part, ast.Call) or part.keywords or len(part.args) != 1:
                continue
            func = part.func
            held = func.value if isinstance(func, ast.Attribute) else None
            kind = made[owner.name].get(self_attribute(held or func) or "")
            other = getattr(getattr(kind, "func", None), "id", "")
            if not isinstance(func, ast.Attribute) or func.attr not in made.get(
                other, {}
            ):
                continue
            func.attr = _method(origin.classes[other], func.attr)
    located(origin.tree)


def _made(origin: Origin, node: ast.ClassDef) -> Iterator[tuple[str, ast.Call]]:
    """The attributes that a constructor sets to what it calls, each once."""
    start = method_of(node, _STARTS.get(framework_of(origin, node), ""))
    if start is None or not is_layer_class(origin, node):
        return
    places = [
        (attribute, part)
        for part in walk(start)
        if isinstance(part, ast.Assign)
        and (attribute := self_attribute(part.targets[0])) is not None
    ]
    for attribute, part in places:
        once = [a for a, _ in places].count(attribute) == 1
        if once and isinstance(part.value, ast.Call):
            yield attribute, part.value


def _method(node: ast.ClassDef, attribute: str) -> str:
    """The name of the method that calls a layer; it is made where there is none."""
    title = f"run_{attribute.strip('_')}"
    if method_of(node, title) is None:
        text = f"def {title}(self, x):\n    return self.{attribute}(x)"
        node.body += ast.parse(text).body
    return title
