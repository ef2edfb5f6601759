import jax
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
    SubOptimizer,
    bias_correction,
    divide_by_root,
    ema,
    from_matrices,
    matrix_shape,
    moment,
    require,
    saturate,
    scales_loss,
    to_matrices,
    tree_add,
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
        letters = letters_of(param.shape, self.matrices, self.axes)
        sides = matrix_shape(param.shape, letters)
        low = projected_shape(sides, self.rank) if sides else param.shape
        projection = projection_shape(sides, self.rank) if sides else (0,)
        #: first singular vectors of each matrix
        self.projection = moment(zeros, projection, self.moment_dtype)
        #: mean of the gradients, of a matrix in its subspace
        self.mean = moment(zeros, low, self.moment_dtype)
        #: mean of their squares
        self.square = moment(zeros, low, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)
        self.phase = (self.step_number - 1) % self.update_proj_gap

    def update(self, grad, param):
        letters = letters_of(param.shape, self.matrices, self.axes)
        low = grad
        if letters:
            kept, whole = self.projection, to_matrices(grad, letters)
            self.projection = lax.cond(
                self.phase == 0.0,
                lambda x: first_vectors(x, self.rank, self.decomposition_dtype),
                lambda _: kept,
                whole,
            )
            low = into_subspace(whole, self.projection)
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
            sides = matrix_shape(param.shape, letters)
            whole = out_of_subspace(step, self.projection, sides)
            step = from_matrices(self.scale * whole, letters, param.shape)
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step


class LowRank(Optimizer):
    """An optimizer within a subspace of few dimensions of each matrix: GaLore.

    Every update_proj_gap steps P = the first `rank` singular vectors of g, on its longer
    side;  r = P^T g;  update = scale P u, where u is that of the optimizer for r.

    Zhao et al., 2024, arXiv:2403.03507. In the place of a weight w the optimizer has
    P^T w, which is what it decays; its state is made for those, whatever it was
    initialized for. Other weights are as they are. `Galore` is that of Adam, with a decay
    of the weights themselves.

    What weights an optimizer keeps (Lookahead, DoG, AverageWeights ...) would be those of
    another subspace after the next projection: `init` refuses it.
    """

    optimizer: SubOptimizer  #: the optimizer, initialized for all weights
    rank: Size = 128  #: dimensions of the subspace
    update_proj_gap: Size = 200  #: number of steps between new projections
    scale: NonNegative = 1.0  #: factor of the updates of matrices
    matrices: Mask | None = None  #: weights that may be matrices; None: all
    decomposition_dtype: DType = "float32"  #: dtype of the decomposition: 32 bits or 64
    #: which axes of a weight are rows and columns of its matrix; None: of two axes both
    axes: MatrixAxes | None = None

    def setup(self, param):
        letters = letters_of(param.shape, self.matrices, self.axes)
        sides = matrix_shape(param.shape, letters)
        shape = projection_shape(sides, self.rank) if sides else (0,)
        self.projection = moment(zeros, shape)  #: first singular vectors of each matrix

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "projections would be of gradients with the scale of the loss, which need not be "
            "finite: put DynamicLossScaling around, as in DynamicLossScaling.init(LowRank.init(...))",
        )
        letters = jax.tree.map(self.letters, params, self.matrices, self.axes)
        low = jax.tree.map(self.in_the_place_of, params, letters)
        require(
            not self.optimizer.keeps_weights(low),
            "optimizer keeps weights, or what they moved by, in a subspace that the next "
            "projection changes: give one that keeps means of gradients, such as Adam "
            "or Sgd, and put one that is around others around LowRank, as in "
            "Lookahead.init(trainables, LowRank.init(trainables, ...))",
        )
        self.optimizer.state = self.optimizer.initial_state(low)

    def letters(self, param, may_be, axes):
        """What the axes of a weight are; an empty text where it is no matrix."""
        return letters_of(param.shape, may_be, axes)

    def in_the_place_of(self, param, letters):
        """Zeros that have the shape of a matrix in the subspace; a weight that is none."""
        if not letters:
            return param
        sides = matrix_shape(param.shape, letters)
        return jnp.zeros(projected_shape(sides, self.rank), param.dtype)

    def singular_vectors(self, matrices):
        """The first singular vectors of matrices, on their longer side."""
        return first_vectors(matrices, self.rank, self.decomposition_dtype)

    def projected(self, x, projection, letters):
        """An array in the subspace."""
        if not letters:
            return x
        return into_subspace(to_matrices(x, letters), projection)

    def embedded(self, low, like, projection, letters):
        """What has the shape of a weight again."""
        if not letters:
            return low
        whole = out_of_subspace(low, projection, matrix_shape(like.shape, letters))
        return from_matrices(whole, letters, like.shape)

    def step(self, grads, params):
        letters = jax.tree.map(self.letters, params, self.matrices, self.axes)
        renews = (self.step_number - 1) % self.update_proj_gap == 0

        def renewed(grad, kept, own):
            if not own:
                return kept
            whole = to_matrices(grad, own)
            return lax.cond(renews, self.singular_vectors, lambda _: kept, whole)

        self.projection = jax.tree.map(renewed, grads, self.projection, letters)
        projection = self.projection
        low = jax.tree.map(self.projected, params, projection, letters)

        def within(moved):
            by = tree_add(moved, low, -1.0)
            by = jax.tree.map(self.embedded, by, params, projection, letters)
            loss, slopes = self.value_and_gradients(tree_add(params, by))
            return loss, jax.tree.map(self.projected, slopes, projection, letters)

        given = self.value_and_gradients is not None
        updates = self.optimizer(
            jax.tree.map(self.projected, grads, projection, letters),
            low,
            value_and_gradients=within if given else None,
        )

        def scaled(update, param, kept, own):
            whole = self.embedded(update, param, kept, own)
            return self.scale * whole if own else whole

        return jax.tree.map(scaled, updates, params, projection, letters)


def letters_of(shape, may_be, axes):
    """What the axes of a weight are; an empty text where it is no matrix."""
    if len(shape) < 2 or not may_be:
        return ""
    if axes is None:
        return "rc" if len(shape) == 2 else ""
    return axes


def projection_shape(sides, rank):
    """The shape (*batch, the longer side of the matrices, rank)."""
    *batch, rows, columns = sides
    return *batch, max(rows, columns), min(rank, rows, columns)


def projected_shape(sides, rank):
    """The shape of the matrices with rank in the place of their longer side."""
    *batch, rows, columns = sides
    few = min(rank, rows, columns)
    return *batch, *((few, columns) if rows >= columns else (rows, few))


def first_vectors(matrices, rank, dtype):
    """The first singular vectors of matrices, on their longer side."""
    left, _, right = jnp.linalg.svd(matrices.astype(dtype), full_matrices=False)
    tall = matrices.shape[-2] >= matrices.shape[-1]
    vectors = left if tall else jnp.matrix_transpose(right)
    return vectors[..., :rank].astype(matrices.dtype)


def into_subspace(matrices, projection):
    """Matrices whose longer side is projected."""
    if matrices.shape[-2] >= matrices.shape[-1]:
        return saturate(jnp.matrix_transpose(projection) @ matrices)
    return saturate(matrices @ projection)


def out_of_subspace(low, projection, sides):
    """Matrices of those sides again."""
    tall = sides[-2] >= sides[-1]
    return projection @ low if tall else low @ jnp.matrix_transpose(projection)
