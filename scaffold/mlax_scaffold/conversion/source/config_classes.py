"""Classes of settings: dataclasses, and classes whose constructors keep what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    names,
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned


@dataclass
class Setting:
    """One setting of a configuration."""

    annotation: ast.expr | None = None
    default: ast.expr | None = None


def settings_class(origin: Origin, annotation: ast.expr | None) -> str:
    """The class of settings that a type names; "" for none."""
    if annotation is None:
        return ""
    text = ast.unparse(annotation).strip("'\"")
    node = origin.classes.get(text)
    if node is None or is_layer_class(origin, node):
        return ""
    fields = any(isinstance(part, ast.AnnAssign) for part in node.body)
    return text if fields or _start(node) else ""


def only_settings_class(origin: Origin, annotation: ast.expr | None) -> str:
    """The class of settings of a file that has one, where no type names another; "" otherwise."""
    found = [title for title in origin.classes if is_titled_settings(title)]
    if annotation is not None or len(found) != 1:
        return ""
    return settings_class(origin, ast.Name(found[0], ast.Load()))


def is_titled_settings(title: str) -> bool:
    """Whether a class is called as configurations are."""
    return title.endswith(("Config", "Configuration", "Args", "Settings"))


def settings_of(origin: Origin, kind: str) -> dict[str, Setting]:
    """The settings of a class, in order."""
    node = origin.classes.get(kind)
    found: dict[str, Setting] = {}
    for part in node.body if node is not None else ():
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            default = part.value
            if isinstance(default, ast.Call) and _declares(default):
                given = {k.arg: k.value for k in default.keywords}
                made = given.get("default_factory")
                default = given.get("default")
                if isinstance(made, ast.Lambda):
                    default = made.body
            found[part.target.id] = Setting(part.annotation, default)
    start = _start(node)
    if start is not None:
        kept = {v.id for k, v in _kept(start) if isinstance(v, ast.Name) and v.id == k}
        given = start.args.args[1:]
        late = len(given) - len(start.args.defaults)
        for at, argument in enumerate(given):
            default = start.args.defaults[at - late] if at >= late else None
            if argument.arg in kept:
                found[argument.arg] = Setting(argument.annotation, default)
        for argument, value in zip(
            start.args.kwonlyargs, start.args.kw_defaults, strict=True
        ):
            if argument.arg in kept:
                found[argument.arg] = Setting(argument.annotation, value)
    return found


def properties_of(origin: Origin, kind: str) -> dict[str, ast.expr]:
    """What is computed of the settings, of `self`, where that is one expression."""
    node = origin.classes.get(kind)
    found: dict[str, ast.expr] = {}
    start = _start(node)
    if start is not None:
        known = settings_of(origin, kind)
        parts = {k: expression(f"self.{k}") for k in known}
        for attribute, value in _kept(start):
            if attribute not in known and names(value) <= {*known, "int", "float"}:
                found[attribute] = replaced(cloned(value), parts)
    for part in node.body if node is not None else ():
        if not isinstance(part, ast.FunctionDef):
            continue
        body = without_docstring(part.body)
        if [ast.unparse(d) for d in part.decorator_list] != ["property"]:
            continue
        match body:
            case [ast.Return(value=ast.expr() as value)]:
                found[part.name] = value
    return found


def _declares(call: ast.Call) -> bool:
    """Whether a call is that of `dataclasses.field`, or one like it."""
    return ast.unparse(call.func).rpartition(".")[2].lower() == "field"


def _start(node: ast.ClassDef | None) -> ast.FunctionDef | None:
    """The constructor of a class that only keeps what it is given; None for another."""
    for part in node.body if node is not None else ():
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            plain = all(
                isinstance(s, ast.Assign) and self_attribute(s.targets[0])
                for s in without_docstring(part.body)
                if not (ast.unparse(s).startswith("super()") or _only_checks(s))
            )
            return part if plain and len(part.args.args) > 1 else None
    return None


def _only_checks(node: ast.stmt) -> bool:
    """Whether a statement does nothing but refuse what a constructor is given."""
    if isinstance(node, ast.If):
        return not node.orelse and all(isinstance(s, ast.Raise) for s in node.body)
    return isinstance(node, ast.Assert)


def _kept(start: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    for part in start.body:
        if isinstance(part, ast.Assign):
            attribute = self_attribute(part.targets[0])
            if attribute:
                yield attribute, part.value
