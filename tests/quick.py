"""Programs that run once: to optimize their machine code would take longer than all else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from jax._src import compiler

from mlax_scaffold.testing.programs import quick


@contextmanager
def quickly_compiled() -> Iterator[None]:
    """Have jax compile all programs soonest, those of single operations and of other processes too.

    `jax.jit` takes such options for one function. For what runs outside of it, in examples and
    in `init`, there is no public way but flags, which a process reads once.
    """
    original: Any = getattr(compiler, "get_compile_options", None)
    if original is None:  # A jax that does it elsewhere compiles as users do.
        yield
        return
    options = quick()
    flags = [f"--{name}={str(value).lower()}" for name, value in options.items()]
    flags = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()

    def chosen(*args: Any, env_options_overrides: Any = None, **named: Any) -> Any:
        given = options | dict(env_options_overrides or {})
        return original(*args, env_options_overrides=given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "get_compile_options", chosen)
        patch.setenv("XLA_FLAGS", flags)
        yield
