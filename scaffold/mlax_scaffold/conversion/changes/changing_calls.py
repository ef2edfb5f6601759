"""Which calls of PyTorch change a tensor that they are given: `nn.ReLU(inplace=True)`, `x.add_(y)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mlax_scaffold.conversion.rows.tables import METHODS
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_POSITIONS = {
    **dict.fromkeys(("ReLU", "ReLU6", "SiLU", "Mish", "SELU", "Hardswish"), 0),
    **dict.fromkeys(("Hardsigmoid",), 0),
    **dict.fromkeys(("LeakyReLU", "ELU", "CELU"), 1),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), 1),
    **dict.fromkeys(("AlphaDropout", "FeatureAlphaDropout"), 1),
    **dict.fromkeys(("Hardtanh", "Threshold", "RReLU"), 2),
}
"""Where modules take `inplace`; functions take it one later, after the tensor."""
_FUNCTIONS = {
    **{n.lower(): p + 1 for n, p in _POSITIONS.items() if n != "LeakyReLU"},
    "leaky_relu": 2,
    "dropout": 3,
}
_SAME = ("Identity", "Dropout", "Dropout2d", "Dropout3d", "Flatten", "Unflatten")
"""Modules that hand on what they are given, or a view of it."""
_LISTS = ("torch.nn.Sequential", "torch.nn.ModuleList")
AGAIN = {"relu": "{}.relu()", "relu6": "{}.clamp(0, 6)"}
"""What computes the same again on its result, as a method of a tensor."""


_ONCE = {
    "LeakyReLU": ("leaky_relu", "negative_slope", "0.01"),
    "ELU": ("elu", "alpha", "1.0"),
    "SiLU": ("silu", "", ""),
    "Mish": ("mish", "", ""),
    "SELU": ("selu", "", ""),
    "Hardswish": ("hardswish", "", ""),
}
"""What computes something else on its result: the function, and its number."""


def again_after(kind: str) -> str:
    """What a tensor is after a call that changed it, as a text with a place for it; "" for others."""
    return kind if kind.startswith("torch.") else ""


@dataclass(frozen=True)
class Change:
    """What a call does to the tensor that it is given."""

    result: bool
    """Whether the changed tensor is what the call returns."""
    kind: str = "other"
    """What the tensor becomes, one of AGAIN, or a text of `again_after`; "other" for what is not told."""
    sure: bool = True
    """Whether it does so in any case: an argument may say that it does not."""


@dataclass
class Changing:
    """The calls of one class, or of a function, that change tensors."""

    origin: Origin
    node: ast.ClassDef | None = None
    others: dict[str, dict[int, str]] = field(default_factory=dict)
    """What classes, methods and functions do to their arguments, by name and place."""
    attributes: dict[str, list[Change | None]] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    """Attributes that are buffers and parameters."""

    def __post_init__(self):
        methods = self.node.body if self.node is not None else []
        start = next((m for m in methods if getattr(m, "name", "") == "__init__"), None)
        if not isinstance(start, ast.FunctionDef):
            return
        self.lists: dict[str, list[ast.expr]] = {}
        for part in walk(start):
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    self.lists.setdefault(local, []).append(value)
        for part in walk(start):
            match part:
                case ast.Assign(targets=[ast.Attribute() as target], value=value):
                    place = self_attribute(target)
                    full = self.origin.qualified(getattr(value, "func", value))
                    if place is not None and full == "torch.nn.Parameter":
                        self.stored.add(place)
                    if place is not None:
                        found = self._made(value)
                        self.attributes.setdefault(place, []).append(found)
                case ast.Call(
                    func=ast.Attribute(attr="register_buffer"),
                    args=[ast.Constant(value=str(place)), *_],
                ):
                    self.stored.add(place)
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="append"), args=[given]
                ):
                    place = self_attribute(owner)
                    if place in self.attributes:
                        self.attributes[place].append(self._made(given))

    def of_attribute(self, attribute: str) -> Change | None:
        """What a call of a module does, under its name."""
        found = self.attributes.get(attribute, [])
        changing = [f for f in found if f is not None]
        if not changing:
            return None
        same = all(f == changing[0] for f in found)
        return changing[0] if same else Change(False)

    def _inplace(self, call: ast.Call, position: int | None) -> bool:
        given = next((k.value for k in call.keywords if k.arg == "inplace"), None)
        if given is None and position is not None and len(call.args) > position:
            given = call.args[position]
        if given is None:
            return False
        return literal(given) is not False

    def _made(self, node: ast.expr) -> Change | None:
        """What the module does that an expression makes."""
        if isinstance(node, ast.IfExp):
            sides = [self._made(node.body), self._made(node.orelse)]
            changing = [s for s in sides if s is not None]
            return (
                None if not changing else changing[0] if all(sides) else Change(False)
            )
        if isinstance(node, ast.ListComp):
            return self._made(node.elt)
        if not isinstance(node, ast.Call):
            return None
        full = self.origin.qualified(node.func)
        last = full.rpartition(".")[2]
        if full == _LISTS[0]:
            return self._first(node.args)
        if full == _LISTS[1]:
            given = node.args[0] if node.args else None
            if isinstance(given, ast.List | ast.Tuple):
                found = [self._made(e) for e in given.elts]
                changing = [f for f in found if f is not None]
                return changing[0] if changing else None
            return self._made(given) if given is not None else None
        if isinstance(node.func, ast.Name) and node.func.id in (
            *self.others,
            *self.origin.classes,
        ):
            # What the layers of a class of the file do with `inplace` is read there.
            kind = self.others.get(node.func.id, {}).get(0)
            return Change(False, kind) if kind else None
        position = _POSITIONS.get(last) if full.startswith("torch.nn.") else None
        if self._inplace(node, position):
            kind = last.lower() if last.lower() in AGAIN else self._once(node, last)
            return Change(True, kind, not _depends(node, position))
        return None

    def _once(self, call: ast.Call, last: str) -> str:
        """What a module makes of a tensor that it changes, by a function."""
        function, title, number = _ONCE.get(last, ("", "", ""))
        if not function or self.origin.imports.get("torch") != "torch":
            return "other"
        given = [k.value for k in call.keywords if k.arg == title]
        value = (given or call.args[:1])[:1] if title else []
        if value and isinstance(literal(value[0]), ast.AST):
            return "other"
        number = ast.unparse(value[0]) if value else number
        return f"torch.nn.functional.{function}({{}}{', ' + number if number else ''})"

    def _first(self, given: Iterable[ast.expr]) -> Change | None:
        """What a sequence does, which what it begins with does."""
        for element in given:
            if isinstance(element, ast.Starred):
                return self._spread(element.value)
            if isinstance(element, ast.Call):
                full = self.origin.qualified(element.func)
                same = full.startswith("torch.nn.") and full.endswith(_SAME)
                if same and not self._inplace(element, 1):
                    continue
            made = self._made(element)
            return None if made is None else replace(made, result=False)
        return None

    def _spread(self, value: ast.expr) -> Change | None:
        if isinstance(value, ast.Name):
            found = [self._spread(v) for v in self.lists.get(value.id, [])]
            changing = [f for f in found if f is not None]
            if not changing:
                return None
            return (
                changing[0] if all(f == changing[0] for f in found) else Change(False)
            )
        if isinstance(value, ast.BinOp):
            return self._spread(value.left)
        if isinstance(value, ast.List | ast.Tuple):
            return self._first(value.elts)
        if isinstance(value, ast.ListComp):
            return self._first([value.elt])
        return None

    def of_call(
        self, call: ast.Call, modules: dict[str, str]
    ) -> tuple[ast.expr, Change] | None:
        """The tensor that a call changes, and how; `modules` are locals that are modules of self."""
        func, full = call.func, self.origin.qualified(call.func)
        if isinstance(func, ast.Subscript):
            func = func.value
        given = call.args[0] if call.args else None
        attribute = self_attribute(func)
        if attribute is None and isinstance(func, ast.Name):
            attribute = modules.get(func.id)
        if attribute is not None and given is not None:
            found = self.of_attribute(attribute)
            if found is not None and attribute not in self.others:
                return given, found
        called = attribute or getattr(func, "id", "")
        for place, kind in self.others.get(called, {}).items():
            if place < len(call.args):
                return call.args[place], Change(False, kind)
        if full.startswith("torch."):
            last = full.rpartition(".")[2]
            plain = last.removesuffix("_")
            named = last != plain or self._inplace(call, _FUNCTIONS.get(last))
            if named and given is not None and "init." not in full:
                return given, Change(True, plain if plain in AGAIN else "other")
            return None
        if not isinstance(func, ast.Attribute) or attribute is not None or full:
            return None
        if is_changing(func.attr) and not _begins(func):
            kind = func.attr[:-1]
            return func.value, Change(True, kind if kind in AGAIN else "other")
        return None


def _depends(call: ast.Call, position: int | None) -> bool:
    """Whether an argument of the constructor says whether a module changes what it is given."""
    given = [k.value for k in call.keywords if k.arg == "inplace"]
    given += call.args[position : position + 1] if position is not None else []
    return any(isinstance(g, ast.Name) for g in given)


def is_changing(method: str) -> bool:
    """Whether a method of tensors changes them, and has another that does not."""
    return method.endswith("_") and not method.startswith("_") and (
        method[:-1] in METHODS or method in OTHERWISE or method in _DRAWN
    )  # fmt: skip


OTHERWISE = {
    "zero_": "{}.masked_fill(True, 0)",
    "fill_": "{}.masked_fill(True, {})",
    "copy_": "{1}.expand_as({0})",
}
"""What methods make that have no other of their name."""


_DRAWN = {
    "uniform_": (
        {"from": "0.0", "to": "1.0"},
        "torch.rand_like({0}) * ({to} - {from}) + {from}",
    ),
    "normal_": (
        {"mean": "0.0", "std": "1.0"},
        "torch.randn_like({0}) * {std} + {mean}",
    ),
    "bernoulli_": ({"p": "0.5"}, "torch.bernoulli(torch.full_like({0}, {p}))"),
}
"""What methods make that fill a tensor with random numbers: their arguments, and a text."""


def _begins(func: ast.Attribute) -> bool:
    """Whether a weight of a layer is filled: it begins so."""
    return func.attr in _DRAWN and isinstance(func.value, ast.Attribute)


def _drawn(node: ast.Call, x: ast.expr, title: str, torch: str) -> ast.expr:
    """New random numbers of the shape and the dtype of an array."""
    names, text = _DRAWN[title]
    given = dict(names)
    given |= dict(zip(names, map(ast.unparse, node.args), strict=False))
    given |= {str(k.arg): ast.unparse(k.value) for k in node.keywords}
    text = text.replace("torch.", f"{torch}.")
    told = {n: f"({v})" for n, v in given.items()}
    return expression(text.format(f"({ast.unparse(x)})", **told))


class Plain(NodeTransformer):
    """Calls that change nothing: `relu` for `relu_`, and no `inplace`."""

    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func, full = node.func, self.origin.qualified(node.func)
        if not isinstance(func, ast.Attribute):
            return node
        if full.startswith("torch."):
            if full.startswith("torch.nn.init."):
                return node
            if func.attr.endswith("_") and not func.attr.startswith("_"):
                func.attr = func.attr[:-1]
            node.keywords = [k for k in node.keywords if k.arg != "inplace"]
            node.args = node.args[: _FUNCTIONS.get(func.attr, len(node.args))]
            return node
        if not is_changing(func.attr) or self_attribute(func) or _begins(func):
            return node
        torch = next((n for n, f in self.origin.imports.items() if f == "torch"), "")
        if func.attr in _DRAWN and func.attr[:-1] not in METHODS:
            made = _drawn(node, func.value, func.attr, torch) if torch else node
            return ast.copy_location(made, node)
        if func.attr in OTHERWISE:
            given = [f"({ast.unparse(func.value)})", *map(ast.unparse, node.args)]
            text = OTHERWISE[func.attr].format(*given)
            return ast.copy_location(expression(text), node)
        func.attr = func.attr[:-1]
        return node


def rebinds(node: ast.stmt, call: ast.Call, given: ast.expr) -> bool:
    """Whether a statement gives a changed tensor the name that it has: `x = self.relu(x)`."""
    if not isinstance(node, ast.Assign) or node.value is not call:
        return False
    return isinstance(given, ast.Name) and all(
        is_name(t, given.id) for t in node.targets
    )


def set_part(node: ast.stmt) -> str:
    """The name of a tensor of which a part is set: `x[:, 0] = 1`."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=local))]):
            return local
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=local))):
            return local
    return ""
