"""Which operand of an expression is the wide one, by its place among those that the compiler sees."""

from __future__ import annotations

import ast

import pytest

from mlax_scaffold.reader.axes.sizes import hyperparameters
from mlax_scaffold.reader.remedies.pools import as_pool
from mlax_scaffold.reader.remedies.widening import (
    as_stored,
    narrowed,
    wide_operand,
)
from mlax_scaffold.reader.source import Source


@pytest.mark.parametrize(
    ("text", "place", "operand"),
    [
        ("a - b", 0, "a"),
        ("a - b", 1, "b"),
        ("1 - tri(n)", 0, "tri(n)"),
        ("tri(n) * 2.0", 1, "tri(n)"),
        ("2 * 3", 0, "2"),
        ("einsum('ij', a, b)", 1, "b"),
        ("where(c, 1.0, b)", 1, "1.0"),
        ("pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 1)], constant_values=edge)", 1, "edge"),
        ("pad(x, ((0, 1), (k, 0)), constant_values=edge)", 1, "edge"),
        ("where(c, x, other=y, axis=0)", 2, "y"),
        ("concatenate([a, b])", 0, "[a, b]"),
        ("f([0.5, 1.0], x)", 1, "x"),
        ("a + b", None, None),
        ("f(*a)", 0, None),
    ],
)
def test_a_number_is_not_wide(text: str, place: int | None, operand: str | None):
    [statement] = ast.parse(text).body
    assert isinstance(statement, ast.Expr)
    found = wide_operand(statement.value, place)
    assert (None if found is None else ast.unparse(found)) == operand


TEXT = """
class Other(Layer):
    slope: Positive

class Example(Layer):
    freq: Positive

    def forward(self, x):
        return self.freq * layer(x)

@function
def example(x, *, freq: Positive):
    return freq * layer(x)
"""


@pytest.mark.parametrize("place", [0, 1])
def test_a_hyperparameter_is_not_wide(place: int):
    source = Source("example.py", TEXT)
    products = [n for n in ast.walk(source.tree) if isinstance(n, ast.BinOp)]
    assert len(products) == 2
    for node in products:
        found = wide_operand(node, place, hyperparameters(source.tree, node))
        assert found is not None
        assert ast.unparse(found) == "layer(x)"


@pytest.mark.parametrize(
    ("text", "operand", "written"),
    [
        ("jnp.array(table(3))[:, None] * x", "jnp.array(table(3))[:, None]", "dtype"),
        ("x @ jnp.array(table(3)).T", "jnp.array(table(3)).T", "dtype"),
        (
            "jnp.array([3], jnp.float32)[0] * x",
            "jnp.array([3], jnp.float32)[0]",
            "x.dtype",
        ),
        ("table(3)[0] * x", "table(3)[0]", "jnp.asarray(table(3)[0], x.dtype)"),
        ("x * jr.normal(k, (2,))", "jr.normal(k, (2,))", "dtype"),
        (
            "x * lines.normal(k, (2,))",
            "lines.normal(k, (2,))",
            "jnp.asarray(lines.normal(k, (2,)), x.dtype)",
        ),
        ("jnp.asarray(table(3).T, x.dtype) * x", "table(3).T", None),
    ],
)
def test_a_wide_operand_is_cast_once_where_it_is_made(
    text: str, operand: str, written: str | None
):
    method = f'    def forward(self, x: Float["n"]):\n        return {text}\n'
    body = f"import jax.numpy as jnp\n\nclass Example(Layer):\n{method}"
    source = Source("example.py", body)
    nodes = [n for n in ast.walk(source.tree) if isinstance(n, ast.expr)]
    [node] = [n for n in nodes if source.text_of(n) == operand]
    fix = narrowed(source, node)
    texts = [edit.text for edit in fix.edits] if fix else [None]
    assert texts == [", dtype=x.dtype" if written == "dtype" else written]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (
            '(1, 2, 3, 1), (1, 2, s, 1), "VALID"',
            'spatial_dims=2, window=(2, 3), strides=(2, s), padding="VALID", '
            "channel_last=True",
        ),
        (
            '(1, 1, 2), (1, 1, 2), "SAME"',
            'spatial_dims=1, window=(2,), strides=(2,), padding="SAME"',
        ),
        ('sizes, sizes, "VALID"', ""),
    ],
)
def test_sums_of_windows_are_pools(windows: str, expected: str):
    text = f"import jax\n\ny = jax.lax.reduce_window(x, 0.0, jax.lax.add, {windows})\n"
    source = Source("specs/nn/example.py", text)
    statement = source.tree.body[-1]
    assert isinstance(statement, ast.Assign)
    fix = as_pool(source, statement.value)
    edited = fix.edits[0].text if fix else ""
    assert edited == (f"sum_pool(x, {expected})" if expected else "")
    assert as_pool(source, statement.targets[0]) is None


@pytest.mark.parametrize(
    ("call", "dtypes", "expected"),
    [
        ("ema(self.a[0], b)", ["bfloat16", "float32"], "self.stored.a"),
        ("ema(self.a[0], b)", ["float32", "bfloat16"], ""),
        ("ema(c, self.b)", ["float16", "float32"], ""),
        ("ema(c, self.a)", ["float16", "float16"], ""),
    ],
)
def test_a_state_among_wider_numbers_is_read_as_it_is_stored(call, dtypes, expected):
    text = (
        f"self.a = [state(zeros, (2,), float)]\nself.b = trainable(ones, ())\n{call}\n"
    )
    source = Source("specs/nn/example.py", text)
    fix = as_stored(source, source.tree.body[-1].value, dtypes)  # type: ignore[attr-defined]
    assert (fix.edits[0].text if fix else "") == expected
