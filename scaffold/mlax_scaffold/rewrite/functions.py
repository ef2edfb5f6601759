"""Signatures of the functions that methods of a layer become, which take what they use."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import code, expression
from mlax_scaffold.rewrite.traversal import Transformer


def own_signature(function: cst.FunctionDef, context: Context) -> str:
    """Parameters and result: what the function takes of the layer, and then its own parameters."""
    types = dict(context.method.types)
    given = list(function.params.params)
    if given and given[0].name.value == "self":
        given = given[1:]
    params = cst.ensure_type(
        function.params.with_changes(params=given).visit(_Types(types)), cst.Parameters
    )
    own = code(params)
    parameters = [*taken(context), *([own] if own else [])]
    returned = types.get("return", "")
    if not returned and function.returns is not None:
        returned = code(function.returns.annotation)
    if returned and context.changes:
        returned = f"tuple[{returned}, {context.definition.name}NonTrainables]"
    result = f" -> {returned}" if returned else ""
    return f"({', '.join(parameters)}){result}"


def taken(context: Context) -> list[str]:
    """What a method is given beside its own parameters, as parameters."""
    needs = context.needs[context.method.name]
    name = context.definition.name
    optional = {d.name for d in context.definition.declarations if d.optional}
    found = []
    for weight in needs.weights:
        annotation = "jax.Array | None" if weight in optional else "jax.Array"
        found.append(f"{context.given_as(weight)}: {annotation}")
    found += [f"{context.given_as(state)}: jax.Array" for state in needs.states]
    trees = {
        f"trainables: {name}Trainables": needs.trainables,
        f"non_trainables: {name}NonTrainables": needs.non_trainables,
        f"hyperparams: {name}Hyperparams": needs.hyperparams,
        "inference_mode: bool": needs.training,
        "key: jax.Array | None": needs.draws,
        "dtype: DTypeLike | None": needs.dtype,
    }
    return [*found, *(text for text, wanted in trees.items() if wanted)]


class _Types(Transformer):
    def __init__(self, types: dict[str, str]):
        super().__init__()
        self.types = types

    def leave_Param(
        self, original_node: cst.Param, updated_node: cst.Param
    ) -> cst.Param:
        name = updated_node.name.value
        plain = name.removesuffix("_")
        text = self.types.get(plain if plain in RESERVED else name)
        if text is None:
            return updated_node
        annotation = cst.Annotation(expression(text))
        return updated_node.with_changes(annotation=annotation)
