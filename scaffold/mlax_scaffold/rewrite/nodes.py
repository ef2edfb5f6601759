"""Small helpers over libcst: parse, print and recognize."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

_EMPTY = cst.Module(body=[])


def code(node: cst.CSTNode) -> str:
    """The text of a node."""
    return _EMPTY.code_for_node(node)


def expression(text: str) -> cst.BaseExpression:
    """The node of an expression."""
    return cst.parse_expression(text)


def statement(text: str) -> cst.BaseStatement:
    """The node of a statement."""
    return cst.parse_statement(text)  # type: ignore[return-value]


def self_attribute(node: cst.CSTNode) -> str | None:
    """`name` for the expression `self.name`."""
    if (
        isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value == "self"
    ):
        return node.attr.value
    return None


def names_in(node: cst.CSTNode) -> set[str]:
    """Every identifier in a node, attribute names included."""
    found: set[str] = set()

    class Visitor(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

    node.visit(Visitor())
    return found


def fresh(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; it is taken from now on."""
    candidate, number = name, 2
    while candidate in taken:
        candidate = f"{name}_{number}"
        number += 1
    taken.add(candidate)
    return candidate


def with_prelude(function: cst.FunctionDef, texts: Iterable[str]) -> cst.FunctionDef:
    """The function with statements put before its body, after its docstring."""
    statements = [statement(text) for text in texts]
    if not statements:
        return function
    body = list(function.body.body)
    at = 1 if has_docstring(function) else 0
    return with_body(function, [*body[:at], *statements, *body[at:]])


def with_body(
    function: cst.FunctionDef, body: Sequence[cst.CSTNode]
) -> cst.FunctionDef:
    """The function with another body."""
    block = cst.ensure_type(function.body, cst.IndentedBlock)
    return function.with_changes(body=block.with_changes(body=list(body)))


def has_docstring(function: cst.FunctionDef) -> bool:
    """Whether the first statement is a docstring."""
    return function.get_docstring() is not None


def is_atom(node: cst.BaseExpression) -> bool:
    """Whether an attribute can be taken of the expression without parentheses."""
    if node.lpar if hasattr(node, "lpar") else False:
        return True
    return isinstance(
        node, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.Tuple
    )


class OuterTransformer(cst.CSTTransformer):
    """A transformer that leaves nested functions, lambdas and classes alone."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self._depth += 1
        return self._depth == 1

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self._depth -= 1
        return updated_node

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False
