"""Layers that a constructor makes once and uses several times: each is an attribute that is referred to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    self_attribute,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.vocabulary import LISTS, SEQUENTIAL
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_STARTS = ("__init__", "setup")
_HOLDING_NOTHING = ("Dropout", "Identity", "Flatten", "Pool", "Upsample", "Shuffle")
_AGAIN = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.BinOp)


def with_shared_layers(origin: Origin, node: ast.ClassDef) -> None:
    """Change a class in place: a local that stands for one layer at several places is an attribute."""
    taken = {a for part in walk(node) if (a := self_attribute(part))}
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name in _STARTS:
            given = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
            for part in walk(start):
                if isinstance(part, ast.For):
                    for block in _blocks(part):
                        block[:] = _written_out(origin, start, block)
            for local in _shared(origin, start):
                _as_attribute(start, local, taken | given)
            start.body = [s for part in start.body for s in _repeated(origin, part)]
            located(start)


def _shared(origin: Origin, start: ast.FunctionDef) -> list[str]:
    """The locals that are one layer, and that is used more than once."""
    made: dict[str, ast.stmt] = {}
    bound: list[str] = []
    for part in walk(start):
        bound += targets(part) if isinstance(part, ast.stmt) and _simple(part) else []
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                if _holds_weights(origin, value):
                    made[local] = part
    found: list[str] = []
    for local, statement in made.items():
        uses = list(_uses(start, local, statement))
        if bound.count(local) == 1 and (len(uses) > 1 or any(uses)):
            found.append(local)
    return found


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a loop, and of the branches in it."""
    for part in walk(node):
        if isinstance(part, ast.For | ast.If):
            yield part.body
            yield part.orelse


def _written_out(
    origin: Origin, start: ast.FunctionDef, body: list[ast.stmt]
) -> list[ast.stmt]:
    """What a pass of a loop makes and uses once, where it uses it."""
    made = list(body)
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                pass
            case _:
                continue
        reads = [p for p in walk(start) if is_name(p, local)]
        at = made.index(part)
        after = made[at + 1 :]
        uses = [
            i for i, p in enumerate(after) if any(is_name(n, local) for n in walk(p))
        ]
        alone = len(reads) == 2 and len(uses) == 1
        if not alone or not _holds_weights(origin, value):
            continue
        changed = {t for p in after[: uses[0]] for t in targets(p)}
        if changed & names(value):
            continue
        after[uses[0]] = with_names(after[uses[0]], {local: value})
        made = [*made[:at], *after]
    return made


def _simple(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)


def _holds_weights(origin: Origin, value: ast.expr) -> bool:
    """Whether a value is a layer that two places may share to some effect."""
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name) and value.func.id in origin.classes:
        return True
    full = origin.qualified(value.func)
    row: Row | None = LAYERS.get(full)
    if row is None:
        return full in SEQUENTIAL
    return row.kind != "function" and not any(n in full for n in _HOLDING_NOTHING)


def _uses(node: ast.AST, local: str, made: ast.stmt) -> Iterator[bool]:
    """The uses of a local as a layer: for each, whether it is run more often than what made the layer."""

    def inside(part: ast.AST, again: bool) -> Iterator[bool]:
        if part is made:
            return
        if isinstance(part, ast.Attribute) and is_name(part.value, local):
            # Its weights, which are given initializers.
            return
        if is_name(part, local):
            yield again
        around = isinstance(part, _AGAIN) and not any(p is made for p in walk(part))
        for child in ast.iter_child_nodes(part):
            yield from inside(child, again or around)

    yield from inside(node, False)


def _as_attribute(start: ast.FunctionDef, local: str, taken: set[str]) -> None:
    """Give the layer the name that the constructor gives it, or that of the local."""
    named = [
        part
        for part in walk(start)
        if isinstance(part, ast.Assign)
        and len(part.targets) == 1
        and self_attribute(part.targets[0])
        and is_name(part.value, local)
    ]
    wanted = f"shared_{local}" if local in taken else local
    if named and named[0] in start.body:
        wanted = self_attribute(named[0].targets[0]) or wanted
        start.body = [part for part in start.body if part is not named[0]]
    place = ast.Attribute(ast.Name("self", ast.Load()), wanted, ast.Load())
    for part in walk(start):
        if isinstance(part, ast.Assign) and is_name(part.targets[0], local):
            target = cloned(place)
            target.ctx = ast.Store()
            part.targets = [ast.copy_location(target, part)]
    start.body = [with_names(part, {local: place}) for part in start.body]


def _repeated(origin: Origin, node: ast.stmt) -> Iterator[ast.stmt]:
    """`self.layers = nn.ModuleList([self.block] * n)` as a loop that appends it."""
    match node:
        case ast.Assign(targets=[target], value=value) if self_attribute(target):
            pass
        case _:
            yield node
            return
    wrap, listed = None, value
    if isinstance(value, ast.Call) and len(value.args) == 1:
        full = origin.qualified(value.func)
        if full in SEQUENTIAL or full in LISTS:
            wrap, listed = value, value.args[0]
    starred = isinstance(listed, ast.Starred)
    listed = listed.value if isinstance(listed, ast.Starred) else listed
    found = _one(origin, listed)
    if found is None:
        yield node
        return
    element, variable, source = found
    if isinstance(element, ast.Call) and _holds_weights(origin, element):
        # It is made once, before the list.
        place = ast.Attribute(
            ast.Name("self", ast.Load()), f"{self_attribute(target)}_layer", ast.Load()
        )
        store = cloned(place)
        store.ctx = ast.Store()
        made_once = ast.copy_location(ast.Assign([store], element), node)
        yield located(made_once)
        element = place
    local = f"{self_attribute(target)}_parts"
    whole: ast.expr = ast.Name(local, ast.Load())
    if wrap is not None:
        wrap.args = [ast.Starred(whole, ast.Load()) if starred else whole]
        whole = wrap
    append = ast.Attribute(ast.Name(local, ast.Load()), "append", ast.Load())
    body: list[ast.stmt] = [ast.Expr(ast.Call(append, [element], []))]
    for made in (
        ast.Assign([ast.Name(local, ast.Store())], ast.List([], ast.Load())),
        ast.For(variable, source, body, []),
        ast.Assign([target], whole),
    ):
        for part in walk(made):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        yield located(ast.copy_location(made, node))


def _one(origin: Origin, node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """The layer that a list holds several times, and the loop over its places."""
    match node:
        case (
            ast.ListComp(elt=elt, generators=[one])
            | ast.GeneratorExp(elt=elt, generators=[one])
        ) if self_attribute(elt) and not one.ifs:
            return elt, one.target, one.iter
        case ast.BinOp(left=ast.List(elts=[elt]), op=ast.Mult(), right=count) | (
            ast.BinOp(left=count, op=ast.Mult(), right=ast.List(elts=[elt]))
        ):
            known = isinstance(elt, ast.Call) and (
                _holds_weights(origin, elt) or origin.qualified(elt.func) in LAYERS
            )
            if not self_attribute(elt) and not known:
                return None
            source = ast.Call(ast.Name("range", ast.Load()), [count], [])
            return elt, ast.Name("_", ast.Store()), source
    return None
