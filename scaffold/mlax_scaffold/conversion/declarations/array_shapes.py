"""What functions and methods of arrays make of shapes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlax_scaffold.conversion.declarations.convolved_shapes import ConvolvedShapes
from mlax_scaffold.conversion.shapes.annotations import flattened
from mlax_scaffold.conversion.shapes.array_kinds import told_by_operator
from mlax_scaffold.conversion.shapes.fourier_shapes import FOURIER, fourier
from mlax_scaffold.conversion.shapes.loss_shapes import loss_shape
from mlax_scaffold.conversion.shapes.products import is_matmul
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.static_arrays import MADE, filled
from mlax_scaffold.conversion.shapes.values import (
    Array,
    Each,
    Number,
    Several,
    Shape,
    Value,
)
from mlax_scaffold.conversion.source.trees import expression, folded, literal
from mlax_scaffold.conversion.source.walking import cloned

if TYPE_CHECKING:
    from mlax_scaffold.conversion.declarations.reading import Reading

_REDUCTIONS = (
    *("mean", "sum", "max", "min", "prod", "var"),
    *("std", "l2_norm", "norm", "logsumexp", "amax", "any", "all", "argmax"),
)
ALIKE = frozenset(
    (
        *(
            "softmax",
            "log_softmax",
            "exp",
            "log",
            "abs",
            "square",
            "sqrt",
            "rsqrt",
            "tanh",
        ),
        *(
            "sigmoid",
            "relu",
            "gelu",
            "silu",
            "softplus",
            "elu",
            "leaky_relu",
            "cos",
            "sin",
        ),
        *(
            "astype",
            "array",
            "clip",
            "nan_to_num",
            "stop_gradient",
            "zeros_like",
            "ones_like",
            "mish",
        ),
        *(
            "selu",
            "celu",
            "relu6",
            "hard_silu",
            "hard_sigmoid",
            "hard_tanh",
            "log_sigmoid",
        ),
        *(
            "standardize",
            "l2_normalize",
            "roll",
            "flip",
            "cumsum",
            "tril",
            "triu",
            "sort",
        ),
        *(
            "layer_norm",
            "rms_norm",
            "normalize",
            "erf",
            "sign",
            "negative",
            "asarray",
            "full_like",
        ),
        *(
            "power",
            "log1p",
            "expm1",
            "soft_sign",
            "squareplus",
            "swish",
            "dropout",
            "checkpoint_name",
            "rotary_embedding",
        ),
    )
)
_BINARY = (
    "add",
    "multiply",
    "subtract",
    "divide",
    "maximum",
    "minimum",
    "logical_and",
    "logical_or",
    "where",
    "select",
)


class ArrayShapes(ConvolvedShapes):
    """Results of operations of arrays."""

    def __init__(self, symbols: Symbols, framework: str):
        self.symbols = symbols
        self.vectors = framework in ("equinox", "plain")
        self.examples = framework == "equinox"
        self.batched = framework != "equinox"
        self.single = False
        """Whether no part of the class is mapped over an axis: its arrays are of one example."""
        self.channel_last = framework in ("flax", "nnx", "haiku")
        self.divides = False
        """Whether an unknown size that is divided is written as a multiple."""
        self.images = False
        """Whether the file has layers over images."""
        self.sequences = False
        """Whether weights of the class have one axis between the first one and their features."""
        self.guesses = False
        """Whether the rank of an array may be guessed, as setup needs a size of it."""

    def binary(self, operator: ast.operator, left: Value, right: Value) -> Value:
        """The result of an operator."""
        if isinstance(operator, ast.MatMult):
            return self.matmul(left, right)
        if isinstance(operator, ast.Add):
            joined = [_items(part) for part in (left, right)]
            if joined[0] is not None and joined[1] is not None:
                return Several([*joined[0], *joined[1]])
        told_by_operator(operator, left, right)
        if isinstance(left, Array) and isinstance(right, Array):
            return self.symbols.together(left, right)
        if isinstance(left, Array):
            return left
        if left is None and isinstance(right, Array) and len(right.axes) == 1:
            # A vector is broadcast to what is not known.
            return right if right.lead and literal(right.axes[0]) != 1 else None
        return right if isinstance(right, Array) else None

    def matmul(self, left: Value, right: Value) -> Value:
        """A product over the last axis of one, and the last but one of the other."""
        if not isinstance(left, Array):
            return None
        last = self.symbols.axis(left, -1)
        if not isinstance(right, Array) or last is None:
            return None
        known = 1 if self.single else 0
        if self.vectors and len(right.axes) <= known and right.lead and not left.lead:
            # A matrix times the input of one example.
            self.symbols.ranked(right, ("features",))
        if len(right.axes) == 1 and not right.lead:
            self.symbols.equal(last, right.axes[0])
            return left.like(left.axes[:-1])
        out = self.symbols.axis(right, -1)
        inner = self.symbols.axis(right, -2)
        if out is None or inner is None:
            return None
        self.symbols.equal(last, inner)
        self.symbols.batched(left, right)
        stacked = self.symbols.stacked(left, right, out)
        return stacked or left.like([*left.axes[:-1], out])

    def method(
        self, attr: str, owner: Value, node: ast.Call, given: list[Value]
    ) -> Value:
        """A method of an array."""
        if not isinstance(owner, Array):
            return None
        if attr == "reshape":
            values = given
            if len(given) == 1 and isinstance(given[0], Several):
                values = given[0].items
            return self.reshaped(owner, node.args, values)
        if attr in ("transpose", "swapaxes"):
            return self._named(attr, owner, node, given)
        if attr in ("mean", "sum", "max", "min", "prod", "var", "std", "argmax"):
            return self._reduced(owner, node, 0)
        if attr in ("ravel", "flatten") and not node.args:
            return self.flat(owner)
        if attr in ("dot",):
            return self.matmul(owner, given[0] if given else None)
        if attr in ALIKE:
            self._along(owner, node)
            return owner
        if attr == "squeeze":
            whole = ast.Call(node.func, [node.func, *node.args], node.keywords)
            return self._squeezed(owner, whole)
        return None

    def _named_axis(self, array: Array, node: ast.Call) -> None:
        """An axis after the first one that is named by its number is there."""
        for keyword in node.keywords:
            at = literal(keyword.value) if keyword.arg == "axis" else None
            if isinstance(at, tuple) and at and all(type(one) is int for one in at):
                at = max(at) if min(at) >= 0 and not array.axes else None
            if not isinstance(at, int) or at <= 0 or not array.lead:
                continue
            if array.tail:
                array.has_axis(at)
            elif self.images and at < 4 and array.widened is None and not _sorts(node):
                # A part of a network over images, of which nothing else is known.
                hints = ("batch", "channels", "height", "width")
                self.symbols.ranked(array, hints)
            elif array.widened is None and not array.axes:
                array.prefix.bare = max(array.prefix.bare, at + 1)

    def _chosen(self, node: ast.expr, condition: Value, made: Value) -> None:
        """A condition of which nothing is known is broadcast to what it chooses from."""
        if not isinstance(condition, Array) or not isinstance(made, Array):
            return
        self.symbols.as_asked_inside(condition, made)
        condition.told_by(made)
        if condition.axes and not condition.lead and not made.lead:
            self.symbols.together(made, condition)
        for one in (condition, *condition.behind):
            known = made.axes or one.against is None
            if one.lead and not one.axes and known and one is not made:
                one.broadcast_to(made)

    def function(
        self, text: str, node: ast.Call, given: list[Value], bodies: Reading
    ) -> Value:
        """A function of arrays, by the last part of its name."""
        last = text.rpartition(".")[2].rpartition(":")[2]
        first = given[0] if given else None
        if last in ("len",) and isinstance(first, Shape) and not first.array.lead:
            return Number(ast.Constant(len(first.array.axes)))
        if last == "ravel" and isinstance(first, Array) and len(node.args) == 1:
            return self.flat(first)
        if last == "int" and isinstance(first, Number):
            return Number(expression("int(a)", a=first.value))
        numbers = [g.value for g in given if isinstance(g, Number)]
        if last in ("max", "min") and given and len(numbers) == len(given):
            return Number(ast.Call(node.func, numbers, []))
        if last in MADE and "." in text:
            return filled(first, self.symbols, node)
        if last == "linspace" and len(given) > 2 and isinstance(given[2], Number):
            return Array([given[2].value], False)
        if last in ("concatenate", "concat", "hstack") and isinstance(first, Several):
            return self._concatenated(node, first)
        if last == "associative_scan" and len(given) > 1:
            along = self._axis(node, 3) or 0
            for part in flattened([given[1]]):
                if isinstance(along, int) and along >= 0 and part.lead and part.tail:
                    # Features come after the axis of time.
                    part.has_axis(along + 1)
            return given[1]
        if text == "sum" and isinstance(first, Each):
            return first.first
        if last == "stack" and isinstance(first, Several) and first.items:
            return self._stacked(node, first)
        if last in ("concatenate", "concat", "stack") and isinstance(first, Each):
            return self._joined(node, first, new=last == "stack")
        if last.startswith("segment_") and len(given) > 1:
            count = next(
                (k.value for k in node.keywords if k.arg == "num_segments"), None
            )
            told = bodies.value(cloned(count))[1] if count is not None else None
            told = given[2] if len(given) > 2 else told
            return self.segments(first, given[1], told)
        if last in ("matmul", "dot", "batch_matmul") and len(given) > 1:
            if getattr(node, "flat", False) and isinstance(first, Array):
                self.symbols.ranked(first, ("batch", "features"))
            return self.matmul(first, given[1])
        if last == "dot_general" and len(node.args) > 2 and is_matmul(node.args[2]):
            return self.matmul(first, given[1])
        if last == "einsum":
            return self._einsum(node, given[1:])
        if last in ("vmap", "checkpoint", "jit"):
            return first
        if last in ("eye", "identity") and isinstance(first, Number):
            return Array([first.value, first.value], False)
        if last == "arange":
            return self.counted(node, given)
        if last in _BINARY:
            arrays = [g for g in given if isinstance(g, Array)]
            if last in ("where", "select"):
                arrays = [g for g in given[1:] if isinstance(g, Array)]
            made: Value = arrays[0] if arrays else None
            for other in arrays[1:]:
                made = (
                    self.symbols.together(made, other)
                    if isinstance(made, Array)
                    else other
                )
            if last in ("where", "select"):
                self._chosen(node.args[0], first, made)
            return made
        if "@loss:" in text:
            return loss_shape(self.symbols, last, given)
        if not isinstance(first, Array):
            return None
        self._named_axis(first, node)
        if last in _REDUCTIONS:
            return self._reduced(first, node, 1)
        ends = last == "moveaxis" and [literal(a) for a in node.args[1:]] == [1, -1]
        if ends and not first.lead and len(first.axes) == 2:
            # The last axis stays where it is.
            return first
        if last in ("swapaxes", "transpose", "moveaxis"):
            return self._named(last, first, node, given[1:])
        if last == "reshape":
            values = given[1:]
            if len(values) == 1 and isinstance(values[0], Several):
                values = values[0].items
            return self.reshaped(first, node.args[1:], values)
        if last in FOURIER:
            told = next((k.value for k in node.keywords if k.arg in ("n", "s")), None)
            length = bodies.value(cloned(told))[1] if told is not None else None
            return fourier(self.symbols, last, first, node, length)
        if last in ("split", "array_split"):
            return self._split(first, node, given[1:])
        if last == "unstack":
            return self._unstacked(first, node)
        if last == "expand_dims" and len(node.args) > 1:
            return self._expanded(first, literal(node.args[1]))
        if last == "squeeze":
            return self._squeezed(first, node)
        if last == "conv" and len(given) > 1:
            return self.convolved(node, first, given[1], bodies)
        if last == "conv_general_dilated" and len(given) > 1:
            return self.dilated(node, first, given[1], bodies)
        if last in ("max_pool", "avg_pool", "min_pool"):
            keywords = list(node.keywords)
            call = ast.Call(node.func, [], keywords)
            kind = "AvgPool" if last == "avg_pool" else "MaxPool"
            return bodies.layers.result(kind, call, [first])
        if last == "take_rows" or last == "take":
            second = given[1] if len(given) > 1 else None
            if last == "take_rows" and isinstance(second, Array):
                second.of_integers()
                self.symbols.ranked(first, ("entries", "features"))
                return second.like([*second.axes, *first.axes[1:]], "Float")
            return self._taken(first, second, node)
        if last == "one_hot":
            told = next(
                (k.value for k in node.keywords if k.arg == "num_classes"), None
            )
            named = bodies.value(cloned(told))[1] if told is not None else None
            size = given[1] if len(given) > 1 else named
            if isinstance(size, Number):
                first.kind = "Int"
                return first.like([*first.axes, size.value], "Float")
            return None
        if last in ("dot_product_attention", "argsort", "sort"):
            return first.like(first.axes, "Int") if last == "argsort" else first
        if last == "pad" and len(node.args) > 1:
            return self.padded(first, node.args[1])
        if last in ("broadcast_to", "resize") and len(given) > 1:
            if (rank := getattr(node, "rank", None)) is not None:
                self.symbols.ranked(first, ("batch", *["_"] * (rank - 1)))
            return self.broadcast(first, given[1])
        if last == "repeat" and len(node.args) > 1:
            return self.repeated(first, node, given[1])
        if last in ALIKE:
            self._along(first, node)
        if last == "tile" and len(given) > 1:
            return self._tiled(first, given[1])
        if last == "glu" and first.axes:
            half = folded(expression("a // 2", a=first.axes[-1]))
            return first.like([*first.axes[:-1], half])
        return first if last in ALIKE else None


def _sorts(node: ast.Call) -> bool:
    """Whether a function puts numbers in order, which those of an image hardly are."""
    return ast.unparse(node.func).rpartition(".")[2] in ("argsort", "sort", "top_k")


def _items(value: Value) -> list[Value] | None:
    """The numbers of a tuple, or of a shape that is known."""
    if isinstance(value, Several):
        return value.items
    if isinstance(value, Shape) and not value.array.lead:
        return [Number(a) for a in value.array.axes[value.start : value.stop]]
    return None
