"""Signatures are data: what modules, module classes and pages say of them is the same."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from tests.library import PROJECT, checked_in, library

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.graph.signatures import call, constructor
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.signatures import Signature, signatures


@cache
def functions(path: str) -> dict[str, str]:
    """What the functions of a module and of its classes take and return, as they stand there."""
    found: dict[str, str] = {}
    for node in ast.parse(checked_in()[path]).body:
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
        "fwd(x, trainables, non_trainables, hyperparams, inference_mode=False, key=None,"
        " *, kernel_mask=None)"
    )


DRAWING = '''
import jax

from mlax_scaffold.spec import Float, Layer, Size, dropout
from mlax_scaffold.specs.nn.dropout import Dropout


class Noise(Layer):
    """Noise of a method."""

    size: Size

    def _noisy(self, x):
        return x + jax.random.normal(self.key(), x.shape, x.dtype)

    def _in_training(self, x):
        return dropout(x, self.key(), rate=0.5) if self.training else x

    def forward(self, x: Float["size"]) -> Float["size"]:
        y = self._noisy(x)
        return self._in_training(y)

    def quiet(self, x: Float["size"]) -> Float["size"]:
        return self._in_training(x)

    def guarded(self, x: Float["size"]) -> Float["size"]:
        if self.training:
            x = self._noisy(x)
        return x


class Around(Layer):
    """A layer whose parts draw."""

    def setup(self):
        self.noise = Noise(3)
        self.drop = Dropout(0.5)
        self.noises = [Noise(3), Noise(3)]

    def forward(self, x: Float["3"]) -> Float["3"]:
        return self.noise(self.drop(x))

    def one(self, x: Float["3"]) -> Float["3"]:
        return self.noises[1](x)

    def each(self, x: Float["3"]) -> Float["3"]:
        for noise in self.noises:
            x = noise(x)
        return x

    def quiet(self, x: Float["3"]) -> Float["3"]:
        return self.drop(x)
'''


def test_a_key_is_needed_at_inference_where_what_is_called_draws():
    file = SpecFile("specs/nn/around.py", "nn", DRAWING)
    read = read_library((file,), find_specs(LIBRARY_SPECS, "library"), foreign=True)
    needed = {
        (definition.name, signature.name)
        for definition in read
        if definition.name in ("Noise", "Around")
        for signature in signatures(definition, read)
        for parameter in signature.parameters
        if signature.name != "init" and parameter.doc == "PRNG key; needed."
    }
    entries = [("Around", name) for name in ("each", "fwd", "one")]
    assert needed == {("Noise", "fwd"), *entries}
    for definition in read:
        if definition.name in ("Noise", "Around"):
            rng = [p.doc for p in constructor(definition, read).parameters]
            assert "gives that of each call." in rng
