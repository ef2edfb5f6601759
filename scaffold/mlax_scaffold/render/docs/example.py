"""The example of a reference page: code that runs, derived from the words of the definition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from mlax_scaffold.model.definition import (
    SECTIONS,
    ArrayType,
    Definition,
    Hyperparameter,
    Kind,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.shapes import AnyAxes, Named, Shape, ShapeMismatch
from mlax_scaffold.render.docs.setup import Setup
from mlax_scaffold.render.docs.shapes import Sizes
from mlax_scaffold.render.docs.values import (
    NoExample,
    defaults,
    is_literal,
    only_numbers,
    required_values,
)
from mlax_scaffold.render.signatures import needs

_STEP_INPUTS = {
    "value": "value",
    "value_and_gradients": "jax.value_and_grad(loss_fn)",
    "key": "jax.random.key(0)",
}
"""What an example gives to a step that needs more than gradients."""


_WIDTH = 4
"""The size of the last axis of what layers of an example map."""


def picked_kinds(definition: Definition) -> frozenset[Kind]:
    """Of what kinds the example may pick definitions from the library."""
    found: set[Kind] = set()
    if definition.structural():
        kind = definition.kind
        found.add(Kind.OPTIMIZER if kind is Kind.OPTIMIZER else Kind.LAYER)
    if any(h.type.word.schedule for h in definition.hyperparameters):
        found.add(Kind.SCHEDULE)
    return frozenset(found)


def example(definition: Definition, library: Library, package: str) -> str:
    """Code of an example with assertions; empty where none can be derived."""
    try:
        body = list(_Example(definition, library).lines())
    except NoExample:
        return ""
    sections = ", ".join(SECTIONS)
    imports = [
        "import jax",
        "import jax.numpy as jnp",
        f"from {package} import {sections}",
    ]
    return "\n".join([*imports, "", *body, ""])


class _Example:
    def __init__(self, definition: Definition, library: Library):
        self.definition = definition
        self.library = library
        self.path = f"{definition.section}.{definition.name}"
        self.values = self._with_schedules(required_values(definition))
        method = definition.entry
        self.inputs = tuple(i for i in method.positional if i.default is None)
        self.returns = method.returns
        width = _WIDTH if self._is_block else None
        self.sizes = Sizes(definition, self._known(), width=width)
        traits = (
            library.traits(definition.reference) if definition.kind.is_layer else None
        )
        self.complex = (
            traits.complex_numbers if traits else library.has_complex(definition)
        )

    @property
    def _is_block(self) -> bool:
        return self.definition.kind is Kind.BLOCK

    @property
    def dtype(self) -> str:
        """That of floating inputs; the example shows that results have it, whatever the weights have."""
        return "jnp.float32" if self.complex else "jnp.bfloat16"

    def lines(self) -> Iterator[str]:
        match self.definition.kind:
            case Kind.LAYER | Kind.BLOCK:
                return self._layer()
            case Kind.FUNCTION:
                return self._function()
            case Kind.OPTIMIZER:
                return self._optimizer()
            case Kind.SCHEDULE:
                return self._schedule()

    def _known(self) -> dict[str, Any]:
        """Hyperparameters by name, where their values are literals."""
        known = defaults(self.definition) | {
            name: ast.literal_eval(text)
            for name, text in self.values.items()
            if is_literal(text)
        }
        if self.definition.structural():
            known["features"] = _WIDTH
            shapes = [s for i in self.inputs if self._is_block for s in i.type.shapes]
            for dim in (shape.dims[-1] for shape in shapes if shape.dims):
                if isinstance(dim, Named):
                    known.setdefault(dim.name, _WIDTH)
        return known | Setup(self.definition).derived(known)

    # Layers and blocks

    def _layer(self) -> Iterator[str]:
        traits = self.library.traits(self.definition.reference)
        takes_key = self.library.takes_key(self.definition)
        self.key = "key"
        if takes_key and self._is_block:
            self.key = "layer_key"
            yield "key, layer_key = jax.random.split(jax.random.key(0))"
        elif takes_key or self.definition.structural():
            yield "key = jax.random.key(0)"
        arguments = ["key"] if takes_key else []
        for h in self.definition.structural():
            yield f"{h.name} = {self._layers(h)}"
            self.values[h.name] = h.name
        arguments += self._arguments()
        yield (
            "trainables, non_trainables, hyperparams = "
            f"{self.path}.init({', '.join(arguments)})"
        )
        yield ""
        names = []
        for item in self.inputs:
            yield f"{item.name} = {self._array(item.type, item.name)}"
            names.append(item.name)
        x = names[0] if len(names) == 1 else f"({', '.join(names)})"
        given = f"{x}, trainables, non_trainables, hyperparams"
        drawn = ", key=jax.random.key(1)" if traits.draws else ""
        yield f"y, non_trainables = {self.path}.fwd({given}{drawn})"
        yield from self._assertions()
        if traits.training:
            yield ""
            entry = self.definition.entry
            always = not self._is_block and self.library.asks(self.definition, entry)
            drawn = drawn if always else ""
            said = []
            if traits.draws and not always:
                said.append("nothing is random")
            if traits.stateful:
                said.append("the state stays as it is")
            if said:
                yield f"# At inference {', and '.join(said)}."
            yield f"y, _ = {self.path}.fwd({given}, inference_mode=True{drawn})"

    def _layers(self, h: Hyperparameter) -> str:
        """Expression of initialized layers for a field of a block."""
        linear = next(
            (d for d in self.library.of(Kind.LAYER) if d.name == "Linear"), None
        )
        made = "nn.Linear.init({}, in_features=4, out_features=4)"
        if linear is None or not {"in_features", "out_features"} >= set(
            required_values(linear)
        ):
            raise NoExample
        word = h.type.word
        if word.recurrent:
            return self._cell()
        if word.many:
            return f"[{made.format('k')} for k in jax.random.split({self.key}, 2)]"
        if not word.stacked:
            return made.format(self.key)
        if "depth" not in self.values:
            raise NoExample
        keys = f"jax.random.split({self.key}, {self.values['depth']})"
        return f"jax.vmap(lambda k: {made.format('k')})({keys})"

    def _cell(self) -> str:
        for d in self.library.of(Kind.LAYER):
            method = d.method("forward")
            if method is None or len(method.positional) != 2:
                continue
            plain = set(required_values(d)) == {"in_features", "features"}
            if d.carries and plain:
                made = f"init({self.key}, in_features=4, features=4)"
                return f"{d.section}.{d.name}.{made}"
        raise NoExample

    # The others

    def _function(self) -> Iterator[str]:
        for item in self.inputs:
            yield f"{item.name} = {self._array(item.type)}"
        given = [item.name for item in self.inputs] + self._arguments()
        yield f"result = {self.path}({', '.join(given)})"
        yield from self._assertions("result")

    def _optimizer(self) -> Iterator[str]:
        yield (
            'trainables = {"kernel": jnp.ones((4, 3), jnp.bfloat16), '
            '"bias": jnp.zeros(3, jnp.bfloat16)}'
        )
        arguments = ["trainables"] if self.definition.takes_weights else []
        for h in self.definition.structural():
            made = self._transformation()
            many = h.type.word.many
            yield f"{h.name} = {f'[{made}]' if many else made}"
            self.values[h.name] = h.name
        given = ", ".join(arguments + self._arguments())
        yield f"state, hyperparams = {self.path}.init({given})"
        yield ""
        yield from self._step_inputs()
        given = ["gradients", "state", "trainables", "hyperparams"]
        needed = [f"{n}={_STEP_INPUTS[n]}" for n in needs(self.definition)]
        yield f"updates, state = {self.path}.step({', '.join(given + needed)})"
        yield "trainables = optim.apply_updates(trainables, updates)"
        yield 'assert trainables["kernel"].shape == (4, 3)'
        yield 'assert trainables["kernel"].dtype == jnp.bfloat16'

    def _step_inputs(self) -> Iterator[str]:
        """Gradients, and the loss where a step needs more of it."""
        if self.definition.per_example:
            yield "# Gradients of two examples."
            stacked = "jnp.ones((2, *weight.shape), weight.dtype)"
            yield f"gradients = jax.tree.map(lambda weight: {stacked}, trainables)"
        elif {"value", "value_and_gradients"} & set(needs(self.definition)):
            yield "def loss_fn(trainables):"
            yield "    leaves = jax.tree.leaves(trainables)"
            yield "    return sum(jnp.vdot(leaf, leaf) for leaf in leaves)"
            yield ""
            yield ""
            yield "value, gradients = jax.value_and_grad(loss_fn)(trainables)"
        else:
            yield "gradients = jax.tree.map(jnp.ones_like, trainables)"

    def _transformation(self) -> str:
        """Expression of an initialized optimizer: the one that most people take, or another."""
        known = self.library.of(Kind.OPTIMIZER)
        for d in sorted(known, key=lambda d: d.name != "Adam"):
            if not d.structural() and d.method("update") is not None:
                given = [
                    f"{name}={value}" for name, value in required_values(d).items()
                ]
                return f"optim.{d.name}.init({', '.join(['trainables', *given])})"
        raise NoExample

    def _with_schedules(self, values: dict[str, str]) -> dict[str, str]:
        """The values, with a schedule of the library in the place of any function."""
        for h in self.definition.hyperparameters:
            if h.type.word.schedule and h.name in values:
                text = values[h.name]
                for d in filter(only_numbers, self.library.of(Kind.SCHEDULE)):
                    given = ", ".join(
                        f"{name}={value}" for name, value in required_values(d).items()
                    )
                    made = f"{d.section}.{d.name}({given})"
                    text = text.replace(h.type.word.example, made, 1)
                values = values | {h.name: text}
        return values

    def _schedule(self) -> Iterator[str]:
        yield f"{self.definition.module} = {self.path}({', '.join(self._arguments())})"
        yield f"value = {self.definition.module}(jnp.float32(1.0))"
        yield "assert value.shape == ()"
        yield "assert value.dtype == jnp.float32"

    # Values

    def _arguments(self) -> list[str]:
        return [f"{name}={value}" for name, value in self.values.items()]

    def _array(self, array: ArrayType, name: str = "") -> str:
        match array.kind:
            case "tuple" if array.items[-1].kind == "...":
                part = self._array(array.items[0])
                return f"({part}, {part})"
            case "tuple":
                parts = [self._array(a, f"{name}{at}") for _, at, a in array.parts]
                return f"({', '.join(parts)},)"
            case "dict":
                named = [(k, self._array(a, f"{name}{at}")) for k, at, a in array.parts]
                return f"{{{', '.join(f'{key!r}: {part}' for key, part in named)}}}"
            case "PyTree":
                return f"jnp.ones((2, 4), {self.dtype})"
            case "Key":
                return "jax.random.key(0)"
        given = self.definition.example_shapes
        shape = given[name] if name in given else self._shape(array)
        match array.kind:
            case "Int":
                return f"jnp.zeros({shape}, jnp.int32)"
            case "Bool":
                return f"jnp.ones({shape}, bool)"
            case "Complex":
                return f"jnp.ones({shape}, jnp.complex64)"
        return f"jnp.ones({shape}, {self.dtype})"

    def _shape(self, array: ArrayType) -> tuple[int, ...]:
        named = any(
            isinstance(i.type.shape, Shape)
            and not any(isinstance(dim, AnyAxes) for dim in i.type.shape.dims)
            for i in self.inputs
        )
        try:
            return self.sizes.given(array.shape, broadcast=named)
        except ShapeMismatch as error:
            raise NoExample from error

    # Assertions

    def _assertions(self, name: str = "y") -> Iterator[str]:
        returns = self.returns
        if returns is None or returns.holds("PyTree"):
            check = f"leaf.dtype == {self.dtype}" if self._is_block else "leaf.size > 0"
            yield f"assert all({check} for leaf in jax.tree.leaves({name}))"
            return
        given = self.definition.result_shape
        shape = self._expected(returns) if given is None else str(given)
        if shape is not None:
            of = f"jax.tree.map(jnp.shape, {name})"
            of = f"{name}.shape" if returns.kind != "tuple" else of
            yield f"assert {of} == {shape}"
        dtype = self._dtype(returns)
        if returns.kind == "tuple":
            check = f"leaf.dtype == {dtype}"
            yield f"assert all({check} for leaf in jax.tree.leaves({name}))"
        else:
            yield f"assert {name}.dtype == {dtype}"

    def _dtype(self, returns: ArrayType) -> str:
        if returns.kind == "Complex":
            return "jnp.complex64"
        if returns.holds("Float", "Real"):
            floating = any(i.type.holds("Float", "Real") for i in self.inputs)
            return self.dtype if floating else "jnp.float32"
        return "jnp.bool_" if returns.holds("Bool") else "jnp.int32"

    def _expected(self, array: ArrayType) -> str | None:
        if array.kind == "tuple":
            parts = [self._expected(part) for part in array.items]
            if any(part is None for part in parts):
                return None
            return f"({', '.join(map(str, parts))},)"
        try:
            return str(self.sizes.expected(array.shape))
        except ShapeMismatch:
            return None
