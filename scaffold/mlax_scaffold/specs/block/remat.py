import jax

from mlax_scaffold.spec import Block, LayerOutput, Policy, PyTree, SubLayer


class Remat(Block):
    """A layer that is computed again for its gradients, so that less memory is held.

    What is kept is the input, and what the policy keeps: Chen et al., 2016,
    arXiv:1604.06174; see jax.checkpoint.
    """

    layer: SubLayer  #: an initialized layer
    policy: Policy | None = None  #: of jax.checkpoint_policies; None: keep nothing

    def forward(self, x: PyTree, **inputs: PyTree) -> LayerOutput:
        [draw] = self.keys(1)

        def run(x, weights, states, draw):
            return self.layer.apply(x, weights, states, draw, **inputs)

        y, states = jax.checkpoint(run, policy=self.policy)(
            x, self.layer.trainables, self.layer.non_trainables, draw
        )
        self.layer.non_trainables = states
        return y
