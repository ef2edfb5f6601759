"""Numbers of Python that a call may be given, as hyperparameters: `__call__(self, x, temperature=1.0)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of, with_defaults
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    names,
    replaced,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, flags
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_TYPES = ("int", "float", "bool", "str")


def with_number_inputs(origin: Origin, thing: str, notes: Notes) -> None:
    """Give such numbers to the constructor, in place, where no call of the file gives one."""
    _without_unread(origin, thing, notes)
    used = {*used_by(origin, thing), thing}
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "nnx", "equinox", "haiku"):
            continue
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        call = methods.get("__call__")
        if not is_layer_class(origin, node) or call is None:
            continue
        for argument, default in numbers_of(call):
            if isinstance(literal(default), int) or _is_given(origin, argument.arg):
                continue
            if framework_of(origin, node) == "haiku" and "__init__" not in methods:
                methods["__init__"] = _begun(node)
            hyperparameter(
                node, call, argument, default, notes if node.name in used else Notes()
            )


def hyperparameter(
    node: ast.ClassDef,
    call: ast.FunctionDef,
    argument: ast.arg,
    default: ast.expr,
    notes: Notes,
) -> None:
    """Let a class be made with what its call is given, in place, where no other has that name."""
    if _takes(node, method_of(node, "__init__"), argument, default):
        without(call, argument.arg)
        _reads(call, argument.arg)
        notes.remark(
            argument,
            f"`{argument.arg}` of the call is a hyperparameter",
            "give it when the layer is made",
        )
        located(node)


def _without_unread(origin: Origin, thing: str, notes: Notes) -> None:
    """Take numbers that the call of the class that is asked for does not read out of it."""
    node = origin.classes.get(thing)
    call = method_of(node, "forward") if node is not None else None
    if node is None or call is None or framework_of(origin, node) != "torch":
        return
    read = {n for part in call.body for n in names(part)}
    for argument, _ in numbers_of(call):
        if argument.arg not in read and not _is_given(origin, argument.arg):
            without(call, argument.arg)
            notes.remark(
                argument,
                f"`{argument.arg}` of the call is left out: nothing reads it",
                "leave it out where the layer is called",
            )


def _begun(node: ast.ClassDef) -> ast.FunctionDef:
    """A constructor for a class that has none, and no fields either."""
    given = ast.arguments([], [ast.arg("self")], None, [], [], None, [])
    begun = ast.parse("super().__init__()").body
    made = ast.FunctionDef("__init__", given, begun, [], None)
    call = next(m for m in node.body if isinstance(m, ast.FunctionDef))
    node.body.insert(node.body.index(call), ast.copy_location(made, call))
    return made


def numbers_of(
    call: ast.FunctionDef, *, tuples: bool = False
) -> list[tuple[ast.arg, ast.expr]]:
    """Parameters whose defaults are numbers or texts, or tuples too, and which are no flags of the mode."""
    kinds = (int, float, str, *((tuple, list) if tuples else ()))
    return [
        (argument, default)
        for argument, default in with_defaults(call.args)
        if (isinstance(literal(default), kinds) or _may_be_a_number(argument, default))
        and argument.arg not in KEYS
        and not flags([argument.arg])
    ]


def _may_be_a_number(argument: ast.arg, default: ast.expr) -> bool:
    """Whether a parameter is a floating number of Python, or nothing: `rate: float | None = None`."""
    if not is_none(default) or argument.annotation is None:
        return False
    text = ast.unparse(argument.annotation).replace("typing.", "").replace(" ", "")
    return text.strip("'") in ("Optional[float]", "float|None", "None|float")


def without(call: ast.FunctionDef, parameter: str) -> None:
    """Take a parameter that has a default out of a signature, in place."""
    given = call.args
    late = len(given.args) - len(given.defaults)
    for at, argument in enumerate(given.args):
        if argument.arg == parameter:
            del given.defaults[at - late]
            del given.args[at]
            return
    for at, argument in enumerate(given.kwonlyargs):
        if argument.arg == parameter:
            del given.kw_defaults[at]
            del given.kwonlyargs[at]
            return


def _is_given(origin: Origin, parameter: str) -> bool:
    """Whether a call of the file names it."""
    return any(
        keyword.arg == parameter
        for part in walk(origin.tree)
        if isinstance(part, ast.Call)
        for keyword in part.keywords
    )


def _takes(
    node: ast.ClassDef,
    start: ast.FunctionDef | None,
    argument: ast.arg,
    default: ast.expr,
) -> bool:
    """Let a class have one more hyperparameter, in place; False where it has that name."""
    taken = {
        getattr(part.target, "id", "")
        for part in node.body
        if isinstance(part, ast.AnnAssign)
    } | {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
    title = argument.arg
    if start is not None:
        taken |= {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    if title in taken:
        return False
    kind = argument.annotation or ast.Name(type(literal(default)).__name__, ast.Load())
    if start is None:
        field = ast.AnnAssign(ast.Name(title, ast.Store()), kind, default, 1)
        ast.copy_location(field, argument)
        at = 1 + max(
            (i for i, p in enumerate(node.body) if isinstance(p, ast.AnnAssign)),
            default=0 if ast.get_docstring(node) else -1,
        )
        node.body.insert(at, field)
        return True
    start.args.kwonlyargs.append(ast.arg(title, cloned(kind)))
    start.args.kw_defaults.append(default)
    target = ast.Attribute(ast.Name("self", ast.Load()), title, ast.Store())
    kept = ast.Assign([target], ast.Name(title, ast.Load()))
    start.body.append(ast.copy_location(kept, start.body[-1]))
    return True


def _reads(call: ast.FunctionDef, parameter: str) -> None:
    parts = {parameter: expression(f"self.{parameter}")}
    call.body = [replaced(part, parts) for part in call.body]  # type: ignore[arg-type, misc]
