from mlax_scaffold.spec import Literal, Schedule, Size

import jax.numpy as jnp


class Budgeted(Schedule):
    """Value that depends on how much of the budget is left, and is near zero at its end.

    "linear": Li, Yumer & Ramanan, 2020, Budgeted Training, arXiv:1905.04753; "rex": Chen,
    Wolfe & Kyrillidis, 2022, REX: Revisiting Budgeted Training with an Improved Schedule,
    arXiv:2107.04197, (1 - p) / (1 / 2 + (1 - p) / 2) with p the progress.
    """

    init_value: float  #: the value at step 0
    budget: Size  #: number of steps
    profile: Literal["linear", "rex"] = "rex"  #: how the value falls

    def linear(self, left):
        return left

    def rex(self, left):
        return left / (0.5 + 0.5 * left)

    def value(self, step):
        left = jnp.clip(1 - step / self.budget, 0, 1)
        return self.init_value * getattr(self, self.profile)(left)
