"""Small programs, one for each item of a release, and what they compute.

A program is text, so that later versions run what a user of the release had written. Arrays are
described by shape, dtype and two sums, which differ by no more than rounding from one processor to the
next, and not by digests of bytes, which do.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import mlax
import mlax.graph

Described = dict[str, list[Any]]
"""By path: shape, dtype, and the sums of `_sums`; of a key and of integers the values."""

_STEPS = (0.0, 1.0, 7.0, 50.0, 1000.0)


@dataclasses.dataclass(frozen=True)
class Program:
    """What a user of one item writes.

    Attributes:
        item: `section/Name`.
        weights: statements that make what `setup` starts from; for optimizers the weights.
        setup: statements that initialize.
        call: the expression that is one step.
        module: the expression of the module class at `node` with `rng`, or None.
        inputs: what the module is called with, where that is not `(x,)`.
    """

    item: str
    weights: str
    setup: str
    call: str
    module: str | None = None
    inputs: str | None = None


def run(program: Program) -> dict[str, Any]:
    """What an item promises: `signatures`, `init`, `step`, and for modules `module` and `module_step`."""
    names: dict[str, Any] = {}
    exec(program.weights, names)
    section = program.item.partition("/")[0]
    if section == "optim":
        names["trainables"] = drawn(names["trainables"])
    exec(program.setup, names)
    record: dict[str, Any] = {"signatures": signatures(program.item)}
    match section:
        case "optim":
            record |= _run_optimizer(program, names)
        case "schedule":
            values = [eval(program.call, names, {"t": jnp.float32(t)}) for t in _STEPS]
            record["step"] = described(values)
        case "functional":
            _draw_arguments(names)
            record["step"] = described(eval(program.call, names))
        case _:
            record |= _run_layer(program, names)
    return record


def _run_optimizer(program: Program, names: dict[str, Any]) -> dict[str, Any]:
    record = {"init": described(names["state"])}
    gradients = names["gradients"]
    names["gradients"] = drawn(gradients, shift=2)
    _, names["state"] = eval(program.call, names)
    names["gradients"] = drawn(gradients, shift=3)
    return record | {"step": described(eval(program.call, names))}


def _run_layer(program: Program, names: dict[str, Any]) -> dict[str, Any]:
    record = {"init": described((names["trainables"], names["non_trainables"]))}
    _draw_arguments(names)
    # Ones and zeros, which many weights are in the beginning, would hide what is done with them.
    names["trainables"] = drawn(names["trainables"], shift=4)
    record["step"] = described(eval(program.call, names))
    if program.module is not None:
        graph = mlax.graph.Graph("model")
        rng = mlax.graph.Rng(graph.child("rng"))
        node = graph.child("item")
        module = eval(
            program.module, {**names, "bx": mlax.graph, "node": node, "rng": rng}
        )
        params = rng.seed(mlax.graph.Params(), seed=0)
        inputs = eval(program.inputs or "(x,)", names)
        result, params = module(params, *inputs, is_training=True)
        record["module"] = described(
            {"/".join(path): param.value for path, param in params.items()}
        )
        record["module_step"] = described(result)
    return record


def _draw_arguments(names: dict[str, Any]) -> None:
    """Put drawn numbers in the place of the ones and zeros that examples call with."""
    kept = ("trainables", "non_trainables", "key")
    for name, value in list(names.items()):
        if name not in kept and not callable(value) and _is_arrays(value):
            names[name] = drawn(value, shift=1)


def _is_arrays(value: Any) -> bool:
    if hasattr(value, "_fields") or dataclasses.is_dataclass(value):
        return False
    leaves = jax.tree.leaves(value)
    return bool(leaves) and all(
        isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating)
        for leaf in leaves
    )


def drawn(tree: Any, shift: int = 0) -> Any:
    """Numbers between 0.1 and 1 in the place of floating leaves; others stay."""

    def draw(leaf: jax.Array) -> jax.Array:
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        count = np.arange(leaf.size, dtype=np.float64).reshape(leaf.shape)
        return jnp.asarray(0.55 + 0.45 * np.sin(1.7 * count + shift), leaf.dtype)

    return jax.tree.map(draw, tree)


def described(tree: Any) -> Described:
    """See `Described`."""
    return dict(_described(tree))


def _described(tree: Any) -> Iterator[tuple[str, list[Any]]]:
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name = "/".join(_name(part) for part in path)
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            data = np.asarray(jax.random.key_data(leaf))
            yield name, [list(leaf.shape), "key", *data.ravel().tolist()]
            continue
        values = np.asarray(leaf)
        yield name, [list(values.shape), str(values.dtype), *_sums(values)]


def _name(part: Any) -> str:
    for attribute in ("name", "key", "idx"):
        if hasattr(part, attribute):
            return str(getattr(part, attribute))
    return str(part)


def _sums(values: np.ndarray) -> list[float | str]:
    """A weighted sum, whose weights tell positions apart, and the largest magnitude."""
    numbers = values.astype(
        np.complex128 if values.dtype.kind == "c" else np.float64
    ).ravel()
    weighted = (numbers * np.cos(np.arange(numbers.size) + 0.5)).sum()
    largest = np.abs(numbers).max(initial=0.0)
    sums = (weighted.real + weighted.imag, largest)
    return [
        float(f"{number:.7g}") if np.isfinite(number) else repr(float(number))
        for number in sums
    ]


def signatures(item: str) -> dict[str, str]:
    """The parameters of everything public of an item, without their types."""
    section, _, name = item.partition("/")
    public = getattr(getattr(mlax, section), name)
    found: dict[str, str] = {}
    for part in ("init", "fwd", "step", "apply", "initial_carry", "state_shardings"):
        if inspect.isfunction(getattr(public, part, None)):
            found[part] = _parameters(getattr(public, part))
    if not found:
        found["call"] = _parameters(public)
    cell = name.removesuffix("Cell").replace("Simple", "SimpleRNN")
    module = getattr(mlax.graph, name, getattr(mlax.graph, cell, None))
    if section in ("nn", "block") and module is not None:
        found["module"] = _parameters(module.__init__)
        found["module call"] = _parameters(module.__call__)
    return found


def _parameters(function: Callable[..., Any]) -> str:
    """A signature, in which `...` stands for functions."""
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(
            annotation=inspect.Parameter.empty, default=_default(parameter)
        )
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(inspect.Signature(parameters))


def _default(parameter: inspect.Parameter) -> Any:
    callable_ = callable(parameter.default) and parameter.default is not parameter.empty
    return ... if callable_ else parameter.default
