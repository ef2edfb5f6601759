"""Transformations that look at all gradients at once, and keep numbers beside moments."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import optax.tree_utils as otu


class NormState(NamedTuple):
    average: jax.Array


def follow_norm(decay: float = 0.9):
    """Gives gradients the norm that they had on average."""

    def init_fn(params):
        return NormState(average=jnp.asarray(1.0))

    def update_fn(updates, state, params=None):
        norm = optax.global_norm(updates)
        average = decay * state.average + (1 - decay) * norm
        updates = jax.tree.map(lambda g: g * average / (norm + 1e-3), updates)
        return updates, NormState(average=average)

    return optax.GradientTransformation(init_fn, update_fn)


class RestartState(NamedTuple):
    count: jax.Array
    momentum: Any


def restarting_momentum(beta: float = 0.9, period: int = 3):
    """Momentum that is forgotten every few steps."""

    def init_fn(params):
        zeros = jax.tree.map(jnp.zeros_like, params)
        return RestartState(jnp.zeros([], jnp.int32), zeros)

    def update_fn(updates, state, params=None):
        count = jnp.where(state.count >= period, 0, state.count + 1)
        momentum = jax.tree.map(
            lambda g, m: jnp.where(count == 0, g, beta * m + g), updates, state.momentum
        )
        return momentum, RestartState(count, momentum)

    return optax.GradientTransformation(init_fn, update_fn)


class TravelState(NamedTuple):
    first: Any
    total: jax.Array
    distance: jax.Array


def distance_traveled(epsilon: float = 1e-4):
    """Distance over gradients (arXiv:2302.12022)."""

    def init_fn(params):
        return TravelState(params, jnp.zeros([]), jnp.asarray(epsilon))

    def update_fn(updates, state, params):
        moved = otu.tree_l2_norm(otu.tree_sub(params, state.first))
        distance = jnp.maximum(state.distance, moved)
        total = state.total + otu.tree_l2_norm(updates, squared=True)
        rate = distance / jnp.sqrt(total + 1e-8)
        new_state = TravelState(state.first, total, distance)
        return otu.tree_scalar_mul(-rate, updates), new_state

    return optax.GradientTransformation(init_fn, update_fn)


def gap_over_square(most: float = 1.0):
    """The step of Polyak, for a loss whose least value is zero."""

    def update_fn(updates, state, params=None, *, value, **extra_args):
        del params, extra_args
        rate = jnp.minimum(value / (otu.tree_vdot(updates, updates) + 1e-8), most)
        return otu.tree_scalar_mul(-rate, updates), state

    return optax.GradientTransformationExtraArgs(optax.init_empty_state, update_fn)


class WindowState(NamedTuple):
    norms: jax.Array
    index: jax.Array


def clip_by_last_norms(window: int = 4, factor: float = 1.5):
    """Clips by the mean of the last norms."""

    def init(params):
        return WindowState(jnp.ones((window,)), jnp.zeros([], jnp.int32))

    def update(updates, state, params=None):
        norm = optax.global_norm(updates)
        limit = factor * jnp.mean(state.norms)
        scale = jnp.minimum(1.0, limit / jnp.maximum(norm, 1e-12))
        norms = state.norms.at[state.index % window].set(norm)
        updates = jax.tree.map(lambda g: scale * g, updates)
        return updates, WindowState(norms, state.index + 1)

    return optax.GradientTransformation(init, update)


class SkipState(NamedTuple):
    usual: jax.Array
    skipped: jax.Array


def skip_outliers(threshold: float = 3.0):
    """Leaves out gradients that are much longer than usual, or not finite, and counts them."""

    def init(params):
        return SkipState(jnp.array(1.0), jnp.array(0, dtype=jnp.int32))

    def update(updates, state, params=None):
        finite = jax.tree.reduce(
            jnp.logical_and, jax.tree.map(lambda g: jnp.all(jnp.isfinite(g)), updates)
        )
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(updates)))
        keep = finite & (norm < threshold * state.usual)
        updates = jax.tree.map(lambda g: jnp.where(keep, g, 0.0), updates)
        usual = jnp.where(keep, 0.9 * state.usual + 0.1 * norm, state.usual)
        return updates, SkipState(usual, state.skipped + jnp.where(keep, 0, 1))

    return optax.GradientTransformation(init, update)


def projected_off(strength: float = 0.5):
    """Gradients without what shows along the weights."""

    @optax.stateless
    def project(updates, params):
        along = otu.tree_vdot(updates, params)
        square = otu.tree_l2_norm(params, squared=True)
        return jax.tree.map(
            lambda g, p: g - strength * along / (square + 1e-3) * p, updates, params
        )

    return project


class NoiseState(NamedTuple):
    count: jax.Array
    key: jax.Array


def annealed_noise(eta: float = 0.01, gamma: float = 0.55, seed: int = 0):
    """Gradients with noise that becomes less (arXiv:1511.06807)."""

    def init_fn(params):
        return NoiseState(jnp.zeros([], jnp.int32), jax.random.PRNGKey(seed))

    def update_fn(updates, state, params=None):
        key, sub = jax.random.split(state.key)
        count = optax.safe_int32_increment(state.count)
        deviation = jnp.sqrt(eta / count**gamma)
        noise = otu.tree_random_like(sub, updates, jax.random.normal)
        updates = jax.tree.map(
            lambda g, n: g + deviation.astype(g.dtype) * n, updates, noise
        )
        return updates, NoiseState(count, key)

    return optax.GradientTransformation(init_fn, update_fn)
