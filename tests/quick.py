"""Programs that run once: to optimize their machine code would take longer than all else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jax._src import compiler

from mlax_scaffold.testing.programs import quick


@contextmanager
def quickly_compiled() -> Iterator[None]:
    """Have jax compile all programs soonest, those of single operations too.

    `jax.jit` takes such options for one function. For what runs outside of it, in examples and
    in `init`, there is no public way.
    """
    before: Any = compiler.get_compile_options
    options = quick()

    def chosen(*args: Any, env_options_overrides: Any = None, **named: Any) -> Any:
        given = options | dict(env_options_overrides or {})
        return before(*args, env_options_overrides=given, **named)

    compiler.get_compile_options = chosen
    try:
        yield
    finally:
        compiler.get_compile_options = before
