"""Sizes that layers of PyTorch and flax hand to each other, `block(x, H, W)`, as arrays that are so long.

x, H, W = self.embed(x)                     x, H, W = self.embed(x)
for block in self.blocks:         becomes   (H,), (W,) = H.shape, W.shape
    x = block(x, H, W)                      for block in self.blocks:
                                                x = block(x, torch.zeros(H), torch.zeros(W))

A layer is given arrays here, and what is read of such an array is its size alone, which costs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    replaced,
    self_attribute,
    statement,
    targets,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CALLED = {"torch": "forward", "flax": "__call__", "nnx": "__call__"}
_MODULES = {"torch": "torch", "flax": "jax.numpy", "nnx": "jax.numpy"}
_NUMBER, _SHAPE = "({0},) = {0}.shape", "{0} = {0}.shape"
"""How a size, and several in a tuple, are read of the array that stands for them."""


def without_handed_sizes(origin: Origin, thing: str) -> None:
    """Change the classes of a file in place; what the one that is asked for is given stays as it is."""
    classes = {
        n: made
        for n, c in origin.classes.items()
        if framework_of(origin, c) in _CALLED and is_layer_class(origin, c)
        if (made := _Class.read(origin, c)) is not None
    }
    known = None
    while known != (known := [m.spread(classes, thing) for m in classes.values()]):
        pass
    modules = {full: n for n, full in origin.imports.items()}
    for made in classes.values():
        full = _MODULES[framework_of(origin, made.node)]
        made.write(classes, modules.get(full, "torch_"))
    located(origin.tree)


class _Class:
    """What is known of one class."""

    def __init__(self, node: ast.ClassDef, call: ast.FunctionDef):
        self.node, self.call = node, call
        self.attributes: dict[str, set[str]] = {}
        """The classes that attributes are made of."""
        self.given: dict[str, str] = {}
        """The inputs that are sizes, and how they are read."""
        self.returned: dict[int, str] = {}
        """The parts of what it returns that are, by their place."""

    @classmethod
    def read(cls, origin: Origin, node: ast.ClassDef) -> _Class | None:
        """The class, if it has a method that is called."""
        call = method_of(node, _CALLED[framework_of(origin, node)])
        start = method_of(node, "__init__") or method_of(node, "setup")
        if call is None:
            return None
        made = cls(node, call)
        for part in walk(start) if start is not None else ():
            target, value = None, None
            match part:
                case ast.Assign(targets=[target], value=value):
                    pass
                case ast.Call(
                    func=ast.Attribute(value=target, attr="append"), args=[value]
                ):
                    pass
            title = self_attribute(target) if target is not None else None
            if title and value is not None:
                known = {getattr(p, "id", "") for p in walk(value)}
                found = known & origin.classes.keys()
                made.attributes.setdefault(title, set()).update(found)
        return made

    def _layers(self) -> dict[str, str]:
        """The class of each attribute that is one, and of each name that a loop has for one."""
        found = {
            f"self.{t}": next(iter(c))
            for t, c in self.attributes.items()
            if len(c) == 1
        }
        for part in walk(self.call):
            if not isinstance(part, ast.For):
                continue
            owner = next(
                (
                    f"self.{t}"
                    for p in walk(part.iter)
                    if (t := self_attribute(p)) and f"self.{t}" in found
                ),
                "",
            )
            last = part.target
            if isinstance(last, ast.Tuple):
                last = last.elts[-1]
            if owner and isinstance(last, ast.Name):
                found[last.id] = found[owner]
        return found

    def _calls(self, classes: dict[str, _Class]) -> Iterator[tuple[ast.Call, _Class]]:
        layers = self._layers()
        for part in walk(self.call):
            if isinstance(part, ast.Call):
                func = part.func
                owner = func.value if isinstance(func, ast.Subscript) else func
                title = layers.get(ast.unparse(owner), "")
                if isinstance(func, ast.Call) and isinstance(func.func, ast.Name):
                    # A layer that is made where it is called.
                    title = func.func.id
                other = classes.get(title)
                if other is not None:
                    yield part, other

    def _sizes(self, classes: dict[str, _Class]) -> dict[str, str]:
        """The locals that are sizes, and how they would be read."""
        found = dict(self.given)
        results = {id(c): o for c, o in self._calls(classes)}
        for part in walk(self.call):
            match part:
                case ast.Assign(targets=[ast.Tuple(elts=elts)], value=value):
                    other = results.get(id(value))
                    for place, one in enumerate(elts):
                        if not isinstance(one, ast.Name):
                            continue
                        if other is not None and place in other.returned:
                            found[one.id] = other.returned[place]
                        elif _kind(value, found) == _SHAPE:
                            found[one.id] = _NUMBER
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    kind = _kind(value, found)
                    if kind:
                        found[local] = kind
        return found

    def spread(self, classes: dict[str, _Class], thing: str) -> tuple[int, int]:
        """Note what this class hands on and returns; how many sizes it is given and returns by now."""
        sizes = self._sizes(classes)
        for call, other in self._calls(classes):
            if other.node.name == thing or other is self:
                continue
            for title, value in other._bound(call):
                kind = _kind(value, sizes)
                if kind and title not in other.given:
                    other.given[title] = kind
        returns = [p for p in walk(self.call) if isinstance(p, ast.Return)]
        if len(returns) == 1 and self.node.name != thing:
            match returns[0].value:
                case ast.Tuple(elts=elts):
                    for place, part in enumerate(elts):
                        if kind := _kind(part, sizes):
                            self.returned[place] = kind
        return len(self.given), len(self.returned)

    def _bound(self, call: ast.Call) -> list[tuple[str, ast.expr]]:
        places = [a.arg for a in self.call.args.args[1:]]
        found = [*zip(places, call.args, strict=False)]
        return found + [(str(k.arg), k.value) for k in call.keywords]

    def write(self, classes: dict[str, _Class], torch: str) -> None:
        """Write the method in place."""
        results = {id(c): o for c, o in self._calls(classes)}
        for call, other in self._calls(classes):
            for at, value in enumerate(call.args):
                title = {id(v): t for t, v in other._bound(call)}.get(id(value))
                if title in other.given:
                    call.args[at] = _array(torch, value)
            for keyword in call.keywords:
                if keyword.arg in other.given:
                    keyword.value = _array(torch, keyword.value)
        for part in walk(self.call):
            if isinstance(part, ast.Return) and isinstance(part.value, ast.Tuple):
                for place in self.returned:
                    part.value.elts[place] = _array(torch, part.value.elts[place])
        _After(results).visit(self.call)
        for argument in self.call.args.args:
            if argument.arg in self.given:
                argument.annotation = None
        heads = self.call.body[: len(self.call.body) - len(without_docstring(self.call.body))]  # fmt: skip
        reads = [_read(title, kind) for title, kind in self.given.items()]
        body = self.call.body[len(heads) :]
        if all(a.arg in self.given for a in self.call.args.args[1:]):
            reads, body = self._named_apart(reads, body)
        self.call.body = [*heads, *reads, *body]

    def _named_apart(
        self, reads: list[ast.stmt], body: list[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Sizes under names of their own: there is no other input whose dtype the arrays here have."""
        bound = {t for part in body for t in targets(part)}
        if bound & self.given.keys():
            return reads, body
        parts: dict[str, ast.expr] = {
            title: ast.Name(f"{title}_given", ast.Load()) for title in self.given
        }
        for read, title in zip(reads, self.given, strict=True):
            for part in walk(read):
                if is_name(part, title) and isinstance(part.ctx, ast.Store):  # type: ignore[attr-defined]
                    part.id = f"{title}_given"  # type: ignore[attr-defined]
        return reads, [replaced(part, parts) for part in body]  # type: ignore[arg-type,misc]


class _After(NodeTransformer):
    """Reads sizes of what layers return."""

    def __init__(self, results: dict[int, _Class]):
        self.results = results

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        other = self.results.get(id(node.value))
        target = node.targets[0]
        if other is None or not isinstance(target, ast.Tuple):
            return node
        reads = [
            _read(target.elts[place].id, kind)  # type: ignore[attr-defined]
            for place, kind in other.returned.items()
            if place < len(target.elts) and isinstance(target.elts[place], ast.Name)
        ]
        return [node, *(ast.copy_location(r, node) for r in reads)]


def _array(torch: str, value: ast.expr) -> ast.expr:
    return ast.copy_location(expression(f"{torch}.zeros(n)", n=value), value)


def _read(title: str, kind: str) -> ast.stmt:
    return statement(kind.format(title))


def _kind(node: ast.AST, sizes: dict[str, str]) -> str:
    """How an expression would be read that is a size, or a tuple of sizes; "" of anything else."""
    match node:
        case ast.Name(id=title):
            return sizes.get(title, "")
        case ast.Call(func=ast.Attribute(attr="size"), args=args):
            return _NUMBER if args else _SHAPE
        case ast.Attribute(attr="shape"):
            return _SHAPE
        case ast.Subscript(value=value, slice=at) if _kind(value, sizes) == _SHAPE:
            return _SHAPE if isinstance(at, ast.Slice) else _NUMBER
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.Div):
            sides = [_kind(s, sizes) or _counted(s) for s in (left, right)]
            return _NUMBER if set(sides) in ({_NUMBER}, {_NUMBER, "n"}) else ""
        case ast.Call(func=func, args=[one]) if is_name(func, "int"):
            return _kind(one, sizes)
        case ast.Tuple(elts=elts) if elts:
            same = all(_kind(e, sizes) == _NUMBER for e in elts)
            return _SHAPE if same else ""
    return ""


def _counted(node: ast.expr) -> str:
    return "n" if type(literal(node)) is int else ""
