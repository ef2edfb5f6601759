"""Configurations of optimizers: a function that is given an object of settings is given those that it reads.

def make(cfg: OptimConfig):                    def make(*, lr: float = 3e-4):
    return optax.adamw(cfg.lr)       becomes       return optax.adamw(lr)

A setting that has the name of something else in the function is `config_lr`, as in classes.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.handed.config_names import CONFIGURATIONS
from mlax_scaffold.conversion.handed.config_uses import Configured
from mlax_scaffold.conversion.handed.configured_helpers import (
    without_configured_helpers,
)
from mlax_scaffold.conversion.source.arguments_of import without_arguments
from mlax_scaffold.conversion.source.config_classes import (
    Setting,
    only_settings_class,
    properties_of,
    settings_class,
    settings_of,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def with_optimizer_settings(origin: Origin, thing: str) -> dict[str, Configured]:
    """Change the function in place; what it has in the place of its configuration, by its name."""
    node = origin.functions.get(thing)
    if not isinstance(node, ast.FunctionDef):
        return {}
    without_configured_helpers(origin, set(), node)
    for argument in (*node.args.args, *node.args.kwonlyargs):
        kind = settings_class(origin, argument.annotation)
        if not kind and argument.arg in CONFIGURATIONS:
            kind = only_settings_class(origin, argument.annotation)
        made = _written(origin, node, argument.arg, kind) if kind else None
        if made is not None:
            return {thing: made}
    return {}


def _written(
    origin: Origin, node: ast.FunctionDef, parameter: str, kind: str
) -> Configured | None:
    """The settings that a function reads, each a parameter then; None where it does something else."""
    settings = _as_given(node, parameter, settings_of(origin, kind))
    taken = {n for part in node.body for n in (*names(part), *_bound(part))}
    taken |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
    titles = {s: f"config_{s}" if s in taken else s for s in settings}
    reader = _Settings(parameter, properties_of(origin, kind), titles)
    body = [reader.visit(cloned(part)) for part in node.body]
    read = [setting for setting in settings if setting in reader.read]
    whole = any(is_name(n, parameter) for part in body for n in walk(part))
    if whole or not reader.read <= {*settings} or {titles[s] for s in read} & taken:
        return None
    without_arguments(node.args, {parameter})
    for setting in read:
        known = settings[setting]
        node.args.kwonlyargs.append(ast.arg(titles[setting], cloned(known.annotation)))
        node.args.kw_defaults.append(cloned(known.default))
    node.body = body
    for part in walk(node.args):
        if isinstance(part, ast.arg | ast.expr):
            ast.copy_location(part, node)
    located(node)
    return Configured(
        node, parameter, "", kind, is_field=False, names={s: titles[s] for s in read}
    )


def _as_given(
    node: ast.FunctionDef, parameter: str, settings: dict[str, Setting]
) -> dict[str, Setting]:
    """The settings, with what the default of the parameter gives: `cfg: Config = Config(lr=1e-3)`."""
    given = node.args
    late = given.args[len(given.args) - len(given.defaults) :]
    told = dict(zip((a.arg for a in late), given.defaults, strict=True))
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    told |= {a.arg: d for a, d in named if d is not None}
    default = told.get(parameter)
    if not isinstance(default, ast.Call):
        return settings
    told = dict(zip(settings, default.args, strict=False))
    told |= {k.arg: k.value for k in default.keywords if k.arg}
    return {
        k: Setting(v.annotation, told[k]) if k in told else v
        for k, v in settings.items()
    }


class _Settings(NodeTransformer):
    """Writes names of settings in the place of what is read of a configuration."""

    def __init__(
        self, parameter: str, properties: dict[str, ast.expr], titles: dict[str, str]
    ):
        self.parameter, self.properties, self.titles = parameter, properties, titles
        self.read: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not is_name(node.value, self.parameter) and not is_name(node.value, "self"):
            self.generic_visit(node)
            return node
        if node.attr in self.properties:
            return self.visit(cloned(self.properties[node.attr]))
        self.read.add(node.attr)
        title = self.titles.get(node.attr, node.attr)
        return ast.copy_location(ast.Name(title, ast.Load()), node)


def _bound(node: ast.AST) -> set[str]:
    """The parameters of functions and lambdas in a statement, and what functions are called."""
    found = {n.name for n in walk(node) if isinstance(n, ast.FunctionDef)}
    return found | {n.arg for n in walk(node) if isinstance(n, ast.arg)}
