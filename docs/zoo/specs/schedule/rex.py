import jax.numpy as jnp

from mlax_scaffold.spec import NonNegative, Positive, Schedule, Size, require


class REX(Schedule):
    """Reflected exponential schedule with warmup (Chen et al., 2021, "REX: Revisiting Budgeted Training")."""

    max_lr: Positive
    total_steps: Size
    warmup: int = 0
    min_lr: NonNegative = 0.0
    d: float = 0.9

    def setup(self):
        require(0 <= self.warmup < self.total_steps, "warmup must be shorter than total_steps")
        require(0 < self.d < 1, "d must be between 0 and 1")

    def _rex(self, z):
        return (1 - z) / (1 - self.d + self.d * (1 - z))

    def value(self, step):
        z = jnp.clip((step - self.warmup) / (self.total_steps - self.warmup), 0, 1)
        lr = self.min_lr + (self.max_lr - self.min_lr) * self._rex(z)
        if self.warmup == 0:
            return lr
        return jnp.where(step < self.warmup, self.max_lr * (step + 1) / self.warmup, lr)
