"""Names that mean the same in many libraries: flags of training, keys, and sequences."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    name,
    negated,
)
from mlax_scaffold.conversion.source.walking import walk

TRAINING = (
    *("train", "training", "is_training", "is_train", "enable_dropout", "update_stats"),
)


INFERENCE = ("deterministic", "inference", "eval_mode", "use_running_average", "test")


LOCAL_STATISTICS = "test_local_stats"
"""Whether batch normalization of haiku takes the statistics of its input in inference: here it never does."""


KEYS = (
    *(
        "key",
        "rng",
        "rngs",
        "keys",
        "dropout_key",
        "dropout_rng",
        "prng_key",
        "rng_key",
    ),
    *(
        "subkey",
        "drop_key",
        "rng_seq",
        "k1",
        "k2",
        "z_rng",
        "z_key",
        "noise_key",
        "prng",
    ),
    *("noise_rng", "init_key", "init_rng", "sample_key", "eps_key", "sample_rng"),
)


def is_key(function: ast.FunctionDef, given: str) -> bool:
    """Whether a parameter holds a PRNG key: by its name, and unless it is reckoned with."""
    if given not in KEYS:
        return False
    for part in walk(function):
        sides: list[ast.AST] = []
        if isinstance(part, ast.BinOp):
            sides = [part.left, part.right]
        elif isinstance(part, ast.Attribute) and part.attr in _OF_ARRAYS:
            sides = [part.value]
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Call):
            # A layer that is made where it is called takes arrays first.
            sides = [*part.args[:1]]
        if any(isinstance(side, ast.Name) and side.id == given for side in sides):
            return False
    return True


_OF_ARRAYS = ("T", "mT", "astype", "reshape", "sum", "mean", "swapaxes", "transpose")


SEQUENTIAL = frozenset(
    (
        *("torch.nn.Sequential", "equinox.nn.Sequential", "flax.nnx.Sequential"),
        *("haiku.Sequential", "flax.linen.Sequential"),
    )
)


CHAINED = "@chained"
"""Marks a layer that is an element of a sequence: it is made after those before it."""

BEGUN = "@begun:"
"""Keywords of a layer's call that hold what fills its weight: what the initializer is called here follows."""

OWN_INITIALIZER = "own_initializer"
"""Marks a function of a key, a shape and a dtype that begins a weight."""

HAIKU = (*("haiku.get_parameter", "haiku.get_state", "haiku.set_state"),)


FOREIGN = ("torch", "flax", "equinox", "haiku", "optax", "tensorflow", "keras")


TORCH_VALUES = {
    "torch.inf": "@module:jnp.inf",
    "torch.pi": "@module:math.pi",
    "torch.float32": "@module:jnp.float32",
    "torch.float16": "@module:jnp.float16",
    "torch.bfloat16": "@module:jnp.bfloat16",
    "torch.int64": "@module:jnp.int32",
    "torch.long": "@module:jnp.int32",
    "torch.int32": "@module:jnp.int32",
    "torch.bool": "bool",
    "torch.uint8": "@module:jnp.uint8",
    "torch.int": "@module:jnp.int32",
    "torch.int8": "@module:jnp.int8",
    "torch.int16": "@module:jnp.int16",
    "torch.float": "@module:jnp.float32",
    "torch.half": "@module:jnp.float16",
    "torch.complex64": "@module:jnp.complex64",
    "torch.cfloat": "@module:jnp.complex64",
    "numpy.pi": "@module:math.pi",
    "jax.numpy.pi": "@module:math.pi",
    "numpy.inf": "@module:jnp.inf",
    "numpy.float32": "@module:jnp.float32",
}


PADDINGS = {"haiku.pad.causal": "CAUSAL", "haiku.pad.valid": "VALID"}
"""Functions that tell how much is padded, as words of padding. What `pad.same` pads, unlike "SAME", does not
depend on strides."""


SCALARS = {
    "numpy.sqrt": "sqrt",
    "numpy.log": "log",
    "numpy.exp": "exp",
    "torch.sqrt": "sqrt",
    "jax.numpy.sqrt": "sqrt",
    "jax.numpy.log": "log",
    "torch.log": "log",
}

SHAPED = {f"numpy.{n}": n for n in ("ceil", "floor", "log2", "log10")}
"""Functions of numbers that NumPy has too, where a body asks for them: arrays of setup stay its own."""


def flags(names_: list[str]) -> dict[str, ast.expr]:
    """What parameters mean that tell training from inference."""
    found: dict[str, ast.expr] = {}
    for given in names_:
        if given in TRAINING:
            found[given] = expression("self.training")
        elif given in INFERENCE:
            found[given] = negated(expression("self.training"))
        elif given == LOCAL_STATISTICS:
            found[given] = constant(False)
    return found


def dotted_name(first: str, rest: str) -> ast.expr:
    node: ast.expr = name(first)
    for part in rest.split("."):
        node = ast.Attribute(node, part, ast.Load())
    return node


@dataclass
class Surroundings:
    """What names and attributes mean where an expression stands."""

    attributes: dict[str, ast.expr] = field(default_factory=dict)
    """Attributes of self that are written in another way."""
    locals: dict[str, ast.expr] = field(default_factory=dict)
    """Names that are written in another way: parameters of a constructor, flags."""
    keys: set[str] = field(default_factory=set)
    """Names that hold PRNG keys."""
    makers: dict[str, ast.Call] = field(default_factory=dict)
    """Names of partial calls, such as those of layers."""
    items: dict[str, list[ast.expr]] = field(default_factory=dict)
    """The elements of sequences of layers."""
    held: dict[str, ast.expr] = field(default_factory=dict)
    """The condition under which a sequence or a choice is there, by the method that calls it."""
    static: bool = False
    """Whether all numbers are numbers of Python, as in `setup`."""


LISTS = frozenset(("torch.nn.ModuleList", "flax.nnx.List", "flax.nnx.data"))

TAKEN = frozenset(
    (
        *("apply", "keyword_inputs", "outline", "training", "stored", "key", "keys"),
        *("forward", "setup", "init", "fwd", "step", "value", "mask", "self", "dtype"),
        *("path", "run", "examples"),
    )
)
"""Names that a class of a spec uses itself."""
