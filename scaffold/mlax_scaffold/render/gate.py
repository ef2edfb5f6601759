"""The last check before anything is written: a generated module holds what was meant, and nothing else."""

from __future__ import annotations

import ast
import inspect

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.definition import Definition, MethodRole
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.rewrite import Rewritten

_TOP_LEVEL = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)


class GateFault(MlaxScaffoldError):
    """Generated code is not what the spec says: a fault of the generator, and nothing is written."""


def check_module(
    definition: Definition, methods: dict[str, Rewritten], file: Rendered
) -> None:
    """Parse a generated module and compare it with the definition that it follows from.

    Raises:
        GateFault: where it has a statement that runs at import, lacks a name, or a rewritten body does
            not stand in it as it was rewritten.
    """
    try:
        tree = ast.parse(file.text)
    except SyntaxError as error:
        raise GateFault(f"{file.path}:{error.lineno}: {error.msg}") from error
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    for node in body:
        if not isinstance(node, _TOP_LEVEL):
            text = ast.unparse(node).splitlines()[0]
            raise GateFault(f"{file.path}:{node.lineno}: unexpected statement `{text}`")
    functions = _functions(tree)
    for method in definition.methods:
        name = _place(method.role, method.name)
        found = functions.get(name)
        if found is None:
            raise GateFault(f"{file.path}: {name} of {definition.source} is missing")
        if not _ends_with(found, methods[method.name].body):
            raise GateFault(
                f"{file.path}:{found.lineno}: {name} is not what {method.name} of "
                f"{definition.source} was rewritten to"
            )


def check_doc(definition: Definition, file: Rendered) -> None:
    """The docstring of the spec arrives as the same text, and only as text."""
    tree = ast.parse(file.text)
    docs = [ast.get_docstring(tree) or ""]
    docs += [ast.get_docstring(f) or "" for f in _functions(tree).values()]
    docs += [
        ast.get_docstring(n) or "" for n in tree.body if isinstance(n, ast.ClassDef)
    ]
    wanted = "".join(inspect.cleandoc(definition.description).split())
    if not any(wanted in "".join(doc.split()) for doc in docs):
        raise GateFault(
            f"{file.path}: the docstring of {definition.source} is not in it"
        )


def _place(role: MethodRole, name: str) -> str:
    match role:
        case MethodRole.SETUP:
            return "init"
        case MethodRole.PREPARE:
            return "step"
        case MethodRole.VALUE:
            return "__call__"
    return "fwd" if name == "forward" else name


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions of the module, of its classes, and those nested one deep."""
    found: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inner:
            if isinstance(function, ast.FunctionDef):
                found.setdefault(function.name, function)
                for nested in function.body:
                    if isinstance(nested, ast.FunctionDef):
                        found.setdefault(nested.name, nested)
    return found


def _ends_with(function: ast.FunctionDef, body: str) -> bool:
    """Whether the statements stand in the function, in a row."""
    wanted = [
        ast.dump(node) for node in ast.parse(f"def f():\n{_indent(body)}").body[0].body
    ]  # type: ignore[attr-defined]
    wanted = [w for w in wanted if w != ast.dump(ast.Pass())]
    blocks = [function.body]
    blocks += [n.body for n in function.body if isinstance(n, ast.FunctionDef)]
    for block in blocks:
        given = [ast.dump(node) for node in block]
        for start in range(len(given) - len(wanted) + 1):
            if given[start : start + len(wanted)] == wanted:
                return True
    return not wanted


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()) or "    pass"
