"""What runs when a rendered file is imported: imports, definitions, and expressions on the list."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.import_time import (
    ENUMERATIONS,
    NAMED_TUPLE,
    STATIC_MODULES,
    Refused,
    check_annotation,
    check_constant,
    check_member,
    check_value,
    inlined,
    is_initializer,
    meaning,
)
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.model.wrappers import check_wrapper, is_rule
from mlax_scaffold.render.gate.bases import is_base


class GateFault(MlaxScaffoldError):
    """Generated code is not what the spec says: a fault of the generator, and nothing is written."""


_LIBRARIES = (*STATIC_MODULES, "jax")
_OF_TESTS = (*_LIBRARIES, "hypothesis", "mlax_scaffold", "pytest")
"""What generated modules, and generated tests, may import beside their own package."""
_DECORATORS = ("._core.static.static",)
_OF_FUNCTIONS = ("._core.scopes.applied_by", "._core.scopes.scoped")
"""Decorators that are called with a class of the module, or with a name."""
_OF_METHODS = ("property",)
_TEST_OWNERS = ("hypothesis.", "mlax_scaffold.testing.", "pytest.mark.")
"""What decorators of tests may call: they draw, and run nothing that a spec says."""
_CONTRACTS = "mlax_scaffold.testing.kinds."
"""The decorators of functions that pick cases, which run when a test does."""


def check_import(
    file: Rendered,
    package: str,
    constants: Collection[str] = (),
    modules: Collection[str] = (),
) -> None:
    """Refuse a file that would run anything else when it is imported.

    Args:
        file: a module of the package, or one of its tests.
        package: the package's dotted name.
        constants: names that the module may bind to constants: those of its spec.
        modules: what its spec imports: modules of one's own, and of installed packages.

    Raises:
        GateFault: at the first such statement or expression.
    """
    libraries = {*_LIBRARIES, *(module.partition(".")[0] for module in modules)}
    _Gate(
        file, package, libraries - {"", "mlax_scaffold"}, frozenset(constants)
    ).check()


def check_test_import(
    file: Rendered, package: str, modules: Collection[str] = ()
) -> None:
    """The same for tests, which are collected before they run, and draw what they are given.

    `modules` are those of plugins that draw the values of words.
    """
    libraries = {*_OF_TESTS, *(module.partition(".")[0] for module in modules)}
    _TestGate(file, package, libraries).check()


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
    wrapped: dict[str, str] = field(default_factory=dict)
    """Functions of the module with decorators of `WRAPPERS`."""
    constants: dict[str, ast.expr] = field(default_factory=dict)
    """Values of the module's constants so far, with no other constant in them."""
    tuples: set[str] = field(default_factory=set)
    """The NamedTuples of the module so far."""

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
                own = [d for d in node.decorator_list if not self._wraps(name, d)]
                self._function(node, self.meanings, (), own)
                self._bind(node, name, f".here.{name}")
            case ast.Expr(value=ast.Call()) if is_rule(
                node, self.wrapped, self.meanings
            ):
                pass
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
        self._let(self._constant_of(self.meanings), value)
        self._bind(node, name, f".here.{name}")
        self.constants[name] = value

    def _constant_of(self, scope: Mapping[str, str]) -> Callable[[ast.expr], None]:
        return partial(check_constant, meanings=scope, tuples=self.tuples)

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
            if not is_base(base, self.meanings):
                raise self._fault(base)
        self._decorators(node.decorator_list, self.meanings, _DECORATORS)
        bases = {self._path(base) for base in node.bases}
        enumeration = bool(bases & set(ENUMERATIONS))
        # Python calls methods of these, such as `_missing_`, where it makes the class.
        small = enumeration or NAMED_TUPLE in bases
        if NAMED_TUPLE in bases:
            self.tuples.add(node.name)
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
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    enumeration and name[0] != "_"
                ):
                    self._let(lambda part: check_member(part, self.meanings), value)
                    scope[name] = f".here.{node.name}.{name}"
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    name in self.expected
                ):
                    self._let(self._constant_of(scope), value)
                    scope[name] = f".here.{node.name}.{name}"
                case ast.FunctionDef(name=name) if name[0] != "_" or not small:
                    self._function(item, scope, _OF_METHODS)
                    scope[name] = f".here.{node.name}.{name}"
                case _:
                    raise self._fault(item)

    def _function(
        self,
        node: ast.FunctionDef,
        scope: Mapping[str, str],
        decorators: Collection[str],
        given: list[ast.expr] | None = None,
    ) -> None:
        given = node.decorator_list if given is None else given
        self._decorators(given, scope, decorators)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._value(default, scope)
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                self._annotation(arg.annotation)
        self._annotation(node.returns)

    def _wraps(self, name: str, decorator: ast.expr) -> bool:
        """Whether a decorator of a function runs nothing of it, or gives another one a rule."""
        match decorator:
            case ast.Attribute(value=ast.Name(id=owner), attr="defjvp"):
                return self.wrapped.get(owner) == "jax.custom_jvp"
        try:
            self.wrapped[name] = check_wrapper(decorator, self.meanings)
        except Refused:
            return False
        return True

    def _decorators(
        self,
        decorators: list[ast.expr],
        scope: Mapping[str, str],
        allowed: Collection[str],
    ) -> None:
        for decorator in decorators:
            match decorator:
                case ast.Call(func=made, args=arguments, keywords=[]) if (
                    meaning(made, scope) in _OF_FUNCTIONS
                ):
                    if all(_is_own(argument, scope) for argument in arguments):
                        continue
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
    own: set[str] = field(default_factory=set)
    """The spec that is found, and the contract of the function that picks cases."""

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="SPEC" as name)],
                value=ast.Call(
                    func=function,
                    args=[ast.Constant(value=str())],
                    keywords=[
                        ast.keyword(arg="near", value=ast.Name(id="__file__")),
                        *named,
                    ],
                ),
            ) if self._path(function) == "mlax_scaffold.testing.oracle.find_spec" and (
                all(isinstance(k.value, ast.Constant) for k in named)
            ):
                self.own.add(name)
                return
        super()._statement(node)
        match node:
            case ast.FunctionDef(
                name=name, decorator_list=[ast.Call(func=function)]
            ) if (self._path(function) or "").startswith(_CONTRACTS):
                self.own.add(name)

    def _decorators(
        self,
        decorators: list[ast.expr],
        scope: Mapping[str, str],
        allowed: Collection[str],
    ) -> None:
        for decorator in decorators:
            self._drawn(decorator)

    def _is_own(self, node: ast.expr) -> bool:
        """Whether it is the name of something of the package."""
        named = isinstance(node, ast.Name | ast.Attribute)
        return named and (self._path(node) or "").startswith(".")

    def _drawn(self, node: ast.expr) -> None:
        """A strategy, a table of values, or a decorator: nothing of a spec but its literals."""
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self._drawn(item)
            case ast.Call(func=function, args=args, keywords=keywords):
                path = self._path(function) or ""
                if path != "float" and not path.startswith(_TEST_OWNERS):
                    raise self._fault(function)
                values = (*args, *(keyword.value for keyword in keywords))
                for value in values:
                    # A contract names what it is of; it is not called.
                    if not (path.startswith(_CONTRACTS) and self._is_own(value)):
                        self._drawn(value)
            case ast.Dict(keys=keys, values=values):
                for item in (*keys, *values):
                    self._drawn(item or node)
            case ast.Lambda(args=ast.arguments(defaults=[], kw_defaults=[])):
                pass  # a predicate: it runs when a test does
            case ast.Name(id=name) if name in self.own:
                pass
            case ast.Name() | ast.Attribute():
                path = self._path(node) or ""
                if path != "str" and not path.startswith(_TEST_OWNERS):
                    self._value(node, self.meanings)
            case _:
                self._value(node, self.meanings)


def _is_own(node: ast.expr, scope: Mapping[str, str]) -> bool:
    """Whether an argument is a literal, or defined in the module itself."""
    own = meaning(node, scope) or ""
    return isinstance(node, ast.Constant) or own.startswith(".here.")
