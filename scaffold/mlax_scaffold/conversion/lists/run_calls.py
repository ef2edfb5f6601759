"""Values of a constructor that is run, and what the functions that it calls make."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from mlax_scaffold.conversion.lists.longer_lists import is_longer
from mlax_scaffold.conversion.lists.probed_shapes import (
    is_trial,
    made_of,
    of_layer,
    of_method,
    probe,
)
from mlax_scaffold.conversion.lists.run_leftovers import element_of, is_activation
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.arguments_of import beside_self
from mlax_scaffold.conversion.source.class_constants import constants_of
from mlax_scaffold.conversion.source.computed_literals import computed
from mlax_scaffold.conversion.source.kinds import ARRAYS_OF, LAYERS_OF, OBJECTS
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    names,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL
from mlax_scaffold.conversion.source.walking import cloned, walk

MODULE_LISTS = ("torch.nn.ModuleList", "torch.nn.ParameterList", "flax.nnx.List")
_MATHEMATICS: Mapping[str, Callable[..., object]] = {
    f"math.{f.__name__}": f
    for f in (math.ceil, math.floor, math.gcd, math.log, math.log2, math.pow, math.sqrt)
}


class UnknownError(Exception):
    """Something of the constructor is not to be told."""


class NeededError(UnknownError):
    """It depends on values of parameters."""

    def __init__(self, parameters: set[str]):
        super().__init__()
        self.parameters = parameters


class Returned(Exception):
    """What a function returns."""

    def __init__(self, value: ast.expr):
        super().__init__()
        self.value = value


class Continued(Exception):
    """A pass of a loop ends here."""


class RunCalls:
    """What is known of values."""

    origin: Origin
    known: Known
    methods: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, ast.expr]
    open: set[str]
    fresh: dict[str, ast.Assign]
    lists: dict[str, ast.List]
    out: list[ast.stmt]
    consumed: set[str]
    inner: dict[str, ast.FunctionDef]
    inside: int
    title: str
    structural: bool
    available: set[str]
    computed_of: dict[str, set[str]]

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Run statements one after the other."""
        raise NotImplementedError

    def held(self, node: ast.expr) -> ast.List | None:
        """What a list of layers holds; None of what is none."""
        if isinstance(node, ast.List):
            return node
        if not isinstance(node, ast.Call):
            return None
        if self.origin.qualified(node.func) not in MODULE_LISTS:
            return None
        given = node.args[0] if node.args else ast.List([], ast.Load())
        if isinstance(given, ast.ListComp | ast.GeneratorExp):
            made = ast.ListComp(given.elt, given.generators)
            given = ast.List([ast.Starred(made, ast.Load())], ast.Load())
        node.args = [given]
        return given if isinstance(given, ast.List) else None

    def list_of(self, node: ast.expr) -> ast.List | None:
        """The list that a statement makes longer."""
        if isinstance(node, ast.Name):
            value = self.known.names.get(node.id)
            return self.held(value) if value is not None else None
        return self.lists.get(self_attribute(node) or "")

    def need(self, node: ast.expr) -> None:
        """Ask for the parameters that something depends on, where they have values."""
        held = [self.lists.get(self_attribute(p) or "") for p in walk(node)]
        reads = [node, *(h for h in held if h is not None)]
        found = {n for r in reads for n in names(r)}
        if found := (found | self.behind(found)) & self.available:
            raise NeededError(found)

    def behind(self, found: Iterable[str]) -> set[str]:
        """What the locals of these names that are left open were computed of."""
        return {n for title in found for n in self.computed_of.get(title, ())}

    def is_structural(self, node: ast.stmt) -> bool:
        """Whether a statement makes lists longer, or binds what is bound before it."""
        for part in walk(node):
            match part:
                case ast.Call() if is_longer(part):
                    return True
                case ast.Name(id=title, ctx=ast.Store()) if (
                    title in self.known.names or title in self.open
                ):
                    return True
                case ast.AugAssign(target=target) if self.list_of(target) is not None:
                    return True
        return False

    def named(self, title: str) -> str:
        """The name that a local has in the constructor that is left."""
        taken = {*self.fresh, *self.open}
        if title not in taken:
            return title
        return next(
            f"{title}_{i}" for i in range(2, 1000) if f"{title}_{i}" not in taken
        )

    def makes_layer(self, node: ast.AST) -> bool:
        """Whether layers are made in a tree."""
        return any(
            isinstance(p, ast.Call)
            and (
                self.origin.qualified(p.func).startswith(LAYERS_OF)
                or (isinstance(p.func, ast.Name) and p.func.id in self.origin.classes)
                or self._is_class(
                    self.known.attributes.get(self_attribute(p.func) or "")
                )
            )
            for p in walk(node)
        )

    def _is_class(self, node: ast.expr | None) -> bool:
        """Whether what is called is a class of layers, of the file or one that is given."""
        return isinstance(node, ast.Name) and (
            node.id in self.origin.classes or node.id in self.open
        )

    def is_object(self, node: ast.expr) -> bool:
        """Whether an expression is a class or a function, which is there."""
        if isinstance(node, ast.Call):
            full = self.origin.qualified(node.func)
            title = getattr(node.func, "id", "")
            made = full.startswith(LAYERS_OF) or full == "functools.partial"
            return made or title in self.origin.classes
        return (
            isinstance(node, ast.Lambda)
            or self.origin.qualified(node).startswith((*OBJECTS, "functools.partial"))
            or getattr(node, "id", "") in {*self.origin.classes, *self.origin.functions}
        )

    def is_plain(self, node: ast.expr) -> bool:
        """Whether a value is one of numbers, classes and lists, which may be written twice."""
        if isinstance(node, ast.Lambda) or probe(self.origin, node) is not None:
            return True
        if is_activation(self.origin, node):
            return True
        if any(isinstance(p, ast.Name) and p.id in self.fresh for p in walk(node)):
            return False
        return not any(
            isinstance(p, ast.Call)
            and (
                self.origin.qualified(p.func).startswith(ARRAYS_OF)
                or self._is_class(p.func)
                or (
                    isinstance(p.func, ast.Attribute)
                    and self.origin.qualified(p.func).partition(".")[0]
                    not in ("math", "numpy")
                )
            )
            for p in walk(node)
        )

    def makes(self, function: ast.FunctionDef) -> bool:
        """Whether a function makes layers."""
        return function.name not in ("forward", "__call__") and self.makes_layer(
            function
        )

    def called(self, call: ast.Call) -> ast.expr | None:
        """What a call of a function of the file makes, where it makes layers, or computes with literals."""
        full = self.origin.qualified(call.func)
        tried = self._tried(call, full)
        if tried is not None:
            return tried
        if is_name(call.func, "len") and len(call.args) == 1:
            held = self.lists.get(self_attribute(call.args[0]) or "")
            plain = held is not None and not any(
                isinstance(e, ast.Starred) for e in held.elts
            )
            return ast.Constant(len(held.elts)) if held is not None and plain else None
        if full == "typing.cast" and len(call.args) == 2:
            return call.args[1]
        if full == "torch.linspace" and len(call.args) == 3:
            return _spaced(call.args)
        if full in _MATHEMATICS and not call.keywords:
            return computed(_MATHEMATICS[full], call.args)
        func = call.func
        if (
            isinstance(func, ast.Call)
            and self.origin.qualified(func.func) == "functools.partial"
        ):
            given = {k.arg for k in call.keywords}
            kept = [k for k in func.keywords if k.arg not in given]
            return self.known.visit(
                ast.Call(
                    func.args[0], [*func.args[1:], *call.args], [*kept, *call.keywords]
                )
            )
        if full in SEQUENTIAL or full in LAYERS:
            return None
        title = func.id if isinstance(func, ast.Name) else ""
        function = self.inner.get(title) or self.origin.functions.get(title)
        method = self.methods.get(self_attribute(func) or "")
        if (function is None and method is None) or self.inside > 8:
            return None
        chosen = function or method
        assert chosen is not None
        literals = all(
            not isinstance(literal(a), ast.AST)
            for a in (*call.args, *(k.value for k in call.keywords))
        )
        tries = any(is_trial(self.origin, p) for p in walk(chosen))
        if tries and method is not None and not literals:
            self.need(call)
        own = method is not None and method.name not in ("forward", "__call__")
        computes = literals and (function is not None or own)
        if not self.makes(chosen) and not computes:
            return None
        before = len(self.out)
        try:
            made = self.body_of(chosen, call)
        except UnknownError as error:
            if self.makes(chosen) and (
                method is not None or isinstance(error, NeededError)
            ):
                raise
            del self.out[before:]
            return None
        if method is not None:
            self.consumed.add(method.name)
        return made

    def _tried(self, call: ast.Call, full: str) -> ast.expr | None:
        """What a layer or a method makes of an array that the constructor tries it with."""
        func = call.func
        if full == "numpy.prod" and len(call.args) == 1:
            sizes = literal(call.args[0])
            known = isinstance(sizes, tuple | list)
            return ast.Constant(math.prod(sizes)) if known else None  # type: ignore[arg-type]
        if isinstance(func, ast.Attribute):
            shape = probe(self.origin, func.value)
            if shape is not None:
                return of_method(call, shape)
        attribute = self_attribute(func)
        if not attribute or len(call.args) != 1 or attribute in self.methods:
            return None
        layer = self.set_to(attribute)
        if layer is None or not is_trial(self.origin, call.args[0]):
            return None
        shape = probe(self.origin, call.args[0])
        if shape is None:
            self.need(call.args[0])
            return None
        self.need(layer)
        made = of_layer(self.origin, layer, shape, self._named_layer)
        if made is None:
            return None
        self.structural = True
        self.origin.tried.setdefault(self.title, shape)
        return made_of(call.args[0], made)

    def read_of(self, node: ast.Attribute) -> ast.expr | None:
        """What an attribute is: the sizes of an array that is tried, or a number of a part that was made."""
        shape = probe(self.origin, node.value) if node.attr == "shape" else None
        if shape is not None:
            return expression(repr(shape))
        named = self.origin.classes.get(getattr(node.value, "id", ""))
        if named is not None:
            return constants_of(named).get(node.attr)
        made = self.set_to(self_attribute(node.value) or "")
        local = self.fresh.get(getattr(node.value, "id", ""))
        made = local.value if local is not None else made
        if isinstance(node.value, ast.Subscript):
            held = self.list_of(node.value.value)
            made = element_of(held, literal(node.value.slice)) if held else None
        title = getattr(made.func, "id", "") if isinstance(made, ast.Call) else ""
        owner = self.origin.classes.get(title)
        if owner is None or title == self.title or self.inside > 8:
            return None
        assert isinstance(made, ast.Call)
        value = self.number_of(owner, made, node.attr)
        if value is None:
            self.need(made)
        return value

    def number_of(
        self, owner: ast.ClassDef, call: ast.Call, attribute: str
    ) -> ast.expr | None:
        """What an attribute of an object is, where its constructor tells."""
        raise NotImplementedError

    def set_to(self, attribute: str) -> ast.expr | None:
        """What the constructor has made an attribute."""
        for part in reversed(self.out):
            match part:
                case ast.Assign(targets=[target], value=value):
                    if self_attribute(target) == attribute:
                        return value
        return None

    def _named_layer(self, title: str) -> ast.expr | None:
        stored = self.fresh.get(title)
        return stored.value if stored is not None else None

    def body_of(self, function: ast.FunctionDef, call: ast.Call) -> ast.expr | None:
        given = function.args
        if self_attribute(call.func) and "staticmethod" not in map(
            ast.unparse, function.decorator_list
        ):
            given = beside_self(given)
        bound = _bound(given, call)
        saved = self.known.names
        around = saved if function in self.inner.values() else self.constants
        self.known.names = {**around, **bound}
        self.inside += 1
        try:
            self.statements(without_docstring(function.body))
        except Returned as returned:
            return returned.value
        finally:
            self.inside -= 1
            self.known.names = saved
        return None


def _bound(given: ast.arguments, call: ast.Call) -> dict[str, ast.expr]:
    places = [a.arg for a in given.args]
    if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > len(
        places
    ):
        raise UnknownError
    late = places[len(places) - len(given.defaults) :]
    bound: dict[str, ast.expr] = dict(zip(late, given.defaults, strict=True))
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    bound |= {a.arg: d for a, d in named if d is not None}
    bound |= dict(zip(places, call.args, strict=False))
    bound |= {str(k.arg): k.value for k in call.keywords}
    wanted = {*places, *(a.arg for a in given.kwonlyargs)}
    if set(bound) != wanted:
        raise UnknownError
    return bound


def _spaced(args: Sequence[ast.expr]) -> ast.expr | None:
    first, last, count = args
    steps = literal(count)
    if literal(first) != 0 or type(steps) is not int or steps < 1:
        return None
    end, parts = literal(last), []
    for i in range(steps):
        share = i / max(steps - 1, 1)
        if isinstance(end, int | float):
            parts.append(ast.Constant(end * share))
        else:
            parts.append(ast.BinOp(cloned(last), ast.Mult(), ast.Constant(share)))
    return ast.List(parts, ast.Load())
