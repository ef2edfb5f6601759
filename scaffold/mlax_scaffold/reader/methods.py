"""Reads the methods of a spec, and the functions: inputs, results, and what their bodies use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.model.definition import (
    ArrayType,
    Import,
    Input,
    Method,
    MethodRole,
)
from mlax_scaffold.model.places import Step
from mlax_scaffold.model.reserved import ENTRY_POINT
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.body import ends_in_return
from mlax_scaffold.reader.checks.defaults import check_defaults, check_types
from mlax_scaffold.reader.closures import inside
from mlax_scaffold.reader.containers.declared import step_of
from mlax_scaffold.reader.inputs import entry_inputs
from mlax_scaffold.reader.looping import looped
from mlax_scaffold.reader.plain_types import read_result_type
from mlax_scaffold.reader.remedies.classes import (
    returned,
    undecorated,
    with_self,
)
from mlax_scaffold.reader.roles import is_static
from mlax_scaffold.reader.source import (
    Source,
    compares_with_none,
    dotted,
    indexed_attribute,
    self_attribute,
)


def docstring(node: ast.FunctionDef | ast.ClassDef | ast.Module) -> str:
    """The docstring, its indentation removed, or an empty string."""
    return ast.get_docstring(node) or ""


def read_method(
    source: Source,
    method: ast.FunctionDef,
    role: MethodRole,
    attributes: dict[str, str],
    imports: Mapping[str, Import],
    passes: bool = False,
) -> Method:
    """The method as a value; what is wrong with its signature is reported.

    `passes` says whether it may take keyword inputs for its layers.
    """
    if ast.get_docstring(method) is not None and len(method.body) == 1:
        source.report(
            method,
            f"{method.name} holds nothing but a docstring",
            "Write what it does, or remove it.",
        )
    if method.name == "property":
        source.report(
            method,
            "`property` would hide Python's own from the properties that follow",
            "Give it another name.",
        )
    first = method.args.args[0].arg if method.args.args else None
    static = role is MethodRole.OWN and is_static(method)
    if first != "self" and not static:
        source.report(
            method,
            f"{method.name} must take self first",
            fix=with_self(source, method),
        )
    for decorator in [] if static else method.decorator_list:
        if dotted(decorator) != "property" or role is not MethodRole.PROPERTY:
            source.report(
                decorator,
                "a spec's methods have no decorators",
                fix=undecorated(source, decorator),
            )
    inputs: tuple[Input, ...] = ()
    returns = None
    if role is MethodRole.ENTRY:
        inputs = entry_inputs(source, method, imports, passes)
        returns = _entry_returns(source, method, imports)
    elif role in (MethodRole.UPDATE, MethodRole.STEP, MethodRole.VALUE):
        check_returns(source, method)
    elif role is MethodRole.OWN:
        check_defaults(source, method.args, imports)
    elif role in (MethodRole.HYPER, MethodRole.PROPERTY):
        check_defaults(source, method.args, imports)
        check_types(source, method)
    facts = _Facts(attributes)
    for statement in method.body:
        facts.visit(statement)
    return Method(
        method.name,
        role,
        docstring(method),
        inputs,
        returns,
        facts.training,
        tuple(facts.consumers),
        tuple(dict.fromkeys(facts.places)),
        tuple(dict.fromkeys(facts.calls)),
        tuple(dict.fromkeys(facts.assigns)),
        frozenset(facts.reads),
        *names_of(method),
        frozenset(facts.stored),
        frozenset(facts.compared),
        passes and method.args.kwarg is not None,
        tuple(_parameters(method)),
        inside=inside(method),
        handed=_handed(method, attributes),
        unasked=tuple(dict.fromkeys(facts.unasked)),
        taken_apart=tuple(dict.fromkeys(facts.taken_apart)),
        renewed=frozenset(facts.renewed),
        applies=facts.applies,
    )


def _parameters(method: ast.FunctionDef) -> Iterator[str]:
    given = method.args
    positional = [*given.posonlyargs, *given.args]
    required = len(positional) - len(given.defaults)
    for number, arg in enumerate(positional):
        if arg.arg != "self":
            yield arg.arg if number < required else f"{arg.arg}="
    for arg in (given.vararg, *given.kwonlyargs, given.kwarg):
        if arg is not None:
            yield f"{arg.arg}="


def names_of(node: ast.FunctionDef) -> tuple[frozenset[str], frozenset[str]]:
    """The identifiers of a method's text, and those among them that its body binds."""
    names: set[str] = set()
    bound: set[str] = set()
    own = {id(a) for a in walk(node.args) if isinstance(a, ast.arg)}
    for part in walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Load()):
                names.add(name)
                continue
            case ast.Name(id=name):
                pass
            case ast.arg(arg=name) if id(part) not in own:
                pass
            case ast.FunctionDef(name=name) if part is not node:
                pass
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                pass
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                pass
            case _:
                continue
        names.add(name)
        bound.add(name)
    return frozenset(names), frozenset(bound)


def _entry_returns(
    source: Source, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> ArrayType | None:
    check_returns(source, method)
    return read_result_type(source, method.returns, imports)


def check_returns(source: Source, method: ast.FunctionDef) -> None:
    """Report a path that returns nothing."""
    if not ends_in_return(method.body):
        source.report(
            method,
            f"{method.name} does not return on every path",
            "End it in `return y`.",
            fix=returned(source, method),
        )
    for node in _own_nodes(method):
        if isinstance(node, ast.Return) and node.value is None:
            source.report(node, f"{method.name} must return a value")


def _own_nodes(method: ast.FunctionDef):
    """The nodes of a method without those of nested functions."""
    pending: list[ast.AST] = list(method.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


def _handed(
    method: ast.FunctionDef, attributes: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The keyword inputs that a method hands to layers that `init` is given, with their fields."""
    nodes = list(walk(method))
    variables = {
        name: self_attribute(iterated)
        for node in nodes
        if isinstance(node, ast.For | ast.comprehension)
        for name, iterated in looped(node)
    }
    found = set()
    for call in nodes:
        if not isinstance(call, ast.Call):
            continue
        field = self_attribute(call.func) or indexed_attribute(call.func)
        if isinstance(call.func, ast.Name):
            field = variables.get(call.func.id)
        if field and attributes.get(field) in ("layer", "layers"):
            names = {k.arg for k in call.keywords if k.arg}
            found |= {(field, name) for name in names - {"key", ENTRY_POINT}}
    return tuple(sorted(found))


_DRAWING = ("container", "entry", "key", "keys", "layers", "own", "sub-layer")
"""What attributes are that may draw where they are called."""

_VALUES = ("entry", "layer", "own", "sub-layer")
"""What attributes are that may draw as functions that others call."""


class _Facts(ast.NodeVisitor):
    """What a body uses of self, in the order of the text."""

    def __init__(self, attributes: dict[str, str]):
        self.attributes = attributes
        self.training = False
        self.unasked: list[str] = []
        self.consumers: list[str] = []
        self.places: list[tuple[str, tuple[Step, ...]]] = []
        self.calls: list[str] = []
        self.assigns: list[str] = []
        self.reads: set[str] = set()
        self.stored: set[str] = set()
        self.compared: set[str] = set()
        self.asked: set[int] = set()
        """The nodes of attributes that are called, compared with None, or of which something is read."""
        self.taken_apart: list[tuple[str, int]] = []
        self.renewed: set[str] = set()
        self.applies = False

    def visit_Assign(self, node: ast.Assign) -> None:
        name = self_attribute(node.value)
        match node.targets:
            case [ast.Tuple(elts=names)] if name:
                if all(isinstance(n, ast.Name) for n in names):
                    self.taken_apart.append((name, len(names)))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit_For(node)

    def visit_For(self, node: ast.For | ast.comprehension) -> None:
        # A consumer for each of the fields that a loop runs over.
        for part in walk(node.iter):
            name = self_attribute(part)
            if name and self.attributes.get(name) in ("layers", "optimizers"):
                self.consumers.append(name)
                self._draws(name)
        self.generic_visit(node)

    def _draws(self, name: str | None) -> None:
        if name and not self.training and self.attributes.get(name) in _DRAWING:
            self.unasked.append(name)

    def visit_Call(self, node: ast.Call) -> None:
        name = self_attribute(node.func)
        self._draws(name or indexed_attribute(node.func))
        if name in ("key", "keys") or (
            name and self.attributes.get(name) == "optimizer"
        ):
            self.consumers.append(name)
        elif applied := self._applied(node):
            self.consumers.append(applied)
        elif place := self._place(node.func):
            self.places.append(place)
        elif name and self.attributes.get(name) in ("sub-layer", "layer"):
            self.consumers.append(name)
            self.calls.append(name)
        elif name and self.attributes.get(name) in ("entry", "own"):
            self.consumers.append(name)
        elif isinstance(node.func, ast.Subscript):
            name = indexed_attribute(node.func)
            if name and self.attributes.get(name) == "layers":
                self.consumers.append(name)
        self.asked.add(id(node.func))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        field = self_attribute(node.value)
        if field and isinstance(node.slice, ast.Constant):
            index = node.slice.value
            # Of two values or fewer, tests draw enough.
            if isinstance(index, int) and index > 1:
                self.taken_apart.append((field, index + 1))
        name = indexed_attribute(node)
        if name and self.attributes.get(name) == "container":
            self.reads.add(f"{name}.*")
        elif name and isinstance(node.ctx, ast.Store):
            self.assigns.append(name)
        self.generic_visit(node)

    def _place(self, node: ast.expr) -> tuple[str, tuple[Step, ...]] | None:
        """The place of a container that is called."""
        steps: list[Step] = []
        while isinstance(node, ast.Subscript):
            steps.insert(0, step_of(node.slice))
            node = node.value
        name = self_attribute(node) or ""
        held = self.attributes.get(name) == "container"
        return (name, tuple(steps)) if held else None

    def _applied(self, node: ast.Call) -> str | None:
        """The optimizer whose pure `apply` is called."""
        match node.func:
            case ast.Attribute(value=owner, attr="apply"):
                name = self_attribute(owner)
                return name if self.attributes.get(name or "") == "optimizer" else None
        return None

    def visit_Compare(self, node: ast.Compare) -> None:
        name = self_attribute(node.left)
        if name and compares_with_none(node):
            self.compared.add(name)
            self.asked.add(id(node.left))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self_attribute(node)
        self.asked.add(id(node.value))
        if name and self.attributes.get(name) in _VALUES and id(node) not in self.asked:
            # What `jax.vmap(self.layer)` makes, draws where the layer does.
            self.consumers.append(name)
            self._draws(name)
        if self.attributes.get(self_attribute(node.value) or "") == "stored":
            self.stored.add(node.attr)
            self.reads.add(node.attr)
            return
        owner = self_attribute(node.value) or ""
        owner = owner or indexed_attribute(node.value) or ""
        if self.attributes.get(owner) in ("sub-layer", "layers", "container"):
            # It may be a weight of the sub-layer.
            self.reads.add(f"{owner}.{node.attr}")
        sets = isinstance(node.ctx, ast.Store)
        self.applies |= node.attr == "apply"
        if self.attributes.get(owner) == "optimizer" and sets:
            self.renewed.add(owner)
        if name == "training":
            self.training = True
        elif name and sets:
            self.assigns.append(name)
        elif name:
            self.reads.add(name)
        self.generic_visit(node)
