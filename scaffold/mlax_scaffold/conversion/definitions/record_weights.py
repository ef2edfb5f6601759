"""Records of weights in what an init function returns, as dictionaries, which specs hold weights in.

layers=LayerParams(wq=..., wo=...)      becomes     layers={"wq": ..., "wo": ...}

def layer(x, p: LayerParams):                       def layer(x, p):
    return x @ p.wq @ p.wo                              return x @ p["wq"] @ p["wo"]

So are the records of a list, which loops go over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.declarations.pair_weights import record_fields
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


class RecordWeights(NodeTransformer):
    """Writes calls of records as dictionaries, and notes which they are."""

    def __init__(self, origin: Origin):
        self.origin = origin
        self.found: dict[str, list[str]] = {}
        """The fields of each record."""
        self.places: dict[str, list[str]] = {}
        """The fields of those that are attributes, by the attribute."""
        self.lists: dict[str, list[str]] = {}
        """The fields of those in lists that are attributes."""

    def parts(self, made: list[tuple[str, ast.expr]]) -> list[tuple[str, ast.expr]]:
        """The weights, with dictionaries in the place of records."""
        found: list[tuple[str, ast.expr]] = []
        for place, part in made:
            title = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
            listed = _element(part)
            value = self.visit(part)
            if title in self.found:
                self.places[place] = self.found[title]
            if listed in self.found:
                self.lists[place] = self.found[listed]
            found.append((place, value))
        for function in self.origin.functions.values() if self.found else ():
            self._read(function)
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        title = getattr(node.func, "id", "")
        fields = record_fields(self.origin, title)
        given = dict(zip(fields, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        if not fields or {*given} != {*fields}:
            return node
        self.found[title] = fields
        keys: list[ast.expr | None] = [ast.Constant(f) for f in fields]
        return ast.copy_location(ast.Dict(keys, [given[f] for f in fields]), node)

    def _read(self, function: ast.FunctionDef) -> None:
        for argument in (*function.args.args, *function.args.kwonlyargs):
            text = ast.unparse(argument.annotation) if argument.annotation else ""
            fields = self.found.get(text.strip("'"))
            if fields is not None:
                reader = self._reader(argument.arg, {"": fields})
                function.body = [reader.visit(s) for s in function.body]

    def read(self, node: ast.stmt) -> ast.stmt:
        """A statement of the method that reads attributes which are such dictionaries."""
        for loop in walk(node) if self.lists else ():
            if isinstance(loop, ast.For):
                for title, fields in self._elements(loop.target, loop.iter):
                    reader = self._reader(title, {"": fields})
                    loop.body = [reader.visit(s) for s in loop.body]
        return self._reader("", self.places).visit(node)

    def _reader(self, title: str, places: dict[str, list[str]]) -> _Fields:
        return _Fields(title, places, {f for part in self.found.values() for f in part})

    def _elements(
        self, target: ast.expr, source: ast.expr
    ) -> Iterator[tuple[str, list[str]]]:
        """What a loop calls the records of such lists, and their fields."""
        match target, source:
            case ast.Name(id=title), ast.Attribute():
                fields = self.lists.get(self_attribute(source) or "")
                if fields is not None:
                    yield title, fields
            case ast.Name(), ast.Call(func=ast.Name(id="reversed"), args=[inner]):
                yield from self._elements(target, inner)
            case ast.Tuple(elts=[_, element]), ast.Call(
                func=ast.Name(id="enumerate"), args=[inner, *_]
            ):
                yield from self._elements(element, inner)
            case ast.Tuple(elts=elements), ast.Call(
                func=ast.Name(id="zip"), args=inner
            ):
                for element, part in zip(elements, inner, strict=False):
                    yield from self._elements(element, part)


def _element(node: ast.expr) -> str:
    """What makes the elements of a list, where each is made so."""
    match node:
        case ast.ListComp(elt=ast.Call(func=ast.Name(id=title))):
            return title
        case ast.List(elts=[ast.Call(func=ast.Name(id=title)), *rest]):
            others = {ast.unparse(e.func) for e in rest if isinstance(e, ast.Call)}
            calls = all(isinstance(e, ast.Call) for e in rest)
            return title if calls and not others - {title} else ""
    return ""


class _Fields(NodeTransformer):
    """Reads fields as items: of a name, or of attributes of the object, and of what these hold."""

    def __init__(self, title: str, places: dict[str, list[str]], inner: set[str]):
        self.title, self.places, self.inner = title, places, inner
        self.made: set[int] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if id(node.value) in self.made and node.attr in self.inner:
            return self._item(node)
        own = is_name(node.value, self.title) if self.title else False
        fields = self.places.get("" if own else self_attribute(node.value) or "-", [])
        if node.attr not in fields:
            return node
        return self._item(node)

    def _item(self, node: ast.Attribute) -> ast.expr:
        made = ast.Subscript(node.value, ast.Constant(node.attr), node.ctx)
        self.made.add(id(made))
        return ast.copy_location(made, node)
