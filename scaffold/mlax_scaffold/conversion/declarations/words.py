"""The words of hyperparameters: what a parameter takes, by its type, its default and its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from mlax_scaffold.conversion.rows.tables.activations import VALUES
from mlax_scaffold.conversion.source.trees import is_none, literal
from mlax_scaffold.conversion.source.walking import walk

_RATES = re.compile(
    r"(dropout|drop_path|drop|rate|prob|probability)(_?(rate|prob|p))?$|^p$|_p$|pdrop$"
)
_NO_RATES = re.compile(r"(growth|dilation|sampl\w*|frame|bit)_rate$")
NUMBERED = re.compile(
    r"(layer|block|stage|level)_?(id|idx|index|num|number)$|^(i|idx|index)$"
)
"""Numbers of layers, which begin at zero."""
_TOKENS = re.compile(
    r"(pad|padding|mask|unk|bos|eos|cls|sep|start|stop|blank)_?(token|id|idx|index|token_id)$"
)
"""Numbers of words, which begin at zero, too."""
WINDOW = re.compile(r"(kernel|window|stride|dilation|patch)\w*$")
"""Sizes of windows: they have as many axes as by default."""
_POSITIVE = re.compile(r"(^|_)(eps|epsilon|temperature|tau|base|theta)$")
_SIZES = re.compile(
    r"(features?|dims?|channels?|size|width|depth|heads?|layers?|units|hidden|embed|classes|groups|vocab\w*"
    r"|length|len|in|out|num|experts|rank|ratio|kernel|stride|window|patch|blocks?|n|d|steps|mult\w*"
    r"|capacity|tokens|bins|latent|factor|k|bottleneck|reduction|expansion|d_\w+|n_\w+|num_\w+|c_\w+)$"
)
_FUNCTIONS = re.compile(
    # `d_ffn` is a size.
    r"(activation|nonlinearity|non_linearity|(^|_|act|activation)(fn|func)|(^|_)act)$"
)
_PRODUCTS = {
    "dot_general": "DotGeneral",
    "conv_general_dilated": "ConvGeneralDilated",
}
"""Words of functions of `jax.lax` that another one may stand in for."""
_NAMED = re.compile(r"(^|_)(axis_name|precision)$")
"""Parameters that have a word of their own, whatever their type is called."""
_SEQUENCES = re.compile(
    r"(sizes|hidden_dims|widths|layer_dims|features_list|hiddens|dims)$"
)


def word_of(
    parameter: str,
    annotation: ast.expr | None,
    default: ast.expr | None,
    optional: bool = False,
) -> str:
    """The word for a parameter."""
    text = ast.unparse(annotation) if annotation is not None else ""
    text = text.strip("'\"")
    maybe = optional or is_none(default) or "Optional" in text or "None" in text
    product = _product(parameter, default)
    if product:
        return product
    if named := _NAMED.search(parameter):
        plain = text.replace("Optional", "").strip("[]")
        word = "AxisName" if named[2] == "axis_name" else "Precision"
        if plain not in ("int", "float", "bool"):
            return f"{word} | None" if maybe else word
    word = _typed(parameter, text, default) or _by_default(parameter, default)
    word = word or _by_name(parameter)
    return f"{word} | None" if maybe else word


def product_by_default(word: str, default: ast.expr | None) -> ast.expr | None:
    """The function of `jax.lax` where a product may be None; else the default as it is."""
    called = {w: n for n, w in _PRODUCTS.items()}.get(word)
    if called is None or not is_none(default):
        return default
    return ast.Attribute(ast.Name("@module:lax", ast.Load()), called, ast.Load())


def is_exponent(node: ast.AST, parameter: str, default: ast.expr | None) -> bool:
    """Whether what a function raises to the power of a parameter has a pole below zero."""
    value = literal(default)
    return (
        isinstance(value, int | float)
        and value > 0
        and any(
            isinstance(part, ast.BinOp)
            and isinstance(part.op, ast.Pow)
            and isinstance(part.right, ast.Name)
            and part.right.id == parameter
            for part in walk(node)
        )
    )


def _product(parameter: str, default: ast.expr | None) -> str:
    """The word of a function that multiplies or convolves, told by what it is by default, or its name."""
    text = ast.unparse(default).rpartition(".")[2] if default is not None else ""
    found = (w for n, w in _PRODUCTS.items() if text == n or parameter.endswith(n))
    return next(found, "")


def _typed(parameter: str, text: str, default: ast.expr | None) -> str:
    plain = re.sub(r"Optional\[(.*)\]$", r"\1", text)
    plain = re.sub(r"\s*\|\s*None|None\s*\|\s*|Union\[(.*)\]", r"\1", plain)
    plain = plain.removeprefix("typing.").removeprefix("t.").removeprefix("tp.")
    value = literal(default)
    if not plain or plain in ("Any", "object"):
        return ""
    if plain == "Shape":
        return plain
    if plain.startswith("Literal["):
        return plain.replace("'", '"')
    if "Initializer" in plain:
        return "Initializer"
    if re.search(r"Callable|ModuleDef|Activation", plain):
        # `kernel_init: Callable = nn.initializers.xavier_uniform()`
        begins = _by_default(parameter, default) or _by_name(parameter)
        return "Initializer" if begins == "Initializer" else "Activation"
    if re.search(r"(Dtype|DType|DTypeLike|dtype)$", plain):
        return "DType"
    if re.search(r"(Sequence|Tuple|List|tuple|list|Iterable)", plain):
        if isinstance(value, tuple | list) and (rows := _rows(value)):
            return rows
        if (
            "," in plain.replace(", ...", "")
            and "int," in plain
            and "[int" not in plain[:4]
        ) and not re.search(r"(Sequence|Tuple|List|tuple|list|Iterable)\[int", plain):
            return "Size"
        if "float" in plain:
            return "tuple[float, ...]"
        if "str" in plain:
            return "tuple[str, ...]"
        if "bool" in plain:
            return "tuple[bool, ...]"
        if isinstance(value, tuple | list) and any(isinstance(v, float) for v in value):
            return "tuple[float, ...]"
        zero = isinstance(value, tuple | list) and any(v == 0 for v in value)
        # No padding is one, too.
        return "Shape" if zero or "padding" in parameter else "Sizes"
    if isinstance(value, bool):
        # `activate_final: int = False`
        return "bool"
    if plain == "int" or plain.startswith("int"):
        return _integer(parameter, value)
    if plain == "float" or plain.startswith("float"):
        return _float(parameter, value)
    if plain in ("bool", "str"):
        return plain
    return ""


def _rows(value: Sequence[object]) -> str:
    """The word of a sequence of rows, such as those of widths and counts; "" of any other."""
    rows = [row for row in value if isinstance(row, tuple | list)]
    if not rows or len(rows) != len(value) or len({len(r) for r in rows}) != 1:
        return ""
    columns: list[str] = []
    for cells in zip(*rows, strict=True):
        kinds = {type(cell) for cell in cells}
        kinds = {float} if kinds == {int, float} else kinds
        if len(kinds) != 1 or not kinds <= {int, float, str, bool}:
            return ""
        columns.append(kinds.pop().__name__)
    if len(columns) == 1 or (len({*columns}) == 1 and len(columns) > 4):
        return ""
    return f"tuple[tuple[{', '.join(columns)}], ...]"


def _by_default(parameter: str, default: ast.expr | None) -> str:
    if default is None or is_none(default):
        return ""
    value = literal(default)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return _integer(parameter, value)
    if isinstance(value, float):
        return _float(parameter, value)
    if isinstance(value, str):
        return "str"
    if isinstance(value, tuple | list):
        if rows := _rows(value):
            return rows
        for kind in (str, bool):
            if value and all(isinstance(v, kind) for v in value):
                return f"tuple[{kind.__name__}, ...]"
        if all(isinstance(v, int) for v in value):
            return "Sizes" if all(v > 0 for v in value) else "Shape"
        return "tuple[float, ...]"
    text = ast.unparse(default)
    if "initializers" in text or (text.startswith("@word:") and text[6:] not in VALUES):
        return "Initializer"
    if text.startswith("@word:") or text.rpartition(".")[2] in VALUES:
        return "Activation"
    return "Activation" if isinstance(default, ast.Lambda) else ""


def _by_name(parameter: str) -> str:
    if parameter.endswith(("_init", "_initializer")):
        return "Initializer"
    tokens = _TOKENS.search(parameter)
    if NUMBERED.search(parameter) or tokens or parameter in ("padding", "pad"):
        # No padding is one, too.
        return "Count"
    if _FUNCTIONS.search(parameter):
        return "Activation"
    if parameter.startswith(("use_", "with_", "is_", "has_")) or parameter in (
        *("bias", "affine", "causal", "residual", "norm_first", "learnable", "gated"),
    ):
        return "bool"
    if _RATES.search(parameter) and not _NO_RATES.search(parameter):
        return "Probability"
    if _POSITIVE.search(parameter):
        return "Positive"
    if _SEQUENCES.search(parameter) and not parameter.startswith(("num_", "n_")):
        return "Sizes"
    if parameter in ("alpha", "beta", "gamma", "scale", "momentum", "decay", "slope"):
        return "float"
    return "Size"


def _integer(parameter: str, value: object) -> str:
    if isinstance(value, int) and value < 0:
        return "int"
    if parameter in ("axis", "dim") and isinstance(value, int) and value < 1:
        return "int"
    counted = parameter in ("padding", "pad") or NUMBERED.search(parameter)
    counted = counted or _TOKENS.search(parameter)
    return "Count" if value == 0 or counted else "Size"


def _float(parameter: str, value: object) -> str:
    number = value if isinstance(value, float | int) else None
    if _RATES.search(parameter) and (number is None or 0 <= number <= 1):
        return "Probability"
    if _POSITIVE.search(parameter) and (number is None or number > 0):
        return "Positive"
    if "drop" in parameter and number is not None and 0 <= number <= 1:
        # `attn_drop_ratio=0.0`
        return "Probability"
    scaling = re.search(r"(ratio|mult\w*|expansion|scale|factor)$", parameter)
    if scaling and (number is None or number > 0):
        return "Positive"
    if re.search(r"(decay|momentum)$", parameter) and (
        number is None or 0 <= number < 1
    ):
        return "Decay"
    return "float"
