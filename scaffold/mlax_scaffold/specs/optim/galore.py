import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Scheduled,
    Size,
    bias_correction,
    divide_by_root,
    ema,
    moment,
    saturate,
    zeros,
)


class Galore(Optimizer):
    """Adam on gradients that are projected to a subspace of few dimensions: GaLore.

    Every update_proj_gap steps P = the first `rank` singular vectors of g, on its longer
    side;  r = P^T g;  u = the step of Adam on r;
    update = -learning_rate * (scale P u + weight_decay * weight)

    Zhao et al., 2024, arXiv:2403.03507. Moments have the shape of r. Weights that are not
    matrices are those of Adam. Deviation: `epsilon` is at least the smallest normal
    number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    rank: Size = 128  #: dimensions of the subspace
    update_proj_gap: Size = 200  #: number of steps between new projections
    scale: NonNegative = 1.0  #: factor of the steps of matrices
    matrices: Mask | None = None  #: weights of two axes that are projected; None: all
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight
    decomposition_dtype: DType = "float32"  #: dtype of the decomposition: 32 bits or 64

    def setup(self, param):
        sides = self.projected_sides(param.shape) if self.matrices else ()
        low = self.projected_shape(param.shape) if sides else param.shape
        self.projection = moment(zeros, sides or (0,), self.moment_dtype)
        self.mean = moment(zeros, low, self.moment_dtype)
        self.square = moment(zeros, low, self.moment_dtype)

    def projected_sides(self, shape):
        """The shape of the projection of a weight; none of one that is no matrix."""
        if len(shape) != 2:
            return ()
        return max(shape), min(self.rank, *shape)

    def projected_shape(self, shape):
        """The shape of a matrix whose longer side, of equal ones the first, is projected."""
        rows, columns = shape
        few = min(self.rank, rows, columns)
        return (few, columns) if rows >= columns else (rows, few)

    def singular_vectors(self, grad):
        """The first singular vectors of a matrix, on its longer side."""
        wide = grad.astype(self.decomposition_dtype)
        left, _, right = jnp.linalg.svd(wide, full_matrices=False)
        vectors = left if grad.shape[0] >= grad.shape[1] else right.T
        return vectors[:, : self.rank].astype(grad.dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)
        self.phase = (self.step_number - 1) % self.update_proj_gap

    def update(self, grad, param):
        projected = self.matrices and len(param.shape) == 2
        tall = projected and param.shape[0] >= param.shape[1]
        low = grad
        if projected:
            kept = self.projection
            self.projection = lax.cond(
                self.phase == 0.0, self.singular_vectors, lambda _: kept, grad
            )
            low = self.projection.T @ grad if tall else grad @ self.projection
            low = saturate(low)
        self.mean = ema(self.mean, low, self.dither, decay=self.b1)
        self.square = ema(
            self.square, saturate(lax.square(low)), self.dither, decay=self.b2
        )
        step = divide_by_root(
            self.mean * self.unbias_mean,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        if projected:
            step = self.projection @ step if tall else step @ self.projection.T
            step = step * self.scale
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
