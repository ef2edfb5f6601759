import jax
import jax.numpy as jnp
import numpy as np


def info_nce(queries, keys, temperature=0.1):
    """Contrastive loss of pairs in a batch."""
    q = queries / jnp.linalg.norm(queries, axis=-1, keepdims=True)
    k = keys / jnp.linalg.norm(keys, axis=-1, keepdims=True)
    logits = q @ k.T / temperature
    labels = jnp.arange(q.shape[0])
    return -jnp.mean(jax.nn.log_softmax(logits, axis=-1)[labels, labels])
