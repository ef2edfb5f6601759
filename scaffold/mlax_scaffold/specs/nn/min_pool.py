from mlax_scaffold.spec import Padding, min_pool
from mlax_scaffold.specs.nn.max_pool import MaxPool


class MinPool(MaxPool):
    """Smallest element of each window of the spatial axes.

    Channels that are first are among the batch axes. Strides are 1 by default, as in
    flax and equinox (in PyTorch: the window). Where elements are equal,
    the gradient goes to one of them, or in parts to all.
    """

    padding: Padding = "VALID"  #: of the input, with inf or the largest integer

    POOL = min_pool
