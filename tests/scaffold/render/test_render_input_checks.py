"""Generated checks of inputs let through what fits, and refuse what does not with a message that says why."""

from __future__ import annotations

import importlib
import types
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.model.definition import ArrayType
from mlax_scaffold.model.shapes import Shape, parse_shape
from mlax_scaffold.reader.specs import read_spec
from mlax_scaffold.render.arrays import array_doc, shape_text
from mlax_scaffold.render.package.input_checks import InputChecks


@pytest.fixture(scope="module")
def checks() -> types.ModuleType:
    """The checks that every generated package has."""
    return importlib.import_module("mlax._core.checks")


def statements(arrays: str, fields: str = "") -> list[str]:
    """The checks of a function with these array inputs and hyperparameters."""
    lines = "".join(f"    {line},  #: a field\n" for line in fields.split("; ") if line)
    text = f'''from mlax_scaffold.spec import Bool, Count, Float, Int, PyTree, Shape, Size, function


@function
def example(
    {arrays},
{"    *," if lines else ""}
{lines}) -> PyTree:
    """A function of a test."""
    return 1
'''
    definition, findings = read_spec("specs/functional/example.py", text)
    assert not findings, "\n".join(map(str, findings))
    assert definition is not None
    sizes = {h.name: h.name for h in definition.hyperparameters}
    return InputChecks("Example", sizes).statements(definition.methods[0].inputs)


def run(checks: Any, lines: list[str], given: dict[str, Any]) -> dict[str, Any]:
    namespace = {"checks": checks, **given}
    exec("\n".join(lines), namespace)
    return namespace


def array(*shape: int, dtype: str = "float32") -> Any:
    return jnp.zeros(shape, dtype)


FEATURES = 'x: Float["*batch features"]', "features: Size"
SEVERAL = 'x: tuple[Float["n features"], ...]', "features: Size"
OF_SIZES = 'x: Float["len(widths)+1 widths[0] widths[-1]"]', "widths: Shape"
FITS = {
    "of several sizes": (*OF_SIZES, {"x": array(4, 5, 7), "widths": (5, 6, 7)}),
    "any number": (*SEVERAL, {"x": [array(2, 3), array(2, 3)], "features": 3}),
    "none of any number": (*SEVERAL, {"x": (), "features": 3}),
    "last axis": (*FEATURES, {"x": array(3), "features": 3}),
    "more axes": (*FEATURES, {"x": array(2, 5, 3), "features": 3}),
    "numpy": (*FEATURES, {"x": np.zeros((1, 3), np.float16), "features": 3}),
    "lists": (*FEATURES, {"x": [[1.0, 2.0]], "features": 2}),
    "any shape": ('x: Float["..."]', "", {"x": array()}),
    "no axes": ('x: Float[""]', "", {"x": array()}),
    "fixed": ('x: Float["2 _ 3"]', "", {"x": array(2, 7, 3)}),
    "same name": ('x: Float["n n"]', "", {"x": array(4, 4)}),
    "two inputs": (
        'x: Float["*b n"], y: Float["*b m"]',
        "",
        {"x": array(2, 3), "y": array(2, 4)},
    ),
    "broadcast one": (
        'x: Float["n m"], y: Float["#n m"]',
        "",
        {"x": array(2, 3), "y": array(1, 3)},
    ),
    "broadcast all": (
        'x: Float["n m"], y: Float["#n m"]',
        "",
        {"x": array(2, 3), "y": array(2, 3)},
    ),
    "computed": (
        'x: Float["n*2+1 n"]',
        "n: Size",
        {"x": array(7, 3), "n": 3},
    ),
    "computed of an axis": (
        'x: Float["n"], y: Float["2*(n+1)"]',
        "",
        {"x": array(3), "y": array(8)},
    ),
    "axes in the middle": ('x: Float["a *b a"]', "", {"x": array(2, 5, 6, 2)}),
    "condition true": (
        'x: Float["*b c if last else c *b"]',
        "last: bool; c: Size",
        {"x": array(5, 3), "last": True, "c": 3},
    ),
    "condition false": (
        'x: Float["*b c if last else c *b"]',
        "last: bool; c: Size",
        {"x": array(3, 5), "last": False, "c": 3},
    ),
    "counted": (
        'x: Float["b *spatial c"]',
        "spatial_dims: Size",
        {"x": array(1, 2, 3, 4), "spatial_dims": 2},
    ),
    "two variadic, without batch": (
        'x: Float["*batch c *spatial"]',
        "spatial_dims: Size; c: Size",
        {"x": array(4, 5, 6), "spatial_dims": 2, "c": 4},
    ),
    "two variadic, with batch": (
        'x: Float["*batch *spatial c"]',
        "spatial_dims: Size; c: Size",
        {"x": array(2, 3, 5, 6, 4), "spatial_dims": 2, "c": 4},
    ),
    "two variadic, with the same axes again": (
        'x: Float["*batch *spatial"], y: Float["*spatial n *batch n"]',
        "spatial_dims: Count",
        {"x": array(2, 5), "y": array(5, 3, 2, 3), "spatial_dims": 1},
    ),
    "no axes where they are counted": (
        'x: Float["*batch *features"], y: Float["#n *batch *features"]',
        "features_dims: Count",
        {"x": array(2, 5), "y": array(4, 2, 5), "features_dims": 0},
    ),
    "axes of a hyperparameter": (
        'x: Float["*batch *size n"]',
        "size: Shape",
        {"x": array(2, 5, 6, 3), "size": (5, 6)},
    ),
    "only axes of a hyperparameter": (
        'x: Float["*size"], y: Float["*any *size"]',
        "size: Shape",
        {"x": array(), "y": array(2), "size": ()},
    ),
    "optional": (
        'x: Float["n"], mask: Bool["n"] | None = None',
        "",
        {"x": array(3), "mask": None},
    ),
    "optional that is there": (
        'x: Float["n"], mask: Bool["n"] | None = None',
        "",
        {"x": array(3), "mask": np.ones(3, bool)},
    ),
    "an optional input binds nothing": (
        'x: Float["n"] | None, y: Float["n"]',
        "",
        {"x": None, "y": array(3)},
    ),
    "shape that broadcasts": (
        'x: Float["*b n m"], mask: Bool["# *b h n m k"]',
        "h: Size",
        {"x": array(2, 3, 4), "mask": np.ones((5, 1, 4, 9), bool), "h": 5},
    ),
    "scalar that broadcasts": (
        'x: Float["n"], mask: Bool["# n"]',
        "",
        {"x": array(3), "mask": np.ones((), bool)},
    ),
    "axes of which nothing is known": (
        'mask: Bool["# *b _ 2*(n+1)"]',
        "n: Size",
        {"mask": np.ones((7, 8, 9, 6), bool), "n": 2},
    ),
    "axes of a hyperparameter that is None": (
        'x: Float["*batch n"]',
        "batch: Shape | None",
        {"x": array(2, 3, 4), "batch": None},
    ),
    "integers": ('x: Int["..."]', "", {"x": np.arange(3, dtype=np.uint8)}),
    "tuple": (
        'x: Float["n"], c: tuple[Float["n"], Int["m"]]',
        "",
        {"x": array(3), "c": (array(3), array(2, dtype="int32"))},
    ),
    "tuple that is a list": (
        'c: tuple[Float["n"], Float["n"]]',
        "",
        {"c": [array(3), array(3)]},
    ),
    "tuple that is absent": (
        'x: Float["n"], c: tuple[Float["n"], Float["n"] | None] | None = None',
        "",
        {"x": array(3), "c": None},
    ),
    "element that is absent": (
        'x: Float["n"], c: tuple[Float["n"], Float["n"] | None] | None = None',
        "",
        {"x": array(3), "c": (array(3), None)},
    ),
    "condition of what is absent": (
        'x: Float["a b if last else b a"] | None = None',
        "last: bool; a: Size",
        {"x": None, "last": False, "a": 3},
    ),
    "tuple of tuples": (
        'c: tuple[tuple[Float["n"], Int["m"]], tuple[PyTree, PyTree], Float["n"]]',
        "",
        {"c": ([array(3), array(2, dtype="int32")], (None, 1), array(3))},
    ),
    "any number of elements": ("c: tuple[PyTree, ...]", "", {"c": ()}),
    "names of parameters": (
        'owner: Float["name given"], message: Float["name expected"]',
        "",
        {"owner": array(2, 3), "message": array(2, 4)},
    ),
    "trees": ("x: PyTree", "", {"x": {"a": "anything"}}),
}
SAID = "Example: "
REFUSED = {
    "of several sizes": (
        *OF_SIZES,
        {"x": array(4, 5, 6), "widths": (5, 6, 7)},
        "x must have shape (len(widths)+1, widths[0], widths[-1]) with widths=(5, 6, 7), "
        "got (4, 5, 6)",
    ),
    "shape of any number": (
        *SEVERAL,
        {"x": [array(2, 3), array(2, 4)], "features": 3},
        "x[1] must have shape (n, features) with n=2, features=3, got (2, 4)",
    ),
    "size among any number": (
        *SEVERAL,
        {"x": [array(2, 3), array(1, 3)], "features": 3},
        "x[1] must have shape (n, features) with n=2, features=3, got (1, 3)",
    ),
    "kind of any number": (
        *SEVERAL,
        {"x": (array(2, 3), array(2, 3, dtype="int32")), "features": 3},
        "x[1] must be a floating array, got int32; cast it first, for example "
        "x[1].astype(jnp.float32)",
    ),
    "no tuple of any number": (
        *SEVERAL,
        {"x": array(2, 3), "features": 3},
        "x must be a tuple, got an array",
    ),
    "dtypes of any number": (
        'y: Float["n"], x: tuple[Float["..."], ...]',
        "",
        {"y": array(2), "x": [array(3, dtype="float16")]},
        "inputs must have one dtype, got y: float32, x_0: float16; cast them to one",
    ),
    "last axis": (
        *FEATURES,
        {"x": array(4), "features": 3},
        "x must have shape (*batch, features) with features=3, got (4,)",
    ),
    "rank": (
        *FEATURES,
        {"x": array(), "features": 3},
        "x must have shape (*batch, features) with features=3, got ()",
    ),
    "integers": (
        *FEATURES,
        {"x": array(3, dtype="int32"), "features": 3},
        "x must be a floating array, got int32; cast it first, for example "
        "x.astype(jnp.float32)",
    ),
    "floats": (
        'x: Int["..."]',
        "",
        {"x": array(3)},
        "x must be an integer array, got float32",
    ),
    "booleans": (
        'x: Bool["..."]',
        "",
        {"x": array(3, dtype="int32")},
        "x must be a boolean array, got int32; True keeps a place",
    ),
    "two dtypes": (
        'x: Float["..."], y: Float["..."]',
        "",
        {"x": array(3), "y": array(3, dtype="bfloat16")},
        "inputs must have one dtype, got x: float32, y: bfloat16; cast them to one",
    ),
    "too many axes": (
        'x: Float["a b"]',
        "",
        {"x": array(1, 2, 3)},
        "x must have shape (a, b), got (1, 2, 3)",
    ),
    "fixed": (
        'x: Float["2 _ 3"]',
        "",
        {"x": array(2, 7, 4)},
        "x must have shape (2, _, 3), got (2, 7, 4)",
    ),
    "same name": (
        'x: Float["n n"]',
        "",
        {"x": array(4, 5)},
        "x must have shape (n, n) with n=4, got (4, 5)",
    ),
    "axes of another input": (
        'x: Float["*b n"], y: Float["*b m"]',
        "",
        {"x": array(2, 3), "y": array(3, 4)},
        "y must have shape (*b, m) with b=(2,), got (3, 4)",
    ),
    "broadcast": (
        'x: Float["n m"], y: Float["#n m"]',
        "",
        {"x": array(2, 3), "y": array(3, 3)},
        "y must have shape (#n, m) with n=2, m=3, got (3, 3)",
    ),
    "computed": (
        'x: Float["n*2+1 n"]',
        "n: Size",
        {"x": array(6, 3), "n": 3},
        "x must have shape (n*2+1, n) with n=3, got (6, 3)",
    ),
    "condition": (
        'x: Float["*b c if last else c *b"]',
        "last: bool; c: Size",
        {"x": array(5, 3), "last": False, "c": 3},
        "x must have shape (c, *b) with c=3, got (5, 3)",
    ),
    "counted": (
        'x: Float["b *spatial c"]',
        "spatial_dims: Size",
        {"x": array(1, 2, 4), "spatial_dims": 2},
        "x must have shape (b, *spatial, c) with spatial_dims=2, got (1, 2, 4)",
    ),
    "two variadic": (
        'x: Float["*batch c *spatial"]',
        "spatial_dims: Size; c: Size",
        {"x": array(4, 5, 6), "spatial_dims": 1, "c": 4},
        "x must have shape (*batch, c, *spatial) with spatial_dims=1, c=4, got (4, 5, 6)",
    ),
    "two variadic, too few axes": (
        'x: Float["*batch *spatial c"]',
        "spatial_dims: Size",
        {"x": array(4, 5), "spatial_dims": 2},
        "x must have shape (*batch, *spatial, c) with spatial_dims=2, got (4, 5)",
    ),
    "two variadic, other axes than before": (
        'x: Float["*batch *spatial"], y: Float["*spatial n *batch n"]',
        "spatial_dims: Count",
        {"x": array(2, 5), "y": array(5, 3, 4, 3), "spatial_dims": 1},
        "y must have shape (*spatial, n, *batch, n) with spatial=(5,), n=3, batch=(2,), "
        "got (5, 3, 4, 3)",
    ),
    "axes of a hyperparameter": (
        'x: Float["*batch *size n"]',
        "size: Shape",
        {"x": array(2, 5, 7, 3), "size": (5, 6)},
        "x must have shape (*batch, *size, n) with size=(5, 6), got (2, 5, 7, 3)",
    ),
    "too few axes for those of a hyperparameter": (
        'x: Float["*batch *size n"]',
        "size: Shape",
        {"x": array(6, 3), "size": (5, 6)},
        "x must have shape (*batch, *size, n) with size=(5, 6), got (6, 3)",
    ),
    "optional that is there": (
        'x: Float["n"], mask: Bool["n"] | None = None',
        "",
        {"x": array(3), "mask": np.ones(4, bool)},
        "mask must have shape (n,) with n=3, got (4,)",
    ),
    "shape that broadcasts": (
        'x: Float["*b n m"], mask: Bool["# *b h n m k"]',
        "h: Size",
        {"x": array(2, 3, 4), "mask": np.ones((5, 2, 4, 9), bool), "h": 5},
        "mask must broadcast to (*b, h, n, m, k), here (2, 5, 3, 4, any), "
        "got (5, 2, 4, 9)",
    ),
    "too many axes to broadcast": (
        'x: Float["n"], mask: Bool["# n"] | None = None',
        "",
        {"x": array(3), "mask": np.ones((1, 3), bool)},
        "mask must broadcast to (n,), here (3), got (1, 3)",
    ),
    "axes of a hyperparameter that is there": (
        'x: Float["*batch n"]',
        "batch: Shape | None",
        {"x": array(2, 3, 4), "batch": (2,)},
        "x must have shape (*batch, n) with batch=(2,), got (2, 3, 4)",
    ),
    "element of a tuple": (
        'x: Float["n"], c: tuple[Float["n"], Int["m"]] | None = None',
        "",
        {"x": array(3), "c": (array(4), array(2, dtype="int32"))},
        "c[0] must have shape (n,) with n=3, got (4,)",
    ),
    "dtype of an element": (
        'x: Float["n"], c: tuple[PyTree, Float["n"]] | None = None',
        "",
        {"x": array(3), "c": (None, array(3, dtype="float16"))},
        "inputs must have one dtype, got x: float32, c_1: float16; cast them to one",
    ),
    "length of a tuple": (
        'c: tuple[Float["n"], Float["n"]]',
        "",
        {"c": (array(3),)},
        "c must be a tuple of 2, got 1",
    ),
    "no tuple": (
        'c: tuple[Float["n"], Float["n"]]',
        "",
        {"c": array(2, 3)},
        "c must be a tuple of 2, got an array",
    ),
    "kind in a tuple of tuples": (
        'c: tuple[tuple[Float["n"], Int["n"]], Float["n"]]',
        "",
        {"c": ((array(3, dtype="int32"), array(3, dtype="int32")), array(3))},
        "c[0][0] must be a floating array, got int32; cast it first, for example "
        "c[0][0].astype(jnp.float32)",
    ),
    "kind in the one tuple of a tuple": (
        'c: tuple[tuple[Int["n"], Int["n"]]]',
        "",
        {"c": ((array(3, dtype="int32"), array(3)),)},
        "c[0][1] must be an integer array, got float32",
    ),
    "length of a tuple in a tuple": (
        'c: tuple[tuple[Float["n"], Float["n"]], Float["n"]]',
        "",
        {"c": ((array(3),), array(3))},
        "c[0] must be a tuple of 2, got 1",
    ),
}


@pytest.mark.parametrize(
    ("arrays", "fields", "given"), list(FITS.values()), ids=list(FITS)
)
def test_what_fits_is_let_through(
    checks: types.ModuleType, arrays: str, fields: str, given: dict[str, Any]
):
    namespace = run(checks, statements(arrays, fields), given)
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            assert isinstance(namespace[name], jnp.ndarray)
            assert namespace[name].dtype == value.dtype


@pytest.mark.parametrize(
    ("arrays", "fields", "given", "message"), list(REFUSED.values()), ids=list(REFUSED)
)
def test_what_does_not_fit_is_refused(
    checks: types.ModuleType,
    arrays: str,
    fields: str,
    given: dict[str, Any],
    message: str,
):
    with pytest.raises((ValueError, TypeError)) as error:
        run(checks, statements(arrays, fields), given)
    assert str(error.value) == f"Example: {message}"


def test_nothing_is_checked_where_everything_fits():
    assert statements("x: PyTree") == []
    assert statements('x: Float["..."]') == ["x = checks.floating('Example', x=x)"]


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("*batch n", "(*batch, n)"),
        ("n", "(n,)"),
        ("...", "(...,)"),
        ("a*2 #b _", "(a*2, #b, _)"),
        ("# *a b", "(*a, b)"),
    ],
)
def test_shape_text(shape: str, text: str):
    parsed = parse_shape(shape)
    assert isinstance(parsed, Shape)
    assert shape_text(parsed) == text


@pytest.mark.parametrize(
    ("check", "arguments", "good", "canonical", "bad"),
    [
        ("size", (), np.int64(3), 3, [0, True, 1.0, "1"]),
        ("count", (), 0, 0, [-1, False, 0.5]),
        ("integer", (), -3, -3, [1.5, True, None]),
        ("boolean", (), True, True, [1, None, "x"]),
        ("string", (), "x", "x", [1, None]),
        ("choice", (("a", "b"),), "a", "a", ["c", 1, None]),
        ("number", (), 1, 1.0, [float("nan"), float("inf"), True, 10**400, 1j]),
        ("positive", (), 2, 2.0, [0, -1.0, float("inf")]),
        ("non_negative", (), 0, 0.0, [-1e-9, 10**400]),
        ("probability", (), 1, 1.0, [1.1, -0.1, float("nan")]),
        ("shape", (), [2, 0], (2, 0), [[-1], "ab", 3, [1.5]]),
        ("axes", (), -1, (-1,), [[0, 0], "a", 1.5]),
        ("axes", (), [0, 2], (0, 2), [None, [True]]),
    ],
)
def test_hyperparameters(
    checks: types.ModuleType,
    check: str,
    arguments: tuple[Any, ...],
    good: Any,
    canonical: Any,
    bad: list[Any],
):
    function = getattr(checks, check)
    # A name that the check itself uses is one like any other.
    found = function("Example", *arguments, owner=good)
    assert found == canonical
    assert type(found) is type(canonical)
    assert function("Example", *arguments, owner=found) == found
    for value in bad:
        with pytest.raises(ValueError, match="Example: owner must be ") as error:
            function("Example", *arguments, owner=value)
        assert repr(value) in str(error.value)


def test_optional(checks: types.ModuleType):
    assert checks.optional(checks.size, "Example", check=None) is None
    assert checks.optional(checks.size, "Example", check=2) == 2
    with pytest.raises(ValueError, match="check must be"):
        checks.optional(checks.size, "Example", check=0)


def test_requirement(checks: types.ModuleType):
    error = checks.requirement("Example", "no", message=1, owner="x")
    assert str(error) == "Example: no; got message=1, owner='x'"
    assert str(checks.requirement("Example", "no")) == "Example: no"
    said = "Example is for matrices"
    assert str(checks.requirement("Example", said)) == said


def test_require(checks: types.ModuleType):
    checks.require("Example", True, "no", n=1)
    with pytest.raises(ValueError, match=r"^Example: no; got holds=1, owner='x'$"):
        checks.require("Example", False, "no", holds=1, owner="x")


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("...", "boolean of any shape"),
        ("n 2", "boolean (n, 2)"),
        ("# n 2", "boolean that broadcasts to (n, 2)"),
        ("n m if last else m n", "boolean (n, m) where last, else (m, n)"),
        (
            "# n m if last else # m n",
            "boolean that broadcasts to (n, m) where last, else to (m, n)",
        ),
        (
            "# n m if last else ...",
            "boolean that broadcasts to (n, m) where last, else of any shape",
        ),
    ],
)
def test_documentation_says_what_the_checks_take(shape: str, text: str):
    assert array_doc(ArrayType("Bool", parse_shape(shape))) == text


@pytest.mark.parametrize("given", [(array(2), array(2)), [array(2)]], ids=type)
def test_several_arrays_are_no_array(checks: types.ModuleType, given):
    said = f"x must be a floating array, got a {type(given).__name__} of {len(given)}"
    with pytest.raises(TypeError, match=said):
        checks.floating("Example", x=given)
    assert checks.floating("Example", x=[[1.0, 2.0]]).shape == (1, 2)
