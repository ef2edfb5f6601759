import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, function, two_sum


@function
def double_sum(
    x: Float["*shape"], where: Bool["# *shape"] | None = None
) -> tuple[Float[""], Float[""]]:
    """Sum of all elements as two numbers, with about twice the digits of their dtype.

    The first is the rounded sum, the second the rest. Elements that `where` leaves out
    count nothing, even where they are no numbers. Halves are added to halves, and what
    each `two_sum` loses is added up beside them.
    """
    if where is not None:
        x = jnp.where(where, x, 0)
    high = x.reshape(-1) if x.size else jnp.zeros((1,), x.dtype)
    low = jnp.zeros_like(high)
    while high.size > 1:
        if high.size % 2:
            high, low = jnp.pad(high, (0, 1)), jnp.pad(low, (0, 1))
        half = high.size // 2
        high, lost = two_sum(high[:half], high[half:])
        low = (low[:half] + low[half:]) + lost
    return two_sum(high[0], low[0])
