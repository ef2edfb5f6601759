"""What the class of an eager layer declares, and which of its calls draw.

Generated code splits the caller's key among the places of the text. The eager side does
the same: it compiles a method anew with every place numbered.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlax_scaffold.model.places import Member, Step, under
from mlax_scaffold.model.resolved import Change, resolved
from mlax_scaffold.reader.containers.declared import Form, declared_in, step_of
from mlax_scaffold.reader.containers.given import changes_of
from mlax_scaffold.reader.containers.resolving import resolve_class
from mlax_scaffold.reader.containers.uses import is_array_or_number
from mlax_scaffold.reader.makers import written_out
from mlax_scaffold.reader.numbering import numbered
from mlax_scaffold.reader.source import Source, indexed_attribute, self_attribute
from mlax_scaffold.spec.bases import without_super
from mlax_scaffold.spec.inputs import positional

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer

_ARRAYS = ("trainable", "state")


@dataclass(frozen=True)
class Several:
    """A list of sub-layers of one class."""

    layer: type[Layer]


Declared = Any
"""The kind of an array, the class of a sub-layer, `Several`, or `Tree`."""


@dataclass(frozen=True)
class Tree:
    """A list or a dictionary of layers and arrays, or one of several kinds of them."""

    members: tuple[Member, ...]

    @property
    def kinds(self) -> tuple[Any, ...]:
        """What may be in it, the layers of blocks included: classes, or kinds of arrays."""
        found = (n for m in self.members for n in (m.what, *m.nested))
        return tuple(dict.fromkeys(n for n in found if n is not None))

    @property
    def layers(self) -> tuple[type[Layer], ...]:
        return tuple(kind for kind in self.kinds if isinstance(kind, type))


@functools.cache
def declarations(owner: type[Layer]) -> dict[str, Declared]:
    """What `setup` declares, in order: the kind of array, or the sub-layers.

    Declarations with a condition are included: they keep their place in the order of
    keys where they are not made.
    """
    setup = methods(owner).get("setup")
    if setup is None:
        return {}
    found: dict[str, Declared] = {}
    kind_of = functools.partial(_kind, namespace=_names(owner))
    for name, declared in declared_in(setup, kind_of).items():
        kinds = [m.what for m in declared.members if m.what is not None]
        one = declared.form is Form.PLAIN or is_array_or_number(declared)
        match declared.form:
            case Form.PLAIN | Form.TREE if one:
                found[name] = kinds[0]
            case Form.ROW if isinstance(kinds[0], type):
                found[name] = Several(kinds[0])
            case Form.ROW | Form.TREE:
                found[name] = Tree(tuple(declared.members))
    return found


def entry_points(kind: type[Layer] | str) -> dict[str, int]:
    """The entry points of a layer, and how many inputs without a default each has; of an array, none."""
    entries = {} if isinstance(kind, str) else kind._entries_
    return {name: len(positional(entry)) for name, entry in entries.items()}


def _kind(call: ast.Call, namespace: dict[str, Any]) -> type[Layer] | str | None:
    return _declared(call.func, namespace)


@functools.cache
def methods(owner: type[Layer]) -> dict[str, ast.FunctionDef]:
    """The methods of a layer and those that it inherits, in which containers are resolved."""
    functions: dict[str, Any] = {}
    classes = [cls for cls in reversed(owner.__mro__) if "_fields_" in vars(cls)]
    for cls in classes:
        own = {n: v for n, v in vars(cls).items() if not n.startswith("__")}
        functions |= {n: v for n, v in own.items() if is_method(cls, v)}
        functions |= {n: f for n, f in cls._entries_.items() if n in own}
    functions |= {n: f for n, f in owner._methods_.items() if n not in functions}
    found: dict[str, ast.FunctionDef] = {}
    for name, value in functions.items():
        function = getattr(value, "__func__", value)
        (definition,) = parse(function).body
        assert isinstance(definition, ast.FunctionDef)
        found[name] = without_super(owner, name, function, definition)
    namespace = _names(owner)
    setup = found.get("setup")
    if setup is not None:
        for cls in reversed(classes):
            _with_base(setup, cls, owner)
        found["setup"] = _written_out(owner, found, namespace)
    if not _changes(owner, _as_class(found)):
        return found
    if len(classes) > 1 or found.get("setup") is not setup:
        text = ast.unparse(_as_class(found))
        tree = ast.parse(text)
        first = 1
    else:
        lines, first = inspect.getsourcelines(owner)
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text)
    node = tree.body[0]
    assert isinstance(node, ast.ClassDef)
    tree = ast.parse(resolved(text, _changes(owner, node, text)).text)
    ast.increment_lineno(tree, first - 1)
    node = tree.body[0]
    assert isinstance(node, ast.ClassDef)
    return {m.name: _bare(m) for m in node.body if isinstance(m, ast.FunctionDef)}


def _changes(owner: type[Layer], node: ast.ClassDef, text: str = "") -> list[Change]:
    """What to change in the methods of a layer: places of containers, names of layers that it is given."""
    kind_of = functools.partial(_kind, namespace=_names(owner))
    several, one = map(owner._fields_.holding, ("layers", "layer"))
    return [
        *resolve_class(node, kind_of, entry_points, text),
        *changes_of(node, several, one),
    ]


def _written_out(
    owner: type[Layer],
    found: dict[str, ast.FunctionDef],
    namespace: dict[str, Any],
) -> ast.FunctionDef:
    """`setup`, in which the functions that it calls declare where they are called."""
    modules = dict.fromkeys(
        c.__module__ for c in owner.__mro__ if "_fields_" in vars(c)
    )
    beside = [s for m in modules for s in _module_tree(m).body]
    helpers = [s for s in beside if isinstance(s, ast.FunctionDef | ast.Assign)]
    names = {cls.__name__ for cls in owner.__mro__ if "_fields_" in vars(cls)}
    fields = [
        statement
        for node in beside
        if isinstance(node, ast.ClassDef) and node.name in names
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    ]
    node = _as_class(found)
    node.bases, node.body = [ast.Name("Layer")], [*fields, *node.body]
    text = ast.unparse(ast.fix_missing_locations(ast.Module([*helpers, node], [])))
    source = Source(owner.__module__, text)
    declaring = {name for name in namespace if _declared(ast.Name(name), namespace)}
    made = written_out(source, declaring)
    if made is source:
        return found["setup"]
    *_, node = made.tree.body
    assert isinstance(node, ast.ClassDef)
    return next(
        m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "setup"
    )


@functools.cache
def _module_tree(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[name]))


def _as_class(found: dict[str, ast.FunctionDef]) -> ast.ClassDef:
    return ast.ClassDef("Layer", [], [], list(found.values()), [])


def _with_base(setup: ast.FunctionDef, cls: type[Layer], owner: type[Layer]) -> None:
    """What the base of a class declares, where its own `setup` begins with that."""
    outer = next((c for c in cls.__mro__[1:] if "setup" in vars(c)), None)
    if outer is None or "_fields_" not in vars(outer) or "setup" not in vars(cls):
        return
    for number, statement in enumerate(setup.body):
        text = ast.unparse(statement)
        if text.startswith("super(") and text.endswith(").setup()"):
            (base,) = parse(vars(outer)["setup"]).body
            assert isinstance(base, ast.FunctionDef)
            setup.body[number : number + 1] = base.body


def _names(owner: type[Layer]) -> dict[str, Any]:
    """The names of the modules of a class and its bases."""
    found: dict[str, Any] = {}
    for cls in reversed(owner.__mro__):
        setup = vars(cls).get("setup")
        if setup is not None and "_fields_" in vars(cls):
            found |= setup.__globals__
    return found


def is_method(owner: type, value: Any) -> bool:
    """Whether an attribute of a class is a function that is written in it."""
    if isinstance(value, staticmethod):
        value = value.__func__
    within = f"{owner.__qualname__}."
    return inspect.isfunction(value) and value.__qualname__.startswith(within)


def is_called(owner: type, name: str) -> bool:
    """Whether other methods of a class read one."""
    others = [f for n, f in vars(owner).items() if is_method(owner, f) and n != name]
    others = [getattr(f, "__func__", f) for f in others]
    return any(self_attribute(n) == name for f in others for n in ast.walk(parse(f)))


def module_of(owner: type[Layer], name: str) -> ast.Module:
    """A method as the only statement of a module of its own."""
    return ast.Module([copy.deepcopy(methods(owner)[name])], [])


@functools.cache
def draws(owner: type[Layer]) -> bool:
    """Whether `forward` of a layer draws keys, itself or through its sub-layers."""
    return reaches(owner, "forward")


def holds(owner: type[Layer], kind: str) -> bool:
    """Whether a layer or its sub-layers have arrays of a kind; those of a block may have."""
    return bool(owner._fields_.structural) or any(
        part == kind if isinstance(part, str) else holds(part, kind)
        for declared in declarations(owner).values()
        for part in kinds_of(declared)
    )


def takes_key(owner: Any) -> bool:
    """Whether a layer declares arrays, or layers that do."""
    return any(
        isinstance(part, str) or takes_key(part)
        for declared in declarations(owner).values()
        for part in kinds_of(declared)
    )


def kinds_of(declared: Declared) -> tuple[Any, ...]:
    """What may be in what is declared: classes, or kinds of arrays."""
    if isinstance(declared, Tree):
        return declared.kinds
    return (declared.layer if isinstance(declared, Several) else declared,)


def parse(function: Any) -> ast.Module:
    """The definition of a function, its annotations removed, with the lines of its file."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    _bare(definition)
    return tree


def _bare(definition: ast.FunctionDef) -> ast.FunctionDef:
    """A function without annotations and decorators."""
    # Annotations hold shapes, which are for readers and not for running.
    arguments = definition.args
    for argument in [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *filter(None, [arguments.kwarg]),
    ]:
        argument.annotation = None
    definition.returns = None
    definition.decorator_list = []
    return definition


def _declared(called: ast.expr, namespace: dict[str, Any]) -> type[Layer] | str | None:
    from mlax_scaffold.spec.layer import Layer

    if not isinstance(called, ast.Name):
        return None
    if called.id in _ARRAYS:
        return called.id
    value = namespace.get(called.id)
    return value if isinstance(value, type) and issubclass(value, Layer) else None


def call_draws(
    owner: type[Layer], call: ast.Call, variables: Mapping[str, str]
) -> bool:
    """Whether a call takes a key; `variables` are those of loops, with their fields."""
    name = self_attribute(call.func)
    if name in ("key", "keys") or name in owner._fields_.layers:
        return True
    if name in owner._methods_:
        return reaches(owner, name)
    if isinstance(call.func, ast.Name) and call.func.id in variables:
        return list_draws(owner, variables[call.func.id])
    if isinstance(call.func, ast.Subscript):
        name = indexed_attribute(call.func)
        if not isinstance(declarations(owner).get(name or ""), Tree):
            return list_draws(owner, self_attribute(call.func.value) or "")
    kind = declarations(owner).get(name) if name else None
    if isinstance(kind, Tree):
        return any(map(member_draws, members_at(kind, call.func)))
    return isinstance(kind, type) and draws(kind)


@functools.cache
def reaches(owner: type[Layer], name: str) -> bool:
    """Whether a method draws keys, itself or through others that it calls."""
    from mlax_scaffold.spec.effects import closures_alone

    found: list[str] = []
    pending = [name]
    while pending:
        here = pending.pop()
        if here in found:
            continue
        found.append(here)
        for node in ast.walk(methods(owner)[here]):
            called = self_attribute(node)
            if called is not None and called in owner._methods_:
                pending.append(called)

    def direct(call: ast.Call, variables: Mapping[str, str]) -> bool:
        name = self_attribute(call.func)
        return name not in owner._methods_ and call_draws(owner, call, variables)

    for here in found:
        tree = module_of(owner, here)
        (definition,) = tree.body
        assert isinstance(definition, ast.FunctionDef)
        if numbered(tree, direct, closures_alone(owner, definition)).places:
            return True
    return False


def kinds_at(tree: Tree, node: ast.expr) -> list[type[Layer]]:
    """The layers that may be at a place of a container."""
    return list(dict.fromkeys(m.what for m in members_at(tree, node)))


def member_draws(member: Member) -> bool:
    """Whether a layer in a container draws; of a block, its layers say it."""
    return any(map(_draws_itself, (member.what, *member.nested)))


def layer_draws(declared: Declared) -> bool:
    """Whether one of the layers that are declared draws."""
    if isinstance(declared, Tree):
        return any(
            member_draws(m) for m in declared.members if isinstance(m.what, type)
        )
    return any(draws(kind) for kind in kinds_of(declared) if isinstance(kind, type))


def _draws_itself(owner: type[Layer]) -> bool:
    if not owner._fields_.structural:
        return draws(owner)
    known = declarations(owner)
    nodes = [n for f in methods(owner).values() for n in ast.walk(f)]
    names = {self_attribute(n.func) for n in nodes if isinstance(n, ast.Call)}
    subs = [known[n] for n in names if n in known]
    return "key" in names or any(isinstance(s, type) and draws(s) for s in subs)


def members_at(tree: Tree, node: ast.expr) -> list[Member]:
    """The layers that may be at a place of a container, with those that they are given."""
    steps: list[Step] = []
    while isinstance(node, ast.Subscript):
        steps.insert(0, step_of(node.slice))
        node = node.value
    found = (m for m in under(tree.members, steps) if not m.steps)
    return [m for m in found if isinstance(m.what, type)]


def list_draws(owner: type[Layer], field: str) -> bool:
    kind = declarations(owner).get(field)
    if isinstance(kind, Several):
        return draws(kind.layer)
    return field in owner._fields_.holding("layers")
