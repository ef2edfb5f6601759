import haiku as hk
import jax
import jax.numpy as jnp


class GRUCore(hk.RNNCore):
    """A gated recurrent unit with a norm on the hidden state."""

    def __init__(self, hidden_size, w_i_init=None, name=None):
        super().__init__(name=name)
        self.hidden_size = hidden_size
        self.w_i_init = w_i_init or hk.initializers.VarianceScaling()

    def __call__(self, inputs, state):
        input_size = inputs.shape[-1]
        w_i = hk.get_parameter(
            "w_i", [input_size, 3 * self.hidden_size], inputs.dtype, init=self.w_i_init
        )
        w_h = hk.get_parameter(
            "w_h",
            [self.hidden_size, 3 * self.hidden_size],
            inputs.dtype,
            init=hk.initializers.Orthogonal(),
        )
        b = hk.get_parameter("b", [3 * self.hidden_size], inputs.dtype, init=jnp.zeros)
        w_h_z, w_h_a = jnp.split(
            w_h, indices_or_sections=[2 * self.hidden_size], axis=1
        )
        b_z, b_a = jnp.split(b, indices_or_sections=[2 * self.hidden_size], axis=0)
        gates_x = jnp.matmul(inputs, w_i)
        zr_x, a_x = jnp.split(
            gates_x, indices_or_sections=[2 * self.hidden_size], axis=-1
        )
        zr_h = jnp.matmul(state, w_h_z)
        zr = zr_x + zr_h + jnp.broadcast_to(b_z, zr_h.shape)
        z, r = jnp.split(jax.nn.sigmoid(zr), indices_or_sections=2, axis=-1)
        a_h = jnp.matmul(r * state, w_h_a)
        a = jnp.tanh(a_x + a_h + jnp.broadcast_to(b_a, a_h.shape))
        next_state = (1 - z) * state + z * a
        return hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(
            next_state
        ), next_state

    def initial_state(self, batch_size):
        state = jnp.zeros([self.hidden_size])
        if batch_size is not None:
            state = jnp.broadcast_to(state, (batch_size, *state.shape))
        return state
