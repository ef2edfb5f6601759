import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Key, Positive, function


@function
def mixup(
    images: Float["batch *shape"],
    labels: Float["batch classes"],
    key: Key,
    *,
    alpha: Positive = 0.2,  #: of the Beta distribution that the coefficient is drawn of
) -> tuple[Float["batch *shape"], Float["batch classes"]]:
    """Convex combinations of random pairs of examples, and of their labels.

    Zhang et al., 2018, mixup: Beyond Empirical Risk Minimization, arXiv:1710.09412. One
    coefficient for the batch, as in the authors' code.
    """
    k1, k2 = jax.random.split(key)
    lam = jax.random.beta(k1, alpha, alpha)
    order = jax.random.permutation(k2, images.shape[0])

    def mix(a):
        return lam * a + (1 - lam) * a[order]

    return mix(images), mix(labels)
