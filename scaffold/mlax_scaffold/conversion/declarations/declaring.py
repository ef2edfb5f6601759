"""Declares what a body makes where it is used, in setup."""

from __future__ import annotations

import ast
from keyword import iskeyword

from mlax_scaffold.conversion.declarations.reading import Reading
from mlax_scaffold.conversion.shapes.values import Number, Several, Shape
from mlax_scaffold.conversion.source.trees import (
    is_layer,
    literal,
    name,
    names,
    same,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk
from mlax_scaffold.model.import_time import INITIALIZERS, OWN_INITIALIZERS

_HOLDING_NOTHING = ("Upsample", "Flatten", "Identity")


class Declaring(Reading):
    """What is declared, and how an expression of a body stands in setup."""

    def _is_declaration(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and is_layer(node)

    def _declare(self, node: ast.expr, wanted: str) -> str:
        """Declare a layer in setup."""
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        layer = node.func.id.partition(":")[2]
        given = next((k for k in node.keywords if k.arg == "@name"), None)
        node.keywords = [k for k in node.keywords if k.arg != "@name"]
        wanted = self._wanted(given, wanted, layer)
        node.args = [self.static(a) for a in node.args]
        node.keywords = [
            ast.keyword(k.arg, self.static(k.value)) for k in node.keywords
        ]
        condition = self.standing()
        if self.loop is not None and not self._shared(node, layer):
            if {wanted, wanted.removesuffix("s")} & {*targets_of(self.loop.body)}:
                # A local of the loop has the name that one of the layers would have.
                wanted = f"{wanted}_layer"
            plural = self.builder.free(wanted if wanted.endswith("s") else f"{wanted}s")
            target, source = self._counted(self.loop)
            generator = ast.comprehension(
                cloned(target), cloned(self.static(source)), [], 0
            )
            return self.builder.declare_list(plural, node, [generator], condition)
        return self.builder.declare(self.builder.free(wanted), node, condition)

    def _shared(self, call: ast.Call, layer: str) -> bool:
        """Whether all passes of a loop may call one layer, which holds nothing and is the same in each."""
        assert self.loop is not None
        bound = set(targets(self.loop.target))
        # Setup knows nothing to go over that is itself a list of layers.
        over = any(self._holds_layers(p) for p in walk(self.loop.iter))
        alike = (*_HOLDING_NOTHING, "Dropout") if over else _HOLDING_NOTHING
        return layer in alike and not names(call) & bound

    def _holds_layers(self, node: ast.AST) -> bool:
        known = self.builder.attributes.get(self_attribute(node) or "")
        return known is not None and known.kind == "layers"

    def _counted(self, loop: ast.For) -> tuple[ast.expr, ast.expr]:
        """What a loop goes over, without the lists that a body fills: setup knows none of these."""
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[*parts]),
                iter=ast.Call(func=ast.Name(id="zip") as func, args=[*sources]),
            ) if len(parts) == len(sources):
                pairs = zip(parts, sources, strict=True)
                kept = [(t, s) for t, s in pairs if not names(s) & self.filled]
                if len(kept) == 1:
                    return kept[0]
                if kept and len(kept) < len(parts):
                    target, source = zip(*kept, strict=True)
                    call = ast.Call(func, list(source), [])
                    return ast.Tuple(list(target), ast.Store()), call
        return loop.target, loop.iter

    def _wanted(self, given: ast.keyword | None, wanted: str, layer: str) -> str:
        from mlax_scaffold.reader.specs import module_name

        value = given.value if given is not None else None
        if isinstance(value, ast.JoinedStr) and isinstance(
            value.values[0], ast.Constant
        ):
            # `f"h{i}_norm"` in a loop
            parts = [p.value for p in value.values if isinstance(p, ast.Constant)]
            joined = "".join(map(str, parts)).replace("__", "_")
            value = ast.Constant(joined.rstrip("_"))
        text = literal(value)
        if isinstance(text, str):
            made = module_name(text) if text != text.lower() else text
            # What a loop calls the layer is no name of an array.
            named = self.loop is not None and made in self.env
            taken = made == "self" or iskeyword(made)
            return f"{made}_layer" if named or taken else made
        if wanted:
            return wanted
        plain = module_name(layer)
        count = self.counts.get(plain, 0)
        self.counts[plain] = count + 1
        return f"{plain}_{count}" if self.loop is None else plain

    def standing(self) -> ast.expr | None:
        """The condition under which the present place is reached, if it is one on hyperparameters."""
        known = [
            c
            for c in self.conditions
            if not (isinstance(c, ast.Constant) and c.value is None)
        ]
        if not known:
            return None
        return known[0] if len(known) == 1 else ast.BoolOp(ast.And(), list(known))

    def _choose_makers(
        self, node: ast.If, condition: ast.expr | None, chosen: dict[str, ast.expr]
    ) -> None:
        """Let an initializer that branches choose be one expression."""
        for local, made in chosen.items():
            other = self.makers.get(local)
            if other is None or same(made, other):
                self.makers[local] = made
            elif condition is not None:
                self.makers[local] = ast.IfExp(cloned(condition), made, other)
            else:
                self.builder.notes.refuse(
                    node,
                    f"the initializer `{local}` depends on what is no hyperparameter",
                    "choose it by hyperparameters, in one expression",
                )

    def _makes_initializer(self, node: ast.expr) -> bool:
        """Whether a function of the file that returns an initializer is called."""
        func = node.func if isinstance(node, ast.Call) else None
        known = self.builder.origin.functions.get(getattr(func, "id", ""))
        last = known.body[-1] if known is not None else None
        value = last.value if isinstance(last, ast.Return) else None
        made = value.func if isinstance(value, ast.Call) else None
        return made is not None and "initializers" in self.builder.origin.qualified(
            made
        )

    def _of_hyperparameters(self, test: ast.expr) -> ast.expr | None:
        """What has to hold of hyperparameters alone, as setup says it; None of anything else."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or self.loop:
            return None
        sides = [self.value(cloned(s))[1] for s in (test.left, *test.comparators)]
        if not all(isinstance(side, Number) for side in sides) or self.conditions:
            return None
        made = self.static(cloned(test))
        waits = {n for n in names(made) - {"self", "int"} if not n.startswith("@size:")}
        fields = {self_attribute(part) for part in walk(made)} - {None}
        known = fields and fields <= {*self.builder.fields}
        divides = any(isinstance(part, ast.Mod) for part in walk(made))
        return made if known and not waits and divides else None

    def static(self, node: ast.expr) -> ast.expr:
        """An expression of a body as it is to stand in setup: locals and shapes are written out."""
        bodies = self
        written: list[str] = []

        class Static(NodeTransformer):
            def visit_Call(self, node: ast.Call) -> ast.expr:
                self.generic_visit(node)
                text = ast.unparse(node.func)
                if text.endswith(("jnp.sqrt", "np.sqrt", "lax.sqrt")):
                    node.func = ast.Attribute(name("@module:math"), "sqrt", ast.Load())
                return node

            def visit_Name(self, node: ast.Name) -> ast.expr:
                if node.id in bodies.makers:
                    return cloned(bodies.makers[node.id])
                value = bodies.env.get(node.id)
                if isinstance(value, Number):
                    return cloned(value.value)
                if isinstance(value, Several) and all(
                    isinstance(i, Number) for i in value.items
                ):
                    elements = [
                        cloned(i.value) for i in value.items if isinstance(i, Number)
                    ]
                    return ast.Tuple(elements, ast.Load())
                known = bodies.tuples.get(node.id)
                if known is None or not isinstance(value, Several | None):
                    return node
                if node.id in written:
                    # It is made of what it was before.
                    return node
                written.append(node.id)
                made = self.visit(cloned(known))
                written.pop()
                return made

            def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
                _, value = bodies.value(cloned(node))
                if isinstance(value, Number):
                    return cloned(value.value)
                self.generic_visit(node)
                return node

            def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
                if node.attr == "shape":
                    _, value = bodies.value(cloned(node))
                    if isinstance(value, Shape) and not value.array.lead:
                        return ast.Tuple(cloned(value.array.axes), ast.Load())
                self.generic_visit(node)
                return node

        self.arrays.guesses = True
        made = Static().visit(cloned(node))
        self.arrays.guesses = False
        return made


_INITIALIZERS = frozenset((*INITIALIZERS, *OWN_INITIALIZERS))


def is_initializer(node: ast.expr) -> bool:
    head = node.func if isinstance(node, ast.Call) else node
    if not isinstance(head, ast.Name) or not head.id.startswith("@word:"):
        return False
    return head.id[6:] in _INITIALIZERS


def targets_of(body: list[ast.stmt]) -> set[str]:
    """The locals that statements set."""
    return {local for part in body for local in targets(part)}
