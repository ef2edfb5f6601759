"""Each function whose mathematics is of `jnp` alone, as one of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from mlax_scaffold.plugin.outputs import (
    Context,
    Definition,
    Kind,
    Method,
    Output,
    Pass,
    Rendered,
    Source,
    Templates,
    header,
    passes_of,
)

TEMPLATES = Templates(Path(__file__).parent / "templates", "mirror/templates")


def in_numpy(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """The pass: `jnp` is `np`."""
    numpy = m.MatchIfTrue(lambda name: name == "jnp")
    replaced = m.replace(function, m.Name(numpy), cst.Name("np"))
    return cst.ensure_type(replaced, cst.FunctionDef)


def passes(method: Method, definition: Definition) -> tuple[Pass, ...]:
    """Those that every function has, and then this one."""
    return (*passes_of(method, definition), in_numpy)


def of_definition(source: Source) -> Iterator[Rendered]:
    """`PACKAGE/numpy/NAME.py`."""
    definition = source.definition
    imported = {found.meaning for found in definition.imports}
    if definition.kind is not Kind.FUNCTION or imported - {"jax.numpy"}:
        return
    [method] = definition.methods
    text = TEMPLATES.render(
        "function.py.jinja",
        header=header(definition.source),
        summary=definition.summary,
        name=definition.name,
        parameters=", ".join(i.name for i in method.inputs),
        body=source.rewritten(passes)[method.name].body,
    )
    path = f"{source.project.output}/numpy/{definition.module}.py"
    yield Rendered(path, text, definition.source)


OUTPUTS = {"numpy": Output(of_definition=of_definition)}
