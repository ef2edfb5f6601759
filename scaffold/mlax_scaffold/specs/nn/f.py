from mlax_scaffold.spec import Function, Layer, PyTree, require


class F(Layer):
    """Makes a layer of a pure function: y = function(x).

    In inference mode it is `inference_function`, where there is one. A function that
    takes a key is called with (x, key).

    With `initial_carry` it is a recurrent cell, whose input is (inputs, carry) and whose
    result is (outputs, carry), so that Recurrent takes it.
    """

    function: Function  #: of the input; with takes_key, of the input and a key
    inference_function: Function | None = None  #: at inference; None: the same
    takes_key: bool = False  #: whether `function` draws random numbers in training
    inference_takes_key: bool = False  #: whether what runs at inference draws them, too
    #: of an input's shape and dtype: the first carry, where `function` is a cell
    initial_carry: Function | None = None

    def setup(self):
        require(
            self.inference_function is not None
            or self.takes_key == self.inference_takes_key,
            "a function that takes a key needs an inference_function, or "
            "inference_takes_key",
        )

    def forward(self, x: PyTree) -> PyTree:
        function, takes_key = self.function, self.takes_key
        if not self.training:
            function = self.inference_function or function
            takes_key = self.inference_takes_key
        return function(x, self.key()) if takes_key else function(x)
