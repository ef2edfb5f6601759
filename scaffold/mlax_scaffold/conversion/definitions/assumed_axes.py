"""Axes of inputs of which nothing in the code tells how many there are: so many are tried."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import expression

DOCUMENTED: Final = -1
"""Stands for the axes that docstrings tell."""
NUMBERS: Final = -2
"""Stands for inputs without axes."""
AXES: Final = (DOCUMENTED, 2, 3, 4, 1, NUMBERS)
"""How many axes are tried, one after the other."""
_NAMES: Final = {
    NUMBERS: (),
    1: ("batch",),
    2: ("batch", "features"),
    3: ("batch", "positions", "features"),
    4: ("batch", "channels", "height", "width"),
}
_OF_INDICES: Final = {
    **{NUMBERS: (), 0: ("batch",)},
    **{1: ("batch",), 2: ("batch", "positions")},
    **{3: ("batch", "height", "width"), 4: ("batch", "frames", "height", "width")},
}

Assumed = Mapping[tuple[str, str], tuple[str, ...]]
"""The names of axes by definition and input."""
NOTHING: Final[Assumed] = MappingProxyType({})


def unknown_inputs(text: str, axes: int) -> dict[tuple[str, str], tuple[str, ...]]:
    """The inputs of definitions of a spec with axes of any number, with axes to try.

    Indices have one axis fewer where there are other inputs: they say one of the last axis's places.
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for layer in ast.parse(text).body:
        if not isinstance(layer, ast.ClassDef | ast.FunctionDef):
            continue
        for method in _methods(layer):
            kinds = {
                a.arg: ast.unparse(a.annotation or ast.Name("_"))
                for a in (*method.args.args, *method.args.kwonlyargs)
            }
            open_ = {
                k: v.partition("[")[0] for k, v in kinds.items() if "'*shape'" in v
            }
            fewer = int("Float" in open_.values())
            for given, kind in open_.items():
                indices = kind == "Int"
                index_axes = axes - fewer if axes > 0 else axes
                names = _OF_INDICES[index_axes] if indices else _NAMES[axes]
                found[layer.name, given] = names
    return found or _open_beside_others(text, axes)


def _open_beside_others(text: str, axes: int) -> dict[tuple[str, str], tuple[str, ...]]:
    """The inputs whose last axis alone is known, beside others of which all are, by name in all definitions.

    `edges: Float["*batch edge_features"]` beside `nodes: Float["batch nodes features"]` is one of pairs.
    """
    names = _BESIDE.get(axes)
    layers = [n for n in ast.parse(text).body if isinstance(n, ast.ClassDef)]
    if names is None or not layers:
        return {}
    last = [(a.arg, _told(a)) for m in _methods(layers[-1]) for a in m.args.args[1:]]
    if not any(told and "*" not in told for _, told in last):
        return {}
    titles = {given for given, told in last if _OPEN.match(told)}
    return {
        (layer.name, a.arg): names
        for layer in layers
        for method in _methods(layer)
        for a in method.args.args[1:]
        if a.arg in titles and _OPEN.match(_told(a))
    }


_OPEN = re.compile(r"Float\['\*batch\d* [\w.]+'\]$")
_BESIDE = {
    3: ("batch", "positions", "features"),
    4: ("batch", "rows", "columns", "features"),
}


def _told(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation) if argument.annotation else ""


def _methods(node: ast.ClassDef | ast.FunctionDef) -> list[ast.FunctionDef]:
    """What is called with inputs: `forward`, or the function itself."""
    if isinstance(node, ast.FunctionDef):
        told = [ast.unparse(d) for d in node.decorator_list]
        return [node] if "function" in told else []
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    return [m for m in methods if m.name == "forward"]


def with_assumed_axes(
    symbols: Symbols,
    assumed: Assumed,
    title: str,
    env: dict[str, Value],
    fields: Collection[str] = (),
) -> None:
    """Give inputs these axes; those of one name are one, and the hyperparameter of that name."""
    sizes: dict[str, ast.expr] = {n: expression(f"self.{n}") for n in fields}
    for given, value in env.items():
        names = assumed.get((title, given))
        if names is None or not isinstance(value, Array) or value.axes:
            continue
        axes = [
            ast.Constant(int(n))
            if n.isdecimal()
            else sizes.setdefault(n, symbols.fresh(n))
            for n in names
        ]
        env[given] = Array(axes, False, value.kind)
