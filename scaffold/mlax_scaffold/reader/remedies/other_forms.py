"""Calls that widen half precision, and that strict words of another form stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.remedies.names import word as import_of
from mlax_scaffold.reader.remedies.schedules import defaults_of
from mlax_scaffold.reader.source import Source, dotted


@dataclass(frozen=True)
class _Call:
    """A call of such a function: its arguments by name, in their order."""

    source: Source
    call: ast.Call
    called: str
    """The text of what is called, without its last part."""
    given: dict[str, ast.expr]

    def text(self, name: str) -> str:
        return self.source.text_of(self.given[name])

    def rest(self, *names: str) -> str:
        """Those of the arguments that are given, as `, axis=-1, keepdims=True`."""
        return "".join(f", {n}={self.text(n)}" for n in names if n in self.given)


def other_form(source: Source, call: ast.Call, word: str) -> Fix | None:
    """The call in the form of a strict word; None where an argument has no counterpart."""
    function = call.func
    owner, _, name = (dotted(function) or "").rpartition(".")
    if isinstance(function, ast.Attribute) and not owner:
        owner, name = source.text_of(function.value), function.attr
    names = _ARGUMENTS[name]
    values = list(call.args)
    root = owner.partition(".")[0]
    imported = {
        (alias.asname or alias.name.partition(".")[0])
        for node in source.tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    if isinstance(function, ast.Attribute) and root not in imported:
        values.insert(0, function.value)
        owner = of_jax(source, "jnp").bound
    if len(values) > len(names) or any(isinstance(v, ast.Starred) for v in values):
        return None
    given = dict(zip(names, values, strict=False))
    given |= {k.arg or "": k.value for k in call.keywords}
    if "x" not in given or not {*given} <= {*names}:
        return None
    text, needed = OTHER_FORMS[name](
        _Call(source, call, owner, given), import_of(source, word)
    ) or ("", ())
    return Fix((source.edit(call, text),), tuple(needed)) if text else None


_Made = tuple[str, tuple[Needed, ...]] | None


def _trace(call: _Call, word: Needed) -> _Made:
    axes = ("offset", "axis1", "axis2")
    diagonal = f"{call.called}.diagonal({call.text('x')}{call.rest(*axes)})"
    return f"{word.bound}({diagonal}, axis=-1)", (word, *_numpy(call))


def _of_all(call: _Call, word: Needed) -> _Made:
    """Running sums of all elements: of an array of one axis it is that axis."""
    if "axis" in call.given:
        return None
    numpy = of_jax(call.source, "jnp")
    text = f"{word.bound}({numpy.bound}.ravel({call.text('x')}), axis=0)"
    return text, (word, numpy)


def _without_nan(call: _Call, word: Needed) -> _Made:
    """`mean(x, where=~jnp.isnan(x))`, of what is not computed twice."""
    if not isinstance(call.given["x"], ast.Name | ast.Attribute):
        return None
    numpy, x = of_jax(call.source, "jnp"), call.text("x")
    rest = call.rest("axis", "keepdims").removeprefix(", ")
    parts = [x, f"where=~{numpy.bound}.isnan({x})", *filter(None, [rest])]
    if "ddof" in call.given:
        parts.append(f"correction={call.text('ddof')}")
    return f"{word.bound}({', '.join(parts)})", (word, numpy)


def _norm(call: _Call, word: Needed) -> _Made:
    """A norm of vectors by what it is the sum or the largest of; of matrices in float32."""
    order = call.given.get("ord")
    axis = call.given.get("axis")
    text = unparsed(order) if order is not None else "None"
    rest = call.rest("axis", "keepdims")
    vectors = _is_number(axis) or _last(call) == "vector_norm"
    if text in ("None", "'fro'") or (text in ("2", "2.0") and vectors):
        if _last(call) == "matrix_norm":
            rest = f", axis=(-2, -1){call.rest('keepdims')}"
        return f"{word.bound}({call.text('x')}{rest})", (word,)
    numpy = of_jax(call.source, "jnp")
    size = f"{numpy.bound}.abs({call.text('x')}){rest}"
    if vectors and text in ("1", "1.0"):
        needed = import_of(call.source, "sum")
        return f"{needed.bound}({size})", (needed, numpy)
    if vectors and text.endswith("inf"):
        least = "min" if text.startswith("-") else "max"
        return f"{numpy.bound}.{least}({size})", (numpy,)
    needed = import_of(call.source, "widened")
    function = call.source.text_of(call.call.func)
    arguments = call.text("x") + call.rest("ord", "axis", "keepdims")
    return f"{needed.bound}({function})({arguments})", (needed,)


def _weighted(call: _Call, word: Needed) -> _Made:
    """The average by weights of the same shape, or of the last axis."""
    axis = call.given.get("axis")
    if "weights" not in call.given or "returned" in call.given:
        return None
    if axis is not None and unparsed(axis) != "-1":
        return None
    added = import_of(call.source, "sum")
    x, weights = (_operand(call, name) for name in ("x", "weights"))
    rest = call.rest("axis", "keepdims")
    total = f"{added.bound}({call.text('weights')}{rest})"
    made = f"{added.bound}({x} * {weights}{rest}) / {total}"
    needed: tuple[Needed, ...] = (added,)
    if _may_be_missing(call.source, call.given["weights"]):
        mean = f"{word.bound}({call.text('x')}{rest})"
        made = f"{mean} if {call.text('weights')} is None else {made}"
        needed = (word, added)
    return f"({made})" if _is_operand(call) else made, needed


def _may_be_missing(source: Source, node: ast.expr) -> bool:
    """Whether it is an argument of a function around it that is None where none is given."""
    return isinstance(node, ast.Name) and any(
        isinstance(default := defaults_of(function.args).get(node.id), ast.Constant)
        and default.value is None
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef)
        and any(part is node for part in ast.walk(function))
    )


def _is_operand(call: _Call) -> bool:
    around = ast.Attribute | ast.BinOp | ast.Subscript | ast.UnaryOp
    nodes = (n for n in ast.walk(call.source.tree) if isinstance(n, around))
    return any(child is call.call for n in nodes for child in ast.iter_child_nodes(n))


def _operand(call: _Call, name: str) -> str:
    bare = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
    text = call.text(name)
    return text if isinstance(call.given[name], bare) else f"({text})"


def _is_number(node: ast.expr | None) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) is int


def _last(call: _Call) -> str:
    return call.source.text_of(call.call.func).rpartition(".")[2]


def _numpy(call: _Call) -> tuple[Needed, ...]:
    numpy = of_jax(call.source, "jnp")
    return (numpy,) if call.called == numpy.bound else ()


_OF_NAN = ("x", "axis", "keepdims", "ddof")
_ARGUMENTS = {
    "cumsum": ("x", "axis"),
    "average": ("x", "axis", "weights", "returned", "keepdims"),
    "matrix_norm": ("x", "keepdims", "ord"),
    "nanmean": _OF_NAN[:3],
    "nanprod": _OF_NAN[:3],
    "nanstd": _OF_NAN,
    "nansum": _OF_NAN[:3],
    "nanvar": _OF_NAN,
    "norm": ("x", "ord", "axis", "keepdims"),
    "trace": ("x", "offset", "axis1", "axis2"),
    "vector_norm": ("x", "axis", "keepdims", "ord"),
}
"""What their arguments are called, in the order in which they may be given by place."""
OTHER_FORMS: dict[str, Callable[[_Call, Needed], _Made]] = {
    "cumsum": _of_all,
    "average": _weighted,
    "matrix_norm": _norm,
    "nanmean": _without_nan,
    "nanprod": _without_nan,
    "nanstd": _without_nan,
    "nansum": _without_nan,
    "nanvar": _without_nan,
    "norm": _norm,
    "trace": _trace,
    "vector_norm": _norm,
}
"""What each is written as, by the last part of its name."""
