"""Methods of a class that make layers, read where a constructor calls them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.lists import Lists
from mlax_scaffold.conversion.definitions.constructor_weights import (
    DeclaredWeights,
)
from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.trees import (
    name,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import walk


class BuilderMethods(DeclaredWeights):
    """Reads them."""

    lists: Lists

    def statement(self, node: ast.stmt, condition: ast.expr | None) -> None:
        """Read one statement, which is run where the condition holds."""
        raise NotImplementedError

    def attribute(
        self, node: ast.AST, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> None:
        """Read what an attribute is set to."""
        raise NotImplementedError

    def _made_by_method(
        self, node: ast.AST, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Whether a method of the class makes layers, whose body is read where it is called."""
        builder, around = self.builder, self.translator.around
        title = self_attribute(value.func) if isinstance(value, ast.Call) else None
        method = next(
            (
                m
                for m in builder.node.body
                if isinstance(m, ast.FunctionDef) and m.name == title
            ),
            None,
        )
        if method is None or not isinstance(value, ast.Call):
            return False
        last = method.body[-1]
        changes = any(
            isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)
            for p in walk(method)
        )
        if not isinstance(last, ast.Return) or last.value is None or changes:
            builder.notes.refuse(
                node,
                f"`{ast.unparse(value)}` makes layers and changes the object",
                "make the layers in `__init__`",
            )
            return True
        static = "staticmethod" in map(ast.unparse, method.decorator_list)
        owner = [] if static else [name("self")]
        try:
            bound = bind(
                method.args,
                ast.Call(value.func, [*owner, *value.args], value.keywords),
            )
        except MisfitError as error:
            builder.notes.refuse(
                node,
                f"`{ast.unparse(value)}` {error.said} is no call of {method.name}",
                "give the method what it takes",
            )
            return True
        saved = dict(around.locals)
        for place, given in bound.items():
            if place != "self" and isinstance(given, ast.expr):
                around.locals[place] = self.translator.expression(given)
        body = without_docstring(method.body)
        self.lists.prepare(body)
        for part in body[:-1]:
            self.statement(part, condition)
        self.attribute(node, attribute, last.value, condition)
        around.locals = saved
        builder.consumed.add(method.name)
        return True
