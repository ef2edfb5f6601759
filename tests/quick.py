"""Programs that run once: to optimize their machine code would take longer than all else.

So would, for most of them, to make what they are lowered in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from jax._src import compiler
from jax._src.interpreters import mlir

from mlax_scaffold.testing.programs import quick

_LOWERING = threading.local()
"""The context of MLIR that a thread lowers its programs in."""


@contextmanager
def quickly_compiled() -> Iterator[None]:
    """Have jax lower and compile all programs soonest, those of single operations too.

    `jax.jit` takes such options for one function. For what runs outside of it, in examples and
    in `init`, there is no public way but flags, which a process reads once, and which other
    processes are given. Programs are lowered in one context, where jax makes one for each.
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

    make: Any = getattr(mlir, "make_ir_context", None)

    def shared() -> Any:
        if not hasattr(_LOWERING, "context"):
            _LOWERING.context = make()
        return _LOWERING.context

    with pytest.MonkeyPatch.context() as patch:
        if make is not None:
            patch.setattr(mlir, "make_ir_context", shared)
        patch.setattr(compiler, "get_compile_options", chosen)
        patch.setenv("XLA_FLAGS", flags)
        yield
