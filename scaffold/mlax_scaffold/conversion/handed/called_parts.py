"""Modules of flax and equinox with methods of which none is called as a whole: parts of what holds them.

class Embedder(nnx.Module):                          class Model(nnx.Module):
    def __init__(self, size, dim, rngs):                 def __init__(self, rngs):
        self.table = nnx.Param(...)          becomes         self.embedder_table = nnx.Param(...)
    def encode(self, x): ...                             def _embedder_encode(self, x): ...
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from mlax_scaffold.conversion.forms.leaf_functions import Decided
from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self, method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    self_attribute,
    targets,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_FRAMEWORKS = ("flax", "nnx", "equinox")
_CALLED = ("__call__", "forward")
_STARTS = ("__init__", "setup")


def with_called_parts(origin: Origin, thing: str) -> None:
    """Write the modules so in place, where they are made once in what holds them."""
    _with_kept_locals(origin)
    for node in list(origin.classes.values()):
        title = framework_of(origin, node)
        if title not in _FRAMEWORKS or node.name == thing:
            continue
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        others = [m for m in methods if m.name not in _STARTS]
        called = [m for m in methods if m.name in _CALLED]
        if not others or not all(map(_is_counted, called)):
            continue
        if any(isinstance(b, ast.Name) and b.id in origin.classes for b in node.bases):
            continue
        made = _made(origin, node)
        if made is not None:
            _merge(node, made)
    located(origin.tree)


def _with_kept_locals(origin: Origin) -> None:
    """Modules of linen that a call keeps as locals, to call their methods, as attributes of `setup`."""
    for owner in origin.classes.values():
        call = method_of(owner, "__call__")
        if framework_of(origin, owner) != "flax" or call is None:
            continue
        for part in list(call.body):
            match part:
                case ast.Assign(
                    targets=[ast.Name(id=local)],
                    value=ast.Call(func=ast.Name(id=title)) as made,
                ) if title in origin.classes and _is_held(origin.classes[title], made):
                    bound = [t for s in call.body for t in targets(s)]
                    if bound.count(local) > 1 or method_of(owner, local):
                        continue
                    call.body.remove(part)
                    made.keywords = [k for k in made.keywords if k.arg != "name"]
                    start = method_of(owner, "setup")
                    if start is None:
                        given = ast.arguments(
                            [], [ast.arg("self")], None, [], [], None, []
                        )
                        start = ast.FunctionDef("setup", given, [], [])
                        owner.body.append(ast.copy_location(start, call))
                    read = ast.Attribute(
                        ast.Name("self", ast.Load()), local, ast.Load()
                    )
                    place = copy.copy(read)
                    place.ctx = ast.Store()
                    kept = ast.Assign([place], made)
                    start.body.append(ast.copy_location(kept, part))
                    _Renamed({local: read}).visit(call)


def _is_held(node: ast.ClassDef, made: ast.Call) -> bool:
    """Whether a class is never called as a whole, and made of its owner's fields alone."""
    methods = [m.name for m in node.body if isinstance(m, ast.FunctionDef)]
    given = [*made.args, *(k.value for k in made.keywords)]
    read = {p.id for g in given for p in walk(g) if isinstance(p, ast.Name)}
    return not {*methods} & {*_CALLED} and len(methods) > 1 and read <= {"self"}


def _is_counted(method: ast.FunctionDef) -> bool:
    """Whether a method is given sizes alone, which layers are not."""
    given = method.args.args[1:]
    typed = [ast.unparse(a.annotation) for a in given if a.annotation is not None]
    return len(given) == len(typed) > 0 and {*typed} == {"int"}


@dataclass
class _Made:
    """Where such a module is made."""

    owner: ast.ClassDef
    start: ast.FunctionDef
    statement: ast.Assign
    attribute: str
    given: dict[str, ast.expr]
    """Its arguments, by parameter."""


def _made(origin: Origin, node: ast.ClassDef) -> _Made | None:
    uses = [p for p in walk(origin.tree) if is_name(p, node.name)]
    found: list[_Made] = []
    for owner in origin.classes.values():
        start = method_of(owner, "__init__") or method_of(owner, "setup")
        for part in start.body if start is not None and owner is not node else ():
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as call):
                    attribute = self_attribute(target)
                    if attribute is None or not is_name(call.func, node.name):
                        continue
                    given = _given(node, call)
                    if given is None or start is None:
                        return None
                    found.append(_Made(owner, start, part, attribute, given))
    annotated = sum(
        is_name(p.annotation, node.name)
        for o in origin.classes.values()
        for p in o.body
        if isinstance(p, ast.AnnAssign)
    )
    return found[0] if len(found) == 1 == len(uses) - annotated else None


def _given(node: ast.ClassDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """What the module is made with; None where that is not told."""
    start = method_of(node, "__init__")
    if start is not None:
        parameters = beside_self(start.args)
    else:
        fields = [p for p in node.body if isinstance(p, ast.AnnAssign)]
        late = [p.value for p in fields if p.value is not None]
        arguments = [
            ast.arg(p.target.id) for p in fields if isinstance(p.target, ast.Name)
        ]
        parameters = ast.arguments([], arguments, None, [], [], None, late)
    try:
        bound = bind(parameters, call)
    except MisfitError:
        return None
    made = {k: v for k, v in bound.items() if isinstance(v, ast.expr)}
    wanted = {a.arg for a in (*parameters.args, *parameters.kwonlyargs)}
    return made if made.keys() == bound.keys() == wanted else None


def _merge(node: ast.ClassDef, made: _Made) -> None:
    """Write the parts of a module into what holds it."""
    owner, attribute = made.owner, made.attribute
    titles = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
    start = method_of(node, "__init__")
    own = _Own(attribute, titles, {} if start is not None else made.given)
    own.held |= titles | {
        held
        for part in walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        if (held := self_attribute(part))
    }
    begun = start or method_of(node, "setup")
    body: list[ast.stmt] = []
    locals_: dict[str, ast.expr] = dict(made.given) if start is not None else {}
    for part in without_docstring(begun.body) if begun is not None else ():
        for local in targets(part):
            locals_[local] = ast.Name(f"{attribute}_{local}", ast.Load())
        if "super().__init__" in ast.unparse(part):
            continue
        body.append(_Renamed(locals_).visit(own.visit(cloned(part))))
    read = {
        p.attr
        for p in walk(owner)
        if isinstance(p, ast.Attribute) and self_attribute(p.value) == attribute
    }
    read |= {a for p in walk(node) if (a := self_attribute(p))}
    outside = _Outside(attribute, titles)
    for part in owner.body:
        if isinstance(part, ast.FunctionDef):
            outside.visit(part)
    at = made.start.body.index(made.statement)
    made.start.body[at : at + 1] = body
    Decided().visit(made.start)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name not in _STARTS:
            if method.decorator_list and method.name not in read:
                # A property that nothing asks for.
                continue
            copied = cloned(method)
            title = "call" if method.name in _CALLED else method.name
            copied.name = f"_{attribute}_{title}"
            copied.body = [own.visit(s) for s in copied.body]
            owner.body.append(Decided().visit(copied))
    owner.body = [
        p
        for p in owner.body
        if not (isinstance(p, ast.AnnAssign) and is_name(p.target, attribute))
    ]


class _Own(NodeTransformer):
    """What a module reads of itself, as attributes of what holds it."""

    def __init__(self, attribute: str, titles: set[str], fields: dict[str, ast.expr]):
        self.attribute, self.titles, self.fields = attribute, titles, fields
        self.held: set[str] = set()
        """What it has itself: all else is its library's."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        read = self_attribute(node)
        if read is None:
            self.generic_visit(node)
            return node
        if read in self.fields:
            return ast.copy_location(cloned(self.fields[read]), node)
        if read not in self.held:
            return node
        mark = "_" if read in self.titles else ""
        node.attr = f"{mark}{self.attribute}_{read}"
        return node


class _Renamed(NodeTransformer):
    """Parameters and locals of a constructor, as they are called in another one."""

    def __init__(self, parts: dict[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if part is None:
            return node
        if isinstance(node.ctx, ast.Store) and isinstance(part, ast.Name):
            return ast.copy_location(ast.Name(part.id, ast.Store()), node)
        return ast.copy_location(cloned(part), node)


class _Outside(NodeTransformer):
    """What is read of the module, or called of it: `self.embedder.encode(x)`."""

    def __init__(self, attribute: str, titles: set[str]):
        self.attribute, self.titles = attribute, titles

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.func) == self.attribute:
            assert isinstance(node.func, ast.Attribute)
            node.func.attr = f"_{self.attribute}_call"
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.value) != self.attribute:
            return node
        mark = "_" if node.attr in self.titles else ""
        made = ast.Attribute(
            ast.Name("self", ast.Load()),
            f"{mark}{self.attribute}_{node.attr}",
            node.ctx,
        )
        return ast.copy_location(made, node)
