from mlax_scaffold.spec import Optimizer, mean, saturate


class Centralize(Optimizer):
    """Subtracts from each gradient its mean over all axes but one.

    Gradients of vectors and scalars stay. Yong et al., 2020, arXiv:2004.01461.
    Deviation from optax, which keeps the first axis: the axis can be chosen, and is the
    last one, that of the units of a kernel (in, out).
    """

    unit_axis: int = -1  #: axis of the units: -1 of (in, out), 0 of kernels in OIHW

    def update(self, grad, param):
        axes = [a for a in range(grad.ndim) if a != self.unit_axis % grad.ndim]
        if not axes or grad.size == 0:
            return grad
        return saturate(grad - mean(grad, axis=tuple(axes), keepdims=True))
