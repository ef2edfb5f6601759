"""Names that generated code uses itself."""

RESERVED = frozenset(
    [
        "arrays",
        "containers",
        "checks",
        "dtype",
        "effects",
        "fwd",
        "hyperparams",
        "inference_mode",
        "init",
        "key",
        "keys",
        "non_trainables",
        "placement",
        "scopes",
        "self",
        "static",
        "step_count",
        "trainables",
        "trees",
    ]
)
"""Names that the code generated for a class uses; locals of a layer make way for them."""

OF_FUNCTIONS = frozenset(("fwd", "init"))
"""Names of functions of the module among them, which fields may have: nothing in those reads them."""

OF_SCHEDULES = frozenset(("arrays", "checks", "self", "static"))
"""Names that the class of a schedule uses, whose fields are attributes."""

OF_OPTIMIZERS = frozenset(("gradients", "state", "updates"))
"""Names of the generated `step`, beside those."""

OF_STEPS = ("step", "step_number", "key", "dither", "value", "value_and_gradients")
"""What the methods of an optimizer may read of the step that is taken."""

RESERVED_IN_FUNCTIONS = frozenset(("arrays", "checks", "self"))
"""The same for a function."""

IMPORTED_CLASSES = frozenset(
    [
        *(
            "Any",
            "Callable",
            "ClassVar",
            "Literal",
            "Mapping",
            "NamedTuple",
            "Sequence",
        ),
        *("Cell", "CellHyperparams", "InitializedLayer", "InitializedOptimizer"),
        *("Layer", "LayerHyperparams", "LayerModule", "LayerOutput"),
        *("Optimizer", "OptimizerHyperparams"),
        *("DTypeLike", "OfLayer", "OfOptimizer", "Padding", "PaddingLike"),
        *("PrecisionLike", "Case", "OptimizerCase", "Pick", "Weights"),
    ]
)
"""Names that generated modules, or their tests, import classes and types by."""

IMPORTED_MODULES = frozenset(
    [
        *("annotations", "arrays", "cast", "checks", "jax", "jnp", "lax", "math"),
        *("static", "trees"),
    ]
)
"""Names that they import modules and functions by."""

ENTRY_POINT = "entry__"
"""The argument of a resolved call of a sub-layer that names another entry point than `forward`."""
