"""Equations in docstrings are recognized, and typeset as they are meant; prose is not taken for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlax_scaffold.render.docs.equations import clauses, latex


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = x W + b", "y = x W + b"),
        ("v = b2 v + (1 - b2) g^2", "v = b_{2} v + ( 1 - b_{2} ) g ^{2}"),
        ("u = g / (sqrt(v) + epsilon)", r"u = g / ( \sqrt{v} + \epsilon )"),
        ("d = 1 - b1^(t+1)", "d = 1 - b_{1} ^{t + 1}"),
        ("r = n^-decay", r"r = n ^{- \mathit{decay}}"),
        ("h_t = a * h_(t-1)", r"h_t = a \cdot h _{t - 1}"),
        ("K = context Wk", r"K = \mathit{context} W_k"),
        ("y = Re(learning_rate)", r"y = \operatorname{Re} ( \mathit{learning\_rate} )"),
        ("p = x ** power <= 1e-3", r"p = x ^{\mathit{power}} \le 1e-3"),
    ],
)
def test_equations(text: str, expected: str):
    assert latex(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the mean of x",
        "update = the step of Adam",
        "weight = first weight + u",
        "y = f(x",
        "y = x +",
        "= x",
        "rate=`x`",
        "y = {x}",
        "y = x is the result",
    ],
)
def test_what_is_no_equation(text: str):
    assert latex(text) is None


def test_clauses_of_a_paragraph():
    found = list(clauses("With g^2:\nm = b m\n  + g;  v = c v, with c of before. So."))
    assert [(c.text, c.is_equation, c.end) for c in found] == [
        ("With g^2:", False, ""),
        ("m = b m + g", True, ";"),
        ("v = c v", True, ","),
        ("with c of before. So.", False, ""),
    ]


@given(st.text(alphabet="abW12 =+-*/^_().,;:\n'", max_size=60))
def test_nothing_is_lost_and_braces_match(text: str):
    found = list(clauses(text))
    letters = re.sub(r"[^abW12=+,;]", "", text)
    plain = re.sub(r"\\[a-z]+", "", " ".join(c.text + c.end for c in found))
    assert re.sub(r"[^abW12=+,;]", "", plain) == letters
    for clause in found:
        if clause.is_equation:
            assert clause.text.count("{") == clause.text.count("}")
