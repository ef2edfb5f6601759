"""Configurations of a pair of functions: each is given the settings that it reads, and what it calls, too.

def init_net(key, cfg: Config):                  def init_net(key, *, width=8):
    return {"w": dense(key, cfg)}     becomes        return {"w": dense(key, width=width)}

def net(params, x, cfg: Config):                 def net(params, x, *, leak=0.1):
    return act(x @ params["w"], cfg.leak)            return act(x @ params["w"], leak)
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from mlax_scaffold.conversion.definitions.pairs import functions_of_pair
from mlax_scaffold.conversion.handed.config_names import CONFIGURATIONS
from mlax_scaffold.conversion.handed.config_uses import Configured
from mlax_scaffold.conversion.source.arguments_of import without_arguments
from mlax_scaffold.conversion.source.config_classes import (
    Setting,
    only_settings_class,
    properties_of,
    settings_class,
    settings_of,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


@dataclass
class _Given:
    """A function that is given the configuration."""

    node: ast.FunctionDef
    parameter: str
    place: int
    """Where it stands among the arguments."""
    read: set[str] = field(default_factory=set)
    calls: list[ast.Call] = field(default_factory=list)
    """Calls of others that are given it."""


def with_pair_settings(origin: Origin, thing: str) -> dict[str, Configured]:
    """Change the functions in place; what the pair has in the place of its configuration, by its name."""
    pair = functions_of_pair(origin, thing)
    if pair is None:
        return {}
    told = [t for f in pair if (t := _configuration(origin, f))]
    if len(set(told)) != 1:
        return {}
    [(parameter, kind)] = set(told)
    group = _group(origin, kind)
    if not all(_follow(origin, one, group) for one in group.values()):
        return {}
    known, properties = settings_of(origin, kind), properties_of(origin, kind)
    _settle(group, properties)
    read = {s for one in group.values() for s in one.read}
    if not read <= {*known}:
        return {}
    taken = {n for one in group.values() for n in _bound(one)}
    titles = {s: f"config_{s}" if s in taken else s for s in known}
    for one in group.values():
        writer = _Writer(one, group, titles, properties)
        one.node.body = [writer.visit(s) for s in one.node.body]
    for one in group.values():
        without_arguments(one.node.args, {one.parameter})
        for setting in (s for s in known if s in one.read):
            made = ast.arg(titles[setting], cloned(known[setting].annotation))
            one.node.args.kwonlyargs.append(made)
            one.node.args.kw_defaults.append(cloned(known[setting].default))
        for part in walk(one.node.args):
            if isinstance(part, ast.arg | ast.expr):
                ast.copy_location(part, one.node)
        located(one.node)
    own = {s for f in pair if f.name in group for s in group[f.name].read}
    names = {s: titles[s] for s in known if s in own}
    made = Configured(pair[1], parameter, "", kind, is_field=False, names=names)
    return {thing: made} if names else {}


def _configuration(origin: Origin, function: ast.FunctionDef) -> tuple[str, str] | None:
    """The parameter of a function that is a configuration, and the class of it."""
    for argument in (*function.args.args, *function.args.kwonlyargs):
        kind = settings_class(origin, argument.annotation)
        if not kind and argument.arg in CONFIGURATIONS:
            kind = only_settings_class(origin, argument.annotation)
        if kind and any(map(_is_plain, settings_of(origin, kind).values())):
            return argument.arg, kind
    return None


_PLAIN = ("int", "float", "bool", "str")


def _is_plain(setting: Setting) -> bool:
    """Whether a setting is no array: weights may be in records, too."""
    told = setting.annotation
    return told is not None and ast.unparse(told).strip("'") in _PLAIN


def _group(origin: Origin, kind: str) -> dict[str, _Given]:
    """The functions of a file that are given a configuration of that class."""
    found: dict[str, _Given] = {}
    for title, function in origin.functions.items():
        told = _configuration(origin, function)
        if told is not None and told[1] == kind:
            places = [a.arg for a in function.args.args]
            at = places.index(told[0]) if told[0] in places else -1
            found[title] = _Given(function, told[0], at)
    return found


def _follow(origin: Origin, one: _Given, group: dict[str, _Given]) -> bool:
    """Whether a function only reads settings, and hands the configuration on to others of these."""
    done: set[int] = set()
    for part in walk(ast.Module(one.node.body, [])):
        match part:
            case ast.Attribute(value=value, attr=attr, ctx=ast.Load()) if is_name(
                value, one.parameter
            ):
                one.read.add(attr)
                done.add(id(value))
            case ast.Call(func=ast.Name(id=title)) if title in group:
                given = _handed(part, group[title], one.parameter)
                if given is not None:
                    one.calls.append(part)
                    done.add(id(given))
    return all(
        id(part) in done
        for statement in one.node.body
        for part in walk(statement)
        if is_name(part, one.parameter)
    )


def _handed(call: ast.Call, called: _Given, parameter: str) -> ast.expr | None:
    """The argument of a call that is the configuration."""
    at = called.place
    if 0 <= at < len(call.args) and is_name(call.args[at], parameter):
        return call.args[at]
    named = [k.value for k in call.keywords if k.arg == called.parameter]
    return named[0] if named and is_name(named[0], parameter) else None


def _settle(group: dict[str, _Given], properties: dict[str, ast.expr]) -> None:
    """Let each function read what its properties and those that it calls read."""
    for one in group.values():
        for _ in properties:
            for title in sorted(one.read & properties.keys()):
                one.read.discard(title)
                inner = walk(properties[title])
                one.read |= {a for p in inner if (a := self_attribute(p))}
    for _ in group:
        for one in group.values():
            for call in one.calls:
                one.read |= group[ast.unparse(call.func)].read


def _bound(one: _Given) -> set[str]:
    """The names that a function binds."""
    found = {p.arg for p in walk(one.node) if isinstance(p, ast.arg)}
    stores = (p for p in walk(one.node) if isinstance(p, ast.Name))
    return found | {p.id for p in stores if isinstance(p.ctx, ast.Store)}


class _Writer(NodeTransformer):
    """Writes names of settings in the place of what is read of a configuration."""

    def __init__(
        self,
        one: _Given,
        group: dict[str, _Given],
        titles: dict[str, str],
        properties: dict[str, ast.expr],
    ):
        self.one, self.group, self.titles = one, group, titles
        self.properties = properties

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        own = is_name(node.value, self.one.parameter)
        if not own and not is_name(node.value, "self"):
            self.generic_visit(node)
            return node
        if node.attr in self.properties:
            return self.visit(cloned(self.properties[node.attr]))
        made = ast.Name(self.titles[node.attr], ast.Load())
        return ast.copy_location(made, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if any(node is call for call in self.one.calls):
            called = self.group[ast.unparse(node.func)]
            given = _handed(node, called, self.one.parameter)
            node.args = [a for a in node.args if a is not given]
            node.keywords = [k for k in node.keywords if k.value is not given]
            for setting, title in self.titles.items():
                if setting in called.read:
                    value = ast.copy_location(ast.Name(title, ast.Load()), node)
                    node.keywords.append(ast.keyword(title, value))
        self.generic_visit(node)
        return node
