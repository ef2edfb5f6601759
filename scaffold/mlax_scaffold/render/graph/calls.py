"""The methods of a module class that run the entry points of its layer."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Method
from mlax_scaffold.render.arrays import result_doc
from mlax_scaffold.render.graph.signatures import call, positional, takes_state
from mlax_scaffold.render.package.layer import FunctionView
from mlax_scaffold.render.signatures import Signature
from mlax_scaffold.render.text import docstring, paragraphs, section


def call_view(definition: Definition, method: Method) -> FunctionView:
    """The method of a module class that runs an entry point: `__call__` for `fwd`."""
    signature = call(definition, method)
    names = [p.name for p in positional(definition, method)]
    x = names[0] if len(names) == 1 else f"({', '.join(names)})"
    passed = "".join(f", {i.name}={i.name}" for i in method.keyword)
    passed += ", **inputs" if method.passes else ""
    lines = []
    if takes_state(definition, method):
        lines += [
            "if prev_state is None:",
            "    prev_state, params = self.initial_state(params, x)",
        ]
    run = f"pure.{method.function}, params, {x}, is_training{passed}"
    body = "\n".join([*lines, f"return self.call({run})"])
    return FunctionView(signature, docstring(_call_doc(method, signature), 8), body)


def _call_doc(method: Method, signature: Signature) -> str:
    first = "Apply the module." if method.name == "forward" else ""
    result = result_doc(method.returns)
    return paragraphs(
        first or method.doc or f"Compute {method.name}.",
        section("Args", signature.docs),
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
