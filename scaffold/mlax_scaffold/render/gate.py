"""The last check before anything is written: a generated module holds what was meant, and nothing else."""

from __future__ import annotations

import ast
import inspect

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.definition import Definition, Kind, MethodRole
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.render.text import indented
from mlax_scaffold.rewrite import Rewritten
from mlax_scaffold.spec.parse_method import is_constant

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
    except ValueError as error:  # a null byte
        raise GateFault(f"{file.path}: {error}") from error
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    for node in body:
        if not isinstance(node, _TOP_LEVEL):
            raise _unexpected(file, node)
        if isinstance(node, ast.ClassDef):
            _check_class(node, definition, file)
        if isinstance(node, ast.FunctionDef):
            _check_defaults(node, definition, file)
        for decorator in getattr(node, "decorator_list", ()):
            if ast.unparse(decorator) != "static":
                raise _unexpected(file, decorator)
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


def _check_defaults(
    node: ast.FunctionDef, definition: Definition, file: Rendered
) -> None:
    """A default is a literal, a dotted name, or an initializer of the spec."""
    initializers = {
        ast.unparse(ast.parse(d.initializer)) for d in definition.declarations
    }
    initializers |= {
        ast.unparse(ast.parse(h.default)) for h in definition.initializers if h.default
    }
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is None or is_constant(default):
            continue
        if ast.unparse(default) not in initializers:
            raise _unexpected(file, default)


def _check_class(node: ast.ClassDef, definition: Definition, file: Rendered) -> None:
    """A class holds docstrings, annotated fields with plain defaults, and methods."""
    for base in (*node.bases, *(k.value for k in node.keywords)):
        if ast.unparse(base) != "NamedTuple":
            raise _unexpected(file, base)
    for item in node.body:
        match item:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.AnnAssign(target=ast.Name()) if item.value is None or is_constant(
                item.value
            ):
                continue
            case ast.FunctionDef(decorator_list=decorators) if all(
                ast.unparse(d) == "property" for d in decorators
            ):
                _check_defaults(item, definition, file)
                continue
        raise _unexpected(file, item)


def _unexpected(file: Rendered, node: ast.stmt | ast.expr) -> GateFault:
    text = ast.unparse(node).split("\n")[0]
    return GateFault(f"{file.path}:{node.lineno}: unexpected statement `{text}`")


def check_module_class(definition: Definition, file: Rendered) -> None:
    """Parse a generated module class: imports and one class, and nothing that runs at import.

    Raises:
        GateFault: where there is something else.
    """
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError) as error:
        raise GateFault(f"{file.path}: {error}") from error
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if [node.name for node in classes] != [definition.module_name]:
        raise GateFault(f"{file.path}: expected the class {definition.module_name}")
    for node in tree.body[1:]:
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef):
            raise _unexpected(file, node)
    for item in classes[0].body:
        match item:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.AnnAssign(value=value) if value is not None and not any(
                isinstance(part, ast.Call) for part in ast.walk(value)
            ):
                continue
            case ast.FunctionDef(decorator_list=decorators) if all(
                ast.unparse(d) == "property" for d in decorators
            ):
                _check_defaults(item, definition, file)
                continue
        raise _unexpected(file, item)


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
                for nested in function.body:
                    if isinstance(nested, ast.FunctionDef):
                        found.setdefault(nested.name, nested)
    return found


def _ends_with(function: ast.FunctionDef, body: str) -> bool:
    """Whether the statements stand in the function, in a row."""
    wanted = [_dump(node) for node in _statements(body)]
    wanted = [w for w in wanted if w != ast.dump(ast.Pass())]
    blocks = [function.body]
    blocks += [n.body for n in function.body if isinstance(n, ast.FunctionDef)]
    for block in blocks:
        given = [_dump(node) for node in block]
        for start in range(len(given) - len(wanted) + 1):
            if given[start : start + len(wanted)] == wanted:
                return True
    return not wanted


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
