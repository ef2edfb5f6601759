"""What generated tests import."""

from __future__ import annotations

from mlax_scaffold.model.words import WORDS

IMPORTS = """\
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlax_scaffold.testing import toys
from mlax_scaffold.testing._functions import abstract_key
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.dtypes import FLOAT_DTYPES, weights_dtypes
from mlax_scaffold.testing.fitting import (
    array, assert_initial_carry, assert_key_contract,
    declared, exact, fitting, fitting_hyperparams, fitting_schedule, known, smallest
)
from mlax_scaffold.testing.keys import (
    assert_function_keys_used_once, assert_keys_used_once,
    assert_module_keys_used_once, assert_optimizer_keys_used_once
)
from mlax_scaffold.testing.layer import (
    assert_dtype_contract, assert_gradients, assert_jit_equals_eager,
    assert_shapes, assert_state_stable,
    assert_static_hyperparams, assert_vmap
)
from mlax_scaffold.testing.modes import assert_module_rejects_other_modes, assert_rejects_other_modes
from mlax_scaffold.testing.module import assert_module_creates, assert_module_equals_layer
from mlax_scaffold.testing.optimizer import (
    OptimizerCase, assert_jit, assert_mixed_dtypes, assert_optimizer_dtypes,
    assert_scan, assert_structure, assert_zero_gradients
)
from mlax_scaffold.testing.oracle import (
    assert_function_matches_spec, assert_matches_spec, assert_optimizer_matches_spec,
    assert_schedule_matches_spec, find_spec
)
from mlax_scaffold.testing.profiles import comparing, compiling, each_dtype, tracing
from mlax_scaffold.testing.refusals import (
    assert_rejects_another_size, assert_rejects_gradients, assert_rejects_integers,
    assert_rejects_missing_inputs, assert_rejects_state, assert_rejects_weights
)
from mlax_scaffold.testing.weights import assert_module_rejects_other_weights, assert_rejects_other_weights
from mlax_scaffold.testing.schedule import (
    assert_schedule_dtype, assert_schedule_of_integers, assert_static_schedule
)
"""
_STRATEGIES = sorted(
    {word.strategy.partition("(")[0] for word in WORDS.values() if word.strategy}
    | {"choices", "divisors", "multiples", "optional", "per_dim", "sequences"}
)
IMPORTS += f"from mlax_scaffold.testing.strategies import {', '.join(_STRATEGIES)}"
"""Everything that a generated test may use; the linter drops the rest."""
