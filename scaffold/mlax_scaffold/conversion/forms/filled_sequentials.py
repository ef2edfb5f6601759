"""Lists that `setup` of flax fills for an `nn.Sequential`: its layers, where it is called.

layers = []                                            in setup
for size in self.sizes:
    layers += [nn.Dense(size), nn.relu]
self.body = nn.Sequential(layers)
y = self.body(x)                                       in a method

becomes, in the method,

body = x
for size in self.sizes:
    body = nn.Dense(size)(body)
    body = nn.relu(body)
y = body

so that each layer is made of what comes to it.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_filled_sequentials(origin: Origin) -> None:
    """Write them out, in place, where one is called at one place."""
    for node in origin.classes.values():
        setup = method_of(node, "setup")
        if setup is None or framework_of(origin, node) != "flax":
            continue
        moved: list[_Sequential] = []
        for part in [*setup.body]:
            made = _Sequential.of(origin, node, setup, part)
            if made is not None:
                made.write()
                moved.append(made)
        if moved:
            _without_spare(setup, moved)
            located(node)


class _Sequential:
    """A sequence whose list is filled."""

    def __init__(
        self,
        setup: ast.FunctionDef,
        made: ast.stmt,
        filling: list[ast.stmt],
        method: ast.FunctionDef,
        local: str,
        title: str,
        call: ast.Call,
    ):
        self.setup, self.made, self.filling, self.method = setup, made, filling, method
        self.local, self.title, self.call = local, title, call
        self.before = _needed(setup, filling, local)
        """What else of setup the list is filled with."""

    @staticmethod
    def of(
        origin: Origin, node: ast.ClassDef, setup: ast.FunctionDef, part: ast.stmt
    ) -> _Sequential | None:
        """The sequence that a statement of setup makes; None of others."""
        match part:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=func, args=[given], keywords=[]),
            ) if origin.qualified(func) == "flax.linen.Sequential":
                attribute = self_attribute(target)
            case _:
                return None
        given = given.value if isinstance(given, ast.Starred) else given
        if attribute is None or not isinstance(given, ast.Name):
            return None
        local = given.id
        filling = [s for s in setup.body if s is not part and local in names(s)]
        begins = filling[0] if filling else None
        if not isinstance(begins, ast.Assign) or not isinstance(begins.value, ast.List):
            return None
        if not all(_fills(s, local) for s in filling[1:]):
            return None
        found = _called_once(node, attribute)
        if found is None:
            return None
        method, call = found
        made = _Sequential(setup, part, filling, method, local, attribute, call)
        return made if made.fits() else None

    def fits(self) -> bool:
        """Whether the method has no other things of these names, and calls it in no loop."""
        bound = {t for s in (*self.before, *self.filling) for t in targets(s)}
        bound -= {self.local}
        inside = {id(p) for p in self.before}
        own = {
            t
            for s in self.method.body
            if id(getattr(s, "copied", s)) not in inside
            for t in targets(s)
        }
        # What a loop binds, loops may bind again.
        loops = [n for s in self.method.body for n in walk(s)]
        own -= {t for n in loops if isinstance(n, ast.For) for t in targets(n.target)}
        own |= {a.arg for a in walk(self.method.args) if isinstance(a, ast.arg)}
        return not bound & own and _place(self.method.body, self.call) is not None

    def write(self) -> None:
        """Write its layers where it is called."""
        found = _place(self.method.body, self.call)
        assert found is not None
        body, at = found
        [given] = self.call.args
        taken = names(self.method) | {
            a.arg for a in walk(self.method.args) if isinstance(a, ast.arg)
        }
        title = self.title if self.title not in taken else f"{self.title}_output"
        there = {id(getattr(s, "copied", None)) for s in self.method.body}
        made: list[ast.stmt] = []
        for part in self.before:
            if id(part) not in there:
                copied = cloned(part)
                copied.copied = part  # type: ignore[attr-defined]
                made.append(copied)
        made.append(ast.Assign([ast.Name(title, ast.Store())], cloned(given)))
        for part in self.filling:
            made += _applied(cloned(part), self.local, title)
        for part in made:
            ast.copy_location(part, body[at])
        body[at] = _Replaced(self.call, title).visit(body[at])
        body[at:at] = made
        self.setup.body = [
            s for s in self.setup.body if s is not self.made and s not in self.filling
        ]


def _fills(node: ast.stmt, local: str) -> bool:
    """Whether a statement does nothing with a list but add to it."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=title), attr="append"),
                args=[given],
                keywords=[],
            )
        ):
            return title == local and local not in names(given)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=title), attr="extend"),
                args=[ast.List() | ast.Tuple() as given],
                keywords=[],
            )
        ):
            return title == local and local not in names(given)
        case ast.AugAssign(
            target=ast.Name(id=title),
            op=ast.Add(),
            value=ast.List() | ast.Tuple() as given,
        ):
            return title == local and local not in names(given)
        case ast.For(body=body, orelse=[]) | ast.If(body=body, orelse=[]):
            return all(_fills(s, local) or local not in names(s) for s in body)
        case ast.If(body=body, orelse=other):
            return all(
                _fills(s, local) or local not in names(s) for s in (*body, *other)
            )
    return False


def _applied(node: ast.stmt, local: str, title: str) -> list[ast.stmt]:
    """What a statement that fills a list does where its elements are called."""
    match node:
        case ast.Assign(targets=[target], value=ast.List(elts=elements)) if is_name(
            target, local
        ):
            return [_step(e, title) for e in elements]
        case ast.AugAssign(target=target, value=ast.List() | ast.Tuple() as given) if (
            is_name(target, local)
        ):
            return [_step(e, title) for e in given.elts]
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[given])
        ) if is_name(owner, local):
            if attr == "extend":
                return [_step(e, title) for e in given.elts]  # type: ignore[attr-defined]
            return [_step(given, title)]
        case ast.For() | ast.If():
            node.body = [m for s in node.body for m in _applied(s, local, title)]
            node.orelse = [m for s in node.orelse for m in _applied(s, local, title)]
    return [node]


def _step(element: ast.expr, title: str) -> ast.stmt:
    value = ast.Call(element, [ast.Name(title, ast.Load())], [])
    return ast.Assign([ast.Name(title, ast.Store())], value)


def _called_once(
    node: ast.ClassDef, attribute: str
) -> tuple[ast.FunctionDef, ast.Call] | None:
    """The one call of a layer, and the method that it is in; None where it is read otherwise."""
    read = [
        n
        for n in walk(node)
        if self_attribute(n) == attribute and isinstance(n.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    for method in node.body:
        for call in walk(method) if isinstance(method, ast.FunctionDef) else ():
            if isinstance(call, ast.Call) and self_attribute(call.func) == attribute:
                plain = len(call.args) == 1 and not call.keywords and len(read) == 1
                starred = any(isinstance(a, ast.Starred) for a in call.args)
                assert isinstance(method, ast.FunctionDef)
                return (method, call) if plain and not starred else None
    return None


def _place(body: list[ast.stmt], call: ast.Call) -> tuple[list[ast.stmt], int] | None:
    """The statement that has a call, in the list that it stands in; None in loops and other functions."""
    for at, part in enumerate(body):
        if not any(n is call for n in walk(part)):
            continue
        match part:
            case ast.Assign() | ast.Return() | ast.Expr() | ast.AugAssign():
                inner = (ast.Lambda, ast.comprehension, ast.IfExp, ast.BoolOp)
                held = (n for n in walk(part) if isinstance(n, inner))
                owned = any(n is call for h in held for n in walk(h))
                return None if owned else (body, at)
            case ast.If():
                return _place(part.body, call) or _place(part.orelse, call)
    return None


def _needed(
    setup: ast.FunctionDef, filling: list[ast.stmt], local: str
) -> list[ast.stmt]:
    """The statements of setup that bind other locals which a list is filled with."""
    read = {n for s in filling for n in names(s)} - {local}
    found: list[ast.stmt] = []
    last = max(setup.body.index(s) for s in filling)
    for part in reversed(setup.body[:last]):
        binds = {*targets(part)} | (
            {part.name} if isinstance(part, ast.FunctionDef) else set()
        )
        if part not in filling and binds & read:
            found.insert(0, part)
            read |= names(part)
    return found


def _without_spare(setup: ast.FunctionDef, moved: list[_Sequential]) -> None:
    """Leave out of setup what only the lists were filled with."""
    spare = [s for made in moved for s in made.before]
    for part in reversed([*setup.body]):
        binds = {*targets(part)} | {getattr(part, "name", "")}
        rest = {n for s in setup.body if s is not part for n in names(s)}
        if part in spare and not binds & rest:
            setup.body.remove(part)
    if not setup.body:
        setup.body.append(ast.copy_location(ast.Pass(), setup))


class _Replaced(NodeTransformer):
    def __init__(self, call: ast.Call, title: str):
        self.call, self.title = call, title

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node is self.call:
            return ast.copy_location(ast.Name(self.title, ast.Load()), node)
        self.generic_visit(node)
        return node
