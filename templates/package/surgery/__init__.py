"""Surgery: trained models with other layers in them, other weights, or a look inside.

Plain functions of initialized layers, `(trainables, non_trainables, hyperparams)`, and of
trees. What they return are initialized layers again. Places are paths, as `flatten` names
weights: the names and indices of sub-layers, joined by `/`.
"""

from ._choices import merge, split
from ._places import parts, replace
from ._recorded import recorded
from ._reparametrized import reparametrized

__all__ = [
    "merge",
    "parts",
    "recorded",
    "reparametrized",
    "replace",
    "split",
]


def __dir__() -> list[str]:
    return __all__
