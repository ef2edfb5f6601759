from mlax_scaffold.spec import Optimizer, mean, saturate


class Centralize(Optimizer):
    """Subtracts from each gradient its mean over all axes but one.

    Gradients of vectors and scalars stay. Yong et al., 2020, arXiv:2004.01461. The axis
    that stays is that of the units: the last one of a matrix (in, out), the first one of
    a kernel of more axes, (out, in, *window) or (out, *window, in); `unit_axis` says
    otherwise, and Masked for which weights. Deviation from optax, which keeps the first.
    """

    unit_axis: int | None = None  #: axis of the units; None: by the number of axes

    def update(self, grad, param):
        unit = self.unit_axis
        if unit is None:
            unit = 0 if grad.ndim > 2 else -1
        axes = [a for a in range(grad.ndim) if a != unit % grad.ndim]
        if not axes or grad.size == 0:
            return grad
        return saturate(grad - mean(grad, axis=tuple(axes), keepdims=True))
