"""Numbers that methods read of a layer that the class has made, as what it was made with.

class Seq2Seq(nn.Module):
    def __init__(self, vocab):
        self.decoder = Decoder(vocab, 8)     keeps `self.output_dim = vocab`

`self.decoder.output_dim` of a method is `self.vocab`, which the constructor keeps, too. Of a tuple that it
was made with, `self.proj.shape[1]` is the element, also where that is a setting of a configuration.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import given_to, method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_KINDS = ("torch", "nnx", "equinox")


def without_part_sizes(origin: Origin) -> None:
    """Write them so, in place."""
    for holder in origin.classes.values():
        start = method_of(holder, "__init__")
        if start is not None and framework_of(origin, holder) in _KINDS:
            made = _parts(origin, holder, start)
            if made:
                _Reads(origin, holder, start, made).write()
    located(origin.tree)


def _parts(
    origin: Origin, holder: ast.ClassDef, start: ast.FunctionDef
) -> dict[str, ast.Call]:
    """The layers of classes of the file that a constructor makes once, by attribute."""
    stores = [
        self_attribute(p)
        for p in walk(holder)
        if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)
    ]
    found: dict[str, ast.Call] = {}
    for part in start.body:
        match part:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id=title)) as call
            ) if title in origin.classes and title != holder.name:
                attribute = self_attribute(target)
                if attribute and stores.count(attribute) == 1:
                    found[attribute] = call
    return found


class _Reads(NodeTransformer):
    def __init__(
        self,
        origin: Origin,
        holder: ast.ClassDef,
        start: ast.FunctionDef,
        parts: dict[str, ast.Call],
    ):
        self.origin, self.holder, self.start, self.parts = origin, holder, start, parts
        self.given = {a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)}

    def write(self) -> None:
        for method in self.holder.body:
            if isinstance(method, ast.FunctionDef) and method is not self.start:
                self.visit(method)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node.value:
            case ast.Attribute(value=owner, attr=attr):
                call = self.parts.get(self_attribute(owner) or "")
                value = _kept(self.origin, call, attr) if call is not None else None
                at = literal(node.slice)
                if (
                    isinstance(value, ast.Tuple | ast.List)
                    and isinstance(at, int)
                    and -len(value.elts) <= at < len(value.elts)
                    and isinstance(node.ctx, ast.Load)
                ):
                    made = self._element(value.elts[at])
                    return ast.copy_location(made, node) if made is not None else node
        self.generic_visit(node)
        return node

    def _element(self, value: ast.expr) -> ast.expr | None:
        """A number, a parameter or a setting of one, as a method reads it."""
        match value:
            case ast.Name(id=parameter) if parameter in self.given:
                return self._own(parameter)
            case ast.Attribute(value=ast.Name(id=parameter), attr=attr) if (
                parameter in self.given
            ):
                own = self._own(parameter)
                return None if own is None else ast.Attribute(own, attr, ast.Load())
        number = isinstance(literal(value), int | float)
        return cloned(value) if number else None

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        call = self.parts.get(self_attribute(node.value) or "")
        if call is None or not isinstance(node.ctx, ast.Load):
            return node
        value = _kept(self.origin, call, node.attr)
        if isinstance(value, ast.Name) and value.id in self.given:
            own = self._own(value.id)
            return ast.copy_location(own, node) if own is not None else node
        number = value is not None and isinstance(literal(value), int | float)
        return ast.copy_location(cloned(value), node) if number else node  # type: ignore[arg-type]

    def _own(self, parameter: str) -> ast.expr | None:
        """The attribute that holds a parameter of the constructor; None where another one has its name."""
        title = parameter
        for part in self.start.body:
            if isinstance(part, ast.Assign) and is_name(part.value, parameter):
                title = self_attribute(part.targets[0]) or title
        stores = [
            p
            for p in walk(self.holder)
            if self_attribute(p) == title and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
        ]
        rebound = any(
            is_name(p, parameter) and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
            for p in walk(self.start)
        )
        if len(stores) > 1 or rebound:
            return None
        if not stores:
            kept = ast.Attribute(ast.Name("self", ast.Load()), title, ast.Store())
            made = ast.Assign([kept], ast.Name(parameter, ast.Load()))
            self.start.body.append(ast.copy_location(made, self.start.body[-1]))
        return ast.Attribute(ast.Name("self", ast.Load()), title, ast.Load())


def _kept(origin: Origin, call: ast.Call, attribute: str) -> ast.expr | None:
    """What a layer keeps in an attribute as it is given it; None for anything else."""
    node = origin.classes[call.func.id]  # type: ignore[attr-defined]
    start = method_of(node, "__init__")
    bound = given_to(start, call) if start is not None else None
    if start is None or bound is None:
        return None
    stores = [
        p
        for p in walk(node)
        if self_attribute(p) == attribute and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
    ]
    for part in start.body:
        match part:
            case ast.Assign(targets=[target], value=ast.Name(id=title)):
                if self_attribute(target) == attribute and len(stores) == 1:
                    rebound = any(
                        is_name(p, title) and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
                        for p in walk(start)
                    )
                    return None if rebound else bound.get(title)
    return None
