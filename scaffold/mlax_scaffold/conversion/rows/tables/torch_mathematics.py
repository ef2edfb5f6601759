"""PyTorch's mathematics beyond what most layers need: special functions, joins, orders, and spectra."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

_RENAMED = {
    **{n: n for n in ("exp2", "sinc", "trunc", "deg2rad", "rad2deg", "i0", "signbit")},
    **{n: n for n in ("real", "imag", "angle", "trace", "fliplr", "flipud")},
    **{n: n for n in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")},
    **{f"a{n}": f"arc{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"absolute": "abs", "fix": "trunc", "sgn": "sign", "conj": "conj"},
    **{"resolve_conj": "asarray", "bitwise_not": "invert"},
}
_LAX = {
    **{"erfc": "erfc", "erfinv": "erf_inv", "lgamma": "lgamma", "digamma": "digamma"},
}
_PAIRS = {
    **{n: n for n in ("fmax", "fmin", "hypot", "logaddexp", "logaddexp2", "kron")},
    **{n: n for n in ("logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")},
    **{n: n for n in ("copysign", "heaviside", "inner", "vdot", "remainder")},
    **{n: n for n in ("floor_divide", "float_power", "gcd", "lcm", "ldexp")},
    **{"arctan2": "arctan2", "ger": "outer", "atan2": "arctan2"},
}
_OPERATORS = {
    **{"multiply": "*", "divide": "/", "greater": ">", "greater_equal": ">="},
    **{"less": "<", "less_equal": "<=", "not_equal": "!="},
}
_REDUCED = "(x, dim=_, keepdim=_)"

METHODS = {
    **{n: Row("(x)", f"jnp.{to}(x)") for n, to in _RENAMED.items()},
    **{n: Row("(x)", f"lax.{to}(x)") for n, to in _LAX.items()},
    **{n: Row("(x, other)", f"jnp.{to}(x, other)") for n, to in _PAIRS.items()},
    **{n: Row("(x, other)", f"x {to} other") for n, to in _OPERATORS.items()},
    "negative": Row("(x)", "-x"),
    "positive": Row("(x)", "x"),
    "frac": Row("(x)", "x - jnp.trunc(x)"),
    "adjoint": Row("(x)", "jnp.swapaxes(jnp.conj(x), -2, -1)"),
    "ravel": Row("(x)", "x.reshape(-1)"),
    "renorm": Row("(x, p, dim, maxnorm)", "calc.renormalized(x, p, dim, maxnorm)"),
    "logit": Row("(x, eps=None)", "calc.logit(x, eps)"),
    "nan_to_num": Row(
        "(x, nan=_, posinf=_, neginf=_)",
        "jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)",
    ),
    "subtract": Row("(x, other)", "x - other"),
    "rsub": Row("(x, other)", "other - x"),
    "clamp_max": Row("(x, max)", "jnp.minimum(x, max)"),
    "xlogy": Row("(x, other)", "jnp.where(x == 0, 0, x * jnp.log(other))"),
    "isclose": Row(
        "(x, other, rtol=1e-5, atol=1e-8)", "jnp.isclose(x, other, rtol, atol)"
    ),
    "cross": Row("(x, other, dim=-1)", "jnp.cross(x, other, axis=dim)"),
    "tensordot": Row("(x, other, dims=2)", "jnp.tensordot(x, other, axes=dims)"),
    "dist": Row("(x, other, p=2.0)", "calc.norm(x - other, p, _, _)"),
    "baddbmm": Row(
        "(x, a, b, beta=1, alpha=1)", "calc.product_added(x, a, b, beta, alpha)"
    ),
    "addmm": Row(
        "(x, a, b, beta=1, alpha=1)", "calc.product_added(x, a, b, beta, alpha)"
    ),
    "addmv": Row("(x, a, b)", "x + jnp.matmul(a, b)"),
    "addcdiv": Row("(x, a, b, value=1)", "x + value * a / b"),
    "swapdims": Row("(x, dim0, dim1)", "jnp.swapaxes(x, dim0, dim1)"),
    "moveaxis": Row("(x, source, destination)", "jnp.moveaxis(x, source, destination)"),
    "tile": Row("(x, *dims)", "calc.tiled(x, dims)"),
    "broadcast_to": Row("(x, size)", "jnp.broadcast_to(x, size)"),
    "rot90": Row("(x, k=1, dims=(0, 1))", "jnp.rot90(x, k, axes=calc.axes(dims))"),
    "diff": Row(
        "(x, n=1, dim=-1, prepend=_, append=_)",
        "jnp.diff(x, n, axis=dim, prepend=prepend, append=append)",
    ),
    "diag": Row("(x, diagonal=0)", "jnp.diag(x, diagonal)"),
    "diagflat": Row("(x, offset=0)", "jnp.diagflat(x, offset)"),
    "diagonal": Row(
        "(x, offset=0, dim1=0, dim2=1)", "jnp.diagonal(x, offset, dim1, dim2)"
    ),
    "diag_embed": Row(
        "(x)", "jnp.expand_dims(x, -1) * jnp.eye(x.shape[-1], dtype=x.dtype)"
    ),
    "count_nonzero": Row("(x, dim=_)", "jnp.count_nonzero(x, axis=dim)"),
    "nanmean": Row(_REDUCED, "jnp.nanmean(x, axis=calc.axes(dim), keepdims=keepdim)"),
    "nansum": Row(_REDUCED, "jnp.nansum(x, axis=calc.axes(dim), keepdims=keepdim)"),
    "quantile": Row(
        "(x, q, dim=_, keepdim=_)", "jnp.quantile(x, q, axis=dim, keepdims=keepdim)"
    ),
    "median": Row(_REDUCED, "calc.median(x, dim, keepdim)"),
    "kthvalue": Row("(x, k, dim=-1, keepdim=_)", "calc.ranked(x, k, dim, keepdim)"),
    "cummax": Row("(x, dim)", "calc.extreme_so_far('max', x, dim)"),
    "cummin": Row("(x, dim)", "calc.extreme_so_far('min', x, dim)"),
    "logcumsumexp": Row("(x, dim)", "jnp.logaddexp.accumulate(x, axis=dim)"),
    "aminmax": Row(
        "(x, *, dim=_, keepdim=_)",
        "(jnp.min(x, axis=dim, keepdims=keepdim), jnp.max(x, axis=dim, keepdims=keepdim))",
    ),
    "allclose": Row(
        "(x, other, rtol=1e-5, atol=1e-8)", "jnp.allclose(x, other, rtol, atol)"
    ),
    "equal": Row("(x, other)", "jnp.array_equal(x, other)"),
    "index_fill": Row(
        "(x, dim, index, value)", "calc.set_at(x, dim, index, value, 'set')"
    ),
    "index_copy": Row(
        "(x, dim, index, source)", "calc.set_at(x, dim, index, source, 'set')"
    ),
    "scatter": Row(
        "(x, dim, index, src=_, value=_)", "calc.scattered(x, dim, index, src, value)"
    ),
    "scatter_reduce": Row(
        "(x, dim, index, src, reduce, include_self=True)",
        "calc.scatter_reduced(x, dim, index, src, reduce)",
    ),
    "take": Row("(x, index)", "jnp.take(x, index)"),
    "take_along_dim": Row(
        "(x, indices, dim=None)", "jnp.take_along_axis(x, indices, axis=dim)"
    ),
    "tensor_split": Row(
        "(x, indices_or_sections, dim=0)",
        "jnp.array_split(x, indices_or_sections, axis=dim)",
    ),
    "unfold": Row(
        "(x, dimension, size, step)", "calc.sliding(x, dimension, size, step)"
    ),
    "bincount": Row(
        "(x, weights=None, *, minlength)",
        "jnp.bincount(x, weights, length=minlength)",
    ),
    "half": Row("(x)", "calc.floating(x)"),
    "bfloat16": Row("(x)", "calc.floating(x)"),
    "double": Row("(x)", "calc.floating(x)"),
    "byte": Row("(x)", "x.astype(jnp.uint8)"),
    "short": Row("(x)", "x.astype(jnp.int32)"),
    "new_empty": Row(
        "(x, *size, dtype=_)", "calc.filled_like('zeros', x, size, dtype)"
    ),
    "fill_diagonal": Row(
        "(x, fill_value)",
        "jnp.where(jnp.eye(*x.shape, dtype=bool), jnp.asarray(fill_value, x.dtype), x)",
    ),
}
"""Methods of tensors; x is the tensor."""

_JOINS = ("hstack", "vstack", "dstack", "column_stack")
FUNCTIONS = {
    **{f"torch.{name}": row for name, row in METHODS.items()},
    **{f"torch.linalg.{n}": METHODS[n] for n in ("cross", "diagonal")},
    **{f"torch.special.{n}": METHODS[n] for n in ("logit", "xlogy", "erfc", "erfinv")},
    **{f"torch.special.{n}": METHODS[n] for n in ("i0", "sinc", "digamma", "exp2")},
    **{
        f"torch.special.{n}": Row("(x)", f"jax.scipy.special.{to}(x)")
        for n, to in {
            **{n: n for n in ("i0e", "i1", "i1e", "entr", "ndtr", "ndtri", "log_ndtr")},
            **{"gammaln": "gammaln", "psi": "digamma", "expit": "expit"},
        }.items()
    },
    **{
        f"torch.{module}": Row("(n, x)", "jax.scipy.special.polygamma(n, x)")
        for module in ("polygamma", "special.polygamma")
    },
    **{
        f"torch.{name}": Row("(x, p)", "jax.scipy.special.multigammaln(x, p)")
        for name in ("mvlgamma", "special.multigammaln")
    },
    "torch.special.softmax": Row("(x, dim, dtype=_)", "word.softmax(x, axis=dim)"),
    "torch.special.log_softmax": Row(
        "(x, dim, dtype=_)", "word.log_softmax(x, axis=dim)"
    ),
    "torch.special.logsumexp": Row(
        "(x, dim, keepdim=_)", "word.logsumexp(x, axis=dim, keepdims=keepdim)"
    ),
    **{f"torch.{n}": Row("(tensors)", f"jnp.{n}(tensors)") for n in _JOINS},
    **{
        f"torch.{n}": Row("(x)", f"jnp.{n}(x)")
        for n in ("atleast_1d", "atleast_2d", "atleast_3d")
    },
    "torch.row_stack": Row("(tensors)", "jnp.vstack(tensors)"),
    "torch.block_diag": Row("(*tensors)", "jax.scipy.linalg.block_diag(*tensors)"),
    "torch.linalg.multi_dot": Row("(tensors)", "jnp.linalg.multi_dot(tensors)"),
    "torch.chain_matmul": Row("(*tensors)", "calc.multiplied(tensors)"),
    "torch.cov": Row("(x)", "jnp.cov(x)"),
    "torch.corrcoef": Row("(x)", "jnp.corrcoef(x)"),
    **{
        f"torch.{n}": Row(
            "(y, x=_, dx=_, dim=-1)",
            "jax.scipy.integrate.trapezoid(y, x, dx=dx, axis=dim)",
        )
        for n in ("trapz", "trapezoid")
    },
    **{
        f"torch.{module}{n}": Row("(x)", f"jnp.linalg.{to}(x)")
        for module in ("", "linalg.")
        for n, to in {"det": "det", "inverse": "inv", "pinverse": "pinv"}.items()
    },
    "torch.linalg.svd": Row(
        "(x, full_matrices=True)", "jnp.linalg.svd(x, full_matrices=full_matrices)"
    ),
    "torch.linalg.svdvals": Row("(x)", "jnp.linalg.svd(x, compute_uv=False)"),
    "torch.linalg.qr": Row("(x, mode='reduced')", "jnp.linalg.qr(x, mode)"),
    "torch.linalg.eigh": Row("(x)", "jnp.linalg.eigh(x)"),
    "torch.linalg.eigvalsh": Row("(x)", "jnp.linalg.eigvalsh(x)"),
    "torch.linalg.inv": Row("(x)", "jnp.linalg.inv(x)"),
    "torch.linalg.pinv": Row("(x)", "jnp.linalg.pinv(x)"),
    **{
        f"torch.{n}": Row("(x)", "jnp.linalg.slogdet(x)")
        for n in ("slogdet", "linalg.slogdet")
    },
    "torch.logdet": Row("(x)", "jnp.linalg.slogdet(x)[1]"),
    "torch.linalg.solve": Row("(a, b)", "jnp.linalg.solve(a, b)"),
    "torch.linalg.cholesky": Row("(x)", "jnp.linalg.cholesky(x)"),
    "torch.cholesky": Row("(x)", "jnp.linalg.cholesky(x)"),
    **{
        f"torch.{n}": Row("(x)", "jax.scipy.linalg.expm(x)")
        for n in ("matrix_exp", "linalg.matrix_exp")
    },
    **{
        f"torch.{n}": Row("(x, n)", "jnp.linalg.matrix_power(x, n)")
        for n in ("matrix_power", "linalg.matrix_power")
    },
    "torch.var_mean": Row(
        "(x, dim=_, unbiased=True, keepdim=_, correction=_)",
        "(calc.unbiased('var', x, dim, keepdim, unbiased, correction), "
        "word.mean(x, axis=dim, keepdims=keepdim))",
    ),
    "torch.std_mean": Row(
        "(x, dim=_, unbiased=True, keepdim=_, correction=_)",
        "(calc.unbiased('std', x, dim, keepdim, unbiased, correction), "
        "word.mean(x, axis=dim, keepdims=keepdim))",
    ),
    "torch.tril_indices": Row(
        "(row, col, offset=0, dtype=_)", "jnp.stack(jnp.tril_indices(row, offset, col))"
    ),
    "torch.triu_indices": Row(
        "(row, col, offset=0, dtype=_)", "jnp.stack(jnp.triu_indices(row, offset, col))"
    ),
    "torch.cdist": Row(
        "(x, other, p=2.0, compute_mode=_)",
        "calc.norm(jnp.expand_dims(x, -2) - jnp.expand_dims(other, -3), p, -1, _)",
    ),
    "torch.empty_like": Row("(x, dtype=_)", "jnp.zeros_like(x, calc.count(dtype))"),
    "torch.empty": Row("(*size, dtype=_)", "calc.filled('zeros', size, dtype)"),
    **{
        f"torch.{n}": Row("(value)", "calc.value(value, _)")
        for n in ("Tensor", "FloatTensor", "LongTensor")
    },
    "torch.logspace": Row(
        "(start, end, steps, base=10.0)", "jnp.logspace(start, end, steps, base=base)"
    ),
    "torch.complex": Row("(real, imag)", "lax.complex(real, imag)"),
    "torch.view_as_complex": Row("(x)", "lax.complex(x[..., 0], x[..., 1])"),
    "torch.view_as_real": Row("(x)", "jnp.stack((jnp.real(x), jnp.imag(x)), axis=-1)"),
    "torch.searchsorted": Row(
        "(sorted_sequence, x, right=False)",
        "calc.searched(sorted_sequence, x, right)",
    ),
    "torch.bucketize": Row(
        "(x, boundaries, right=False)", "calc.searched(boundaries, x, right)"
    ),
    **{
        f"torch.fft.{n}": Row(
            "(x, n=None, dim=-1, norm=_)", f"jnp.fft.{n}(x, n=n, axis=dim, norm=norm)"
        )
        for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"torch.fft.{n}": Row(
            "(x, s=None, dim=(-2, -1), norm=_)",
            f"jnp.fft.{n}(x, s=s, axes=dim, norm=norm)",
        )
        for n in ("fft2", "ifft2", "rfft2", "irfft2")
    },
    **{
        f"torch.fft.{n}": Row(
            "(x, s=None, dim=None, norm=_)", f"jnp.fft.{n}(x, s=s, axes=dim, norm=norm)"
        )
        for n in ("fftn", "ifftn", "rfftn", "irfftn")
    },
    **{
        f"torch.fft.{n}": Row("(x, dim=None)", f"jnp.fft.{n}(x, axes=dim)")
        for n in ("fftshift", "ifftshift")
    },
    **{
        f"torch.fft.{n}": Row("(n, d=1.0)", f"jnp.fft.{n}(n, d)")
        for n in ("fftfreq", "rfftfreq")
    },
}
