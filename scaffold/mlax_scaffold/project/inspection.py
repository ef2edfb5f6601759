"""What a generated layer or function does on given shapes: runs in a process of its own.

Nothing is computed: jax only traces.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Mapping
from functools import reduce
from typing import Any

from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.shapes import (
    Anonymous,
    AnyAxes,
    Named,
    Variadic,
    is_size,
    parse_shape,
)

EXAMPLE_SIZE = 8
_BATCH = 2


def main() -> None:
    """Inspect what the argument names; print the result, as JSON, on the last line."""
    task = json.loads(sys.argv[1])
    try:
        result = inspect(task)
    except (ValueError, TypeError) as error:
        result = {"error": str(error)}
    print(json.dumps(result))


def inspect(task: Mapping[str, Any]) -> dict[str, Any]:
    """Weights, state and jaxpr of a definition.

    Args:
        task: `module` and `name`; `kind`, "layer" or "function"; `values` and
            `defaults`, source text of hyperparameters by name; `inputs` and `keywords`, the array types
            that are given; `dtype`, that of the jaxpr or None; `takes_key`, `draws` and
            `inference`.
    """
    import jax

    if task["dtype"] == "float64":
        jax.config.update("jax_enable_x64", True)
    values = {name: value_of(text) for name, text in task["values"].items()}
    target = getattr(importlib.import_module(task["module"]), task["name"])
    if task["kind"] == "function":
        defaults = {name: value_of(text) for name, text in task["defaults"].items()}
        return {"jaxpr": _function_jaxpr(target, task, values, defaults | values)}
    return _layer(target, task, values)


def value_of(text: str) -> Any:
    """A value from its text: a literal, a dotted name of jax, else the text itself."""
    if (
        text.startswith(("jax.", "jnp.", "lax."))
        and text.replace(".", "").isidentifier()
    ):
        path = {"jnp": "jax.numpy", "lax": "jax.lax"}
        top, _, rest = text.partition(".")
        module = importlib.import_module(path.get(top, top))
        return reduce(getattr, rest.split("."), module)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _layer(layer: Any, task: Mapping[str, Any], values: dict[str, Any]) -> dict:
    import jax

    key = jax.eval_shape(lambda: jax.random.key(0))
    if task["takes_key"]:
        dtype = task["dtype"]
        init = jax.eval_shape(lambda k: layer.init(k, **values, dtype=dtype), key)
    else:
        init = jax.eval_shape(lambda: layer.init(**values))
    trainables, non_trainables, hyperparams = init
    result = {
        "weights": _leaves(trainables),
        "state": _leaves(non_trainables),
        "jaxpr": None,
    }
    if task["dtype"] is None:
        return result
    fields = {
        name: getattr(hyperparams, name)
        for name in getattr(hyperparams, "__dataclass_fields__", {})
    }
    x, inputs = _arrays(task, fields)

    def fwd(x: Any, trainables: Any, non_trainables: Any, key: Any, inputs: Any) -> Any:
        return layer.fwd(
            x,
            trainables,
            non_trainables,
            hyperparams,
            inference_mode=task["inference"],
            key=key,
            **inputs,
        )

    given = key if task["draws"] and not task["inference"] else None
    x = x[0] if len(x) == 1 else tuple(x)
    jaxpr = jax.make_jaxpr(fwd)(x, trainables, non_trainables, given, inputs)
    return result | {"jaxpr": str(jaxpr)}


def _function_jaxpr(
    function: Any, task: Mapping[str, Any], values: dict[str, Any], fields: Any
) -> str | None:
    import jax

    if task["dtype"] is None:
        return None
    x, _ = _arrays(task, fields)
    return str(jax.make_jaxpr(lambda *x: function(*x, **values))(*x))


def _arrays(
    task: Mapping[str, Any], fields: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    sizes = {name: value for name, value in fields.items() if is_size(value)}
    made = [_array(i, task["dtype"], fields, sizes) for i in task["inputs"]]
    keywords = task["keywords"].items()
    named = {n: _array(i, task["dtype"], fields, sizes) for n, i in keywords}
    return made, named


def _array(
    given: Any, dtype: str, fields: Mapping[str, Any], sizes: dict[str, Any]
) -> Any:
    import jax

    kind, shape, items, keys = given
    if items:
        made = [_array(item, dtype, fields, sizes) for item in items]
        return dict(zip(keys, made, strict=True)) if kind == "dict" else tuple(made)
    if kind == "Key":
        return jax.eval_shape(lambda: jax.random.key(0))
    # A tree of arrays may be one array.
    dtypes = {name: row.example or dtype for name, row in KINDS.items()}
    dtypes["PyTree"] = dtype
    if kind == "Bool" and shape == "...":
        return jax.ShapeDtypeStruct((), "bool")  # a mask broadcasts
    concrete = _shape("..." if shape is None else shape, fields, sizes)
    return jax.ShapeDtypeStruct(concrete, dtypes[kind])


def _shape(
    text: str, fields: Mapping[str, Any], sizes: dict[str, Any]
) -> tuple[int, ...]:
    """A concrete shape: small, and with the same size wherever a name stands."""
    concrete: list[int] = []
    resolved = parse_shape(text).resolve(fields)
    for dim in resolved.dims:
        match dim:
            case Named(name):
                sizes.setdefault(name, EXAMPLE_SIZE)
            case Variadic(name):
                count = dim.count(sizes)
                count = 2 if count is None and name == "spatial" else count
                axes = (_BATCH,) if count is None else (EXAMPLE_SIZE,) * count
                sizes.setdefault(name, axes)
            case _:
                for name in getattr(dim, "names", ()):
                    sizes.setdefault(name, EXAMPLE_SIZE)
        match dim:
            case Anonymous():
                concrete.append(EXAMPLE_SIZE)
            case AnyAxes() if len(resolved.dims) > 1:
                pass  # beside others it may stand for no axes
            case AnyAxes():
                axes = fields.get("spatial_dims", 1)
                concrete += [_BATCH, *([EXAMPLE_SIZE] * axes)]
            case _:
                concrete += type(resolved)((dim,)).evaluate(sizes)
    return tuple(concrete)


def _leaves(tree: Any) -> list[dict[str, Any]]:
    import jax

    from mlax_scaffold.spec.trees import path_name

    return [
        {
            "name": path_name(path),
            "shape": list(leaf.shape),
            "dtype": str(leaf.dtype),
        }
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    ]
