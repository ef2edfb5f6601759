from mlax_scaffold.spec import Block, PyTree, SubLayers


class Series(Block):
    """Layers one after another: the output of each is the input of the next."""

    layers: SubLayers  #: initialized layers, in order

    def forward(self, x: PyTree) -> PyTree:
        for layer in self.layers:
            x = layer(x)
        return x
