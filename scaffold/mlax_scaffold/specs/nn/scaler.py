from mlax_scaffold.spec import Float, Layer, Size, ones, spread, trainable


class Scaler(Layer):
    """Multiplies the last axis by a weight: y = x * s."""

    features: Size  #: size of the last axis

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x * spread(self.scale, x.shape)
