"""What jax computes in `setup` for hyperparameters, sizes, and what layers and initializers are made with."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.imports import DECLARING
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, dotted, self_attribute

ALSO_OF_NUMPY = frozenset(
    [
        *("abs", "arange", "arccos", "arcsin", "arctan", "arctan2", "argmax", "argmin"),
        *("argsort", "array", "asarray", "broadcast_to", "ceil", "clip", "concatenate"),
        *("cos", "cosh", "cumprod", "cumsum", "diag", "diff", "dot", "einsum", "exp"),
        *("expand_dims", "eye", "flip", "floor", "full", "geomspace", "hstack"),
        *("identity", "kron", "linspace", "log", "log10", "log1p", "log2", "logspace"),
        *("matmul", "max", "maximum", "mean", "meshgrid", "min", "minimum", "mod"),
        *("ones", "outer", "pad", "power", "prod", "repeat", "reshape", "roll"),
        *("round", "sign", "sin", "sinc", "sinh", "sort", "sqrt", "square", "squeeze"),
        *("stack", "sum", "tan", "tanh", "tile", "trace", "transpose", "tri", "tril"),
        *("triu", "unique", "vstack", "where", "zeros", "zeros_like", "ones_like"),
        *("hanning", "hamming", "blackman", "bartlett", "kaiser", "deg2rad", "expm1"),
        "pi",
    ]
)
"""Functions of `jax.numpy` that NumPy has, too, with the same arguments."""


def check_setup_arrays(
    source: Source,
    setup: ast.FunctionDef,
    derived: Collection[str],
    imports: Mapping[str, Import],
) -> None:
    """Report what `jax.numpy` computes in `setup`, and what is drawn there, where derived values hold it."""
    _check_draws(source, setup, derived, imports)
    made = [c for c in _calls(setup) if _name(c, imports)]
    given = [c for c in _given(setup, imports) if _name(c, imports)]
    if not made and not given:
        return
    if any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and node.value in made
        and self_attribute(node.targets[0])
        and _name(node.value, imports) in ("empty", "full", "ones", "zeros")
        for node in _own(setup)
    ):
        return  # a weight or a state, perhaps, which is told
    held = _holding(setup, made)
    if not held & {f"self.{name}" for name in derived}:
        made = []
    made += [call for call in given if call not in made]
    if not made:
        return
    numpy = of_jax(source, "np")
    names = [_name(c, imports) for c in made]
    plain = all(name in ALSO_OF_NUMPY for name in names)
    updated = any(isinstance(n, ast.Attribute) and n.attr == "at" for n in _own(setup))
    edits = [
        source.edit(c.func, f"{numpy.bound}.{name}")
        for c, name in zip(made, names, strict=True)
    ]
    text = source.text_of(made[0].func)
    source.report(
        made[0],
        f"`{text}` makes an array of jax, which no hyperparameter and no size can be",
        f"Write `{numpy.bound}.{names[0]}`: what setup derives is computed once, by NumPy.",
        fix=Fix(tuple(edits), (numpy,)) if plain and not updated else None,
    )


def _check_draws(
    source: Source,
    setup: ast.FunctionDef,
    derived: Collection[str],
    imports: Mapping[str, Import],
) -> None:
    """Report what is drawn for a local that a derived value holds; drawn for itself it is told elsewhere."""
    for node in _own(setup):
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Call() as call):
                pass
            case _:
                continue
        drawn = (qualified(call.func, imports) or "").startswith("jax.random.")
        held = _holding(setup, [call]) if drawn else set()
        names = [name for name in derived if f"self.{name}" in held]
        if names and not _is_of_keys(call):
            source.report(
                call,
                f"self.{names[0]} is an array that is drawn, which no hyperparameter can be",
                "Let an initializer draw it: a weight is `trainable(initializer, shape)`, what no "
                "gradient is taken of `state(initializer, shape)`.",
            )


def _is_of_keys(call: ast.Call) -> bool:
    """Whether it makes keys, which what is drawn with them is told of."""
    return (dotted(call.func) or "").rpartition(".")[2] in _OF_KEYS


_OF_KEYS = ("PRNGKey", "clone", "fold_in", "key", "split", "wrap_key_data")


def _name(call: ast.Call, imports: Mapping[str, Import]) -> str:
    """The name of a function of `jax.numpy` that makes an array; else nothing."""
    module, _, name = (qualified(call.func, imports) or "").rpartition(".")
    types = name.startswith(("float", "int", "uint", "bfloat", "bool", "complex"))
    about = ("dtype", "finfo", "iinfo", "issubdtype", "result_type", "promote_types")
    about += ("isscalar", "iterable", "ndim", "shape", "size", "broadcast_shapes")
    return name if module == "jax.numpy" and not types and name not in about else ""


def _own(setup: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of `setup`, without functions inside of it, and what declares weights."""
    pending: list[ast.AST] = list(setup.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            continue
        if isinstance(node, ast.Call) and dotted(node.func) in DECLARING:
            continue
        yield node
        pending += ast.iter_child_nodes(node)


def _given(setup: ast.FunctionDef, imports: Mapping[str, Import]) -> Iterator[ast.Call]:
    """The calls in what layers and initializers are made with, and in shapes."""
    for node in ast.walk(setup):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func) or ""
        parts: list[ast.AST] = []
        if name in DECLARING and node.args:
            first, *rest = node.args
            made = isinstance(first, ast.Call) and not _name(first, imports)
            parts = [
                *(first.args if isinstance(first, ast.Call) and made else []),
                *rest,
            ]
        elif name in imports and imports[name].reference is not None:
            parts = [*node.args, *(k.value for k in node.keywords)]
        while parts:
            part = parts.pop(0)
            # A layer of setup is called by nobody, which is told.
            of_self = isinstance(part, ast.Call) and self_attribute(part.func)
            if not isinstance(part, ast.Lambda) and not of_self:
                if isinstance(part, ast.Call):
                    yield part
                parts += ast.iter_child_nodes(part)


def _calls(setup: ast.FunctionDef) -> list[ast.Call]:
    return [n for n in _own(setup) if isinstance(n, ast.Call)]


def _holding(setup: ast.FunctionDef, made: list[ast.Call]) -> set[str]:
    """The locals and the attributes of self that hold what calls make, or what is computed of that."""
    held: set[str] = set()
    while True:
        before = len(held)
        for node in _own(setup):
            match node:
                case ast.Assign(targets=targets, value=value):
                    pairs = [(target, value) for target in targets]
                case ast.AugAssign(target=target, value=value):
                    pairs = [(target, value)]
                case ast.For(target=target, iter=value):
                    pairs = [(target, value)]
                case ast.comprehension(target=target, iter=value):
                    pairs = [(target, value)]
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="append" | "extend")
                ):
                    pairs = [(owner, a) for a in node.args]
                case _:
                    continue
            for target, value in pairs:
                if _holds(value, held, made):
                    held |= set(_names(target))
        if len(held) == before:
            return held


def _holds(value: ast.expr, held: set[str], made: list[ast.Call]) -> bool:
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        match node:
            case ast.Attribute(attr="shape" | "ndim" | "size" | "dtype"):
                continue
            case ast.Lambda():
                continue
            case ast.Call() if any(node is call for call in made):
                return True
            case ast.Call(func=function) if dotted(function) in (*DECLARING, "len"):
                continue
            case ast.Name() | ast.Attribute() if dotted(node) in held:
                return True
        pending += ast.iter_child_nodes(node)
    return False


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and node.id != "self":
            yield node.id
        elif name := self_attribute(node):
            yield f"self.{name}"
