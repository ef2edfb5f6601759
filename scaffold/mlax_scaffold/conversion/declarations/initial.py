"""What a weight begins as: an expression of arrays as an initializer and a shape."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from mlax_scaffold.conversion.declarations.initial_functions import (
    initializer_of,
    written_out,
)
from mlax_scaffold.conversion.declarations.joined_initial import joined
from mlax_scaffold.conversion.rows.array_leaves import (
    leaf_of,
    shape_of,
)
from mlax_scaffold.conversion.rows.initializer_calculations import uniform_between
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    ARRAY,
    constant,
    expression,
    literal,
    marked,
    name,
    replaced,
    visited,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_BODY = {
    "zeros": "jnp.zeros(shape, dtype)",
    "ones": "jnp.ones(shape, dtype)",
    "normal": "jax.random.normal(key, shape, dtype)",
    "uniform": "jax.random.uniform(key, shape, dtype)",
    "truncated": "jax.random.truncated_normal(key, -2.0, 2.0, shape, dtype)",
}
_SHAPELESS = frozenset(
    (
        *(
            "exp",
            "log",
            "abs",
            "sqrt",
            "tanh",
            "sign",
            "tril",
            "triu",
            "log1p",
            "expm1",
        ),
        *("float", "clone", "contiguous", "astype", "neg", "negative", "asarray"),
        *("array", "tensor", "clip", "clamp", "square"),
    )
)


@dataclass(frozen=True)
class Initial:
    """An initializer and a shape."""

    initializer: ast.expr
    shape: ast.expr
    dtype: ast.expr | None = None
    """The dtype, where it is not a floating one."""


def initial(translator: Translator, node: ast.expr) -> Initial | None:
    """What an array begins as; None where its shape is not to be told."""
    made = _scaled(translator, node) or _plain(translator, node)
    made = made or _computed(translator, node) or _of_function(translator, node)
    made = made or _rotation(translator, node)
    made = made or _joined(translator, node)
    if made is None:
        return None
    dtype = _dtype(translator, node)
    begun = made.initializer
    if dtype is not None:
        whole = not is_complex(dtype)
        begun = of_whole_numbers(begun) if whole else of_complex_numbers(begun)
    return replace(made, initializer=begun, dtype=dtype)


def of_whole_numbers(initializer: ast.expr) -> ast.expr:
    """An initializer of integers: `constant` is one of floating numbers alone."""
    match initializer:
        case ast.Call(func=ast.Name(id="@word:constant"), args=[value]):
            words = {0: "word_zeros", 1: "word_ones"}
            number = literal(value)
            if type(number) is int and number in words:
                return marked(words[number])
            return marked(
                "lambda key, shape, dtype: jnp.full(shape, v, dtype)", v=value
            )
    return initializer


def is_complex(dtype: ast.expr | None) -> bool:
    """Whether a dtype is one of complex numbers."""
    return dtype is not None and "complex" in ast.unparse(dtype)


def of_complex_numbers(initializer: ast.expr) -> ast.expr:
    """An initializer of complex numbers: `uniform` draws real ones."""
    match initializer:
        case ast.Call(func=ast.Name(id="@word:uniform"), args=[scale]):
            square = f"lambda key, shape, dtype: scale * {_SQUARE}"
            return marked(square, scale=scale)
    return visited(_Squares(), cloned(initializer))


_SQUARE = "lax.complex(*jax.random.uniform(key, (2, *shape), jnp.finfo(dtype).dtype))"
"""Both parts of a complex number are drawn alike."""
_COMPLEX = ("cfloat", "cdouble", "chalf", "complex32", "complex64", "complex128")


class _Squares(NodeTransformer):
    """Draws complex numbers where a function draws real ones from a uniform distribution."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        drawn = ast.unparse(node.func).rpartition(":")[2] == "jax.random.uniform"
        if drawn and ast.unparse(node).endswith("(key, shape, dtype)"):
            return marked(_SQUARE)
        return node


def _dtype(translator: Translator, node: ast.expr) -> ast.expr | None:
    for part in walk(node):
        if isinstance(part, ast.Attribute) and part.attr.startswith(
            ("int", "uint", "bool")
        ):
            return translator.expression(part)
        if isinstance(part, ast.Attribute) and part.attr in _COMPLEX:
            return marked("jnp.complex64")
        if isinstance(part, ast.Name) and part.id in ("int", "bool"):
            return part
        if isinstance(part, ast.Attribute) and ast.unparse(part) == "torch.long":
            return marked("jnp.int32")
    match node:
        case ast.Call(
            func=ast.Attribute(attr="array" | "asarray" | "tensor"), args=[value]
        ) if type(literal(value)) in (int, bool) and not node.keywords:
            whole = type(literal(value)) is int
            return marked("jnp.int32") if whole else ast.Name("bool", ast.Load())
    return None


def _plain(translator: Translator, node: ast.expr) -> Initial | None:
    found = leaf_of(translator, node)
    if found is None:
        return _called(translator, node)
    kind, shape, extra = found
    words = {
        "zeros": "zeros",
        "ones": "ones",
        "normal": "normal(1.0)",
        "uniform": "uniform(1.0)",
        "truncated": "truncated_normal(1.0)",
    }
    if kind == "value" and extra is not None:
        return Initial(marked("word_constant(v)", v=extra), shape)
    if kind == "between":
        assert isinstance(extra, ast.Tuple)
        return Initial(uniform_between(*extra.elts), shape)
    return Initial(marked("word_" + words[kind]), shape) if kind in words else None


def _called(translator: Translator, node: ast.expr) -> Initial | None:
    """`initializer(key, shape, dtype)`."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    function = translator.expression(node.func)
    head = function.func if isinstance(function, ast.Call) else function
    text = ast.unparse(head)
    known = text.startswith("@word:") or text.endswith("_initializer")
    if isinstance(head, ast.Attribute) and head.attr.endswith(
        ("_init", "_initializer")
    ):
        known = True
    if isinstance(function, ast.Lambda):
        known = True
    if not known:
        return None
    return Initial(function, shape_of(translator, [node.args[1]]))


def _of_function(translator: Translator, node: ast.expr) -> Initial | None:
    """What a function of the file makes with a key."""
    whole = written_out(translator, node)
    made = initial(translator, whole) if whole is not None else None
    if made is not None:
        return made
    found = initializer_of(translator, node)
    if found is None:
        return None
    return Initial(found[0], shape_of(translator, [found[1]]))


def _joined(translator: Translator, node: ast.expr) -> Initial | None:
    """Several arrays, one after another."""

    def begun(part: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        made = initial(translator, part)
        plain = made is not None and made.dtype is None
        return (made.initializer, made.shape) if made is not None and plain else None

    found = joined(translator, node, begun)
    return Initial(*found) if found is not None else None


def _scaled(translator: Translator, node: ast.expr) -> Initial | None:
    """A multiple of an array: the initializer of that deviation."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    left = initial(translator, node.left)
    right = initial(translator, node.right) if isinstance(node.op, ast.Mult) else None
    if (left is None) == (right is None):
        return None
    made, scale = (left, node.right) if left is not None else (right, node.left)
    assert made is not None
    if not isinstance(made.initializer, ast.Call) or not made.initializer.args:
        text = ast.unparse(made.initializer)
        if text == "@word:ones":
            factor = translator.expression(scale)
            if isinstance(node.op, ast.Div):
                factor = expression("1 / s", s=factor)
            return Initial(marked("word_constant(v)", v=factor), made.shape)
        return made if text == "@word:zeros" else None
    func = ast.unparse(made.initializer.func)
    known = ("@word:normal", "@word:uniform", "@word:truncated_normal")
    if func not in known or len(made.initializer.args) != 1:
        return None
    factor = translator.expression(scale)
    old = made.initializer.args[0]
    text = "o / s" if isinstance(node.op, ast.Div) else "o * s"
    one = literal(old) == 1.0
    new = (
        factor
        if one and isinstance(node.op, ast.Mult)
        else expression(text, o=old, s=factor)
    )
    call = ast.Call(made.initializer.func, [new], [])
    return Initial(call, made.shape)


def _computed(translator: Translator, node: ast.expr) -> Initial | None:
    """Any expression of one array of known shape, as a function of key, shape and dtype."""
    leaves = [
        (part, found)
        for part in walk(node)
        if isinstance(part, ast.expr)
        and (found := leaf_of(translator, part)) is not None
    ]
    outer = [
        (part, found)
        for part, found in leaves
        if not any(part is not o and part in walk(o) for o, _ in leaves)
    ]
    if len(outer) != 1:
        return None
    part, (kind, shape, extra) = outer[0]
    if not _keeps_shape(node, part):
        return None
    if kind in _BODY:
        body = marked(_BODY[kind])
    elif kind == "value":
        body = marked("jnp.full(shape, v, dtype)", v=extra or constant(0.0))
    elif kind == "eye":
        body = marked("jnp.eye(*shape, dtype=dtype)")
    elif kind in ("arange", "list"):
        body = translator.expression(part)
        if not isinstance(body, ast.Call):
            return None
        body = ast.Call(body.func, body.args, [ast.keyword("dtype", name("dtype"))])
        if kind == "list":
            assert isinstance(part, ast.Call)
            body = marked("jnp.asarray(v, dtype)", v=part.args[0])
    else:
        return None
    around = _around(node, part)
    text = translator.expression(around)
    made = replaced(text, {ARRAY: body})
    parameters = ast.arguments(
        [], [ast.arg("key"), ast.arg("shape"), ast.arg("dtype")], None, [], [], None, []
    )
    return Initial(ast.Lambda(parameters, made), shape)


def _rotation(translator: Translator, node: ast.expr) -> Initial | None:
    """`torch.linalg.qr(torch.randn(n, n))[0]`: an orthogonal matrix; axes of one place may come after it."""
    added: list[object] = []
    while isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "unsqueeze":
        assert isinstance(node.func, ast.Attribute)
        added.insert(0, literal(node.args[0]) if node.args else None)
        node = node.func.value
    if any(at not in (-1, *range(2, 3 + i)) for i, at in enumerate(added)):
        return None
    match node:
        case ast.Subscript(value=ast.Call(func=func, args=[drawn]), slice=place):
            found = leaf_of(translator, drawn)
        case _:
            return None
    names = ("torch.linalg.qr", "torch.qr")
    if translator.origin.qualified(func) not in names or literal(place) != 0:
        return None
    if found is None or found[0] != "normal" or not isinstance(found[1], ast.Tuple):
        return None
    rows, columns = (
        (ast.unparse(e) for e in found[1].elts) if len(found[1].elts) == 2 else "ab"
    )
    if rows != columns:
        return None
    if not added:
        return Initial(marked("word_orthogonal(1.0)"), found[1])
    text = "jnp.linalg.qr(jax.random.normal(key, shape[:2]))[0].reshape(shape).astype(dtype)"
    given = [ast.arg("key"), ast.arg("shape"), ast.arg("dtype")]
    parameters = ast.arguments([], given, None, [], [], None, [])
    shape = ast.Tuple([*found[1].elts, *[constant(1)] * len(added)], ast.Load())
    return Initial(ast.Lambda(parameters, marked(text)), shape)


def _around(node: ast.expr, part: ast.expr) -> ast.expr:
    """A copy of an expression with a name in the place of a part of it."""
    place = next(i for i, n in enumerate(walk(node)) if n is part)
    made = cloned(node)
    chosen = list(walk(made))[place]

    class Swap(NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return name(ARRAY) if node is chosen else self.generic_visit(node)

    return visited(Swap(), made)


def _keeps_shape(node: ast.expr, part: ast.expr) -> bool:
    """Whether an expression has the shape of the array in it, as far as can be told."""
    if node is part:
        return True
    if isinstance(node, ast.UnaryOp):
        return _keeps_shape(node.operand, part)
    if isinstance(node, ast.BinOp):
        sides = [s for s in (node.left, node.right) if part in walk(s)]
        return len(sides) == 1 and _keeps_shape(sides[0], part)
    if isinstance(node, ast.Call):
        match node.func:
            case ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=array, attr="at"))
            ):
                # `zeros.at[1:].set(1.0)`
                return part in walk(array) and _keeps_shape(array, part)
        last = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else getattr(node.func, "id", "")
        )
        inside = [a for a in node.args if part in walk(a)]
        if isinstance(node.func, ast.Attribute) and part in walk(node.func.value):
            inside = [node.func.value]
        return last in _SHAPELESS and len(inside) == 1 and _keeps_shape(inside[0], part)
    return False
