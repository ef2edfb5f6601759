"""The layers of the library that sub-layers are made of: where they are, and their fields."""

from __future__ import annotations

import ast
from functools import cache

from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.reader.specs import module_name

_SECTIONS = ("nn", "block")


@cache
def layer_place(layer: str) -> str:
    """The section and module of a layer, such as "nn.linear"; "" where there is none."""
    for section in _SECTIONS:
        if (LIBRARY_SPECS / section / f"{module_name(layer)}.py").is_file():
            return f"{section}.{module_name(layer)}"
    return ""


@cache
def layer_fields(layer: str) -> tuple[tuple[str, ast.expr | None], ...]:
    """The fields of a layer of the library, with their defaults."""
    section, _, module = layer_place(layer).partition(".")
    path = LIBRARY_SPECS / section / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == layer:
            return tuple(
                (part.target.id, part.value)
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            )
    return ()


@cache
def function_fields(word: str) -> tuple[tuple[str, ast.expr | None], ...]:
    """The hyperparameters of a function of the library, with their defaults."""
    path = LIBRARY_SPECS / "functional" / f"{word}.py"
    if not path.is_file():
        return ()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == word:
            given = [a.arg for a in node.args.kwonlyargs]
            return tuple(zip(given, node.args.kw_defaults, strict=True))
    return ()


def tidied(call: ast.Call) -> ast.Call:
    """A declaration without the arguments that are defaults."""
    assert isinstance(call.func, ast.Name)
    kind, _, name = call.func.id.partition(":")
    defaults = dict(layer_fields(name) if kind == "@layer" else function_fields(name))
    kept = []
    for keyword in call.keywords:
        default = defaults.get(str(keyword.arg))
        if default is None or ast.unparse(default) != ast.unparse(keyword.value):
            kept.append(keyword)
    return ast.Call(call.func, call.args, kept)
