"""Words for steps that are counted exactly: the very functions of generated code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from mlax_scaffold.spec.runtime import runtime

at_step: Callable[..., Any] = runtime("_core.steps").at_step
steps_since: Callable[..., jax.Array] = runtime("_core.steps").steps_since

scalar: Callable[[Any], jax.Array] = runtime("_core.trees._leaves").scalar
