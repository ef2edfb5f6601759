from mlax_scaffold.spec import NonNegative, Optimizer, constant, state


class LearningRate(Optimizer):
    """Multiplies updates by a rate that is an array of the state.

    Another number in the hyperparameters of an optimizer is another program, which jit
    has to trace. An array of the state may be set between steps without that:

    state = state._replace(rate=jnp.asarray(3e-4, state.rate.dtype))

    It follows an optimizer in a Chain whose own learning rate is 1.
    """

    learning_rate: NonNegative  #: the rate at first

    def setup_tree(self, params):
        self.rate = state(constant(self.learning_rate), ())  #: the rate

    def update(self, grad, param):
        return self.rate * grad
