"""What the layers of the library make of shapes."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.einstein_sums import summed
from mlax_scaffold.conversion.shapes.size_equations import product
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.source.library import layer_fields
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    is_none,
    literal,
    same,
    self_attribute,
)

_LAST = ("Linear", "Bias", "LayerNorm", "RMSNorm", "LoRALinear", "LoRA", "Maxout")
_SAME = ("Dropout", "Identity", "AlphaDropout", "DropPath", "PReLU", "GaussianNoise")
_CELLS = ("LSTMCell", "GRUCell", "SimpleCell", "MGUCell")


def _is_sum(size: ast.expr | None) -> bool:
    return isinstance(size, ast.BinOp) and isinstance(size.op, ast.Add)


FIELDS = {
    **{"embedding_dim": "features", "num_embeddings": "entries", "p": "rate"},
    **{
        "embedding_size": "features",
        "hidden_size": "features",
        "input_size": "in_features",
    },
    "num_features": "channels",
}
"""What PyTorch and equinox call the arguments of layers that have other names here, where code reads them."""


def arguments(layer: str, call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a declaration by field."""
    fields = layer_fields(layer)
    found = dict(zip([f for f, _ in fields], call.args, strict=False))
    found |= {k.arg: k.value for k in call.keywords if k.arg}
    return {
        **{f: d for f, d in fields if d is not None},
        **found,
    }


class LayerShapes:
    """Results of layers."""

    def __init__(
        self,
        symbols: Symbols,
        framework: str,
        fields: Mapping[str, Field] | None = None,
    ):
        self.symbols = symbols
        self.fields = {} if fields is None else fields
        self.batched = framework != "equinox"
        """Whether images have an axis of the batch, which those of equinox have not."""
        self.single = False
        """Whether maps take the one axis of one example."""
        self.carry_first = framework in ("flax", "nnx")
        """Whether cells are called with the carry before the input."""

    def result(self, layer: str, call: ast.Call, inputs: list[Value]) -> Value:
        """The result of a layer of the library."""
        given = arguments(layer, call)
        x = inputs[0] if inputs else None
        if layer in _CELLS:
            told = inputs[1] if self.carry_first and inputs[1:] else x
            self._carried(given, inputs[0 if self.carry_first else 1 :][:1], told)
            return self._cell(layer, given, told)
        if x is None and inputs and layer in _LAST:
            # Whatever it is given, it maps the last axis.
            x = Array()
        if not isinstance(x, Array):
            return None
        if layer in _LAST or layer in ("MLP", "FeedForward", "GLU", "SwiGLU", "GEGLU"):
            return self._mapped(given, x)
        if layer in _SAME:
            together = literal(given.get("broadcast_axis"))
            for axis in together if isinstance(together, tuple) else ():
                if isinstance(axis, int) and axis < 0:
                    self.symbols.axis(x, axis)
            return x
        if layer == "Embed":
            x.of_integers()
            if x.widened is not None and x.widened[1] >= 0 and not x.axes:
                # `embed(tokens[None])`
                inner, at = x.widened
                rows = inner.like([*inner.axes, given["features"]], "Float")
                return rows.with_axis(at)
            rows = x.like([*x.axes, given["features"]], "Float")
            rows.looked_up = x if not x.axes else None
            return rows
        if layer in ("Conv", "ConvTranspose", "MaxPool", "AvgPool", "Upsample"):
            return self._windows(layer, given, x)
        if layer in ("BatchNorm", "GroupNorm", "InstanceNorm"):
            return self._channels(given, x)
        if layer.startswith("Adaptive"):
            return self._adaptive(given, x)
        if layer == "Flatten":
            return self._flattened(given, x)
        if layer in ("MultiHeadAttention", "TransformerEncoderLayer"):
            last = self.symbols.axis(x, -1)
            self.symbols.equal(last, given["features"]) if last is not None else None
            if x.lead and len(x.axes) == 1:
                self.symbols.axis(x, -2)
            out = given.get("out_features")
            if out is None or isinstance(out, ast.Constant):
                out = given["features"]
            return x.like([*x.axes[:-1], out])
        shape = given.get("kernel_shape")
        if layer == "Einsum" and isinstance(shape, ast.Tuple):
            kernel = Array([*shape.elts], False)
            return summed(self.symbols, literal(given["equation"]), [x, kernel])
        if layer == "LinearGeneral":
            return self._general(given, x)
        return None

    def _mapped(self, given: dict[str, ast.expr], x: Array) -> Value:
        size = given.get("in_features", given.get("features"))
        if x.lead and x.parts and x.along > 0 and _is_sum(size):
            # `Linear(a + b, c)(cat([x, y], 1))`: what is joined is the last axis.
            between = ["_"] * (x.along - 1)
            self.symbols.ranked(x, ("batch", *between, "features"))
        elif x.lead and x.parts and not x.cut and x.along == 0 and self.single:
            # Those of one example.
            self.symbols.ranked(x, ("features",))
        last = self.symbols.axis(x, -1)
        if last is None or size is None:
            return None
        self.symbols.equal(last, size)
        before = given.get("leading_features")
        outer = before.elts if isinstance(before, ast.Tuple) else []
        for place, known in enumerate(reversed(outer), 2):
            axis = self.symbols.axis(x, -place)
            if axis is not None:
                self.symbols.equal(axis, known)
        out = given.get("out_features", size)
        return x.like([*x.axes[:-1], out])

    def attends_to(self, inputs: list[Value], given: dict[str, ast.expr]) -> None:
        """Keys and values of which nothing is known are sequences beside that of the queries."""
        size, lengths = given["features"], []
        for keys, named in zip(
            inputs[1:3], ("context_features", "value_features"), strict=False
        ):
            told = given.get(named)
            size = size if told is None or is_none(told) else told
            if not isinstance(keys, Array) or not isinstance(inputs[0], Array):
                continue
            last = self.symbols.axis(keys, -1)
            if last is not None:
                self.symbols.equal(last, size)
            lengths.append(self.symbols.axis(keys, -2))
        if len(lengths) == 2 and None not in lengths:
            self.symbols.equal(*lengths)

    def attended(self, given: list[Value], heads: ast.expr | None, mask: Value) -> None:
        """A mask of attention of which nothing is known: that of each head, query and key."""
        x, keys = given[0], given[-1]
        if not isinstance(mask, Array) or not mask.lead or mask.axes or heads is None:
            return
        if isinstance(x, Array) and isinstance(keys, Array):
            sizes = [self.symbols.axis(array, -2) for array in (x, keys)]
            if None not in sizes:
                pair = [size for size in sizes if size is not None]
                mask.broadcast_to(x.like([*x.axes[:-2], heads, *pair]))

    def attended_in_pairs(
        self, given: list[Value], mask: Value, padding: Value = None
    ) -> None:
        """Masks of PyTorch's attention: of queries and keys, and of examples and keys."""
        x, keys = given[0], given[-1]
        if not isinstance(x, Array) or not isinstance(keys, Array):
            return
        ends = self.symbols.axis(x, -2), self.symbols.axis(keys, -2)
        first = x.axes[0] if len(x.axes) == 3 and not x.lead else None
        if first is not None and len(keys.axes) == 3 and not keys.lead:
            self.symbols.equal(first, keys.axes[0])
        if isinstance(padding, Array):
            padding.kind = "Bool"
        for array, sizes in ((mask, ends), (padding, (first, ends[1]))):
            if not isinstance(array, Array) or array.axes or not array.lead:
                continue
            if self.symbols.ranked(array, ("batch", "keys")):
                for axis, size in zip(array.axes, sizes, strict=True):
                    self.symbols.equal(axis, size) if size is not None else None

    def masked(self, x: Value, mask: Value) -> None:
        """A mask of an encoder of which nothing is known: that of each query and key."""
        if not isinstance(mask, Array) or not mask.lead or mask.axes:
            return
        size = self.symbols.axis(x, -2) if isinstance(x, Array) else None
        if size is not None and self.symbols.ranked(mask, ("queries", "keys")):
            for axis in mask.axes:
                self.symbols.equal(axis, size)

    def _general(self, given: dict[str, ast.expr], x: Array) -> Value:
        sizes, out = given["in_features"], given["out_features"]
        if not isinstance(sizes, ast.Tuple):
            return None
        count = len(sizes.elts)
        for i, size in enumerate(sizes.elts):
            axis = self.symbols.axis(x, i - count)
            if axis is not None:
                self.symbols.equal(axis, size)
        if not isinstance(out, ast.Tuple):
            return None
        return x.like([*x.axes[:-count], *out.elts])

    def _image(self, x: Array, dims: int, last: bool) -> bool:
        spatial = ["height", "width", "depth"][:dims] if dims > 1 else ["time"]
        axes = [*spatial, "channels"] if last else ["channels", *spatial]
        return self.symbols.ranked(x, (["batch"] if self.batched else []) + axes)

    def _windows(self, layer: str, given: dict[str, ast.expr], x: Array) -> Value:
        dims = literal(given["spatial_dims"])
        last = literal(given["channel_last"]) is True
        if not isinstance(dims, int):
            return self._any_dims(given, x, last)
        pooled = layer in ("MaxPool", "AvgPool", "Upsample")
        if (not pooled or x.lead) and not self._image(x, dims, last):
            return None
        place = len(x.axes) - 1 if last else len(x.axes) - dims - 1
        axes = list(x.axes)
        if not pooled:
            self.symbols.equal(axes[place], given["in_channels"])
            axes[place] = given["out_channels"]
        first = len(axes) - dims - (1 if last else 0)
        for i in range(dims):
            axes[first + i] = self._along(layer, given, i, dims, axes[first + i])
        return x.like(axes)

    def _any_dims(self, given: dict[str, ast.expr], x: Array, last: bool) -> Value:
        """As many axes as a hyperparameter says: the channels alone are known."""
        if not last or "in_channels" not in given:
            return None
        channels = self.symbols.axis(x, -1, "channels")
        if channels is None:
            return None
        self.symbols.equal(channels, given["in_channels"])
        return Array([given["out_channels"]], True, x.kind)

    def _along(
        self, layer: str, given: dict[str, ast.expr], i: int, dims: int, size: ast.expr
    ) -> ast.expr:
        def one(field: str, default: int = 1) -> ast.expr:
            value = given.get(field)
            if value is None or literal(value) is None:
                return ast.Constant(default)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == dims:
                return value.elts[i]
            if isinstance(literal(value), int):
                return value
            known = literal(value)
            if isinstance(known, tuple) and len(known) == dims:
                return ast.Constant(known[i])
            if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Tuple):
                return value.left.elts[0]
            if self._is_several(value, dims):
                return expression("a[i]", a=value, i=ast.Constant(i))
            return value

        if layer == "Upsample":
            return folded(expression("a * b", a=size, b=one("factor")))
        window = one("kernel_size") if "kernel_size" in given else one("window")
        stride, dilation = one("strides"), one("dilation")
        if ast.unparse(window).endswith(
            (
                f".shape[{i + 2}]",
                f".shape[{i - dims}]",
                ".shape[2:]",
                f".shape[-{dims}:]",
            )
        ):
            # A window over the whole image.
            return ast.Constant(1)
        reach = folded(expression("(w - 1) * d + 1", w=window, d=dilation))
        apart = one("input_dilation")
        if literal(apart) != 1:
            size = folded(expression("(a - 1) * d + 1", a=size, d=apart))
        padding = given.get("padding")
        kind = literal(padding)
        if kind == "VALID" and literal(dilation) == 1 and same(window, stride):
            return folded(expression("a // s", a=size, s=stride))
        if layer == "ConvTranspose":
            if kind == "SAME":
                return folded(expression("a * s", a=size, s=stride))
            extra = expression("0") if kind == "VALID" else one("padding", 0)
            out = one("output_padding", 0)
            return folded(
                expression(
                    "(a - 1) * s + r - p * 2 + o",
                    a=size,
                    s=stride,
                    r=reach,
                    p=extra,
                    o=out,
                )
            )
        if kind in ("SAME", "CAUSAL", "SAME_LOWER"):
            if literal(stride) == 1:
                return size
            return folded(expression("-(-a // s)", a=size, s=stride))
        both: ast.expr = ast.Constant(0)
        if kind != "VALID" and padding is not None:
            pad = one("padding", 0)
            both = expression("p * 2", p=pad)
            if isinstance(pad, ast.Tuple) and len(pad.elts) == 2:
                both = expression("a + b", a=pad.elts[0], b=pad.elts[1])
        return folded(
            expression(
                "(a + b - r) // s + 1", a=size, b=folded(both), r=reach, s=stride
            )
        )

    def _is_several(self, size: ast.expr, dims: int) -> bool:
        """Whether a hyperparameter is one size for each of so many axes, as its default or its type is."""
        field = self.fields.get(self_attribute(size) or "")
        if field is None or field.default is None:
            return field is not None and field.word == "Sizes"
        default = literal(field.default)
        return isinstance(default, tuple | list) and len(default) == dims

    def _channels(self, given: dict[str, ast.expr], x: Array) -> Value:
        if literal(given["channel_last"]) is True:
            axis = self.symbols.axis(x, -1, "channels")
            if x.lead and len(x.axes) == 1:
                x.at_least_one()
        else:
            axis = self.symbols.axis(x, 1 if self.batched else 0)
            if axis is None and len(x.axes) == 1:
                axis = x.axes[0]
            # Lines after this one may say how many axes there are.
            x.asked_early |= axis is None
        if axis is not None:
            self.symbols.equal(axis, given["channels"])
        return x

    def _adaptive(self, given: dict[str, ast.expr], x: Array) -> Value:
        dims = literal(given["spatial_dims"])
        last = literal(given["channel_last"]) is True
        if not isinstance(dims, int) or not self._image(x, dims, last):
            return None
        size, axes = given["output_size"], list(x.axes)
        first = len(axes) - dims - (1 if last else 0)
        for i in range(dims):
            several = isinstance(size, ast.Tuple) and len(size.elts) == dims
            axes[first + i] = size.elts[i] if several else size  # type: ignore[attr-defined]
        return Array(axes, False, x.kind)

    def _flattened(self, given: dict[str, ast.expr], x: Array) -> Value:
        kept = literal(given["batch_dims"])
        if x.lead and not x.axes and kept == 1 and self.batched:
            x.at_least_one()
            if x.flat is None:
                x.flat = self.symbols.fresh("features")
            return Array([self.symbols.fresh("batch"), x.flat], False, x.kind)
        if x.lead or not isinstance(kept, int):
            return Array([self.symbols.fresh("features")], True, x.kind)
        return Array([*x.axes[:kept], product(x.axes[kept:])], False, x.kind)

    def _carried(
        self, given: dict[str, ast.expr], states: list[Value], x: Value
    ) -> None:
        """A state that a cell is given has its features last, in each part, and the batch of the input."""
        for state in states:
            parts = state.items if isinstance(state, Several) else [state]
            for part in parts:
                last = self.symbols.axis(part, -1) if isinstance(part, Array) else None
                if last is not None:
                    self.symbols.equal(last, given["features"])
                if isinstance(part, Array) and isinstance(x, Array):
                    self._beside(part, x)

    def _beside(self, state: Array, x: Array) -> None:
        """Take the axes of a state before its features to be those of an input that is known."""
        known = not x.lead and x.axes and state.lead
        if known and self.symbols.ranked(state, ["batch"] * len(x.axes)):
            for mine, axis in zip(state.axes[:-1], x.axes[:-1], strict=True):
                self.symbols.equal(mine, axis)

    def _cell(self, layer: str, given: dict[str, ast.expr], x: Value) -> Value:
        if not isinstance(x, Array):
            return None
        last = self.symbols.axis(x, -1)
        if last is not None:
            self.symbols.equal(last, given["in_features"])
        h = x.like([*x.axes[:-1], given["features"]])
        return Several([h, Several([h, h]) if layer == "LSTMCell" else h])
