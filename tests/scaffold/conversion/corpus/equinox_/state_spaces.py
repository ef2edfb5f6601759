import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class S4D(eqx.Module):
    """Diagonal state space layer, run as a scan."""

    log_dt: jax.Array
    A_real: jax.Array
    B: jax.Array
    C: jax.Array
    D: jax.Array
    out: eqx.nn.Linear

    def __init__(self, d_model, d_state=16, dt_min=0.001, dt_max=0.1, *, key):
        k1, k2, k3 = jr.split(key, 3)
        u = jr.uniform(k1, (d_model,))
        self.log_dt = u * (jnp.log(dt_max) - jnp.log(dt_min)) + jnp.log(dt_min)
        self.A_real = jnp.log(0.5 * jnp.ones((d_model, d_state)))
        self.B = jnp.ones((d_model, d_state))
        self.C = jr.normal(k2, (d_model, d_state)) / jnp.sqrt(d_state)
        self.D = jnp.ones((d_model,))
        self.out = eqx.nn.Linear(d_model, d_model, key=k3)

    def __call__(self, u):
        dt = jnp.exp(self.log_dt)[:, None]
        A = -jnp.exp(self.A_real)
        dA = jnp.exp(dt * A)
        dB = dt * self.B

        def step(h, u_t):
            h = dA * h + dB * u_t[:, None]
            y = jnp.sum(h * self.C, axis=-1)
            return h, y

        h0 = jnp.zeros_like(self.A_real)
        _, y = jax.lax.scan(step, h0, u)
        y = y + u * self.D
        return jax.vmap(self.out)(jax.nn.gelu(y))
