import math

from mlax_scaffold.spec import Count, Float, Layer


class Flatten(Layer):
    """Makes one axis of all but the first axes."""

    batch_dims: Count = 1  #: number of axes before those that are flattened

    def forward(self, x: Float["*batch *rest"]) -> Float["*batch _"]:
        batch, rest = x.shape[: self.batch_dims], x.shape[self.batch_dims :]
        return x.reshape(*batch, math.prod(rest))
