from mlax_scaffold.spec import Float, Layer, Size, spread, trainable, zeros


class Bias(Layer):
    """Adds a weight to the last axis: y = x + b."""

    features: Size  #: size of the last axis

    def setup(self):
        self.bias = trainable(zeros, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x + spread(self.bias, x.shape)
