"""Inputs that are tuples of arrays, which the code takes apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.source.trees import is_none, targets
from mlax_scaffold.conversion.source.walking import walk


def taken_apart(method: ast.FunctionDef) -> dict[str, Several]:
    """The inputs that a method, or a step that it scans them with, takes apart: `obs, done = x`."""
    given = {a.arg: a for a in (*method.args.args, *method.args.kwonlyargs)}
    steps = {p.name: p for p in method.body if isinstance(p, ast.FunctionDef)}
    bound = {t for part in walk(method) for t in _bound(part)}
    before: set[str] = set()
    found: dict[str, Several] = {}
    for part in [p for s in method.body for p in _where_there(s)]:
        match part:
            case ast.Assign(targets=[ast.Tuple() as target], value=ast.Name(id=local)):
                # One that is bound anew is taken apart where nothing else was done with it.
                first = local not in before or local in targets(target)
                made = _structure(target)
                if first and local in given and made and not _is_array(given[local]):
                    found.setdefault(local, made)
        for call in walk(part):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("scan"):
                for local, made in _scanned(call, steps).items():
                    if local in given and local not in bound:
                        found.setdefault(local, made)
        before |= {t for inner in walk(part) for t in _bound(inner)}
    return found


def _where_there(node: ast.stmt) -> list[ast.stmt]:
    """A statement, or those for an input that is not None."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(), ops=[ast.Is() | ast.IsNot() as op], comparators=[other]
            )
        ) if is_none(other):
            return node.body if isinstance(op, ast.IsNot) else [*node.orelse, node]
    return [node]


def _is_array(given: ast.arg) -> bool:
    text = ast.unparse(given.annotation) if given.annotation is not None else ""
    edges = _EDGES.fullmatch(given.arg) is not None
    return edges or re.match(r"[\w.]*(Array|ndarray|Float)\b", text) is not None


_EDGES = re.compile(r"edge_(index|indices|idx)")


_OF_EDGES = re.compile(r"edge_(attrs?|feat\w*|embeddings?|vec)")
_WEIGHTS = re.compile(r"edge_(weights?|dist\w*|lengths?|types?)")
_OF_GRAPHS = re.compile(r"batch(_(index|idx|ids?|vec))?|graph_(ids?|index|idx)")
"""For each node the graph that it is of."""
_OF_NODES = re.compile(r"x|h|feats?|features|node_\w+|nodes")


def with_edges(symbols: Symbols, env: Mapping[str, Value]) -> dict[str, Value]:
    """Inputs of layers of graphs by their names: two indices for each edge, features of edges and nodes."""
    made = dict(env)
    if not any(map(_EDGES.fullmatch, env)):
        return made
    edges, nodes = symbols.fresh("edges"), symbols.fresh("nodes")
    for given, value in env.items():
        if not isinstance(value, Array) or value.axes:
            continue
        if _EDGES.fullmatch(given):
            made[given] = Array([ast.Constant(2), edges], False, "Int")
        elif _OF_EDGES.fullmatch(given):
            made[given] = Array([edges, symbols.fresh("features")], False, value.kind)
        elif _WEIGHTS.fullmatch(given):
            made[given] = Array([edges], False, value.kind)
        elif _OF_GRAPHS.fullmatch(given):
            made[given] = Array([nodes], False, "Int")
        elif _OF_NODES.fullmatch(given):
            made[given] = Array([nodes, symbols.fresh("features")], False, value.kind)
    return made


def _scanned(
    call: ast.Call, steps: Mapping[str, ast.FunctionDef]
) -> dict[str, Several]:
    """What a scan is given that its step takes apart."""
    step = steps.get(ast.unparse(call.args[0])) if call.args else None
    if step is None:
        return {}
    places = {"init": 0, "xs": 1}
    given = dict(enumerate(call.args[1:]))
    given |= {places[k.arg]: k.value for k in call.keywords if k.arg in places}
    parts = taken_apart(step)
    return {
        given[at].id: parts[a.arg]  # type: ignore[attr-defined]
        for at, a in enumerate(step.args.args)
        if a.arg in parts and isinstance(given.get(at), ast.Name)
    }


def _bound(node: ast.AST) -> list[str]:
    return list(targets(node)) if isinstance(node, ast.Assign | ast.AugAssign) else []


def _structure(target: ast.Tuple) -> Several | None:
    """A tuple of arrays with these places; None where one takes several."""
    items: list[Value] = []
    for part in target.elts:
        made = _structure(part) if isinstance(part, ast.Tuple) else Array([], True)
        if made is None or isinstance(part, ast.Starred):
            return None
        items.append(made)
    return Several(items)
