import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Block,
    Bool,
    Float,
    Int,
    Literal,
    PyTree,
    SubLayer,
    require,
)


class Bidirectional(Block):
    """Two recurrent layers, one of them from the end to the beginning.

    With `lengths`, which both layers take, the second one begins at the end of each
    sequence. Schuster & Paliwal, 1997, IEEE Transactions on Signal Processing 45(11).
    """

    ahead: SubLayer  #: an initialized layer over sequences, such as Recurrent
    back: SubLayer  #: another one, which sees time reversed
    #: how the two results become one
    merge: Literal["concatenate", "add", "multiply", "average"] = "concatenate"
    return_carry: bool = False  #: as of both layers; the carry is (ahead's, back's)
    time_major: bool = False  #: whether time is the first axis, else the last but one

    def forward(
        self,
        x: Float["time *batch features if time_major else *batch time features"],
        *,
        carry: PyTree | None = None,
        reset: Bool["time *batch if time_major else *batch time"] | None = None,
        lengths: Int["*batch"] | None = None,
    ) -> PyTree:
        # A carry is (ahead's before the first step, back's before the last one).
        axis = 0 if self.time_major else x.ndim - 2
        start, end = (None, None) if carry is None else carry
        places = None
        if lengths is not None:
            steps = lax.broadcasted_iota(jnp.int32, x.shape[:-1], axis)
            last = jnp.expand_dims(lengths.astype(jnp.int32), axis) - 1
            places = jnp.where(steps > last, steps, last - steps)

        def turned(x):
            if places is None:
                return jnp.flip(x, axis)
            index = lax.expand_dims(places, range(places.ndim, x.ndim))
            return jnp.take_along_axis(x, index, axis)

        ends = None
        if reset is not None:
            # Going back, a sequence begins where the next one is about to.
            first = lax.broadcasted_iota(jnp.int32, reset.shape, axis) == 0
            ends = jnp.roll(turned(reset), 1, axis) & ~first
        y = self.ahead(x, carry=start, reset=reset, lengths=lengths)
        z = self.back(turned(x), carry=end, reset=ends, lengths=lengths)
        for result in (y, z):
            require(
                isinstance(result, tuple) == self.return_carry,
                "return_carry says whether both layers return (y, carry)",
            )
        if self.return_carry:
            (y, start), (z, end) = y, z
        z = turned(z)
        if self.merge == "concatenate":
            y = jnp.concatenate([y, z], -1)
        elif self.merge == "multiply":
            y = y * z
        else:
            y = y + z if self.merge == "add" else 0.5 * (y + z)
        return (y, (start, end)) if self.return_carry else y
