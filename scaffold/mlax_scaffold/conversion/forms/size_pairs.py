"""Sizes that PyTorch's code takes for one axis or for each: `patch_size = to_2tuple(patch_size)`.

A hyperparameter is one of both: what is given by default, or by a call of the file, tells which. One size is
written where an axis reads it, `patch_size[0]`, and sizes are what they are.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    literal,
    same,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LIBRARY = {
    f"{module}.to_{n}tuple": n
    for module in ("timm.layers", "timm.layers.helpers", "timm.models.layers")
    for n in (2, 3)
}
_SIZE = "torch.Size"
_SEVERAL = ("tuple", "list", "Iterable", "Sequence")


def without_size_pairs(origin: Origin) -> None:
    """Write them so in place, in a file of PyTorch."""
    if not origin.uses("torch"):
        return
    known = _helpers(origin)
    single: dict[str, dict[str, int]] = {}
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                pairs = _Pairs(origin, node, method, known)
                pairs.run()
                places = [a.arg for a in method.args.args[1:]]
                single[node.name] = {
                    n: places.index(n) if n in places else -1 for n in pairs.single
                }
    for call in walk(origin.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            _give_one(call, single.get(call.func.id, {}))
    located(origin.tree)


def _give_one(call: ast.Call, single: Mapping[str, int]) -> None:
    """Give a class one size for all axes, `(size, size)`, as that size."""
    for title, at in single.items():
        if 0 <= at < len(call.args):
            call.args[at] = _one(call.args[at])
        for keyword in call.keywords:
            if keyword.arg == title:
                keyword.value = _one(keyword.value)


def _one(given: ast.expr) -> ast.expr:
    if isinstance(given, ast.Tuple | ast.List) and given.elts:
        first = given.elts[0]
        return first if all(same(first, e) for e in given.elts[1:]) else given
    return given


def _helpers(origin: Origin) -> dict[str, int]:
    """The functions of a file that make so many sizes of one, by their names."""
    found = {n: _LIBRARY[f] for n, f in origin.imports.items() if f in _LIBRARY}
    for title, function in origin.functions.items():
        count = _count(function, None)
        if count:
            found[title] = count
    for title, made in origin.assigned.items():
        match made.value:
            case ast.Call(
                func=ast.Name(id=maker),
                args=[ast.Constant(value=int() as count)],
                keywords=[],
            ):
                outer = origin.functions.get(maker)
                if outer is not None and _makes(outer, count):
                    found[title] = count
    return found


def _makes(outer: ast.FunctionDef, count: int) -> bool:
    """Whether a function returns one that makes several sizes of one."""
    match without_docstring(outer.body):
        case [ast.FunctionDef() as inner, ast.Return(value=ast.Name(id=returned))]:
            return returned == inner.name and _count(inner, count) == count
    return False


def _count(function: ast.FunctionDef, asked: int | None) -> int:
    """How many sizes a function makes of one, and leaves several as they are; 0 for any other function."""
    given = [a.arg for a in function.args.args]
    if len(given) != 1:
        return 0
    x = given[0]
    match without_docstring(function.body):
        case [ast.Return(value=ast.IfExp(test=test, body=body, orelse=orelse))]:
            pass
        case [
            ast.If(test=test, body=[ast.Return(value=ast.expr() as body)], orelse=[]),
            ast.Return(value=ast.expr() as orelse),
        ]:
            pass
        case _:
            return 0
    return _chosen(test, body, orelse, x, asked)


def _chosen(
    test: ast.expr, body: ast.expr, orelse: ast.expr, x: str, asked: int | None = None
) -> int:
    """How many sizes are made of one where it is no tuple; 0 for any other choice."""
    text = ast.unparse(test)
    if not text.startswith(f"isinstance({x}, "):
        return 0
    if text == f"isinstance({x}, int)":
        body, orelse = orelse, body
    elif not any(kind in text for kind in _SEVERAL):
        return 0
    if ast.unparse(body) not in (x, f"tuple({x})"):
        return 0
    match orelse:
        case ast.Tuple(elts=elts) if all(is_name(e, x) for e in elts):
            return len(elts)
        case ast.Call(
            func=ast.Name(id="tuple"),
            args=[ast.Call(args=[repeated, ast.Name()])],
        ) if is_name(repeated, x) and "repeat(" in ast.unparse(orelse):
            return asked or 0
    return 0


def _without_copies(
    start: ast.FunctionDef, origin: Origin, given: list[str]
) -> list[ast.stmt]:
    """The statements of a constructor but for `shape = torch.Size(shape)` behind such a choice."""
    made: list[ast.stmt] = []
    chosen: set[str] = set()
    for part in start.body:
        match part:
            case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=title)])]):
                if ast.unparse(test).startswith(f"isinstance({title}, "):
                    chosen.add(title)
            case ast.Assign(
                targets=[ast.Name(id=title)],
                value=ast.Call(func=func, args=[ast.Name(id=copied)], keywords=[]),
            ):
                copies = is_name(func, "tuple") or origin.qualified(func) == _SIZE
                if copies and copied == title and title in chosen & {*given}:
                    continue
        made.append(part)
    start.body = made
    return made


class _Pairs(NodeTransformer):
    """One class."""

    def __init__(
        self,
        origin: Origin,
        node: ast.ClassDef,
        start: ast.FunctionDef,
        known: Mapping[str, int],
    ):
        self.origin, self.node, self.start, self.known = origin, node, start, known
        self.given = [a.arg for a in start.args.args[1:]]
        self.given += [a.arg for a in start.args.kwonlyargs]
        self.bound: dict[str, int] = {}
        """Parameters that have been made several sizes."""
        self.kept: dict[str, int] = {}
        """Attributes that hold them."""
        self.single: set[str] = set()
        """Parameters that are one size for all axes."""

    def run(self) -> None:
        made: list[ast.stmt] = []
        for part in _without_copies(self.start, self.origin, self.given):
            written = self._pair(part)
            made += [self.visit(part)] if written is None else written
        self.start.body = made or [ast.Pass()]
        for method in self.node.body if self.kept else ():
            if isinstance(method, ast.FunctionDef) and method is not self.start:
                self.bound = {}
                self.visit(method)

    def _pair(self, part: ast.stmt) -> list[ast.stmt] | None:
        """What is left of a statement that makes several sizes of a parameter; None for any other one."""
        match part:
            case ast.If(test=test, body=[ast.Assign(targets=[t], value=v)], orelse=[]):
                # `if isinstance(size, int): size = (size, size)`
                title = getattr(t, "id", "")
                if title not in self.given or not isinstance(v, ast.Tuple):
                    return None
                targets: list[ast.expr] = [t]
                choice = ast.IfExp(test, v, ast.Name(title, ast.Load()))
                if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    choice = ast.IfExp(test.operand, choice.orelse, v)
                value: ast.expr = choice
            case ast.Assign(targets=targets, value=value):
                pass
            case _:
                return None
        title, count = self._asked(value)
        if not count:
            return None
        several = self._several(title)
        self.single |= set() if several else {title}
        kept: list[ast.stmt] = []
        for target in targets:
            attribute = self_attribute(target)
            if is_name(target, title) and self._stores(title) == 1:
                if not several:
                    self.bound[title] = count
            elif attribute is not None and (several or self._own(attribute)):
                if not several:
                    self.kept[attribute] = count
                size = ast.Name(title, ast.Load())
                kept.append(ast.copy_location(ast.Assign([target], size), part))
            else:
                return None
        return kept

    def _own(self, attribute: str) -> bool:
        """Whether an attribute is set once, and read by the class alone."""
        places = [
            part
            for part in walk(self.origin.tree)
            if isinstance(part, ast.Attribute) and part.attr == attribute
        ]
        mine = {id(part) for part in walk(self.node)}
        stored = [p for p in places if isinstance(p.ctx, ast.Store) and id(p) in mine]
        outside = [p for p in places if self_attribute(p) is None]
        based = any(
            is_name(b, self.node.name)
            for c in self.origin.classes.values()
            for b in c.bases
        )
        return len(stored) == 1 and not outside and not based

    def _asked(self, value: ast.expr) -> tuple[str, int]:
        """The parameter of which an expression makes several sizes, and how many."""
        match value:
            case ast.Call(
                func=ast.Name(id=helper), args=[ast.Name(id=title)], keywords=[]
            ):
                if title in self.given:
                    return title, self.known.get(helper, 0)
            case ast.IfExp(test=ast.Call(args=[ast.Name(id=title), *_])):
                if title in self.given:
                    return title, _chosen(value.test, value.body, value.orelse, title)
            case ast.Name(id=title) if title in self.bound:
                return title, self.bound[title]
        return "", 0

    def _stores(self, title: str) -> int:
        return sum(
            is_name(p, title) and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
            for p in walk(self.start)
        )

    def _several(self, parameter: str) -> bool:
        """Whether a parameter is given sizes, and not one for all axes."""
        args = self.start.args
        late = zip(reversed(args.args), reversed(args.defaults), strict=False)
        named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        values = [d for a, d in (*late, *named) if a.arg == parameter and d is not None]
        if not values or is_none(values[0]):
            positional = [a.arg for a in args.args[1:]]
            at = (
                positional.index(parameter)
                if parameter in positional
                else len(positional)
            )
            values = [
                value
                for call in walk(self.origin.tree)
                if isinstance(call, ast.Call) and is_name(call.func, self.node.name)
                for value in (
                    *call.args[at : at + 1],
                    *(k.value for k in call.keywords if k.arg == parameter),
                )
            ]
        return bool(values) and isinstance(literal(values[0]), tuple | list)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        title, count = self._asked(node)
        if not count or self._stores(title):
            return node
        size = ast.Name(title, ast.Load())
        if self._several(title):
            return size
        self.single.add(title)
        return _several_of(size, count)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        one = type(literal(node.slice)) is int and isinstance(node.ctx, ast.Load)
        if one and self._held(node.value):
            return node.value
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _several_of(node, self._held(node)) if self._held(node) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self._held(node):
            return _several_of(node, self._held(node))
        self.generic_visit(node)
        return node

    def _held(self, node: ast.expr) -> int:
        """How many sizes a name or an attribute holds that is read; 0 for any other node."""
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            return 0
        if isinstance(node, ast.Name):
            return self.bound.get(node.id, 0)
        return self.kept.get(self_attribute(node) or "", 0)


def _several_of(size: ast.expr, count: int) -> ast.expr:
    elts = [cloned(size) for _ in range(count)]
    return ast.copy_location(ast.Tuple(elts, ast.Load()), size)
