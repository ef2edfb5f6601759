"""Transformations of optax, each as the pair of functions that it is."""

from __future__ import annotations

TRANSFORMATIONS = """
def identity():
    def update(updates, state, params=None):
        return updates, state
    return GradientTransformation(init_empty_state, update)

def scale(step_size):
    def update(updates, state, params=None):
        return tree_map(lambda g: step_size * g, updates), state
    return GradientTransformation(init_empty_state, update)

def scale_by_learning_rate(learning_rate, *, flip_sign=True):
    def update(updates, state, params=None):
        return tree_map(
            lambda g: -learning_rate * g if flip_sign else learning_rate * g, updates
        ), state
    return GradientTransformation(init_empty_state, update)

def scale_by_schedule(step_size_fn):
    def update(updates, state, params=None):
        return tree_map(lambda g: step_size_fn * g, updates), state
    return GradientTransformation(init_empty_state, update)

def add_decayed_weights(weight_decay=0.0, mask=True):
    def update(updates, state, params):
        step = tree_map(lambda g, p: g + weight_decay * p if mask else g, updates, params)
        return step, state
    return GradientTransformation(init_empty_state, update)

def clip(max_delta):
    def update(updates, state, params=None):
        return tree_map(lambda g: jnp.clip(g, -max_delta, max_delta), updates), state
    return GradientTransformation(init_empty_state, update)

def clip_by_global_norm(max_norm):
    def update(updates, state, params=None):
        factor = jnp.minimum(1.0, max_norm / jnp.maximum(global_norm(updates), 1e-16))
        return tree_map(lambda g: factor * g, updates), state
    return GradientTransformation(init_empty_state, update)

def trace(decay, nesterov=False, accumulator_dtype=None):
    def init(params):
        return TraceState(trace=tree_map(jnp.zeros_like, params))
    def update(updates, state, params=None):
        trace = tree_map(lambda g, t: g + decay * t, updates, state.trace)
        step = tree_map(lambda g, t: g + decay * t if nesterov else t, updates, trace)
        return step, TraceState(trace=trace)
    return GradientTransformation(init, update)

def ema(decay, debias=True, accumulator_dtype=None):
    def init(params):
        return EmaState(ema=tree_map(jnp.zeros_like, params), count=jnp.zeros([], jnp.int32))
    def update(updates, state, params=None):
        ema = tree_map(lambda g, m: decay * m + (1 - decay) * g, updates, state.ema)
        count = state.count + 1
        unbias = 1 - decay**count if debias else 1.0
        return tree_map(lambda m: m / unbias, ema), EmaState(ema=ema, count=count)
    return GradientTransformation(init, update)

def scale_by_adam(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False):
    def init(params):
        return AdamState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(jnp.zeros_like, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(lambda g, v: b2 * v + (1 - b2) * g * g, updates, state.nu)
        count = state.count + 1
        unbias_mu = 1 - b1**count
        unbias_nu = 1 - b2**count
        unbias_next = 1 - b1 ** (count + 1)
        mean = tree_map(
            lambda g, m: b1 * m / unbias_next + (1 - b1) * g / unbias_mu
            if nesterov else m / unbias_mu,
            updates, mu,
        )
        step = tree_map(
            lambda m, v: m / (jnp.sqrt(v / unbias_nu + eps_root) + eps), mean, nu
        )
        return step, AdamState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_rms(decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, bias_correction=False):
    def init(params):
        return RmsState(
            nu=tree_map(lambda p: jnp.full_like(p, initial_scale), params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        nu = tree_map(lambda g, v: decay * v + (1 - decay) * g * g, updates, state.nu)
        count = state.count + 1
        unbias = 1 - decay**count if bias_correction else 1.0
        def scaled(g, v):
            square = v / unbias if bias_correction else v
            inside = g * lax.rsqrt(square + eps)
            return inside if eps_in_sqrt else g / (jnp.sqrt(square) + eps)
        return tree_map(scaled, updates, nu), RmsState(nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_rss(initial_accumulator_value=0.1, eps=1e-7):
    def init(params):
        total = tree_map(lambda p: jnp.full_like(p, initial_accumulator_value), params)
        return RssState(total=total)
    def update(updates, state, params=None):
        total = tree_map(lambda g, t: g * g + t, updates, state.total)
        step = tree_map(
            lambda g, t: jnp.where(t > 0, lax.rsqrt(t + eps), 0.0) * g, updates, total
        )
        return step, RssState(total=total)
    return GradientTransformation(init, update)

def scale_by_belief(b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov=False):
    def init(params):
        return BeliefState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(jnp.zeros_like, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(
            lambda g, m, v: b2 * v + (1 - b2) * (g - m) ** 2 + eps_root, updates, mu, state.nu
        )
        count = state.count + 1
        unbias_mu = 1 - b1**count
        unbias_nu = 1 - b2**count
        unbias_next = 1 - b1 ** (count + 1)
        mean = tree_map(
            lambda g, m: b1 * m / unbias_next + (1 - b1) * g / unbias_mu
            if nesterov else m / unbias_mu,
            updates, mu,
        )
        step = tree_map(lambda m, v: m / (jnp.sqrt(v / unbias_nu) + eps), mean, nu)
        return step, BeliefState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_trust_ratio(min_norm=0.0, trust_coefficient=1.0, eps=0.0):
    def update(updates, state, params):
        def norm(x):
            least = jnp.maximum(jnp.finfo(x.dtype).tiny, min_norm)
            return word_l2_norm(x) if min_norm == 0.0 else jnp.maximum(word_l2_norm(x), least)
        def scaled(g, p):
            weight = norm(p)
            length = norm(g)
            ratio = trust_coefficient * weight / (length + eps)
            none = (weight == 0.0) | (length == 0.0)
            return g * jnp.where(none, 1.0, ratio)
        return tree_map(scaled, updates, params), state
    return GradientTransformation(init_empty_state, update)

def centralize():
    def update(updates, state, params=None):
        def centered(g):
            if g.ndim > 1:
                return g - word_mean(g, axis=tuple(range(1, g.ndim)), keepdims=True)
            return g
        return tree_map(centered, updates), state
    return GradientTransformation(init_empty_state, update)

def clip_by_block_rms(threshold):
    def update(updates, state, params=None):
        def clipped(g):
            return g / jnp.maximum(1.0, jnp.sqrt(word_mean(g * g)) / threshold)
        return tree_map(clipped, updates), state
    return GradientTransformation(init_empty_state, update)

def scale_by_lion(b1=0.9, b2=0.99, mu_dtype=None):
    def init(params):
        return LionState(mu=tree_map(jnp.zeros_like, params))
    def update(updates, state, params=None):
        step = tree_map(lambda g, m: jnp.sign((1 - b1) * g + b1 * m), updates, state.mu)
        mu = tree_map(lambda g, m: (1 - b2) * g + b2 * m, updates, state.mu)
        return step, LionState(mu=mu)
    return GradientTransformation(init, update)

def scale_by_sign():
    def update(updates, state, params=None):
        return tree_map(jnp.sign, updates), state
    return GradientTransformation(init_empty_state, update)

def set_to_zero():
    def update(updates, state, params=None):
        return tree_map(jnp.zeros_like, updates), state
    return GradientTransformation(init_empty_state, update)

def zero_nans():
    def update(updates, state, params=None):
        return tree_map(lambda g: jnp.where(jnp.isnan(g), 0.0, g), updates), state
    return GradientTransformation(init_empty_state, update)

def keep_params_nonnegative():
    def update(updates, state, params):
        return tree_map(lambda g, p: jnp.where(p + g < 0.0, -p, g), updates, params), state
    return GradientTransformation(init_empty_state, update)

def scale_by_param_block_norm(min_scale=1e-3):
    def update(updates, state, params):
        step = tree_map(
            lambda g, p: g * jnp.maximum(word_l2_norm(p), min_scale), updates, params
        )
        return step, state
    return GradientTransformation(init_empty_state, update)

def scale_by_param_block_rms(min_scale=1e-3):
    def update(updates, state, params):
        step = tree_map(
            lambda g, p: g * jnp.maximum(jnp.sqrt(word_mean(p * p)), min_scale), updates, params
        )
        return step, state
    return GradientTransformation(init_empty_state, update)

def normalize_by_update_norm(scale_factor=1.0, eps=1e-6):
    def update(updates, state, params=None):
        norm = (global_norm(updates) + eps) / scale_factor
        return tree_map(lambda g: g / norm, updates), state
    return GradientTransformation(init_empty_state, update)

def add_noise(eta, gamma, key=None, *, seed=None):
    def init(params):
        return AddNoiseState(count=jnp.zeros([], jnp.int32), rng_key=jax.random.PRNGKey(0))
    def update(updates, state, params=None):
        count = state.count + 1
        deviation = jnp.sqrt(eta / count**gamma)
        rng_key, noise_key = jax.random.split(state.rng_key)
        step = tree_map(
            lambda g: g + deviation * jax.random.normal(noise_key, g.shape, g.dtype), updates
        )
        return step, AddNoiseState(count=count, rng_key=rng_key)
    return GradientTransformation(init, update)

def scale_by_polyak(f_min=0.0, max_learning_rate=1.0, eps=0.0, variant="sps"):
    def update(updates, state, params=None, *, value):
        square = optax.tree.norm(updates, squared=True) + eps
        gap = value - f_min if variant == "sps" else jnp.maximum(value - f_min, 0.0)
        flat = square <= 2.0**-52
        least = jnp.minimum(gap / jnp.where(flat, 1.0, square), max_learning_rate)
        step = jnp.where(flat, 0.0, least)
        return tree_map(lambda g: step * g, updates), state
    return GradientTransformation(init_empty_state, update)

def adaptive_grad_clip(clipping, eps=1e-3, axis=None):
    def update(updates, state, params):
        def clipped(g, p):
            few = len([s for s in p.shape if s > 1]) < 2
            several = tuple(range(p.ndim - 1)) if p.ndim > 3 else 0
            axes = axis if axis is not None else (None if few else several)
            norm = word_l2_norm(g, axis=axes, keepdims=True)
            most = clipping * jnp.maximum(word_l2_norm(p, axis=axes, keepdims=True), eps)
            return jnp.where(norm < most, g, g * (most / jnp.maximum(norm, 1e-6)))
        return tree_map(clipped, updates, params), state
    return GradientTransformation(init_empty_state, update)

def apply_every(k=1):
    def init(params):
        return ApplyEvery(
            grad_acc=tree_map(jnp.zeros_like, params), count=jnp.zeros([], jnp.int32)
        )
    def update(updates, state, params=None):
        place = state.count % k
        acc = tree_map(
            lambda g, old: jnp.where(place == 0, g, old + g), updates, state.grad_acc
        )
        step = tree_map(lambda a: jnp.where(place == k - 1, a, jnp.zeros_like(a)), acc)
        return step, ApplyEvery(grad_acc=acc, count=state.count + 1)
    return GradientTransformation(init, update)
"""
