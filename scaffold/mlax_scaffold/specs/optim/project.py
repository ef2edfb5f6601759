from mlax_scaffold.spec import Function, Mask, Optimizer


class Project(Optimizer):
    """Moves weights to where a projection takes them: projection(w + update) - w.

    The projection is a function of one weight, such as `jnp.tanh` or
    `lambda w: jnp.clip(w, -1.0, 1.0)`; functions of optax.projections are, too. It is
    the last of a Chain. The sum of the weight and the update is the projection up to
    rounding: KeepNonNegative and Clip are exact.
    """

    projection: Function  #: a function of a weight, of its shape and dtype
    mask: Mask | None = None  #: the weights that are projected; None: all

    def update(self, grad, param):
        return self.projection(param + grad) - param if self.mask else grad
