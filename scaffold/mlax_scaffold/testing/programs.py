"""Traced programs, and whether two of them compute the same."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn, jaxpr_as_fun
from jax.typing import DTypeLike

from mlax_scaffold.testing import _jaxprs
from mlax_scaffold.testing._same import Numbering
from mlax_scaffold.testing.compare import (
    DEFAULT_ULPS,
    assert_matches,
    assert_same_structure,
)

PyTree = Any
_QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_cpu_use_fusion_emitters": False,
    "xla_llvm_disable_expensive_passes": True,
}
SIZES = (1.0, 0.0, 1e-3, 64.0)
"""By how much drawn values are multiplied where values have to decide."""
MORE_ULPS = 4096
"""So much may differ at other magnitudes, where terms cancel."""


@dataclass(frozen=True)
class Program:
    """A traced function, and what it returns: arrays as `jax.ShapeDtypeStruct`."""

    jaxpr: ClosedJaxpr
    out: PyTree

    @classmethod
    def of(cls, function: Callable[..., PyTree], *args: PyTree) -> Program:
        """The program of a function of arrays, given as arrays or their types."""
        return cls(*jax.make_jaxpr(function, return_shape=True)(*args))

    def gradient(
        self,
        of: Sequence[int],
        outputs: int,
        around: Callable[[Callable[[], Any]], Any] = lambda run: run(),
    ) -> Program:
        """All results, and the derivatives of the first floating ones by some inputs.

        Args:
            of: positions of floating inputs, flat.
            outputs: of so many results, flat, the floating ones are differentiated; their
                cotangents are further inputs.
            around: runs it where the axes are mapped that rules of derivatives name.
        """
        run = jaxpr_as_fun(self.jaxpr)
        avals = [*map(_struct, self.jaxpr.in_avals)]
        results = [*map(_struct, self.jaxpr.out_avals)][:outputs]
        floats = [i for i, v in enumerate(results) if _is_float(v)]

        def derivative(args: list[Any], cotangents: list[Any]) -> Any:
            def forward(values: list[Any]) -> tuple[list[Any], list[Any]]:
                given = list(args)
                for position, value in zip(of, values, strict=True):
                    given[position] = value
                found = run(*given)
                return [found[i] for i in floats], found

            values = [args[position] for position in of]
            _, pullback, found = jax.vjp(forward, values, has_aux=True)
            return found, pullback(cotangents)[0]

        return Program.of(
            lambda *given: around(lambda: derivative(*given)),
            avals,
            [results[i] for i in floats],
        )


@functools.cache
def quick() -> dict[str, Any]:
    """The options, of those that this compiler knows, with which a small program compiles soonest."""
    try:
        _compile_with(_QUICK)
    except Exception:
        return {name: v for name, v in _QUICK.items() if _is_known(name, v)}
    return _QUICK


def _is_known(name: str, value: Any) -> bool:
    try:
        _compile_with({name: value})
    except Exception:
        return False
    return True


def _compile_with(options: dict[str, Any]) -> None:
    struct = jax.ShapeDtypeStruct((), jnp.float32)
    jax.jit(lambda x: x).lower(struct).compile(compiler_options=options)


def same_operations(expected: Program, actual: Program) -> bool:
    """Whether two programs compute every result by the same operations of the same inputs."""
    if len(expected.jaxpr.out_avals) != len(actual.jaxpr.out_avals):
        return False
    numbering = Numbering()
    inputs = [numbering.new() for _ in actual.jaxpr.in_avals]
    numbers, _ = numbering.program(expected.jaxpr, inputs)
    return numbers == numbering.program(actual.jaxpr, inputs)[0]


def assert_same_programs(
    expected: Program,
    actual: Program,
    arguments: Callable[[], Sequence[Any]],
    dtype: DTypeLike,
    *,
    what: str,
    names: Sequence[str] = (),
    spec: Path | None = None,
) -> None:
    """Raise AssertionError unless two programs compute every result by the same operations.

    What is not called by a result does not count, nor do the borders of calls, casts to the same
    dtype, and the order of two operands that commute. Nothing is compiled. Values decide, those of the
    arguments at several magnitudes, where a program cannot be looked into: effects, callbacks.

    Args:
        expected: the program of the spec.
        actual: the generated one.
        arguments: makes the inputs, flat, of normal size.
        dtype: to whose rounding values may differ.
        what: what the message calls the results.
        names: of the parts of the results, where these are a tuple.
        spec: the file to say a line of.
    """
    assert_same_structure(expected.out, actual.out, what=what)
    numbering = Numbering()
    inputs = [numbering.new() for _ in actual.jaxpr.in_avals]
    numbers, eqns = numbering.program(expected.jaxpr, inputs)
    checkpoints = numbering.checkpoints
    others, other_eqns = numbering.program(actual.jaxpr, inputs)
    if checkpoints != numbering.checkpoints:
        raise AssertionError(
            f"{what}: (prevent_cse, policy) of its checkpoints are "
            f"{numbering.checkpoints}, expected {checkpoints}"
        )
    if numbers == others:
        return
    place = _parting(eqns, other_eqns, spec)
    if not numbering.hidden:
        paths = jax.tree_util.tree_leaves_with_path(expected.out)
        pairs = zip(paths, numbers, others, strict=True)
        changed = [
            _named(path, names) for (path, _), one, other in pairs if one != other
        ]
        parts = ", ".join(name or "it" for name in changed)
        raise AssertionError(f"{what}: {parts} is computed in another way.{place}")
    assert_same_values(expected, actual, arguments, dtype, what=what, place=place)


def assert_same_values(
    expected: Program,
    actual: Program,
    arguments: Callable[[], Sequence[Any]],
    dtype: DTypeLike,
    *,
    what: str,
    place: str = "",
) -> None:
    """Raise AssertionError unless two programs give the same values, at several magnitudes. It compiles.

    Args:
        expected: the program of the spec.
        actual: the generated one.
        arguments: makes the inputs, flat, of normal size.
        dtype: to whose rounding values may differ.
        what: what the message calls the results.
        place: what the message ends with.
    """
    both = jax.jit(
        lambda args: (
            jaxpr_as_fun(expected.jaxpr)(*args),
            jaxpr_as_fun(actual.jaxpr)(*args),
        ),
        compiler_options=quick(),
    )
    drawn = list(arguments())
    for size in SIZES:
        first, second = both([_scaled(value, size) for value in drawn])
        tree = jax.tree.structure(expected.out)
        try:
            assert_matches(
                tree.unflatten(first),
                tree.unflatten(second),
                dtype,
                ulps=DEFAULT_ULPS if size == 1.0 else MORE_ULPS,
                what=what,
            )
        except AssertionError as error:
            raise AssertionError(f"{error}{place}") from None


def assert_same_rules(
    expected: Program, actual: Program, *, what: str, spec: Path | None = None
) -> bool:
    """Raise AssertionError unless functions with a derivative of their own have it in both programs.

    Such a function is known by its operands, and a derivative by its operations. This traces the rules.

    Returns:
        Whether the second has no others.
    """
    numbering = Numbering()
    inputs = [numbering.new() for _ in actual.jaxpr.in_avals]
    rules, eqns = numbering.rules(expected.jaxpr, inputs)
    others, other_eqns = numbering.rules(actual.jaxpr, inputs)
    if rules - others and not numbering.hidden:
        place = _parting(eqns, other_eqns, spec)
        raise AssertionError(f"{what}: a derivative is computed in another way.{place}")
    return rules == others


def assert_maps(program: Program, *, what: str) -> None:
    """Raise AssertionError unless `jax.vmap` makes of a program one with an axis more. It only traces."""
    size = 2
    given = [
        jax.ShapeDtypeStruct((size, *v.shape), v.dtype) for v in program.jaxpr.in_avals
    ]
    if not given:
        return
    results = jax.eval_shape(jax.vmap(jaxpr_as_fun(program.jaxpr)), *given)
    for value, single in zip(results, program.jaxpr.out_avals, strict=True):
        expected = (size, *single.shape), single.dtype
        if (value.shape, value.dtype) != expected:
            raise AssertionError(
                f"{what}, a result is {value}, expected {single} with an axis of {size}"
            )


def _scaled(value: Any, size: float) -> Any:
    if not _is_float(value):
        return value
    given = np.asarray(value)
    wide = given.astype(np.complex128 if np.iscomplexobj(given) else np.float64)
    return jax.device_put((wide * size).astype(value.dtype))


def _struct(aval: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _is_float(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jnp.inexact)


def _named(path: tuple[Any, ...], names: Sequence[str]) -> str:
    if not path or not names:
        return jax.tree_util.keystr(path)
    index: int = path[0].idx
    return names[index] + jax.tree_util.keystr(path[1:])


def _parting(
    eqns: Sequence[tuple[int, JaxprEqn]],
    others: Sequence[tuple[int, JaxprEqn]],
    spec: Path | None,
) -> str:
    """Where two programs part: an operation of each that the other does not have."""
    first, second = _first_difference(eqns, others), _first_difference(others, eqns)
    lines = ""
    if first is not None:
        lines += f"\nFirst differs {_place(first, spec)}"
    if second is not None:
        lines += f"\nIn its place stands {_place(second, None)}"
    return lines


def _first_difference(
    eqns: Sequence[tuple[int, JaxprEqn]], others: Sequence[tuple[int, JaxprEqn]]
) -> JaxprEqn | None:
    """The first operation of a program that the other does not have."""
    known = {number for number, _ in others}
    return next((eqn for number, eqn in eqns if number not in known), None)


def shown(path: str | Path) -> str:
    """A path as messages show it: from the current folder, where it is below that."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _place(eqn: JaxprEqn, spec: Path | None) -> str:
    """Where an operation is said: in the spec, or else in the innermost file that is not jax's."""
    said = f"`{eqn.primitive.name}`"
    frames = getattr(getattr(eqn.source_info, "traceback", None), "frames", ())
    for frame in frames:
        if spec is not None and Path(frame.file_name) == spec:
            line = _line(spec, frame.line_num)
            return f"{said} of {shown(spec)}:{frame.line_num}: {line}"
    source = _jaxprs.source_line(eqn)
    if not source:
        return said
    path, _, rest = source.rpartition(":")
    return f"{said} of {shown(path)}:{rest}: {_line(Path(path), int(rest.partition(' ')[0]))}"


def _line(path: Path, number: int) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return lines[number - 1].strip() if number <= len(lines) else ""
