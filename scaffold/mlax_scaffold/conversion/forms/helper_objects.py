"""Objects of plain classes of the file that a module of PyTorch makes, as attributes and methods of it.

class Grid:                                     self.grid_rows = rows
    def __init__(self, rows):                   self.table = nn.Parameter(torch.zeros(self.grid_rows**2, dim))
        self.rows = rows

    @property
    def cells(self):
        return self.rows**2

self.grid = Grid(rows)
self.table = nn.Parameter(torch.zeros(self.grid.cells, dim))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from mlax_scaffold.conversion.source.arguments_of import (
    given_to,
    method_of,
    stored_names,
)
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    literal,
    reached,
    self_attribute,
    statement,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_ROUNDS = 8
"""So many objects of a module are written out at most."""
_PLAIN = ("property", "staticmethod", "torch.no_grad()")


def without_helper_objects(origin: Origin) -> None:
    """Write them so, in place."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        if framework_of(origin, node) == "torch":
            for _ in range(_ROUNDS):
                if not _written_out(origin, node):
                    break


def _written_out(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether an object that a module makes was found, and written out."""
    start = method_of(node, "__init__")
    for at, part in enumerate(start.body if start is not None else []):
        match part:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id=title)) as call
            ) if place := self_attribute(target):
                helper = origin.classes.get(title)
            case _:
                continue
        if helper is None or not _is_plain(origin, helper):
            continue
        found = _Helper(origin, helper, node, place)
        made = found.begun(call) if found.fits() else None
        if made is None or start is None:
            continue
        start.body[at : at + 1] = [ast.copy_location(s, part) for s in made]
        found.take(made)
        located(node)
        return True
    return False


def _is_plain(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether a class is built on nothing, and its objects are no layers."""
    return (
        not {ast.unparse(b) for b in node.bases} - {"object"}
        and not node.keywords
        and not is_layer_class(origin, node)
        and all(_is_dataclass(origin, d) for d in node.decorator_list)
    )


def _is_dataclass(origin: Origin, node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return origin.qualified(called) == "dataclasses.dataclass"


class _Helper:
    """An object that a module keeps under a name."""

    def __init__(
        self, origin: Origin, helper: ast.ClassDef, owner: ast.ClassDef, place: str
    ):
        self.origin, self.helper, self.owner, self.place = origin, helper, owner, place
        methods = [m for m in helper.body if isinstance(m, ast.FunctionDef)]
        self.methods = {m.name: m for m in methods}
        self.start = _constructor(helper)
        self.shared = dict(_shared(helper))
        self.values = {m.name: v for m in methods if (v := _value(m)) is not None}
        """What properties are that are computed in one expression."""

    def fits(self) -> bool:
        """Whether attributes and methods of the object are read alone, and by the module alone."""
        read, whole = set(), 0
        for part in walk(self.owner):
            whole += self_attribute(part) == self.place
            if self._is_of(part):
                assert isinstance(part, ast.Attribute)
                read.add(part.attr)
                whole -= 1
        elsewhere = any(
            isinstance(p, ast.Attribute) and p.attr == self.place
            for c in self.origin.tree.body
            if c is not self.owner
            for p in walk(c)
            if self_attribute(p) is None or self._is_related(c)
        )
        mine = {*self.methods, *self.shared}
        for node in (*self.methods.values(), self.start):
            mine |= {a for p in walk(node) if (a := self_attribute(p))}
        taken = {a for p in walk(self.owner) if (a := self_attribute(p))}
        taken |= {m.name for m in self.owner.body if isinstance(m, ast.FunctionDef)}
        decorators = [ast.unparse(d) for t in read for d in self._decorators(t)]
        return (
            # It is set once.
            whole == 1
            and not elsewhere
            and read <= mine
            and not any(title.startswith("__") for title in read)
            and not taken & {self._title(t) for t in mine}
            and all(d in _PLAIN for d in decorators)
        )

    def begun(self, call: ast.Call) -> list[ast.stmt] | None:
        """What the constructor of the module does in the place of the object's; None: it is not told."""
        bound = given_to(self.start, call)
        body = [
            cloned(s)
            for s in without_docstring(self.start.body)
            if not ast.unparse(s).startswith("super().")
        ]
        if bound is None or any(
            isinstance(p, ast.Return | ast.FunctionDef | ast.Lambda)
            for s in body
            for p in walk(s)
        ):
            return None
        stored = {title for s in body for title in stored_names(s)}
        parts: dict[str, ast.expr] = {
            t: ast.Name(f"{self.place.lstrip('_')}_{t}", ast.Load()) for t in stored
        }
        first: list[ast.stmt] = []
        for title, value in bound.items():
            if title in stored or not _is_short(value):
                local = f"{self.place.lstrip('_')}_{title}"
                first.append(statement(f"{local} = v", v=value))
                parts[title] = ast.Name(local, ast.Load())
            else:
                parts[title] = value
        own = [
            self._owned(statement(f"self.{t} = v", v=v)) for t, v in self.shared.items()
        ]
        # What it is given is of the module, and all else of the object.
        mine = [_Renamed(parts).visit(self._owned(s)) for s in body]
        return [*first, *own, *mine]

    def take(self, begun: list[ast.stmt]) -> None:
        """Read attributes of the module in its place, and give it the methods, in place."""
        read = {p.attr for p in walk(self.owner) if self._is_of(p)}  # type: ignore[attr-defined]
        mine = {self._title(t): t for t in self.methods}
        read |= {mine.get(self_attribute(p) or "", "") for s in begun for p in walk(s)}
        inner: dict[str, ast.AST] = {
            title: ast.Tuple(
                [
                    ast.Name(a, ast.Load())
                    for p in walk(method)
                    if (a := self_attribute(p))
                ],
                ast.Load(),
            )
            for title, method in self.methods.items()
        }
        needed = reached(inner, read)
        _Read(self._is_of, self._attribute).visit(self.owner)
        for title, method in self.methods.items():
            if title in needed - self.values.keys():
                made = self._owned(method)
                assert isinstance(made, ast.FunctionDef)
                made.name = self._title(title)
                self.owner.body.append(made)

    def _decorators(self, title: str) -> list[ast.expr]:
        method = self.methods.get(title)
        return method.decorator_list if method is not None else []

    def _is_of(self, node: ast.AST) -> bool:
        """Whether a node is an attribute of the object: `self.grid.rows`."""
        return (
            isinstance(node, ast.Attribute) and self_attribute(node.value) == self.place
        )

    def _is_related(self, node: ast.stmt) -> bool:
        """Whether a class may have the attribute of the module by inheritance."""
        if not isinstance(node, ast.ClassDef):
            return False
        bases = {getattr(b, "id", "") for c in (node, self.owner) for b in c.bases}
        return bool(bases & {node.name, self.owner.name})

    def _title(self, attribute: str) -> str:
        return f"{self.place}_{attribute.lstrip('_')}"

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        """An attribute of the object as one of the module, or what a property is."""
        value = self.values.get(node.attr)
        if value is not None:
            return self._of_module().visit(cloned(value))
        return ast.Attribute(
            ast.Name("self", ast.Load()), self._title(node.attr), node.ctx
        )

    def _of_module(self) -> _Read:
        return _Read(lambda n: self_attribute(n) is not None, self._attribute)

    def _owned(self, node: ast.stmt) -> ast.stmt:
        """A statement or method of the object as one of the module."""
        return self._of_module().visit(cloned(node))


class _Read(NodeTransformer):
    """Writes attributes of an object as those of the module."""

    def __init__(
        self,
        chosen: Callable[[ast.AST], bool],
        made: Callable[[ast.Attribute], ast.expr],
    ):
        self.chosen, self.made = chosen, made

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self.chosen(node):
            return ast.copy_location(self.made(node), node)
        self.generic_visit(node)
        return node


class _Renamed(NodeTransformer):
    def __init__(self, parts: Mapping[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        made = cloned(self.parts.get(node.id))
        if isinstance(made, ast.Name):
            made.ctx = node.ctx
        return node if made is None else ast.copy_location(made, node)


def _constructor(node: ast.ClassDef) -> ast.FunctionDef:
    """That of a plain class; one of a dataclass that keeps its fields."""
    start = method_of(node, "__init__")
    if start is not None:
        return start
    fields = [
        (part.target.id, part.value)
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    given = ["self", *(t if v is None else f"{t}={ast.unparse(v)}" for t, v in fields)]
    kept = "".join(f"\n    self.{t} = {t}" for t, _ in fields)
    made = statement(f"def __init__({', '.join(given)}):\n    pass{kept}")
    assert isinstance(made, ast.FunctionDef)
    last = method_of(node, "__post_init__")
    made.body = [*made.body[1:], *(last.body if last is not None else [])]
    return made


def _value(method: ast.FunctionDef) -> ast.expr | None:
    """What a property is, where that is one expression."""
    match without_docstring(method.body):
        case [ast.Return(value=ast.expr() as value)] if [
            ast.unparse(d) for d in method.decorator_list
        ] == ["property"]:
            return value
    return None


def _shared(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """What the class itself holds for all its objects."""
    for part in node.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=value):
                yield title, value


def _is_short(node: ast.expr) -> bool:
    """Whether a value may be written more than once."""
    return (
        not isinstance(literal(node), ast.AST)
        or isinstance(node, ast.Name)
        or self_attribute(node) is not None
    )
