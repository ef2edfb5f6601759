"""Signatures are data: what modules, module classes and pages say of them is the same."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from tests.library import PROJECT, library, rendered

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.render.graph.signatures import call, constructor
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.signatures import Signature, signatures


@cache
def texts() -> dict[str, str]:
    return {file.path: file.text for file in rendered()}


@cache
def functions(path: str) -> dict[str, str]:
    """What the functions of a module and of its classes take and return, as they stand there."""
    found: dict[str, str] = {}
    for node in ast.parse(texts()[path]).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inner:
            if isinstance(function, ast.FunctionDef):
                found.setdefault(function.name, head(function))
    return found


def head(node: ast.FunctionDef) -> str:
    returns = "" if node.returns is None else ast.unparse(node.returns)
    return f"{node.name}({ast.unparse(node.args)}) -> {returns}"


def said(signature: Signature) -> str:
    [node] = ast.parse(f"def {signature.text}: ...").body
    assert isinstance(node, ast.FunctionDef)
    return head(node)


def test_modules_have_the_signatures():
    count = 0
    for definition in library():
        path = f"{PROJECT.output}/{definition.section}/{file_name(definition)}"
        for signature in signatures(definition, library()):
            if definition.kind is Kind.SCHEDULE and signature.name != "__call__":
                continue  # a class, whose fields they are
            assert functions(path)[signature.name] == said(signature)
            count += 1
    assert count > 300


def test_module_classes_have_the_signatures():
    for definition in library():
        if definition.kind not in (Kind.LAYER, Kind.BLOCK):
            continue
        path = f"{PROJECT.output}/graph/{definition.section}/{definition.module}.py"
        found = functions(path)
        assert found["__init__"] == said(constructor(definition, library()))
        for method in definition.entries:
            signature = call(definition, method)
            assert found[signature.name] == said(signature)


@pytest.mark.parametrize(
    ("name", "used", "unused"),
    [
        ("Dropout", {"inference_mode", "key"}, set()),
        ("Linear", set(), {"inference_mode", "key"}),
        ("BatchNorm", {"inference_mode"}, {"key"}),
        ("Series", {"inference_mode", "key"}, set()),
        ("Adam", set(), {"value", "value_and_gradients", "key"}),
    ],
)
def test_a_parameter_knows_whether_it_is_used(name: str, used: set, unused: set):
    definition = next(
        d for d in library() if d.name == name and d.section != "schedule"
    )
    *_, last = signatures(definition, library())
    found = {p.name: p.used for p in last.parameters}
    assert {name: found[name] for name in used | unused} == {
        **dict.fromkeys(used, True),
        **dict.fromkeys(unused, False),
    }
    assert not unused & dict(last.docs).keys()
    said = last.unused("It")
    assert all(f"`{name}`" in said for name in unused)
    assert not any(f"`{name}`" in said for name in used)


def test_a_call_is_the_signature_without_types():
    linear = next(d for d in library() if str(d.reference) == "nn.Linear")
    init, fwd = signatures(linear, library())
    assert init.call.startswith("init(key, in_features, out_features, use_bias=True,")
    assert fwd.call == (
        "fwd(x, trainables, non_trainables, hyperparams, inference_mode=False, key=None)"
    )
