"""The shape grammar: parsing, printing, evaluating, binding."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlax_scaffold.model.shapes import (
    Anonymous,
    AnyAxes,
    Computed,
    Conditional,
    Fixed,
    Named,
    Shape,
    ShapeError,
    ShapeMismatch,
    Variadic,
    parse_shape,
)


def test_each_kind_of_dim():
    assert parse_shape("*batch n #m 3 a*b+1 _") == Shape(
        (
            Variadic("batch"),
            Named("n"),
            Named("m", broadcast=True),
            Fixed(3),
            Computed("a*b+1", ("a", "b"), ast.parse("a*b+1", mode="eval").body),
            Anonymous(),
        )
    )
    assert parse_shape("n ...") == Shape((Named("n"), AnyAxes()))
    assert parse_shape("") == Shape(())
    assert parse_shape("# *a n") == Shape((Variadic("a"), Named("n")), broadcast=True)


def test_conditional():
    shape = parse_shape(
        "batch *spatial channels if channel_last else batch channels *s"
    )
    assert isinstance(shape, Conditional)
    assert shape.fields() == ("channel_last",)
    assert shape.names() == ("batch", "spatial", "channels", "s")
    assert str(shape.resolve({"channel_last": True})) == "batch *spatial channels"
    assert str(shape.resolve({"channel_last": False})) == "batch channels *s"
    with pytest.raises(ShapeMismatch, match="channel_last, which is not given"):
        shape.resolve({})


def test_of_several_sizes():
    shape = parse_shape("b len(levels)+1 levels[0] levels[-1]*b")
    assert shape.names() == ("b", "levels")
    assert str(shape) == "b len(levels)+1 levels[0] levels[-1]*b"
    sizes = {"b": 2, "levels": (5, 6, 7)}
    assert isinstance(shape, Shape)
    assert shape.evaluate(sizes) == (2, 4, 5, 14)
    assert shape.bind((2, 4, 5, 14), {"levels": (5, 6, 7)}) == sizes
    with pytest.raises(ShapeMismatch, match="one size, 3"):
        shape.evaluate({"b": 2, "levels": 3})
    with pytest.raises(ShapeMismatch, match="levels"):
        parse_shape("levels[3]").evaluate(sizes)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", ["len(a+b)", "max(a)", "len(a,b)", "a[b]", "a[0][1]", "len", "a[True]"]
)
def test_nothing_else_is_called_or_indexed(text: str):
    if text == "len":
        assert parse_shape(text) == Shape((Named("len"),))
        return
    with pytest.raises(ShapeError):
        parse_shape(text)


def test_names_are_in_order_and_unique():
    assert parse_shape("b*a *batch a #c").names() == ("b", "a", "batch", "c")


names = st.sampled_from(["a", "b", "in_features", "heads"])
dims = st.one_of(
    names,
    names.map("#{}".format),
    st.integers(0, 99).map(str),
    st.just("_"),
    st.tuples(names, st.sampled_from(["+", "-", "*", "//"]), names).map("".join),
    st.tuples(names, names).map(lambda t: f"2*({t[0]}+{t[1]})-1"),
)
shapes = st.tuples(
    st.lists(dims), st.sampled_from(["", "...", "*batch", "*a ... *b"]), st.lists(dims)
).map(lambda t: " ".join([*t[0], t[1], *t[2]]))


@given(
    shapes
    | shapes.filter(str.strip).map("# {}".format)
    | st.tuples(shapes, shapes).map(lambda t: f"{t[0]} if flag else {t[1]}")
)
def test_str_round_trips(text):
    shape = parse_shape(text)
    assert parse_shape(str(shape)) == shape
    assert str(shape).split() == text.split()


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("... n ...", 6, "at most one"),
        ("n 2x", 2, '"2x" is no axis'),
        ("n a/b", 2, "is no axis"),
        ("n a**b", 2, "is no axis"),
        ("n -a", 2, "is no axis"),
        ("n f(a)", 2, "is no axis"),
        ("n a.b", 2, "is no axis"),
        ("n (a", 2, "is no axis"),
        ("n 2+3", 2, "write the integer"),
        ("#", 1, "not nothing"),
        ("n # m", 3, "not nothing"),
        ("n *1", 3, 'name of an axis, not "1"'),
        ("*#n", 1, "name of an axis"),
        ("n class", 2, 'not "class"'),
        ("a+class", 0, "is no axis"),
        ("a if b", 2, "A if field else B"),
        ("a if not b else c", 2, "one hyperparameter"),
        ("a if b else c if d else e", 19, "A if field else B"),
        ("a if 2 else c", 5, "name of an axis"),
    ],
)
def test_errors_know_their_place(text, offset, message):
    with pytest.raises(ShapeError, match=message) as caught:
        parse_shape(text)
    assert caught.value.offset == offset


def test_evaluate():
    shape = parse_shape("*batch n 3 n*k+1 (n+k)//2 #n").resolve({})
    sizes = {"batch": (5, 6), "n": 4, "k": 2}
    assert shape.evaluate(sizes) == (5, 6, 4, 3, 9, 3, 4)


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("n", {}, "size of n is not known"),
        ("*n", {}, "axes .n are not known"),
        ("n", {"n": (1,)}, "expected one size"),
        ("*n", {"n": 1}, "expected a tuple"),
        ("n-3", {"n": 2}, "n-3 is -1"),
        ("n//k", {"n": 2, "k": 0}, "divides by zero"),
        ("_", {}, "nothing is known"),
        ("...", {}, "nothing is known"),
    ],
)
def test_what_cannot_be_evaluated(text, sizes, message):
    with pytest.raises(ShapeMismatch, match=message):
        parse_shape(text).resolve({}).evaluate(sizes)


def test_bind():
    shape = parse_shape("n *batch #m n*2 _").resolve({})
    assert shape.bind((3, 7, 8, 1, 6, 9), {}) == {"n": 3, "batch": (7, 8)}
    assert shape.bind((3, 5, 6, 9), {"n": 3}) == {"n": 3, "batch": (), "m": 5}
    wide = parse_shape("# n m").resolve({})
    for narrow in ((), (4,), (1,), (3, 1), (1, 4), (3, 4)):
        assert wide.bind(narrow, {"n": 3, "m": 4}) == {"n": 3, "m": 4}


@pytest.mark.parametrize(
    ("text", "given_shape", "message"),
    [
        ("n n", (2, 3), "n is 2, not 3"),
        ("n 3", (2, 4), "expected 3, not 4"),
        ("n", (2, 3), "expected 1 axes, not 2"),
        ("n m ...", (2,), "expected at least 2 axes, not 1"),
        ("n n*2", (2, 3), r"n\*2 is 4, not 3"),
        ("k", (4,), "k is 5, not 4"),
        ("# k 3", (5, 2), r"does not broadcast to \(5, 3\)"),
        ("# k", (1, 5), r"does not broadcast to \(5,\)"),
    ],
)
def test_what_does_not_bind(text, given_shape, message):
    with pytest.raises(ShapeMismatch, match=message):
        parse_shape(text).resolve({}).bind(given_shape, {"k": 5})


@pytest.mark.parametrize("counter", ["axes_dims", "num_axes"])
def test_a_number_of_axes_has_a_name(counter):
    shape = parse_shape("batch *axes features").resolve({})
    assert shape.open({counter: 2}) == ()
    assert shape.bind((5, 2, 3, 4), {counter: 2})["axes"] == (2, 3)
    with pytest.raises(ShapeMismatch, match="expected 4 axes, not 3"):
        shape.bind((5, 2, 4), {counter: 2})


def test_bind_several_of_which_all_but_one_are_counted():
    shape = parse_shape("*batch n *spatial ...").resolve({})
    assert shape.bind((2, 5, 7), {"n": 5, "batch": (2,), "spatial_dims": 1}) == {
        "n": 5,
        "batch": (2,),
        "spatial": (7,),
        "spatial_dims": 1,
    }
    shape = parse_shape("*batch n *spatial *size").resolve({})
    known = {"spatial_dims": 2, "size": (3,)}
    for batch in ((), (4,), (4, 6)):
        bound = shape.bind((*batch, 5, 7, 8, 3), known)
        assert bound == known | {"batch": batch, "n": 5, "spatial": (7, 8)}
    with pytest.raises(ShapeMismatch, match="at least 4 axes, not 3"):
        shape.bind((7, 8, 3), known)
    with pytest.raises(ShapeMismatch, match=r"size is \(3,\), not \(4,\)"):
        shape.bind((5, 7, 8, 4), known)
    with pytest.raises(
        ShapeMismatch, match=r"axes of \*batch and \*size are not known"
    ):
        shape.bind((5, 7, 8, 3), {"spatial_dims": 2})


def test_open_dims_are_those_of_any_number_of_axes():
    shape = parse_shape("*a n *b ...").resolve({})
    assert shape.open({}) == (Variadic("a"), Variadic("b"), AnyAxes())
    assert shape.open({"a": (1, 2), "b_dims": 0}) == (AnyAxes(),)


@given(
    n=st.integers(1, 5),
    k=st.integers(1, 5),
    batch=st.lists(st.integers(1, 5), max_size=3).map(tuple),
)
def test_bind_inverts_evaluate(n, k, batch):
    shape = parse_shape("n *batch k n+k").resolve({})
    sizes = {"n": n, "k": k, "batch": batch}
    assert shape.bind(shape.evaluate(sizes), {}) == sizes
