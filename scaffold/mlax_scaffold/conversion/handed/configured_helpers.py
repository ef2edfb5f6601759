"""Functions and methods that layers hand a configuration to: they are given what they read of it.

def frequencies(args):                         def frequencies(*, head_dim):
    return table(args.head_dim)     becomes        return table(head_dim)

class Attention(nn.Module):                    class Attention(nn.Module):
    def __init__(self, args):                      def __init__(self, args):
        self.cos = frequencies(args)                   self.cos = frequencies(head_dim=args.head_dim)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.conversion.handed.config_names import is_configuration
from mlax_scaffold.conversion.source.arguments_of import without_arguments
from mlax_scaffold.conversion.source.config_classes import settings_class
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    reached,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_STARTS = ("__init__", "__call__", "forward", "setup", "__post_init__")


@dataclass
class _Helper:
    """A function that is handed a configuration."""

    node: ast.FunctionDef
    parameter: str
    owner: ast.ClassDef | None
    """The class whose method it is."""

    @property
    def place(self) -> int:
        """Where a call gives the configuration; -1 where that is by name alone."""
        given = [a.arg for a in self.node.args.args]
        if self.owner is not None and given and given[0] == "self":
            given = given[1:]
        return given.index(self.parameter) if self.parameter in given else -1

    def named_by(self, node: ast.AST) -> bool:
        """Whether a node reads the function, or the method of an object of any class."""
        if self.owner is None:
            return is_name(node, self.node.name)
        return isinstance(node, ast.Attribute) and node.attr == self.node.name

    def handed(self, call: ast.Call) -> ast.expr | None:
        """What a call gives it as the configuration."""
        named = [k.value for k in call.keywords if k.arg == self.parameter]
        if named:
            return named[0]
        return call.args[self.place] if 0 <= self.place < len(call.args) else None


def without_configured_helpers(
    origin: Origin, others: set[str], within: ast.FunctionDef | None = None
) -> None:
    """Write them so, in place.

    Args:
        origin: the file.
        others: what else its configurations are called.
        within: the function that calls them, such as that of an optimizer; None for layers.
    """
    while any(
        _is_written(origin, helper, within)
        for owner, function in _functions(origin)
        for helper in _helpers(origin, owner, function, others)
        if function is not within
    ):
        # One that hands it on to another reads what that one read.
        pass


def _functions(
    origin: Origin,
) -> Iterator[tuple[ast.ClassDef | None, ast.FunctionDef]]:
    """The functions of a file, and the methods of its layers, with the classes of these."""
    for function in origin.functions.values():
        yield None, function
    methods = [
        part
        for node in origin.classes.values()
        for part in node.body
        if isinstance(part, ast.FunctionDef)
    ]
    for node in origin.classes.values():
        for method in node.body if is_layer_class(origin, node) else ():
            if not isinstance(method, ast.FunctionDef) or method.name in _STARTS:
                continue
            if [n for n in methods if n.name == method.name] == [method]:
                yield node, method


def _helpers(
    origin: Origin,
    owner: ast.ClassDef | None,
    function: ast.FunctionDef,
    others: set[str],
) -> Iterator[_Helper]:
    """A function with each of its parameters that is a configuration."""
    for argument in (*function.args.args, *function.args.kwonlyargs):
        if settings_class(origin, argument.annotation) or (
            argument.annotation is None and is_configuration(argument, others)
        ):
            yield _Helper(function, argument.arg, owner)


def _is_written(
    origin: Origin, helper: _Helper, within: ast.FunctionDef | None
) -> bool:
    """Write one so; False where it does more with the configuration than to read of it."""
    read = _read(helper)
    calls = _calls(origin, helper, within)
    if read is None or not calls or helper.node.args.kwarg is not None:
        return False
    arguments = [p.arg for p in walk(helper.node) if isinstance(p, ast.arg)]
    if arguments.count(helper.parameter) > 1:
        return False
    taken = set(arguments) | {
        p.id
        for p in walk(helper.node)
        if isinstance(p, ast.Name) and p.id != helper.parameter
    }
    titles = {s: f"config_{s}" if s in taken else s for s in read}
    for call in calls:
        given = helper.handed(call)
        assert given is not None
        call.args = [a for a in call.args if a is not given]
        call.keywords = [k for k in call.keywords if k.value is not given]
        for setting, title in titles.items():
            value = ast.Attribute(cloned(given), setting, ast.Load())
            call.keywords.append(ast.keyword(title, ast.copy_location(value, call)))
        located(call)
    helper.node.body = [
        _Reads(helper.parameter, titles).visit(part) for part in helper.node.body
    ]
    without_arguments(helper.node.args, {helper.parameter})
    for title in titles.values():
        made = ast.copy_location(ast.arg(title), helper.node)
        helper.node.args.kwonlyargs.append(made)
        helper.node.args.kw_defaults.append(None)
    located(helper.node)
    return True


def _read(helper: _Helper) -> list[str] | None:
    """The settings that a function reads; None where it uses the configuration otherwise."""
    reads = [
        part
        for statement in helper.node.body
        for part in walk(statement)
        if isinstance(part, ast.Attribute) and is_name(part.value, helper.parameter)
    ]
    inside = {id(part.value) for part in reads if isinstance(part.ctx, ast.Load)}
    whole = any(
        is_name(part, helper.parameter) and id(part) not in inside
        for statement in helper.node.body
        for part in walk(statement)
    )
    return None if whole else list(dict.fromkeys(part.attr for part in reads))


def _calls(
    origin: Origin, helper: _Helper, within: ast.FunctionDef | None
) -> list[ast.Call]:
    """The calls of a function; none where it is used otherwise, or by others than layers."""
    layers: list[ast.AST] = [within] if within is not None else []
    layers += [n for n in origin.classes.values() if is_layer_class(origin, n)]
    helpers = [f for _, f in _functions(origin)]
    inside = {id(p) for n in (*layers, *helpers) for p in walk(n)}
    named = [part for part in walk(origin.tree) if helper.named_by(part)]
    found = [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call) and helper.named_by(part.func)
    ]
    followed = all(
        id(call) in inside
        and not any(isinstance(a, ast.Starred) for a in call.args)
        and _is_plain(helper.handed(call))
        for call in found
    )
    read = {n for node in layers for n in names(node)}
    used = helper.owner or helper.node.name in reached(origin.functions, read)
    return found if followed and used and len(named) == len(found) else []


def _is_plain(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and (
        isinstance(node, ast.Name) or self_attribute(node) is not None
    )


class _Reads(NodeTransformer):
    """Reads settings in the place of attributes of a configuration."""

    def __init__(self, parameter: str, titles: dict[str, str]):
        self.parameter, self.titles = parameter, titles

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if is_name(node.value, self.parameter):
            made = ast.Name(self.titles[node.attr], ast.Load())
            return ast.copy_location(made, node)
        self.generic_visit(node)
        return node
