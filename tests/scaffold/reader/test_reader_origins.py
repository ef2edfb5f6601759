"""Places of generated modules, mapped to the specs that they follow from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlax
from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.reader.origins import origin

OUTPUT = Path(mlax.__file__).parent


def texts(name: str) -> tuple[str, str]:
    section, stem = name.split("/")
    private = "_" if section == "functional" else ""
    generated = OUTPUT / section / f"{private}{stem}.py"
    return (LIBRARY_SPECS / f"{name}.py").read_text(), generated.read_text()


def place(name: str, line: str, part: str = "") -> str:
    """The text of a spec that a line of its module is mapped to, and a part of that line."""
    spec, generated = texts(name)
    lines = generated.split("\n")
    [number] = [i for i, text in enumerate(lines, 1) if text.strip() == line]
    column = lines[number - 1].index(part)
    span = (column, number, column + len(part)) if part else None
    found = origin(spec, generated, number, span)
    assert found is not None
    return ast.unparse(found.node)


@pytest.mark.parametrize(
    ("name", "line", "part", "expected"),
    [
        (
            "nn/batch_norm",
            "if not inference_mode and x.size > 0:",
            "",
            "self.training and x.size > 0",
        ),
        (
            "nn/batch_norm",
            "ema(non_trainables.var, var, decay=hyperparams.momentum),",
            "ema(non_trainables.var, var, decay=hyperparams.momentum)",
            "ema(self.stored.var, var, decay=self.momentum)",
        ),
        (
            "nn/batch_norm",
            "var = arrays.create(ones, keys[3], (channels,), "
            "arrays.at_least(dtype, jnp.float32))",
            "",
            "self.var = state(ones, (self.channels,), at_least=jnp.float32)",
        ),
        (
            "optim/adam",
            "unbiased = mean * unbias_mean",
            "",
            "unbiased = self.mean * self.unbias_mean",
        ),
        (
            "optim/adam",
            "return -learning_rate * step, mean, square",
            "",
            "return -self.learning_rate * step",
        ),
    ],
)
def test_rewritten_statements(name: str, line: str, part: str, expected: str):
    assert place(name, line, part) == expected


def unchanged(spec: str, generated: str) -> Iterator[tuple[int, int]]:
    """Lines that stand once in a spec and once in its module, as they are."""
    ours, theirs = spec.split("\n"), generated.split("\n")
    stripped = [line.strip() for line in theirs]
    for number, line in enumerate(ours, 1):
        text = line.strip()
        plain = len(text) > 20 and " = " in text and "self" not in text
        if plain and ours.count(line) == 1 and stripped.count(text) == 1:
            yield stripped.index(text) + 1, number


def test_lines_that_nothing_rewrote_are_mapped_to_themselves():
    checked = wrong = 0
    for path in sorted(LIBRARY_SPECS.glob("nn/*.py")):
        spec, generated = texts(f"nn/{path.stem}")
        for line, expected in unchanged(spec, generated):
            found = origin(spec, generated, line)
            if found is None:
                continue  # a line of a docstring
            checked += 1
            statement = found.statement
            last = statement.end_lineno or statement.lineno
            wrong += not statement.lineno <= expected <= last
    assert checked > 80
    assert wrong == 0


def test_what_follows_from_no_statement_is_not_mapped():
    spec, generated = texts("nn/linear")
    assert origin(spec, generated, 1) is None
    assert origin("def f(:", generated, 5) is None
    assert origin(spec, "def f(:", 1) is None


def test_the_call_of_a_method_in_a_line_of_its_own_is_found_whole():
    """Its traceback begins at the method's name."""
    spec = "def count(x, at):\n    total = jnp.zeros(3, x.dtype).at[at].add(x)\n    return total\n"
    made = (
        "def count(x, at):\n    total = (\n        jnp.zeros(3, x.dtype)\n"
        "        .at[at]\n        .add(x)\n    )\n    return total\n"
    )
    found = origin(spec, made, 5, (9, 5, 15))
    assert found is not None
    assert ast.unparse(found.node) == "jnp.zeros(3, x.dtype).at[at].add(x)"


SEVERAL = """
class First(Layer):
    def setup(self):
        self.norm = GroupNorm(self.groups, self.width)

class Second(Layer):
    def setup(self):
        self.other = Linear(self.width, 3)
        self.norm = GroupNorm(self.groups, self.channels)

class Third(Second):
    extra: Size
"""


@pytest.mark.parametrize("name", ["Second", "Third"])
def test_a_module_follows_from_its_own_class(name: str):
    generated = f"""
class {name}Hyperparams(OfLayer):
    groups: int

def init(key, groups, width):
    norm = GroupNorm.init(groups, width)
"""
    found = origin(SEVERAL, generated, 6)
    assert found is not None
    assert ast.unparse(found.node) == (
        "self.norm = GroupNorm(self.groups, self.channels)"
    )
