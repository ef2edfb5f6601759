"""A map in a part whose weight is that of a layer outside of it, as a part that is handed the weight.

class Head(nn.Module):                                          class Head(nn.Module):
    def __init__(self, dim, n):                                     def __init__(self, dim, n):
        super().__init__()                                              super().__init__()
        self.decoder = nn.Linear(dim, n, bias=False)
                                                        becomes
    def forward(self, x):                                           def forward(self, x, *, decoder_weight):
        return self.decoder(x)                                          return F.linear(x, decoder_weight)

self.head.decoder.weight = self.body.embed.weight
self.head(self.body(x))                                 becomes self.head(self.body(x), decoder_weight=...)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    docstring,
    expression,
    literal,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_TORCH = "torch_"
"""What the code that is added calls PyTorch."""
_KINDS = {"torch.nn.Linear": "map", "torch.nn.Embedding": "table"}


def with_handed_weights(origin: Origin) -> None:
    """Hand such parts the weight, in place."""
    changed = False
    for node in list(origin.classes.values()):
        if framework_of(origin, node) != "torch":
            continue
        start = method_of(node, "__init__")
        for part in list(start.body) if start is not None else ():
            match part:
                case ast.Assign(
                    targets=[ast.Attribute(value=target, attr="weight")],
                    value=ast.Attribute(value=value, attr="weight"),
                ):
                    changed |= _handed(origin, node, part, target, value)
    if changed:
        origin.tree.body[:0] = ast.parse(f"import torch as {_TORCH}").body
        vars(origin).pop("imports", None)


@dataclass(frozen=True)
class _Way:
    """The way from a class to a layer in one of its parts."""

    steps: tuple[str, ...]
    made: tuple[ast.Assign, ...]
    """Where each part on the way, and the layer, is made."""
    kind: str

    @property
    def text(self) -> str:
        return ".".join(("self", *self.steps))


def _handed(
    origin: Origin,
    node: ast.ClassDef,
    part: ast.Assign,
    target: ast.expr,
    value: ast.expr,
) -> bool:
    ways = [_way(origin, node, side) for side in (target, value)]
    one, other = ways
    if one is None or other is None or "" in (one.kind, other.kind):
        return False
    if one.steps[0] == other.steps[0]:
        return _inside(origin, node, part, one, other)
    if any(way.kind == "map" and len(way.steps) == 1 for way in (one, other)):
        # What the class itself maps by is written where it does so.
        return False
    looks_up = one.kind == other.kind == "table"
    if len(one.steps) == 1 if looks_up else one.kind != "map":
        one, other = other, one
    if len(one.steps) == 1:
        return False
    owners = [node]
    for made in one.made[:-1]:
        assert isinstance(made.value, ast.Call)
        owners.append(origin.classes[ast.unparse(made.value.func)])
    title = f"{one.steps[-1]}_weight"
    if not all(
        _calls_alone(o, s) for o, s in zip(owners[1:], one.steps[1:], strict=True)
    ):
        return False
    if any(title in ast.unparse(owner) for owner in owners[1:]):
        return False
    start = method_of(node, "__init__")
    assert start is not None
    start.body.remove(part)
    given = expression(f"{other.text}.weight")
    for step in one.steps[:-1]:
        _Giving(step, title, given).visit(node)
        node = _alone(origin, node, step)
        forward = method_of(node, "forward")
        assert forward is not None
        forward.args.kwonlyargs.append(ast.arg(title))
        forward.args.kw_defaults.append(None)
        given = ast.Name(title, ast.Load())
    if looks_up:
        _looked_up(node, one.steps[-1], title)
    else:
        _mapped(node, one.steps[-1], title)
    located(origin.tree)
    return True


def _inside(
    origin: Origin, node: ast.ClassDef, part: ast.Assign, one: _Way, other: _Way
) -> bool:
    """Write two layers of one part as its own class says that they share a weight."""
    start = method_of(node, "__init__")
    if min(len(one.steps), len(other.steps)) == 1 or start is None:
        return False
    start.body.remove(part)
    owner = _alone(origin, node, one.steps[0])
    start = method_of(owner, "__init__")
    assert start is not None
    sides = [".".join(("self", *way.steps[1:], "weight")) for way in (one, other)]
    line = statement(" = ".join(sides))
    assert isinstance(line, ast.Assign)
    start.body.append(ast.copy_location(line, part))
    located(origin.tree)
    target, value = line.targets[0], line.value
    assert isinstance(target, ast.Attribute)
    assert isinstance(value, ast.Attribute)
    _handed(origin, owner, line, target.value, value.value)
    return True


def _way(origin: Origin, node: ast.ClassDef, place: ast.expr) -> _Way | None:
    steps: list[str] = []
    while isinstance(place, ast.Attribute):
        steps.insert(0, place.attr)
        place = place.value
    if getattr(place, "id", "") != "self" or not steps:
        return None
    made: list[ast.Assign] = []
    inner: ast.ClassDef | None = node
    for step in steps:
        found = list(_makes(inner, step)) if inner is not None else []
        if len(found) != 1 or not isinstance(found[0].value, ast.Call):
            return None
        made += found
        inner = origin.classes.get(ast.unparse(found[0].value.func))
    call = made[-1].value
    assert isinstance(call, ast.Call)
    return _Way(tuple(steps), tuple(made), _KINDS.get(origin.qualified(call.func), ""))


def _makes(node: ast.ClassDef, attribute: str) -> Iterator[ast.Assign]:
    """The lines of a constructor that set an attribute."""
    start = method_of(node, "__init__")
    for part in start.body if start is not None else ():
        if (
            isinstance(part, ast.Assign)
            and self_attribute(part.targets[0]) == attribute
        ):
            yield part


def _calls_alone(node: ast.ClassDef, attribute: str) -> bool:
    """Whether forward alone calls what an attribute is, and nothing else is done with it."""
    forward = method_of(node, "forward")
    if forward is None:
        return False
    calls = [
        p.func
        for p in walk(forward)
        if isinstance(p, ast.Call) and self_attribute(p.func) == attribute
    ]
    reads = [p for p in walk(node) if self_attribute(p) == attribute]
    set_once = 1 + len(list(_biases(node, attribute)))
    return bool(calls) and len(reads) == len(calls) + set_once


def _biases(node: ast.ClassDef, attribute: str) -> Iterator[ast.Assign]:
    """Where a layer is given a bias that the class has: `self.decoder.bias = self.bias`."""
    start = method_of(node, "__init__")
    for part in start.body if start is not None else ():
        match part:
            case ast.Assign(targets=[ast.Attribute(value=layer, attr="bias")]):
                if self_attribute(layer) == attribute and self_attribute(part.value):
                    yield part


def _alone(origin: Origin, node: ast.ClassDef, step: str) -> ast.ClassDef:
    """The class of a part, which no other class has: a copy of it where another one has."""
    [made] = _makes(node, step)
    assert isinstance(made.value, ast.Call)
    owner = origin.classes[ast.unparse(made.value.func)]
    uses = [p for p in walk(origin.tree) if getattr(p, "id", "") == owner.name]
    if len(uses) == 1:
        return owner
    title = f"{owner.name}Of{node.name}"
    while title in origin.classes:
        title += "_"
    copied = cloned(owner)
    copied.name = title
    if not docstring(copied):
        text = f"{owner.name}, which is handed a weight of another layer."
        copied.body.insert(0, ast.Expr(ast.Constant(text)))
    origin.lift(copied)
    made.value.func = ast.Name(title, ast.Load())
    return copied


def _mapped(node: ast.ClassDef, attribute: str, weight: str) -> None:
    """Write a map of a class as one by the weight that it is handed."""
    [made] = _makes(node, attribute)
    start, forward = method_of(node, "__init__"), method_of(node, "forward")
    assert start is not None
    assert forward is not None
    assert isinstance(made.value, ast.Call)
    given = dict(
        zip(("in_features", "out_features", "bias"), made.value.args, strict=False)
    )
    given |= {str(k.arg): k.value for k in made.value.keywords}
    has_bias, bias = given.get("bias"), f"{attribute}_bias"
    text = f"{_TORCH}.nn.functional.linear(x, {weight}"
    at = start.body.index(made)
    shared = list(_biases(node, attribute))
    if shared:
        start.body[at] = ast.Pass()
        start.body[:] = [p for p in start.body if p not in shared]
        text += f", {ast.unparse(shared[-1].value)}"
    elif has_bias is not None and literal(has_bias) is False:
        start.body[at] = ast.Pass()
    else:
        line = f"self.{bias} = {_TORCH}.nn.Parameter({_TORCH}.zeros(n))"
        if has_bias is not None and literal(has_bias) is not True:
            line += " if has else None"
        parts = {"n": given["out_features"], "has": has_bias or ast.Constant(True)}
        start.body[at] = statement(line, **parts)
        text += f", self.{bias}"
    _Mapping(attribute, text + ")").visit(forward)


def _looked_up(node: ast.ClassDef, attribute: str, weight: str) -> None:
    """Write a table of a class as the one that it is handed."""
    [made] = _makes(node, attribute)
    start, forward = method_of(node, "__init__"), method_of(node, "forward")
    assert start is not None
    assert forward is not None
    start.body[start.body.index(made)] = ast.Pass()
    text = f"{_TORCH}.nn.functional.embedding(x, {weight})"
    _Mapping(attribute, text).visit(forward)


class _Giving(NodeTransformer):
    """Gives the calls of a part a weight."""

    def __init__(self, part: str, title: str, given: ast.expr):
        self.part, self.title, self.given = part, title, given

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.func) == self.part:
            node.keywords.append(ast.keyword(self.title, cloned(self.given)))
        return node


class _Mapping(NodeTransformer):
    """Writes the calls of a map as what it computes."""

    def __init__(self, attribute: str, text: str):
        self.attribute, self.text = attribute, text

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.func) != self.attribute:
            return node
        return ast.copy_location(expression(self.text, x=node.args[0]), node)
