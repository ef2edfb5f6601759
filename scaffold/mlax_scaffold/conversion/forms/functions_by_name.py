"""Functions and classes of libraries that settings name, `getattr(F, activation)`, as the settings.

def __init__(self, dim, act="relu"):           def __init__(self, dim, act=F.relu):
    self.act_fn = getattr(F, act)     becomes      self.act_fn = act

Classes that hand such a setting to each other are written together, where all of them name functions of one
module, and nothing else is done with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_functions_by_name(origin: Origin, thing: str) -> None:
    """Write them so, in place; of what is converted, those that are texts by default."""
    settings = {(s.owner, s.title): s for s in _settings(origin, thing)}
    handed = {id(v) for s in settings.values() for v in s.look(origin, settings)}
    for call in [p for p in walk(origin.tree) if isinstance(p, ast.Call)]:
        called = getattr(call.func, "id", "")
        spread = any(isinstance(a, ast.Starred) for a in call.args)
        if spread or any(k.arg is None for k in call.keywords):
            for made in settings.values():
                made.fits &= made.owner != called
        for place, value in _given(origin, call, called):
            if (called, place) in settings and id(value) not in handed:
                settings[called, place].take(value)
    before = None
    while before != (before := [(s.fits, len(s.modules)) for s in settings.values()]):
        for made in settings.values():
            for other in made.handed:
                both = {**made.modules, **other.modules}
                made.modules = other.modules = both
                made.fits = other.fits = made.fits and other.fits and len(both) < 2
    found = [s for s in settings.values() if s.fits and len(s.modules) == 1]
    swap = _Swap(origin)
    for made in found:
        [module] = made.modules.values()
        for text in made.texts:
            named = ast.Attribute(cloned(module), str(literal(text)), ast.Load())
            swap.others[id(text)] = named
        swap.read |= {id(title) for title in made.named}
        kind = made.argument.annotation
        if kind is not None:
            made.argument.annotation = ast.copy_location(
                ast.Name("Callable", ast.Load()), kind
            )
    swap.visit(origin.tree)
    located(origin.tree)


@dataclass
class _Setting:
    """A parameter of a constructor, or a field, that is a text where it is given or by default."""

    node: ast.ClassDef
    title: str
    argument: ast.arg | ast.AnnAssign
    texts: list[ast.expr]
    """What it is by default, and what it is given."""
    modules: dict[str, ast.expr] = field(default_factory=dict)
    """The modules whose functions it names, by their full names."""
    named: list[ast.expr] = field(default_factory=list)
    """Where it is read to name one."""
    handed: list[_Setting] = field(default_factory=list)
    """Others that are given it."""
    fits: bool = True

    @property
    def owner(self) -> str:
        """The class that has it."""
        return self.node.name

    def read_in(self, node: ast.AST) -> bool:
        """Whether a node of its class reads it."""
        if isinstance(self.argument, ast.AnnAssign):
            return self_attribute(node) == self.title
        return is_name(node, self.title) and isinstance(
            getattr(node, "ctx", None), ast.Load
        )

    def take(self, value: ast.expr) -> None:
        """Count what a call gives it."""
        self.fits &= _is_title(value)
        self.texts.append(value)

    def look(
        self, origin: Origin, others: Mapping[tuple[str, str], _Setting]
    ) -> Iterator[ast.expr]:
        """Find what its class does with it; yields where others are given it."""
        scope = self.node
        if isinstance(self.argument, ast.arg):
            scope = method_of(self.node, "__init__") or self.node
        known: set[int] = set()
        for part in walk(scope):
            match part:
                case ast.Call(
                    func=ast.Name(id="getattr"), args=[module, title], keywords=[]
                ) if self.read_in(title) and _is_module(origin, module):
                    self.modules[origin.qualified(module)] = module
                    self.named.append(title)
                    known.add(id(title))
                case ast.Call(func=ast.Name(id=called)):
                    for place, value in _given(origin, part, called):
                        other = others.get((called, place))
                        if other is not None and self.read_in(value):
                            self.handed.append(other)
                            known.add(id(value))
                            yield value
        self.fits &= all(id(p) in known for p in walk(scope) if self.read_in(p))


def _is_module(origin: Origin, node: ast.expr) -> bool:
    full = origin.qualified(node)
    return full in _MODULES


_MODULES = (
    *("torch", "torch.nn", "torch.nn.functional", "jax.nn", "jax.numpy"),
    *("flax.linen", "flax.nnx", "equinox.nn", "haiku"),
)


def _is_title(node: ast.expr) -> bool:
    said = literal(node)
    return isinstance(said, str) and said.isidentifier()


def _settings(origin: Origin, thing: str) -> Iterator[_Setting]:
    for node in origin.classes.values():
        found: list[tuple[str, ast.arg | ast.AnnAssign, ast.expr | None]] = []
        for part in node.body:
            match part:
                case ast.AnnAssign(target=ast.Name(id=title), value=text):
                    found.append((title, part, text))
        start = method_of(node, "__init__")
        if start is not None:
            known = defaults_of(start.args)
            given = [*start.args.args[1:], *start.args.kwonlyargs]
            found += [(a.arg, a, known.get(a.arg)) for a in given]
        for title, argument, text in found:
            if text is None and node.name != thing:
                yield _Setting(node, title, argument, [])
            elif text is not None and _is_title(text):
                yield _Setting(node, title, argument, [text])


def _given(
    origin: Origin, call: ast.Call, title: str
) -> Iterator[tuple[str, ast.expr]]:
    """What a call gives a class of the file, by the names of its parameters."""
    node = origin.classes.get(title)
    if node is None:
        return
    start = method_of(node, "__init__")
    places = [
        p.target.id
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]
    if start is not None:
        places = [a.arg for a in start.args.args[1:]]
    yield from zip(places, call.args, strict=False)
    for keyword in call.keywords:
        yield str(keyword.arg), keyword.value


class _Swap(NodeTransformer):
    """Puts functions in the place of texts, and settings in that of what names functions by them."""

    def __init__(self, origin: Origin):
        self.origin = origin
        self.others: dict[int, ast.expr] = {}
        self.read: set[int] = set()

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        made = self.others.get(id(node))
        return ast.copy_location(made, node) if made is not None else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[module, title]):
                if id(title) in self.read:
                    return title
                if _is_title(title) and _is_module(self.origin, module):
                    named = ast.Attribute(module, str(literal(title)), ast.Load())
                    return ast.copy_location(named, node)
        return node
