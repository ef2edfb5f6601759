import jax

from mlax_scaffold.spec import Optimizer, bernoulli, saturate


class Hutchinson(Optimizer):
    """Estimates of the diagonal of the Hessian, in the place of gradients.

    update = r * (H r), with the Hessian H and random signs r: its mean is the diagonal.

    Hutchinson, 1989, doi:10.1080/03610918908812806. A step needs value_and_gradients,
    which is differentiated, and a key. Ema after it, in a Chain, averages estimates;
    Sophia has one of its own.
    """

    def step(self, grads, params):
        leaves, structure = jax.tree.flatten(params)
        drawn = jax.random.split(self.key(), len(leaves))
        signs = structure.unflatten(
            2 * bernoulli(own, shape=leaf.shape, p=0.5).astype(leaf.dtype) - 1
            for own, leaf in zip(drawn, leaves, strict=True)
        )

        def gradients_at(weights):
            return self.value_and_gradients(weights)[1]

        _, products = jax.jvp(gradients_at, (params,), (signs,))
        return jax.tree.map(lambda r, p: saturate(r * p), signs, products)
