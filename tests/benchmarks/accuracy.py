"""How exact layers and functions are in half precision, strictly and with `accum_dtype`.

PYTHONPATH=scaffold:generated_layers python -m tests.benchmarks.accuracy [--write] [name ...]

Every layer, block and function of the library that has an `accum_dtype` is computed in
float16 and bfloat16, as it is by default and with float32, and compared with itself in
float64 on the same numbers, with the gradients of the floating inputs and weights. With
`--write` the figures go to the file that the reference pages take them from.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import json
import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tests.library import library

from mlax_scaffold.model.definition import ArrayType, Definition, Kind
from mlax_scaffold.render.docs.accuracy import FIGURES, OPTION, accumulates, place
from mlax_scaffold.render.docs.setup import Setup
from mlax_scaffold.render.docs.shapes import Sizes
from mlax_scaffold.render.docs.values import (
    NoExample,
    defaults,
    is_literal,
    required_values,
)
from mlax_scaffold.testing.programs import quick

HALVES = ("float16", "bfloat16")
BATCH = 4
MEAN, DEVIATION = 1.0, 0.25
SCALES = ((2**16, 64), (256, 8), (64, 8), (4, 128))
"""Sizes of axes and of spatial axes. Errors of reductions grow with the number of their elements
where they are not done with care: the ones that give most elements are taken."""
MOST = 2**22
"""Elements of inputs and weights together."""
LARGEST = {
    "functional/prod": 64,
    "functional/sum": 2**13,
    "nn/multi_head_attention": 64,
    "block/transformer_decoder_layer": 64,
    "block/transformer_encoder_layer": 64,
}
"""Sizes above which numbers in float16 are beyond its range."""

Call = Callable[..., Any]


def definitions() -> list[Definition]:
    """Every definition of the library that has figures, in the order of their places."""
    return sorted(filter(accumulates, library()), key=place)


class Subject:
    """A definition with hyperparameters and inputs of a size at which errors show."""

    def __init__(self, definition: Definition, size: int, spatial: int):
        self.definition = definition
        if definition.structural():
            raise NoExample
        texts = required_values(definition, size=str(size))
        known = defaults(definition) | {
            name: ast.literal_eval(text)
            for name, text in texts.items()
            if is_literal(text)
        }
        known |= Setup(definition).derived(known)
        self.values = {name: known[name] for name in texts}
        fields = {"features": size} | known
        self.size = size
        self.sizes = Sizes(definition, fields, size, BATCH, spatial)
        method = definition.method("forward") or definition.methods[0]
        self.inputs = [i for i in method.positional if i.default is None]

    @classmethod
    def of(cls, definition: Definition) -> Subject:
        """The largest one."""
        most = LARGEST.get(place(definition), 2**16)
        subjects = [cls(definition, min(n, most), spatial) for n, spatial in SCALES]
        fitting = [subject for subject in subjects if subject.elements() <= MOST]
        return max(fitting, key=cls.elements)

    def elements(self) -> int:
        """The number of elements of inputs and weights."""
        shapes = [self._shape(i.type) for i in self.inputs]
        if self.definition.kind is not Kind.FUNCTION:
            trainables, *_ = jax.eval_shape(self._init(None), *self._keys())
            shapes += [w.shape for w in jax.tree.leaves(trainables)]
        return sum(math.prod(shape) for shape in shapes)

    @functools.cached_property
    def arrays(self) -> list[Any]:
        """The inputs."""
        return [self._array(i.name, i.type) for i in self.inputs]

    def described(self) -> str:
        """The inputs, as a reference page says it."""
        shapes = [
            f"{i.name} of shape {jax.tree.map(np.shape, a)}"
            for i, a in zip(self.inputs, self.arrays, strict=True)
        ]
        given = ", ".join(f"{name}={value}" for name, value in self.values.items())
        given = f" ({given})" if given else ""
        return (
            f"{', '.join(shapes)}, normal with mean {MEAN:g} and standard deviation "
            f"{DEVIATION:g}{given}"
        )

    def _array(self, name: str, array: ArrayType) -> Any:
        if array.kind == "tuple":
            return tuple(
                self._array(f"{name}[{i}]", part) for i, part in enumerate(array.items)
            )
        if array.kind == "Key":
            return np.zeros((), np.int32)
        shape = self._shape(array)
        if array.kind == "Int":
            return np.zeros(shape, np.int32)
        if array.kind == "Bool":
            return np.ones(shape, bool)
        return _normal(name, shape, MEAN, DEVIATION)

    def _shape(self, array: ArrayType) -> tuple[int, ...]:
        """The shape of an input, and of several the elements of all."""
        match array.kind:
            case "tuple":
                return (sum(math.prod(self._shape(part)) for part in array.items),)
            case "Key":
                return ()
            case "PyTree":
                return (BATCH, self.size)
        return self.sizes.given(array.shape)

    def measure(self, halves: tuple[str, ...] = HALVES) -> dict[str, Any]:
        """The figures, and what they were measured on."""
        found: dict[str, Any] = {"inputs": self.described()}
        for half in halves:
            exact = self.run(half, None, exact=True)
            errors = [
                [_error(a, e) for a, e in zip(self.run(half, wide), exact, strict=True)]
                for wide in (None, "float32")
            ]
            result, gradient = zip(*errors, strict=True)
            found[half] = {"result": list(result)}
            if all(value is not None for value in gradient):
                found[half]["gradient"] = list(gradient)
        return found

    def run(
        self, half: str, wide: str | None, *, exact: bool = False
    ) -> tuple[Any, Any]:
        """Results and gradients; `exact`: in float64, of numbers rounded to `half`."""
        call, weights = self._call(wide)

        def leaf(value: Any) -> Any:
            if not np.issubdtype(np.asarray(value).dtype, np.floating):
                return jnp.asarray(value)
            rounded = np.asarray(value).astype(jnp.dtype(half))
            return jnp.asarray(rounded.astype(np.float64) if exact else rounded)

        arrays = jax.tree.map(leaf, (self.arrays, weights))
        leaves, structure = jax.tree.flatten(arrays)
        floating = [
            i for i, v in enumerate(leaves) if jnp.issubdtype(v.dtype, jnp.floating)
        ]

        def of_floats(values: list[Any], floats: list[Any]) -> list[Any]:
            full = list(values)
            for i, value in zip(floating, floats, strict=True):
                full[i] = value
            y = call(*jax.tree.unflatten(structure, full))
            return [
                v for v in jax.tree.leaves(y) if jnp.issubdtype(v.dtype, jnp.floating)
            ]

        # What is measured is compiled as users compile it; what it is compared with runs once.
        @functools.partial(jax.jit, compiler_options=quick() if exact else None)
        def both(values: list[Any], cotangents: list[Any]) -> tuple[Any, Any]:
            floats = [values[i] for i in floating]
            y, vjp = jax.vjp(functools.partial(of_floats, values), floats)
            return y, vjp(cotangents)

        shapes = jax.eval_shape(of_floats, leaves, [leaves[i] for i in floating])
        # Not constants of the program, which its compilation would compute with.
        cotangents = [
            jnp.asarray(_normal(f"cotangent {i}", v.shape, 0.0, 1.0), v.dtype)
            for i, v in enumerate(shapes)
        ]
        return both(leaves, cotangents)

    def _call(self, wide: str | None) -> tuple[Call, Any]:
        """A function of inputs and weights, and weights of it."""
        definition = self.definition
        made = self._made()
        if definition.kind is Kind.FUNCTION:
            return lambda x, _: made(*x, **self.values, **{OPTION: wide}), None
        init = jax.jit(self._init(wide), compiler_options=quick())
        trainables, non_trainables, hyperparams = init(*self._keys())
        # Ones and zeros would hide what weights do.
        weights = jax.tree_util.tree_map_with_path(
            lambda path, w: (
                _normal(jax.tree_util.keystr(path), w.shape, 0.0, 0.5) + np.asarray(w)
            ),
            trainables,
        )

        def call(x: Any, weights: Any) -> Any:
            x = x[0] if len(x) == 1 else tuple(x)
            key = jax.random.key(1)
            return made.fwd(x, weights, non_trainables, hyperparams, False, key)[0]

        return call, weights

    def _made(self) -> Any:
        section = importlib.import_module(f"mlax.{self.definition.section}")
        return getattr(section, self.definition.name)

    def _init(self, wide: str | None) -> Callable[..., Any]:
        init = self._made().init
        return lambda *keys: init(*keys, **self.values, **{OPTION: wide})

    def _keys(self) -> tuple[Any, ...]:
        return (jax.random.key(0),) if self.definition.declarations else ()


def _normal(name: str, shape: tuple[int, ...], mean: float, deviation: float) -> Any:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.normal(mean, deviation, shape)


def _error(actual: Any, exact: Any) -> float | None:
    """Relative root mean square, with two digits; None where there is nothing to compare."""
    pairs = list(zip(jax.tree.leaves(actual), jax.tree.leaves(exact), strict=True))
    wanted = [np.asarray(e, np.float64) for _, e in pairs]
    given = [np.asarray(a).astype(np.float64) for a, _ in pairs]
    size = math.fsum(float(np.sum(w**2)) for w in wanted)
    if size == 0.0:
        return None
    wrong = math.fsum(
        float(np.sum((g - w) ** 2)) for g, w in zip(given, wanted, strict=True)
    )
    return float(f"{math.sqrt(wrong / size):.1e}")


def measured(names: list[str] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Places and figures, of all definitions or of those that are named."""
    with jax.enable_x64(True):
        for definition in definitions():
            if names and place(definition) not in names:
                continue
            try:
                yield place(definition), Subject.of(definition).measure()
            except NoExample:
                print(f"{place(definition)}: no inputs can be derived")


def main() -> None:
    """Measures, prints, and writes where that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", help='such as "nn/layer_norm"; default: all'
    )
    parser.add_argument("--write", action="store_true", help=f"write {FIGURES.name}")
    given = parser.parse_args()
    figures = json.loads(FIGURES.read_text()) if given.names else {}
    for name, found in measured(given.names):
        figures[name] = found
        print(name, json.dumps(found))
    if given.write:
        lines = [f"{json.dumps(n)}: {json.dumps(figures[n])}" for n in sorted(figures)]
        FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
