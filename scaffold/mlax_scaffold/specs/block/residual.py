import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Block, LayerOutput, PyTree, SubLayer, require


class Residual(Block):
    """A layer around which the input is carried: y = x + layer(x).

    He et al., 2016, arXiv:1512.03385.
    """

    layer: SubLayer  #: an initialized layer, whose output has the shape of its input

    def forward(self, x: PyTree, **inputs: PyTree) -> LayerOutput:
        y = self.layer(x, **inputs)
        require(
            jax.tree.map(jnp.shape, x) == jax.tree.map(jnp.shape, y),
            "the output of the layer must have the shape of its input",
        )
        return jax.tree.map(lambda a, b: a + b, x, y)
