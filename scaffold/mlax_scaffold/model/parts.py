"""The words of what a definition is given parts of: layers, optimizers, and what tells weights apart."""

from __future__ import annotations

from mlax_scaffold.model.word import Word

_LAYER = "InitializedLayer -> LayerHyperparams"

PARTS = (
    Word(
        "SubLayer",
        "an initialized layer `(trainables, non_trainables, hyperparams)`",
        "sub_layer",
        _LAYER,
        attribute="layer",
        home="block",
        toy="toys.Toy.one()",
        spellings=("Layer", "Module"),
    ),
    Word(
        "Cell",
        "an initialized recurrent cell: it maps (inputs, carry) to (outputs, carry)",
        "cell",
        "InitializedLayer -> CellHyperparams",
        attribute="layer",
        home="block",
        toy="toys.Toy.cell()",
        recurrent=True,
    ),
    Word(
        "Stacked",
        "initialized layers with stacked weights, as `jax.vmap` of `init` over keys "
        "returns them",
        "stacked",
        _LAYER,
        attribute="layer",
        home="block",
        toy="toys.Toy.stacked(depth)",
        stacked=True,
    ),
    Word(
        "SubLayers",
        "a sequence of initialized layers",
        "sub_layers",
        "Sequence[InitializedLayer] -> tuple[LayerHyperparams, ...]",
        attribute="layers",
        home="block",
        toy="toys.Toy.several(count)",
    ),
    Word(
        "Mask",
        "a hashable function of a weight's path (such as 'layers/0/kernel') and the "
        "weight, which tells whether it is selected; or a tree of bools like the weights",
        "function",
        "Callable[[str, Any], bool] | Any -> Callable[[str, Any], bool]",
        "masks()",
        'lambda path, weight: "bias" not in path',
        (1, []),
        attribute="mask",
    ),
    Word(
        "MatrixAxes",
        "a hashable function of a weight's path and the weight, which tells of each axis "
        "whether it is one of rows, columns or a batch ('rrcb'; '': no matrix); or a tree",
        "function",
        "Callable[[str, Any], str] | Any -> Callable[[str, Any], str]",
        "matrix_axes()",
        'lambda path, weight: "rc" if weight.ndim == 2 else ""',
        (1, []),
        attribute="mask",
        kept="matrix_axes",
        of_each="axes_of_matrices",
        of_one="str | None",
    ),
    Word(
        "SubOptimizer",
        "an initialized optimizer `(state, hyperparams)`",
        "sub_optimizer",
        "InitializedOptimizer -> OptimizerHyperparams",
        attribute="optimizer",
        home="optim",
        toy="toys.ToyOptimizer.one(traced)",
    ),
    Word(
        "SubOptimizers",
        "a sequence of initialized optimizers `(state, hyperparams)`",
        "sub_optimizers",
        "Sequence[InitializedOptimizer] -> tuple[OptimizerHyperparams, ...]",
        attribute="optimizers",
        home="optim",
        toy="toys.ToyOptimizer.several(count)",
    ),
)
