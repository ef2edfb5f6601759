"""Finds, in the body of a method, what cannot be rewritten faithfully: each is an error at its expression."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.assigned import AssignedAttributes, called_alone
from mlax_scaffold.reader.checks.draws import draws_inside, several_keys
from mlax_scaffold.reader.checks.made_before import layers_made_before
from mlax_scaffold.reader.checks.starts import check_starts
from mlax_scaffold.reader.checks.whole_bodies import CHECKS, OF_SETUP
from mlax_scaffold.reader.checks.widening import (
    NARROW_WORDS,
    adds_integers,
    narrow_word,
    strict_hint,
    strict_word,
    untyped,
)
from mlax_scaffold.reader.evaluation import REPEATED, alternatives, parts
from mlax_scaffold.reader.looping import loop_layers
from mlax_scaffold.reader.remedies.bodies import (
    INSTEAD,
    imported_above,
    other_call,
    removed,
    typed_like,
)
from mlax_scaffold.reader.remedies.made_by_methods import (
    flax_key,
    flax_param,
    torch_registered,
)
from mlax_scaffold.reader.remedies.modes import by_another_name
from mlax_scaffold.reader.remedies.names import near, renamed
from mlax_scaffold.reader.remedies.sharing import shared
from mlax_scaffold.reader.remedies.strict import strict_call
from mlax_scaffold.reader.requirements import check_assertion
from mlax_scaffold.reader.source import Source, dotted, self_attribute
from mlax_scaffold.spelling import did_you_mean

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
        "super",
        "delattr",
        "breakpoint",
    ]
)

_SETUP = ("setup", "setup_tree")
"""Methods whose statements are read one by one."""


class BodyChecker:
    """Walks one method. `attributes` maps each attribute of self to what it is.

    What sub-layers do where they are called is known later: see `places`. `renamed` says
    that locals make way for the names that are reserved, and `threads` that functions inside of the
    method hand states on.
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
        threads: bool = False,
    ):
        self.source = source
        self.method = method
        self.attributes = attributes
        self.imports = imports
        self.reserved = reserved
        self.renamed = renamed
        self.assigned = AssignedAttributes(
            source, attributes, assignable, any_assignment, declare, threads
        )
        if assignable and not any_assignment and not threads:
            self.assigned = replace(self.assigned, called=called_alone(method))
        self.loop_layers: set[str] = set()
        self.loop_optimizers: set[str] = set()
        self._in_while = 0
        # What is assigned and was not declared is one finding.
        stored = (n for n in walk(method) if isinstance(n, ast.Attribute))
        self._stored = {
            self_attribute(n) for n in stored if isinstance(n.ctx, ast.Store)
        }
        self._assigned = set() if any_assignment else self._stored
        sets_up = method.name in _SETUP
        self._made = layers_made_before(method, imports) if sets_up else set()

    def check(self) -> None:
        """Report every finding of the body."""
        for statement in self.method.body:
            self._visit(statement, context="")
        for check in OF_SETUP if self.method.name in _SETUP else CHECKS:
            check(self.source, self.method, self.attributes, self.imports)

    def _visit(self, node: ast.AST, context: str) -> None:
        """`context` says why a sub-layer cannot be called here; empty where it can."""
        match node:
            case ast.Import() | ast.ImportFrom():
                fix = imported_above(self.source, node)
                self._statement(node, "cannot stand in the body of a spec", fix)
            case ast.Global() | ast.Nonlocal():
                self._statement(node, "cannot stand in the body of a spec")
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.AsyncFunctionDef():
                self._statement(node, "cannot stand in the body of a spec")
            case ast.ClassDef() | ast.AsyncFor() | ast.AsyncWith():
                self._statement(node, "cannot stand in the body of a spec")
            case ast.Delete(targets=targets):
                names = all(isinstance(t, ast.Name) for t in targets)
                fix = Fix((removed(self.source, node),)) if names else None
                self._statement(node, "cannot stand in the body of a spec", fix)
            case ast.Assert() if self.method.name not in _SETUP:
                check_assertion(self.source, node)
            case ast.Call():
                self._call(node, context)
            case ast.Attribute(ctx=ast.Store()):
                self.assigned.check(node, context)
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
                self._in_while += 1
                for statement in (*node.body, *node.orelse):
                    self._visit(statement, context)
                self._in_while -= 1
                return
            case ast.Attribute(ctx=ast.Load()) if node not in self._made:
                self._attribute(node)
            case (
                ast.Assign(value=ast.IfExp() as chosen)
                | ast.AugAssign(value=ast.IfExp() as chosen)
                | ast.AnnAssign(value=ast.IfExp() as chosen)
                | ast.Return(value=ast.IfExp() as chosen)
            ):
                # Branches of a statement: see `rewrite.branches`.
                targets = (c for c in ast.iter_child_nodes(node) if c is not chosen)
                for part in (*targets, *alternatives(chosen)):
                    self._visit(part, context)
                return
        keyed = draws_inside(self.attributes)
        for child, inner in parts(node, context, keyed=keyed):
            self._visit(child, inner)

    def _statement(self, node: ast.AST, message: str, fix: Fix | None = None) -> None:
        name = type(node).__name__
        word = _KEYWORDS.get(name, name.lower())
        self.source.report(node, f"`{word}` {message}", INSTEAD.get(word, ""), fix)

    def _bound(self, node: ast.AST, name: str) -> None:
        if name in self.reserved and name != "self":
            if self.renamed:
                return
            self.source.report(
                node,
                f"`{name}` is a name of the generated function",
                f"Choose another name, such as `{name}_`.",
                fix=renamed(self.source, self.method, name, f"{name}_"),
            )
        elif name == "self" and node not in self.method.args.args:
            self.source.report(node, "`self` cannot be bound again")

    def _call(self, node: ast.Call, context: str) -> None:
        function = dotted(node.func)
        within = (self.source.tree, self.imports, self.method)
        if word := strict_word(node, *within):
            fixed = not adds_integers(node, word, *within)
            self.source.report(
                node.func,
                f"`{unparsed(node.func)}` computes half-precision input in float32",
                strict_hint(node, word),
                strict_call(self.source, node, word) if fixed else None,
            )
        if narrow := narrow_word(node, *within):
            self.source.report(
                node.func,
                f"`{unparsed(node.func)}` adds half-precision numbers one after another",
                f"Use the strict `{narrow}` of mlax_scaffold.spec, {NARROW_WORDS[narrow]}.",
                strict_call(self.source, node, narrow),
            )
        if like := untyped(node, *within, self.attributes):
            self.source.report(
                node,
                f"`{unparsed(node.func)}` makes float32, whatever {like} is",
                f"Give it a dtype: `{like}.dtype`.",
                fix=typed_like(self.source, node, like),
            )
        check_starts(self.source, node, self.imports, self.method, self.attributes)
        # What `setup` calls of a base is said there.
        asks_base = function == "super" and self.method.name in _SETUP
        if function in _FORBIDDEN_CALLS and not asks_base:
            self.source.report(
                node.func,
                f"`{function}` cannot be called in the body of a spec",
                INSTEAD.get(function, ""),
                fix=other_call(self.source, function, node),
            )
        name = self_attribute(node.func)
        optimizer = self.attributes.get(name or "") == "optimizer"
        is_layer = optimizer or function in self.loop_optimizers
        is_key = self.attributes.get(name or "") in ("key", "keys")
        if is_layer or is_key:
            what = f"`{unparsed(node.func)}`"
            # A function inside of a method is known to draw later: see `places`.
            later = draws_inside(self.attributes) and context == REPEATED[0]
            if context and (is_layer or context in REPEATED) and not later:
                self.source.report(
                    node,
                    f"{what} cannot be called in {context}",
                    several_keys(self.attributes)
                    if is_key
                    else "Its state and keys must be threaded in order: call it in a "
                    "statement of its own and use the result.",
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
        found = loop_layers(node, self.attributes)
        added = {name for name, _ in found}
        self.loop_optimizers |= {name for name, what in found if what == "optimizers"}
        if added:
            if context == REPEATED[0] and self.assigned.threads:
                context = ""
            if context or self._in_while or self.loop_layers:
                self.source.report(
                    node,
                    "a loop over layers cannot stand in "
                    + (context or "another one, or in a while loop"),
                    "Its states and keys must be threaded in order.",
                )
            self.loop_layers |= added
        for statement in (*node.body, *node.orelse):
            self._visit(statement, context)
        if added:
            self.loop_layers -= added
            if node.orelse or _ends(node):
                self.source.report(
                    node, "a loop over layers has no break, continue, return or else"
                )

    def _attribute(self, node: ast.Attribute) -> None:
        name = self_attribute(node)
        if name is None or name in self.attributes or name in self._assigned:
            return
        if name in self._stored:
            self.source.report(
                node,
                f"self.{name} is declared here, and has no value in setup yet",
                "Compute with hyperparameters; a layer that a block is given is its own: "
                "write it where it is given.",
                fix=shared(self.source, self.method, node),
            )
            return
        classes = (n for n in self.source.tree.body if isinstance(n, ast.ClassDef))
        if name in {getattr(part, "name", "") for c in classes for part in c.body}:
            self.source.report(node, f"self.{name} cannot be used in setup", _METHODS)
            return
        other, edit = by_another_name(self.source, self.method, node, self.attributes)
        hint = other or did_you_mean(name, sorted(self.attributes))
        self.source.report(
            node,
            f"self.{name} is neither a hyperparameter nor declared in setup",
            hint or f"Known: {', '.join(sorted(self.attributes))}.",
            fix=edit
            or flax_param(self.source, self.method, node)
            or flax_key(self.source, self.method, node, self.attributes)
            or torch_registered(self.source, self.method, node)
            or near(self.source, node, self.attributes),
        )


_METHODS = (
    "Methods that setup calls compute from hyperparameters, or declare. One that declares returns "
    "at the end of each branch, does not call itself, and reads an argument that is a layer once."
)


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


def _ends(node: ast.AST, inner: bool = False) -> bool:
    """Whether a loop ends early: what a loop or a function in it ends is its own."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Return():
                return True
            case ast.Break() | ast.Continue():
                if not inner:
                    return True
            case ast.FunctionDef():
                continue
            case _:
                if _ends(child, inner or isinstance(child, ast.For | ast.While)):
                    return True
    return False
