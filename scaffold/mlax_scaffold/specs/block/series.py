from mlax_scaffold.spec import Block, PyTree, SubLayers


class Series(Block):
    """Layers one after another: the output of each is the input of the next.

    A keyword input, such as a mask, goes to each layer that takes one of that name.
    """

    layers: SubLayers  #: initialized layers, in order

    def forward(self, x: PyTree, **inputs: PyTree) -> PyTree:
        for layer in self.layers:
            x = layer(x, **inputs)
        return x
