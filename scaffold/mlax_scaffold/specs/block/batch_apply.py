import math

import jax

from mlax_scaffold.spec import Block, Float, LayerOutput, PyTree, Size, SubLayer


class BatchApply(Block):
    """Applies a layer to several leading axes as if they were one.

    x of shape (a, b, ...) becomes (a * b, ...) for the layer, whose result gets the axes
    back. Keyword inputs go to the layer as they are. As haiku.BatchApply.
    """

    layer: SubLayer  #: an initialized layer
    batch_dims: Size = 2  #: number of leading axes that are one axis for the layer

    def forward(
        self, x: Float["*batch *rest features"], **inputs: PyTree
    ) -> LayerOutput:
        batch, rest = x.shape[: self.batch_dims], x.shape[self.batch_dims :]
        y = self.layer(x.reshape(math.prod(batch), *rest), **inputs)
        return jax.tree.map(lambda leaf: leaf.reshape(*batch, *leaf.shape[1:]), y)
