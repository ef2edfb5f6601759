"""Recipes: for each kind of layer, how arrays of a place in a checkpoint fill it."""

from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.recipes import attention, recurrent, simple
from mlax_scaffold.weights.recipes.fill import Fill, Recipe
from mlax_scaffold.weights.source import LAYOUTS, Node, Source

RECIPES: dict[str, Recipe] = {
    "Linear": simple.linear,
    "Conv": simple.conv,
    "DepthwiseConv": simple.conv,
    "PatchEmbed": simple.conv,
    "ConvTranspose": simple.conv_transpose,
    "": simple.alone,
    "Embed": simple.table,
    "LearnedPositionalEmbedding": simple.table,
    "BatchNorm": simple.vectors,
    "LayerNorm": simple.vectors,
    "GroupNorm": simple.vectors,
    "InstanceNorm": simple.vectors,
    "RMSNorm": simple.vectors,
    "Scaler": simple.vectors,
    "Bias": simple.vectors,
    "PReLU": simple.vectors,
    "LSTMCell": recurrent.lstm,
    "GRUCell": recurrent.gru,
    "MGUCell": recurrent.minimal,
    "SimpleCell": recurrent.simple,
    "MultiHeadAttention": attention.attention,
}
"""By the kind of the layer; any other one is filled by the names of its weights."""

COMPOSITE = {"MultiHeadAttention", "LSTMCell", "GRUCell", "MGUCell", "SimpleCell"}
"""Kinds that take what lies below a place, too; they are filled first."""


def fills(slot: Slot, node: Node, source: Source) -> tuple[Fill, ...]:
    """The ways in which the arrays of a place can fill a layer; none where they do not fit.

    All arrays of the place are used, as one that is left would change what it computes; but not
    what the model keeps at its initial value, such as a counter.
    """
    recipe = RECIPES.get(slot.kind, simple.by_shape)
    layouts = source.layouts
    if slot.kind == "LSTMCell" and source.layout is None:
        layouts = [LAYOUTS["haiku" if "linear" in node.children else "torch"]]
    found: list[Fill] = []
    for layout in layouts:
        for fill in recipe(slot, node, layout):
            if slot.kind not in COMPOSITE and not _uses_all(fill, slot, node):
                continue
            if all(fill.arrays != other.arrays for other in found):
                found.append(fill)
    return tuple(found)


def _uses_all(fill: Fill, slot: Slot, node: Node) -> bool:
    texts = " ".join(str(array.expression) for array in fill.arrays.values())
    return all(
        name in slot.kept or str(leaf.expression) in texts
        for name, leaf in node.leaves.items()
    )
