import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Mask,
    MatrixAxes,
    NonNegative,
    Optimizer,
    Size,
    SubOptimizer,
    from_matrices,
    matrix_shape,
    moment,
    saturate,
    to_matrices,
    tree_add,
    zeros,
)


class LowRank(Optimizer):
    """An optimizer within a subspace of few dimensions of each matrix: GaLore.

    Every update_proj_gap steps P = the first `rank` singular vectors of g, on its longer
    side;  r = P^T g;  update = scale P u, where u is that of the optimizer for r.

    Zhao et al., 2024, arXiv:2403.03507. In the place of a weight w the optimizer has
    P^T w, which is what it decays; its state is made for those, whatever it was
    initialized for. Other weights are as they are. One that keeps weights, as Lookahead
    does, is around it, and not in it. `Galore` is that of Adam, with a decay of the
    weights themselves.
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
        letters = self.letters(param, self.matrices, self.axes)
        sides = matrix_shape(param.shape, letters)
        shape = self.projection_shape(sides) if sides else (0,)
        self.projection = moment(zeros, shape)  #: the subspace of each matrix.

    def setup_tree(self, params):
        letters = jax.tree.map(self.letters, params, self.matrices, self.axes)
        low = jax.tree.map(self.in_the_place_of, params, letters)
        self.optimizer.state = self.optimizer.initial_state(low)

    def letters(self, param, may_be, axes):
        """What the axes of a weight are; an empty text where it is no matrix."""
        if len(param.shape) < 2 or not may_be:
            return ""
        if axes is None:
            return "rc" if len(param.shape) == 2 else ""
        return axes

    def projection_shape(self, sides):
        """The shape of the projection of matrices, on their longer side."""
        *batch, rows, columns = sides
        return *batch, max(rows, columns), min(self.rank, rows, columns)

    def in_the_place_of(self, param, letters):
        """Zeros that have the shape of a matrix in the subspace; a weight that is none."""
        if not letters:
            return param
        *batch, rows, columns = matrix_shape(param.shape, letters)
        few = min(self.rank, rows, columns)
        low = (few, columns) if rows >= columns else (rows, few)
        return jnp.zeros((*batch, *low), param.dtype)

    def singular_vectors(self, matrices):
        """The first singular vectors of matrices, on their longer side."""
        wide = matrices.astype(self.decomposition_dtype)
        left, _, right = jnp.linalg.svd(wide, full_matrices=False)
        tall = matrices.shape[-2] >= matrices.shape[-1]
        vectors = left if tall else jnp.matrix_transpose(right)
        return vectors[..., : self.rank].astype(matrices.dtype)

    def projected(self, x, projection, letters):
        """An array in the subspace."""
        if not letters:
            return x
        matrices = to_matrices(x, letters)
        if matrices.shape[-2] >= matrices.shape[-1]:
            return saturate(jnp.matrix_transpose(projection) @ matrices)
        return saturate(matrices @ projection)

    def embedded(self, low, like, projection, letters):
        """What has the shape of a weight again."""
        if not letters:
            return low
        rows, columns = matrix_shape(like.shape, letters)[-2:]
        back = jnp.matrix_transpose(projection)
        whole = projection @ low if rows >= columns else low @ back
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
