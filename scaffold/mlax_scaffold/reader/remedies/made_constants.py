"""Constants that are arrays of jax: NumPy's, which an import may make, or functions that make them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import deepcopy

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.import_time import Refused
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import Source

_MADE = ("arange", "array", "asarray", "eye", "linspace", "ones", "zeros")
_FLOATING = ("eye", "linspace", "ones", "zeros")


def by_numpy(
    source: Source,
    value: ast.expr,
    imports: Mapping[str, Import],
    check: Callable[[ast.expr, Mapping[str, str]], object],
) -> Fix | None:
    """`jnp.array([1.0, 2.0])` as `np.array([1.0, 2.0])`; None where that is no value either.

    Integers of NumPy are of 64 bits, and stay those of jax.
    """
    calls = [
        node
        for node in ast.walk(value)
        if isinstance(node, ast.Call) and _made_by_jax(node, imports)
    ]
    floats = any(
        isinstance(n, ast.Constant) and isinstance(n.value, float)
        for n in ast.walk(value)
    )
    floats = floats or any(_made_by_jax(c, imports) in _FLOATING for c in calls)
    if not calls or not floats or any(c.keywords for c in calls):
        return None
    meanings = {name: imported.meaning for name, imported in imports.items()}
    try:
        check(_Mended(imports).visit(deepcopy(value)), {**meanings, "np": "numpy"})
    except Refused:
        return None
    edits = [source.edit(c.func, f"np.{_made_by_jax(c, imports)}") for c in calls]
    return Fix(tuple(edits), (Needed("numpy", "", "np"),))


def by_function(
    source: Source, name: str, value: ast.expr, imports: Mapping[str, Import]
) -> Fix | None:
    """`KERNEL = jnp.outer(WINDOW, WINDOW)` as a function without arguments, which is called where it is read.

    None where it is read when the module is imported, or where something else has its name.
    """
    parts = [n for n in ast.walk(value) if isinstance(n, ast.Name | ast.Attribute)]
    statement = _statement(source, name, value)
    computed = any((qualified(p, imports) or "").startswith("jax.") for p in parts)
    if statement is None or not computed:
        return None
    tree = source.tree
    bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    reads: list[Edit] = []
    inside = {
        id(n)
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef)
        for s in f.body
        for n in ast.walk(s)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            if isinstance(node.ctx, ast.Load) and id(node) in inside:
                reads.append(source.edit(node, f"{name}()"))
            elif node is not statement.targets[0]:
                return None
    if name in bound or not reads:
        return None
    above = source.lines[statement.lineno - 2].strip() if statement.lineno > 1 else ""
    lines = "\n\n" if above else ""
    made = f"{lines}def {name}():\n    return {source.text_of(value)}"
    return Fix((source.edit(statement, made), *reads))


def _statement(source: Source, name: str, value: ast.expr) -> ast.Assign | None:
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)]) if found == name:
                return statement if source.same(statement.value, value) else None
    return None


def _made_by_jax(node: ast.Call, imports: Mapping[str, Import]) -> str | None:
    module, _, made = (qualified(node.func, imports) or "").rpartition(".")
    return made if module == "jax.numpy" and made in _MADE else None


class _Mended(ast.NodeTransformer):
    def __init__(self, imports: Mapping[str, Import]):
        self.imports = imports

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if made := _made_by_jax(node, self.imports):
            node.func = ast.Attribute(ast.Name("np", ast.Load()), made, ast.Load())
        return node
