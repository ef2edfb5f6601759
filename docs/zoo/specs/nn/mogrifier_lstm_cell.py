import jax

from mlax_scaffold.spec import Count, Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.lstm_cell import LSTMCell


class MogrifierLSTMCell(Layer):
    """LSTM whose input and state gate each other a few times before each step

    x <- 2 sigmoid(Q h) x in odd rounds, h <- 2 sigmoid(R x) h in even ones.

    Melis, Kočiský & Blunsom, 2020, Mogrifier LSTM, arXiv:1909.01792.
    """

    in_features: Size  #: size of the input
    features: Size  #: size of the state
    rounds: Count = 5  #: number of rounds

    def setup(self):
        self.cell = LSTMCell(self.in_features, self.features)
        self.gates = []
        for i in range(self.rounds):
            if i % 2 == 0:
                self.gates.append(Linear(self.features, self.in_features))
            else:
                self.gates.append(Linear(self.in_features, self.features))

    def forward(
        self,
        inputs: Float["*batch in_features"],
        carry: tuple[Float["*batch features"], Float["*batch features"]],
    ) -> tuple[
        Float["*batch features"], tuple[Float["*batch features"], Float["*batch features"]]
    ]:
        x, (c, h) = inputs, carry
        for i, gate in enumerate(self.gates):
            if i % 2 == 0:
                x = 2 * jax.nn.sigmoid(gate(h)) * x
            else:
                h = 2 * jax.nn.sigmoid(gate(x)) * h
        return self.cell(x, (c, h))

    def initial_carry(self, input_shape, dtype):
        return self.cell.initial_carry(input_shape, dtype)
