"""What the parameters of constructors are called that hold settings."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.handed.config_uses import Configured
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.parsed_settings import parsed_settings
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import walk

CONFIGURATIONS = (
    *("config", "configs", "cfg", "conf", "args", "hparams", "hp", "opt", "opts"),
    *("model_config", "model_args", "settings", "options"),
)
_ENDS = ("_config", "_cfg")
_OF_ANY = ("Any", "ConfigDict")
"""The types of fields that may be an object of settings."""
_OF_ARRAYS = ("shape", "ndim", "dtype", "T", "at", "value")


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


def holds_settings(node: ast.ClassDef, field: ast.AnnAssign) -> bool:
    """Whether a field of any type, `patches: Any`, is an object of which methods only read settings."""
    title = getattr(field.target, "id", "")
    told = ast.unparse(field.annotation).rpartition(".")[2] in _OF_ANY
    if not told or field.value is not None:
        return False
    whole = [p for p in walk(node) if self_attribute(p) == title]
    called = {id(p.func) for p in walk(node) if isinstance(p, ast.Call)}
    read = [p for p in walk(node) if isinstance(p, ast.Attribute) and p.value in whole]
    handed = [
        value
        for call in walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        for value in (*call.args, *(k.value for k in call.keywords))
        if value in whole
    ]
    plain = all(id(p) not in called and p.attr not in _OF_ARRAYS for p in read)
    usual = title in CONFIGURATIONS or title.endswith(_ENDS)
    return bool(whole) and plain and len(read) + len(handed) * usual == len(whole)


def prefix_of(made: Configured) -> str:
    """What settings are called by that are of something else than a configuration: `patches_size`."""
    usual = made.kind or made.parameter in CONFIGURATIONS
    named = not made.is_field or usual or made.parameter.endswith(_ENDS)
    return "" if named else f"{made.parameter}_"


def with_names_apart(origin: Origin) -> None:
    """Bind names of configurations one by one, `c, g = self.config, self.global_config`, in place."""
    for node in origin.classes.values():
        for part in walk(node) if is_layer_class(origin, node) else ():
            for field in ("body", "orelse"):
                body = getattr(part, field, None)
                if isinstance(body, list):
                    setattr(part, field, [s for one in body for s in _apart(one)])


def _apart(node: ast.stmt) -> list[ast.stmt]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=[*places])], value=ast.Tuple(elts=[*values])
        ) if len(places) == len(values):
            held = [v.attr if isinstance(v, ast.Attribute) else "" for v in values]
            plain = all(isinstance(p, ast.Name) for p in places)
            if plain and all(h in CONFIGURATIONS or h.endswith(_ENDS) for h in held):
                return [
                    ast.copy_location(ast.Assign([p], v), node)
                    for p, v in zip(places, values, strict=True)
                ]
    return [node]
