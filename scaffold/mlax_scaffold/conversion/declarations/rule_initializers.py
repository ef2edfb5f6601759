"""Rules that fill weights, as initializers of the layers of a class."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from itertools import product

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.declarations.initial_runs import Filled, Run, Subject
from mlax_scaffold.conversion.forms.initial_rules import Rule
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.shapes.layer_shapes import arguments
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    name,
    names,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_WINDOWED = ("Conv", "ConvTranspose")
_NORMS = ("LayerNorm", "BatchNorm", "GroupNorm", "RMSNorm", "InstanceNorm")
_SIZES = {
    **{n: n for n in ("in_features", "out_features", "in_channels", "out_channels")},
    **{"embedding_dim": "features", "num_embeddings": "entries"},
    **{"kernel_size": "kernel_size", "groups": "groups"},
}
_TODO = "give the weight an initializer"


def initialize(
    builder: Builder, rule: Rule, *, own: bool, known: Collection[str] = ()
) -> None:
    """Give all layers of a class that are declared so far what a rule fills them with.

    Args:
        builder: the class.
        rule: what fills them.
        own: whether the class states the rule itself: names of its constructor mean something there.
        known: attributes that stay as they are.
    """
    _Rules(builder, rule, own, known).run()


class _Rules:
    def __init__(self, builder: Builder, rule: Rule, own: bool, left: Collection[str]):
        self.builder, self.rule, self.own, self.left = builder, rule, own, left

    def run(self) -> None:
        if self.rule.kind == "part":
            if self.builder.node.name in self.rule.classes:
                self._of_class()
            return
        for attribute, known in self.builder.attributes.items():
            if attribute in self.left or not self.rule.holds_for(attribute):
                continue
            if self.rule.kind == "parameters":
                self._of_parameters(attribute, known)
            elif known.layer.startswith("@layer:"):
                self._of_layer(attribute, known)
        if self.rule.kind == "modules" and not self.left and not self.rule.attribute:
            self._of_class()

    def _runs(self, subjects: Iterable[Subject]) -> list[Filled]:
        """What is filled for a layer, which is one of these in PyTorch."""
        origin = self.builder.origin
        runs = [Run(origin, self.rule, subject) for subject in subjects]
        told = {tuple(ast.unparse(f.call) for f in run.found) for run in runs}
        for run in runs:
            for node in run.left:
                self._leave(node)
            if len(told) > 1:
                for filled in run.found:
                    self._leave(filled.call)
        return runs[0].found if len(told) == 1 else []

    def _of_layer(self, attribute: str, known: Attribute) -> None:
        weights = _weights(known)
        for filled in self._runs(
            Subject(k, weights) for k in _kinds(self.builder, known)
        ):
            if len(filled.place) == 1 and filled.place[0] in weights:
                self._give(attribute, filled.place[0], filled.call)
            elif filled.place and filled.place[0] in ("weight", "bias"):
                continue
            else:
                self._leave(filled.call)

    def _of_parameters(self, attribute: str, known: Attribute) -> None:
        for weight, axes in _weights(known).items():
            title = attribute if known.kind == "weight" else f"{attribute}.{weight}"
            found = self._runs([Subject("", {weight: axes}, title)])
            for filled in found:
                given = "" if known.kind == "weight" else weight
                if filled.place == ():
                    self._give(attribute, given, filled.call)

    def _of_class(self) -> None:
        builder = self.builder
        weights = {a: 0 for a, k in builder.attributes.items() if k.kind == "weight"}
        layers = {a: 0 for a, k in builder.attributes.items() if k.layer}
        subject = Subject(builder.node.name, {**weights, **layers})
        for filled in self._runs([subject]):
            attribute, *rest = filled.place or ("",)
            if rest and rest[0].startswith("["):
                attribute = self._element(attribute, rest.pop(0))
            if attribute not in builder.attributes or len(rest) > 1:
                if attribute not in ("weight", "bias") or self.rule.kind == "part":
                    self._leave(filled.call)
            elif not self._give(attribute, rest[0] if rest else "", filled.call):
                self._leave(filled.call)

    def _element(self, attribute: str, index: str) -> str:
        """The attribute that an element of a sequence is."""
        items = self.builder.translator.around.items.get(attribute, [])
        at = literal(ast.parse(index).body[0].value.elts[0])  # type: ignore[attr-defined]
        if isinstance(at, int) and -len(items) <= at < len(items):
            return self_attribute(items[at]) or ""
        return ""

    def _give(self, attribute: str, weight: str, call: ast.Call) -> bool:
        """Give a weight what a call fills it with; whether there is such a weight."""
        known = self.builder.attributes[attribute]
        made = self._initializer(known, call)
        if made is None:
            self._leave(call)
            return True
        layer = known.layer.removeprefix("@layer:")
        kind = {"weight": "kernel"}.get(weight, weight)
        if weight == "weight":
            kind = "scale" if layer in _NORMS else kind
            kind = "embedding" if layer == "Embed" else kind
            kind = "slope" if layer == "PReLU" else kind
        standing = {k.arg for k in known.call.keywords} if known.call else set()
        usual = {"bias": ("zeros", 0), "scale": ("ones", 1)}.get(kind)
        if usual and f"{kind}_initializer" not in standing and _is(made, *usual):
            return True
        return self.builder.give_initializer(attribute, kind, made)

    def _initializer(self, known: Attribute, call: ast.Call) -> ast.expr | None:
        """The initializer that does what a call does; None where it cannot be told here."""
        assert isinstance(call.func, ast.Attribute)
        sizes, module = self._sizes(known), self.rule.module
        put = _Sizes(module)
        given = [put.visit(replaced(a, {})) for a in call.args[1:]]
        keywords = [ast.keyword(k.arg, put.visit(k.value)) for k in call.keywords]
        parts = [*given, *(k.value for k in keywords)]
        if any(self._means_nothing(p) for p in parts) or not put.used <= set(sizes):
            return None
        translate = self.builder.translator.expression
        made = ast.Call(
            call.func,
            [name("w"), *map(translate, given)],
            [ast.keyword(k.arg, translate(k.value)) for k in keywords],
        )
        row = IN_PLACE[call.func.attr]
        try:
            filled = row.fill(row.bind(made), self.builder.calculations)
        except MisfitError:
            return None
        return replaced(filled, {f"_of_{s}": v for s, v in sizes.items()})

    def _means_nothing(self, node: ast.expr) -> bool:
        """Whether an expression reads what this class does not have."""
        if any(is_name(p, self.rule.module) for p in walk(node)):
            return True
        if self.own:
            return False
        origin = self.builder.origin
        known = {*origin.imports, *origin.assigned, "min", "max", "float", "int", "abs"}
        read = {n for n in names(node) if not n.startswith("_of_")}
        return bool(read - known)

    def _sizes(self, known: Attribute) -> dict[str, ast.expr]:
        """What a module of PyTorch calls its sizes."""
        if known.call is None or not known.layer.startswith("@layer:"):
            return {}
        given = arguments(known.layer.removeprefix("@layer:"), known.call)
        found = {s: given[own] for s, own in _SIZES.items() if own in given}
        size = found.pop("kernel_size", None)
        if size is not None:
            parts = size.elts if isinstance(size, ast.Tuple) else [size] * 3
            whole = all(isinstance(literal(p), int) for p in parts)
            found |= {f"kernel_size_{i}": p for i, p in enumerate(parts) if whole}
        return found

    def _leave(self, node: ast.AST) -> None:
        text = ast.unparse(node)
        if text.startswith("init."):
            text = f"nn.{text}"
        if isinstance(node, ast.Assign | ast.AugAssign) and _sets_setting(node):
            self.builder.notes.refuse(
                node, f"`{text}` sets a number of layers", "give it where they are made"
            )
            return
        self.builder.notes.remark(node, f"`{text}` is left out", _TODO)


def _sets_setting(node: ast.Assign | ast.AugAssign) -> bool:
    """Whether a statement sets an attribute of a module that is no weight: `m.eps = 1e-3`."""
    places = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(
        isinstance(place, ast.Attribute) and place.attr not in _HARMLESS
        for place in places
    )


_HARMLESS = ("weight", "bias", "data", "requires_grad", "inplace")


class _Sizes(NodeTransformer):
    """What is read of a module, as names that stand for its sizes."""

    def __init__(self, module: str):
        self.module = module
        self.used: set[str] = set()

    def _name(self, size: str) -> ast.expr:
        self.used.add(size)
        return name(f"_of_{size}")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if is_name(node.value, self.module) and node.attr in _SIZES:
            return self._name(node.attr)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        at = literal(node.slice)
        text = ast.unparse(node.value)
        if text == f"{self.module}.kernel_size" and isinstance(at, int):
            return self._name(f"kernel_size_{at}")
        self.generic_visit(node)
        return node


def _is(node: ast.expr, word: str, value: int) -> bool:
    """Whether an initializer makes one number."""
    match node:
        case ast.Call(func=ast.Name(id="@word:constant"), args=[given]):
            return literal(given) == value
    return is_name(node, f"@word:{word}")


def _kinds(builder: Builder, known: Attribute) -> list[str]:
    """What a layer may be in PyTorch."""
    layer, given = known.layer.removeprefix("@layer:"), known.call
    dims: list[object] = [1, 2, 3]
    if layer in _WINDOWED and given is not None:
        dims = [literal(arguments(layer, given)["spatial_dims"])]
    if layer in (*_WINDOWED, "BatchNorm", "InstanceNorm"):
        found = [f"torch.nn.{a}{d}d" for a, d in product([layer], dims)]
        return _written(builder, builder.node, found) or found
    last = {"Embed": "Embedding", "MultiHeadAttention": "MultiheadAttention"}
    return [f"torch.nn.{last.get(layer, layer)}"]


def _written(builder: Builder, node: ast.AST, kinds: list[str]) -> list[str]:
    """Those of some classes that a class names; that the file does where it names none."""
    for part in (node, builder.origin.tree):
        named = {
            builder.origin.qualified(n)
            for n in walk(part)
            if isinstance(n, ast.Attribute | ast.Name)
        }
        found = [kind for kind in kinds if kind in named]
        if found:
            return found
    return []


def _weights(known: Attribute) -> dict[str, int]:
    """The weights that a layer has in PyTorch, with the number of their axes."""
    if known.call is None:
        return {}
    if known.kind == "weight":
        shape = known.call.args[1]
        return {"": len(shape.elts)} if isinstance(shape, ast.Tuple) else {}
    if not known.layer.startswith("@layer:"):
        return {}
    layer = known.layer.removeprefix("@layer:")
    given = arguments(layer, known.call)
    if layer in _WINDOWED:
        dims = literal(given["spatial_dims"])
        found = {"weight": dims + 2 if isinstance(dims, int) else 3, "bias": 1}
    elif layer == "Linear":
        found = {"weight": 2, "bias": 1}
    elif layer == "Embed":
        found = {"weight": 2}
    elif layer in _NORMS or layer == "PReLU":
        found = {"weight": 1, "bias": 1}
    else:
        return {}
    if literal(given.get("use_bias")) is False or layer in ("RMSNorm", "PReLU"):
        found.pop("bias", None)
    if literal(given.get("use_scale")) is False:
        found.pop("weight", None)
    return found
