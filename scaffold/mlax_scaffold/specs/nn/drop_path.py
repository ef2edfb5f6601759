from mlax_scaffold.spec import Float, Layer, Probability, dropout


class DropPath(Layer):
    """Drops whole examples at random in training: stochastic depth.

    Others are scaled by 1 / (1 - rate). Put it at the end of the residual branch of a
    block, which is then the identity for the examples that are dropped.

    Huang et al., 2016, arXiv:1603.09382; as in Larsson et al., 2017, arXiv:1605.07648.
    """

    rate: Probability = 0.1  #: probability that an example is dropped

    def forward(self, x: Float["batch *shape"]) -> Float["batch *shape"]:
        if not self.training or self.rate == 0.0:
            return x
        within = tuple(range(1, x.ndim))
        return dropout(x, self.key(), rate=self.rate, broadcast_axis=within)
