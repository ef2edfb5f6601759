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

OF_OPTIMIZERS = frozenset(("gradients", "state", "updates"))
"""Names of the generated `step`, beside those."""

RESERVED_IN_FUNCTIONS = frozenset(("arrays", "checks", "self"))
"""The same for a function."""
