"""The last check before anything is written: a generated module says what its spec says."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping

from mlax_scaffold.model.definition import Definition, Kind, MethodRole
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.model.wrappers import rule_of
from mlax_scaffold.render.gate.imports import GateFault, parsed
from mlax_scaffold.render.text import indented
from mlax_scaffold.rewrite import Rewritten
from mlax_scaffold.rewrite.helpers import rewrite_helpers


def check_module(
    definition: Definition, methods: Mapping[str, Rewritten], file: Rendered
) -> None:
    """Parse a generated module and compare it with the definition that it follows from.

    Raises:
        GateFault: where it lacks a name, or a rewritten body does not stand in it as it was rewritten.
    """
    tree = parsed(file)
    _check_helpers(definition, tree, file)
    functions = _functions(tree)
    for method in definition.methods:
        name = _place(method.role, method.name, definition.kind)
        found = functions.get(name)
        if found is None:
            raise GateFault(f"{file.path}: {name} of {definition.source} is missing")
        if not _ends_with(found, methods[method.name].body):
            raise GateFault(
                f"{file.path}:{found.lineno}: {name} is not what {method.name} of "
                f"{definition.source} was rewritten to"
            )


def _check_helpers(definition: Definition, tree: ast.Module, file: Rendered) -> None:
    """What stands beside the definition stands in the module, in its order and unchanged."""
    names = {helper.name for helper in definition.helpers if not helper.home}
    if not names:
        return
    wanted = _dumps(ast.parse(rewrite_helpers(definition)).body)
    given = _dumps([node for node in tree.body if _bound(node) in names])
    if given != wanted:
        shown = ", ".join(sorted(names))
        raise GateFault(f"{file.path}: not as in {definition.source}: {shown}")


def _bound(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    ruled = rule_of(node)
    return "" if ruled is None else f"{ruled[0]}.defvjp"


def check_module_class(definition: Definition, file: Rendered) -> None:
    """Parse a generated module class: it is the one of the definition.

    Raises:
        GateFault: where there is another.
    """
    classes = [n.name for n in parsed(file).body if isinstance(n, ast.ClassDef)]
    if classes != [definition.module_name]:
        raise GateFault(f"{file.path}: expected the class {definition.module_name}")


def check_doc(definition: Definition, file: Rendered) -> None:
    """The docstring of the spec arrives as the same text, and only as text."""
    tree = parsed(file)
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


def _place(role: MethodRole, name: str, kind: Kind) -> str:
    match role:
        case MethodRole.SETUP if kind is Kind.SCHEDULE:
            return "__post_init__"
        case MethodRole.SETUP | MethodRole.SETUP_TREE:
            return "init"
        case MethodRole.PREPARE | MethodRole.FINISH:
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
    for function in tuple(found.values()):
        for nested in function.body:
            if isinstance(nested, ast.FunctionDef):
                found.setdefault(nested.name, nested)
    return found


def _ends_with(function: ast.FunctionDef, body: str) -> bool:
    """Whether the statements stand in the function, in a row."""
    wanted = _dumps(_statements(body))
    blocks = [function.body]
    blocks += [n.body for n in function.body if isinstance(n, ast.FunctionDef)]
    for block in blocks:
        given = _dumps(block)
        for start in range(len(given) - len(wanted) + 1):
            if given[start : start + len(wanted)] == wanted:
                return True
    return not wanted


def _dumps(block: list[ast.stmt]) -> list[str]:
    """What the statements of a block say; `pass` says nothing."""
    return [_dump(node) for node in block if not isinstance(node, ast.Pass)]


def _statements(body: str) -> list[ast.stmt]:
    # In a function, since a body holds returns.
    module = ast.parse(f"def f():\n{indented(body) or '    pass'}")
    [function] = module.body
    assert isinstance(function, ast.FunctionDef)
    return function.body


def _dump(node: ast.stmt) -> str:
    """What a statement says; the formatter indents the docstrings of nested functions anew."""
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(
                body=[ast.Expr(value=ast.Constant(value=str(doc)) as constant), *_]
            ):
                lines = (line.strip() for line in doc.strip().split("\n"))
                constant.value = "\n".join(lines)
    return ast.dump(node)
