"""Calls of cells that are right are left alone, and so are other layers beside them."""

from __future__ import annotations

from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library

SPEC = '''\
import jax.numpy as jnp
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.gru_cell import GRUCell


class Gate(Layer):
    """A layer of two inputs."""

    def forward(self, x: Float["batch dim"], y: Float["batch dim"]):
        return x * y


class Stacked(Layer):
    """Cells beside gates, each with its carry."""

    dim: Size

    def setup(self):
        self.cells = [GRUCell(self.dim, self.dim) for _ in range(2)]
        self.gates = [Gate() for _ in range(2)]

    def forward(self, x: Float["batch dim"]):
        def step(x, carry):
            return self.cells[0](x, carry)

        carry = jnp.zeros_like(x)
        y, carry = step(x, carry)
        for gate, cell in zip(self.gates, self.cells):
            y = gate(x, y)
            x, carry = cell(y, carry)
        return x, carry
'''


def test_cells_in_the_order_of_the_library_are_right():
    own = (SpecFile("specs/nn/stacked.py", "nn", SPEC),)
    library = read_library(own, find_specs(LIBRARY_SPECS, "library"))
    assert any(definition.name == "Stacked" for definition in library)
