"""Training: what stands around a loss and an optimizer, as functions that one can leave out.

A `State` holds all that a step changes. `step` makes a function of a state and a batch out
of a loss; `run` calls it in a loop; `save` and `restore` keep it, to the bit; `shardings`
says where it lies. Pairs and modules are trained alike.
"""

from ._average import MovingAverage
from ._checkpoints import latest, restore, save
from ._evaluate import evaluate
from ._run import run
from ._sharding import shardings
from ._state import State, averaged, init
from ._step import loss_of_params, step
from ._stopping import EarlyStopping

__all__ = [
    "EarlyStopping",
    "MovingAverage",
    "State",
    "averaged",
    "evaluate",
    "init",
    "latest",
    "loss_of_params",
    "restore",
    "run",
    "save",
    "shardings",
    "step",
]


def __dir__() -> list[str]:
    return __all__
