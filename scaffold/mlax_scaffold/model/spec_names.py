"""Names that the base classes which run specs have themselves, so that no method of a spec may have them."""

from mlax_scaffold.model.definition import Kind

_OF_BOTH = frozenset(
    [
        "_arrays",
        "_arrays_of",
        "_begin",
        "_cast_weights",
        "_clone",
        "_current",
        "_declared",
        "_drawn",
        "_fields",
        "_function",
        "_given",
        "_hyperparameters",
        "_install",
        "_key",
        "_keyed",
        "_layers",
        "_lists",
        "_made",
        "_passes",
        "_pure",
        "_put_back",
        "_read",
        "_run",
        "_run_construct",
        "_run_function",
        "_threaded",
        "_trees",
        "initialize",
        "initialized",
        "load",
    ]
)
"""Of layers, of blocks and of optimizers."""

_OF_LAYERS = _OF_BOTH | frozenset(
    [
        "_array_of",
        "_cast",
        "_collect",
        "_collected",
        "_derived",
        "_enter",
        "_entries",
        "_functions",
        "_get",
        "_handle",
        "_handles",
        "_has_arrays",
        "_hide",
        "_in_setup",
        "_initialize",
        "_initialize_tree",
        "_initializers",
        "_is_state",
        "_keys",
        "_keyword_inputs",
        "_load",
        "_method",
        "_methods",
        "_of_loop",
        "_outer",
        "_part_of",
        "_replace_state",
        "_several",
        "_sub_layer",
        "_taken",
        "_triple",
        "_view",
    ]
)

_OF_OPTIMIZERS = _OF_BOTH | frozenset(
    [
        "_count",
        "_declare",
        "_draws_in",
        "_held",
        "_inner",
        "_inputs",
        "_make",
        "_masks",
        "_moments",
        "_names_of_moments",
        "_nested",
        "_numbered",
        "_over_leaves",
        "_scalars",
        "_state",
        "_stepping",
        "_update",
        "_values",
        "_whole",
    ]
)

_OF_SCHEDULES = frozenset(
    [
        "_counts",
        "_fields",
        "_values",
        "takes_integers",
    ]
)

OF_SPECS = {
    Kind.LAYER: _OF_LAYERS,
    Kind.BLOCK: _OF_LAYERS,
    Kind.OPTIMIZER: _OF_OPTIMIZERS,
    Kind.SCHEDULE: _OF_SCHEDULES,
}
