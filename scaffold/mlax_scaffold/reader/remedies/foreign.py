"""What specs are written with out of habit: names of flax, equinox, haiku, PyTorch, Keras and NumPy."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.definition import SECTIONS, Kind
from mlax_scaffold.model.import_time import INITIALIZERS, OWN_INITIALIZERS
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.classes import undecorated
from mlax_scaffold.reader.remedies.names import SPEC, bound_to, of_jax, word
from mlax_scaffold.reader.remedies.types import array_type, field_type
from mlax_scaffold.reader.source import Source, dotted

LIBRARIES = (
    *("chex", "einops", "equinox", "flax", "haiku", "jaxtyping", "keras", "numpy"),
    *("optax", "tensorflow", "torch"),
)
"""Libraries whose names are known here."""

MODULES = ("Module", "Layer")
"""What the base classes of other libraries are called."""

ACTIVATIONS = frozenset(
    (
        *("celu", "elu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh"),
        *("leaky_relu", "log_sigmoid", "one_hot", "relu", "relu6", "selu", "sigmoid"),
        *("silu", "soft_sign", "softplus", "sparse_plus", "squareplus", "swish"),
    )
)
"""Functions of jax.nn that others have, too, under the same name."""

WORDS = frozenset(("gelu", "log_softmax", "logsumexp", "softmax", "standardize"))
"""Strict words that others have under the same name."""

TRANSFORMS = ("checkpoint", "custom_vjp", "grad", "jit", "value_and_grad", "vmap")
CONTROL = ("cond", "fori_loop", "rsqrt", "scan", "stop_gradient", "while_loop")

ARRAY_FUNCTIONS = frozenset(
    (
        *("abs", "arange", "argmax", "argmin", "array", "asarray", "broadcast_to"),
        *("ceil", "clip", "concatenate", "cos", "cosh", "cumsum", "diag", "dot"),
        *("einsum", "exp", "expand_dims", "expm1", "eye", "flip", "floor", "full"),
        *("full_like", "isfinite", "isnan", "linspace", "log", "log1p", "log2"),
        *("matmul", "max", "maximum", "min", "minimum", "moveaxis", "ones"),
        *("ones_like", "outer", "pad", "power", "repeat", "reshape", "roll", "round"),
        *("add", "divide", "floor_divide", "multiply", "permute_dims", "subtract"),
        *("sign", "sin", "sinh", "split", "sqrt", "square", "squeeze", "stack"),
        *("swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile"),
        *("transpose", "tril", "triu", "vstack", "where", "zeros", "zeros_like"),
        *("mean", "sum", "var", "std", "prod", "float16", "float32", "int32", "pi"),
        *("inf", "newaxis", "logical_and", "logical_or", "logical_not", "ndarray"),
    )
)
"""Names of jax.numpy that NumPy has, too, and means the same by."""

_DECORATORS = ("compact", "filter_jit", "jit", "nowrap", "transparent", "dataclass")
_TORCH = ARRAY_FUNCTIONS - {"arange", "array", "pad", "repeat", "split", "take"}
_RENAMED = {
    "bmm": "matmul",
    "cat": "concatenate",
    "clamp": "clip",
    "concat": "concatenate",
    "div": "divide",
    "mm": "matmul",
    "mul": "multiply",
    "permute": "permute_dims",
    "pow": "power",
    "sub": "subtract",
}
_OTHER_ACTIVATIONS = {"logsigmoid": "log_sigmoid", "softsign": "soft_sign"}
_USUAL = {
    "nn": "flax.linen",
    "F": "torch.nn.functional",
    "eqx": "equinox",
    "hk": "haiku",
    "tf": "tensorflow",
    "K": "keras",
}
"""The names that libraries are usually imported by."""

_LAYERS = {"Linear": 2, "Dropout": 1, "Identity": 0}
"""Layers that others declare in the same way, and the number of their arguments."""

_NORMS = ("optax.global_norm", "optax.tree.norm", "optax.tree_utils.tree_l2_norm")
"""What optax calls the norm of all arrays of a tree."""
_READ = ("equinox", "flax", "haiku", "torch")
_CONVERTED = (
    " `mlax-scaffold new-layer NAME --from FILE:CLASS` reads a class of the library."
)
_TYPING = ("jaxtyping", "chex", "typing")

_ALIKE = {*INITIALIZERS, *OWN_INITIALIZERS} - {
    *("delta_orthogonal", "normal", "orthogonal", "truncated_normal"),
    *("per_gate", "ring_phases", "ring_radii"),
}
"""Initializers that have the same defaults everywhere."""


def without_import(source: Source, node: ast.Import | ast.ImportFrom) -> Fix | None:
    """A spec without an import of another library: each use by what jax or a word is for it.

    None where a use has no counterpart.
    """
    edits: list[Edit] = [removed(source, node)]
    imports: list[Needed] = []
    for alias in node.names:
        bound, full = _meaning(node, alias)
        if full.partition(".")[0] not in (*LIBRARIES, *sys.stdlib_module_names):
            return None
        found = _typed(source, bound) if full.startswith(_TYPING) else None
        for used, rest in _uses(source, bound):
            if found is not None and rest is None:
                continue
            fix = _undecorated(source, used) or _replaced(
                source, used, ".".join(filter(None, (full, rest)))
            )
            if fix is None:
                return None
            edits += fix.edits
            imports += fix.imports
        for fix in found or ():
            if fix is None:
                return None
            edits += fix.edits
            imports += fix.imports
    return Fix(tuple(dict.fromkeys(edits)), tuple(dict.fromkeys(imports)))


def by_hand(source: Source, node: ast.Import | ast.ImportFrom) -> str:
    """What to say of uses of a library that have no counterpart; "" where there are none."""
    left: list[str] = []
    full = ""
    for alias in node.names:
        bound, full = _meaning(node, alias)
        if full.partition(".")[0] not in LIBRARIES:
            return ""
        for used, rest in _uses(source, bound):
            name = ".".join(filter(None, (full, rest)))
            if not (_undecorated(source, used) or _replaced(source, used, name)):
                left.append(f"`{unparsed(used)}`")
    if not left or any(full.startswith(t) for t in _TYPING):
        return ""
    return (
        f"Write {', '.join(dict.fromkeys(left))} by hand: weights and layers are declared "
        "in setup (`self.dense = Linear(in_features, out_features)`), and the mathematics "
        f"is that of jax.{_CONVERTED if full.startswith(_READ) else ''}"
    )


def without_name(source: Source, name: str) -> Fix | None:
    """Uses of a library that is not imported by what jax or a word is for them."""
    full = _USUAL.get(name, name)
    fixes = [
        _undecorated(source, used)
        or _replaced(source, used, ".".join(filter(None, (full, rest))))
        for used, rest in _uses(source, name)
    ]
    if None in fixes:
        return None
    edits = [edit for fix in fixes if fix for edit in fix.edits]
    imports = [needed for fix in fixes if fix for needed in fix.imports]
    return Fix(tuple(dict.fromkeys(edits)), tuple(dict.fromkeys(imports)))


def base_class(source: Source, node: ast.expr) -> Fix | None:
    """The base of another library's classes as `Layer`."""
    name = (dotted(node) or "").rpartition(".")[2]
    if name not in MODULES:
        return None
    return Fix((source.edit(node, "Layer"),), (Needed(SPEC, "Layer", "Layer"),))


def with_base(source: Source, node: ast.ClassDef) -> Fix | None:
    """A class without a base, of what its folder is for; of `Layer` with that of another library."""
    if node.keywords or len(node.bases) > 1:
        return None
    if node.bases:
        return base_class(source, node.bases[0])
    line, text = node.lineno, source.lines[node.lineno - 1]
    column = text.index(node.name, node.col_offset) + len(node.name) + 1
    end = text.index(":", column - 1) + 1
    kind = SECTIONS.get(PurePosixPath(source.path).parent.name, Kind.LAYER)
    base = "Layer" if kind is Kind.FUNCTION else kind.name.capitalize()
    edit = source.replace((line, column), (line, end), f"({base})")
    return Fix((edit,), (Needed(SPEC, base, base),))


def known(source: Source, node: ast.expr, name: str) -> Fix | None:
    """A name that nothing defines as what it is called in jax, or as the strict word."""
    if name in WORDS:
        needed = word(source, name)
        return Fix((source.edit(node, needed.bound),), (needed,))
    if name in TRANSFORMS:
        needed = of_jax(source, "jax")
        return Fix((source.edit(node, f"{needed.bound}.{name}"),), (needed,))
    if name in CONTROL:
        needed = of_jax(source, "lax")
        return Fix((source.edit(node, f"{needed.bound}.{name}"),), (needed,))
    if name in ACTIVATIONS:
        needed = of_jax(source, "jax")
        return Fix((source.edit(node, f"{needed.bound}.nn.{name}"),), (needed,))
    if name in ARRAY_FUNCTIONS:
        needed = of_jax(source, "jnp")
        return Fix((source.edit(node, f"{needed.bound}.{name}"),), (needed,))
    return None


def of_other_module(source: Source, node: ast.Attribute, home: str) -> Fix | None:
    """What a module of jax does not have: the same of its `home`, or what PyTorch calls otherwise.

    What draws takes a key: it is written by hand.
    """
    if node.attr in _RENAMED:
        return known(source, node, _RENAMED[node.attr])
    if home in ("", "jax.random"):
        return None
    short = {"jax.numpy": "jnp", "jax.lax": "lax", "jax.numpy.linalg": "jnp"}
    needed = of_jax(source, short.get(home, "jax"))
    module = home.removeprefix("jax.").removeprefix("numpy").removeprefix("lax")
    path = ".".join(filter(None, (needed.bound, module.strip("."), node.attr)))
    return Fix((source.edit(node, path),), (needed,))


def _meaning(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, str]:
    """The name that an import binds, and the dotted name that it stands for."""
    if isinstance(node, ast.ImportFrom):
        return alias.asname or alias.name, f"{node.module or ''}.{alias.name}"
    if alias.asname:
        return alias.asname, alias.name
    top = alias.name.partition(".")[0]
    return top, top


def _uses(source: Source, bound: str) -> Iterator[tuple[ast.expr, str | None]]:
    """The longest chains of attributes that begin with a name, with what follows it."""
    inner: set[int] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            part: ast.expr = node
            while isinstance(part, ast.Attribute):
                part = part.value
                inner.add(id(part))
            if isinstance(part, ast.Name) and part.id == bound:
                yield node, (dotted(node) or "").partition(".")[2]
        elif isinstance(node, ast.Name) and node.id == bound and id(node) not in inner:
            yield node, None


def _called_with(source: Source, node: ast.expr, count: int) -> bool:
    """Whether a name is called with so many arguments by position, and none by name."""
    return any(
        isinstance(part, ast.Call)
        and part.func is node
        and len(part.args) == count
        and not part.keywords
        for part in ast.walk(source.tree)
    )


def _undecorated(source: Source, node: ast.expr) -> Fix | None:
    """A function without the decorator that a name is, of those that specs need not."""
    if (dotted(node) or "").rpartition(".")[2] not in _DECORATORS:
        return None
    for part in ast.walk(source.tree):
        decorators = getattr(part, "decorator_list", [])
        if any(d is node for d in decorators):
            return undecorated(source, node)
    return None


def _typed(source: Source, bound: str) -> list[Fix | None]:
    """Every annotation that a name stands in, as words."""
    found: list[Fix | None] = []
    for node in ast.walk(source.tree):
        match node:
            case ast.arg(annotation=ast.expr() as annotation):
                make = array_type
            case ast.FunctionDef(returns=ast.expr() as annotation):
                make = array_type
            case ast.AnnAssign(annotation=annotation):
                make = field_type
            case _:
                continue
        names = {n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)}
        if bound in names:
            found.append(make(source, annotation))
    return found


def _norm(source: Source, node: ast.expr) -> Fix | None:
    """The norm of a tree by its inner product with itself; None where the tree has no name."""
    for call in ast.walk(source.tree):
        match call:
            case ast.Call(func=function, args=[tree], keywords=[]) if (
                function is node and dotted(tree)
            ):
                jnp, dot = of_jax(source, "jnp"), word(source, "tree_dot")
                text = source.text_of(tree)
                made = f"{jnp.bound}.sqrt({dot.bound}({text}, {text}))"
                return Fix((source.edit(call, made),), (jnp, dot))
    return None


def _replaced(source: Source, node: ast.expr, full: str) -> Fix | None:
    """A use of another library's name; None where there is no counterpart."""
    library, _, name = full.partition(".")
    owner, _, last = name.rpartition(".")
    if library == "numpy" and not owner:
        if last not in ARRAY_FUNCTIONS:
            return None
        needed = of_jax(source, "jnp")
        return Fix((source.edit(node, f"{needed.bound}.{last}"),), (needed,))
    if full in _NORMS:
        return _norm(source, node)
    if library not in ("flax", "equinox", "haiku", "torch", "tensorflow", "keras"):
        return None
    if last in MODULES:
        return base_class(source, node)
    if last in _LAYERS and _called_with(source, node, _LAYERS[last]):
        module = f"mlax_scaffold.specs.nn.{last.lower()}"
        needed = bound_to(source, module, last, f"Own{last}")
        return Fix((source.edit(node, needed.bound),), (needed,))
    if owner.endswith("initializers") and last in _ALIKE:
        needed = Needed(SPEC, last, last)
        return Fix((source.edit(node, last),), (needed,))
    if owner.endswith("initializers") and last in ("zeros_init", "ones_init"):
        return None
    last = _OTHER_ACTIVATIONS.get(last, last)
    functions = (
        "linen",
        "nn",
        "functional",
        "nn.functional",
        "activations",
        "keras.activations",
    )
    if owner.endswith(functions) or library == "haiku":
        return known(source, node, last) if last in ACTIVATIONS | WORDS else None
    if library == "torch" and not owner:
        last = _RENAMED.get(last, last)
        if last in ACTIVATIONS | WORDS or last in _TORCH:
            return known(source, node, last)
    return None
