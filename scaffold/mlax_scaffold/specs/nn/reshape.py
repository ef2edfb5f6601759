import math

from mlax_scaffold.spec import Count, Float, Layer, NewShape, require


class Reshape(Layer):
    """Gives all but the first axes another shape."""

    shape: NewShape  #: of the axes that are reshaped; -1: what is left of the elements
    batch_dims: Count = 1  #: number of axes before those that are reshaped

    def forward(self, x: Float["*batch *rest"]) -> Float["*batch ..."]:
        batch, rest = x.shape[: self.batch_dims], x.shape[self.batch_dims :]
        given = math.prod(n for n in self.shape if n != -1)
        left = math.prod(rest) // max(given, 1)
        shape = tuple(left if n == -1 else n for n in self.shape)
        require(
            math.prod(shape) == math.prod(rest),
            "shape must have as many elements as the axes in its place",
        )
        return x.reshape(*batch, *shape)
