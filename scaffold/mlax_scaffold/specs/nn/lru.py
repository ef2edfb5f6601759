import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Float,
    Layer,
    Positive,
    Precision,
    Probability,
    PyTree,
    Size,
    normal,
    require,
    reset_carry,
    ring_phases,
    ring_radii,
    scan,
    spread,
    trainable,
    variance_scaling,
)


class LRU(Layer):
    """Linear recurrent unit: a diagonal complex recurrence over the axis of time.

    h_t = a * h_(t-1) + g * (x_t B),  y_t = Re(h_t C) + d * x_t, where a is complex with
    |a| = exp(-exp(log_decay)) and the angle exp(log_phase), and g = sqrt(1 - |a|^2).
    All steps are computed at once, by an associative scan; a step alone is a sequence
    of one, with the carry: h as a pair of arrays, its real and imaginary parts.

    Orvieto et al., 2023, arXiv:2303.06349. There g is a weight that starts at this
    value. Complex numbers are pairs of real ones, which half precision has too.

    Where `reset` is True, a sequence begins anew: the state is zeros before the step.
    """

    features: Size  #: size of the last axis of the input and of the output
    state_features: Size  #: number of complex elements of the state
    min_radius: Probability = 0.0  #: smallest |a| at first
    max_radius: Probability = 1.0  #: largest |a| at first
    max_phase: Positive = 6.28  #: largest angle at first
    return_carry: bool = False  #: whether the result is (y, the last carry)
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        require(
            self.min_radius < self.max_radius, "min_radius must be below max_radius"
        )
        size, state = self.features, self.state_features
        self.log_decay = trainable(
            ring_radii(self.min_radius, self.max_radius), (state,)
        )
        self.log_phase = trainable(ring_phases(self.max_phase), (state,))
        half, whole = (size, state), (state, size)
        self.input_real = trainable(variance_scaling(0.5, "fan_in", "normal"), half)
        self.input_imaginary = trainable(
            variance_scaling(0.5, "fan_in", "normal"), half
        )
        self.output_real = trainable(variance_scaling(1.0, "fan_in", "normal"), whole)
        self.output_imaginary = trainable(
            variance_scaling(1.0, "fan_in", "normal"), whole
        )
        self.skip = trainable(normal(1.0), (size,))

    def forward(
        self,
        x: Float["*batch time features"],
        *,
        carry: tuple[Float["*batch state_features"], Float["*batch state_features"]]
        | None = None,
        reset: Bool["*batch time"] | None = None,
    ) -> PyTree:
        decay = jnp.exp(self.log_decay)
        angle = jnp.exp(self.log_phase)
        # 1 - |a|^2 without cancellation, also where |a| rounds to 1.
        scale = jnp.sqrt(-jnp.expm1(-2.0 * decay))
        a = (jnp.exp(-decay) * jnp.cos(angle), jnp.exp(-decay) * jnp.sin(angle))
        shape = (*(1,) * (x.ndim - 2), x.shape[-2], self.state_features)
        real = x.dot(self.input_real, precision=self.precision)
        imaginary = x.dot(self.input_imaginary, precision=self.precision)
        scale = spread(scale, real.shape)
        u = (scale * real, scale * imaginary)

        def multiply(a, b):
            return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

        def add(a, b):
            return a[0] + b[0], a[1] + b[1]

        def combine(first, second):
            (a, h), (b, u) = first, second
            wide = [spread(part, h[0].shape) for part in b]
            return multiply(a, b), add(multiply(wide, h), u)

        steps = [jnp.broadcast_to(spread(part, shape), shape) for part in a]
        if reset is not None:
            # Nothing of the state before a step is kept by a factor of zero.
            steps = [
                reset_carry(reset, jnp.broadcast_to(part, u[0].shape)) for part in steps
            ]
        axis = x.ndim - 2
        if isinstance(x.shape[axis], int):
            powers, h = lax.associative_scan(combine, (steps, u), axis=axis)
        else:
            # The number of steps is a symbol: one after another.
            slices = jax.tree.map(lambda part: jnp.moveaxis(part, axis, 0), (steps, u))
            zero = jax.tree.map(lambda part: jnp.zeros_like(part[0]), slices)
            one = (jnp.ones_like(zero[0][0]), zero[0][1])

            def step(before, now):
                after = combine(before, now)
                return after, after

            _, parts = scan(step, (one, zero[1]), slices)
            powers, h = jax.tree.map(lambda part: jnp.moveaxis(part, 0, axis), parts)
        if carry is not None:
            start = [spread(part[..., None, :], u[0].shape) for part in carry]
            powers = [spread(part, h[0].shape) for part in powers]
            h = add(multiply(powers, start), h)
        y = h[0].dot(self.output_real, precision=self.precision)
        y = y - h[1].dot(self.output_imaginary, precision=self.precision)
        y = y + spread(self.skip, x.shape) * x
        if not self.return_carry:
            return y
        return y, jax.tree.map(lambda part: part[..., -1, :], h)
