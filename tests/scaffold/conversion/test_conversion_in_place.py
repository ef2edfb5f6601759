"""Tensors that PyTorch changes in place: later reads see what they are then, or the line is told."""

from __future__ import annotations

import ast
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import Converted, convert

X = np.array([[-2.0, 1.0, 3.0], [0.5, -1.0, 2.0]])


class _Layer:
    """A layer whose linear maps double."""

    training = False

    def __getattr__(self, title: str) -> Any:
        if title.startswith("fc"):
            return lambda x: 2.0 * x
        raise AttributeError(title)


def run(body: str, x: np.ndarray = X) -> np.ndarray:
    """What the converted `forward` computes, where `self.fc` doubles."""
    text = converted(body).text
    tree = ast.parse(text)
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "FromThing":
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name != "setup":
                    for argument in method.args.args:
                        argument.annotation = None
                    method.returns = None
                    exec(ast.unparse(method), scope)
                    setattr(_Layer, method.name, scope[method.name])
    return np.asarray(_Layer().forward(jnp.asarray(x, jnp.float32)))  # type: ignore[attr-defined]


def thing(start: str, forward: str, before: str = "") -> str:
    lines = [before] if before else []
    lines += ["class Thing(nn.Module):", "    def __init__(self, dim):"]
    lines += ["        super().__init__()", "        self.fc = nn.Linear(dim, dim)"]
    lines += [f"        {line}" for line in start.splitlines()]
    lines += ["", "    def forward(self, x):"]
    lines += [f"        {line}" for line in forward.splitlines()]
    return "\n".join(lines) + "\n"


def listed(body: str) -> tuple[int, str]:
    """The line of what is told, from the class on, and what it is."""
    made = convert("thing.py", TORCH + body, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    return note.line - TORCH.count("\n"), note.what


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


RELU = "self.relu = nn.ReLU(inplace=True)"


@pytest.mark.parametrize(
    ("start", "forward", "expected"),
    [
        # The name that it had, and another one, are read again.
        (RELU, "y = x\nz = self.relu(x)\nreturn self.fc(z) + x + y", 4 * relu(X)),
        # What was computed before keeps its value.
        (RELU, "y = self.fc(x)\nz = self.relu(x)\nreturn y + z", 2 * X + relu(X)),
        # An operand that stands before the call is the tensor itself.
        (RELU, "return x + self.relu(x)", 2 * relu(X)),
        # What is computed of it before the call is not.
        (RELU, "return self.fc(x) + self.relu(x)", 2 * X + relu(X)),
        ("self.relu = nn.ReLU(True)", "self.relu(x)\nreturn x", relu(X)),
        ("self.relu = nn.ReLU(inplace=False)", "return x + self.relu(x)", X + relu(X)),
        (
            "self.act = nn.LeakyReLU(0.5, inplace=True)",
            "y = self.act(x)\nreturn x * y",
            np.where(X > 0, X, 0.5 * X) ** 2,
        ),
        # A sequence changes what it is given where it begins so.
        (
            "self.net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(dim, dim))\n"
            "self.fc_net = self.net",
            "return x + self.net(x)",
            None,
        ),
        ("", "y = x\nx += self.fc(x)\nreturn y", 3 * X),
        ("", "y = x\nx = x + self.fc(x)\nreturn y", X),
        ("", "y = x\ny.mul_(2.0).add_(1.0)\nreturn x", 2 * X + 1),
        ("", "y = x\nF.relu_(y)\nreturn x", relu(X)),
        ("", "F.relu(x, inplace=True)\nreturn x", relu(X)),
        ("", "y = torch.relu_(x)\nreturn x - y", 0 * X),
        ("", "y = x.clone()\ny.zero_()\nreturn x + y", X),
        ("", "y = x\ny.clamp_(0.0, 1.0)\nreturn x", np.clip(X, 0.0, 1.0)),
        # Numbers are not changed.
        ("", "n = x.shape[0]\nm = n\nm += 1\nreturn x * n", 2 * X),
        ("", "n = 3\nm = n\nm *= 2\nreturn x * n", 3 * X),
        # A list that becomes longer leaves the tensors in it as they are.
        ("", "ys = [x]\nys += [self.fc(x)]\nreturn ys[0] + ys[1]", 3 * X),
        (
            RELU,
            "y = x\nif self.training:\n    y = self.fc(x)\nz = self.relu(self.fc(x))\n"
            "return y + z",
            X + relu(2 * X),
        ),
        (
            RELU,
            "for _ in range(2):\n    y = x\n    x = self.relu(x)\nreturn y",
            relu(X),
        ),
    ],
)
def test_later_reads_see_what_was_changed(start, forward, expected):
    if expected is None:
        text = converted(thing(start.splitlines()[0], forward)).text
        assert "x = jax.nn.relu(x)\n        return x + self._net(x)" in text
        return
    np.testing.assert_allclose(run(thing(start, forward)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("start", "forward", "line", "what"),
    [
        # A list, a part of it, and a choice between two may hold it.
        (RELU, "ys = [x]\nz = self.relu(x)\nreturn z + ys[0]", 9, "`self.relu(x)`"),
        (RELU, "y = x[:, :1]\nz = self.relu(x)\nreturn z + y", 9, "`self.relu(x)`"),
        ("", "y = x.view(-1)\ny += 1.0\nreturn self.fc(x)", 8, "`y += 1.0`"),
        (
            "self.net = nn.Sequential(nn.Hardsigmoid(True), nn.Linear(dim, dim))",
            "return torch.cat([x, self.net(x)], 1)",
            8,
            "`self.net(x)`",
        ),
        (
            "self.register_buffer('mean', torch.zeros(dim))",
            "y = self.mean\ny += 1.0\nreturn x + y",
            9,
            "`y += 1.0`",
        ),
        ("", "y = x\ny[:, 0] = 1.0\nz = x[:1]\ny += 1.0\nreturn z", 10, "`y += 1.0`"),
    ],
)
def test_what_holds_a_changed_tensor_otherwise_is_listed_with_its_line(
    start, forward, line, what
):
    assert listed(thing(start, forward)) == (
        line,
        f"{what} changes a tensor in place that is read again",
    )


BLOCK = """\
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        y = self.relu(x)
        return self.fc(y)


"""


def test_a_class_that_changes_its_input_does_so_where_it_is_called():
    body = thing("self.block = Block(dim)", "y = self.block(x)\nreturn x + y", BLOCK)
    text = converted(body).text
    assert "x = jax.nn.relu(x)\n        y = self.block(x)\n        return x + y" in text


def test_a_class_that_changes_its_input_after_it_was_read_is_listed():
    other = BLOCK.replace("y = self.relu(x)", "y = self.fc(x) + self.relu(x)")
    body = thing("self.block = Block(dim)", "y = self.block(x)\nreturn x + y", other)
    assert listed(body)[1].startswith("`self.block(x)`")


def test_classes_that_are_not_converted_are_not_told_of():
    other = thing(RELU, "ys = [x]\nz = self.relu(x)\nreturn z + ys[0]")
    text = other.replace("Thing", "Other") + "\n\n" + thing("", "return self.fc(x)")
    assert converted(text).whole


def test_an_argument_that_says_whether_a_tensor_is_changed_is_listed_where_it_matters():
    body = thing("self.relu = nn.ReLU(inplace=wide)", "return x + self.relu(x)")
    body = body.replace("(self, dim)", "(self, dim, wide)")
    assert listed(body)[1].startswith("`self.relu(x)`")
    assert converted(body.replace("return x + ", "return ")).whole


def test_buffers_that_are_changed_are_set():
    text = converted(
        thing(
            'self.register_buffer("mean", torch.zeros(dim))',
            "if self.training:\n    self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)\n"
            "return x - self.mean",
        )
    ).text
    assert "self.mean = self.mean * 0.9 + 0.1 * mean(x, axis=0)" in text


def test_numbers_that_a_function_is_given_are_not_changed():
    made: Converted = converted(
        """\
def drop(x, p, training):
    if not training:
        return x
    keep = 1 - p
    mask = keep
    mask += torch.rand([x.shape[0], 1], dtype=x.dtype)
    return x / keep * torch.floor(mask)


class Thing(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return drop(x, self.rate, training=self.training)
"""
    )
    assert "keep = 1 - p\n        mask = keep\n        mask += " in made.text
    assert "keep = mask" not in made.text


def test_an_input_that_a_sequence_activates_in_place_is_the_activated_one_after_it():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.model = nn.Sequential(nn.LeakyReLU(0.2, True), nn.Conv2d(dim, dim, 1))

    def forward(self, x):
        return torch.cat([x, self.model(x)], 1)
"""
    ).text
    _, forward = text.split("def forward", 1)
    lines = [line.strip() for line in forward.splitlines()[1:4]]
    assert lines == [
        "result = self._model(x)",
        "x = jax.nn.leaky_relu(x, 0.2)",
        "return jnp.concatenate([x, result], axis=1)",
    ]


def test_numbers_that_are_changed_past_their_gradient_are_told():
    made = converted(
        """\
class Thing(nn.Module):
    def forward(self, x, mask):
        y = x * 2
        y.data.masked_fill_(mask == 0, -float('inf'))
        return y.softmax(dim=-1)
"""
    )
    assert "jnp.where(mask == 0, -jnp.inf, y)" in made.text
    assert any("past their gradient" in note.what for note in made.notes)
