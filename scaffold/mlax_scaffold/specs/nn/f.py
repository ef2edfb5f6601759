from mlax_scaffold.spec import Function, Layer, PyTree, require


class F(Layer):
    """Makes a layer of a pure function: y = function(x).

    In inference mode it is `inference_function`, where there is one. A function that
    takes a key is called with (x, key), in training only.
    """

    function: Function  #: of the input; with takes_key, of the input and a key
    inference_function: Function | None = None  #: at inference; None: the same
    takes_key: bool = False  #: whether `function` draws random numbers

    def setup(self):
        require(
            not self.takes_key or self.inference_function is not None,
            "a function that takes a key needs an inference_function",
        )

    def forward(self, x: PyTree) -> PyTree:
        if self.inference_function is not None and not self.training:
            return self.inference_function(x)
        if self.takes_key:
            return self.function(x, self.key())
        return self.function(x)
