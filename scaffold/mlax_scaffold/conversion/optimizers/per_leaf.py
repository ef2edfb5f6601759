"""The update function of a transformation, which maps trees, as what happens to one leaf."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection

from mlax_scaffold.conversion.forms.leaf_functions import (
    Decided,
    Straight,
    bare,
    next_part,
    returned,
    straight,
)
from mlax_scaffold.conversion.optimizers.optimizer_states import States, fields_of
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.rows.tables.optax import (
    INCREMENTS,
    NORMS,
    TREE_MAPS,
    of_leaf,
)
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    name,
    replaced,
    visited,
    with_names,
    without_docstring,
)


class PerLeaf:
    """Reads one update function."""

    def __init__(
        self,
        translator: Translator,
        states: States,
        known: dict[str, ast.expr],
        functions: dict[str, ast.FunctionDef],
        free: Callable[[str], str],
        before: Collection[str] = (),
    ):
        self.translator, self.states = translator, states
        self.known, self.functions, self.free = known, functions, free
        self.before = {*before, "grad", "param", "self"}
        """Locals of the transformations before it, which what it is given may read."""
        self.prepare: list[ast.stmt] = []
        self.update: list[ast.stmt] = []
        self.refused: list[tuple[ast.AST, str, str]] = []
        self.leaves: dict[str, ast.expr] = {}
        """Locals that are trees: what each is for a leaf."""
        self.scalars: dict[str, ast.expr] = {}
        self.state = "state"
        self.result: ast.expr | None = None

    def run(self, function: ast.FunctionDef, current: ast.expr) -> ast.expr | None:
        """Read it; the update of a leaf."""
        given = [a.arg for a in function.args.args]
        places = dict(zip(("updates", "state", "params"), given, strict=False))
        self.leaves[places.get("updates", "updates")] = current
        self.trees = {places.get("updates", "updates"): "grads"}
        self.chained = ast.unparse(current) != "grad"
        self.state = places.get("state", "state")
        if "params" in places:
            self.leaves[places["params"]] = name("param")
            self.trees[places["params"]] = "params"
        for part in without_docstring(function.body):
            self._statement(part)
        return self.result

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Delete() | ast.Expr() | ast.Assert() | ast.Pass():
                return
            case ast.If(body=body) if any(isinstance(p, ast.Raise) for p in body):
                return
            case ast.FunctionDef():
                self.functions = {**self.functions, node.name: node}
                return
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                self._assign(node, target, value)
                return
            case ast.Assign(targets=[ast.Tuple() as target], value=value):
                self._unpack(node, target, value)
                return
            case ast.Return(value=ast.Tuple(elts=[updates, state])):
                self._return(node, updates, state)
                return
        self.refused.append(
            (
                node,
                f"`{ast.unparse(node).splitlines()[0]}` in an update function",
                "write it with jax.tree.map",
            )
        )

    def _unpack(self, node: ast.stmt, target: ast.Tuple, value: ast.expr) -> None:
        if isinstance(value, ast.Name) and value.id == self.state:
            for place, one in zip(self.states.places, target.elts, strict=False):
                if isinstance(one, ast.Name):
                    self._bind(
                        one.id, self.states.read.get(place, ast.Constant(None)), place
                    )
            return
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            for one, part in zip(target.elts, value.elts, strict=True):
                if isinstance(one, ast.Name):
                    self._assign(node, one.id, part)
            return
        self.refused.append(
            (node, f"`{ast.unparse(node)}`", "assign each value by itself")
        )

    def _bind(self, local: str, value: ast.expr, place: str) -> None:
        if place in self.states.written:
            self.leaves[local] = value
        else:
            self.scalars[local] = value

    def _assign(self, node: ast.stmt, target: str, value: ast.expr) -> None:
        if isinstance(value, ast.Lambda):
            self.known = {**self.known, target: replaced(value, {**self.known})}
            return
        if isinstance(value, ast.Name) and value.id == self.state:
            return
        made = self.leaf(value)
        if self._is_leaf(value):
            local = target
            while local in self.before:
                local = f"{local}_"
            self.update.append(
                ast.copy_location(
                    ast.Assign([ast.Name(local, ast.Store())], made, lineno=0), node
                )
            )
            self.leaves[target] = name(local)
            self.trees.pop(target, None)
            return
        text = ast.unparse(made)
        if "self.step" not in text and "grads" not in text and "params" not in text:
            self.scalars[target] = made
            return
        if text in ("self.step", "self.step - 1.0"):
            self.scalars[target] = made
            return
        attribute = self.free(target)
        place = ast.Attribute(name("self"), attribute, ast.Store())
        self.prepare.append(
            ast.copy_location(ast.Assign([place], made, lineno=0), node)
        )
        self.scalars[target] = expression(f"self.{attribute}")

    def _return(self, node: ast.Return, updates: ast.expr, state: ast.expr) -> None:
        made = self.leaf(updates)
        values = self._new_state(state)
        for place, attribute in self.states.written.items():
            value = values.get(place)
            if value is None:
                continue
            new = self.leaf(value)
            if ast.unparse(new) == f"self.{attribute}":
                continue
            if f"self.{attribute}" in ast.unparse(made):
                # What is returned is of the old state.
                self.update.append(
                    ast.Assign([ast.Name("step", ast.Store())], made, lineno=0)
                )
                made = name("step")
            target = ast.Attribute(name("self"), attribute, ast.Store())
            self.update.append(
                ast.copy_location(ast.Assign([target], new, lineno=0), node)
            )
        self.result = made

    def _new_state(self, state: ast.expr) -> dict[str, ast.expr]:
        if isinstance(state, ast.Call):
            title = ast.unparse(state.func).rpartition(".")[2]
            if title == "_replace" or not title[:1].isupper():
                return {str(k.arg): k.value for k in state.keywords}
            places = fields_of(self.translator, title) or self.states.places
            found = dict(zip(places, state.args, strict=False))
            return {**found, **{str(k.arg): k.value for k in state.keywords}}
        if isinstance(state, ast.Dict):
            return {
                str(literal(k)): v
                for k, v in zip(state.keys, state.values, strict=True)
                if k is not None
            }
        if isinstance(state, ast.Tuple):
            return dict(zip(self.states.places, state.elts, strict=False))
        if (
            isinstance(state, ast.Name)
            and state.id == self.state
            and state.id not in self.leaves
        ):
            return {}
        return {"": state} if not is_none(state) else {}

    # Expressions.

    def _is_leaf(self, node: ast.expr) -> bool:
        """Whether a value is a tree, and not one number for all leaves."""
        if isinstance(node, ast.Call):
            full = self._full(node.func)
            if full in TREE_MAPS:
                return True
            if full in (*NORMS, *INCREMENTS) or full.endswith(
                ("tree.reduce", "tree_reduce", "tree_vdot", "tree_sum")
            ):
                return False
            if of_leaf(full) is not None:
                return True
        if isinstance(node, ast.Name):
            return node.id in self.leaves
        if isinstance(node, ast.Attribute):
            place = self._place(node)
            return place in self.states.written
        return any(
            self._is_leaf(child)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr)
        )

    def _full(self, node: ast.expr) -> str:
        full = self.translator.origin.qualified(node)
        text = ast.unparse(node)
        return full or {
            "tree_map": "jax.tree.map",
            "global_norm": "optax.global_norm",
            "tree.map": "jax.tree.map",
        }.get(text, text)

    def _place(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if node.value.id == self.state else None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return str(literal(node.slice)) if node.value.id == self.state else None
        if (
            isinstance(node, ast.Name)
            and node.id == self.state
            and node.id not in self.leaves
        ):
            return "" if self.states.places == [""] else None
        return None

    def leaf(self, node: ast.expr) -> ast.expr:
        """An expression, per leaf."""
        leaf = self

        class Leaf(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                if isinstance(node, ast.expr):
                    place = leaf._place(node)
                    if place is not None and place in leaf.states.read:
                        return copy.deepcopy(leaf.states.read[place])
                return super().visit(node)

            def visit_Name(self, node: ast.Name) -> ast.expr:
                for known in (leaf.leaves, leaf.scalars):
                    if node.id in known:
                        return copy.deepcopy(known[node.id])
                if node.id in leaf.known:
                    return copy.deepcopy(leaf.known[node.id])
                if (
                    node.id in ("jnp", "lax")
                    and node.id not in leaf.translator.origin.imports
                ):
                    return name(f"@module:{node.id}")
                return node

            def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
                hidden = {a.arg for a in node.args.args}
                saved = leaf.leaves, leaf.scalars, leaf.known
                leaf.leaves = {k: v for k, v in leaf.leaves.items() if k not in hidden}
                leaf.scalars = {
                    k: v for k, v in leaf.scalars.items() if k not in hidden
                }
                leaf.known = {k: v for k, v in leaf.known.items() if k not in hidden}
                node.body = visited(self, node.body)
                leaf.leaves, leaf.scalars, leaf.known = saved
                return node

            def visit_Call(self, node: ast.Call) -> ast.expr:
                full = leaf._full(node.func)
                if full in TREE_MAPS:
                    return leaf._mapped(node, self)
                if full in NORMS:
                    return leaf._norm(node)
                if full in INCREMENTS:
                    value = visited(self, node.args[0])
                    return next_part(value)
                row = of_leaf(full)
                if row is not None:
                    node.args = [visited(self, a) for a in node.args]
                    try:
                        return row.fill(
                            row.bind_all(node), leaf.translator.calculations
                        )
                    except MisfitError:
                        return node
                self.generic_visit(node)
                if full == "callable":
                    return ast.Constant(False)
                return node

            def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
                self.generic_visit(node)
                text = ast.unparse(node)
                return (
                    expression("self.step")
                    if text in ("self.step - 1.0 + 1", "1 + (self.step - 1.0)")
                    else node
                )

            def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
                if ast.unparse(node.test).startswith("callable("):
                    return visited(self, node.orelse)
                self.generic_visit(node)
                return node

        made = visited(Decided(), visited(Leaf(), copy.deepcopy(node)))
        return visited(self.translator, made)

    def _norm(self, node: ast.Call) -> ast.expr:
        tree = self.trees.get(ast.unparse(node.args[0]))
        if tree is None or (tree == "grads" and self.chained):
            self.refused.append(
                (
                    node,
                    f"the norm of `{ast.unparse(node.args[0])}`, which is not the gradient",
                    "make it a transformation of its own, of a Chain",
                )
            )
            return node
        return expression(
            f"jnp.sqrt(d({tree}, {tree}))",
            jnp=name("@module:jnp"),
            d=name("@word:tree_dot"),
        )

    def _mapped(self, node: ast.Call, visitor: ast.NodeTransformer) -> ast.expr:
        function = node.args[0]
        given = [visitor.visit(a) for a in node.args[1:]]
        if isinstance(function, ast.Name) and function.id in self.known:
            function = copy.deepcopy(self.known[function.id])
        if isinstance(function, ast.Name) and function.id in self.functions:
            made = straight(self.functions[function.id])
            if made is None:
                return self._called(function.id, given, visitor)
            return self._stepped(made, given, visitor)
        if isinstance(function, ast.Call):
            maker = self.functions.get(ast.unparse(function.func))
            function = returned(maker, function) or function
        if isinstance(function, ast.Lambda):
            visited = visitor.visit(copy.deepcopy(function))
            parts = dict(zip([a.arg for a in visited.args.args], given, strict=False))
            return replaced(visited.body, parts)
        return ast.Call(visitor.visit(function), given, [])

    def _stepped(
        self, function: Straight, given: list[ast.expr], visitor: ast.NodeTransformer
    ) -> ast.expr:
        """What a function of straight lines returns; its steps stand before it in the update."""
        parts = dict(zip(function.given, given, strict=False))

        def of_leaf(value: ast.expr) -> ast.expr:
            made = visitor.visit(function.closed(copy.deepcopy(value)))
            return replaced(made.body, parts)

        for local, value in function.steps:
            place = self.free(local)
            made = visited(self.translator, visited(Decided(), of_leaf(value)))
            target = ast.Name(place, ast.Store())
            self.update.append(ast.Assign([target], made, lineno=0))
            parts[local] = name(place)
        return of_leaf(function.result)

    def _called(
        self, title: str, given: list[ast.expr], visitor: ast.NodeTransformer
    ) -> ast.expr:
        """A local function of several statements stands in the update, and is called."""
        known = {**self.known, **self.scalars}
        function, parts = bare(self.functions[title], known)
        made = self.translator.visit(Decided().visit(with_names(function, parts)))
        if not any(
            isinstance(s, ast.FunctionDef) and s.name == title for s in self.update
        ):
            self.update.append(made)
        return ast.Call(name(title), given, [])
