"""Masks that are numbers: what adds them gets numbers, and attention gets truths."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

WEIGHTS = """\
class {name}(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.keys = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
{more}
"""
ADDING = WEIGHTS.format(
    name="Attention",
    more="""
    def scores(self, q, k, bias):
        scores = q @ k.transpose(-2, -1)
        return (scores if bias is None else scores + bias[:, :]).softmax(-1)

    def forward(self, x, mask=None):
        return self.scores(self.query(x), self.keys(x), mask) @ self.value(x)
""",
)
ATTENDING = WEIGHTS.format(
    name="Attention",
    more="""
    def forward(self, x, mask=None):
        return F.scaled_dot_product_attention(self.query(x), self.keys(x), self.value(x), attn_mask=mask)
""",
)
LIBRARY = """\
class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attend = nn.MultiheadAttention(dim, 2, batch_first=True)

    def forward(self, x, mask=None):
        return self.attend(x, x, x, attn_mask=mask)[0]
"""
THING = """

class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = {made}

    def forward(self, x):
        mask = torch.full((x.size(1), x.size(1)), float("-inf"))
        mask = torch.triu(mask, diagonal=1)
        {call}
"""
ONE = "Attention(dim)", "return self.attention(x, mask)"
NAMED = "Attention(dim)", "return self.attention(x, mask=mask)"


@pytest.mark.parametrize(
    ("attention", "handed"),
    [(ADDING, "mask"), (ATTENDING, "mask == 0"), (LIBRARY, "mask < 0")],
)
@pytest.mark.parametrize(("made", "call"), [ONE, NAMED])
def test_a_mask_is_handed_on_as_what_it_is_used_for(attention, handed, made, call):
    text = converted(attention + THING.format(made=made, call=call)).text
    assert f"mask={handed})" in text or f", {handed})" in text


def test_a_method_that_adds_a_mask_gets_numbers():
    more = """
    def attend(self, q, k, mask):
        return (q @ k.transpose(-2, -1) + mask).softmax(-1)

    def forward(self, x):
        mask = torch.full((x.size(1), x.size(1)), float("-inf")).triu(1)
        return self.attend(self.query(x), self.keys(x), mask)
"""
    text = converted(WEIGHTS.format(name="Thing", more=more)).text
    assert "self._attend(self.query(x), self.keys(x), mask)" in text


def test_attention_that_is_a_function_is_told_where_to_attend_to():
    more = """
    def forward(self, x):
        mask = torch.full((x.size(1), x.size(1)), float("-inf")).triu(1)
        return F.scaled_dot_product_attention(self.query(x), self.keys(x), self.value(x), attn_mask=mask)
"""
    text = converted(WEIGHTS.format(name="Thing", more=more)).text
    assert "mask=mask == 0)" in text


BUFFERED = WEIGHTS.format(
    name="Thing",
    more="""\
        {kept}

    def forward(self, x):
        q, k, v = self.query(x), self.keys(x), self.value(x)
        {result}
""",
)
LOCAL = """mask = torch.triu(torch.full((1, dim, dim), float("-inf")), diagonal=1)
        self.register_buffer("mask", mask)"""
INLINE = 'self.register_buffer("mask", torch.triu(torch.full((1, dim, dim), float("-inf")), diagonal=1))'


@pytest.mark.parametrize("kept", [LOCAL, INLINE])
@pytest.mark.parametrize(
    "result",
    [
        "return (q @ k.transpose(-2, -1) + self.mask[:, :x.size(1), :x.size(1)]).softmax(-1) @ v",
        """scores = q @ k.transpose(-2, -1)
        scores += self.mask[:, :x.size(1), :x.size(1)]
        return scores.softmax(-1) @ v""",
    ],
)
def test_a_buffer_that_is_added_stays_numbers(kept, result):
    text = converted(BUFFERED.format(kept=kept, result=result)).text
    assert "jnp.asarray(self.mask, x.dtype)[:, :" in text
    assert "< 0" not in text


@pytest.mark.parametrize("kept", [LOCAL, INLINE])
def test_a_buffer_that_attention_is_given_says_where_to_attend_to(kept):
    result = "return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:, :x.size(1), :x.size(1)])"
    text = converted(BUFFERED.format(kept=kept, result=result)).text
    assert "== 0\n" in text
    assert "mask=jnp.asarray(self.mask)[:, :" in text


def test_a_function_counts_what_it_compares():
    text = converted(
        """\
def sparsemax(x, dim=-1):
    ordered, _ = torch.sort(x, descending=True, dim=dim)
    total = ordered.cumsum(dim) - 1
    support = ordered > total
    size = support.sum(dim=dim).unsqueeze(dim)
    return torch.clamp(x - total.gather(dim, size - 1) / x.sum(dim=dim, keepdim=True), min=0)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return sparsemax(self.fc(x))
"""
    ).text
    assert "jnp.sum(support, axis=dim)" in text
    assert " sum(x, axis=dim, keepdims=True)" in text


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("torch.full((n, n), float('-inf')).triu(1)", "mask == 0"),
        ("torch.zeros(n, n).masked_fill(x[0, :, :1] > 0, float('-inf'))", "mask == 0"),
        ("self.slopes + torch.full((n, n), float('-inf')).triu(1)", "mask"),
        ("self.slopes.masked_fill(x[0, :, :1] > 0, float('-inf'))", "mask"),
    ],
)
def test_a_mask_that_may_hold_a_bias_is_not_compared_for_attention(made, kept):
    more = f"""\
        self.slopes = nn.Parameter(torch.zeros(1, 1))

    def forward(self, x):
        n = x.size(1)
        mask = {made}
        return F.scaled_dot_product_attention(self.query(x), self.keys(x), self.value(x), attn_mask=mask)
"""
    text = converted(WEIGHTS.format(name="Thing", more=more)).text
    assert f"mask={kept})" in text


SLOPED = "self.slopes + torch.full((n, n), float('-inf')).triu(1)"
TUTORIAL = """(torch.triu(torch.ones(n, n)) == 1).transpose(0, 1)
        mask = mask.float().masked_fill(mask == 0, float('-inf')).masked_fill(mask == 1, float(0.0))"""
MULTIHEAD = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attend = {layer}
        self.slopes = nn.Parameter(torch.zeros(1, 1))

    def forward(self, x):
        n = x.size(1)
        mask = {made}
        return self.attend({given}){part}
"""
LAYER = "nn.MultiheadAttention(dim, 2, batch_first=True)"


@pytest.mark.parametrize(
    ("made", "given", "handed"),
    [
        (SLOPED, "x, x, x, attn_mask=mask", "x, bias=mask"),
        (SLOPED, "x, x, x, None, False, mask", "x, bias=mask"),
        (
            SLOPED,
            "x, x, x, x[:, :, 0] > 0, attn_mask=mask",
            "x, mask=~(x[:, :, 0] > 0)[:, None, None, :], bias=mask",
        ),
        (
            "torch.full((n, n), float('-inf')).triu(1)",
            "x, x, x, attn_mask=mask + self.slopes",
            "x, bias=mask + self.slopes",
        ),
        (
            "self.slopes.masked_fill(x[0, :, :1] > 0, float('-inf'))",
            "x, x, x, attn_mask=mask",
            "x, bias=mask",
        ),
        (
            "torch.full((n, n), float('-inf')).triu(1)\n        mask += self.slopes",
            "x, x, x, attn_mask=mask",
            "x, bias=mask",
        ),
        (
            "torch.triu(torch.ones(n, n) * float('-inf'), diagonal=1)",
            "x, x, x, attn_mask=mask",
            "x, mask=~(mask < 0)",
        ),
        (TUTORIAL, "x, x, x, attn_mask=mask", "x, mask=~(mask < 0)"),
    ],
)
def test_a_mask_that_may_hold_a_bias_is_added_by_a_layer_of_attention(
    made, given, handed
):
    parts = {"layer": LAYER, "made": made, "given": given, "part": "[0]"}
    text = converted(MULTIHEAD.format(**parts)).text
    assert f"self.attend({handed})" in text


def test_layers_that_take_no_bias_do_not_compare_one():
    layer = "nn.TransformerEncoderLayer(dim, 2, 16, batch_first=True)"
    parts = {"layer": layer, "given": "x, mask", "part": ""}
    assert "< 0" not in converted(MULTIHEAD.format(made=SLOPED, **parts)).text
    text = converted(MULTIHEAD.format(made=TUTORIAL, **parts)).text
    assert "mask=~(mask < 0)" in text


def filled(guard: str, fill: str) -> str:
    return f"""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        s = self.fc(x)
        if {guard}:
            s = {fill}
        return s.softmax(-1)
"""


@pytest.mark.parametrize(
    "guard", ["mask.any()", "mask.any().item()", "torch.any(mask)"]
)
def test_what_a_mask_fills_needs_no_truth_in_it(guard: str):
    made = filled(f"mask is not None and {guard}", "s.masked_fill(mask, -1e9)")
    text = converted(made).text
    assert "any(" not in text
    assert "if mask is not None:" in text


@pytest.mark.parametrize("fill", ["s.masked_fill(~mask, -1e9)", "s * 2.0"])
def test_what_is_done_where_a_mask_has_any_truth_stays_so(fill: str):
    text = converted(filled("mask is not None and mask.any()", fill)).text
    assert "jnp.any(mask)" in text
