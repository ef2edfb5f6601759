import jax
from jax import lax

from mlax_scaffold.spec import Block, LayerOutput, PyTree, Size, Stacked, scan


class Repeat(Block):
    """The same layer several times in series, each time with weights of its own.

    The layer is compiled once, in a scan over its weights, which are stacked along a
    first axis: `jax.vmap(lambda key: Linear.init(key, 8, 8))(keys)` makes such a layer.
    Keyword inputs, such as a mask, are the same for each turn.
    """

    layer: Stacked  #: an initialized layer, with arrays stacked along the first axis
    depth: Size  #: how many times it is applied: the size of that axis
    unroll: Size = 1  #: layers in one turn of the compiled loop; the depth: no loop
    checkpoint: bool = False  #: whether gradients compute each layer again

    def forward(self, x: PyTree, **inputs: PyTree) -> LayerOutput:
        draws = self.keys(self.depth)
        draws = draws if isinstance(draws, jax.Array) else None

        def step(carry, slices):
            weights, states, draw = slices
            return self.layer.apply(carry, weights, states, draw, **inputs)

        step = jax.checkpoint(step, prevent_cse=False) if self.checkpoint else step
        stacked = (self.layer.trainables, self.layer.non_trainables, draws)
        # In 16 bits `scan` computes the gradients of keyword inputs for all layers at once,
        # which is what a checkpoint avoids.
        loop = lax.scan if self.checkpoint else scan
        y, states = loop(step, x, stacked, length=self.depth, unroll=self.unroll)
        self.layer.non_trainables = states
        return y
