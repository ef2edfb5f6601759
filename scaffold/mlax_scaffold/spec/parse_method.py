"""Reads the methods of a spec, and the functions: inputs, results, and what their bodies use."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.definition import (
    ArrayType,
    Import,
    Input,
    Method,
    MethodRole,
)
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.spec.check_body import ends_in_return
from mlax_scaffold.spec.check_defaults import check_defaults, check_types
from mlax_scaffold.spec.check_uses import PASSED
from mlax_scaffold.spec.parse_source import (
    Source,
    compares_with_none,
    dotted,
    self_attribute,
)
from mlax_scaffold.spec.parse_types import is_array_annotation, read_array_type

ENTRY_SIGNATURE = 'def forward(self, x: Float["*batch features"]) -> Float["..."]'


def docstring(node: ast.FunctionDef | ast.ClassDef | ast.Module) -> str:
    """The docstring, its indentation removed, or an empty string."""
    return ast.get_docstring(node) or ""


def read_inputs(
    source: Source, arguments: ast.arguments, *, skip: int = 0, passes: bool = False
) -> tuple[tuple[Input, ...], list[tuple[ast.arg, ast.expr | None]]]:
    """Array inputs of a signature, and the parameters that are something else."""
    inputs: list[Input] = []
    others: list[tuple[ast.arg, ast.expr | None]] = []
    positional = [*arguments.posonlyargs, *arguments.args][skip:]
    none: list[ast.expr | None] = [None] * len(positional)
    defaults = (
        (none + list(arguments.defaults))[-len(positional) :] if positional else []
    )
    for extra in arguments.posonlyargs:
        source.report(extra, "a spec's signature has no /", "Remove it.")
    if passes and arguments.kwarg is not None:
        _check_passed(source, arguments.kwarg)
    for extra in (arguments.vararg, None if passes else arguments.kwarg):
        if extra is not None:
            source.report(extra, "a spec's signature has no * or ** parameters")
    pairs = [
        (arg, default, False) for arg, default in zip(positional, defaults, strict=True)
    ]
    pairs += [
        (arg, default, True)
        for arg, default in zip(
            arguments.kwonlyargs, arguments.kw_defaults, strict=True
        )
    ]
    for arg, default, keyword in pairs:
        if arg.annotation is None or not is_array_annotation(arg.annotation):
            others.append((arg, default))
            continue
        array = read_array_type(source, arg.annotation)
        if array is not None:
            inputs.append(
                Input(
                    arg.arg,
                    array,
                    keyword,
                    None if default is None else source.segment(default),
                    source.doc_comment(arg, default),
                )
            )
    return tuple(inputs), others


def _check_passed(source: Source, arg: ast.arg) -> None:
    """The keyword inputs that a block hands to its layers have one name and one type."""
    given = "" if arg.annotation is None else ast.unparse(arg.annotation)
    if (arg.arg, given) != (PASSED, "PyTree"):
        source.report(
            arg,
            f"the keyword inputs that a block hands on are not `**{PASSED}: PyTree`",
            f"Write `**{PASSED}: PyTree`.",
        )


def role_of(method: ast.FunctionDef, special: dict[str, MethodRole]) -> MethodRole:
    """What becomes of a method, by its name, decorators and annotations."""
    if method.name in special:
        return special[method.name]
    if any(dotted(d) == "property" for d in method.decorator_list):
        return MethodRole.PROPERTY
    arguments = (*method.args.args[1:], *method.args.kwonlyargs)
    if any(a.annotation and is_array_annotation(a.annotation) for a in arguments):
        return MethodRole.ENTRY
    return MethodRole.HYPER


def read_method(
    source: Source,
    method: ast.FunctionDef,
    role: MethodRole,
    attributes: dict[str, str],
    imports: Mapping[str, Import],
    passes: bool = False,
) -> Method:
    """The method as a value; what is wrong with its signature is reported.

    `passes` says whether it may take keyword inputs for its layers.
    """
    if ast.get_docstring(method) is not None and len(method.body) == 1:
        source.report(
            method,
            f"{method.name} holds nothing but a docstring",
            "Write what it does, or remove it.",
        )
    if method.name == "property":
        source.report(
            method,
            "`property` would hide Python's own from the properties that follow",
            "Give it another name.",
        )
    first = method.args.args[0].arg if method.args.args else None
    if first != "self":
        source.report(method, f"{method.name} must take self first")
    for decorator in method.decorator_list:
        if dotted(decorator) != "property" or role is not MethodRole.PROPERTY:
            source.report(decorator, "a spec's methods have no decorators")
    inputs: tuple[Input, ...] = ()
    returns = None
    if role is MethodRole.ENTRY:
        inputs = _entry_inputs(source, method, imports, passes)
        returns = _entry_returns(source, method)
    elif role in (MethodRole.UPDATE, MethodRole.STEP, MethodRole.VALUE):
        check_returns(source, method)
    elif role in (MethodRole.HYPER, MethodRole.PROPERTY):
        check_defaults(source, method.args, imports)
        check_types(source, method)
    facts = _Facts(attributes)
    for statement in method.body:
        facts.visit(statement)
    return Method(
        method.name,
        role,
        docstring(method),
        inputs,
        returns,
        facts.training,
        tuple(facts.consumers),
        tuple(dict.fromkeys(facts.calls)),
        tuple(dict.fromkeys(facts.assigns)),
        frozenset(facts.reads),
        *names_of(method),
        frozenset(facts.stored),
        frozenset(facts.compared),
        passes and method.args.kwarg is not None,
    )


def names_of(node: ast.FunctionDef) -> tuple[frozenset[str], frozenset[str]]:
    """The identifiers of a method's text, and those among them that its body binds."""
    names: set[str] = set()
    bound: set[str] = set()
    own = {id(a) for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Load()):
                names.add(name)
                continue
            case ast.Name(id=name):
                pass
            case ast.arg(arg=name) if id(part) not in own:
                pass
            case ast.FunctionDef(name=name) if part is not node:
                pass
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                pass
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                pass
            case _:
                continue
        names.add(name)
        bound.add(name)
    return frozenset(names), frozenset(bound)


def _entry_inputs(
    source: Source,
    method: ast.FunctionDef,
    imports: Mapping[str, Import],
    passes: bool,
) -> tuple[Input, ...]:
    inputs, others = read_inputs(source, method.args, skip=1, passes=passes)
    check_defaults(source, method.args, imports)
    for arg in ast.walk(method.args):
        if isinstance(arg, ast.arg) and arg.arg in RESERVED - {"self"}:
            source.report(
                arg,
                f"`{arg.arg}` is a name of the generated function",
                f"Choose another name, such as `{arg.arg}_`.",
            )
    for arg, _ in others:
        source.report(
            arg,
            f"the input `{arg.arg}` needs the type of an array",
            'Annotate it, as in `x: Float["*batch features"]`.',
        )
    positional = [i for i in inputs if not i.keyword]
    if len(method.args.posonlyargs) + len(method.args.args) < 2:
        source.report(
            method, f"{method.name} takes no input", f"Write `{ENTRY_SIGNATURE}`."
        )
    names = [i.name for i in positional]
    signature = [*method.args.posonlyargs, *method.args.args]
    if len(names) == 1 and names != ["x"] and not others:
        source.report(
            signature[1],
            f"the one positional input is called x, not {names[0]}",
            "fwd has the same signature for every layer.",
        )
    if len(names) > 1 and "x" in names:
        source.report(
            signature[1 + names.index("x")],
            "with several positional inputs, x is the tuple of them",
            "Name this one otherwise, such as `inputs`.",
        )
    for item in inputs:
        if item.keyword and item.default is None:
            source.report(
                parameter(method, item.name),
                f"the keyword input `{item.name}` needs a default",
                f"Write `{item.name}: {item.type} | None = None`.",
            )
        if not item.keyword and item.default is not None:
            source.report(
                parameter(method, item.name),
                f"the positional input `{item.name}` has a default",
                "Make it keyword-only: put `*` before it.",
            )
    return inputs


def parameter(method: ast.FunctionDef, name: str) -> ast.AST:
    """The place of a parameter in a signature."""
    parameters = [n for n in ast.walk(method.args) if isinstance(n, ast.arg)]
    return next((p for p in parameters if p.arg == name), method)


def _entry_returns(source: Source, method: ast.FunctionDef):
    check_returns(source, method)
    if method.returns is None:
        return ArrayType("PyTree")
    return read_array_type(source, method.returns)


def check_returns(source: Source, method: ast.FunctionDef) -> None:
    """Report a path that returns nothing."""
    if not ends_in_return(method.body):
        source.report(
            method,
            f"{method.name} does not return on every path",
            "End it in `return y`.",
        )
    for node in _own_nodes(method):
        if isinstance(node, ast.Return) and node.value is None:
            source.report(node, f"{method.name} must return a value")


def _own_nodes(method: ast.FunctionDef):
    """The nodes of a method without those of nested functions."""
    pending: list[ast.AST] = list(method.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


class _Facts(ast.NodeVisitor):
    """What a body uses of self, in the order of the text."""

    def __init__(self, attributes: dict[str, str]):
        self.attributes = attributes
        self.training = False
        self.consumers: list[str] = []
        self.calls: list[str] = []
        self.assigns: list[str] = []
        self.reads: set[str] = set()
        self.stored: set[str] = set()
        self.compared: set[str] = set()

    def visit_For(self, node: ast.For) -> None:
        # A consumer for each of the fields that a loop runs over.
        for part in ast.walk(node.iter):
            name = self_attribute(part)
            if name and self.attributes.get(name) in ("layers", "optimizers"):
                self.consumers.append(name)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self_attribute(node.func)
        if name in ("key", "keys") or (
            name and self.attributes.get(name) == "optimizer"
        ):
            self.consumers.append(name)
        elif applied := self._applied(node):
            self.consumers.append(applied)
        elif name and self.attributes.get(name) in ("sub-layer", "layer"):
            self.consumers.append(name)
            self.calls.append(name)
        self.generic_visit(node)

    def _applied(self, node: ast.Call) -> str | None:
        """The optimizer whose pure `apply` is called."""
        match node.func:
            case ast.Attribute(value=owner, attr="apply"):
                name = self_attribute(owner)
                return name if self.attributes.get(name or "") == "optimizer" else None
        return None

    def visit_Compare(self, node: ast.Compare) -> None:
        name = self_attribute(node.left)
        if name and compares_with_none(node):
            self.compared.add(name)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self_attribute(node)
        if self.attributes.get(self_attribute(node.value) or "") == "stored":
            self.stored.add(node.attr)
            self.reads.add(node.attr)
            return
        if name == "training":
            self.training = True
        elif name and isinstance(node.ctx, ast.Store):
            self.assigns.append(name)
        elif name:
            self.reads.add(name)
        self.generic_visit(node)
