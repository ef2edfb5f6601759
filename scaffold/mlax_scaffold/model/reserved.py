"""Names that generated code uses itself."""

RESERVED = frozenset(
    [
        "arrays",
        "checks",
        "dtype",
        "fwd",
        "hyperparams",
        "inference_mode",
        "init",
        "key",
        "keys",
        "non_trainables",
        "placement",
        "self",
        "static",
        "step_count",
        "trainables",
        "trees",
    ]
)
"""Names that the code generated for a class uses; locals of a layer make way for them."""

RESERVED_IN_FUNCTIONS = frozenset(("arrays", "checks", "self"))
"""The same for a function."""
