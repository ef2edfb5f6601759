"""What is done with masks: those that are added are to stay numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, self_attribute, targets
from mlax_scaffold.conversion.source.walking import walk

Use = Literal["added", "kept", "biased", ""]
"""What is done with a mask: it is added, or it says where to attend to, or anything else.

Layers of attention of PyTorch, for which it is `biased`, are told where not to attend to.
"""

_CALLED = ("forward", "__call__")
_ATTENTION = ".scaled_dot_product_attention"
_MULTIHEAD = "torch.nn.MultiheadAttention"
_BIASED = {
    _MULTIHEAD: ("attn_mask", 5),
    "torch.nn.TransformerEncoderLayer": ("src_mask", 1),
    "torch.nn.TransformerEncoder": ("mask", 1),
}
"""What is added to scores, by name and position, in layers of the library."""


def added_inputs(function: ast.FunctionDef) -> set[str]:
    """The names that are added as they are, but for new axes and parts: `scores + mask[:, None]`."""
    return {found for found in _added(function) if "." not in found}


def _added(function: ast.FunctionDef) -> set[str]:
    """The names and the attributes, `self.mask`, of which that is so."""
    parts = {
        part.targets[0].id: _with_axes(part.value)
        for part in walk(function)
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    sides: list[ast.expr] = []
    for part in walk(function):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub):
            sides += part.left, part.right
        elif isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add | ast.Sub):
            sides.append(part.value)
    added = {found for side in sides if (found := _with_axes(side))}
    return added | {parts[a] for a in added if parts.get(a)}


_AXES = ("expand_dims", "unsqueeze", "to", "type_as", "float", "expand")


def _with_axes(node: ast.expr) -> str:
    """The name or the attribute that an expression gives new axes; "" for any other expression."""
    match node:
        case ast.Name(id=local):
            return local
        case ast.Attribute() if self_attribute(node):
            return ast.unparse(node)
        case ast.Subscript(value=inner):
            return _with_axes(inner)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module)), args=[inner, *_]):
            title = ast.unparse(node.func).rpartition(".")[2]
            own = _with_axes(inner) if module in ("jnp", "torch") else module
            return own if title in _AXES else ""
        case ast.Call(func=ast.Attribute(attr=title, value=inner)):
            return _with_axes(inner) if title in _AXES else ""
    return ""


class MaskUses:
    """Knows what the classes and functions of a file do with a mask that they are given.

    Args:
        origin: the file.
    """

    def __init__(self, origin: Origin):
        self.origin = origin

    def of_argument(
        self, owner: ast.ClassDef | None, call: ast.Call, at: int | str
    ) -> Use:
        """What a call does with the argument of a position or a name, itself or by what it calls."""
        return self._of_argument(owner, call, at, set())

    def attends(self, call: ast.Call) -> bool:
        """Whether a call is the attention of PyTorch, whose masks may be of numbers or of truths."""
        return self.origin.qualified(call.func).endswith(_ATTENTION)

    def is_multihead(self, owner: ast.ClassDef | None, call: ast.Call) -> bool:
        """Whether a call is one of an `nn.MultiheadAttention`."""
        return self._library(owner, call.func) == {_MULTIHEAD}

    def of_attribute(self, owner: ast.ClassDef, attribute: str) -> Use:
        """What a class does with one of its attributes, itself or by what it calls."""
        title = f"self.{attribute}"
        for method in self._methods(owner):
            use = self._of(owner, method, title, set())
            if use:
                return use
        return ""

    def _of_argument(
        self, owner: ast.ClassDef | None, call: ast.Call, at: int | str, seen: set[str]
    ) -> Use:
        if self.attends(call):
            return "kept" if at in ("attn_mask", 3) else ""
        if any(at in _BIASED[kind] for kind in self._library(owner, call.func)):
            return "biased"
        for kind, function in self._called(owner, call.func):
            given = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            given = given[1:] if kind is not None else given
            title = at if isinstance(at, str) else "".join(given[at : at + 1])
            place = f"{getattr(kind, 'name', '')}.{function.name}({title})"
            if title and place not in seen:
                seen.add(place)
                use = self._of(kind, function, title, seen)
                if use:
                    return use
        return ""

    def _of(
        self,
        owner: ast.ClassDef | None,
        function: ast.FunctionDef,
        title: str,
        seen: set[str],
    ) -> Use:
        if title in _added(function):
            return "added"
        for part in walk(function):
            if isinstance(part, ast.Call):
                named = [(k.arg, k.value) for k in part.keywords if k.arg]
                for at, value in (*enumerate(part.args), *named):
                    if _with_axes(value) == title:
                        use = self._of_argument(owner, part, at, seen)
                        if use:
                            return use
        return ""

    def _called(
        self, owner: ast.ClassDef | None, what: ast.expr
    ) -> Iterator[tuple[ast.ClassDef | None, ast.FunctionDef]]:
        """The functions of the file that a call may be one of, with the class of each method."""
        if isinstance(what, ast.Name) and what.id in self.origin.functions:
            yield None, self.origin.functions[what.id]
            return
        if owner is None:
            return
        for method in self._methods(owner):
            if self_attribute(what) == method.name:
                yield owner, method
        for kind in self._kinds(owner, what):
            for method in self._methods(kind):
                if method.name in _CALLED:
                    yield kind, method

    def _library(self, owner: ast.ClassDef | None, what: ast.expr) -> set[str]:
        """The layers of attention of the library that a layer may be."""
        made = [what] if isinstance(what, ast.Call) else []
        if owner is not None:
            made += self._fillings(owner, what)
        calls = (n for node in made for n in walk(node) if isinstance(n, ast.Call))
        return {self.origin.qualified(c.func) for c in calls} & _BIASED.keys()

    def _kinds(self, owner: ast.ClassDef, what: ast.expr) -> list[ast.ClassDef]:
        """The classes of the file that a layer, or an item of a list of layers, may be of."""
        return [
            self.origin.classes[title]
            for node in self._fillings(owner, what)
            for title in sorted(names(node) & self.origin.classes.keys())
        ]

    def _fillings(self, owner: ast.ClassDef, what: ast.expr) -> list[ast.AST]:
        """What sets the attribute that a layer, or an item of a list of layers, is one of."""
        held = {self_attribute(n) for n in walk(what)} - {None}
        if isinstance(what, ast.Name):
            for loop in walk(owner):
                if isinstance(loop, ast.For | ast.comprehension) and what.id in targets(
                    loop.target
                ):
                    held |= {self_attribute(n) for n in walk(loop.iter)}
        return [node for node in walk(owner) if _fills(node, held)]

    def _methods(self, owner: ast.ClassDef) -> list[ast.FunctionDef]:
        """The methods of a class, and of those of the file that it is built on."""
        own = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        for base in owner.bases:
            kind = self.origin.classes.get(getattr(base, "id", ""))
            if kind is not None and kind is not owner:
                own += [
                    f
                    for f in self._methods(kind)
                    if f.name not in {m.name for m in own}
                ]
        return own


def _fills(node: ast.AST, attributes: set[str | None]) -> bool:
    """Whether a statement sets one of the attributes, or appends to it."""
    if isinstance(node, ast.Assign):
        return any(self_attribute(t) in attributes for t in node.targets)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("append", "extend", "add_module")
        and self_attribute(node.func.value) in attributes
    )
