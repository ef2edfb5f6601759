"""What a call only shows is left out, with a remark: printed lines, and attributes that nothing reads."""

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

LAYER = """
class Thing(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.seen = None

    def forward(self, x):
        y = self.fc(x)
        {line}
        return y * 2
{after}"""


def thing(line: str, after: str = "", head: str = "", seen: str = "self.seen = None"):
    """What `Thing` becomes with a line in its `forward`."""
    text = TORCH + head + LAYER.format(line=line, after=after)
    text = text.replace("self.seen = None", seen)
    return convert("thing.py", text, "Thing", "FromThing", "LAYER")


def forward(made) -> str:
    return made.text.split("def forward")[1]


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("", "print(y.shape)"),
        ("", "if x.shape[0] > 3: print('large', y)"),
        ("import logging\n", "logging.info('%s', y.shape)"),
        ("import logging\nlogger = logging.getLogger('a')\n", "logger.debug(y.mean())"),
        ("import warnings\n", "warnings.warn('slow')"),
        ("", "breakpoint()"),
        ("import pdb\n", "pdb.set_trace()"),
        ("", "self.seen = y.detach()"),
        ("", "self.norm = y.norm()"),
    ],
)
def test_what_is_only_shown_is_left_out(head, line):
    made = thing(line, head=head)
    assert made.whole
    [note] = [n for n in made.notes if "is left out" in n.what]
    assert not note.blocks
    assert forward(made) == forward(thing(""))


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("self.seen = y", "\n    def last(self, x):\n        return self.seen\n"),
        ("self.seen = y", "\ndef show(layer):\n    return layer.seen\n"),
        ("print(self.fc(y))", ""),
    ],
    ids=["read by a method", "read outside", "a layer is shown"],
)
def test_what_is_read_or_computed_is_not(line, after):
    """The reader tells what can be kept from call to call."""
    assert line in forward(thing(line, after)).replace("layer", "self")
    assert not [n for n in thing(line, after).notes if "is left out" in n.what]


@pytest.mark.parametrize(
    ("line", "left"),
    [("self.seen = self.fc(y)", "self.fc(y)"), ("y = self.seen = y + 1", "y = y + 1")],
)
def test_what_is_computed_for_it_is_computed_still(line, left):
    made = thing(line)
    assert made.whole
    assert f"\n        {left}\n" in forward(made)


def test_a_buffer_that_nothing_reads_is_a_state():
    buffer = 'self.register_buffer("seen", torch.zeros(size))'
    made = thing("self.seen = y.mean(0)", seen=buffer)
    assert "self.seen = state(zeros, (self.size,))" in made.text
    assert not [n for n in made.notes if "is left out" in n.what]


def test_what_a_plain_class_keeps_for_its_own_gradient_is_local():
    made = converted(
        """\
class Inner:
    def __init__(self, n):
        self.w = np.ones((n, n))
        self.x = None

    def forward(self, x):
        self.x = x
        return x @ self.w

    def backward(self, grad):
        self.dw = self.x.T @ grad
        return grad @ self.w.T


class Thing:
    def __init__(self, n):
        self.inner = Inner(n)

    def forward(self, x):
        self.scores = self.inner.forward(x)
        return self.scores * 2

    def backward(self, grad):
        return self.inner.backward(2 * grad)
""",
        "import numpy as np\n\n\n",
    )
    assert "scores = self.inner(x)\n        return scores * 2" in made.text
    assert "backward" not in made.text
    assert "self.x" not in made.text
    assert [n.what for n in made.notes] == [
        "`backward` is left out: the call does not need it"
    ]


def test_what_a_constructor_prints_of_its_weights_is_left_out():
    lines = (
        "self.seen = None\n"
        "        count = sum(p.numel() for p in self.parameters())\n"
        "        print(f'{self.total() / 1e6}M', count)"
    )
    total = "\n    def total(self):\n        return sum(p.numel() for p in self.parameters())\n"
    made = thing("", after=total, seen=lines)
    assert made.whole
    assert "parameters" not in made.text
    assert "count" not in made.text
