"""What a parameter is that nothing is said of, told by the class of the file that it is handed to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute


def handed_default(origin: Origin, node: ast.AST, parameter: str) -> ast.expr | None:
    """The number with a point that a class takes by default in its place; None where there is none.

    `LayerScale(dim, init_values=init_values)`, which is `init_values=1e-5`, says that it is no size.
    """
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            known = origin.classes.get(call.func.id)
            start = method_of(known, "__init__") if known is not None else None
            if start is None:
                continue
            defaults = defaults_of(start.args)
            for place in _places(call, start, parameter):
                if isinstance(literal(defaults.get(place)), float):
                    return defaults[place]
    return None


def _places(call: ast.Call, start: ast.FunctionDef, parameter: str) -> Iterator[str]:
    """The parameters of a constructor that a call gives it to."""
    titles = [a.arg for a in start.args.args[1:]]
    given = [*zip(titles, call.args, strict=False)]
    given += [(str(k.arg), k.value) for k in call.keywords]
    for title, value in given:
        if is_name(value, parameter) or self_attribute(value) == parameter:
            yield title
