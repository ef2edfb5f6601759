"""Lists whose elements are sequences of layers: such a sequence becomes a class of its own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    replaced,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import LISTS
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LINEN = "flax.linen.Sequential"
_SEQUENCES = {
    "torch.nn.Sequential": "forward",
    "flax.nnx.Sequential": "__call__",
    "haiku.Sequential": "__call__",
    _LINEN: "__call__",
}
"""How each framework names a sequence of layers, and what calls a class of it."""


def with_stages(
    origin: Origin, node: ast.ClassDef
) -> tuple[ast.ClassDef, Mapping[str, ast.ClassDef]]:
    """The class, in which each of these sequences is made by a class, and those classes.

    `nn.ModuleList([nn.Sequential(nn.Linear(dim, dim), nn.GELU()) for _ in range(depth)])` is a
    list of one kind of layer that way, and its elements are called as others are.
    """
    visitor = _Stages(origin, node.name)
    made = visitor.visit(cloned(node))
    if not visitor.found:
        return node, {}
    return located(made), visitor.found


class _Stages(NodeTransformer):
    def __init__(self, origin: Origin, owner: str):
        self.origin, self.owner = origin, owner
        self.found: dict[str, ast.ClassDef] = {}
        self.place = ""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        place = self_attribute(target) or getattr(target, "id", "")
        self.place, before = place or self.place, self.place
        if isinstance(node.value, ast.ListComp) and self.place:
            node.value.elt = self._stage(node.value.elt, self.place)
        self.generic_visit(node)
        self.place = before
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "append":
            place = self_attribute(func.value) or getattr(func.value, "id", "")
            if place and len(node.args) == 1:
                node.args = [self._stage(node.args[0], place)]
                return node
        if self.origin.qualified(func) in LISTS and len(node.args) == 1:
            inner = node.args[0]
            if isinstance(inner, ast.ListComp | ast.GeneratorExp) and self.place:
                inner.elt = self._stage(inner.elt, self.place)
                return node
        return self.generic_visit(node)

    def _stage(self, node: ast.expr, place: str) -> ast.expr:
        """The call of the class that stands for a sequence; anything else as it is."""
        if (
            not isinstance(node, ast.Call)
            or (full := self.origin.qualified(node.func)) not in _SEQUENCES
            or not isinstance(node.func, ast.Attribute)
            or node.keywords
            or any(isinstance(a, ast.Starred) and not _is_made(a) for a in node.args)
        ):
            return node
        title = self._free(place)
        given: dict[str, ast.expr] = {}
        parameters = Parameters(self.origin, given)
        layers = [parameters.visit(cloned(a)) for a in node.args]
        sequence = ast.Call(cloned(node.func), layers, [])
        if full == _LINEN:
            fields = {g: expression(f"self.{g}") for g in given}
            sequence = replaced(sequence, fields)
        self.found[title] = _class(title, place, node, full, list(given), sequence)
        made = ast.Call(ast.Name(title, ast.Load()), list(given.values()), [])
        return ast.copy_location(made, node)

    def _free(self, place: str) -> str:
        words = place.removesuffix("s").strip("_").split("_")
        wanted = self.owner + "".join(w[:1].upper() + w[1:] for w in words)
        taken = {*self.found, *self.origin.classes, *self.origin.functions}
        made, number = wanted, 1
        while made in taken:
            number += 1
            made = f"{wanted}{number}"
        return made


def _is_made(starred: ast.Starred) -> bool:
    """Whether it is a list that is made there: `*[Block(dim) for _ in range(depth)]`."""
    return isinstance(starred.value, ast.ListComp | ast.GeneratorExp)


class Parameters(NodeTransformer):
    """What a sequence takes of where it is made: locals, parameters and attributes."""

    def __init__(self, origin: Origin, given: dict[str, ast.expr]):
        self.given = given
        self.known = {
            *(*origin.imports, *origin.classes, *origin.functions, *origin.assigned),
            *dir(builtins),
        }

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attribute = self_attribute(node)
        if attribute:
            self.given.setdefault(attribute, cloned(node))
            return ast.copy_location(ast.Name(attribute, ast.Load()), node)
        self.generic_visit(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return self._inside({a.arg for a in node.args.args}, node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._inside(
            {t for g in node.generators for t in targets(g.target)}, node
        )

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._inside(
            {t for g in node.generators for t in targets(g.target)}, node
        )

    def _inside(self, bound: set[str], node: ast.expr) -> ast.expr:
        """What stands in a scope that binds names for itself."""
        saved, self.known = self.known, self.known | bound
        self.generic_visit(node)
        self.known = saved
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.known and not node.id.startswith("@"):
            self.given.setdefault(node.id, cloned(node))
        return node


def _class(
    title: str,
    place: str,
    node: ast.Call,
    full: str,
    given: list[str],
    sequence: ast.expr,
) -> ast.ClassDef:
    assert isinstance(node.func, ast.Attribute)
    base = ast.Attribute(cloned(node.func.value), "Module", ast.Load())
    parameters = [f"    {field}: Any" for field in given]
    begins = ["    def setup(self):"]
    if full != _LINEN:
        parameters = []
        begins = [f"    def __init__({', '.join(['self', *given])}):"]
    lines = [
        f"class {title}:",
        f'    """One of `{place}`."""',
        *parameters,
        *begins,
        "        self.layers = None",
        f"    def {_SEQUENCES[full]}(self, x):",
        "        return self.layers(x)",
    ]
    [made] = ast.parse("\n".join(lines)).body
    assert isinstance(made, ast.ClassDef)
    for part in walk(made):
        if hasattr(part, "lineno"):
            ast.copy_location(part, node)
        if isinstance(part, ast.Assign):
            part.value = sequence
    made.bases = [base]
    return located(ast.copy_location(made, node))
