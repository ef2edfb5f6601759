from mlax_scaffold.spec import Block, Cell, PyTree


class StackedCells(Block):
    """Two recurrent cells as one: the upper one sees the output of the lower one.

    The carry is (lower's, upper's). Either may be such a pair itself, and so a cell of any
    depth is made: `StackedCells.init(StackedCells.init(a, b), c)`. As haiku.DeepRNN. The
    first carry of the upper one is that for an input of the lower one's shape, of which
    cells read the axes before the features.
    """

    lower: Cell  #: an initialized cell, which sees the input
    upper: Cell  #: another one, which sees what the lower one makes

    def forward(
        self, x: PyTree, carry: tuple[PyTree, PyTree], **inputs: PyTree
    ) -> tuple[PyTree, PyTree]:
        low, high = carry
        y, low = self.lower((x, low), **inputs)
        y, high = self.upper((y, high), **inputs)
        return y, (low, high)

    def initial_carry(self, input_shape, dtype):
        """The carries of both before the first step, for inputs of that shape."""
        return (
            self.lower.initial_carry(input_shape, dtype),
            self.upper.initial_carry(input_shape, dtype),
        )
