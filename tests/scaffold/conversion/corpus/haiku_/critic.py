from typing import Sequence

import haiku as hk
import jax


class Critic(hk.Module):
    def __init__(self, hidden: Sequence[int], name=None):
        super().__init__(name=name)
        self.hidden = hidden

    def __call__(self, x):
        for i, h in enumerate(self.hidden):
            x = hk.Linear(h, w_init=hk.initializers.VarianceScaling(2.0), name=f"l{i}")(
                x
            )
            x = hk.LayerNorm(-1, True, True)(x)
            x = jax.nn.elu(x)
        return hk.Linear(1)(x)[..., 0]
