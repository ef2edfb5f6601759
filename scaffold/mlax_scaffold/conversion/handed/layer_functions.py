"""Functions that make layers, written out where a constructor calls them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping

from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    names,
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_STARTS = ("__init__", "setup")


def written_out(origin: Origin, node: ast.ClassDef, layers: Collection[str]) -> None:
    """Write what such functions return into the constructor of a class, in place.

    `*block(3, 8)` becomes the list that `block` returns, and `conv(3, 8)` the sequence.

    Args:
        origin: the file.
        node: the class.
        layers: the full names of what makes layers.
    """
    for start in node.body:
        if not isinstance(start, ast.FunctionDef) or start.name not in _STARTS:
            continue
        local = {
            f.name: f
            for f in start.body
            if isinstance(f, ast.FunctionDef) and not f.decorator_list
        }
        listed = {
            n: f
            for n, f in {**origin.functions, **local}.items()
            if _makes(origin, f, layers)
        }
        methods = {
            m.name: _without_self(m)
            for m in node.body
            if isinstance(m, ast.FunctionDef)
            and m is not start
            and m.name not in ("forward", "__call__")
            and _makes(origin, m, layers)
        }
        calls = _Calls(origin, listed, local, layers, methods)
        for _ in range(4):
            # What is written out may call another one.
            calls.found = False
            calls.visit(start)
            if not calls.found:
                break
        used = {
            n.id
            for s in start.body
            if not isinstance(s, ast.FunctionDef)
            for n in walk(s)
            if isinstance(n, ast.Name)
        }
        start.body = [
            s
            for s in start.body
            if not (isinstance(s, ast.FunctionDef) and s.name not in used)
        ]
        located(start)
        if calls.written:
            read = {self_attribute(p) for p in walk(node)}
            node.body = [
                m
                for m in node.body
                if getattr(m, "name", "") not in calls.written - read
            ]


def _without_self(method: ast.FunctionDef) -> ast.FunctionDef:
    """A method as a function of what it is given beside the object."""
    made = copy.copy(method)
    static = any(ast.unparse(d) == "staticmethod" for d in method.decorator_list)
    made.args = copy.copy(method.args)
    made.args.args = method.args.args[0 if static else 1 :]
    return made


def _makes(origin: Origin, node: ast.AST, layers: Collection[str]) -> bool:
    return any(
        isinstance(part, ast.Call)
        and (
            origin.qualified(part.func) in layers
            or (isinstance(part.func, ast.Name) and part.func.id in origin.classes)
        )
        for part in walk(node)
    )


def _makes_one(origin: Origin, node: ast.expr, layers: Collection[str]) -> bool:
    """Whether a value is a layer that is made here."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Name) and func.id in origin.classes:
        return True
    return func is not None and origin.qualified(func) in layers


class _Calls(NodeTransformer):
    """Writes calls out."""

    def __init__(
        self,
        origin: Origin,
        known: Mapping[str, ast.FunctionDef],
        local: Mapping[str, ast.FunctionDef],
        layers: Collection[str],
        methods: Mapping[str, ast.FunctionDef],
    ):
        self.origin, self.known, self.local = origin, known, local
        self.layers, self.methods = layers, methods
        self.found = False
        self.written: set[str] = set()
        """Methods that were written out."""
        self.inside = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name not in self.local:
            self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1
        args: list[ast.expr] = []
        for arg in node.args:
            inner = arg.value if isinstance(arg, ast.Starred) else None
            args += inner.elts if isinstance(inner, ast.List | ast.Tuple) else [arg]
        node.args = args
        function = self.known.get(getattr(node.func, "id", ""))
        method = self_attribute(node.func) or ""
        if self.inside:
            # What is set to an attribute as it is is read where it is called.
            function = function or self.methods.get(method)
        if function is None:
            return node
        made = self._returned(function, node)
        if made is None:
            return node
        known = isinstance(made, ast.List) or _makes_one(self.origin, made, self.layers)
        if not known and function.name not in self.local:
            return node
        self.found = True
        self.written |= {method} & self.methods.keys()
        for part in walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return made

    def _returned(self, function: ast.FunctionDef, call: ast.Call) -> ast.expr | None:
        """What a call returns, where the function only lists layers; None for others."""
        known = bound_arguments(function, call)
        if known is None:
            return None
        lists: dict[str, list[ast.expr]] = {}
        for part in without_docstring(function.body):
            match part:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=elts)):
                    lists[name] = [replaced(cloned(e), known) for e in elts]
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    known[name] = replaced(cloned(value), known)
                case ast.Return(value=ast.expr() as value):
                    return _settled(_filled(replaced(cloned(value), known), lists))
                case ast.If() | ast.Expr() | ast.AugAssign():
                    if not self._grown(part, known, lists, None):
                        return None
                case _:
                    return None
        return None

    def _grown(
        self,
        node: ast.stmt,
        known: Mapping[str, ast.expr],
        lists: dict[str, list[ast.expr]],
        condition: ast.expr | None,
    ) -> bool:
        """Whether a statement only makes lists longer, which is then done."""
        if isinstance(node, ast.If):
            test = _settled(replaced(cloned(node.test), known))
            decided = _decided(test)
            if decided is not None:
                body = node.body if decided else node.orelse
                return all(self._grown(s, known, lists, condition) for s in body)
            if condition is not None or node.orelse:
                return False
            return all(self._grown(s, known, lists, test) for s in node.body)
        place, given = _longer(node)
        if place not in lists or given is None:
            return isinstance(node, ast.Pass)
        for part in given:
            made = replaced(cloned(part), known)
            if condition is not None:
                nothing = self._nothing(made)
                if nothing is None:
                    return False
                made = ast.IfExp(cloned(condition), made, nothing)
            lists[place].append(made)
        return True

    def _nothing(self, beside: ast.expr) -> ast.expr | None:
        """The layer that does nothing, of the library that another one is of."""
        func = beside.func if isinstance(beside, ast.Call) else None
        if not isinstance(func, ast.Attribute):
            return None
        made = ast.Attribute(cloned(func.value), "Identity", ast.Load())
        known = self.origin.qualified(made) in self.layers
        return ast.Call(made, [], []) if known else None


def bound_arguments(
    function: ast.FunctionDef, call: ast.Call
) -> dict[str, ast.expr] | None:
    """The arguments of a call by parameter; None where they are not to be told."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        return None
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    places = [a.arg for a in given.args]
    defaults = zip(
        places[len(places) - len(given.defaults) :], given.defaults, strict=True
    )
    bound: dict[str, ast.expr] = dict(defaults)
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    bound |= {a.arg: d for a, d in named if d is not None}
    bound |= dict(zip(places, call.args, strict=False))
    bound |= {str(k.arg): k.value for k in call.keywords}
    wanted = {*places, *(a.arg for a in given.kwonlyargs)}
    return bound if set(bound) == wanted and len(call.args) <= len(places) else None


def with_own_keywords(
    function: ast.FunctionDef, call: ast.Call
) -> tuple[ast.FunctionDef, ast.Call]:
    """A function that hands on `**kwargs`, with those that a call gives, and the call without them.

    Both are as they were where a keyword's value reads a name that the function has, too, or where it does
    more with them.
    """
    spread = function.args.kwarg
    named = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    more = [k for k in call.keywords if k.arg not in named]
    bound = named | {n for s in function.body for n in stored_names(s)}
    used = {n for k in more for n in names(k.value)}
    if spread is None or used & bound or any(k.arg is None for k in call.keywords):
        return function, call
    made = cloned(function)
    made.args.kwarg = None
    for part in [p for p in walk(made) if isinstance(p, ast.Call)]:
        handed = [
            k for k in part.keywords if k.arg is None and is_name(k.value, spread.arg)
        ]
        if handed:
            part.keywords = [k for k in part.keywords if k not in handed]
            part.keywords += cloned(more)
    if spread.arg in names(made):
        return function, call
    kept = [k for k in call.keywords if k.arg in named]
    return made, ast.copy_location(ast.Call(call.func, call.args, kept), call)


def _longer(node: ast.stmt) -> tuple[str, list[ast.expr] | None]:
    """A list that a statement makes longer, and by what."""
    match node:
        case ast.AugAssign(
            target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=elts)
        ):
            return name, elts
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[one]
            )
        ):
            return name, [one]
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="extend"),
                args=[ast.List(elts=elts)],
            )
        ):
            return name, elts
    return "", None


def _filled(node: ast.expr, lists: Mapping[str, list[ast.expr]]) -> ast.expr:
    """A value with the elements of lists in the place of their names."""

    class Fill(NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in lists:
                return ast.List(cloned(lists[node.id]), ast.Load())
            return node

        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            args: list[ast.expr] = []
            for arg in node.args:
                inner = arg.value if isinstance(arg, ast.Starred) else None
                args += inner.elts if isinstance(inner, ast.List) else [arg]
            node.args = args
            return node

    return Fill().visit(node)


def _settled(node: ast.expr) -> ast.expr:
    """A value in which conditions on literals are decided."""

    class Settle(NodeTransformer):
        def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
            self.generic_visit(node)
            decided = _decided(node.test)
            return node if decided is None else (node.body if decided else node.orelse)

    return Settle().visit(node)


def _decided(test: ast.expr) -> bool | None:
    """What a condition on literals is; None for others."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _decided(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = literal(test.left), literal(test.comparators[0])
        if isinstance(left, ast.AST) or isinstance(right, ast.AST):
            return None
        match test.ops[0]:
            case ast.Is() | ast.Eq():
                return left == right
            case ast.IsNot() | ast.NotEq():
                return left != right
        if isinstance(left, int | float) and isinstance(right, int | float):
            match test.ops[0]:
                case ast.Gt():
                    return left > right
                case ast.GtE():
                    return left >= right
                case ast.Lt():
                    return left < right
                case ast.LtE():
                    return left <= right
    return None
