import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Block,
    Bool,
    Cell,
    Float,
    Int,
    PyTree,
    Size,
    cast,
    scan,
)


class Recurrent(Block):
    """A cell along the axis of time: (y_t, carry) = cell((x_t, carry)).

    The weights are cast once, before the loop. In 16 bits their gradients are computed
    for all steps at once, so that their error does not grow with the steps. A cell over
    images needs `time_major`. Where `reset` is True, the carry is the initial one before
    the step. With `lengths` a sequence has as many steps: beyond them y is zero and the
    carry stays, also where time runs back. Other keyword inputs are the cell's, and the
    same in each step.
    """

    cell: Cell  #: an initialized cell, with a method `initial_carry`
    reverse: bool = False  #: whether time runs from the last step to the first
    unroll: Size = 1  #: steps in one turn of the compiled loop; the length: no loop
    return_carry: bool = False  #: whether the result is (y, the last carry)
    time_major: bool = False  #: whether time is the first axis, else the last but one

    def forward(
        self,
        x: Float["time *batch features if time_major else *batch time features"],
        *,
        carry: PyTree | None = None,
        reset: Bool["time *batch if time_major else *batch time"] | None = None,
        lengths: Int["*batch"] | None = None,
        **inputs: PyTree,
    ) -> PyTree:
        axis = 0 if self.time_major else x.ndim - 2
        x = jnp.moveaxis(x, axis, 0)
        start = self.cell.initial_carry(x.shape[1:], x.dtype)
        carry = start if carry is None else carry
        weights = cast(self.cell.trainables, dtype=x.dtype)
        draws = self.keys(x.shape[0])
        draws = draws if isinstance(draws, jax.Array) else None

        def chosen(mask, new, old):
            return jax.tree.map(
                lambda n, o: jnp.where(
                    lax.expand_dims(mask, range(mask.ndim, n.ndim)), n, o
                ),
                new,
                old,
            )

        def step(loop, slices):
            carry, states = loop
            x, fresh, there, draw = slices
            if fresh is not None:
                carry = chosen(fresh, start, carry)
            before = carry
            (y, carry), states = self.cell.apply(
                (x, carry), weights, states, draw, **inputs
            )
            if there is not None:
                carry = chosen(there, carry, before)
                y = chosen(there, y, jax.tree.map(jnp.zeros_like, y))
            return (carry, states), y

        resets = None if reset is None else jnp.moveaxis(reset, axis, 0)
        within = None
        if lengths is not None:
            steps = lax.broadcasted_iota(jnp.int32, (x.shape[0], *lengths.shape), 0)
            within = steps < lengths.astype(jnp.int32)
        (carry, states), y = scan(
            step,
            (carry, self.cell.non_trainables),
            (x, resets, within, draws),
            reverse=self.reverse,
            unroll=self.unroll,
        )
        self.cell.non_trainables = states
        y = jnp.moveaxis(y, 0, axis)
        return (y, carry) if self.return_carry else y
