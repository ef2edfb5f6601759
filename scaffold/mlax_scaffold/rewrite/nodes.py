"""Small helpers over libcst: parse, print and recognize."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeVar

import libcst as cst

from mlax_scaffold.rewrite.traversal import Transformer, Visitor, children

Statement = TypeVar("Statement", bound=cst.BaseStatement)

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


def local_names(node: cst.CSTNode) -> set[str]:
    """Every identifier in a node that is neither an attribute nor the name of an argument."""
    return set(counted_names(node))


def counted_names(node: cst.CSTNode) -> Counter[str]:
    """How often each of them stands in it."""
    found: Counter[str] = Counter()

    class Names(Visitor):
        def visit_Name(self, node: cst.Name) -> None:
            found[node.value] += 1

        def visit_Attribute(self, node: cst.Attribute) -> bool:
            node.value.visit(self)
            return False

        def visit_Arg(self, node: cst.Arg) -> bool:
            node.value.visit(self)
            return False

    node.visit(Names())
    return found


def bound_names(node: cst.CSTNode) -> set[str]:
    """Every identifier that something in a node binds, but for functions and their parameters."""
    found: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        pending += children(part)
        match part:
            case (
                cst.AssignTarget(target=target)
                | cst.For(target=target)
                | cst.CompFor(target=target)
                | cst.NamedExpr(target=target)
                | cst.AugAssign(target=target)
                | cst.AnnAssign(target=target)
                | cst.AsName(name=target)
            ):
                found |= local_names(target)
    return found


def comments_in(node: cst.CSTNode) -> list[str]:
    """Every comment in a node, in the order of the text."""
    if "#" not in code(node):
        return []
    found: list[str] = []

    class Comments(Visitor):
        def visit_Comment(self, node: cst.Comment) -> None:
            found.append(node.value)

    node.visit(Comments())
    return found


def missing_comments(before: cst.CSTNode, after: Iterable[cst.CSTNode]) -> list[str]:
    """The comments of a node that are not in those that replace it."""
    comments = comments_in(before)
    if not comments:
        return []
    kept = Counter(comment for node in after for comment in comments_in(node))
    missing = []
    for comment in comments:
        if kept[comment]:
            kept[comment] -= 1
        else:
            missing.append(comment)
    return missing


def with_comments(node: Statement, comments: Iterable[str]) -> Statement:
    """The statement with comments on lines of their own before it, after those that it has."""
    lines = [cst.EmptyLine(comment=cst.Comment(comment)) for comment in comments]
    if not lines:
        return node
    return node.with_changes(leading_lines=[*node.leading_lines, *lines])  # type: ignore[attr-defined]


def operand(node: cst.BaseExpression) -> str:
    """The text of an expression where a line break would end the statement."""
    text = code(node)
    return f"({text})" if "\n" in text and not getattr(node, "lpar", ()) else text


def augmented(target: str, node: cst.AugAssign) -> str:
    """The value of `target += value` as an expression."""
    value = code(node.value)
    alone = isinstance(node.value, _ALONE) or node.value.lpar
    operator = code(node.operator).strip().removesuffix("=")
    return f"{target} {operator} {value if alone else f'({value})'}"


_ALONE = (cst.Name, cst.BaseNumber, cst.Attribute, cst.Subscript, cst.Call)
"""What binds more tightly than any operator."""


def element(node: cst.BaseExpression) -> str:
    """The text of an expression as an element of a tuple, in parentheses where it needs them."""
    return f"({code(node)})" if is_loose(node) else operand(node)


def is_loose(node: cst.BaseExpression) -> bool:
    """Whether an expression binds less tightly than an operator beside it would."""
    kinds = cst.Tuple | cst.IfExp | cst.Lambda | cst.NamedExpr
    return isinstance(node, kinds) and not node.lpar


_INVERSE: dict[type[cst.BaseCompOp], str] = {
    cst.Equal: "!=",
    cst.NotEqual: "==",
    cst.In: "not in",
    cst.NotIn: "in",
    cst.Is: "is not",
    cst.IsNot: "is",
}


def negated(condition: cst.BaseExpression) -> str:
    """The text of the opposite of a condition."""
    match condition:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return operand(inner)
        case cst.Comparison(left=left, comparisons=[only]) if (
            type(only.operator) in _INVERSE
        ):
            operator = _INVERSE[type(only.operator)]
            return f"{operand(left)} {operator} {operand(only.comparator)}"
        case cst.Name() | cst.Attribute() | cst.Call():
            return f"not {operand(condition)}"
    return f"not ({code(condition)})"


def fresh(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; it is taken from now on. No word of Python is a name."""
    name = f"{name}_" if keyword.iskeyword(name) else name
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


class OuterTransformer(Transformer):
    """A transformer that knows whether it is in a nested function."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    @property
    def nested(self) -> bool:
        return self._depth > 1

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._depth += 1

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self._depth -= 1
        return updated_node


class Renamer(Transformer):
    """Renames variables; attributes and the names of keyword arguments stay.

    Those of the functions `own`, whose parameters are renamed with the rest, do not.
    """

    def __init__(self, names: Mapping[str, str], own: Container[str] = ()):
        super().__init__()
        self.names = names
        self.own = own
        self._no_variables: set[cst.Name | None] = set()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self._no_variables.add(node.attr)

    def visit_Call(self, node: cst.Call) -> None:
        if not (isinstance(node.func, cst.Name) and node.func.value in self.own):
            self._no_variables.update(argument.keyword for argument in node.args)

    def leave_Name(
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        name = self.names.get(original_node.value)
        if name is None or original_node in self._no_variables:
            return updated_node
        return updated_node.with_changes(value=name)
