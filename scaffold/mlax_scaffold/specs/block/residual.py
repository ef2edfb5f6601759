import jax

from mlax_scaffold.spec import Block, PyTree, SubLayer


class Residual(Block):
    """A layer around which the input is carried: y = x + layer(x).

    He et al., 2016, arXiv:1512.03385.
    """

    layer: SubLayer  #: an initialized layer, whose output has the shape of its input

    def forward(self, x: PyTree, **inputs: PyTree) -> PyTree:
        y = self.layer(x, **inputs)
        return jax.tree.map(lambda a, b: a + b, x, y)
