"""Tests that hold recorded values, and need nothing but pytest and the source itself."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Sequence

from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.owning.bundle import Bundle, test_of
from mlax_scaffold.owning.place import Place
from mlax_scaffold.project.staging import Stage
from mlax_scaffold.render.docs.example import example

_RECORD = """
import json, sys

import jax
import numpy as np

def values(text):
    scope = {}
    exec(compile(text, "<example>", "exec"), scope)
    leaves = jax.tree.leaves(scope["run"]())
    return [np.asarray(leaf, np.float64).tolist() for leaf in leaves]

print("\\n" + json.dumps([values(text) for text in json.loads(sys.argv[1])]))
"""

_TEST = '''"""Values of {package}.{name} as they were recorded: another one means that its code changed."""

{imports}
import numpy as np


{run}

EXPECTED = {expected}


def test_{module}_gives_what_was_recorded():
    found = jax.tree.leaves(run())
    assert len(found) == len(EXPECTED)
    for array, expected in zip(found, EXPECTED):
        np.testing.assert_allclose(np.asarray(array, np.float64), expected, 1e-5, 1e-6)
'''


_RESULTS = {
    Kind.LAYER: "y, non_trainables",
    Kind.BLOCK: "y, non_trainables",
    Kind.FUNCTION: "result",
    Kind.OPTIMIZER: "trainables",
    Kind.SCHEDULE: "value",
}


def plain_tests(
    bundle: Bundle, place: Place, stage: Stage, wanted: Sequence[Definition]
) -> Iterator[tuple[str, str]]:
    """The paths and the texts of tests, whose values are recorded by running what is staged.

    Args:
        bundle: the source.
        place: where it goes.
        stage: holds it, to be run.
        wanted: the definitions of the bundle that values are recorded of.

    Raises:
        UsageError: there is no example of a definition.
        FindingsError: an example fails.
    """
    programs = [_program(d, bundle, place) for d in wanted]
    outcome = stage.run(_RECORD, [f"{head}\n\n{run}" for head, run in programs])
    if outcome.status != 0:
        raise FindingsError(
            f"{outcome.output.strip()}\n\nNo values could be recorded. Nothing was changed."
        )
    found = json.loads(outcome.output.splitlines()[-1])
    for definition, (imports, run), values in zip(wanted, programs, found, strict=True):
        text = _TEST.format(
            package=place.package,
            name=str(definition.reference),
            module=definition.module,
            imports=imports,
            run=run,
            expected=f"[{', '.join(map(repr, values))}]",
        )
        yield test_of(definition, place), text


def _program(definition: Definition, bundle: Bundle, place: Place) -> tuple[str, str]:
    """Imports, and a function `run` that returns what an example makes."""
    text = example(definition, bundle.library, place.package)
    if not text:
        raise UsageError(
            f"no example of {definition.name} can be derived from its words, so that "
            "there is nothing to record: add it without --plain-tests"
        )
    tree = _Lively().visit(ast.parse(text))
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    body = [n for n in tree.body if n not in imports and not isinstance(n, ast.Assert)]
    used = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}
    for node in imports:
        if isinstance(node, ast.ImportFrom):
            node.names = [alias for alias in node.names if alias.name in used]
    if definition.kind.is_layer:
        # What starts as zero or one would not show whether it is used.
        made = [ast.unparse(n).startswith("trainables,") for n in body]
        shifted = "trainables = jax.tree.map(lambda weight: weight + 0.25, trainables)"
        body[made.index(True) + 1 : made.index(True) + 1] = ast.parse(shifted).body
    if definition.kind is Kind.OPTIMIZER:
        # What a state is good for shows in the second step.
        starts = [ast.unparse(n).startswith("updates, state =") for n in body]
        body += body[starts.index(True) :]
    [run] = ast.parse(f"def run():\n    return {_RESULTS[definition.kind]}").body
    assert isinstance(run, ast.FunctionDef)
    run.body[:0] = body
    text = ast.unparse(ast.fix_missing_locations(run))
    return "\n".join(map(ast.unparse, imports)), text


class _Lively(ast.NodeTransformer):
    """Arrays of ones become different numbers in float32, so that what is done with each matters."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Gradients differ from each other, too."""
        if ast.unparse(node) == "jnp.ones_like":
            node.attr = "sin"
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `jnp.ones(shape, jnp.bfloat16)`, and zeros."""
        self.generic_visit(node)
        made = ast.unparse(node.func)
        if made not in ("jnp.ones", "jnp.zeros") or len(node.args) < 2:
            return node
        if ast.unparse(node.args[1]) != "jnp.bfloat16":
            return node
        shape = ast.literal_eval(node.args[0])
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        numbers = f"jnp.cos(jnp.arange({float(size)}))"
        if isinstance(shape, tuple) and len(shape) != 1:
            numbers += f".reshape({shape})"
        return ast.parse(numbers, mode="eval").body
