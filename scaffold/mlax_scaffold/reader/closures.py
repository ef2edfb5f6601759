"""Finds the functions inside of a method that draw keys or change states, and what calls them.

A function that `lax.scan`, `jax.vmap` and their like call is given a key for each of its calls, and the
states before it: what runs it says how. Nodes are known by their identities.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.constructs import (
    CONSTRUCTS,
    NONE,
    SHOWN,
    Construct,
    Effect,
    argument,
    construct,
    functions_of,
)
from mlax_scaffold.reader.looping import looped
from mlax_scaffold.reader.source import (
    dotted,
    indexed_attribute,
    path_of,
    self_attribute,
)

_OF_LISTS = ("enumerate", "len", "reversed", "zip")
_OF_GIVEN = ("apply", "non_trainables", "trainables")
"""What a block reads of a layer that it is given, whose weights it hands on as they are."""
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_SEVERAL = (
    "Hand over the layers, `lax.switch(index, self.layers, x)`, or call each function and take one "
    "of the results, `jnp.stack([...])[index]`: those of a comprehension draw and change nothing."
)


@dataclass(frozen=True)
class Called:
    """A call that runs functions which draw or change states, or that makes one."""

    effect: Effect
    construct: Construct | None = None
    """None where the function itself is called."""
    functions: tuple[Effect, ...] = ()
    """What each function among its arguments does."""

    @property
    def runs(self) -> bool:
        return self.construct is None or not self.construct.makes


@dataclass
class Closures:
    """What is found in a method."""

    functions: dict[int, Effect] = field(default_factory=dict)
    """What nested functions do, and methods and sub-layers that are values."""
    places: dict[int, int] = field(default_factory=dict)
    """How many calls in each of them draw."""
    calls: dict[int, Called] = field(default_factory=dict)
    problems: list[tuple[ast.AST, str, str]] = field(default_factory=list)
    """Places, messages and hints of what cannot be threaded."""

    def __bool__(self) -> bool:
        return bool(self.functions)


Effects = Callable[[ast.AST], Effect]
"""What a call of an attribute of self does, one that stands there as a value, or an assignment to it."""


def closures(method: ast.FunctionDef, effects: Effects) -> Closures:
    """What a method has."""
    return _Reader(method, effects).read()


def effects_in(
    method: ast.FunctionDef,
    effects: Mapping[str, Effect],
    sequences: Collection[str],
    states: Collection[str],
    at: Callable[[ast.Subscript, Effect], Effect] = lambda called, whole: whole,
) -> Effects:
    """What the calls and values of a method do.

    Args:
        method: the method.
        effects: of a call of each attribute of self, and of the layers of a list; `name.apply` is that of
            `self.name.apply`.
        sequences: the attributes that are lists.
        states: those that can be assigned.
        at: what a call of what stands at a place of a container does, by what those of all of it do.
    """
    variables = {
        name: self_attribute(iterated) or ""
        for node in walk(method)
        if isinstance(node, ast.For | ast.comprehension)
        for name, iterated in looped(node)
        if self_attribute(iterated) in sequences
    }

    def effect(node: ast.AST) -> Effect:
        name = ""
        match node:
            case ast.Call(func=ast.Name(id=variable)):
                name = variables.get(variable, "")
            case ast.Call(func=ast.Subscript() as called):
                whole = effects.get(indexed_attribute(called) or "", NONE)
                return at(called, whole)
            case ast.Call(func=called):
                name = path_of(called) or ""
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                set_here = path_of(node) or indexed_attribute(node)
                return Effect(changes := set_here in states, own=changes)
            case ast.Attribute() if self_attribute(node) not in sequences:
                name = self_attribute(node) or ""
        return effects.get(name, NONE)

    return effect


class _Reader:
    def __init__(self, method: ast.FunctionDef, effects: Effects) -> None:
        self.method = method
        self.effects = effects
        self.found = Closures()
        self.parents: dict[ast.AST, ast.AST] = {}
        self.functions: list[ast.FunctionDef | ast.Lambda] = []
        self.values: list[ast.Attribute] = []
        """Methods and sub-layers as values."""
        self.named: dict[str, ast.AST] = {}
        """Nested functions, and values of locals that are bound once."""
        bound: dict[str, int] = {}
        for node in walk(method):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            match node:
                case ast.FunctionDef(name=name) if node is not method:
                    self.functions.append(node)
                    self.named[name] = node
                    bound[name] = bound.get(name, 0) + 1
                case ast.Lambda():
                    self.functions.append(node)
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    bound[name] = bound.get(name, 0) + 1
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.named.setdefault(name, value)
        self.bound = bound
        self.named = {n: v for n, v in self.named.items() if bound[n] == 1}
        called = {n.func for n in self.parents if isinstance(n, ast.Call)}
        for node in self.parents:
            if isinstance(node, ast.Attribute) and node not in called:
                outer = ast.Attribute | ast.Compare | ast.Subscript
                loads = isinstance(node.ctx, ast.Load) and self_attribute(node)
                owned = isinstance(self.parents[node], outer)
                if loads and not owned and self.effects(node):
                    self.values.append(node)

    def read(self) -> Closures:
        if not self.functions and not self.values:
            return self.found
        found = self.found.functions
        found.update({id(node): self.effects(node) for node in self.values})
        self.found.places.update(dict.fromkeys(map(id, self.values), 1))
        while True:
            new = {id(f): effect for f in self.functions if (effect := self._body(f))}
            if all(found.get(place) == effect for place, effect in new.items()):
                break
            found.update(new)
        if found:
            for node in list(self.parents):
                self._used(node)
        return self.found

    # What functions do

    def _body(self, function: ast.FunctionDef | ast.Lambda) -> Effect:
        body: list[ast.AST] = (
            [*function.body]
            if isinstance(function, ast.FunctionDef)
            else [function.body]
        )
        effect, places = NONE, 0
        for node in _own(body):
            here = self._node(node)
            effect, places = effect | here, places + here.draws
        self.found.places[id(function)] = places
        return effect

    def _node(self, node: ast.AST) -> Effect:
        if isinstance(node, ast.Call):
            effect = self.effects(node) | self.value(node.func)
            made = construct(node)
            if made is not None and not made.makes:
                for given in functions_of(node, made):
                    effect |= self.value(given)
            return effect
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return self.effects(node)
        return NONE

    def value(self, node: ast.AST | None) -> Effect:
        """What a call of the value of an expression does."""
        match node:
            case ast.Lambda() | ast.FunctionDef():
                return self.found.functions.get(id(node), NONE)
            case ast.Name(id=name):
                return self.value(self.named.get(name))
            case ast.Attribute():
                return self.found.functions.get(id(node), NONE)
            case ast.Call():
                made = construct(node)
                if made is not None and made.makes:
                    effect = NONE
                    for given in functions_of(node, made):
                        effect |= self.value(given)
                    return effect
        return NONE

    # Where they are used

    def _used(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._called(node)
                return
            case ast.Name(ctx=ast.Load()) | ast.Lambda() | ast.Attribute():
                pass
            case ast.FunctionDef() if effect := self.value(node):
                if self.bound[node.name] > 1:
                    self._problem(
                        node,
                        f"`{node.name}` {_does(effect)}, and is bound more than once",
                        "Give each function a name of its own.",
                    )
                self._decorated(node)
                return
            case _:
                return
        effect = self.value(node)
        if effect:
            self._placed(node, effect)

    def _called(self, node: ast.Call) -> None:
        effect = self.value(node.func)
        made = construct(node)
        if made is None:
            if effect:
                self.found.calls[id(node)] = Called(effect)
            return
        given = functions_of(node, made)
        both = [self.value(g) for g in given]
        whole = NONE
        for one in both:
            whole |= one
        for slot in made.pure:
            function = argument(node, slot)
            if function is not None and self.value(function):
                self._problem(
                    function,
                    f"what `{unparsed(node.func)}` asks whether to go on draws keys "
                    "or changes states",
                    "Do so in the body, and carry what the test needs.",
                )
        if not whole:
            return
        if whole.own and not made.threads:
            self._unthreaded(node, given)
            return
        self.found.calls[id(node)] = Called(whole, made, tuple(both))
        if made.makes:
            self._placed(node, whole)

    def _placed(self, node: ast.AST, effect: Effect) -> None:
        """Whether a function that draws or changes stands where it can be given what it needs."""
        parent = self.parents[node]
        if isinstance(parent, ast.keyword):
            parent = self.parents[parent]
        match parent:
            case ast.Call(func=called) if called is node:
                return
            case ast.Call():
                made = construct(parent)
                if made is not None and (
                    node in functions_of(parent, made)
                    or any(argument(parent, slot) is node for slot in made.pure)
                ):
                    return
            case ast.List() | ast.Tuple():
                outer = self.parents[parent]
                made = construct(outer)
                if made is None or not isinstance(outer, ast.Call):
                    pass
                elif node in functions_of(outer, made):
                    return
            case ast.Assign(targets=[ast.Name(id=name)]) if self.bound[name] == 1:
                return
        what = _does(effect)
        shown = unparsed(node)
        shown = "this function" if "\n" in shown or len(shown) > 40 else f"`{shown}`"
        self._problem(
            node,
            f"{shown} {what}, and cannot be threaded here",
            _SEVERAL
            if isinstance(parent, ast.ListComp)
            else f"Call it, or hand it to one of {SHOWN}.",
        )

    def _decorated(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            called: ast.AST = decorator
            match decorator:
                case ast.Call(func=function, args=[inner, *_]) if (
                    dotted(function) or ""
                ).rpartition(".")[2] == "partial":
                    called = inner
                case ast.Call(func=function):
                    called = function
            last = (dotted(called) or "").rpartition(".")[2]  # type: ignore[arg-type]
            made = CONSTRUCTS.get(last)
            if made is None or made.name or not made.makes:
                self._problem(
                    decorator,
                    f"`{node.name}` {_does(self.value(node))}, and is decorated",
                    "A function that does so takes `@jax.checkpoint` or `@jax.jit`; "
                    "call others where it is used.",
                )

    def _unthreaded(self, node: ast.Call, given: list[ast.expr]) -> None:
        shown, function = unparsed(node.func), unparsed(given[0])
        function = "function" if "\n" in function else function
        hint = (
            "Call it on the whole batch; or one element after the other: "
            f"`lax.map({function}, xs)`, whose elements see the states of those before."
        )
        message = (
            f"`{shown}` cannot carry a state: each element would have one of its own"
        )
        self._problem(node, message, hint)

    def _problem(self, node: ast.AST, message: str, hint: str) -> None:
        self.found.problems.append((node, message, hint))


def _does(effect: Effect) -> str:
    what = [
        *(["changes state"] if effect.changes else []),
        *(["draws keys"] if effect.draws else []),
    ]
    return " and ".join(what)


def _own(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            pending += ast.iter_child_nodes(node)


def inside(method: ast.FunctionDef) -> frozenset[str]:
    """Attributes of self that functions inside of a method use, and those that are values."""
    nodes = [*walk(method)]
    raw = {
        n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in _OF_GIVEN
    }
    values = {
        argument
        for n in nodes
        if isinstance(n, ast.Call) and dotted(n.func) not in _OF_LISTS
        for argument in n.args
    }
    inner = {
        part
        for node in nodes
        if isinstance(node, _FUNCTIONS) and node is not method
        for part in walk(node)
    }
    return frozenset(
        name
        for node in nodes
        if node not in raw and (name := self_attribute(node))
        if node in inner | values
    )
