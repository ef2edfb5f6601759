"""Numbers of all leaves: norms, products and reductions of whole trees, which are computed first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.rows.tables.optax import TREE_MAPS, of_leaf
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    name,
    self_attribute,
    visited,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

if TYPE_CHECKING:
    from mlax_scaffold.conversion.optimizers.leaf_expressions import LeafExpressions

_AT = {"reduce": 1, "leaves": 0, "all": 0}
"""The place of the tree among the arguments of functions of jax."""

_TITLES = {
    **dict.fromkeys(("norm", "l2_norm", "global_norm"), "norm"),
    **{"vdot": "product", "sum": "total"},
}
"""What numbers of all leaves are called where the code gives them no name."""


class WholeTrees:
    """Writes expressions over trees as they stand before the leaves are updated."""

    def __init__(self, of: LeafExpressions):
        self.of = of
        self.given: dict[str, str] = {}
        """What the inputs of the update function are called there."""
        self.locals: dict[str, ast.expr] = {}

    def number(self, node: ast.Call) -> ast.expr:
        """A number of all leaves."""
        made = self._number(node)
        if made is None:
            self.of.refused.append(
                (
                    node,
                    f"`{ast.unparse(node)}` of trees that are made on the way",
                    "make it a transformation of its own, of a Chain",
                )
            )
            return node
        last = self.of.full(node.func).rpartition(".")[2].removeprefix("tree_")
        wanted = _TITLES.get(last, "number")
        return self.of.hoisted(made, wanted) if self.of.per_leaf else made

    def _number(self, node: ast.Call) -> ast.expr | None:
        last = self.of.full(node.func).rpartition(".")[2].removeprefix("tree_")
        given = {str(k.arg): k.value for k in node.keywords}
        dot = name("@word:tree_dot")
        if last in _AT:
            at = _AT[last]
            tree = self.tree(node.args[at]) if len(node.args) > at else None
            args = [visited(_Numbers(self.of), cloned(a)) for a in node.args]
            if tree is None or given:
                return None
            args[at] = tree
            return ast.Call(cloned(node.func), args, [])
        trees = self._trees(node.args)
        if trees is None:
            return None
        if last == "vdot" and len(trees) == 2 and not given:
            return expression("d(a, b)", d=dot, a=trees[0], b=trees[1])
        if len(trees) != 1:
            return None
        if last == "sum":
            ones = expression(
                "jax.tree.map(jnp.ones_like, a)", **_modules(), a=trees[0]
            )
            return expression("d(a, b)", d=dot, a=trees[0], b=ones)
        order = given.pop("ord", None)
        squared = literal(given.pop("squared", ast.Constant(False)))
        plain = order is None or is_none(order) or literal(order) == 2
        if last not in ("norm", "l2_norm", "global_norm") or given or not plain:
            return None
        square = expression("d(a, a)", d=dot, a=self._named(trees[0], node.args[0]))
        return (
            expression("jnp.sqrt(s)", **_modules(), s=square) if not squared else square
        )

    def _trees(self, nodes: list[ast.expr]) -> list[ast.expr] | None:
        made = [t for t in map(self.tree, nodes) if t is not None]
        return made if made and len(made) == len(nodes) else None

    def _named(self, tree: ast.expr, node: ast.expr) -> ast.expr:
        """A tree that is read twice."""
        if isinstance(tree, ast.Name | ast.Attribute):
            return tree
        title = node.id if isinstance(node, ast.Name) else "difference"
        # A step has inputs of these names, which its rest reads.
        local = self.of.free("tree" if title in ("grads", "params") else title)
        target = ast.Name(local, ast.Store())
        self.of.prepare.append(ast.Assign([target], tree, lineno=0))
        return name(local)

    def hidden(self, titles: set[str]) -> tuple[dict[str, str], dict[str, ast.expr]]:
        """Forget what these names were; what was known before is returned."""
        before = self.given, self.locals
        self.given = {k: v for k, v in self.given.items() if k not in titles}
        self.locals = {k: v for k, v in self.locals.items() if k not in titles}
        return before

    def bind(self, local: str, value: ast.expr) -> None:
        """Keep what a local is as a tree, where that can be told."""
        made = self.tree(value)
        if made is None:
            self.locals.pop(local, None)
            self.given.pop(local, None)
        else:
            self.locals[local] = made
            self.given.pop(local, None)

    def tree(self, node: ast.expr) -> ast.expr | None:
        """An expression of whole trees; None where it is none, or one that is not there yet."""
        of = self.of
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return cloned(self.locals[node.id])
            return name(self.given[node.id]) if node.id in self.given else None
        place = of.place(node)
        if place is not None:
            kept = place in of.states.written and place not in of.states.scalars
            return cloned(of.states.read[place]) if kept else None
        if not isinstance(node, ast.Call):
            return None
        if of.full(node.func) in TREE_MAPS and not node.keywords:
            function, *trees = node.args
            return self._mapped(function, trees)
        row = of_leaf(of.full(node.func))
        if row is None:
            return None
        try:
            bound = row.bind_all(node)
        except MisfitError:
            return None
        trees = [v for v in bound.values() if isinstance(v, ast.expr) and of.is_leaf(v)]
        titles = [k for k, v in bound.items() if any(v is t for t in trees)]
        places = dict(zip(titles, "xyzw", strict=False))
        inner = {**bound, **{k: name(v) for k, v in places.items()}}
        made = row.fill(inner, of.translator.calculations)
        args = [ast.arg(v) for v in places.values()]
        given = ast.arguments([], args, None, [], [], None, [])
        return self._mapped(ast.Lambda(given, made), trees)

    def _mapped(self, function: ast.expr, trees: list[ast.expr]) -> ast.expr | None:
        made = self._trees(trees)
        if made is None:
            return None
        if isinstance(function, ast.Lambda):
            function = visited(_Numbers(self.of), cloned(function))
        elif isinstance(function, ast.Name) and function.id in self.of.functions:
            return None
        given = {f"t{i}": t for i, t in enumerate(made)}
        text = f"jax.tree.map(f, {', '.join(given)})"
        return expression(text, f=function, **_modules(), **given)


_LONGEST = 1000
"""What is longer, of many stages, is nothing to read."""


def whole_tree(
    current: ast.expr, setup: list[ast.stmt], update: list[ast.stmt]
) -> ast.expr | None:
    """What is made of each gradient, as a tree of all, before the leaves are updated.

    Args:
        current: what is made of it.
        setup: the declarations of the states that each leaf has.
        update: what is computed for a leaf before it.

    Returns:
        The tree; None where it is drawn, not told by straight lines, or long.
    """
    if is_name(current, "grad"):
        return name("grads")
    made = _Straight({self_attribute(p) or "" for part in setup for p in walk(part)})
    for part in update:
        match part:
            case ast.Assign(
                targets=[ast.Name() | ast.Attribute() as target], value=value
            ):
                made.known[ast.unparse(target)] = visited(made, cloned(value))
            case _:
                return None
    body = visited(made, cloned(current))
    drawn = any(self_attribute(p) == "key" for p in walk(body))
    if drawn or not made.trees or len(ast.unparse(body)) > _LONGEST:
        return None
    args = [ast.arg(p) for p in made.trees]
    given = {f"t{i}": expression(t) for i, t in enumerate(made.trees.values())}
    function = ast.Lambda(ast.arguments([], args, None, [], [], None, []), body)
    text = f"jax.tree.map(f, {', '.join(given)})"
    return expression(text, f=function, **_modules(), **given)


class _Straight(NodeTransformer):
    """Writes what is computed for a leaf in terms of its gradient, its weight and its states before."""

    def __init__(self, states: set[str]):
        self.states, self.known = states - {""}, dict[str, ast.expr]()
        self.trees: dict[str, str] = {}
        """What is read of a leaf, and the trees that this is of."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ("grad", "param"):
            self.trees[node.id] = f"{node.id}s"
        return cloned(self.known.get(node.id, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text, attribute = ast.unparse(node), self_attribute(node)
        if text in self.known:
            return cloned(self.known[text])
        if attribute in self.states:
            self.trees[f"own_{attribute}"] = text
            return name(f"own_{attribute}")
        return self.generic_visit(node)


class _Numbers(NodeTransformer):
    """Writes the numbers that a function of leaves reads beside them."""

    def __init__(self, of: LeafExpressions):
        self.of, self.hidden = of, frozenset[str]()

    def visit(self, node: ast.AST) -> ast.AST:
        place = self.of.place(node) if isinstance(node, ast.expr) else None
        if place is not None and place in self.of.states.read:
            return cloned(self.of.states.read[place])
        return super().visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        before = self.hidden
        self.hidden = before | {a.arg for a in node.args.args}
        node.body = visited(self, node.body)
        self.hidden = before
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        for known in (self.of.scalars, self.of.known):
            if node.id in known and node.id not in self.hidden:
                return cloned(known[node.id])
        return node


def _modules() -> dict[str, ast.expr]:
    return {"jax": name("@module:jax"), "jnp": name("@module:jnp")}
