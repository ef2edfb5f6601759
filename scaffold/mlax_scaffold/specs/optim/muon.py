from typing import Literal

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    MatrixAxes,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    Size,
    bias_correction,
    divide_by_root,
    ema,
    from_matrices,
    l2_norm,
    matrix_shape,
    moment,
    saturate,
    sum,
    to_matrices,
    zeros,
)


class Muon(Optimizer):
    """Momentum with singular values near one for matrices, and Adam for the others.

    n = the mean of the gradients, unbiased as in Adam;  X = n / norm(n), and then for
    each step of Newton and Schulz A = X X^T;  X = a X + (b A + c A A) X;
    update = -learning_rate * (sqrt(max(1, columns / rows)) X + weight_decay * weight)

    Jordan et al., 2024 (kellerjordan.github.io/posts/muon); Liu et al., 2025,
    arXiv:2502.16982 (`consistent_rms`); Bernstein & Newhouse, 2024, arXiv:2409.20325
    (`adaptive`); Boissin et al., 2025, arXiv:2512.04632 ("aol"); Grishina et al., 2025,
    arXiv:2506.10935 ("schatten"). Deviation: `epsilon` is at least the smallest normal
    number of the dtype.
    """

    examples = (
        {"coefficients": (3.4445, -4.775, 2.0315)},
        {"coefficients": (2.0, -1.5, 0.5, 1.5, -0.5, 0.0)},
    )

    learning_rate: Scheduled  #: step size
    #: a, b and c, once for all steps of Newton and Schulz, or for each
    coefficients: tuple[float, ...] = (3.4445, -4.775, 2.0315)
    ns_steps: Size = 5  #: number of those steps, where coefficients are given once
    beta: Decay = 0.95  #: decay of the mean of the gradients of matrices
    epsilon: NonNegative = 1e-8  #: added to norms, and to the root of Adam
    weight_decay: Scheduled = 0.0  #: strength of the weight decay of matrices
    mask: Mask | None = None  #: matrices that decay; None: all
    matrices: Mask | None = None  #: weights that may be matrices; None: all
    #: what weights of more axes are: the last two, or the first or last and the others
    more_axes: Literal["adam", "batch", "first", "last"] = "adam"
    nesterov: bool = True  #: whether the mean looks one step ahead
    adaptive: bool = False  #: whether steps are scaled by their product with the mean
    #: what X is divided by at first
    preconditioning: Literal["frobenius", "spectral", "aol", "schatten"] = "frobenius"
    #: X is scaled by it times sqrt(max(rows, columns)); None: as above
    consistent_rms: Positive | None = None
    adam_learning_rate: Scheduled | None = None  #: step size of Adam; None: the other
    adam_b1: Decay = 0.9  #: decay of the mean of the other gradients
    adam_b2: Decay = 0.999  #: decay of the mean of their squares
    adam_epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    adam_weight_decay: Scheduled = 0.0  #: strength of the decay of the other weights
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight
    decomposition_dtype: DType = "float32"  #: dtype of the spectral norm: 32 bits or 64
    #: which axes of a weight are rows and columns of its matrix; None: as `more_axes` says
    axes: MatrixAxes | None = None

    def setup(self, param):
        letters = self.letters(param.shape, self.axes) if self.matrices else ""
        shape = (0,) if letters else param.shape
        #: mean of the gradients
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        #: mean of their squares, of a weight that is no matrix
        self.square = moment(zeros, shape, self.moment_dtype)

    def letters(self, shape, axes):
        """What the axes of a weight are; an empty text where it is no matrix."""
        others = len(shape) - 2
        if others < 0:
            return ""
        if axes is not None:
            return axes
        if not others or self.more_axes == "batch":
            return "b" * others + "rc"
        kinds = {"first": "cr" + "r" * others, "last": "r" * others + "rc"}
        return kinds.get(self.more_axes, "")

    def orthogonalized(self, x, letters):
        """The array, with the singular values of its matrices made nearly one."""
        orthogonal = self.newton_schulz(to_matrices(x, letters))
        return from_matrices(orthogonal, letters, x.shape)

    def newton_schulz(self, x):
        """The same for matrices, or for a batch of them."""
        tall = x.shape[-2] > x.shape[-1]
        x = jnp.matrix_transpose(x) if tall else x
        epsilon = max(self.epsilon, float(jnp.finfo(x.dtype).tiny))
        if self.preconditioning == "spectral":
            wide = x.astype(self.decomposition_dtype)
            values = jnp.linalg.svd(wide, compute_uv=False)[..., :1, None]
            x = x / (values.astype(x.dtype) + epsilon)
        else:
            x = x / (l2_norm(x, axis=(-2, -1), keepdims=True) + epsilon)
        if self.preconditioning in ("aol", "schatten"):
            product = x @ jnp.matrix_transpose(x)
            if self.preconditioning == "aol":
                size = sum(lax.abs(product), axis=-1, keepdims=True)
            else:
                size = l2_norm(product, axis=(-2, -1), keepdims=True)
            x = x * lax.rsqrt(jnp.maximum(size, epsilon))
        steps = self.ns_steps if len(self.coefficients) == 3 else 1
        coefficients = jnp.asarray(self.coefficients * steps, x.dtype)

        def iterate(x, coefficients):
            a, b, c = coefficients
            product = x @ jnp.matrix_transpose(x)
            return a * x + (b * product + c * (product @ product)) @ x, None

        x, _ = lax.scan(iterate, x, jnp.reshape(coefficients, (-1, 3)))
        return jnp.matrix_transpose(x) if tall else x

    def prepare(self, grads, params):
        self.adam_rate = self.learning_rate
        if self.adam_learning_rate is not None:
            self.adam_rate = self.adam_learning_rate
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.beta)
        self.unbias_next = 1.0 / bias_correction(self.step + 1.0, decay=self.beta)
        self.unbias_adam = 1.0 / bias_correction(self.step, decay=self.adam_b1)
        self.unbias_ahead = 1.0 / bias_correction(self.step + 1.0, decay=self.adam_b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.adam_b2)

    def update(self, grad, param):
        letters = self.letters(param.shape, self.axes) if self.matrices else ""
        decay = self.beta if letters else self.adam_b1
        now = self.unbias_mean if letters else self.unbias_adam
        following = self.unbias_next if letters else self.unbias_ahead
        self.mean = ema(self.mean, grad, self.dither, decay=decay)
        unbiased = self.mean * now
        if self.nesterov:
            unbiased = ema(self.mean * following, grad * now, decay=decay)
        if letters:
            unbiased = saturate(unbiased)
            step = self.orthogonalized(unbiased, letters)
            if self.adaptive:
                step = sum(unbiased * step) * step
            rows, columns = matrix_shape(param.shape, letters)[-2:]
            if self.consistent_rms is None:
                step = step * max(1.0, columns / rows) ** 0.5
            else:
                step = step * (max(rows, columns) ** 0.5 * self.consistent_rms)
            if self.mask:
                step = step + self.weight_decay * param
        else:
            self.square = ema(
                self.square, saturate(lax.square(grad)), self.dither, decay=self.adam_b2
            )
            step = divide_by_root(
                unbiased,
                self.square * self.unbias_square,
                epsilon=self.epsilon,
                epsilon_root=self.adam_epsilon_root,
            )
            step = step + self.adam_weight_decay * param
        return -(self.learning_rate if letters else self.adam_rate) * step
