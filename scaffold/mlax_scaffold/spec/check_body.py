"""Finds, in the body of a method, what cannot be rewritten faithfully: each is an error at its expression."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from mlax_scaffold.errors import did_you_mean
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.spec.check_uses import loop_layers
from mlax_scaffold.spec.check_widening import strict_word
from mlax_scaffold.spec.parse_source import Source, dotted, self_attribute

_KEYWORDS = {
    "AsyncFor": "async for",
    "AsyncFunctionDef": "async def",
    "AsyncWith": "async with",
    "ClassDef": "class",
    "Delete": "del",
    "ImportFrom": "import",
    "YieldFrom": "yield from",
}
_FORBIDDEN_CALLS = frozenset(
    [
        "eval",
        "exec",
        "compile",
        "__import__",
        "open",
        "input",
        "print",
        "globals",
        "locals",
        "vars",
        "setattr",
        "delattr",
        "breakpoint",
    ]
)
_SCOPES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class BodyChecker:
    """Walks one method. `attributes` maps each attribute of self to what it is.

    `renamed` says that locals make way for the names that are reserved.
    """

    def __init__(
        self,
        source: Source,
        method: ast.FunctionDef,
        attributes: dict[str, str],
        *,
        assignable: frozenset[str] = frozenset(),
        any_assignment: bool = False,
        imports: Mapping[str, Import] = MappingProxyType({}),
        declare: str = "",
        reserved: frozenset[str] = RESERVED,
        renamed: bool = False,
    ):
        self.source = source
        self.method = method
        self.attributes = attributes
        self.assignable = assignable
        self.any_assignment = any_assignment
        self.imports = imports
        self.declare = declare
        self.reserved = reserved
        self.renamed = renamed
        self.loop_layers: set[str] = set()
        self._in_loop = 0
        self._in_while = 0

    def check(self) -> None:
        """Report every finding of the body."""
        for statement in self.method.body:
            self._visit(statement, context="")

    def _visit(self, node: ast.AST, context: str) -> None:
        """`context` says why a sub-layer cannot be called here; empty where it can."""
        match node:
            case ast.Global() | ast.Nonlocal() | ast.Import() | ast.ImportFrom():
                self._statement(node, "cannot stand in the body of a spec")
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.AsyncFunctionDef():
                self._statement(node, "cannot stand in the body of a spec")
            case ast.ClassDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Delete():
                self._statement(node, "cannot stand in the body of a spec")
            case ast.Call():
                self._call(node, context)
            case ast.Attribute(ctx=ast.Store()):
                self._assigned_attribute(node, context)
            case ast.Name(ctx=ast.Store(), id=name) | ast.arg(arg=name):
                self._bound(node, name)
            case ast.FunctionDef(name=name) if node is not self.method:
                self._bound(node, name)
            case ast.For():
                self._for(node, context)
                return
            case ast.If():
                self._if(node, context, context)
                return
            case ast.While():
                self._visit(node.test, context or "the test of a while loop")
                self._in_loop += 1
                self._in_while += 1
                for statement in (*node.body, *node.orelse):
                    self._visit(statement, context)
                self._in_loop -= 1
                self._in_while -= 1
                return
            case ast.Attribute(ctx=ast.Load()):
                self._attribute(node)
        for child, inner in self._children(node, context):
            self._visit(child, inner)

    def _children(self, node: ast.AST, context: str) -> Iterator[tuple[ast.AST, str]]:
        for child in ast.iter_child_nodes(node):
            inner = context
            if isinstance(node, _SCOPES):
                inner = "a nested function or lambda"
            elif isinstance(node, _COMPREHENSIONS):
                inner = "a comprehension"
            elif isinstance(node, ast.IfExp) and child is not node.test:
                inner = context or "a conditional expression"
            elif isinstance(node, ast.BoolOp) and child is not node.values[0]:
                inner = context or f"an `{_operator(node.op)}`"
            elif isinstance(node, ast.Compare) and child in node.comparators[1:]:
                inner = context or "a chained comparison"
            elif isinstance(node, ast.Assert):
                inner = context or "an assert"
            yield child, inner

    def _statement(self, node: ast.AST, message: str) -> None:
        name = type(node).__name__
        word = _KEYWORDS.get(name, name.lower())
        self.source.report(node, f"`{word}` {message}")

    def _bound(self, node: ast.AST, name: str) -> None:
        if name in self.reserved and name != "self":
            if self.renamed and isinstance(node, ast.Name):
                return
            self.source.report(
                node,
                f"`{name}` is a name of the generated function",
                f"Choose another name, such as `{name}_`.",
            )
        elif name == "self" and node not in self.method.args.args:
            self.source.report(node, "`self` cannot be bound again")

    def _call(self, node: ast.Call, context: str) -> None:
        function = dotted(node.func)
        word = strict_word(node, self.imports, self.method)
        if word:
            self.source.report(
                node.func,
                f"`{ast.unparse(node.func)}` computes half-precision input in float32",
                f"Use the strict `{word}` of mlax_scaffold.spec; its accum_dtype "
                "widens where that is asked for.",
            )
        if function in _FORBIDDEN_CALLS:
            self.source.report(
                node.func, f"`{function}` cannot be called in the body of a spec"
            )
        name = self_attribute(node.func)
        called = ("sub-layer", "layer", "optimizer")
        is_layer = self.attributes.get(name or "") in called or (
            function in self.loop_layers
        )
        # An initialized layer may draw; what a declared one does is known later.
        what = self.attributes.get(name or "")
        is_key = what in ("key", "keys")
        draws = is_key or what in ("layer", "optimizer")
        if is_layer or is_key:
            what = f"`{ast.unparse(node.func)}`"
            if context:
                self.source.report(
                    node,
                    f"{what} cannot be called in {context}",
                    several_keys(self.attributes)
                    if is_key
                    else "Its state and keys must be threaded in order: call it in a "
                    "statement of its own and use the result.",
                )
            elif draws and self._in_while:
                self.source.report(
                    node,
                    f"{what} draws a key in a while loop, where every pass would get "
                    "the same key",
                    several_keys(self.attributes),
                )

    def _if(self, node: ast.If, context: str, test_context: str) -> None:
        self._visit(node.test, test_context)
        for statement in node.body:
            self._visit(statement, context)
        match node.orelse:
            # An elif stands in the column of its if.
            case [ast.If() as other] if other.col_offset == node.col_offset:
                self._if(other, context, context or "the test of an elif")
            case statements:
                for statement in statements:
                    self._visit(statement, context)

    def _for(self, node: ast.For, context: str) -> None:
        self._visit(node.iter, context)
        self._visit(node.target, context)
        added = {name for name, _ in loop_layers(node, self.attributes)}
        if added:
            if context or self._in_loop or self.loop_layers:
                self.source.report(
                    node,
                    "a loop over layers cannot stand in " + (context or "another loop"),
                    "Its states and keys must be threaded in order.",
                )
            self.loop_layers |= added
        else:
            self._in_loop += 1
        for statement in (*node.body, *node.orelse):
            self._visit(statement, context)
        if added:
            self.loop_layers -= added
            if node.orelse or any(
                isinstance(n, ast.Break | ast.Continue | ast.Return)
                for n in ast.walk(node)
            ):
                self.source.report(
                    node, "a loop over layers has no break, continue, return or else"
                )
        else:
            self._in_loop -= 1

    def _assigned_attribute(self, target: ast.Attribute, context: str) -> None:
        name = self_attribute(target)
        if context:
            self.source.report(
                target,
                f"`{ast.unparse(target)}` cannot be assigned in {context}",
                "Return the value, and assign it outside.",
            )
        elif name is None:
            owner = self_attribute(target.value) or ""
            settable = {"layer": "non_trainables", "optimizer": "state"}
            if settable.get(self.attributes.get(owner, "")) == target.attr:
                return
            self.source.report(
                target, "attributes of other objects cannot be assigned in a spec"
            )
        elif not self.any_assignment and name not in self.assignable:
            known = ", ".join(f"self.{n}" for n in sorted(self.assignable))
            self.source.report(
                target,
                f"self.{name} is not a state, so it cannot be assigned here",
                f"States: {known}." if known else self._declared(name),
            )
        elif (
            self.any_assignment
            and name in self.attributes
            and (name not in self.assignable)
        ):
            self.source.report(target, f"self.{name} cannot be assigned here")

    def _declared(self, name: str) -> str:
        if not self.declare:
            return "There is no state here: return the value."
        return f"Declare it in setup: `self.{name} = {self.declare}`."

    def _attribute(self, node: ast.Attribute) -> None:
        name = self_attribute(node)
        if name is None or name in self.attributes:
            return
        hint = did_you_mean(name, sorted(self.attributes))
        self.source.report(
            node,
            f"self.{name} is neither a hyperparameter nor declared in setup",
            hint or f"Known: {', '.join(sorted(self.attributes))}.",
        )


def several_keys(attributes: Mapping[str, str]) -> str:
    """What to write where a key is needed several times, by what self has."""
    taken = (
        "self.keys(n)" if "keys" in attributes else "jax.random.split(self.key(), n)"
    )
    return f"Take a key for each before: `draws = {taken}`, and loop, map or scan over them."


def _operator(operator: ast.boolop) -> str:
    return "and" if isinstance(operator, ast.And) else "or"


def ends_in_return(body: list[ast.stmt]) -> bool:
    """Whether every path through the statements returns or raises."""
    last = body[-1]
    match last:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=then, orelse=otherwise):
            return (
                bool(otherwise) and ends_in_return(then) and ends_in_return(otherwise)
            )
        case ast.With(body=inner):
            return ends_in_return(inner)
        case ast.Match(cases=cases):
            return all(ends_in_return(case.body) for case in cases)
    return False
