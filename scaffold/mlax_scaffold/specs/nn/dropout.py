from mlax_scaffold.spec import Axis, Float, Layer, Probability, dropout


class Dropout(Layer):
    """Drops elements at random in training, and scales the others by 1 / (1 - rate).

    Srivastava et al., 2014, JMLR 15(56).
    """

    rate: Probability = 0.5  #: probability that an element is dropped
    broadcast_axis: Axis = ()  #: axes along which elements are dropped together

    def forward(self, x: Float["*shape"]) -> Float["*shape"]:
        if not self.training or self.rate == 0.0:
            return x
        return dropout(
            x, self.key(), rate=self.rate, broadcast_axis=self.broadcast_axis
        )
