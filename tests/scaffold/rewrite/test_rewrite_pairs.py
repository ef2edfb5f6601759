"""Before and after: what the passes make of a method, as text.

The pairs are in `cases/`, a file for each pass. A file holds hard cases, and one that the pass leaves alone.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mlax_scaffold.model.definition import MethodRole
from mlax_scaffold.rewrite import PASSES


def comments(text: str) -> Counter[str]:
    """The comments of a text, other than those that document a declaration."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [t.string for t in tokens if t.type == tokenize.COMMENT]
    return Counter(c for c in found if not c.startswith("#:"))


def test_becomes(pair, rewrite_pair: Callable[..., str]):
    assert rewrite_pair(pair) == pair.after.rstrip("\n") + "\n"


def test_every_comment_survives_once(pair, rewrite_pair: Callable[..., str]):
    before = pair.before
    if pair.method:
        [method] = [
            node
            for node in ast.parse(before).body
            if isinstance(node, ast.FunctionDef) and node.name == pair.method
        ]
        lines = before.split("\n")[method.lineno - 1 : method.end_lineno]
        # A comment at the end of the body is in no node.
        rest = before.split("\n")[method.end_lineno or 0 :]
        while rest and rest[0].startswith("    "):
            lines.append(rest.pop(0))
        before = "\n".join(lines)
    assert comments(rewrite_pair(pair)) == comments(before)


def test_result_is_a_body_without_self(pair, rewrite_pair: Callable[..., str]):
    body = rewrite_pair(pair)
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    tree = ast.parse(f"def f():\n{indented}    pass\n")
    assert "self" not in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def test_every_pass_has_pairs_and_one_that_it_leaves_alone():
    folder = Path(__file__).parent / "cases"
    for passes in PASSES.values():
        for rewrite in passes:
            name = rewrite.__module__.rpartition(".")[2]
            text = (folder / f"{name}.txt").read_text(encoding="utf-8")
            assert name in ("optimizer", "returns") or "=== unchanged" in text, name


@pytest.mark.parametrize("role", [MethodRole.HYPER, MethodRole.PROPERTY])
def test_methods_of_the_hyperparameters_keep_their_self(role, rewrite):
    decorator = "@property\n" if role is MethodRole.PROPERTY else ""
    body = f"""features: Size = 3  #: size

{decorator}def half(self):
    require(self.features > 1, "no half")
    return self.features // 2  # rounded down

def forward(self, x: Float["..."]) -> Float["..."]:
    return x
"""
    assert rewrite(body)["half"].body == (
        "checks.require("
        "'Example', self.features > 1, \"no half\", features=self.features)\n"
        "return self.features // 2  # rounded down\n"
    )


def test_signature_is_that_of_the_spec(rewrite):
    body = """
def carry(self, shape, dtype=None, *, scale: float = 1.0):
    return None

def forward(self, x: Float["..."]) -> Float["..."]: return x
"""
    methods = rewrite(body)
    assert methods["carry"].signature == (
        "(self, shape, dtype=None, *, scale: float = 1.0)"
    )
    assert methods["forward"].signature == '(self, x: Float["..."]) -> Float["..."]'
    assert methods["forward"].body == "return x, None\n"


def test_a_function_keeps_its_body(words):
    from mlax_scaffold.reader.files import SpecFile
    from mlax_scaffold.reader.library import read_library
    from mlax_scaffold.rewrite import rewrite_methods

    text = '''
from mlax_scaffold.spec import Float, Size, function, require


@function
def double(
    x: Float["..."],
    *,
    times: Size = 2,  #: how often
) -> Float["..."]:
    """Adds an array to itself."""
    require(times < 9, "too often")  # a limit
    return x * times  # not self.times
'''
    library = read_library(
        (SpecFile("specs/functional/double.py", "functional", text),), words
    )
    [definition] = [d for d in library if d.name == "double"]
    assert rewrite_methods(definition, library)["double"].body == (
        "checks.require('double', times < 9, \"too often\", times=times)  # a limit\n"
        "return x * times  # not self.times\n"
    )
