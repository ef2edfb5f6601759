"""Transformations of optax with moments of their own, each as the pair of functions that it is."""

from __future__ import annotations

ADAPTIVE = """
def scale_by_stddev(
    decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, bias_correction=False
):
    def init(params):
        return StddevState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(lambda p: jnp.full_like(p, initial_scale), params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: decay * m + (1 - decay) * g, updates, state.mu)
        nu = tree_map(lambda g, v: decay * v + (1 - decay) * g * g, updates, state.nu)
        count = state.count + 1
        unbias = 1 - decay**count if bias_correction else 1.0
        def scaled(g, m, v):
            mean = m / unbias if bias_correction else m
            variance = (v / unbias if bias_correction else v) - mean * mean
            inside = g * lax.rsqrt(variance + eps)
            return inside if eps_in_sqrt else g / (jnp.sqrt(variance) + eps)
        return tree_map(scaled, updates, mu, nu), StddevState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_amsgrad(
    b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, bias_correction_mu=True,
    bias_correction_nu=True,
):
    def init(params):
        return AmsgradState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(jnp.zeros_like, params),
            nu_max=tree_map(jnp.zeros_like, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(lambda g, v: b2 * v + (1 - b2) * g * g, updates, state.nu)
        count = state.count + 1
        unbias_mu = 1 - b1**count if bias_correction_mu else 1.0
        unbias_nu = 1 - b2**count if bias_correction_nu else 1.0
        nu_max = tree_map(lambda v, most: jnp.maximum(most, v / unbias_nu), nu, state.nu_max)
        step = tree_map(
            lambda m, v: (m / unbias_mu) / (jnp.sqrt(v + eps_root) + eps), mu, nu_max
        )
        return step, AmsgradState(mu=mu, nu=nu, nu_max=nu_max, count=count)
    return GradientTransformation(init, update)

def scale_by_adamax(b1=0.9, b2=0.999, eps=1e-8):
    def init(params):
        return AdamaxState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(jnp.zeros_like, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(lambda g, v: jnp.maximum(jnp.abs(g) + eps, b2 * v), updates, state.nu)
        count = state.count + 1
        unbias = 1 - b1**count
        step = tree_map(
            lambda m, v: (m / unbias) / jnp.maximum(v, jnp.finfo(v.dtype).tiny), mu, nu
        )
        return step, AdamaxState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_adadelta(rho=0.9, eps=1e-6):
    def init(params):
        return AdadeltaState(
            e_g=tree_map(jnp.zeros_like, params), e_x=tree_map(jnp.zeros_like, params)
        )
    def update(updates, state, params=None):
        e_g = tree_map(lambda g, v: rho * v + (1 - rho) * g * g, updates, state.e_g)
        step = tree_map(
            lambda g, v, x: jnp.sqrt(x + eps) * (g * lax.rsqrt(v + eps)), updates, e_g, state.e_x
        )
        e_x = tree_map(lambda s, x: rho * x + (1 - rho) * s * s, step, state.e_x)
        return step, AdadeltaState(e_g=e_g, e_x=e_x)
    return GradientTransformation(init, update)

def scale_by_yogi(b1=0.9, b2=0.999, eps=1e-3, eps_root=0.0, initial_accumulator_value=1e-6):
    def init(params):
        begun = tree_map(lambda p: jnp.full_like(p, initial_accumulator_value), params)
        return YogiState(mu=begun, nu=begun, count=jnp.zeros([], jnp.int32))
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(
            lambda g, v: v - (1 - b2) * jnp.sign(v - g * g) * g * g, updates, state.nu
        )
        count = state.count + 1
        unbias_mu = 1 - b1**count
        unbias_nu = 1 - b2**count
        step = tree_map(
            lambda m, v: (m / unbias_mu) / (jnp.sqrt(v / unbias_nu + eps_root) + eps), mu, nu
        )
        return step, YogiState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_radam(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov=False):
    def init(params):
        return RadamState(
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
        longest = 2.0 / (1.0 - b2) - 1.0
        length = longest - 2.0 * count * b2**count / unbias_nu
        safe = jnp.maximum(length, 5.0)
        ratio = jnp.sqrt(
            (safe - 4.0) * (safe - 2.0) * longest / ((longest - 4.0) * (longest - 2.0) * safe)
        )
        mean = tree_map(
            lambda g, m: b1 * m / unbias_next + (1 - b1) * g / unbias_mu
            if nesterov else m / unbias_mu,
            updates, mu,
        )
        step = tree_map(
            lambda m, v: jnp.where(
                length >= threshold, ratio * (m / (jnp.sqrt(v / unbias_nu + eps_root) + eps)), m
            ),
            mean, nu,
        )
        return step, RadamState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_adan(b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=0.0):
    def init(params):
        return AdanState(
            m=tree_map(jnp.zeros_like, params),
            v=tree_map(jnp.zeros_like, params),
            n=tree_map(jnp.zeros_like, params),
            g=tree_map(jnp.zeros_like, params),
            t=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        change = tree_map(
            lambda g, old: jnp.where(state.t == 0, 0.0, g - old), updates, state.g
        )
        m = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.m)
        v = tree_map(lambda d, v: b2 * v + (1 - b2) * d, change, state.v)
        n = tree_map(
            lambda g, d, n: b3 * n + (1 - b3) * (g + (1 - b2) * d) ** 2,
            updates, change, state.n,
        )
        t = state.t + 1
        unbias_m = 1 - b1**t
        unbias_v = 1 - b2**t
        unbias_n = 1 - b3**t
        step = tree_map(
            lambda m, v, n: (m / unbias_m + (1 - b2) * (v / unbias_v))
            / (jnp.sqrt(n / unbias_n + eps_root) + eps),
            m, v, n,
        )
        return step, AdanState(m=m, v=v, n=n, g=updates, t=t)
    return GradientTransformation(init, update)

def scale_by_rprop(
    learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0
):
    def init(params):
        return RpropState(
            sizes=tree_map(lambda p: jnp.full_like(p, learning_rate), params),
            steps=tree_map(jnp.zeros_like, params),
        )
    def update(updates, state, params=None):
        agreement = tree_map(lambda g, old: g * old, updates, state.steps)
        def sized(a, size):
            grown = jnp.where(a > 0.0, size * eta_plus, size * eta_minus)
            return jnp.where(a == 0.0, size, jnp.clip(grown, min_step_size, max_step_size))
        sizes = tree_map(sized, agreement, state.sizes)
        steps = tree_map(
            lambda a, g, size: jnp.where(a < 0.0, 0.0, size * jnp.sign(g)),
            agreement, updates, sizes,
        )
        taken = tree_map(lambda a, old: jnp.where(a < 0.0, 0.0, old), agreement, state.steps)
        return taken, RpropState(sizes=sizes, steps=steps)
    return GradientTransformation(init, update)

def scale_by_optimistic_gradient(alpha=1.0, beta=1.0):
    def init(params):
        return OptimisticState(
            previous=tree_map(jnp.zeros_like, params), count=jnp.zeros([], jnp.int32)
        )
    def update(updates, state, params=None):
        def ahead(g, old):
            return (alpha + beta) * g - beta * jnp.where(state.count == 0, g, old)
        step = tree_map(ahead, updates, state.previous)
        return step, OptimisticState(previous=updates, count=state.count + 1)
    return GradientTransformation(init, update)

def scale_by_novograd(
    b1=0.9, b2=0.25, eps=1e-8, eps_root=0.0, weight_decay=0.0, mu_dtype=None
):
    def init(params):
        return NovogradState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(lambda p: jnp.zeros((), p.dtype), params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params):
        square = tree_map(lambda g: word_sum(g * g), updates)
        nu = tree_map(
            lambda s, v: jnp.where(state.count == 0, s, b2 * v + (1 - b2) * s), square, state.nu
        )
        mu = tree_map(
            lambda g, p, m, v: b1 * m + (g / (jnp.sqrt(v + eps_root) + eps) + weight_decay * p),
            updates, params, state.mu, nu,
        )
        return mu, NovogradState(mu=mu, nu=nu, count=state.count + 1)
    return GradientTransformation(init, update)

def scale_by_factored_rms(
    factored=True, decay_rate=0.8, step_offset=0, min_dim_size_to_factor=128, epsilon=1e-30
):
    def init(params):
        def row(p):
            axes = sorted(range(p.ndim), key=lambda axis: p.shape[axis])[-2:]
            large = factored and p.ndim > 1 and p.shape[axes[0]] >= min_dim_size_to_factor
            rest = tuple(size for axis, size in enumerate(p.shape) if axis != axes[-1])
            return jnp.zeros(rest if large else (1,), p.dtype)
        def col(p):
            axes = sorted(range(p.ndim), key=lambda axis: p.shape[axis])[-2:]
            large = factored and p.ndim > 1 and p.shape[axes[0]] >= min_dim_size_to_factor
            rest = tuple(size for axis, size in enumerate(p.shape) if axis != axes[0])
            return jnp.zeros(rest if large else (1,), p.dtype)
        def whole(p):
            axes = sorted(range(p.ndim), key=lambda axis: p.shape[axis])[-2:]
            large = factored and p.ndim > 1 and p.shape[axes[0]] >= min_dim_size_to_factor
            return jnp.zeros((1,) if large else p.shape, p.dtype)
        return FactoredState(
            v_row=tree_map(row, params),
            v_col=tree_map(col, params),
            v=tree_map(whole, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        decay = 1.0 - (state.count - step_offset + 1.0) ** (-decay_rate)
        square = tree_map(
            lambda g: g * g + jnp.maximum(jnp.finfo(g.dtype).tiny, epsilon), updates
        )
        def row(s, v):
            axes = sorted(range(s.ndim), key=lambda axis: s.shape[axis])[-2:]
            large = factored and s.ndim > 1 and s.shape[axes[0]] >= min_dim_size_to_factor
            return decay * v + (1.0 - decay) * word_mean(s, axis=axes[-1]) if large else v
        def col(s, v):
            axes = sorted(range(s.ndim), key=lambda axis: s.shape[axis])[-2:]
            large = factored and s.ndim > 1 and s.shape[axes[0]] >= min_dim_size_to_factor
            return decay * v + (1.0 - decay) * word_mean(s, axis=axes[0]) if large else v
        def whole(s, v):
            axes = sorted(range(s.ndim), key=lambda axis: s.shape[axis])[-2:]
            large = factored and s.ndim > 1 and s.shape[axes[0]] >= min_dim_size_to_factor
            return v if large else decay * v + (1.0 - decay) * s
        v_row = tree_map(row, square, state.v_row)
        v_col = tree_map(col, square, state.v_col)
        v = tree_map(whole, square, state.v)
        def scaled(g, r, c, v):
            axes = sorted(range(g.ndim), key=lambda axis: g.shape[axis])[-2:]
            large = factored and g.ndim > 1 and g.shape[axes[0]] >= min_dim_size_to_factor
            if large:
                within = axes[0] - 1 if axes[0] > axes[1] else axes[0]
                rows = lax.rsqrt(r / word_mean(r, axis=within, keepdims=True))
                return g * jnp.expand_dims(rows, axes[1]) * jnp.expand_dims(lax.rsqrt(c), axes[0])
            return g * lax.rsqrt(v)
        step = tree_map(scaled, updates, v_row, v_col, v)
        return step, FactoredState(v_row=v_row, v_col=v_col, v=v, count=state.count + 1)
    return GradientTransformation(init, update)
"""
