import jax
import jax.numpy as jnp


def focal_loss(logits, targets, gamma=2.0, alpha=0.25):
    """Focal loss of binary labels (Lin et al., 2017)."""
    p = jax.nn.sigmoid(logits)
    ce = (
        jnp.maximum(logits, 0) - logits * targets + jnp.log1p(jnp.exp(-jnp.abs(logits)))
    )
    p_t = p * targets + (1 - p) * (1 - targets)
    alpha_t = alpha * targets + (1 - alpha) * (1 - targets)
    return alpha_t * ce * (1 - p_t) ** gamma
