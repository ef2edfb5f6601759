"""Rewrites the methods of a spec into the bodies of pure functions: ordered lists of libcst passes.

Each pass is a module with `rewrite(function, context)`. The reader has refused what no pass can rewrite
faithfully, so a pass has no case for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from mlax_scaffold.model.definition import Definition, Method, MethodRole
from mlax_scaffold.model.library import Library
from mlax_scaffold.rewrite import (
    hyperparameters,
    keys,
    loops,
    merges,
    optimizer,
    requirements,
    returns,
    setup,
    state,
    sub_layers,
    trainables,
    training,
)
from mlax_scaffold.rewrite.context import Context, Pass
from mlax_scaffold.rewrite.nodes import has_docstring, with_body, with_prelude

ENTRY: tuple[Pass, ...] = (
    requirements.rewrite,
    loops.rewrite,
    keys.rewrite,
    sub_layers.rewrite,
    state.rewrite,
    merges.rewrite,
    trainables.rewrite,
    training.rewrite,
    hyperparameters.rewrite,
    returns.rewrite,
)
PASSES: Mapping[MethodRole, tuple[Pass, ...]] = {
    MethodRole.ENTRY: ENTRY,
    MethodRole.SETUP: (requirements.rewrite, setup.rewrite),
    MethodRole.PREPARE: (optimizer.prepare,),
    MethodRole.UPDATE: (requirements.rewrite, optimizer.update),
    MethodRole.STEP: (loops.rewrite, optimizer.step),
    MethodRole.VALUE: (requirements.rewrite,),
    MethodRole.HYPER: (),
    MethodRole.PROPERTY: (),
}


@dataclass(frozen=True)
class Rewritten:
    """A rewritten method."""

    signature: str
    """Its parameters and result as they stand in the spec, `self` included."""
    body: str
    """Its statements, not indented, without the docstring."""


def rewrite_methods(definition: Definition, library: Library) -> dict[str, Rewritten]:
    """Every method of a definition (of a function: the function itself), by name."""
    functions = _functions(cst.parse_module(definition.text))
    traits = library.sub_layers(definition)
    return {
        method.name: _rewrite(
            functions[method.name], Context(definition, method, traits)
        )
        for method in definition.methods
    }


def _rewrite(function: cst.FunctionDef, context: Context) -> Rewritten:
    function = _indented(function)
    if has_docstring(function):
        function = with_body(function, function.body.body[1:])
    signature = _signature(function)
    for rewrite in _passes(context.method, context.definition):
        function = rewrite(function, context)
    function = training.simplified(function)
    if context.method.role is MethodRole.ENTRY and context.rebinds_input:
        body = _text(function)
        if "(dtype)" in body or ", dtype)" in body:
            function = with_prelude(
                function, [f"dtype = {context.floating_input}.dtype"]
            )
    return Rewritten(signature, _text(function))


def _passes(method: Method, definition: Definition) -> tuple[Pass, ...]:
    if method.name == definition.name:  # a function has no self to rewrite
        return (requirements.rewrite,)
    return PASSES[method.role]


def _functions(module: cst.Module) -> dict[str, cst.FunctionDef]:
    found: dict[str, cst.FunctionDef] = {}
    for item in module.body:
        body = item.body.body if isinstance(item, cst.ClassDef) else [item]
        found |= {f.name.value: f for f in body if isinstance(f, cst.FunctionDef)}
    return found


def _indented(function: cst.FunctionDef) -> cst.FunctionDef:
    if isinstance(function.body, cst.IndentedBlock):
        return function
    suite = cst.ensure_type(function.body, cst.SimpleStatementSuite)
    lines = [cst.SimpleStatementLine(body=[part]) for part in suite.body]
    return function.with_changes(body=cst.IndentedBlock(body=lines))


def _signature(function: cst.FunctionDef) -> str:
    empty = cst.Module(body=[])
    parameters = empty.code_for_node(function.params)
    returns = function.returns
    result = "" if returns is None else f" -> {empty.code_for_node(returns.annotation)}"
    return f"({parameters}){result}"


def _text(function: cst.FunctionDef) -> str:
    block = cst.ensure_type(function.body, cst.IndentedBlock)
    header = [line for line in block.footer if line.comment]
    return cst.Module(body=list(block.body), footer=header).code.strip("\n") + "\n"
