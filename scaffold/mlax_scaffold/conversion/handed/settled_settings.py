"""Settings that a configuration computes when it is made, in `__post_init__`: properties of it.

`self.inner = 2 * self.dim` is the property `inner`; what a setting becomes is one of another name.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.handed.config_names import (
    configuration_names,
    is_configuration,
)
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.config_classes import (
    only_settings_class,
    settings_of,
)
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_METHOD = "__post_init__"


def with_settled_settings(origin: Origin) -> None:
    """Change such classes of a file, and what reads them, in place."""
    for title, node in origin.classes.items():
        settle = method_of(node, _METHOD)
        if settle is None:
            continue
        values: dict[str, ast.expr] = {}
        _without_words(node, settle)
        if not all(_read(part, values, None) for part in settle.body):
            continue
        node.body.remove(settle)
        settings = settings_of(origin, title)
        titles = {a: f"settled_{a}" if a in settings else a for a in values}
        for attribute, value in values.items():
            text = f"@property\ndef {titles[attribute]}(self): return 0"
            [made] = ast.parse(text).body
            assert isinstance(made, ast.FunctionDef)
            made.body = [ast.Return(value)]
            node.body.append(made)
        held = {*_held(origin, title)}
        for other in origin.classes.values():
            if other is not node:
                _Renamed(titles, held).visit(other)
    located(origin.tree)


def _without_words(node: ast.ClassDef, settle: ast.FunctionDef) -> None:
    """Let numbers that are a word by default, `rank: int | str = "auto"`, be None, in place."""
    words: dict[str, object] = {}
    for part in node.body:
        match part:
            case ast.AnnAssign(
                target=ast.Name(id=title), value=ast.Constant(value=str() as word)
            ):
                if "int" in names(part.annotation):
                    words[title] = word
                    part.value = ast.Constant(None)
                    part.annotation = ast.Name("int", ast.Load())
    for part in walk(settle):
        match part:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                title = self_attribute(left)
                if title in words and literal(right) == words[title]:
                    part.ops, part.comparators = [ast.Is()], [ast.Constant(None)]


def _read(
    node: ast.stmt, values: dict[str, ast.expr], condition: ast.expr | None
) -> bool:
    """Whether a statement only sets attributes, which is noted down."""
    known = Known({}, values)
    match node:
        case ast.Assign(targets=[target], value=value):
            made = known.value(value)
        case ast.AugAssign(target=target, op=op, value=value):
            read = cloned(target)
            read.ctx = ast.Load()  # type: ignore[attr-defined]
            made = known.value(ast.BinOp(read, op, value))
        case ast.If(test=test, body=body, orelse=[]) if condition is None:
            if isinstance(body[0], ast.Raise):
                return True
            held = known.value(test)
            return all(_read(part, values, held) for part in body)
        case ast.Assert() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False
    attribute = self_attribute(target)
    if attribute is None:
        return False
    if condition is not None:
        before = values.get(attribute, expression(f"self.{attribute}"))
        made = ast.IfExp(cloned(condition), made, cloned(before))
    values[attribute] = made
    return True


def _held(origin: Origin, title: str) -> list[str]:
    """What parameters are called that are given such a configuration."""
    others = configuration_names(origin)
    only = only_settings_class(origin, None) == title
    return [
        argument.arg
        for part in walk(origin.tree)
        if isinstance(part, ast.arguments)
        for argument in (*part.args, *part.kwonlyargs)
        if (
            ast.unparse(argument.annotation).strip("'\"") == title
            if argument.annotation is not None
            else only and is_configuration(argument, others)
        )
    ]


class _Renamed(NodeTransformer):
    def __init__(self, titles: dict[str, str], held: set[str]):
        self.titles, self.held = titles, held

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        owner = self_attribute(node.value) or getattr(node.value, "id", "")
        if owner in self.held:
            node.attr = self.titles.get(node.attr, node.attr)
        return node
