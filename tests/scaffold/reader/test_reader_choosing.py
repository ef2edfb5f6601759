"""Branches on traced values become choices, which make the same numbers."""

from __future__ import annotations

import ast
import textwrap
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.reader.remedies.applying import applied
from mlax_scaffold.reader.remedies.choosing import chosen
from mlax_scaffold.reader.source import Source

HEAD = "import jax.numpy as jnp\n\n\nclass Example:\n    def value(self, step):\n"

BODIES = {
    "a chain of returns": (
        """
        if step < self.first:
            return self.low * step / self.first
        elif step < self.second:
            return self.low
        else:
            return self.high
        """,
        """
        return jnp.where(
            step < self.first,
            self.low * step / self.first,
            jnp.where(step < self.second, self.low, self.high),
        )
        """,
    ),
    "a return before others": (
        """
        if step < self.first:
            return self.low * step / self.first
        t = (step - self.first) / 10  # from there
        if self.kind == "cosine":
            return jnp.cos(t)
        return t * 1e-8
        """,
        """
        t = (step - self.first) / 10  # from there
        if self.kind == "cosine":
            return jnp.where(step < self.first, self.low * step / self.first, jnp.cos(t))
        return jnp.where(step < self.first, self.low * step / self.first, t * 1e-8)
        """,
    ),
    "a return before others that end in an error": (
        """
        if step < self.first:
            return self.low
        if self.kind == "cosine":
            return jnp.cos(step)
        elif self.kind == "linear":
            t = step / 10
            return 1 - t
        else:
            raise ValueError(self.kind)
        """,
        """
        if self.kind == "cosine":
            return jnp.where(step < self.first, self.low, jnp.cos(step))
        elif self.kind == "linear":
            t = step / 10
            return jnp.where(step < self.first, self.low, 1 - t)
        else:
            raise ValueError(self.kind)
        """,
    ),
    "what it reads changes below": (
        """
        if step < self.first:
            t = step / 3
            return self.low + t
        step = step - self.first
        if step < self.second:
            return self.high
        step = step - self.second
        t = step + 1
        return t
        """,
        """
        is_early = step < self.first
        early = self.low + step / 3
        step = step - self.first
        is_early2 = step < self.second
        early2 = self.high
        step = step - self.second
        t = step + 1
        return jnp.where(is_early, early, jnp.where(is_early2, early2, t))
        """,
    ),
    "one name": (
        """
        if step < self.first:
            y = self.low
        elif step < self.second and step > 3:
            share = step / self.second
            y = self.high * share
        else:
            y = 2.0
        return y
        """,
        """
        share = step / self.second
        y = jnp.where(
            step < self.first,
            self.low,
            jnp.where((step < self.second) & (step > 3), self.high * share, 2.0),
        )
        return y
        """,
    ),
    "a name that has a value": (
        """
        y = self.low
        if not 3 < step <= self.first:
            y *= 0.5
            y = y + 1.0
        return y
        """,
        """
        y = self.low
        y = jnp.where(
            jnp.logical_not((3 < step) & (step <= self.first)),
            y * 0.5 + 1.0,
            y,
        )
        return y
        """,
    ),
    "several names": (
        """
        if step < self.first or self.low > 0.0:
            y = self.low
            z = y * step
        else:
            y = self.high
            z = 3.0
        return y * z
        """,
        """
        y = jnp.where((step < self.first) | (self.low > 0.0), self.low, self.high)
        z = jnp.where((step < self.first) | (self.low > 0.0), self.low * step, 3.0)
        return y * z
        """,
    ),
    "an expression": (
        "return self.low if step < self.first else self.high",
        "return jnp.where(step < self.first, self.low, self.high)",
    ),
    "one in another": (
        """
        if step > self.first:
            if step > self.second:
                return self.low
            else:
                return self.high
        return 0.0
        """,
        """
        return jnp.where(
            step > self.first,
            jnp.where(step > self.second, self.low, self.high),
            0.0,
        )
        """,
    ),
}
BODIES |= {
    "two values at once": (
        """
        y, z = 1.0, 2.0
        if step < self.first:
            y, z = z + step, y
        elif step < self.second:
            y, z = self.low, self.high
        return y - 3.0 * z
        """,
        """
        y, z = 1.0, 2.0
        new_y = jnp.where(
            step < self.first,
            z + step,
            jnp.where(step < self.second, self.low, y),
        )
        z = jnp.where(step < self.first, y, jnp.where(step < self.second, self.high, z))
        y = new_y
        return y - 3.0 * z
        """,
    ),
    "two values of one": (
        """
        y = step
        if step > self.first:
            y, half = divmod(step, 2.0)
            y = y * y - half
        return y
        """,
        """
        y = step
        new_y, half = divmod(step, 2.0)
        y = jnp.where(step > self.first, new_y * new_y - half, y)
        return y
        """,
    ),
    "what it reads is set first": (
        """
        y = 6.0
        z = 2.0
        if step < y:
            y = z
            z = 3.0
        return y + z * step
        """,
        """
        y = 6.0
        z = 2.0
        new_y = jnp.where(step < y, z, y)
        z = jnp.where(step < y, 3.0, z)
        y = new_y
        return y + z * step
        """,
    ),
    "what a method makes and two branches read": (
        """
        y = step
        if step > self.first:
            y = self.made(y)
            if self.kind == "cosine":
                return y * y
            else:
                return y + 2.0
        return y
        """,
        """
        y = step
        new_y = self.made(y)
        return jnp.where(
            step > self.first,
            new_y * new_y if self.kind == 'cosine' else new_y + 2.0,
            y,
        )
        """,
    ),
}
LEFT = {
    "another number of values": "if step < 3:\n    y, z = 1, 2, 3\nelse:\n    y, z = 2, 1\nreturn y",
    "values that are no names": "y = [step]\nif step < 3:\n    y[0], z = 1, 2\nreturn y[0]",
    "no value without it": "if step < 3:\n    y = 1.0\nreturn y",
    "a loop": "y = step\nif step < 3:\n    for _ in range(3):\n        y = y + 1\nreturn y",
    "an error": "if step < 3:\n    raise ValueError('early')\nreturn step",
    "a tuple": "if step < 3:\n    return step, 1\nreturn step, 2",
}


def edited(body: str) -> str | None:
    """The body once the first branch of it is a choice; None where that has no edit."""
    text = HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"
    source = Source("specs/schedule/example.py", text)
    branches = (n for n in ast.walk(source.tree) if isinstance(n, ast.If | ast.IfExp))
    fix = chosen(source, next(branches).test)
    if fix is None:
        return None
    changed, made = applied(text, [fix])
    assert made == 1
    return changed


KEPT = {
    "step < self.first or self.kind == 'cosine'": (
        "(step < self.first) | (self.kind == 'cosine')"
    ),
    "self.first < step < self.second": "(self.first < step) & (step < self.second)",
    "not step < self.first": "jnp.logical_not(step < self.first)",
    "step > self.first and is_late": "jnp.logical_and(step > self.first, is_late)",
}


@pytest.mark.parametrize("text", KEPT)
def test_what_is_kept_is_an_operation(text: str):
    body = f"is_late = step > self.second\nis_chosen = {text}\nreturn is_chosen"
    source = Source("specs/schedule/example.py", HEAD + textwrap.indent(body, " " * 8))
    assigned = [n for n in ast.walk(source.tree) if isinstance(n, ast.Assign)]
    fix = chosen(source, assigned[-1].value)
    assert fix is not None
    changed, _ = applied(source.text, [fix])
    assert changed == source.text.replace(text, KEPT[text])
    plain, traced = value(source.text), value(changed)
    self = SimpleNamespace(first=5.0, second=9.0, kind="linear")
    found = jax.vmap(lambda step: traced(self, step))(jnp.arange(20.0))
    np.testing.assert_array_equal(found, [plain(self, s) for s in np.arange(20.0)])


TREES = """
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import tree_where


class Example:
    def value(self, step):
        grads = {"a": step, "b": step * 2.0}
        if step > self.first:
            grads = jax.tree.map(lambda g: g * self.low, grads)
        return grads["a"] + grads["b"]
"""


def test_trees_are_chosen_leaf_by_leaf():
    source = Source("specs/optim/example.py", TREES)
    branch = next(n for n in ast.walk(source.tree) if isinstance(n, ast.If))
    fix = chosen(source, branch.test)
    assert fix is not None
    changed, _ = applied(TREES, [fix])
    assert "grads = tree_where(" in changed
    plain, traced = value(TREES), value(changed)
    self = SimpleNamespace(first=5.0, low=-0.5)
    found = jax.vmap(lambda step: traced(self, step))(jnp.arange(20.0))
    np.testing.assert_array_equal(found, [plain(self, s) for s in np.arange(20.0)])


@pytest.mark.parametrize("text", ["step or self.first", "step and self.first"])
def test_one_of_two_values_is_no_operation(text: str):
    body = f"        is_chosen = {text}\n        return is_chosen"
    source = Source("specs/schedule/example.py", HEAD + body)
    assigned = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Assign))
    assert chosen(source, assigned.value) is None


def value(text: str) -> Any:
    """The method of a text."""
    names: dict[str, Any] = {}
    exec(text, names)  # its text is above
    return names["Example"].value


@pytest.mark.parametrize("name", BODIES)
def test_choices(name: str):
    before, after = BODIES[name]
    body = textwrap.indent(textwrap.dedent(after).strip("\n"), " " * 8)
    assert edited(before) == f"{HEAD}{body}\n"


@pytest.mark.parametrize("kind", ["cosine", "linear"])
@pytest.mark.parametrize("name", BODIES)
def test_choices_are_what_the_branches_are(name: str, kind: str):
    before, after = BODIES[name]
    layout = [
        textwrap.indent(textwrap.dedent(b).strip("\n"), " " * 8)
        for b in (before, after)
    ]
    plain, traced = (value(f"{HEAD}{body}\n") for body in layout)
    self = SimpleNamespace(first=5.0, second=9.0, low=-0.5, high=2.0, kind=kind)
    self.made = lambda y: y - 1.5
    steps = np.arange(20.0, dtype=np.float32)
    found = jax.vmap(lambda step: traced(self, step) * 1.0)(jnp.asarray(steps))
    np.testing.assert_allclose(found, [plain(self, s) for s in steps], rtol=1e-6)


@pytest.mark.parametrize("name", LEFT)
def test_what_does_more_has_no_edit(name: str):
    assert edited(LEFT[name]) is None


EARLY = {
    "what a branch sets": """
        if step < self.first:
            self.v = step**2
            return step * 0.0
        self.m = 0.9 * self.m + step / self.v
        self.v = 0.5 * self.v + step
        return -self.m
        """,
    "what is set below": """
        if step < self.first:
            return self.m * 0.0
        step = step - 1.0
        self.m = self.m + step
        return self.m * step
        """,
}


@pytest.mark.parametrize("name", EARLY)
def test_what_is_kept_depends_on_an_early_end(name: str):
    body = textwrap.indent(textwrap.dedent(EARLY[name]).strip("\n"), " " * 8)
    made = edited(EARLY[name])
    assert made is not None
    plain, traced = value(f"{HEAD}{body}\n"), value(made)
    for step in (2.5, 7.0):
        found = [SimpleNamespace(first=5.0, m=2.0, v=3.0) for _ in "ab"]
        y = traced(found[0], jnp.float32(step))
        assert plain(found[1], step) == pytest.approx(float(y))
        kept = [(float(each.m), float(each.v)) for each in found]
        assert kept[0] == pytest.approx(kept[1])


@pytest.mark.parametrize(
    "body",
    [
        "if step < 1:\n    self.m = step\n    return step\nelse:\n    return -step",
        "if step < 1:\n    return step\nif step < 2:\n    return -step\nself.m = step\nreturn self.m",
        "if step < 1:\n    return step\nif self.first:\n    return -step\nself.m = step\nreturn self.m",
    ],
    ids=["of several branches", "of several ends", "of several returns"],
)
def test_what_is_kept_by_several_has_no_edit(body: str):
    assert edited(body) is None


NORMED = '''import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, state, zeros
from mlax_scaffold.specs.nn.batch_norm import BatchNorm
from mlax_scaffold.specs.nn.linear import Linear


class Inner(Layer):
    """A norm behind a map."""

    width: Size

    def setup(self):
        self.map = Linear(self.width, self.width)
        self.norm = BatchNorm(self.width)

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
        return self.norm(self.map(x))


class Example(Layer):
    """A norm in one branch."""

    width: Size

    def setup(self):
        self.map = Linear(self.width, self.width)
        self.inner = Inner(self.width)
        self.calls = state(zeros, ())

    def counted(self, x):
        self.calls = self.calls + 1
        return x

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
'''


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "y = x\nif jnp.max(x) > 1.0:\n    y = self.inner(x)\nreturn y",
            "y = lax.cond(jnp.max(x) > 1.0, lambda: self.inner(x), lambda: y)",
        ),
        (
            "y = self.counted(x) if jnp.max(x) > 1.0 else x\nreturn y",
            "y = lax.cond(jnp.max(x) > 1.0, lambda: self.counted(x), lambda: x)",
        ),
        (
            "if jnp.max(x) > 1.0:\n    return x\ny = x * 2.0\nreturn self.inner(y)",
            "return lax.cond(jnp.max(x) > 1.0, lambda: x, lambda: self.inner(y))",
        ),
        (
            "if jnp.max(x) > 1.0:\n    return x\nreturn self.map(x)",
            "return jnp.where(jnp.max(x) > 1.0, x, self.map(x))",
        ),
        ("if jnp.max(x) > 1.0:\n    return x\ny = self.inner(x)\nreturn y", None),
        (
            "y = x\nif jnp.max(x) > 1.0:\n    z = self.counted(x)\n    y = z * z\nreturn y",
            None,
        ),
        (
            "y = x\nif jnp.max(x) > 1.0:\n    y = self.inner(x)\n    y = y * y\nreturn y",
            None,
        ),
    ],
    ids=["a layer", "a method", "the last one", "none", "behind", "a local", "read"],
)
def test_what_changes_states_stays_in_its_branch(body: str, expected: str | None):
    text = NORMED + textwrap.indent(body, " " * 8) + "\n"
    source = Source("specs/nn/example.py", text)
    branches = (n for n in ast.walk(source.tree) if isinstance(n, ast.If | ast.IfExp))
    fix = chosen(source, next(branches).test)
    if expected is None:
        assert fix is None
        return
    assert fix is not None
    assert expected in applied(text, [fix])[0]
