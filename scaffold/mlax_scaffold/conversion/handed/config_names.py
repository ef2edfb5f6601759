"""What the parameters of constructors are called that hold settings."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.parsed_settings import parsed_settings
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import walk

CONFIGURATIONS = (
    *("config", "configs", "cfg", "conf", "args", "hparams", "hp", "opt", "opts"),
    *("model_config", "model_args", "settings", "options"),
)
_ENDS = ("_config", "_cfg")


def configuration_names(origin: Origin) -> set[str]:
    """What else a file calls them: of which constructors only read what the file says of its settings."""
    settings = parsed_settings(origin)
    found: set[str] = set()
    for node in origin.classes.values() if settings else ():
        start = method_of(node, "__init__")
        if start is None or not is_layer_class(origin, node):
            continue
        for argument in start.args.args[1:]:
            reads = [
                part.attr
                for part in walk(start)
                if isinstance(part, ast.Attribute) and is_name(part.value, argument.arg)
            ]
            if argument.annotation is None and reads and settings.keys() >= {*reads}:
                found.add(argument.arg)
    return found


def is_configuration(argument: ast.arg, others: set[str]) -> bool:
    """Whether a parameter is called as configurations are, or as those of a file are."""
    title = argument.arg
    usual = title in CONFIGURATIONS or title.endswith(_ENDS)
    return usual or (argument.annotation is None and title in others)
