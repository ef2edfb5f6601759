from mlax_scaffold.spec import Block, PyTree, SubLayers, require


class Parallel(Block):
    """Layers side by side: each is applied to its own input; the outputs are a tuple.

    A keyword input goes to each layer that takes one of that name.
    """

    layers: SubLayers  #: initialized layers

    def forward(self, x: tuple[PyTree, ...], **inputs: PyTree) -> tuple[PyTree, ...]:
        require(
            isinstance(x, tuple | list) and len(x) == len(self.layers),
            "x must be a tuple of one input for each layer",
        )
        outputs = []
        for layer, item in zip(self.layers, x, strict=True):
            outputs.append(layer(item, **inputs))
        return tuple(outputs)
