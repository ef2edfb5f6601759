"""An operand that is wider than what it meets, or no floating one, in the dtype that is computed in."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.checks.given_dtype import handed_dtype
from mlax_scaffold.reader.checks.likeness import exact_arguments
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.checks.numpy_arrays import computed_dtype
from mlax_scaffold.reader.checks.setup_arrays import ALSO_OF_NUMPY
from mlax_scaffold.reader.checks.widening import UNTYPED
from mlax_scaffold.reader.remedies.made_of_numbers import by_numpy_alone, is_number
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.remedies.same_dtype import of_same_dtype, other_dtype
from mlax_scaffold.reader.source import Source, dotted, self_attribute


def wide_operand(
    node: ast.AST, place: int | None, numbers: Collection[str] = ()
) -> ast.expr | None:
    """The operand at a place of an expression, counted among what may be arrays; None where there is none.

    `numbers` are the texts of what is a number as a constant is: hyperparameters.
    """
    match node:
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        case ast.Call(args=args) if not any(isinstance(a, ast.Starred) for a in args):
            operands = [a for a in args if not _is_setting(a)]
            given = [k.value for k in node.keywords]
            operands += [v for v in given if not isinstance(v, ast.Constant)]
        case _:
            return None
    if place is None or place >= len(operands):
        return None
    # A number has no dtype of its own: what it meets is wide.
    others = [o for o in operands if not is_number(o, numbers)]
    number = is_number(operands[place], numbers) and len(others) == 1
    return others[0] if number else operands[place]


def _is_setting(node: ast.expr) -> bool:
    """Whether it is a text, or lists of integers, such as widths of a padding: what is no array."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.List() | ast.Tuple():
            return not any(
                isinstance(part, ast.Constant) and isinstance(part.value, float)
                for part in ast.walk(node)
            ) and all(isinstance(e, _LISTED) for e in node.elts)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            # Arrays of jax are neither added to a list, nor multiplied by one.
            lists = ast.List | ast.Tuple | ast.BinOp
            return any(isinstance(s, lists) and _is_setting(s) for s in (left, right))
    return False


_LISTED = ast.List | ast.Tuple | ast.Constant
"""What stands in a list of settings: their rows, or numbers."""


def narrowed(
    source: Source, operand: ast.expr, met: ast.AST | None = None
) -> Fix | None:
    """The operand in the dtype that the function around it computes in; None where that is not told.

    `met` is the expression where it meets what has the dtype. What is made by a call gets it there.
    """
    # The outermost function has the inputs; a nested one may be given anything.
    around = [n for n in ast.walk(source.tree) if holds(n, operand)]
    typed = [f for f in around if any(a.annotation for a in f.args.args)]  # type: ignore[attr-defined]
    operand = _begun(source, operand, around)
    told = [*(computed_dtype(source, f) for f in typed)]  # type: ignore[arg-type]
    told.append(other_dtype(source, operand, met))
    told += [computed_dtype(source, f) for f in around]  # type: ignore[arg-type]
    told += [d for f in around for d in _shaped(source, operand, f)]  # type: ignore[arg-type]
    dtype = next(filter(None, told), None)
    edits: tuple[Edit, ...] = ()
    if dtype is None:
        handed = handed_dtype(source, around[0], {}) if around else None  # type: ignore[arg-type]
        if handed is None:
            return None
        dtype, edits = "dtype", tuple(handed[1])
    jnp = of_jax(source, "jnp")
    if named := _named_dtype(source, operand):
        return Fix((*edits, source.edit(named, dtype)))
    match operand:
        case ast.Call() if _makes_an_array(operand):
            line, column = source.end(operand)
            at = line, column - 1
            return Fix((*edits, source.replace(at, at, f", dtype={dtype}")))
    outer = [n for f in around[:1] for n in ast.walk(f) if _is_given(n, operand)]
    for call in (operand, *outer):
        if isinstance(call, ast.Call) and dtype in map(source.text_of, call.args):
            return None  # it is cast, and what is wide is something else
    made, needed = by_numpy_alone(source, operand)
    text = f"{jnp.bound}.asarray({made}, {dtype})"
    return Fix((*edits, source.edit(operand, text)), (jnp, *needed))


def of_chosen_numbers(source: Source) -> Fix | None:
    """`jnp.where(v > 0, 1.0, 0.0)` in the dtype of what it compares, where both are whole numbers."""
    edits = []
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="where"),
                args=[
                    ast.Compare(left=left, comparators=[ast.Constant()]),
                    ast.Constant(value=float(one)),
                    ast.Constant(value=float(other)),
                ],
            ) if one.is_integer() and other.is_integer():
                text = f"{source.text_of(node)}.astype({source.text_of(left)}.dtype)"
                edits.append(source.edit(node, text))
    return Fix(tuple(edits)) if edits else None


def _is_given(call: ast.AST, node: ast.expr) -> bool:
    """Whether an expression is the first argument of a call."""
    return isinstance(call, ast.Call) and call.args[:1] == [node]


def _makes_an_array(node: ast.expr) -> bool:
    """Whether it is a call that makes an array, and does not say of which dtype."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=given):
            made = name in _MADE or (name in ("array", "asarray") and len(args) == 1)
            made = made or len(args) <= _place_of_draws(node.func)
            return made and not any(k.arg == "dtype" for k in given)
    return False


def _place_of_draws(function: ast.expr) -> int:
    """At which place a function that draws floating numbers takes their dtype; -1 of any other."""
    module, _, name = (dotted(function) or "").rpartition(".")
    drawn = module.rpartition(".")[2] in _RANDOM
    return UNTYPED.get(f"jax.random.{name}", -1) if drawn else -1


_RANDOM = ("random", "jr", "jrandom")
"""What `jax.random` is called by."""


def _begun(source: Source, operand: ast.expr, around: Sequence[ast.AST]) -> ast.expr:
    """The call of jax.numpy that makes an operand, or the array it is part of; any other operand itself."""
    inner = of_same_dtype(operand)
    if _is_made_by(source, inner):
        return inner
    if not isinstance(inner, ast.Name):
        return operand
    values = [
        value
        for function in around
        if isinstance(function, ast.FunctionDef)
        for value in only_value(inner.id, function)
    ]
    match values:
        # What NumPy makes is changed in place, and computed in its precision.
        case [made] if _is_made_by(source, made):
            return made
        # Where an input is not given, its place is taken by an array that is made.
        case [ast.IfExp(body=one, orelse=other)]:
            found = [side for side in (one, other) if _is_made_by(source, side)]
            return found[0] if len(found) == 1 else operand
    return operand


def _is_made_by(source: Source, node: ast.expr) -> bool:
    """Whether it is a call of jax.numpy that makes an array, and does not say of which dtype."""
    match node:
        case ast.Call(func=ast.Attribute(value=module)):
            made = _makes_an_array(node) or _named_dtype(source, node) is not None
            of_jnp = dotted(module) == of_jax(source, "jnp").bound
            return made and (of_jnp or _place_of_draws(node.func) >= 0)
    return False


def _named_dtype(source: Source, node: ast.expr) -> ast.expr | None:
    """The `jnp.float32` of a call that makes an array of numbers; None where no dtype or another is named."""
    match node:
        case ast.Call(func=ast.Attribute(attr="array" | "asarray"), args=args):
            given = [*args[1:2], *(k.value for k in node.keywords if k.arg == "dtype")]
            wide = f"{of_jax(source, 'jnp').bound}.float32"
            numbers = isinstance(args[0] if args else None, _NUMBERS)
            if numbers and [dotted(g) for g in given] == [wide]:
                return given[0]
    return None


_NUMBERS = ast.List | ast.ListComp | ast.Tuple
"""What is no array, of which one is made."""


def by_numpy(source: Source, node: ast.AST) -> Fix | None:
    """The property that holds a node as what NumPy computes; None where it is in none, or NumPy cannot.

    A property has hyperparameters alone, and so no dtype to compute in: those that read it cast it.
    """
    around = [n for n in ast.walk(source.tree) if holds(n, node)]
    owner = next((f for f in around if _is_property(f)), None)
    if owner is None:
        return None
    jnp, numpy = of_jax(source, "jnp"), of_jax(source, "np")
    found = [n for n in ast.walk(owner) if isinstance(n, ast.Attribute)]
    calls = [n for n in found if dotted(n.value) == jnp.bound]
    others = any((dotted(n) or "").startswith(("jax.", "lax.")) for n in found)
    if others or not calls or not all(n.attr in ALSO_OF_NUMPY for n in calls):
        return None
    edits = tuple(source.edit(n, f"{numpy.bound}.{n.attr}") for n in calls)
    return Fix(edits, (numpy,))


def _is_property(function: ast.AST) -> bool:
    given = getattr(function, "decorator_list", [])
    return [dotted(d) for d in given] == ["property"]


def _is_exact(argument: ast.arg) -> bool:
    """Whether it is an array of integers or booleans, as its type says."""
    kind = argument.annotation
    return isinstance(kind, ast.Subscript) and dotted(kind.value) in ("Bool", "Int")


def _shaped(
    source: Source, operand: ast.expr, function: ast.FunctionDef
) -> Iterator[str]:
    """That of `x` where an array is made in the shape `x.shape`."""
    given = {a.arg for a in function.args.args if not _is_exact(a)}
    given -= exact_arguments(source.tree, function)
    for node in ast.walk(operand):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="shape") if name in given:
                yield f"{name}.dtype"


_MADE = frozenset(("eye", "full", "identity", "linspace", "ones", "tri", "zeros"))
"""Functions that make arrays of numbers."""


def as_stored(source: Source, node: ast.AST, dtypes: Sequence[str]) -> Fix | None:
    """A state of 16 bits, as it is computed with, in the dtype that it has where the others are wider."""
    if not isinstance(node, ast.Call) or "float32" not in dtypes:
        return None
    states = {
        self_attribute(target)
        for s in ast.walk(source.tree)
        if isinstance(s, ast.Assign)
        and any(isinstance(n, ast.Name) and n.id == "state" for n in ast.walk(s.value))
        for target in s.targets
    }
    for dtype, given in zip(dtypes, node.args, strict=False):
        base = given
        while isinstance(base, ast.Subscript):
            base = base.value
        name = self_attribute(base)
        if dtype in ("float16", "bfloat16") and name and name in states:
            return Fix((source.edit(base, f"self.stored.{name}"),))
    return None


def of_one_dtype(source: Source, node: ast.AST, dtypes: Sequence[str]) -> Fix | None:
    """What meets 16-bit arguments of a call, and is wider, in their dtype: an array of NumPy where it begins.

    `dtypes` are those of the arguments.
    """
    wide = next((i for i, d in enumerate(dtypes) if d in ("float32", "float64")), None)
    operand = wide_operand(node, wide)
    if operand is None:
        return None
    values = [operand]
    for method in ast.walk(source.tree):
        if isinstance(method, ast.FunctionDef) and holds(method, operand):
            names = [n.id for n in ast.walk(operand) if isinstance(n, ast.Name)]
            values += [value for n in names for value in only_value(n, method)]
    derived = [
        part
        for value in values
        for part in ast.walk(value)
        if isinstance(part, ast.Attribute)
        and self_attribute(part) in _derived_by_numpy(source)
    ]
    return narrowed(source, derived[0] if derived else operand)


def _derived_by_numpy(source: Source) -> set[str | None]:
    """The attributes that `setup` computes by NumPy."""
    names = [
        alias.asname or alias.name
        for node in source.tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy"
    ]
    found = {
        self_attribute(node.targets[0])
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node.value))
    }
    return found - {None}


def holds(function: ast.AST, node: ast.AST) -> bool:
    """Whether it is a function that a node is in."""
    return isinstance(function, ast.FunctionDef) and any(
        part is node for part in ast.walk(function)
    )
