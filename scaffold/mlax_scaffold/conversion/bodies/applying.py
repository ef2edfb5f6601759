"""Calls of declared layers: their arguments as layers here take them, and what comes out."""

from __future__ import annotations

import ast
from itertools import takewhile

from mlax_scaffold.conversion.bodies.one_mode import (
    DROPOUT,
    is_same,
    remark_drop,
    remark_statistics,
    told_mode,
    with_averages,
    without_mode,
)
from mlax_scaffold.conversion.bodies.scanning import Scanning
from mlax_scaffold.conversion.declarations.building import Attribute
from mlax_scaffold.conversion.rows.rows import MisfitError, follows_mode, says_mode
from mlax_scaffold.conversion.rows.tables import CALLS
from mlax_scaffold.conversion.shapes.layer_shapes import arguments
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.shapes.widened_masks import (
    align_widened,
    is_widened,
)
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.first_passes import in_first_pass
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.loop_parts import one_of
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    name,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import INFERENCE, KEYS, TRAINING
from mlax_scaffold.conversion.source.walking import cloned, walk


class Applying(Scanning):
    """Reads them."""

    def _reference(self, attribute: str) -> ast.expr:
        known = self.builder.attributes[attribute]
        if known.kind == "layers" and self.loop is not None:
            return name(one_of(attribute))
        return expression(f"self.{attribute}")

    def _arguments(self, args: list[ast.expr]) -> tuple[list[ast.expr], list[Value]]:
        made = [self.value(a) for a in args]
        return [m for m, _ in made], [v for _, v in made]

    def _beside(self, args: list[ast.expr]) -> tuple[list[ast.expr], list[Value]]:
        """What is combined; an array with new axes is read after what stands beside it."""
        late = [i for i, a in enumerate(args) if is_widened(a)]
        if not late or len(late) == len(args):
            return self._arguments(args)
        order = sorted(range(len(args)), key=lambda i: i in late)
        made: dict[int, tuple[ast.expr, Value]] = {}
        for i in order:
            if i in late:
                named = args[i].value.id  # type: ignore[attr-defined]
                known = [value for _, value in made.values()]
                least = 1 if len(args) > 2 or self.arrays.channel_last else 2
                align_widened(self.symbols, args[i], self.env.get(named), known, least)
            made[i] = self.value(args[i])
        return [made[i][0] for i in sorted(made)], [made[i][1] for i in sorted(made)]

    def _applied(
        self, node: ast.Call, attribute: str, given: list[Value] | None = None
    ) -> tuple[ast.expr, Value]:
        """The call of a layer: what is unknown of its declaration is told by its input."""
        known = self.builder.attributes[attribute]
        assert known.call is not None
        kind, _, layer = known.layer.partition(":")
        interface = self.builder.own.get(layer) if kind == "@own" else None
        if interface is not None:
            node = self._own_arguments(node, interface)
        row = CALLS.get(self.builder.framework, {}).get(layer)
        told = told_mode(node, row) if given is None and kind == "@layer" else None
        if told is not None and (made := self._of_one_mode(node, known, *told)):
            return made
        if given is None:
            node = self._flagless(node)
            node = row.in_places(node) if row is not None else node
            node.args, given = self._arguments(node.args)
        read = {k.arg: self.value(k.value) for k in node.keywords}
        node.keywords = [ast.keyword(k, made) for k, (made, _) in read.items()]
        call = known.call
        if known.first:
            # The input is that of the first pass; what comes out of the last is not told.
            call = cloned(call)
            told = known.first, self.builder.setup
            call.args = [in_first_pass(a, *told) for a in call.args]
            for keyword in call.keywords:
                keyword.value = in_first_pass(keyword.value, *told)
        if interface is not None:
            kept = [i for i in interface.inputs if not interface.dropped.get(i)]
            given = given + [read.get(i, (None, None))[1] for i in kept[len(given) :]]
            signature = self.results.get(layer)
            result = signature.result(self.symbols, call, given) if signature else None
            return node, result
        if kind == "@layer" and layer != "Embed" and given:
            # A name such as `tokens` holds indices elsewhere.
            _of_numbers(given[0])
        if layer == "ConvTranspose" and known.condition is not None and given:
            given = [self._of_any_channels(given[0], call), *given[1:]]
        result = self.layers.result(layer, call, given)
        if layer == "MultiHeadAttention" and given:
            made = arguments(layer, known.call)
            mask = read.get("mask") or read.get("attn_mask") or (None, None)
            last = mask[1]
            if self.builder.framework in ("haiku", "equinox"):
                # Their fourth place is that of the mask.
                given, last = given[:3], last or next(iter(given[3:]), None)
                if self.builder.framework == "equinox":
                    self._with_truths(node, last)
            self.layers.attends_to(given[:3], made)
            if self.builder.framework == "torch":
                # Its fourth place is that of the keys that pad.
                self.layers.attended_in_pairs(given[:3], last, *given[3:4])
                given = given[:3]
            self.layers.attended(given, made.get("heads"), last)
        if layer == "TransformerEncoderLayer" and given:
            named = [v for k, (_, v) in read.items() if k in ("mask", "src_mask")]
            for mask in (*given[1:2], *named):
                self.layers.masked(given[0], mask)
        return self._as_here(node, layer, result)

    def _of_part(self, node: ast.Call) -> tuple[ast.expr, Value] | None:
        """The call of the method of a part that does what the call of the part does; None of another call."""
        func = node.func
        part = self_attribute(func.value) if isinstance(func, ast.Attribute) else None
        known = self.builder.attributes.get(part or "")
        if known is None or known.kind != "layer" or known.call is None:
            return None
        layer = known.layer.removeprefix("@own:")
        signature = self.results.get(layer)
        # A class whose name is taken has another one here than in the file.
        titles = (t for t, i in self.builder.own.items() if i.name == layer)
        known_as = self.builder.origin.classes
        owner = next((known_as[t] for t in titles if t in known_as), None)
        told = _called_for(owner) if owner is not None else None
        if told is None or told[0] != func.attr or signature is None:  # type: ignore[attr-defined]
            return None
        node.args, given = self._arguments(node.args)
        result = signature.result(self.symbols, known.call, given)
        return node, Several([result, *[None] * told[1]]) if told[1] else result

    def _of_any_channels(self, value: Value, call: ast.Call) -> Value:
        """An image that a layer makes larger in one of several ways, each with channels of its own."""
        dims = literal(arguments("ConvTranspose", call).get("spatial_dims"))
        if not isinstance(value, Array) or not isinstance(dims, int):
            return value
        hints = ("batch", "maps", *("height", "width", "depth")[:dims])
        if not self.symbols.ranked(value, hints):
            return value
        axes = list(value.axes)
        axes[1] = self.symbols.fresh("channels")
        return Array(axes, False, value.kind)

    def _counted_sequence(self, call: ast.Call) -> ast.Constant | None:
        """How many layers of several kinds a sequence has whose length is asked for."""
        place = self_attribute(call.args[0]) if len(call.args) == 1 else None
        known = self.builder.attributes.get((place or "").removeprefix("_"))
        if known is None or known.kind != "sequence" or not known.elements:
            return None
        return ast.Constant(len(known.elements))

    def _applied_at(
        self, node: ast.Call, attribute: str, at: object
    ) -> tuple[ast.expr, Value]:
        """The call of one layer of a list; what another than the first one takes is not told."""
        known = self.builder.attributes[attribute]
        same = known.call is None or not names(known.call) & known.first.keys()
        if same or at == 0 or not isinstance(at, int):
            return self._applied(node, attribute)
        seen = cloned(self.env), cloned(self.symbols.known)
        made, _ = self._applied(node, attribute)
        self.env, self.symbols.known = seen
        return made, None

    def _applied_over(self, node: ast.Call, attribute: str) -> tuple[ast.expr, Value]:
        """The call of `jax.vmap` of a layer of the file."""
        known = self.builder.attributes[attribute]
        assert known.call is not None
        signature = self.results.get(known.layer.partition(":")[2])
        node.args, given = self._arguments(node.args)
        if signature is None or node.keywords:
            return node, None
        axes = axes_mapped(node.func)
        if axes is not None and len(axes) != len(given):
            return node, None
        over = zip(signature.inputs, given, axes or (0,) * len(given), strict=False)
        for expected, actual, at in over if self.arrays.examples else ():
            if not isinstance(expected, Array) or not isinstance(actual, Array):
                continue
            if expected.kind == "Int":
                actual.of_integers()
            if at == 0 and actual.lead and expected.axes:
                # Layers of equinox are of one example: there is no other axis.
                self.symbols.ranked(actual, ["batch", *["_"] * len(expected.axes)])
        return node, signature.mapped(self.symbols, known.call, given, axes)

    def _as_here(
        self, node: ast.Call, layer: str, result: Value
    ) -> tuple[ast.expr, Value]:
        row = CALLS.get(self.builder.framework, {}).get(layer)
        if row is None:
            return node, result
        try:
            call = ast.Call(node.func, [node.func, *node.args], node.keywords)
            made = row.fill(row.bind_all(call), self.builder.calculations)
        except MisfitError as error:
            self.builder.notes.refuse(
                node,
                f"the call of {layer} {error.said} has no counterpart",
                "leave the argument out, or write what it computes",
            )
            return node, result
        if isinstance(made, ast.Subscript):
            return made, _part_of(made, result)
        if isinstance(made, ast.Tuple):
            return made, Several([result, None])
        return made, result

    def _of_one_mode(
        self, node: ast.Call, known: Attribute, flag: str, trains: bool
    ) -> tuple[ast.expr, Value] | None:
        """The call of a layer that says its mode; None where it is a call as others are, or is listed."""
        layer = known.layer.partition(":")[2]
        row = CALLS.get(self.builder.framework, {}).get(layer)
        if is_same(layer, known) or (trains and layer == DROPOUT):
            if not is_same(layer, known):
                remark_drop(node, self.builder.notes)
            without_mode(node, row, flag)
            return None
        if trains and layer == "BatchNorm":
            remark_statistics(node, flag, self.builder.notes)
            without_mode(node, row, flag)
            return None
        if trains or layer not in (DROPOUT, "BatchNorm"):
            return None
        node = self._flagless(without_mode(node, row, flag))
        node.args, given = self._arguments(node.args)
        value = given[0] if given else None
        if layer == DROPOUT and len(given) == 1 and not node.keywords:
            return node.args[0], value
        result = self.layers.result(layer, known.call, given) if known.call else None
        made = with_averages(node, known, value) if layer == "BatchNorm" else None
        if made is None:
            self._refuse_mode(node, flag, ast.Constant(not trains))
            return node, result
        return made, result

    def _flagless(self, node: ast.Call) -> ast.Call:
        """A call without flags of training and keys, which layers here are not given."""
        left_out = {*TRAINING, *INFERENCE}
        for keyword in node.keywords:
            self._in_mode(node, str(keyword.arg), keyword.value)
        if self.builder.framework not in ("torch", "flax", "nnx", "haiku"):
            left_out.add("state")
        node.keywords = [
            k
            for k in node.keywords
            if k.arg not in left_out and not (k.arg in KEYS and _is_key(k.value))
        ]
        kept = [
            a
            for a in node.args
            if not ast.unparse(a).endswith("self.training")
            and ast.unparse(a) != "self.key()"
        ]
        if len(kept) < len(node.args):
            # `norm(x, is_training, False)` says after the mode that there is no more.
            while kept and literal(kept[-1]) is False:
                kept.pop()
        node.args = kept
        return node

    def _in_mode(self, node: ast.Call, argument: str, value: ast.expr) -> None:
        """Say so where a call is in one mode, whatever the mode is."""
        if says_mode(argument) and not follows_mode(argument, value):
            self._refuse_mode(node, argument, value)

    def _refuse_mode(self, node: ast.Call, argument: str, value: ast.expr) -> None:
        self.builder.notes.refuse(
            node,
            f"`{argument}={ast.unparse(value)}` of a call has no counterpart",
            "a layer is in the mode of the whole call here: leave the argument out",
        )

    def side(
        self, test: ast.expr, node: ast.expr, equal: type[ast.cmpop]
    ) -> tuple[ast.expr, Value]:
        """A side of a choice; what holds where sizes are the same is not so in general."""
        asks = any(
            isinstance(p, ast.Compare)
            and any(isinstance(op, equal) for op in p.ops)
            and any(isinstance(s, ast.Attribute) and s.attr == "shape" for s in walk(p))
            for p in walk(test)
        )
        if not asks:
            return self.value(node)
        known, demands = dict(self.symbols.known), list(self.symbols.demands)
        made, value = self.value(node)
        self.symbols.known, self.symbols.demands = known, demands
        return made, value

    def _with_truths(self, node: ast.Call, mask: Value) -> None:
        """Have a mask of numbers, which equinox takes for where it is not zero, say so."""
        if not isinstance(mask, Array) or mask.kind != "Float":
            return
        for part in node.args[3:4]:
            if isinstance(part, ast.Name):
                absent = part.id in self.builder.calculations.absent
                text = "None if m is None else m != 0" if absent else "m != 0"
                node.args[3] = expression(text, m=part)

    def _own_arguments(self, node: ast.Call, interface: Interface) -> ast.Call:
        kept = []
        for place, argument in zip(interface.inputs, node.args, strict=False):
            if not interface.dropped.get(place):
                kept.append(argument)
            else:
                self._in_mode(node, place, argument)
        rest = node.args[len(interface.inputs) :]
        node.args = [*kept, *rest]
        for keyword in node.keywords:
            self._in_mode(node, str(keyword.arg), keyword.value)
        node.keywords = [
            k for k in node.keywords if not interface.dropped.get(str(k.arg))
        ]
        named = {str(k.arg): k.value for k in node.keywords}
        if "key" in named or ("x" in named and interface.inputs[0] != "x"):
            # By these names a layer is given what it draws with, and all its inputs together.
            places = [i for i in interface.inputs if not interface.dropped.get(i)]
            places = [*takewhile(named.__contains__, places[len(node.args) :])]
            node.args += [named[place] for place in places]
            node.keywords = [k for k in node.keywords if k.arg not in places]
        return node


def _of_numbers(value: Value) -> None:
    """Let what a layer computes with be numbers, where its name says that it has indices."""
    if isinstance(value, Array) and value.kind == "Int":
        value.kind = "Float"


def _is_key(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or "self.key()" in ast.unparse(node)


def _part_of(made: ast.expr, result: Value) -> Value:
    """What is taken of the result of a call: `f(x, carry)[1][::-1]`."""
    if not isinstance(made, ast.Subscript):
        return result
    inner, index = _part_of(made.value, result), literal(made.slice)
    if isinstance(inner, Several) and isinstance(index, int):
        return inner.items[index]
    if isinstance(inner, Several) and ast.unparse(made.slice) == "::-1":
        return Several(inner.items[::-1])
    return inner


def _called_for(owner: ast.ClassDef) -> tuple[str, int] | None:
    """The method that the call of a class is, and how many results it has beside the one of the call."""
    forward = method_of(owner, "forward")
    match forward.body if forward is not None else []:
        case [ast.Return(value=ast.Call(func=func))]:
            title = self_attribute(func)
            return (title, 0) if title else None
        case [ast.Return(value=ast.Subscript(value=ast.Call(func=func)))]:
            title = self_attribute(func)
            method = method_of(owner, title) if title else None
            match method.body[-1] if method is not None else None:
                case ast.Return(value=ast.Tuple(elts=[_, *others])):
                    return str(title), len(others)
    return None


def axes_mapped(func: ast.expr) -> tuple[int | None, ...] | None:
    """The axes over which `jax.vmap` is told to map, where each input has its first one or none."""
    told = func.keywords if isinstance(func, ast.Call) else []
    axes = literal(told[0].value) if [k.arg for k in told] == ["in_axes"] else None
    known = isinstance(axes, tuple) and all(a is None or a == 0 for a in axes)
    return axes if known and isinstance(axes, tuple) and 0 in axes else None
