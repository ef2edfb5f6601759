"""What tests compile with: in the least time, or what users run."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax._src import compiler
from jax._src.interpreters import mlir
from tests.quick import quickly_compiled

from mlax_scaffold.testing.programs import quick


def chosen(**given: Any) -> dict[str, Any]:
    """The options that jax compiles with."""
    options = compiler.get_compile_options(1, 1, env_options_overrides=given)
    return dict(options.env_option_overrides)


@pytest.mark.optimized
def test_users_have_none():
    assert not chosen()


def test_tests_here_compile_in_the_least_time():
    optimized = bool(os.environ.get("MLAX_SCAFFOLD_OPTIMIZED"))
    assert chosen() == ({} if optimized else quick())
    flags = os.environ.get("XLA_FLAGS", "")
    assert all((f"--{name}=" in flags) is not optimized for name in quick())


def contexts() -> list[Any]:
    """What two programs, of which jax keeps none, are lowered in."""
    x = jnp.ones(3)
    lowered = [jax.jit(lambda x, y=y: x + y).lower(x) for y in (0.5, 0.25)]
    modules: list[Any] = [program.compiler_ir() for program in lowered]
    return [module.context for module in modules]


@pytest.mark.optimized
def test_programs_of_users_are_lowered_where_jax_says():
    own = mlir.make_ir_context
    assert own.__module__ == mlir.__name__
    with quickly_compiled():
        assert mlir.make_ir_context is not own
    assert mlir.make_ir_context is own


@pytest.mark.optimized
def test_programs_of_a_thread_are_lowered_in_one_place():
    with quickly_compiled():
        first, second = contexts()
        with ThreadPoolExecutor(1) as pool:
            elsewhere, _ = pool.submit(contexts).result()
    assert first is second
    assert first is not elsewhere


@pytest.mark.optimized
def test_functions_keep_options_of_their_own():
    with quickly_compiled():
        assert chosen(xla_cpu_use_fusion_emitters=True) == quick() | {
            "xla_cpu_use_fusion_emitters": True
        }


@pytest.mark.optimized
def test_programs_of_users_are_others(monkeypatch: pytest.MonkeyPatch):
    found: list[dict[str, Any]] = []
    compiled: Any = compiler.compile_or_get_cached

    def noted(
        backend: Any, program: Any, devices: Any, options: Any, *rest: Any
    ) -> Any:
        found.append(dict(options.env_option_overrides))
        return compiled(backend, program, devices, options, *rest)

    monkeypatch.setattr(compiler, "compile_or_get_cached", noted)
    x = jnp.ones(7)
    with quickly_compiled():
        jax.jit(lambda x: x * 5.0 + 0.125)(x)
    jax.jit(lambda x: x * 5.0 + 0.375)(x)
    assert found[-2:] == [quick(), {}]
