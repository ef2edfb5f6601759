"""Numbers that the calls of a module change are states, wherever they begin."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

HEAD = """\
class Thing(nn.Module):
    {before}

    def __init__(self, dim{given}):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        {begun}

    def forward(self, x):
        {call}
"""


def thing(call: str, before: str = "", begun: str = "", given: str = "") -> str:
    """What a class becomes whose call has these lines."""
    lines = call.replace("\n", "\n        ")
    return converted(
        HEAD.format(before=before, begun=begun, given=given, call=lines)
    ).text


COUNTS = "self.calls += 1\nreturn self.linear(x) * self.calls"


@pytest.mark.parametrize(
    ("before", "begun", "given"),
    [
        ("calls = 0", "", ""),
        ("calls: int = 0", "", ""),
        ("", "self.calls = 0", ""),
        ("", "self.calls = calls", ", calls=0"),
    ],
)
def test_a_number_of_calls_is_a_state_of_whole_numbers(before, begun, given):
    text = thing(COUNTS, before, begun, given)
    assert "self.calls = state(" in text
    assert "(), jnp.int32)" in text
    assert "self.calls = self.calls + 1" in text
    assert "return self.linear(x) * self.calls" in text


def test_a_number_of_the_class_begins_in_each_module():
    text = thing(
        "self.scale = self.scale * 0.9\nreturn self.linear(x) * self.scale",
        "scale = 1.0",
    )
    assert "self.scale = state(constant(1.0), ())" in text
    assert "return self.linear(x) * self.scale" in text


@pytest.mark.parametrize("change", ["self.tau = self.tau * 0.9", "self.tau *= 0.9"])
def test_a_hyperparameter_that_calls_change_is_what_a_state_begins_as(change):
    text = thing(
        f"{change}\nreturn self.linear(x) / self.tau",
        begun="self.tau = tau",
        given=", tau=1.0",
    )
    assert "tau_value: Positive = 1.0" in text
    assert "self.tau = state(constant(self.tau_value), ())" in text
    assert "self.tau = self.tau * 0.9" in text


def test_a_number_that_who_uses_the_layer_sets_is_a_state():
    text = thing(
        "return self.linear(x) * self.lambd",
        begun="self.lambd = 1.0\n\n    def set(self, lambd):\n        self.lambd = lambd",
    )
    assert "self.lambd = state(constant(1.0), ())" in text
    assert "return self.linear(x) * self.lambd" in text


def test_the_number_of_a_base_is_one_of_the_class_that_changes_it():
    base = "class Base(nn.Module):\n    calls = 0\n\n\n"
    text = converted(
        base
        + HEAD.format(
            before="",
            begun="",
            given="",
            call=COUNTS.replace("\n", "\n        "),
        ).replace("nn.Module", "Base")
    ).text
    assert "self.calls = state(zeros, (), jnp.int32)" in text


def test_a_number_of_a_class_that_its_objects_change_is_not_its_first_value():
    given = HEAD.format(
        before="count = 0",
        begun="Thing.count += 1\n        self.index = Thing.count",
        given="",
        call="return self.linear(x) * self.index",
    )
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    assert not made.whole
    assert any("Thing.count" in note.what for note in made.notes if note.blocks)


def test_a_method_that_gives_a_size_another_value_is_left_out():
    given = HEAD.format(
        before="",
        begun="self.window = window",
        given=", window=3",
        call="return self.linear(x)[:, : self.window]",
    )
    setter = "\n    def set_window(self, window):\n        self.window = window\n"
    made = convert("thing.py", TORCH + given + setter, "Thing", "FromThing")
    assert made.whole
    assert "set_window" not in made.text
    assert "`set_window` is left out: nothing of the file calls it" in [
        note.what for note in made.notes
    ]


@pytest.mark.parametrize(
    "begun",
    [
        "torch.tensor(0)",
        "torch.tensor(0, dtype=torch.long)",
        "torch.zeros(1, dtype=torch.int64)",
    ],
)
def test_a_buffer_of_whole_numbers_that_calls_change_is_one(begun):
    text = thing(COUNTS, begun=f'self.register_buffer("calls", {begun})')
    assert "jnp.int32)" in text
    assert "self.calls = state(zeros, (" in text


def test_a_buffer_of_a_number_with_a_fraction_that_calls_change_is_one():
    text = thing(COUNTS, begun='self.register_buffer("calls", torch.tensor(0.0))')
    assert "self.calls = state(constant(0.0), ())" in text
