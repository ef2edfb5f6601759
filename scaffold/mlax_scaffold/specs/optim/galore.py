import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    MatrixAxes,
    NonNegative,
    Optimizer,
    Scheduled,
    Size,
    bias_correction,
    divide_by_root,
    ema,
    from_matrices,
    matrix_shape,
    moment,
    saturate,
    to_matrices,
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
    matrices: Mask | None = None  #: weights that may be matrices; None: all
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight
    decomposition_dtype: DType = "float32"  #: dtype of the decomposition: 32 bits or 64
    #: which axes of a weight are rows and columns of its matrix; None: of two axes both
    axes: MatrixAxes | None = None

    def setup(self, param):
        letters = self.letters(param.shape, self.axes) if self.matrices else ""
        sides = matrix_shape(param.shape, letters)
        low = self.projected_shape(sides) if sides else param.shape
        projection = self.projection_shape(sides) if sides else (0,)
        self.projection = moment(zeros, projection, self.moment_dtype)
        self.mean = moment(zeros, low, self.moment_dtype)
        self.square = moment(zeros, low, self.moment_dtype)

    def letters(self, shape, axes):
        """What the axes of a weight are; an empty text where it is no matrix."""
        if axes is None or len(shape) < 2:
            return "rc" if len(shape) == 2 else ""
        return axes

    def projection_shape(self, sides):
        """The shape of the projection of matrices, on their longer side."""
        *batch, rows, columns = sides
        return *batch, max(rows, columns), min(self.rank, rows, columns)

    def projected_shape(self, sides):
        """That of matrices whose longer side, of equal ones the first, is projected."""
        *batch, rows, columns = sides
        few = min(self.rank, rows, columns)
        return *batch, *((few, columns) if rows >= columns else (rows, few))

    def singular_vectors(self, matrices):
        """The first singular vectors of matrices, on their longer side."""
        wide = matrices.astype(self.decomposition_dtype)
        left, _, right = jnp.linalg.svd(wide, full_matrices=False)
        tall = matrices.shape[-2] >= matrices.shape[-1]
        vectors = left if tall else jnp.matrix_transpose(right)
        return vectors[..., : self.rank].astype(matrices.dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)
        self.phase = (self.step_number - 1) % self.update_proj_gap

    def update(self, grad, param):
        letters = self.letters(param.shape, self.axes) if self.matrices else ""
        *_, rows, columns = 0, 0, *matrix_shape(param.shape, letters)
        low = grad
        if letters:
            kept, whole = self.projection, to_matrices(grad, letters)
            self.projection = lax.cond(
                self.phase == 0.0, self.singular_vectors, lambda _: kept, whole
            )
            back = jnp.matrix_transpose(self.projection)
            low = saturate(back @ whole if rows >= columns else whole @ self.projection)
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
        if letters:
            back = jnp.matrix_transpose(self.projection)
            whole = self.projection @ step if rows >= columns else step @ back
            step = from_matrices(self.scale * whole, letters, param.shape)
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
