import jax
from jax import lax

from mlax_scaffold.spec import Block, Literal, Positive, PyTree, Size, SubLayer

# Butcher tableaus: the rows of A, and b.
TABLEAUS = {
    "euler": ([[]], [1.0]),
    "midpoint": ([[], [0.5]], [0.0, 1.0]),
    "rk4": ([[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
}


def axpy(a, x, y):
    return jax.tree.map(lambda xi, yi: a * xi + yi, x, y)


class NeuralODE(Block):
    """Solution at time `end` of dh/dt = f(h) with h(0) = x, by a Runge-Kutta method.

    Chen et al., 2018, Neural Ordinary Differential Equations, arXiv:1806.07366. Gradients
    are those of the discretization.
    """

    layer: SubLayer  #: f
    method: Literal["euler", "midpoint", "rk4"] = "rk4"  #: the method
    end: Positive = 1.0  #: time at which the solution is taken
    steps: Size = 10  #: number of steps

    def forward(self, x: PyTree) -> PyTree:
        dt = self.end / self.steps
        rows, b = TABLEAUS[self.method]

        def step(h, _):
            ks = []
            for row in rows:
                y = h
                for a, k in zip(row, ks):
                    y = axpy(dt * a, k, y)
                ks.append(self.layer(y))
            for weight, k in zip(b, ks):
                h = axpy(dt * weight, k, h)
            return h, None

        h, _ = lax.scan(step, x, None, length=self.steps)
        return h
