"""What runs when a rendered file is imported: imports, definitions, and expressions on the list."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.import_time import (
    Refused,
    check_annotation,
    check_constant,
    check_value,
    inlined,
    is_initializer,
    meaning,
)
from mlax_scaffold.model.project import Rendered


class GateFault(MlaxScaffoldError):
    """Generated code is not what the spec says: a fault of the generator, and nothing is written."""


_LIBRARIES = ("__future__", "collections", "functools", "jax", "math", "typing")
_OF_TESTS = (*_LIBRARIES, "hypothesis", "mlax_scaffold", "pytest")
"""What generated modules, and generated tests, may import beside their own package."""
_BASES = (
    "typing.NamedTuple",
    ".graph._block.BlockModule",
    ".graph._layer.LayerModule",
    ".graph._recurrent.RecurrentModule",
)
_DECORATORS = ("._core.static.static",)
_OF_METHODS = ("property",)
_TEST_OWNERS = ("hypothesis.", "mlax_scaffold.testing.", "pytest.mark.")
"""What decorators of tests may call: they draw, and run nothing that a spec says."""


def check_import(file: Rendered, package: str, constants: Collection[str] = ()) -> None:
    """Refuse a file that would run anything else when it is imported.

    Args:
        file: a module of the package, or one of its tests.
        package: the package's dotted name.
        constants: names that the module may bind to constants: those of its spec.

    Raises:
        GateFault: at the first such statement or expression.
    """
    _Gate(file, package, _LIBRARIES, frozenset(constants)).check()


def check_test_import(file: Rendered, package: str) -> None:
    """The same for tests, which are collected before they run, and draw what they are given."""
    _TestGate(file, package, _OF_TESTS).check()


def parsed(file: Rendered) -> ast.Module:
    """The syntax tree of a rendered file.

    Raises:
        GateFault: it is not Python.
    """
    try:
        return ast.parse(file.text)
    except SyntaxError as error:
        raise GateFault(f"{file.path}:{error.lineno}: {error.msg}") from error
    except ValueError as error:  # a null byte
        raise GateFault(f"{file.path}: {error}") from error


@dataclass
class _Gate:
    file: Rendered
    package: str
    libraries: Collection[str]
    expected: frozenset[str] = frozenset()
    """Names of the constants that the module may have."""
    meanings: dict[str, str] = field(default_factory=dict)
    """What names of the module stand for; those of the package begin with a dot."""
    constants: dict[str, ast.expr] = field(default_factory=dict)
    """Values of the module's constants so far, with no other constant in them."""

    def check(self) -> None:
        for node in parsed(self.file).body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    self._module(node, alias.name)
                    self._bind(
                        node, alias.asname or top, alias.name if alias.asname else top
                    )
            case ast.ImportFrom(module=str(module), names=names, level=0):
                self._module(node, module)
                for alias in names:
                    self._module(node, f"{module}.{alias.name}")
                    found = self._own(f"{module}.{alias.name}")
                    self._bind(node, alias.asname or alias.name, found)
            case ast.ClassDef(name=name):
                self._class(node)
                self._bind(node, name, f".here.{name}")
            case ast.FunctionDef(name=name):
                self._function(node, self.meanings, ())
                self._bind(node, name, f".here.{name}")
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=names)
            ) if all(isinstance(name, ast.Constant) for name in names):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name in self.expected
            ):
                self._constant(node, name, value)
            case ast.AnnAssign(
                target=ast.Name(id=name), value=ast.expr() as value, simple=1
            ) if name in self.expected:
                self._annotation(node.annotation)
                self._constant(node, name, value)
            case ast.Expr(value=ast.Constant(value=str())) if node.lineno <= _FIRST:
                pass
            case _:
                raise self._fault(node)

    def _constant(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        """A constant of the spec. Those before it stand in it as their values."""
        value = inlined(value, self.constants)
        self._let(lambda part: check_constant(part, self.meanings), value)
        self._bind(node, name, f".here.{name}")
        self.constants[name] = value

    def _module(self, node: ast.stmt, module: str) -> None:
        top, *parts = module.split(".")
        if self._own(module).startswith(".") or top == "__future__":
            return
        # What is private in a library is nobody's to import.
        private = any(part.startswith("_") for part in parts)
        if top not in self.libraries or (private and top != "mlax_scaffold"):
            raise self._fault(node)

    def _own(self, path: str) -> str:
        """The path; from the package, with a dot in its place."""
        inside = path == self.package or path.startswith(f"{self.package}.")
        return f".{path[len(self.package) + 1 :]}" if inside else path

    def _bind(self, node: ast.stmt, name: str, stands_for: str) -> None:
        """A name has one meaning in a module: what was looked at before stays what it was."""
        if name == "*" or self.meanings.setdefault(name, stands_for) != stands_for:
            raise self._fault(node)

    def _class(self, node: ast.ClassDef) -> None:
        for base in (*node.bases, *(k.value for k in node.keywords)):
            if self._path(base) not in _BASES:
                raise self._fault(base)
        self._decorators(node.decorator_list, self.meanings, _DECORATORS)
        scope = dict(self.meanings)
        for item in node.body:
            match item:
                case ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name), simple=1):
                    self._annotation(item.annotation)
                    if item.value is not None:
                        self._class_value(item.value, scope)
                    scope[name] = f".here.{node.name}.{name}"
                case ast.FunctionDef(name=name):
                    self._function(item, scope, _OF_METHODS)
                    scope[name] = f".here.{node.name}.{name}"
                case _:
                    raise self._fault(item)

    def _function(
        self,
        node: ast.FunctionDef,
        scope: Mapping[str, str],
        decorators: Collection[str],
    ) -> None:
        self._decorators(node.decorator_list, scope, decorators)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._value(default, scope)
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                self._annotation(arg.annotation)
        self._annotation(node.returns)

    def _decorators(
        self,
        decorators: list[ast.expr],
        scope: Mapping[str, str],
        allowed: Collection[str],
    ) -> None:
        for decorator in decorators:
            if meaning(decorator, scope) not in allowed:
                raise self._fault(decorator)

    def _path(self, node: ast.expr) -> str | None:
        return meaning(node, self.meanings)

    def _annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            self._let(check_annotation, node)

    def _class_value(self, node: ast.expr, scope: Mapping[str, str]) -> None:
        """The attributes of module classes: tables, and what their sub-layers declare."""
        match node:
            case ast.Dict(keys=keys, values=values):
                for key in keys:
                    if not isinstance(key, ast.Constant):
                        raise self._fault(key or node)
                for value in values:
                    self._class_value(value, scope)
            case ast.List(elts=items):
                for item in items:
                    self._class_value(item, scope)
            case ast.Name(id="pure"):
                if not scope.get("pure", "").startswith("."):
                    raise self._fault(node)
            case ast.Attribute(value=ast.Name(id=name), attr="declarations"):
                if not scope.get(name, "").startswith(".graph."):
                    raise self._fault(node)
            case _:
                self._value(node, scope)

    def _value(self, node: ast.expr, scope: Mapping[str, str]) -> None:
        node = inlined(node, self.constants)
        if not is_initializer(node, scope):
            self._let(lambda value: check_value(value, scope), node)

    def _let(self, check: Callable[[ast.expr], None], node: ast.expr) -> None:
        try:
            check(node)
        except Refused as refused:
            raise self._fault(refused.node) from refused

    def _fault(self, node: ast.stmt | ast.expr) -> GateFault:
        text = ast.unparse(node).split("\n")[0]
        return GateFault(
            f"{self.file.path}:{node.lineno}: `{text}` may not run at import"
        )


_FIRST = 3
"""The last line that the docstring of a module can begin on: below the header."""


@dataclass
class _TestGate(_Gate):
    strategies: set[str] = field(default_factory=set)
    """Functions of the module that make a strategy, and run when it is drawn from."""

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="SPEC")],
                value=ast.Call(
                    func=function,
                    args=[ast.Constant(value=str())],
                    keywords=[ast.keyword(arg="near", value=ast.Name(id="__file__"))],
                ),
            ) if self._path(function) == "mlax_scaffold.testing.oracle.find_spec":
                return
        super()._statement(node)
        match node:
            case ast.FunctionDef(
                name=name, decorator_list=[ast.Attribute() as made]
            ) if self._path(made) == "hypothesis.strategies.composite":
                self.strategies.add(name)

    def _decorators(
        self,
        decorators: list[ast.expr],
        scope: Mapping[str, str],
        allowed: Collection[str],
    ) -> None:
        for decorator in decorators:
            self._drawn(decorator)

    def _drawn(self, node: ast.expr) -> None:
        """A strategy, a table of values, or a decorator: nothing of a spec but its literals."""
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self._drawn(item)
            case ast.Call(func=function, args=args, keywords=keywords):
                path = self._path(function) or ""
                known = (
                    path == "float" or path.removeprefix(".here.") in self.strategies
                )
                if not known and not path.startswith(_TEST_OWNERS):
                    raise self._fault(function)
                for value in (*args, *(keyword.value for keyword in keywords)):
                    self._drawn(value)
            case ast.Lambda(args=ast.arguments(defaults=[], kw_defaults=[])):
                pass  # a predicate: it runs when a test does
            case ast.Name() | ast.Attribute():
                path = self._path(node) or ""
                if path != "str" and not path.startswith(_TEST_OWNERS):
                    self._value(node, self.meanings)
            case _:
                self._value(node, self.meanings)
