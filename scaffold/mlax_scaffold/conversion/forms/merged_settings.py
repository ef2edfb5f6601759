"""Settings that a constructor merges with those of a dictionary of the file.

DEFAULTS = {"width": 64, "depth": 2}

class Net(nn.Module):                                    class Net(nn.Module):
    def __init__(self, config=None):                         def __init__(self, config):
        super().__init__()                     becomes           super().__init__()
        cfg = {**DEFAULTS, **(config or {})}
        self.fc = nn.Linear(4, cfg["width"])                     self.fc = nn.Linear(4, config["width"])

and a class that is given them as `**kwargs` has a parameter for each.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.parsed_settings import entries_of
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_merged_settings(origin: Origin) -> None:
    """Write constructors so, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is not None and is_layer_class(origin, node):
            _write(origin, node, start)
    located(origin.tree)


def _write(origin: Origin, node: ast.ClassDef, start: ast.FunctionDef) -> None:
    for part in list(start.body):
        match part:
            case ast.Assign(targets=[target], value=value):
                begun = _merged(origin, value)
            case _:
                continue
        if begun is None or not (
            isinstance(target, ast.Name) or self_attribute(target)
        ):
            continue
        table, given = begun
        used: list[ast.stmt] = [part]
        if given is None:
            found = _updated(start, part, target)
            if found is None:
                continue
            given, update = found
            used.append(update)
        entries = entries_of(origin.assigned[table].value)
        if not _is_given(start, given):
            continue
        _replace(node, start, target, given, entries, used)


def _merged(origin: Origin, value: ast.expr) -> tuple[str, str | None] | None:
    """The dictionary of the file, and the parameter, that are put together; None for another value."""
    match value:
        case ast.Dict(keys=[None, None], values=[first, second]):
            pass
        case ast.BinOp(left=first, op=ast.BitOr(), right=second):
            pass
        case ast.Call(
            func=ast.Name(id="dict"),
            args=[first],
            keywords=[ast.keyword(arg=None, value=second)],
        ):
            pass
        case ast.Call(func=ast.Name(id="dict"), args=[first], keywords=[]):
            second = None
        case ast.Call(func=ast.Attribute(value=first, attr="copy"), args=[]):
            second = None
        case ast.Call(args=[first], keywords=[]) if origin.qualified(value.func) in (
            "copy.copy",
            "copy.deepcopy",
        ):
            second = None
        case _:
            return None
    table = first.id if isinstance(first, ast.Name) else ""
    if table not in origin.assigned or not entries_of(origin.assigned[table].value):
        return None
    given = _parameter(second) if second is not None else None
    return (table, given) if second is None or given else None


def _parameter(node: ast.expr) -> str | None:
    """The name of what is merged: `config`, `config or {}`, `{} if config is None else config`."""
    match node:
        case ast.Name(id=title):
            return title
        case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=title), other]) if _is_empty(
            other
        ):
            return title
        case ast.IfExp(body=body, orelse=orelse):
            names = [p.id for p in (body, orelse) if isinstance(p, ast.Name)]
            empty = [p for p in (body, orelse) if _is_empty(p)]
            return names[0] if len(names) == len(empty) == 1 else None
    return None


def _is_empty(node: ast.expr) -> bool:
    return ast.unparse(node) in ("{}", "dict()")


def _updated(
    start: ast.FunctionDef, begun: ast.stmt, target: ast.expr
) -> tuple[str, ast.stmt] | None:
    """What a later statement updates the dictionary by: `cfg.update(config or {})`."""
    for part in start.body[start.body.index(begun) + 1 :]:
        inner = part
        match part:
            case ast.If(body=[inner], orelse=[]):
                pass
        match inner:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=owner, attr="update"),
                    args=[given],
                    keywords=[],
                )
            ) if ast.unparse(owner) == ast.unparse(target):
                title = _parameter(given)
                return (title, part) if title else None
    return None


def _is_given(start: ast.FunctionDef, title: str) -> bool:
    """Whether a name is a parameter, of which nothing is known but what the dictionary tells."""
    if start.args.kwarg is not None and start.args.kwarg.arg == title:
        return True
    default = defaults_of(start.args).get(title)
    plain = default is None or is_none(default) or literal(default) == {}
    return title in [a.arg for a in start.args.args[1:]] and plain


def _replace(
    node: ast.ClassDef,
    start: ast.FunctionDef,
    target: ast.expr,
    given: str,
    entries: Mapping[str, ast.expr],
    used: list[ast.stmt],
) -> None:
    start.body = [s for s in start.body if s not in used] or [ast.Pass()]
    if start.args.kwarg is not None and start.args.kwarg.arg == given:
        start.args.kwarg = None
        start.args.kwonlyargs += [ast.arg(key) for key in entries]
        start.args.kw_defaults += [cloned(v) for v in entries.values()]
        reading = _Read(target, None, {*entries})
        kept = [
            ast.copy_location(s, start)
            for key in entries
            if (s := reading.kept(key, node, start))
        ]
    else:
        defaults = defaults_of(start.args)
        places = [a.arg for a in start.args.args]
        if given in defaults:
            # A configuration is asked for its settings, each of which has a default.
            late = len(places) - len(start.args.defaults)
            for title in places[places.index(given) + 1 :]:
                at = places.index(title)
                start.args.kwonlyargs.append(start.args.args[at])
                start.args.kw_defaults.append(start.args.defaults[at - late])
            at = places.index(given)
            del start.args.defaults[at - late :]
            del start.args.args[at + 1 :]
        reading = _Read(target, given, {*entries})
        kept = []
        if self_attribute(target):
            made = ast.Assign([target], ast.Name(given, ast.Load()))
            kept = [ast.copy_location(made, start)]
    at = 1 if start.body and "super()" in ast.unparse(start.body[0]) else 0
    start.body[at:at] = kept
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            reading.inside = method is start
            method.body = [reading.statement(s) for s in method.body]


class _Read(NodeTransformer):
    """Reads settings of what the dictionary was merged with, or as parameters."""

    def __init__(self, target: ast.expr, given: str | None, entries: set[str]):
        self.target, self.given, self.entries = target, given, entries
        self.inside = True
        """Whether it is the constructor that is read."""

    def _is_whole(self, node: ast.AST) -> bool:
        if isinstance(self.target, ast.Name):
            return self.inside and is_name(node, self.target.id)
        return self_attribute(node) == self_attribute(self.target)

    def kept(
        self, key: str, node: ast.ClassDef, start: ast.FunctionDef
    ) -> ast.stmt | None:
        """The attribute that holds a setting which methods read."""
        if isinstance(self.target, ast.Name):
            return None
        read = any(
            self._key(part) == key
            for method in node.body
            if method is not start
            for part in walk(method)
        )
        return ast.parse(f"self.{key} = {key}").body[0] if read else None

    def _key(self, node: ast.AST) -> str | None:
        """The setting that an expression reads."""
        match node:
            case ast.Subscript(value=whole, slice=at) if self._is_whole(whole):
                key = literal(at)
            case ast.Call(
                func=ast.Attribute(value=whole, attr="get"), args=[at, *_]
            ) if self._is_whole(whole):
                key = literal(at)
            case _:
                return None
        return key if isinstance(key, str) and key in self.entries else None

    def statement(self, node: ast.stmt) -> ast.stmt:
        """A statement that reads them so."""
        made = self.visit(node)
        assert isinstance(made, ast.stmt)
        return made

    def visit(self, node: ast.AST) -> ast.AST:
        """See the class."""
        key = self._key(node)
        if key is None:
            if (
                self.given is not None
                and isinstance(self.target, ast.Name)
                and self._is_whole(node)
            ):
                return ast.copy_location(ast.Name(self.given, node.ctx), node)  # type: ignore[attr-defined]
            return super().visit(node)
        if self.given is None:
            text = key if self.inside else f"self.{key}"
            return ast.copy_location(expression(text), node)
        whole = (
            self.target
            if not isinstance(self.target, ast.Name)
            else ast.Name(self.given)
        )
        read = cloned(whole)
        read.ctx = ast.Load()  # type: ignore[attr-defined]
        made = ast.Subscript(read, ast.Constant(key), ast.Load())
        return ast.copy_location(made, node)
