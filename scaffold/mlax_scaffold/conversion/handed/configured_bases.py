"""Classes that hand their configuration to the constructor of a class of the file, written out with it.

class Net(PreTrained):                         class Net(nn.Module):
    def __init__(self, config):       becomes      def __init__(self, config):
        super().__init__(config)                       super().__init__()
                                                       self.config = config
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.handed.config_names import is_configuration
from mlax_scaffold.conversion.handed.inherited_starts import with_bases
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin


def without_configured_bases(origin: Origin, others: set[str]) -> None:
    """Write them so, in place.

    Args:
        origin: the file.
        others: what else its configurations are called.
    """
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        based = [b for b in node.bases if getattr(b, "id", "") in origin.classes]
        if start is None or not based or not is_layer_class(origin, node):
            continue
        given = {a.arg for a in start.args.args if is_configuration(a, others)}
        if any(_hands_on(part, given) for part in start.body):
            made = with_bases(origin, node)
            if not {*map(ast.unparse, based)} & {*map(ast.unparse, made.bases)}:
                node.body, node.bases = made.body, made.bases


def _hands_on(node: ast.stmt, given: set[str]) -> bool:
    """Whether a statement calls the constructor of a base with one of these."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="__init__")) as call) if (
            "super" in ast.unparse(call.func)
        ):
            values = [*call.args, *(k.value for k in call.keywords)]
            return any(isinstance(v, ast.Name) and v.id in given for v in values)
    return False
