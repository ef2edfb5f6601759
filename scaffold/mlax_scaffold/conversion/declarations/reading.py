"""What those who read bodies have in common."""

from __future__ import annotations

import ast
import re

from mlax_scaffold.conversion.declarations.array_shapes import ArrayShapes
from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.inline_weights import Weights
from mlax_scaffold.conversion.forms.handed_states import averages_over_batches
from mlax_scaffold.conversion.shapes.derived_sizes import derived_values
from mlax_scaffold.conversion.shapes.layer_shapes import LayerShapes
from mlax_scaffold.conversion.shapes.signatures import Signature
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.substituting import substituted
from mlax_scaffold.conversion.shapes.values import Filled, Value

Environment = dict[str, Value]


_OF_SEQUENCES = re.compile(r"\.param\(.*\(1, 1, [\w.]+\)")


class Reading:
    """The class, what is known of its locals, and where the reading stands."""

    def __init__(
        self, builder: Builder, symbols: Symbols, results: dict[str, Signature]
    ):
        self.builder, self.symbols, self.results = builder, symbols, results
        self.layers = LayerShapes(symbols, builder.framework, builder.fields)
        self.arrays = ArrayShapes(symbols, builder.framework)
        if builder.framework == "equinox" and averages_over_batches(builder.origin):
            self.layers.batched = self.arrays.batched = True
        self.arrays.single = "vmap" not in ast.unparse(builder.node)
        self.layers.single = self.arrays.single and builder.framework == "equinox"
        self.arrays.plain = self._plain
        said = ast.unparse(builder.node)
        # What weights of the class multiply has its features last.
        rows = ".linear(" in said and "Conv" not in said
        self.arrays.images = (
            "nn.Conv2d(" in builder.origin.text and "channels_" not in said and not rows
        )
        self.arrays.sequences = _OF_SEQUENCES.search(said) is not None
        self.env: Environment = {}
        self.conditions: list[ast.expr] = []
        self.loop: ast.For | None = None
        self.counts: dict[str, int] = {}
        self.filled: set[str] = set()
        """Lists that the body appends to."""
        self.appended: dict[str, Filled] = {}
        """What loops append to lists."""
        self.depth = 0
        self.steps: dict[str, ast.FunctionDef] = {}
        """Functions that bodies define, until they are read."""
        self.returned: list[Value] = []
        self.under: dict[int, ast.expr] = {}
        """The condition under which a method returns a value, by its identity."""
        self.declared: dict[str, str] = {}
        self.weights = Weights(self)
        self.makers: dict[str, ast.expr] = {}
        self.tuples: dict[str, ast.expr] = {}
        """Locals that are tuples, as they are written: shapes of weights, perhaps."""
        self.variables: dict[str, str] = {}
        """Locals that are states of the class: flax calls these variables."""
        self.pointwise: set[str] = set()
        """Locals that stand for a function of the elements, such as an activation."""
        self.truths: set[str] = set()
        """Locals that hold masks."""

    def value(self, node: ast.expr) -> tuple[ast.expr, Value]:
        """The expression with its layers declared, and what is known of its value."""
        raise NotImplementedError

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements in order."""
        raise NotImplementedError

    def run(self, method: ast.FunctionDef, inputs: Environment) -> Value:
        """Read a method with these inputs; its body is changed in place. The result."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value) -> None:
        """Note down what a target is."""
        raise NotImplementedError

    def popped(self, local: str) -> Value:
        """What a loop takes off a list that another one filled."""
        raise NotImplementedError

    def static(self, node: ast.expr) -> ast.expr:
        """An expression of a body as it is to stand in setup."""
        raise NotImplementedError

    def standing(self) -> ast.expr | None:
        """The condition on hyperparameters under which the present place is reached."""
        raise NotImplementedError

    def _plain(self, size: ast.expr) -> ast.expr:
        """A size by hyperparameters, where setup computes it of these."""
        builder = self.builder
        return substituted(size, derived_values(builder.setup, builder.fields))
