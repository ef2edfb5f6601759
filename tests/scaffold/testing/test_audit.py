"""The dtype audit: planted upcasts are found wherever they hide; clean code passes."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mlax_scaffold.testing.audit import (
    Finding,
    assert_dtypes,
    audit_function,
    audit_jaxpr,
)

HALF = jnp.bfloat16
X = jax.ShapeDtypeStruct((4, 3), HALF)
W = jax.ShapeDtypeStruct((3, 3), jnp.float32)
KEY = jax.eval_shape(lambda: jax.random.key(0))


def audit(fn, *args, allow=(), rules=True) -> list[Finding]:
    return audit_jaxpr(jax.make_jaxpr(fn)(*args), (HALF, *allow), rules=rules)


def widened(x):
    return jnp.sin(x.astype(jnp.float32)).astype(x.dtype)


@jax.custom_vjp
def wide_backward(x):
    return jnp.sin(x)


wide_backward.defvjp(
    lambda x: (jnp.sin(x), x), lambda x, ct: (widened(ct * jnp.cos(x)),)
)


@jax.custom_vjp
def wide_residuals(x):
    return jnp.sin(x)


wide_residuals.defvjp(
    lambda x: (jnp.sin(x), jnp.cos(x.astype(jnp.float32))),
    lambda cos, ct: (ct * cos.astype(ct.dtype),),
)


@jax.custom_jvp
def wide_jvp(x):
    return jnp.sin(x)


@wide_jvp.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return jnp.sin(x), t * (widened(jnp.cos(x)))


@jax.custom_vjp
def wide_primal(x):
    return widened(x)


wide_primal.defvjp(lambda x: (x, None), lambda _, ct: (ct,))


@jax.custom_jvp
def wide_jvp_primal(x):
    return widened(x)


wide_jvp_primal.defjvps(lambda t, _, x: t)


def scan_body(x):
    return lax.scan(lambda carry, row: (carry + widened(row), row), x[0], x)


def while_body(x):
    return lax.while_loop(lambda c: c[0, 0] < 1, lambda c: c + widened(c), x)


def while_condition(x):
    return lax.while_loop(
        lambda c: c.astype(jnp.float32)[0, 0] * 2.0 < 1, lambda c: c + 1, x
    )


def scan_carry(x):
    """The carry is float32, and nothing returns it."""
    total, _ = lax.scan(
        lambda c, row: (c + row.astype(jnp.float32), None), jnp.zeros(3), x
    )
    return total.astype(HALF)


def linear_solve(x):
    return lax.custom_linear_solve(
        lambda v: v * 2, x, lambda matvec, b: widened(b), lambda matvec, b: b
    )


def inner_round_trip(x):
    """The inner function returns one operand and only casts the other."""
    inner = jax.jit(lambda a, b: (a, b.astype(HALF)))
    wide = x.astype(jnp.float32)
    return inner(x, wide)[1]


def swapped_in_cond(x):
    """Only the first of two wide values becomes an output."""

    def branch(a, b):
        return a, b.astype(HALF)

    wide = (x[0].astype(jnp.float32), x[1].astype(jnp.float32))
    return lax.cond(x[0, 0] > 0, branch, branch, *wide)


UPCASTS = {
    "round trip through jit": (inner_round_trip, "convert_element_type"),
    "round trip through cond": (swapped_in_cond, "convert_element_type"),
    "operand": (lambda x: x * np.float32(2.0), "mul"),
    "array operand": (lambda x: x * np.ones(3, np.float32), "mul"),
    "sum": (jnp.sum, "reduce_sum"),
    "mean": (jnp.mean, "reduce_sum"),
    "var": (jnp.var, "reduce_sum"),
    "softmax": (lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(HALF), "exp"),
    "scan body": (scan_body, "sin"),
    "scan carry": (scan_carry, "add"),
    "while body": (while_body, "sin"),
    "while condition": (while_condition, "mul"),
    "cond branch": (lambda x: lax.cond(x[0, 0] > 0, widened, lambda v: v, x), "sin"),
    "switch branch": (
        lambda x: lax.switch(1, [jnp.sin, jnp.cos, widened], x),
        "sin",
    ),
    "nested jit": (jax.jit(jax.jit(widened)), "sin"),
    "remat": (jax.checkpoint(widened), "sin"),
    "custom_vjp primal": (wide_primal, "sin"),
    "custom_jvp primal": (wide_jvp_primal, "sin"),
    "custom_vjp backward rule": (wide_backward, "sin"),
    "custom_vjp forward rule": (wide_residuals, "cos"),
    "custom_jvp rule": (wide_jvp, "sin"),
    "custom_linear_solve": (linear_solve, "sin"),
    "bitcast": (
        lambda x: lax.bitcast_convert_type(jnp.ones(3, int), jnp.float32) > x[0, 0],
        "bitcast_convert_type",
    ),
    "iota": (lambda x: x + lax.iota(jnp.float32, 3).astype(HALF), "iota"),
    "from integers": (
        lambda x: x * jnp.argmax(x, -1, keepdims=True).astype(jnp.float32).astype(HALF),
        "convert_element_type",
    ),
    "preferred_element_type": (
        lambda x: jnp.dot(x, x.T, preferred_element_type=jnp.float32).astype(HALF),
        "dot_general",
    ),
    "round trip": (
        lambda x: x.astype(jnp.float32).astype(HALF),
        "convert_element_type",
    ),
    "reduce": (
        lambda x: lax.reduce(
            x.astype(jnp.float32),
            np.float32(0),
            lambda a, b: lax.add(a, lax.mul(b, b)),
            (0, 1),
        ).astype(HALF),
        "reduce",
    ),
    "complex": (lambda x: x + jnp.abs(x * 1j).astype(HALF), "mul"),
    "scalar arithmetic": (lambda x: x * lax.rsqrt(np.float32(2)).astype(HALF), "rsqrt"),
    "fill": (lambda x: x + jnp.zeros(3), "add"),
    "a root of a number beside an array": (
        lambda x: jnp.zeros(3) * jnp.sqrt(2) + x,
        "mul",
    ),
    "a number that a loop carries": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c + 0.5 * i, 0.0) * x,
        "add",
    ),
    "narrower": (lambda x: jnp.sin(x.astype(jnp.float16)).astype(HALF), "sin"),
}


@pytest.mark.parametrize("name", UPCASTS)
def test_planted_upcast_is_found(name):
    fn, primitive = UPCASTS[name]
    findings = audit(fn, X)
    assert primitive in {f.primitive for f in findings}
    assert all(f.dtype in ("float32", "float16", "complex64") for f in findings)


@pytest.mark.parametrize(
    "fn", [jax.nn.softmax, jax.nn.logsumexp, jax.nn.standardize, jnp.prod, jnp.std]
)
def test_library_functions_that_widen_are_found(fn):
    assert any(f.dtype == "float32" for f in audit(fn, X))


@pytest.mark.parametrize("nest", [jax.jit, jax.checkpoint, jax.vmap])
def test_upcast_is_found_inside(nest):
    assert any(f.primitive == "sin" for f in audit(nest(scan_body_of_one), X))


def scan_body_of_one(x):
    return lax.map(widened, x)


def test_bernoulli_computes_in_float32():
    def dropout(x, key):
        return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0)

    findings = audit(dropout, X, KEY)
    assert {"bitcast_convert_type", "lt"} <= {f.primitive for f in findings}
    assert any(f.role == "literal" for f in findings)
    assert any("_bernoulli" in f.path for f in findings)


@pytest.mark.parametrize(
    "fn", [lambda x: x / jnp.sqrt(x.shape[-1]), lambda x: x - jnp.log(2.0) * jnp.pi]
)
def test_what_is_computed_of_numbers_alone_is_a_number(fn):
    assert audit(fn, X) == []


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x * jnp.sqrt(jnp.float32(2.0)),
        lambda x: x + jnp.linspace(0.0, 1.0, x.shape[-1]),
        lambda x: (x.astype(jnp.float32) / jnp.sqrt(2.0)).astype(x.dtype),
    ],
)
def test_what_is_computed_of_arrays_is_none(fn):
    assert any(f.dtype == "float32" for f in audit(fn, X))


def bucket(i):
    return jnp.log(jnp.maximum(i, 1).astype(jnp.float32) / 3).astype(jnp.int32)


def test_what_is_between_integers_is_no_finding():
    def taken(table, i):
        return table[jax.jit(bucket)(i) * bucket(i)]

    assert audit(taken, X, jnp.arange(3)) == []


ROW = jax.ShapeDtypeStruct((3,), HALF)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, i: x * (i / 3),
        lambda x, i: jnp.where(i / 3 > x[0].astype(jnp.float32), x, 0),
        lambda x, i: (i.astype(jnp.float32) * x.astype(jnp.float32)).astype(jnp.int32),
    ],
)
def test_what_meets_numbers_is_not_between_integers(fn):
    assert audit(fn, ROW, jnp.arange(3))


def test_constants_are_found():
    table = jnp.ones((4, 3))
    (finding, *_) = audit(lambda x: x + table.astype(HALF), X)
    assert (finding.role, finding.shape) == ("const", (4, 3))


def test_what_makes_nothing_is_no_finding():
    assert audit(lambda x, w: (x, jnp.sin(w[:0]).astype(x.dtype)), X, W) == []
    assert audit(lambda x, w: (x, jnp.sin(w[:1]).astype(x.dtype)), X, W) != []


def test_state_update_in_the_stored_dtype():
    def wide(x, mean):
        return x, 0.9 * mean + 0.1 * x[0].astype(mean.dtype)

    def clean(x, mean):
        return x, (0.9 * mean.astype(x.dtype) + 0.1 * x[0]).astype(mean.dtype)

    assert {"mul", "add"} <= {f.primitive for f in audit(wide, X, MEAN)}
    assert audit(clean, X, MEAN) == []


def test_weak_outputs():
    (finding,) = audit(lambda x: (x, jnp.asarray(1.0)), X)
    assert finding.role == "output"
    assert finding.weak
    (finding,) = audit(lambda x: (x, 3), X)
    assert (finding.role, finding.dtype) == ("output", "int32")
    assert audit(lambda x: (x + 1e-5, jnp.int32(3)), X) == []


def scan_gradient(step):
    def fn(x, w, ct):
        def forward(x, w):
            body = step(w, w.astype(x.dtype))
            return lax.scan(body, x[0], x)[0]

        return jax.vjp(forward, x, w)[1](ct)

    return audit(fn, X, W, jax.ShapeDtypeStruct((3,), HALF))


def test_gradient_accumulated_in_a_scan():
    """Where the body casts, the gradients are summed in the dtype of the weights."""
    assert scan_gradient(lambda w, cast: lambda c, row: (c @ cast + row, None)) == []
    found = scan_gradient(
        lambda w, cast: jax.checkpoint(
            lambda c, row: (c @ w.astype(row.dtype) + row, None)
        )
    )
    assert {"add_any"} <= {f.primitive for f in found}
    assert all("scan" in f.path for f in found)


def test_gradient_summed_over_two_uses():
    def fn(x, w, ct):
        def forward(x, w):
            return x @ w.astype(HALF) + x * w[0].astype(HALF)

        return jax.vjp(forward, x, w)[1](ct)

    found = {f.primitive for f in audit(fn, X, W, X)}
    assert "add_any" in found


def mlp(x, w):
    kernel = w.astype(x.dtype)
    for _ in range(2):
        x = jax.nn.relu(x @ kernel * 0.5 + 1e-5)
    return jnp.where(x > 0, x, 0.0)


def state_is_read_back(x, mean):
    stored = (mean.astype(x.dtype) + x[0]).astype(mean.dtype)
    return x - stored.astype(x.dtype), stored


def scanned_state(x, mean):
    def body(mean, row):
        new = (mean.astype(row.dtype) * 0.5 + row).astype(mean.dtype)
        return new, row

    return lax.scan(body, mean, x)


def branches_return_state(x, mean):
    return lax.cond(
        x[0, 0] > 0,
        lambda x, m: (x[0] + m.astype(x.dtype)).astype(m.dtype),
        lambda x, m: m,
        x,
        mean,
    )


def while_state(x, mean):
    def body(mean):
        return (mean.astype(x.dtype) + x[0]).astype(mean.dtype)

    return lax.while_loop(lambda m: m.astype(x.dtype)[0] < 0, body, mean)


def stored_passes_through_cond(x):
    stored = x[0].astype(jnp.float32)

    def update(x, stored):
        return (x[0] + stored.astype(x.dtype)).astype(stored.dtype)

    return lax.cond(x[0, 0] > 0, lambda x, stored: stored, update, x, stored)


def stored_passes_through_while(x):
    first, then = (row.astype(jnp.float32) for row in x[:2])
    limit, init = jnp.argmax(x), (jnp.zeros((), int), first)
    return lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, then), init)[1]


def constant_of_while_is_cast(x, mean):
    def body(c):
        return c + mean.astype(x.dtype)

    return lax.while_loop(lambda c: c[0] < mean.astype(x.dtype)[0], body, x[0])


MEAN = jax.ShapeDtypeStruct((3,), jnp.float32)
CLEAN = {
    "a root of a number": (lambda x: x / jnp.sqrt(64), (X,)),
    "numbers of numbers": (
        lambda x: x * jnp.exp(jnp.sqrt(3.0) * 2 + 1),
        (X,),
    ),
    "stored value through cond": (stored_passes_through_cond, (X,)),
    "stored value through while": (stored_passes_through_while, (X,)),
    "stored constant of while": (constant_of_while_is_cast, (X, MEAN)),
    "cast weights": (mlp, (X, W)),
    "gradients": (lambda x, w: jax.vjp(mlp, x, w)[1](x), (X, W)),
    "unused weight has a zero gradient": (
        lambda x, w: jax.vjp(lambda x, w: jnp.sin(x), x, w)[1](x),
        (X, W),
    ),
    "weights through jit": (jax.jit(mlp), (X, W)),
    "weights through remat": (jax.checkpoint(mlp), (X, W)),
    "gradient of remat": (
        lambda x, w: jax.vjp(jax.checkpoint(mlp), x, w)[1](x),
        (X, W),
    ),
    "state is read back": (state_is_read_back, (X, MEAN)),
    "state as carry": (scanned_state, (X, MEAN)),
    "state in cond": (branches_return_state, (X, MEAN)),
    "state in while": (while_state, (X, MEAN)),
    "unchanged state": (lambda x, m: (x, m), (X, MEAN)),
    "strict reduction": (
        lambda x: lax.reduce(x, HALF(0), lax.add, (0,)),
        (X,),
    ),
    "python numbers through jit": (lambda x: jnp.clip(x, 0.5, 1.5), (X,)),
    "leaky_relu": (lambda x: jax.nn.leaky_relu(x, 0.01), (X,)),
    "integers": (lambda x: x[jnp.argsort(x[:, 0])], (X,)),
    "keys": (lambda x, key: (x, jax.random.split(key)), (X, KEY)),
    "keys, integer draws": (
        lambda x, key: jnp.where(jax.random.bits(key, x.shape) > 9, x, 0.0),
        (X, KEY),
    ),
    "barrier": (
        lambda x, w: x @ lax.optimization_barrier(w).astype(x.dtype),
        (X, W),
    ),
    "vmap": (jax.vmap(mlp, in_axes=(0, None)), (X, W)),
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_function_has_no_finding(name):
    fn, args = CLEAN[name]
    assert audit(fn, *args) == []


def test_shard_map_is_walked():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        from jax.experimental.shard_map import shard_map
    spec = jax.sharding.PartitionSpec()
    wrap = functools.partial(shard_map, mesh=mesh, out_specs=spec)
    assert audit(wrap(mlp, in_specs=(spec, spec)), X, W) == []
    found = audit(wrap(widened, in_specs=(spec,)), X)
    assert any(f.primitive == "sin" and "shard_map" in f.path for f in found)


def test_allowed_dtypes_are_no_findings():
    assert audit(widened, X, allow=(jnp.float32,)) == []


def test_scalars_may_have_their_own_dtype():
    def fn(x, rate):
        return x * jnp.sqrt(rate * 2).astype(x.dtype)

    rate = jax.ShapeDtypeStruct((), jnp.float32)
    jaxpr = jax.make_jaxpr(fn)(X, rate)
    assert audit_jaxpr(jaxpr, [HALF], scalars=[jnp.float32]) == []
    assert {f.primitive for f in audit_jaxpr(jaxpr, [HALF])} == {"mul", "sqrt"}
    vector = jax.make_jaxpr(fn)(X, jax.ShapeDtypeStruct((3,), jnp.float32))
    assert audit_jaxpr(vector, [HALF], scalars=[jnp.float32])


def test_rules_are_audited_unless_told_otherwise():
    assert audit(wide_backward, X, rules=False) == []
    assert audit(lambda x: wide_backward(x)[0], X)[0].path.startswith(
        "vjp of custom_vjp"
    )


def test_findings_say_where():
    finding = next(f for f in audit(jax.jit(widened), X) if f.primitive == "sin")
    assert finding.path == "jit[widened]"
    assert __file__ in finding.source
    assert "(widened)" in finding.source
    assert str(finding).startswith("float32[4,3]: operand of sin in jit[widened] at ")


def test_assertion_is_a_readable_table():
    jaxpr = jax.make_jaxpr(jax.jit(widened))(X)
    with pytest.raises(AssertionError) as caught:
        assert_dtypes(jaxpr, [HALF], what="Layer.fwd")
    text = str(caught.value)
    assert text.startswith("Layer.fwd: 3 values have a dtype that is not allowed")
    assert "Expected bfloat16 only" in text
    assert "test_audit.py:" in text
    lines = text.splitlines()
    assert lines[1].split() == ["dtype", "what", "in", "at"]
    column = lines[1].index("in ")
    assert all(line[column:].startswith("jit[widened]") for line in lines[2:])
    assert_dtypes(jaxpr, [HALF, jnp.float32])


def test_audit_function_takes_keywords():
    def fn(x, *, mask):
        return jnp.where(mask, x, 0.0).astype(jnp.float32) * 2.0

    mask = jax.ShapeDtypeStruct((4, 3), bool)
    findings = audit_function(fn, X, mask=mask, compute_dtype=HALF)
    assert "mul" in {f.primitive for f in findings}
    assert not audit_function(
        fn, X, mask=mask, compute_dtype="bfloat16", allow=[jnp.float32]
    )
