"""The words of specs, as type checkers and editors see them.

Only imported under TYPE_CHECKING; `mlax_scaffold.spec.words` holds what they are at run
time. A shape in brackets (`Float["*batch features"]`) is no type argument: specs are
checked with `reportInvalidTypeArguments` off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.nn.initializers import Initializer as Initializer
from jax.typing import DTypeLike

Complex = jax.Array
Float = jax.Array
Real = jax.Array
Int = jax.Array
Bool = jax.Array
Key = jax.Array
PyTree = Any
LayerOutput = Any

Size = int
Sizes = tuple[int, ...]
Count = int
Extended = float
Positive = float
NonNegative = float
Probability = float
Decay = float
Fraction = float
PerDim = Any
Padding = Any
Precision = Any
DType = DTypeLike
Axis = Any
AxisName = Any
Shape = Any
NewShape = Any
Activation = Callable[..., Any]
Function = Callable[..., Any]
DotGeneral = Callable[..., Any]
ConvGeneralDilated = Callable[..., Any]
Policy = Callable[..., Any]
Reduction = Callable[..., Any]
Scheduled = Any
Mask = Any
MatrixAxes = Any
SubSchedule = Callable[..., Any]
Boundaries = Sequence[int]

SubLayer = Any
Cell = Any
Stacked = Any
SubLayers = Any
SubOptimizer = Any
SubOptimizers = Any
