"""Buffers and weights that are changed in place: NumPy computes what it can, all else is listed."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert


def body(start: str, forward: str = "return self.fc(x) @ self.mask") -> str:
    lines = ["class Thing(nn.Module):", "    def __init__(self, size, causal=True):"]
    lines += ["        super().__init__()", "        self.fc = nn.Linear(size, size)"]
    lines += [f"        {line}" for line in start.splitlines()]
    lines += ["", "    def forward(self, x):"]
    lines += [f"        {line}" for line in forward.splitlines()]
    return "\n".join(lines) + "\n"


def mask_of(given: str) -> np.ndarray:
    """What `setup` makes of the buffer, for a size of three."""
    tree = ast.parse(converted(given).text)
    [made] = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    [setup] = [
        n for n in made.body if isinstance(n, ast.FunctionDef) if n.name == "setup"
    ]
    of_self = SimpleNamespace(size=3, causal=True)
    scope = {"np": np, "Linear": lambda *_, **__: None}
    exec(ast.unparse(setup), scope)
    scope["setup"](of_self)  # type: ignore[operator]
    return of_self.mask


BUFFERS = {
    "mask.fill_(1)\nmask[0] = 0": [[0, 0, 0], [1, 1, 1], [1, 1, 1]],
    "mask.zero_()\nmask[:, 1] = 3.0": [[0, 3, 0], [0, 3, 0], [0, 3, 0]],
    "mask.fill_(1).triu_(1)": [[0, 1, 1], [0, 0, 1], [0, 0, 0]],
    "mask += 2\nmask.mul_(3)": [[6, 6, 6], [6, 6, 6], [6, 6, 6]],
    "mask[1].fill_(5)\nmask.data[0, 0] = 1": [[1, 0, 0], [5, 5, 5], [0, 0, 0]],
    "mask.copy_(torch.eye(size))\nmask[2].zero_()": [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
    "if causal:\n    mask.fill_(2)\n    mask[0, 0] = 1": [
        [1, 2, 2],
        [2, 2, 2],
        [2, 2, 2],
    ],
    "for i in range(size):\n    mask[i, i] = i": [[0, 0, 0], [0, 1, 0], [0, 0, 2]],
    "with torch.no_grad():\n    mask.add_(1)": [[1, 1, 1], [1, 1, 1], [1, 1, 1]],
}


@pytest.mark.parametrize("changes", BUFFERS)
@pytest.mark.parametrize("owner", ["self.", ""])
def test_a_buffer_is_what_the_constructor_made_of_it(changes, owner):
    begun = "torch.zeros(size, size)"
    changed = changes.replace("mask", f"{owner}mask")
    register = f'self.register_buffer("mask", {begun})\n'
    if not owner:
        given = f'mask = {begun}\n{changed}\nself.register_buffer("mask", mask)'
    else:
        given = register + changed
    np.testing.assert_array_equal(mask_of(body(given)), BUFFERS[changes])


@pytest.mark.parametrize(
    "begun",
    ["self.fc.weight.data.clone()", "self.w.data.clone()", "torch.ones_like(self.w)"],
)
def test_a_mask_has_the_shape_of_the_weight_that_it_is_begun_with(begun):
    given = body(
        "self.w = nn.Parameter(torch.randn(size, 2 * size))\n"
        f'self.register_buffer("mask", {begun})\nself.mask.fill_(1)\nself.mask[0] = 0',
        "return self.fc(x) @ (self.w * self.mask)",
    )
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    if "fc" in begun:
        assert not made.whole
        return
    assert made.whole
    assert "mask_ = np.zeros((self.size, 2 * self.size))" in made.text or (
        "mask_ = np.ones((self.size, 2 * self.size))" in made.text
    )


WEIGHTS = {
    "self.fc.weight.data[0] = 0": "self.fc.weight.data[0] = 0",
    "self.fc.bias += 1": "self.fc.bias += 1",
    "with torch.no_grad():\n    self.fc.bias[0] = 3": "self.fc.bias[0] = 3",
    "self.fc.weight.data.copy_(torch.eye(size))": "self.fc.weight.data.copy_",
}


@pytest.mark.parametrize("changes", WEIGHTS)
def test_numbers_of_a_weight_that_a_constructor_sets_are_listed(changes):
    given = body(changes, "return self.fc(x)")
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    assert made.whole
    [note] = made.notes
    assert WEIGHTS[changes] in note.what
    assert "begins with other numbers" in note.what
    assert WEIGHTS[changes] in (TORCH + given).splitlines()[note.line - 1]


CALLS = (
    "self.fc.weight.data.clamp_(-1, 1)",
    "self.fc.weight.data = self.fc.weight.data * 2",
    "self.fc.weight.data *= self.mask",
    "self.w.data.sub_(0.1)",
    "self.w.data *= self.scale",
    "self.w.data[0] = 0",
)


@pytest.mark.parametrize("call", CALLS)
def test_weights_that_each_call_changes_are_listed(call):
    given = body(
        "self.w = nn.Parameter(torch.randn(size, size))\n"
        'self.register_buffer("mask", torch.ones(size, size))\n'
        'self.register_buffer("scale", torch.full((size, size), 0.5))',
        f"{call}\nreturn self.fc(x) @ self.w @ self.mask @ self.scale",
    )
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.what == f"`{call}` changes a weight in each call"
    assert note.line == (TORCH + given).splitlines().index(f"        {call}") + 1


@pytest.mark.parametrize(
    "call",
    [
        "self.w.data *= self.mask",
        "self.w.data.mul_(self.mask)",
        "self.w.data = self.w.data * self.mask",
        "with torch.no_grad():\n    self.w *= self.mask",
    ],
)
def test_a_weight_that_is_masked_in_each_call_is_masked_where_it_is_read(call):
    text = converted(
        body(
            "self.w = nn.Parameter(torch.randn(size, size))\n"
            'self.register_buffer("mask", torch.ones(size, size).tril())',
            f"{call}\nreturn self.fc(x) @ self.w",
        ).replace("torch.ones(size, size).tril()", "torch.tril(torch.ones(size, size))")
    ).text
    assert "w_ = self.w * jnp.asarray(self.mask, x.dtype)" in text
    assert "return self.fc(x) @ w_" in text


def test_numbers_that_change_places_do_so_once():
    text = converted(
        body(
            "a, b = size, 2 * size\na, b = b, a\nself.out = nn.Linear(size, a)",
            "return self.out(x)",
        )
    ).text
    assert text.count("(b, a)") + text.count("= b, a") == 1


@pytest.mark.parametrize(
    ("start", "forward", "read"),
    [
        ("self.dim = size\nself.dim *= 2", "self.fc(x) * self.dim", "self.size * 2"),
        ("self.size = size\nself.size *= 2", "self.fc(x) * self.size", "self.size * 2"),
        ("self.n = 1.0\nself.n += size", "self.fc(x) * self.n", "self.n + self.size"),
    ],
)
def test_a_number_that_is_changed_is_another_one_afterwards(start, forward, read):
    text = converted(body(start, f"return {forward}")).text
    [line] = [k for k in text.splitlines() if k.endswith(read)]
    assert f"return self.fc(x) * {line.partition(' = ')[0].strip()}" in text
    assert not line.strip().startswith("self.size = ")


def test_a_buffer_of_each_branch_is_that_of_its_branch():
    given = body(
        'if causal:\n    self.register_buffer("mask", torch.ones(size, size))\n'
        "    self.mask.triu_(1)\n    self.mask[0] = 3\nelse:\n"
        '    self.register_buffer("mask", torch.zeros(size, size))'
    )
    np.testing.assert_array_equal(mask_of(given), [[3, 3, 3], [0, 0, 1], [0, 0, 0]])


def test_a_buffer_of_a_method_of_the_constructor_is_what_that_makes_of_it():
    given = body("self.build()") + (
        "\n    def build(self):\n"
        '        self.register_buffer("mask", torch.ones(3, 3))\n'
        "        self.mask[0] = 3\n        self.mask.tril_()\n"
    )
    np.testing.assert_array_equal(mask_of(given), [[3, 0, 0], [1, 1, 0], [1, 1, 1]])


SETTINGS = {
    "for m in self.modules():\n    if isinstance(m, nn.Linear):\n        m.eps = 1e-3": "m.eps",
    "for m in self.modules():\n    m.eps = 1e-3\n    for p in m.parameters():\n"
    "        p.requires_grad = False": "m.eps",
}


@pytest.mark.parametrize("start", SETTINGS)
def test_settings_of_layers_that_a_loop_changes_are_listed(start):
    made = convert(
        "thing.py", TORCH + body(start, "return self.fc(x)"), "Thing", "FromThing"
    )
    assert any(n.blocks and SETTINGS[start] in n.what for n in made.notes)


@pytest.mark.parametrize("method", ["train", "forward"])
def test_a_part_that_is_kept_in_inference_is_listed(method):
    forward = "return self.fc(x)"
    given = body(
        "self.norm = nn.BatchNorm1d(size)", forward.replace("x)", "self.norm(x))")
    )
    if method == "train":
        given += "\n    def train(self, mode=True):\n        super().train(mode)\n"
        given += "        self.norm.eval()\n        return self\n"
    else:
        given = given.replace(
            "        return", "        self.norm.eval()\n        return"
        )
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert "self.norm.eval()" in note.what
    assert "eval()" in (TORCH + given).splitlines()[note.line - 1]


@pytest.mark.parametrize(("said", "listed"), [(", training=True", True), ("", False)])
def test_random_numbers_that_are_asked_for_in_inference_are_listed(said, listed):
    given = TORCH + body("", f"return F.dropout(self.fc(x), 0.5{said})")
    made = convert("thing.py", given, "Thing", "FromThing")
    [note] = [n for n in made.notes if "in inference" in n.what]
    assert note.blocks is listed


KEPT = """\
class Thing(nn.Module):
    def __init__(self, count, dim):
        super().__init__()
        self._table = nn.Embedding(count, dim)
        self._table.weight.data.uniform_(-1.0 / 4, 1.0 / 4)
        self._sums = nn.Parameter(torch.Tensor(count, dim))
        self._sums.data.normal_()
        self.register_buffer("_counts", torch.zeros(count))

    def forward(self, x, i):
        y = self._table(i) + self._table.weight[0] + x
        if self.training:
            self._counts = self._counts * 0.9 + 0.1
            self._sums = nn.Parameter(self._sums * 0.9 + x.mean() * 0.1)
            self._table.weight = nn.Parameter(self._sums / self._counts.unsqueeze(1))
        return y
"""


def test_weights_that_each_call_sets_anew_are_states():
    made = converted(KEPT)
    assert "self.table_weight = state(" in made.text
    assert "jax.random.uniform(key, shape, dtype" in made.text
    assert "self.sums = state(normal(1.0), (self.count, self.dim))" in made.text
    assert "self.counts = state(zeros, (self.count,))" in made.text
    assert "take_rows(self.table_weight, i) + self.table_weight[0]" in made.text
    assert "self.sums = lax.stop_gradient(self.sums * 0.9" in made.text
    assert "self.table_weight = lax.stop_gradient(self.sums /" in made.text
    said = [n.what for n in made.notes]
    assert said == [
        "`self._sums` is set in each call",
        "`self._table.weight` is set in each call",
    ]


PARTS = """\
class Part(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.size = size
        self.register_buffer("cache", torch.zeros(4, size))

    def forward(self, x):
        return self.fc(x) + self.cache[0]


class Thing(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.part = Part(size)
        self.parts = nn.ModuleList([Part(size) for _ in range(2)])

    def forward(self, x):
        {change}
        for part in self.parts:
            x = part(x)
        return self.part(x)
"""
BY_OTHER_NAMES = (
    "self.part.cache[0] = x[0]",
    "cache = self.part.cache; cache[0] = x[0]",
    "cache = self.part.cache; cache.zero_()",
    "cache = self.parts[0].cache[0]; cache += 1",
    "for part in self.parts: part.cache.zero_()",
    "for i, part in enumerate(self.parts): part.cache[i] = x[i]",
    "for p in self.part.buffers(): p.zero_()",
    "y = F.relu(self.part.cache, inplace=True)",
    "cache = self.part.cache; y = torch.relu_(cache)",
)


@pytest.mark.parametrize("change", BY_OTHER_NAMES)
def test_buffers_of_parts_that_are_changed_by_another_name_are_listed(change):
    # One statement stands in each line.
    first, _, last = change.partition("; " if ";" in change else ": ")
    colon = ":" if change.startswith("for ") else ""
    lines = f"{first}{colon}\n{' ' * (12 if colon else 8)}{last}" if last else first
    made = convert("thing.py", TORCH + PARTS.format(change=lines), "Thing", "FromThing")
    notes = [n.what for n in made.notes if n.blocks]
    assert f"`{last or first}` changes a weight in each call" in notes


@pytest.mark.parametrize(
    "lines",
    [
        ("n = self.part.size", "n += 1"),
        ("cache = self.part.cache", "cache = cache + 1", "cache[0] = 0"),
    ],
)
def test_what_is_no_tensor_of_a_part_may_be_changed(lines):
    given = PARTS.format(change="\n        ".join(lines))
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    assert not any("changes a weight" in n.what for n in made.notes)
