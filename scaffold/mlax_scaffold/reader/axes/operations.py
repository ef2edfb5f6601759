"""What operations on an array say of its axes and its kind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from mlax_scaffold.reader.axes.aliases import Alias
from mlax_scaffold.reader.axes.calls import base_of
from mlax_scaffold.reader.axes.index_parts import expanded, is_new, is_open, is_whole
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import dotted

_BY_ELEMENT = frozenset(
    (
        *("abs", "ceil", "clip", "cos", "elu", "erf", "exp", "expm1", "floor", "gelu"),
        *("leaky_relu", "log", "log1p", "log_sigmoid", "log_softmax", "maximum"),
        *("minimum", "mish", "negative", "ones_like", "relu", "relu6", "rsqrt", "selu"),
        *("sigmoid", "sign", "silu", "sin", "softmax", "softplus", "sqrt", "square"),
        *("swish", "tanh", "zeros_like"),
    )
)
"""Functions whose result has the shape of their first argument."""
_INTEGERS = {"add_at": 1, "one_hot": 0, "take": 1, "segment_sum": 1, "take_rows": 1}
"""Functions by the position of an argument that is an array of integers."""
_ALL_AXES = ("transpose", "permute_dims")
_JOINS = ("concatenate", "concat")

Find = Callable[[ast.expr], Alias | None]


def by_element(function: ast.expr) -> bool:
    """Whether a function keeps the shape of its first argument."""
    return (dotted(function) or "").rpartition(".")[2] in _BY_ELEMENT


def shape_of(
    node: ast.expr, shapes: Mapping[str, tuple[str, ...]], scope: Scope
) -> tuple[str, ...] | None:
    """The shape of what is computed of weights, where it is plain; `shapes` are those of locals."""
    match node:
        case ast.Name(id=name):
            return shapes.get(name)
        case ast.Attribute(value=inner, attr="T"):
            found = shape_of(inner, shapes, scope)
            return found and found[::-1]
        case ast.BinOp(op=ast.MatMult()):
            return None
        case ast.BinOp(left=left, right=right):
            return shape_of(left, shapes, scope) or shape_of(right, shapes, scope)
        case ast.Call(func=ast.Attribute(value=inner, attr="astype")):
            return shape_of(inner, shapes, scope)
        case ast.Call(func=function, args=[first, *_]):
            return shape_of(first, shapes, scope) if by_element(function) else None
    return scope.weight(node)


def lengthened(call: ast.Call, known: Known) -> bool:
    """Whether it is `jnp.concatenate([x, ...], axis=-1)`, with more of an array's last axis."""
    given = [k.value for k in call.keywords if k.arg == "axis"] + call.args[1:2]
    last = [-1] if known.exact is None else [-1, known.exact - 1]
    named = (dotted(call.func) or "").rpartition(".")[2] == "concatenate"
    return named and [integer(axis) in last for axis in given] == [True]


def joined(node: ast.AST) -> tuple[list[ast.expr], int | None] | None:
    """What `jnp.concatenate([x, y], axis=1)` joins, and along which axis; None for anything else.

    The axis is None where it is not written out.
    """
    match node:
        case ast.Call(
            func=function,
            args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *more],
            keywords=keywords,
        ) if (dotted(function) or "").rpartition(".")[2] in _JOINS:
            axes = [k.value for k in keywords if k.arg == "axis"] + more
            return parts, integer(axes[0]) if axes else 0
    return None


def unpacked(known: Known, names: list[ast.expr], scope: Scope) -> None:
    """`a, b, c = x.shape`."""
    stars = [i for i, n in enumerate(names) if isinstance(n, ast.Starred)]
    if not stars:
        known.counts(len(names))
    for i, node in enumerate(names):
        if isinstance(node, ast.Starred):
            continue
        if isinstance(node, ast.Name) and node.id != "_":
            back = bool(stars) and i > stars[0]
            known.name_axis(i - len(names) if back else i, node.id)
        else:
            known.at(i if not stars or i < stars[0] else i - len(names))


def of_shape(known: Known, index: ast.expr, whole: bool) -> None:
    """`x.shape[1]`, `x.shape[:-1]`."""
    number = integer(index)
    if number is not None and number < 0:
        if whole or number != -1:
            known.from_end(number)
    elif number is not None:
        known.at(number, front=True)


def indexed(known: Known, index: ast.expr, extra: int) -> None:
    """`x[:, 0]`, `x[:, None]`, `x[..., :2]`; `extra` axes are no axes of the input."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    taken = [p for p in parts if not is_new(p)]
    count = len(taken)
    if count == 1 < len(parts) and ast.unparse(taken[0]) == "...":
        known.stretched = True
    elif any(map(is_open, parts)):
        # Before those that are taken behind `...`, there are any number, or none.
        note = known.from_end if is_open(parts[0]) else known.at
        note(-max(count - 1 - extra, 1))
    elif len(parts) > 1 and all(map(is_whole, taken)):
        known.has(count - extra)
    elif len(parts) > 1:
        known.at(count - 1, front=True)


def are_matrices(left: ast.expr, right: ast.expr, find: Find) -> None:
    """`q @ k.swapaxes(-1, -2)`: rows of one input go with those of the other, which has as many axes."""
    match right:
        case ast.Attribute(value=inner, attr="T" | "mT"):
            pass
        case ast.Call(func=ast.Attribute(value=inner, attr="swapaxes"), args=[_, _]):
            pass
        case _:
            return
    both = find(left), find(inner)
    if both[0] and both[1] and both[0].known is not both[1].known:
        for alias in both:
            if alias and not alias.extra:
                alias.known.from_end(-2)


def called(
    node: ast.Call, find: Find, scope: Scope
) -> Iterator[tuple[Alias, Callable[[Known], None]]]:
    """What a call of jax, or of a method of an array, says of its arguments."""
    name = (dotted(node.func) or "").rpartition(".")[2]
    arguments = list(node.args)
    if isinstance(node.func, ast.Attribute) and (own := find(node.func.value)):
        name, arguments = node.func.attr, [node.func.value, *node.args]
        alias = own
    else:
        alias = find(arguments[0]) if arguments else None
    if name == "take_along_axis" and len(arguments) > 1:
        if given := find(base_of(arguments[1])):
            yield given, _integers
        return
    position = _INTEGERS.get(name)
    if position is not None and position < len(arguments):
        given = find(arguments[position])
        if given is not None:
            yield given, _integers
            if name == "segment_sum":
                yield given, partial(_has, count=1)
        return
    if name == "concatenate" and arguments:
        axes = [k.value for k in node.keywords if k.arg == "axis"] + arguments[1:2]
        # An axis from the front says nothing of those behind it.
        ends = [n for n in map(integer, axes) if (n or 0) < 0]
        for part in getattr(arguments[0], "elts", []) if ends else []:
            joined = find(part) if isinstance(part, ast.Name) else None
            if joined and joined.known.name == part.id:
                yield joined, partial(_reaches, numbers=ends)
        return
    chooses = _stretched(arguments[0], find) if name == "where" and arguments else None
    if chooses is not None and alias is None:
        yield chooses, _booleans
    if name == "where" and alias is not None and len(arguments) == 3:
        yield alias, _booleans
        other = find(arguments[1]) or find(arguments[2])
        if other is not None:
            more = other.extra - alias.extra
            yield alias, lambda known: known.follows(other.known, -more)
        return
    if alias is None:
        return
    rest = arguments[1:]
    if name in _ALL_AXES:
        order = rest[0].elts if rest and isinstance(rest[0], ast.Tuple) else rest
        if order and all(integer(part) is not None for part in order):
            yield alias, lambda known: known.counts(len(order))
    elif name in ("swapaxes", "moveaxis"):
        numbers = [integer(part) for part in rest[:2]]
        # The first two change places where time is to stand first: neither is the last one.
        yield alias, partial(_reaches, numbers=numbers, front=set(numbers) == {0, 1})
    elif name == "broadcast_to" and rest and isinstance(rest[0], ast.Tuple):
        yield alias, partial(_spread, shape=rest[0].elts, scope=scope)
    elif name == "reshape":
        shape = (
            rest[0].elts if len(rest) == 1 and isinstance(rest[0], ast.Tuple) else rest
        )
        flat = [integer(shape[0])] if shape else []
        if len(shape) == 2 and flat == [-1] and alias.whole:
            yield alias, partial(_last, size=scope.size(shape[1]))
    else:
        given = [k.value for k in node.keywords if k.arg in ("axis", "axes")]
        numbers = [
            integer(part)
            for value in given
            for part in (value.elts if isinstance(value, ast.Tuple) else [value])
        ]
        own = [_own_axis(number, alias.extra) for number in numbers]
        if own:
            yield alias, partial(_reaches, numbers=own)


def _own_axis(number: int | None, extra: int) -> int | None:
    """An axis, counted from the end of what has so many axes more, as one of the input itself."""
    if number is None or number >= 0:
        return number
    return number + max(extra, 0) if number + max(extra, 0) < 0 else None


def _stretched(node: ast.expr, find: Find) -> Alias | None:
    """The input in `mask[:, None, :]`, and in `~mask`."""
    match node:
        case ast.Subscript(value=inner) if expanded(node):
            return find(inner)
    return None


def _spread(known: Known, shape: list[ast.expr], scope: Scope) -> None:
    """`broadcast_to(x, (n, features))`, where nothing of the shape is that of the input."""
    stars = any(isinstance(part, ast.Starred) for part in shape)
    if stars or known.name in {
        n.id for p in shape for n in ast.walk(p) if isinstance(n, ast.Name)
    }:
        return
    known.has(len(shape) - 1)
    for axis, size in enumerate(shape[1:]):
        known.call(axis, scope.size(size))


def are_logical(nodes: Iterable[ast.expr], find: Find) -> None:
    """`~mask`, `a & b[:, None]`: what is true or false."""
    for node in nodes:
        alias = find(node) if isinstance(node, ast.Name) else _stretched(node, find)
        if alias is not None and alias.known.kind == "Float":
            alias.known.kind = "Bool"


def cast(call: ast.Call, find: Find) -> None:
    """`mask.astype(x.dtype)`: what is called a mask, and made floating, is true or false."""
    match call.func:
        case ast.Attribute(value=ast.Name() as one, attr="astype"):
            alias = find(one)
            if alias and alias.known.name.endswith(("mask", "masks")):
                alias.known.kind = "Bool"


def are_compared(left: ast.expr, right: ast.expr, find: Find) -> None:
    """`labels[:, None] == labels[None]`, `kind == 2`: numbers that are the same, or not."""
    for one, other in ((left, right), (right, left)):
        alias = find(one) if isinstance(one, ast.Name) else _stretched(one, find)
        if alias is None:
            continue
        beside = integer(other) is not None or _stretched(other, find)
        if beside or (isinstance(other, ast.Name) and find(other)):
            alias.known.compared = True


def are_counted(
    left: ast.expr,
    right: ast.expr,
    find: Find,
    are_places: Callable[[ast.expr], bool],
) -> None:
    """`jnp.arange(n)[None] < lengths[:, None]`: what is compared with places is a number of them."""
    for one, other in ((left, right), (right, left)):
        alias = find(base_of(one))
        if alias and are_places(other):
            alias.known.kind = "Int"


def einsum(
    node: ast.Call, find: Find, shape_of: Callable[[ast.expr], tuple[str, ...] | None]
) -> None:
    """Einstein sums: the letters of an input, with the sizes of the weights that share them."""
    if (dotted(node.func) or "").rpartition(".")[2] != "einsum" or not node.args:
        return
    match node.args[0]:
        case ast.Constant(value=str(text)):
            pass
        case _:
            return
    terms = [term.strip() for term in text.partition("->")[0].split(",")]
    given = list(zip(terms, node.args[1:], strict=False))
    sizes: dict[str, str] = {}
    for term, operand in given:
        shape = shape_of(operand)
        if shape and "..." not in term and len(term) == len(shape):
            sizes |= {
                letter: size for letter, size in zip(term, shape, strict=True) if size
            }
    for term, operand in given:
        alias = find(operand)
        if alias is None:
            continue
        front, dots, back = term.partition("...")
        if not dots:
            alias.known.counts(len(front))
        for i, letter in enumerate(front):
            if alias.whole or i + 1 < len(front) or dots:
                alias.known.call(i, sizes.get(letter, ""))
        for i, letter in enumerate(reversed(back)):
            if alias.whole or i:
                alias.known.call(-1 - i, sizes.get(letter, ""))


def integer(node: ast.expr | None) -> int | None:
    """The value of an integer that is written out."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _integers(known: Known) -> None:
    known.kind = "Int"


def _booleans(known: Known) -> None:
    known.kind = "Bool"


def _has(known: Known, count: int) -> None:
    known.has(count)


def _reaches(known: Known, numbers: list[int | None], front: bool = False) -> None:
    for number in numbers:
        if number is not None and number < 0:
            known.from_end(number)
        elif number is not None:
            known.at(number, front=front)


def _last(known: Known, size: str) -> None:
    if size:
        known.call(-1, size)
