"""The methods of a module class that run the entry points of its layer."""

from __future__ import annotations

from dataclasses import replace

from mlax_scaffold.model.definition import Definition, Method
from mlax_scaffold.render.layer import FunctionView
from mlax_scaffold.render.parameters import (
    Parameter,
    array_doc,
    keyword_input,
)
from mlax_scaffold.render.text import docstring, paragraphs, section

_PARAMS = ("params", "the parameters: those that are missing are created.")
_FLAG = ("is_training", "static; whether state changes and something may be random.")

_PASSED = (("**inputs", "keyword inputs, handed to the modules that take them."),)


def call_view(definition: Definition, method: Method) -> FunctionView:
    """The method of a module class that runs an entry point: `__call__` for `fwd`."""
    forward = method.name == "forward"
    entry = "fwd" if forward else method.name
    recurrent = forward and definition.recurrent
    result = "Any" if method.returns is None else method.returns.annotation
    positional = _positional(method, recurrent)
    keyword = [keyword_input(i) for i in method.keyword]
    signature = [
        "self",
        "params: Params",
        *(p.text for p in positional),
        "*",
        *(p.text for p in keyword),
        "is_training: bool = True",
        *(["**inputs: Any"] if method.passes else []),
    ]
    names = [p.name for p in positional]
    x = names[0] if len(names) == 1 else f"({', '.join(names)})"
    passed = "".join(f", {p.name}={p.name}" for p in keyword)
    passed += ", **inputs" if method.passes else ""
    lines = []
    if recurrent:
        lines += [
            "if prev_state is None:",
            "    prev_state, params = self.initial_state(params, x)",
        ]
    lines.append(f"return self.call(pure.{entry}, params, {x}, is_training{passed})")
    return FunctionView(
        "__call__" if forward else method.name,
        ", ".join(signature),
        f"tuple[{result}, Params]",
        docstring(_call_doc(method, positional, keyword), 8),
        "\n".join(lines),
    )


def _positional(method: Method, recurrent: bool) -> list[Parameter]:
    found = [
        Parameter(
            i.name,
            i.type.annotation,
            None,
            f"{i.doc or array_doc(i.type)}.",
        )
        for i in method.positional
    ]
    if len(found) == 1:
        return [replace(found[0], name="x")]
    if recurrent and len(found) == 2:
        x, state = found
        doc = f"{state.doc.rstrip('.')}; None: the initial one."
        return [
            replace(x, name="x"),
            Parameter("prev_state", "Any", "None", doc),
        ]
    return found


def _call_doc(
    method: Method, positional: list[Parameter], keyword: list[Parameter]
) -> str:
    first = "Apply the module." if method.name == "forward" else ""
    result = "anything" if method.returns is None else array_doc(method.returns)
    return paragraphs(
        first or method.doc or f"Compute {method.name}.",
        section(
            "Args",
            [
                _PARAMS,
                *((p.name, p.doc) for p in (*positional, *keyword)),
                _FLAG,
                *(_PASSED if method.passes else ()),
            ],
        ),
        section("Returns", [("`(y, params)`", f"y is {result}.")]).replace(
            "`(y, params)`: y", "`(y, params)`; y"
        ),
        section(
            "Raises",
            [
                ("LockedError", "where locked params lack a parameter."),
                ("ValueError, TypeError", "where an input does not fit."),
            ],
        ),
    )
