"""What a constructor reads of the layers that it has made: `self.embed.num_patches`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.rows.rows import MisfitError, Row, bind, missing
from mlax_scaffold.conversion.source.arguments_of import beside_self, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SIZES = (
    *("in_features", "out_features", "in_channels", "out_channels", "embedding_dim"),
    *("num_embeddings", "num_features", "hidden_size", "input_size", "embed_dim"),
    *("normalized_shape", "num_heads", "kernel_size", "stride", "groups"),
)

_INDEX = "padding_idx"
_CHANGES = ("append", "extend", "insert", "pop", "remove", "reverse", "sort", "clear")
"""Methods that change a list."""


def without_part_attributes(
    origin: Origin, node: ast.ClassDef, layers: Mapping[str, Row]
) -> None:
    """Write such sizes as what the layers are made with, in place."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "setup"):
            made = _made(method)
            if made:
                _Reads(origin, layers, made).visit(method)
                located(method)


def with_kept_indices(origin: Origin, node: ast.ClassDef) -> None:
    """Let the object keep what methods read of its embeddings, `self.embed.padding_idx`, in place."""
    start = method_of(node, "__init__")
    if start is None:
        return
    for place, call in _made(start).items():
        row_of = origin.qualified(call.func) == "torch.nn.Embedding"
        given = [k.value for k in call.keywords if k.arg == _INDEX] or call.args[2:3]
        reads = [
            part
            for part in walk(node)
            if isinstance(part, ast.Attribute)
            and ast.unparse(part) == f"{place}.{_INDEX}"
        ]
        at = [i for i, s in enumerate(start.body) if getattr(s, "value", None) is call]
        if not row_of or not given or not reads or not at:
            continue
        kept = f"{place.removeprefix('self.').replace('.', '_')}_{_INDEX}"
        for part in reads:
            part.value, part.attr = ast.Name("self", ast.Load()), kept
        target = ast.Attribute(ast.Name("self", ast.Load()), kept, ast.Store())
        assign = ast.Assign([target], cloned(given[0]))
        start.body.insert(at[0] + 1, ast.copy_location(assign, call))
    located(node)


def _made(method: ast.FunctionDef) -> dict[str, ast.Call]:
    """The calls that the constructor assigns, each once, by what is assigned."""
    found: dict[str, list[ast.expr]] = {}
    for part in walk(method):
        if isinstance(part, ast.Assign) and len(part.targets) == 1:
            found.setdefault(ast.unparse(part.targets[0]), []).append(part.value)
    return {
        place: given[0]
        for place, given in found.items()
        if len(given) == 1 and isinstance(given[0], ast.Call)
    }


class _Reads(NodeTransformer):
    def __init__(
        self, origin: Origin, layers: Mapping[str, Row], made: dict[str, ast.Call]
    ):
        self.origin, self.layers, self.made = origin, layers, made

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        call = self.made.get(ast.unparse(node.value))
        if call is None or not isinstance(node.ctx, ast.Load):
            return node
        value = self._value(call, node.attr)
        return node if value is None else ast.copy_location(value, node)

    def _value(self, call: ast.Call, attribute: str) -> ast.expr | None:
        title = call.func.id if isinstance(call.func, ast.Name) else ""
        own = self.origin.classes.get(title)
        if own is not None:
            return _of_class(own, call, attribute)
        row = self.layers.get(self.origin.qualified(call.func))
        if row is None or attribute not in _SIZES:
            return None
        try:
            value = row.bind(call).get(attribute)
        except MisfitError:
            return None
        if not isinstance(value, ast.expr) or missing(value):
            return None
        return cloned(value)


def _of_class(node: ast.ClassDef, call: ast.Call, attribute: str) -> ast.expr | None:
    """What an attribute of an object is, by the parameters that it is made with."""
    start = next(
        (
            m
            for m in node.body
            if isinstance(m, ast.FunctionDef) and m.name == "__init__"
        ),
        None,
    )
    if start is None:
        return _of_fields(node, call, attribute)
    inputs = beside_self(start.args, open_ended=True)
    try:
        bound = bind(inputs, call)
    except MisfitError:
        return None
    known = {k: v for k, v in bound.items() if isinstance(v, ast.expr)}
    own: dict[str, ast.expr] = {}
    filled = _filled(start)
    for part in without_docstring(start.body):
        if not isinstance(part, ast.Assign) or len(part.targets) != 1:
            continue
        read = {ast.unparse(n) for n in walk(part) if isinstance(n, ast.expr)}
        if read & filled:
            # Which of its values it has then is not told.
            continue
        value = _Own(own).visit(replaced(part.value, known))
        target, place = part.targets[0], self_attribute(part.targets[0])
        if place is not None:
            own[place] = value
        elif isinstance(target, ast.Name):
            known[target.id] = value
    value = own.get(attribute)
    return value if value is not None and _plain(value) else None


def _filled(start: ast.FunctionDef) -> set[str]:
    """The locals and attributes of a constructor that it changes after it has set them, or sets in blocks."""
    found: set[str] = set()
    for part in walk(start):
        match part:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr)):
                found |= {ast.unparse(owner)} if attr in _CHANGES else set()
            case ast.AugAssign(target=target):
                found.add(ast.unparse(_root(target)))
            case ast.Subscript(ctx=ast.Store()):
                found.add(ast.unparse(_root(part)))
    for block in start.body:
        if not isinstance(block, ast.Assign):
            stores = [p for p in walk(block) if isinstance(p, ast.Name | ast.Attribute)]
            found |= {ast.unparse(p) for p in stores if isinstance(p.ctx, ast.Store)}
    return found


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _of_fields(node: ast.ClassDef, call: ast.Call, attribute: str) -> ast.expr | None:
    """Likewise of a module of flax, whose `setup` reckons with the fields that it is made with."""
    declared = [
        (part.target.id, part.value)
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    setup = method_of(node, "setup")
    if setup is None:
        return None
    fields = {title: value for title, value in declared if value is not None}
    fields |= zip((title for title, _ in declared), call.args, strict=False)
    fields |= {str(k.arg): k.value for k in call.keywords}
    known: dict[str, ast.expr] = {}
    own = _Own(fields)
    for part in without_docstring(setup.body):
        if not isinstance(part, ast.Assign) or len(part.targets) != 1:
            continue
        own.missed = False
        value = replaced(own.visit(cloned(part.value)), known)
        target, place = part.targets[0], self_attribute(part.targets[0])
        if own.missed or not _plain(value, free=True):
            continue
        if place == attribute:
            return value
        if isinstance(target, ast.Name):
            known[target.id] = value
        elif place is not None:
            fields[place] = value
    return None


class _Own(NodeTransformer):
    """Attributes of the object as what they are."""

    def __init__(self, own: Mapping[str, ast.expr]):
        self.own = own
        self.missed = False

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        known = self.own.get(self_attribute(node) or "")
        if known is not None:
            return cloned(known)
        self.missed = self.missed or self_attribute(node) is not None
        self.generic_visit(node)
        return node


def _plain(node: ast.expr, *, free: bool = False) -> bool:
    """Whether a value is reckoned of numbers: no layer and no array, and nothing that an object holds."""
    calls = {ast.unparse(n.func) for n in walk(node) if isinstance(n, ast.Call)}
    held = not free and any(self_attribute(n) for n in walk(node))
    return not held and calls <= {"int", "round", "max", "min", "len", "tuple", "sum"}
