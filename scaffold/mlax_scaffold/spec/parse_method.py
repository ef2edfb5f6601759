"""Reads the methods of a spec, and the functions: inputs, results, and what their bodies use."""

from __future__ import annotations

import ast

from mlax_scaffold.model.definition import Input, Method, MethodRole
from mlax_scaffold.spec.check_body import ends_in_return
from mlax_scaffold.spec.parse_source import Source, dotted, self_attribute
from mlax_scaffold.spec.parse_types import is_array_annotation, read_array_type

ENTRY_SIGNATURE = 'def forward(self, x: Float["*batch features"]) -> Float["..."]'


def docstring(node: ast.FunctionDef | ast.ClassDef | ast.Module) -> str:
    """The docstring, its indentation removed, or an empty string."""
    return ast.get_docstring(node) or ""


def read_inputs(
    source: Source, arguments: ast.arguments, *, skip: int = 0
) -> tuple[tuple[Input, ...], list[tuple[ast.arg, ast.expr | None]]]:
    """Array inputs of a signature, and the parameters that are something else."""
    inputs: list[Input] = []
    others: list[tuple[ast.arg, ast.expr | None]] = []
    positional = [*arguments.posonlyargs, *arguments.args][skip:]
    none: list[ast.expr | None] = [None] * len(positional)
    defaults = (
        (none + list(arguments.defaults))[-len(positional) :] if positional else []
    )
    for extra in (arguments.vararg, arguments.kwarg):
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
                    source.doc_comment(arg, arg.end_lineno),
                )
            )
    return tuple(inputs), others


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
) -> Method:
    """The method as a value; what is wrong with its signature is reported."""
    first = method.args.args[0].arg if method.args.args else None
    if first != "self":
        source.report(method, f"{method.name} must take self first")
    for decorator in method.decorator_list:
        if dotted(decorator) != "property":
            source.report(decorator, "a spec's methods have no decorators")
    inputs, _ = (), None
    returns = None
    if role is MethodRole.ENTRY:
        inputs = _entry_inputs(source, method)
        returns = _entry_returns(source, method)
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
    )


def names_of(node: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The identifiers of a text, and those among them that it binds."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    return (
        frozenset(n.id for n in names),
        frozenset(n.id for n in names if not isinstance(n.ctx, ast.Load)),
    )


def _entry_inputs(source: Source, method: ast.FunctionDef) -> tuple[Input, ...]:
    inputs, others = read_inputs(source, method.args, skip=1)
    for arg, _ in others:
        source.report(
            arg,
            f"the input `{arg.arg}` needs the type of an array",
            'Annotate it, as in `x: Float["*batch features"]`.',
        )
    positional = [i for i in inputs if not i.keyword]
    if not positional and not others:
        source.report(
            method, f"{method.name} takes no input", f"Write `{ENTRY_SIGNATURE}`."
        )
    names = [i.name for i in positional]
    if len(names) == 1 and names != ["x"] and not others:
        source.report(
            method.args.args[1],
            f"the one positional input is called x, not {names[0]}",
            "fwd has the same signature for every layer.",
        )
    if len(names) > 1 and "x" in names:
        source.report(
            method.args.args[1 + names.index("x")],
            "with several positional inputs, x is the tuple of them",
            "Name this one otherwise, such as `inputs`.",
        )
    for item in inputs:
        if item.keyword and item.default is None:
            source.report(
                method,
                f"the keyword input `{item.name}` needs a default",
                f"Write `{item.name}: {item.type} | None = None`.",
            )
        if not item.keyword and item.default is not None:
            source.report(
                method,
                f"the positional input `{item.name}` has a default",
                "Make it keyword-only: put `*` before it.",
            )
    return inputs


def _entry_returns(source: Source, method: ast.FunctionDef):
    if not ends_in_return(method.body):
        source.report(
            method,
            f"{method.name} does not return on every path",
            "End it in `return y`.",
        )
    for node in _own_nodes(method):
        if isinstance(node, ast.Return) and node.value is None:
            source.report(node, f"{method.name} must return a value")
    if method.returns is None:
        source.report(
            method,
            f"the result of {method.name} needs a type",
            'Annotate it, as in `-> Float["*batch out_features"]`, or `-> PyTree`.',
        )
        return None
    return read_array_type(source, method.returns)


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

    def visit_For(self, node: ast.For) -> None:
        if any(
            self.attributes.get(self_attribute(n) or "") in ("layers", "optimizers")
            for n in ast.walk(node.iter)
        ):
            self.consumers.append("loop")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self_attribute(node.func)
        if name in ("key", "keys"):
            self.consumers.append(name)
        elif name and self.attributes.get(name) in ("sub-layer", "layer"):
            self.consumers.append(name)
            self.calls.append(name)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self_attribute(node)
        if name == "training":
            self.training = True
        elif name and isinstance(node.ctx, ast.Store):
            self.assigns.append(name)
        elif name:
            self.reads.add(name)
        self.generic_visit(node)
