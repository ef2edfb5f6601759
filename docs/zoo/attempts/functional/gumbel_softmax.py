import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Key, Positive, function, softmax


@function
def gumbel_softmax(
    logits: Float["*batch classes"],
    key: Key,
    *,
    temperature: Positive = 1.0,  #: of the relaxation
    hard: bool = False,  #: whether the result is one-hot, with the gradient of the soft one
) -> Float["*batch classes"]:
    """Sample of a relaxed categorical distribution.

    Jang, Gu & Poole, 2017, Categorical Reparameterization with Gumbel-Softmax,
    arXiv:1611.01144; Maddison, Mnih & Teh, 2017, arXiv:1611.00712.
    """
    gumbel = -jnp.log(-jnp.log(jax.random.uniform(key, logits.shape, minval=1e-20)))
    soft = softmax((logits + gumbel) / temperature, axis=-1)
    if not hard:
        return soft
    one_hot = jax.nn.one_hot(soft.argmax(-1), logits.shape[-1], dtype=soft.dtype)
    return one_hot - jax.lax.stop_gradient(soft) + soft
