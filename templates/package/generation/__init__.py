"""Generation: sequences that models with a cache continue, from pairs and from modules.

`of_pair` and `of_module` give a trained model a cache of any size and make a `Decoder` of
it, whose calls are pure functions of weights, cache and tokens. `generate` samples in one
compiled loop, and `beam_search` looks for the most probable sequence.
"""

from ._beams import beam_search
from ._decoder import Decoder
from ._modules import of_module
from ._pairs import of_pair
from ._samplers import Sampler
from ._sampling import generate

__all__ = [
    "Decoder",
    "Sampler",
    "beam_search",
    "generate",
    "of_module",
    "of_pair",
]


def __dir__() -> list[str]:
    return __all__
