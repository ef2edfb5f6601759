"""What methods do with a model that is made already, and no layer does when it computes."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute

_OF_ALL = (
    *("parameters", "named_parameters", "modules", "named_modules", "state_dict"),
    *("children", "named_children", "buffers", "named_buffers", "load_state_dict"),
)
"""What PyTorch's classes have of all their weights, for which there is no counterpart in a layer."""
_OF_MODES = ("eval", "train", "zero_grad", "requires_grad_")
"""What sets the mode of a module, or what of it is trained: what calls a layer says so."""
_OUTSIDE = ("numpy.random.", "random.", "torch.load", "torch.save")
"""What is done with a model, and not by it."""


def is_for_users(origin: Origin, node: ast.AST) -> bool:
    """Whether a node, other than the nodes in it, is nothing that a layer computes."""
    full = origin.qualified(node)
    if full.startswith(_OUTSIDE) or full in LAYERS:
        return True
    match node:
        case ast.Attribute(attr="requires_grad", ctx=ast.Store()):
            return True
        case ast.Attribute(value=value, attr=attr) if attr in _OF_ALL:
            return _is_part(value)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _OF_MODES:
            return _is_part(value)
        case ast.Call(func=ast.Attribute(attr="item") as func, args=[]):
            # A number of an array; `self.item(x)` is a layer.
            return self_attribute(func) is None
    return False


def _is_part(node: ast.expr) -> bool:
    """Whether an expression is self, or a part of it."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return is_name(node, "self")
