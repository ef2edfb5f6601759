"""Finds, in the functions and constants beside a definition, what a generated module cannot hold."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.model import import_time
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.import_time import Refused
from mlax_scaffold.spec.check_body import BodyChecker
from mlax_scaffold.spec.check_defaults import check_defaults, check_type
from mlax_scaffold.spec.check_keys import check_keys
from mlax_scaffold.spec.check_uses import UseChecker
from mlax_scaffold.spec.check_widening import strict_word
from mlax_scaffold.spec.parse_requirements import requirements_of
from mlax_scaffold.spec.parse_source import Source

_RESERVED = frozenset(["checks"])
"""What a requirement in a helper becomes a call of."""

_CONSTANTS = (
    "A constant is a number, a text, a name of jax, arithmetic with functions of math, or "
    "a tuple, a list or a dictionary of them. Make an array in a function."
)


def check_constant(
    source: Source,
    name: str,
    value: ast.expr,
    annotation: ast.expr | None,
    imports: Mapping[str, Import],
    functions: Collection[str],
) -> bool:
    """Report a constant that importing the generated module could not compute: False."""
    check_type(source, annotation)
    if isinstance(value, ast.Lambda):
        source.report(
            value,
            f"`{name}` is a lambda",
            f"Write a function: `def {name}({ast.unparse(value.args)}): "
            f"return {ast.unparse(value.body)}`.",
        )
        return False
    for part in ast.walk(value):
        word = strict_word(part, imports) if isinstance(part, ast.expr) else None
        if word and isinstance(part, ast.Name | ast.Attribute):
            source.report(
                part,
                f"`{ast.unparse(part)}` computes half-precision input in float32",
                f"Use the strict `{word}` of mlax_scaffold.spec.",
            )
            return False
    meanings = {n: imported.meaning for n, imported in imports.items()}
    meanings |= {n: f".here.{n}" for n in functions}
    try:
        import_time.check_constant(value, meanings)
    except Refused as refused:
        node, reason = refused.node, str(refused)
        if isinstance(node, ast.Name) and node.id not in imports:
            reason = f"`{node.id}` is not defined above"
        source.report(node, f"the constant `{name}`: {reason}", _CONSTANTS)
        return False
    return True


def check_function(
    source: Source,
    node: ast.FunctionDef,
    imports: Mapping[str, Import],
    functions: Collection[str],
) -> None:
    """Report every finding of a function beside the definition.

    Args:
        source: the spec.
        node: the function, with the values of constants in it.
        imports: what the spec imports.
        functions: names of the functions before it.
    """
    for decorator in node.decorator_list:
        source.report(
            decorator,
            f"`{node.name}`, beside the definition, has a decorator",
            f"Use it where the function is called: `jax.checkpoint({node.name})(x)`; "
            "`jax.jit` is the caller's.",
        )
    if ast.get_docstring(node) is not None and len(node.body) == 1:
        source.report(
            node,
            f"{node.name} holds nothing but a docstring",
            "Write what it does, or remove it.",
        )
    args = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
    selves = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == "self"]
    selves += [a for a in args if a.arg == "self"]
    if selves:
        source.report(
            selves[-1],
            f"`{node.name}` stands beside the class, and has no self",
            "Give it what it reads, as arguments, or make it a method.",
        )
        return
    earlier = {name: Import(name, ".here", name) for name in functions}
    check_defaults(source, node.args, {**imports, **earlier})
    BodyChecker(source, node, {}, imports=imports, reserved=_RESERVED).check()
    UseChecker(source, node, {}).check()
    check_keys(source, node, {})
    requirements_of(source, node)
