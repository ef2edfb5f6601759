"""Inputs that are None by default and always given, and flags of calls that are never given."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

INNER = """\
class Inner(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)

    def forward(self, x, context=None):
        context = x if context is None else context
        return self.q(x) + self.k(context)


"""
OUTER = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inner = Inner(dim)

    def forward(self, x, {given}):
        return self.inner(x, context={context})
"""


def test_an_input_that_all_calls_give_is_there():
    text = converted(INNER + OUTER.format(given="context", context="context")).text
    inner = text.partition("class FromThing")[0]
    assert "| None" not in inner
    assert "is None" not in inner


def test_an_input_that_may_be_none_where_it_is_given_may_be_so_inside():
    given = INNER + OUTER.format(given="context=None", context="context")
    inner = converted(given).text.partition("class FromThing")[0]
    assert "| None=None" in inner


def test_an_input_that_one_of_the_calls_leaves_out_may_be_none():
    given = INNER + OUTER.format(given="context", context="context")
    given = given.replace(
        "return self.inner", "x = self.inner(x)\n        return self.inner"
    )
    inner = converted(given).text.partition("class FromThing")[0]
    assert "| None=None" in inner


def test_lists_of_layers_count_as_well():
    inner = converted(
        INNER
        + """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(2):
            self.layers.append(nn.ModuleList([Inner(dim), nn.Linear(dim, dim)]))

    def forward(self, x, context):
        for inner, linear in self.layers:
            x = linear(inner(x, context))
        return x
"""
    ).text.partition("class FromThing")[0]
    assert "| None" not in inner


def test_what_the_code_has_no_case_for_is_required():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)

    def forward(self, query=None, key=None, mask=None):
        assert mask is not None, "mask is required"
        return (self.q(query) + key).masked_fill(mask == 0, 0.0)
""",
        TORCH,
    ).text
    assert "None" not in text


def test_a_flag_of_the_call_that_nothing_gives_is_its_default():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)

    def forward(self, x, return_weights=False):
        y = self.q(x)
        if return_weights:
            return y, x
        return y
""",
        TORCH,
    )
    assert "return_weights" not in made.text
    [note] = [n for n in made.notes if "return_weights" in n.what]
    assert note.what == "`return_weights` of the call is always its default, `False`"


def test_a_flag_that_a_call_gives_by_its_place_stays():
    text = converted(
        """\
class Inner(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)

    def forward(self, x, twice=False):
        return self.q(x) * 2 if twice else self.q(x)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inner = Inner(dim)

    def forward(self, x):
        return self.inner(x, True)
""",
        TORCH,
    ).text
    assert "twice" in text or "* 2" in text


ABSENT = """\
class Attend(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)

    def forward(self, x, mask):
        s = self.q(x).sum(-1)
        if mask is not None:
            s = s.masked_fill(mask, -1e9)
        return s.softmax(-1)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attend = Attend(dim)

    def scaled(self, x, mask, factor):
        return self.attend(x, mask) * factor

    def forward(self, x, mask=None, scale=1.0):
        return self.scaled(x, mask, scale)
"""


def test_what_a_layer_asks_for_may_be_none_where_it_has_no_default():
    text = converted(ABSENT, TORCH).text.replace('"', "'")
    inner, _, outer = text.partition("class FromThing(Layer)")
    assert "'] | None)" in inner
    assert "| None=None" in outer[outer.index("def forward") :]


def test_a_number_that_is_handed_on_under_another_name_is_given_as_it_is():
    assert "self._scaled(x, mask, 1.0)" in converted(ABSENT, TORCH).text


REFUSED = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x, state=None):
        if state is {test}None:
            {one}
        else:
            {other}
        return self.fc(x) + state
"""


@pytest.mark.parametrize("test", ["", "not "])
def test_an_input_that_is_refused_whatever_it_is_is_none(test):
    sides = ["state = 2 * x", "raise NotImplementedError()"]
    one, other = sides[::-1] if test else sides
    text = converted(REFUSED.format(test=test, one=one, other=other)).text
    assert "def forward(self, x: Float['*batch dim']) -> Float['*batch dim']:" in text
    assert "raise" not in text
