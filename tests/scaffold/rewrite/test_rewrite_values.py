"""What only comparisons of the step decide has the step's dtype, as in the spec that runs eagerly."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import pytest
from rewrite_examples import importable

from mlax_scaffold.reader.files import SpecFile

SPEC = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Boundaries, Schedule


class Stairs(Schedule):
    """Falls at each milestone."""

    base: float
    milestones: Boundaries

    def value(self, step):
        {body}
'''
BODIES = {
    "counted": "return self.base * 0.1 ** sum(step >= m for m in self.milestones)",
    "counted before": "passed = sum(step >= m for m in self.milestones)\n"
    "        return self.base * 0.1**passed",
    "chosen": "return jnp.where(step < self.milestones[0], self.base, 0.1 * self.base)",
    "not computed in a loop without a pass": "value = 0.1 * self.base\n"
    "        for m in self.milestones[2:]:\n"
    "            value = value + step / m\n"
    "        return value",
    "computed for some fields": "share = step / 3 if self.base > 1 else 0.1\n"
    "        value = self.base * share\n"
    "        return jnp.where(step > 100, 1.0, value)",
    "of the shape of the step": "return jnp.broadcast_to(0.1 * self.base, step.shape)",
    "searched": "at = jnp.searchsorted(jnp.asarray(self.milestones), step)\n"
    "        return self.base * 0.1**at",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_value_has_the_dtype_of_the_step(body: str, words, tmp_path: Path):
    text = SPEC.format(body=body)
    specs = (SpecFile("specs/schedule/stairs.py", "schedule", text),)
    with importable(specs, words, tmp_path) as made:
        value = made.module("schedule", "_stairs").Stairs(0.5, (2, 5))(jnp.float32(3))
    assert value.dtype == jnp.float32
    assert not value.weak_type
    assert float(value) == pytest.approx(0.05)


def test_what_is_computed_of_the_step_is_left(words, tmp_path: Path):
    body = "scale, rest = self.base, step / 2\n        return scale * rest"
    text = SPEC.format(body=body)
    specs = (SpecFile("specs/schedule/stairs.py", "schedule", text),)
    with importable(specs, words, tmp_path):
        files = list(tmp_path.rglob("_stairs.py"))
        assert files
        assert "return scale * rest" in files[0].read_text(encoding="utf-8")
