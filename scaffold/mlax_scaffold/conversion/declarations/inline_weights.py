"""Weights and states that flax and haiku declare where they are used."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlax_scaffold.conversion.declarations.initial import initial
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.values import Array, Several, Shape, Value
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    literal,
    name,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned, walk

if TYPE_CHECKING:
    from mlax_scaffold.conversion.declarations.reading import Reading

_ZEROS = ("jnp.zeros", "@word:zeros", "@module:jnp.zeros")


class Weights:
    """Declares them in setup."""

    def __init__(self, bodies: Reading):
        self.bodies = bodies

    def called(self, node: ast.Call, attribute: str) -> tuple[ast.expr, Value] | None:
        """What stands in the place of such a call; None for any other."""
        func = node.func.id if isinstance(node.func, ast.Name) else ""
        keywords = {k.arg: k.value for k in node.keywords}
        flax = self.bodies.builder.framework == "flax"
        if attribute == "param" and flax and node.args:
            rest = node.args[2:] or [ast.Tuple([], ast.Load())]
            return self._declared(node.args[0], node.args[1], rest[0])
        if attribute == "variable" and flax and len(node.args) > 2:
            return self._state(node)
        if func == "@call:get_parameter":
            shape = keywords.get("shape") or node.args[1]
            given = keywords.get("init") or (
                node.args[3] if len(node.args) > 3 else None
            )
            return self._declared(node.args[0], given or name("@word:zeros"), shape)
        if func == "@call:get_state":
            shape = keywords.get("shape") or (
                node.args[1] if len(node.args) > 1 else None
            )
            given = keywords.get("init") or (
                node.args[3] if len(node.args) > 3 else None
            )
            title = str(literal(node.args[0]))
            if shape is None or title in self.bodies.builder.attributes:
                return expression(f"self.{title}"), None
            dtype = keywords.get("dtype") or (
                node.args[2] if len(node.args) > 2 else None
            )
            whole = dtype is not None and "int" in ast.unparse(dtype)
            return self._declared(
                node.args[0],
                given or name("@word:zeros"),
                shape,
                state=True,
                dtype=dtype if whole else None,
            )
        return None

    def _declared(
        self,
        title: ast.expr,
        initializer: ast.expr,
        shape: ast.expr,
        *,
        state: bool = False,
        dtype: ast.expr | None = None,
    ) -> tuple[ast.expr, Value]:
        builder = self.bodies.builder
        wanted = str(literal(title)) if isinstance(title, ast.Constant) else "weight"
        if wanted in builder.fields:
            wanted = f"{wanted}_weight"
        made = self._rest_of(shape) or self.bodies.static(shape)
        if not isinstance(made, ast.Tuple):
            _, value = self.bodies.value(made)
            if isinstance(literal(made), int) or not isinstance(value, Several | Array):
                text = ast.unparse(made)
                if not text.endswith(("shape", "]")) and isinstance(literal(made), int):
                    made = ast.Tuple([made], ast.Load())
        if isinstance(made, ast.List):
            made = ast.Tuple(made.elts, ast.Load())
        place = wanted
        if place not in builder.attributes:
            place = builder.free(wanted)
            condition = self.bodies.standing()
            builder.declare_weight(
                place,
                typed(self.bodies.static(initializer)),
                made,
                state=state,
                dtype=dtype,
                condition=condition,
            )
        kind = Array(list(made.elts), False) if isinstance(made, ast.Tuple) else None
        return expression(f"self.{place}"), kind

    def _rest_of(self, shape: ast.expr) -> ast.expr | None:
        """`x.shape[1:]` of an input of which no axis is known, as a hyperparameter."""
        _, value = self.bodies.value(cloned(shape))
        if not isinstance(value, Shape) or (value.start, value.stop) != (1, None):
            return None
        array, builder = value.array, self.bodies.builder
        if not array.lead or array.axes:
            return None
        if not array.whole:
            array.whole = builder.free("shape")
            said = "shape of the input without its batch"
            builder.fields[array.whole] = Field(array.whole, "Shape", None, said)
        return expression(f"self.{array.whole}")

    def _state(self, node: ast.Call) -> tuple[ast.expr, Value]:
        """`self.variable(collection, name, function, *arguments)`."""
        made, rest = node.args[2], node.args[3:]
        if isinstance(made, ast.Lambda) and len(made.args.args) == len(rest):
            bound = {a.arg: v for a, v in zip(made.args.args, rest, strict=True)}
            made = ast.Lambda(
                ast.arguments([], [], None, [], [], None, []),
                replaced(made.body, bound),
            )
            rest = []
        if (
            isinstance(made, ast.Lambda)
            and not made.args.args
            and isinstance(made.body, ast.Call)
        ):
            rest, made = made.body.args, made.body.func
        text = ast.unparse(made)
        word = text.rpartition(".")[2].rpartition(":")[2]
        if word in ("zeros", "ones") and rest:
            return self._declared(
                node.args[1], name(f"@word:{word}"), rest[0], state=True
            )
        if word == "full" and len(rest) > 1:
            value = expression("c(v)", c=name("@word:constant"), v=rest[1])
            return self._declared(node.args[1], value, rest[0], state=True)
        scalar = bool(rest) and isinstance(literal(rest[0]), int | float)
        if word in ("array", "asarray", "int32", "float32") and scalar:
            value = expression("c(v)", c=name("@word:constant"), v=rest[0])
            return self._declared(node.args[1], value, constant(()), state=True)
        begun = initial(self.bodies.builder.translator, begun_variable(node))
        if begun is not None:
            return self._declared(
                node.args[1],
                begun.initializer,
                begun.shape,
                state=True,
                dtype=begun.dtype,
            )
        self.bodies.builder.notes.refuse(
            node,
            f"`{ast.unparse(node)}` begins as something whose shape is not to be told",
            "write `self.name = state(initializer, shape)` in setup",
        )
        return node, None


def typed(initializer: ast.expr) -> ast.expr:
    """An initializer that takes a key, a shape and a dtype."""
    text = ast.unparse(initializer).removeprefix("@module:")
    plain = {"jnp.zeros": "zeros", "jnp.ones": "ones"}.get(text)
    if plain is not None:
        return name(f"@word:{plain}")
    if isinstance(initializer, ast.Lambda) and len(initializer.args.args) == 2:
        initializer.args.args.append(ast.arg("dtype"))
        shape = initializer.args.args[1].arg
        for part in walk(initializer.body):
            if isinstance(part, ast.Call) and len(part.args) < 3:
                last = part.args[-1] if part.args else None
                if isinstance(last, ast.Name) and last.id == shape:
                    part.args.append(name("dtype"))
    elif isinstance(initializer, ast.Lambda):
        while len(initializer.args.args) > 3:
            initializer.args.args.pop()
        initializer.args.defaults = []
    return initializer


def begun_variable(call: ast.Call) -> ast.expr:
    """What `self.variable(collection, name, function, *arguments)` begins as."""
    function, rest = call.args[2], call.args[3:]
    if isinstance(function, ast.Lambda) and len(function.args.args) == len(rest):
        given = zip(function.args.args, rest, strict=True)
        return replaced(function.body, {a.arg: v for a, v in given})
    return ast.copy_location(ast.Call(function, rest, []), call)


def is_variable(node: ast.expr) -> bool:
    """Whether an expression is a state of flax, `self.variable("batch_stats", "mean", ...)`."""
    return isinstance(node, ast.Call) and self_attribute(node.func) == "variable"
