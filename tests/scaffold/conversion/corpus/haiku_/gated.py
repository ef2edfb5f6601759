"""Gated attention, as in AlphaFold."""

import haiku as hk
import jax
import jax.numpy as jnp


def glorot_uniform():
    return hk.initializers.VarianceScaling(
        scale=1.0, mode="fan_avg", distribution="uniform"
    )


class GatedAttention(hk.Module):
    """Multihead attention."""

    def __init__(self, config, global_config, output_dim, name="attention"):
        super().__init__(name=name)

        self.config = config
        self.global_config = global_config
        self.output_dim = output_dim

    def __call__(self, q_data, m_data, bias, nonbatched_bias=None):
        """Builds Attention module.

        Arguments:
          q_data: A tensor of queries, shape [batch_size, N_queries, q_channels].
          m_data: A tensor of memories from which the keys and values are
            projected, shape [batch_size, N_keys, m_channels].
          bias: A bias for the attention, shape [batch_size, N_queries, N_keys].
          nonbatched_bias: Shared bias, shape [N_queries, N_keys].

        Returns:
          A float32 tensor of shape [batch_size, N_queries, output_dim].
        """
        # Sensible default for when the config keys are missing
        key_dim = self.config.get("key_dim", int(q_data.shape[-1]))
        value_dim = self.config.get("value_dim", int(m_data.shape[-1]))
        num_head = self.config.num_head
        assert key_dim % num_head == 0
        assert value_dim % num_head == 0
        key_dim = key_dim // num_head
        value_dim = value_dim // num_head

        q_weights = hk.get_parameter(
            "query_w",
            shape=(q_data.shape[-1], num_head, key_dim),
            dtype=q_data.dtype,
            init=glorot_uniform(),
        )
        k_weights = hk.get_parameter(
            "key_w",
            shape=(m_data.shape[-1], num_head, key_dim),
            dtype=q_data.dtype,
            init=glorot_uniform(),
        )
        v_weights = hk.get_parameter(
            "value_w",
            shape=(m_data.shape[-1], num_head, value_dim),
            dtype=q_data.dtype,
            init=glorot_uniform(),
        )

        q = jnp.einsum("bqa,ahc->bqhc", q_data, q_weights) * key_dim ** (-0.5)
        k = jnp.einsum("bka,ahc->bkhc", m_data, k_weights)
        v = jnp.einsum("bka,ahc->bkhc", m_data, v_weights)
        logits = jnp.einsum("bqhc,bkhc->bhqk", q, k) + bias
        if nonbatched_bias is not None:
            logits += jnp.expand_dims(nonbatched_bias, axis=0)
        weights = jax.nn.softmax(logits)
        weighted_avg = jnp.einsum("bhqk,bkhc->bqhc", weights, v)

        if self.global_config.zero_init:
            init = hk.initializers.Constant(0.0)
        else:
            init = glorot_uniform()

        if self.config.gating:
            gating_weights = hk.get_parameter(
                "gating_w",
                shape=(q_data.shape[-1], num_head, value_dim),
                dtype=q_data.dtype,
                init=hk.initializers.Constant(0.0),
            )
            gating_bias = hk.get_parameter(
                "gating_b",
                shape=(num_head, value_dim),
                dtype=q_data.dtype,
                init=hk.initializers.Constant(1.0),
            )

            gate_values = (
                jnp.einsum("bqc, chv->bqhv", q_data, gating_weights) + gating_bias
            )

            gate_values = jax.nn.sigmoid(gate_values)

            weighted_avg *= gate_values

        o_weights = hk.get_parameter(
            "output_w",
            shape=(num_head, value_dim, self.output_dim),
            dtype=q_data.dtype,
            init=init,
        )
        o_bias = hk.get_parameter(
            "output_b",
            shape=(self.output_dim,),
            dtype=q_data.dtype,
            init=hk.initializers.Constant(0.0),
        )

        output = jnp.einsum("bqhc,hco->bqo", weighted_avg, o_weights) + o_bias

        return output
