import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Literal,
    NonNegative,
    Optimizer,
    Positive,
    Probability,
    Size,
    SubOptimizer,
    ones,
    require,
    scales_loss,
    state,
    tree_add,
    tree_dot,
    tree_where,
)


class ZoomSearch(Optimizer):
    """Scales the update of an optimizer until it meets the strong Wolfe conditions.

    update = a u, with an a of
    f(w + a u) <= f(w) + slope_rtol a s(0)  and  |s(a)| <= curvature_rtol |s(0)|,
    where u is the update of the optimizer and s(a) = <u, g(w + a u)>. Step sizes grow
    until an interval holds one, which cubic and quadratic interpolation then narrow.

    Nocedal & Wright, 2006, algorithms 3.5 and 3.6; near a minimum, the approximate
    decrease of Hager & Zhang, 2006 (ACM TOMS 32), equation 23, is enough. A step needs
    value_and_gradients, and evaluates it at the weights, too: its gradients may be
    clipped. Where no a is found, it is the best one that decreases
    the loss enough; where there is none, the last one, or zero if the loss is not a
    number there. The loss is compared in its own dtype.
    """

    optimizer: SubOptimizer  #: the optimizer of the direction
    max_steps: Size = 20  #: the largest number of step sizes that are tried
    first_size: Literal["one", "last"] = "one"  #: the step size that is tried first
    max_learning_rate: Positive | None = None  #: the largest step size; None: any
    tolerance: NonNegative = 0.0  #: of both conditions
    increase_factor: Positive = 2.0  #: how step sizes grow
    slope_rtol: Probability = 1e-4  #: share of the slope that the loss must fall by
    curvature_rtol: NonNegative = 0.9  #: share of the slope that may be left
    decrease_rtol: NonNegative | None = 1e-6  #: of the approximate decrease; None: none
    size_precision: NonNegative = 1e-5  #: the shortest interval that is narrowed
    accum_dtype: DType | None = None  #: dtype of slopes; None: of each weight

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "gradients that are evaluated here have no scale of the loss: put "
            "DynamicLossScaling around, as in DynamicLossScaling.init(ZoomSearch.init(...))",
        )
        self.size = state(ones, ())  #: the last step size that was not zero

    def interpolated(self, low, high, reference):
        """A step size between two points: of the cubic, the parabola, or the middle."""
        (a, value, slope), (b, b_value, _), (c, c_value, _) = low, high, reference
        width, far = b - a, c - a
        rise = b_value - value - slope * width
        other = c_value - value - slope * far
        scale = (width * far) ** 2 * (width - far)
        third = (far**2 * rise - width**2 * other) / scale
        second = (width**3 * other - far**3 * rise) / scale
        root = lax.sqrt(second * second - 3.0 * third * slope)
        cubic = a + (root - second) / (3.0 * third)
        parabola = a - slope / (2.0 * rise / width**2)
        left, right = jnp.minimum(a, b), jnp.maximum(a, b)
        length = right - left
        cubic_fits = (cubic > left + 0.2 * length) & (cubic < right - 0.2 * length)
        fits = (parabola > left + 0.1 * length) & (parabola < right - 0.1 * length)
        return jnp.where(cubic_fits, cubic, jnp.where(fits, parabola, (a + b) / 2.0))

    def violations(self, point, start):
        """By how much a point misses the decrease, and the small slope."""
        size, value, slope = point
        _, first_value, first_slope = start
        excess = value - first_value - self.slope_rtol * size * first_slope
        if self.decrease_rtol is not None:
            steep = slope - (2.0 * self.slope_rtol - 1.0) * first_slope
            margin = self.decrease_rtol * lax.abs(first_value)
            near = jnp.maximum(steep, value - first_value - margin)
            excess = jnp.minimum(near, excess)
        left = lax.abs(slope) - self.curvature_rtol * lax.abs(first_slope)
        return tuple(
            jnp.where(jnp.isnan(missed), jnp.inf, jnp.maximum(missed, 0.0))
            for missed in (excess, left)
        )

    def step(self, grads, params):
        direction = self.optimizer(grads, params)
        zero = jnp.zeros_like(self.size)
        loss, steepest = self.value_and_gradients(params)
        slope = tree_dot(direction, steepest, self.accum_dtype)
        start = (zero, loss.astype(zero.dtype), slope)

        def at(size):
            moved = tree_add(params, direction, size)
            loss, there = self.value_and_gradients(moved)
            slope = tree_dot(there, direction, self.accum_dtype)
            return size, loss.astype(size.dtype), slope

        def grown(search, new, excess, error):
            (_, loss, slope), (_, last_loss, _) = new, search["last"]
            again = (loss >= last_loss) & (search["tried"] > 0)
            above = (excess > 0.0) | again
            rising = (slope >= 0.0) & ~above
            found = above | rising | (error <= self.tolerance)
            done = error <= self.tolerance
            low = tree_where(rising, new, search["last"])
            high = tree_where(rising, search["last"], new)
            safe = tree_where(excess <= self.tolerance, new, search["safe"])
            if self.max_learning_rate is not None:
                # What is small enough for the slope lies beyond the largest size.
                done = done | ((new[0] >= self.max_learning_rate) & ~found)
            bounds = {"low": low, "high": high, "reference": low, "safe": safe}
            stuck = jnp.zeros_like(found)
            return bounds | {"found": found, "done": done, "stuck": stuck}

        def narrowed(search, new, excess, error):
            low, high, safe = search["low"], search["high"], search["safe"]
            (_, loss, slope), (_, low_loss, _) = new, low
            above = (excess > 0.0) | (loss >= low_loss)
            turned = (slope * (high[0] - low[0]) >= 0.0) & ~above
            better = (excess <= self.tolerance) & (loss < safe[1])
            short = lax.abs(high[0] - low[0]) <= self.size_precision
            safe = tree_where(better, new, safe)
            return {
                "low": tree_where(above, low, new),
                "high": tree_where(above, new, tree_where(turned, low, high)),
                "reference": tree_where(above | turned, high, low),
                "safe": safe,
                "found": search["found"],
                "done": error <= self.tolerance,
                "stuck": short & (safe[0] > 0.0),
            }

        def tried(search):
            larger = self.increase_factor * search["last"][0]
            size = jnp.where(search["tried"] > 0, larger, guess)
            if self.max_learning_rate is not None:
                size = jnp.minimum(size, self.max_learning_rate)
            bounds = (search["low"], search["high"], search["reference"])
            new = at(jnp.where(search["found"], self.interpolated(*bounds), size))
            excess, left = self.violations(new, start)
            error = jnp.maximum(excess, left)
            changed = tree_where(
                search["found"],
                narrowed(search, new, excess, error),
                grown(search, new, excess, error),
            )
            return changed | {
                "last": new,
                "excess": excess,
                "tried": search["tried"] + 1,
            }

        def unfinished(search):
            ended = search["done"] | search["stuck"]
            return ~ended & (search["tried"] < self.max_steps)

        guess = self.size if self.first_size == "last" else jnp.ones_like(self.size)
        no = jnp.zeros((), jnp.bool_)
        names = ("last", "low", "high", "reference", "safe")
        search = dict.fromkeys(names, start) | dict.fromkeys(
            ("found", "done", "stuck"), no
        )
        search |= {"excess": zero, "tried": jnp.zeros((), jnp.int32)}
        search = lax.while_loop(unfinished, tried, search)
        size, safe = search["last"][0], search["safe"][0]
        fallback = (safe > 0.0) | jnp.isinf(search["excess"])
        size = jnp.where(~search["done"] & fallback, safe, size)
        self.size = jnp.where(size > 0.0, size, self.size)
        nothing = jax.tree.map(jnp.zeros_like, direction)
        scaled = tree_add(nothing, direction, size)
        return tree_where(size > 0.0, scaled, nothing)
