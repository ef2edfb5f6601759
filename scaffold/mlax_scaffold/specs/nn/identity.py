from mlax_scaffold.spec import Layer, PyTree


class Identity(Layer):
    """The input, whatever it is: y = x."""

    def forward(self, x: PyTree) -> PyTree:
        return x
