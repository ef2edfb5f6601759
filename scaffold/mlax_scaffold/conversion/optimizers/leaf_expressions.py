"""What expressions over trees are for one leaf, and what numbers of all leaves are of whole trees."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from mlax_scaffold.conversion.forms.leaf_functions import (
    Decided,
    Straight,
    bare,
    called,
    next_part,
    returned,
    straight,
)
from mlax_scaffold.conversion.optimizers.optimizer_states import States, is_key
from mlax_scaffold.conversion.optimizers.several_values import SeveralValues
from mlax_scaffold.conversion.optimizers.whole_trees import WholeTrees
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.rows.tables.optax import (
    INCREMENTS,
    TREE_MAPS,
    of_all,
    of_leaf,
)
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    name,
    replaced,
    visited,
    with_names,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

Nested = Callable[["LeafExpressions", ast.expr, ast.expr], ast.expr]


class LeafExpressions:
    """Reads the expressions of one update function."""

    def __init__(
        self,
        translator: Translator,
        states: States,
        known: dict[str, ast.expr],
        functions: dict[str, ast.FunctionDef],
        free: Callable[[str], str],
        before: Collection[str] = (),
        nested: Nested | None = None,
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
        self.keys: set[str] = set()
        """Locals that are PRNG keys."""
        self.state = "state"
        self.result: ast.expr | None = None
        self.per_leaf = False
        """Whether what is read now is computed once for each leaf."""
        self.whole = WholeTrees(self)
        self.several = SeveralValues(self)
        self.nested = nested or (lambda of, given, current: current)
        """What a transformation that is given makes of updates."""
        self.inner: dict[str, str] = {}
        """Locals that are new states of these, and their places."""
        self.shown = frozenset[str]()
        """Parameters of functions of trees, which are trees within them."""

    def is_leaf(self, node: ast.expr) -> bool:
        """Whether a value is a tree, and not one number for all leaves."""
        if isinstance(node, ast.Call):
            full = self.full(node.func)
            if full in TREE_MAPS:
                return True
            if full in INCREMENTS or of_all(full):
                return False
            if of_leaf(full) is not None:
                return True
        if isinstance(node, ast.Name):
            return node.id in self.leaves
        if isinstance(node, ast.Attribute | ast.Subscript):
            place = self.place(node)
            if place is not None:
                return place in self.states.written and place not in self.states.scalars
        return any(
            self.is_leaf(child)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr)
        )

    def full(self, node: ast.expr) -> str:
        """The full name of a function."""
        full = self.translator.origin.qualified(node)
        text = ast.unparse(node)
        return full or {
            "tree_map": "jax.tree.map",
            "global_norm": "optax.global_norm",
            "tree.map": "jax.tree.map",
        }.get(text, text)

    def place(self, node: ast.expr) -> str | None:
        """The part of the state that an expression reads."""
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

    def is_key(self, node: ast.AST) -> bool:
        """Whether an expression is a PRNG key, or several."""
        match node:
            case ast.Name(id=local) if local in self.keys:
                return True
            case ast.Subscript(value=value) if self.is_key(value):
                return True
            case ast.Call(func=func, args=args):
                return is_key(self.full(func)) and any(map(self.is_key, args))
            case ast.List() | ast.Tuple():
                return any(map(self.is_key, node.elts))
        place = self.place(node) if isinstance(node, ast.expr) else None
        return place is not None and place in self.states.keys

    def hoisted(self, value: ast.expr, wanted: str) -> ast.expr:
        """A number of all leaves, which is computed before the updates of the leaves."""
        attribute = self.free(wanted)
        target = ast.Attribute(name("self"), attribute, ast.Store())
        self.prepare.append(ast.Assign([target], value, lineno=0))
        return expression(f"self.{attribute}")

    def of(self, node: ast.expr, *, per_leaf: bool) -> ast.expr:
        """An expression, per leaf; or one of numbers that are those of all leaves."""
        before, self.per_leaf = self.per_leaf, per_leaf
        made = visited(Decided(), visited(_Leaf(self), cloned(node)))
        self.per_leaf = before
        return visited(self.translator, made)

    def mapped(self, node: ast.Call, visitor: NodeTransformer) -> ast.expr:
        """What a function that is mapped over trees computes of one leaf."""
        function = node.args[0]
        given = [visitor.visit(a) for a in node.args[1:]]
        if isinstance(function, ast.Name) and function.id in self.known:
            function = cloned(self.known[function.id])
        if isinstance(function, ast.Name) and function.id in self.functions:
            made = straight(self.functions[function.id])
            if made is None:
                return self._called(function.id, given, visitor)
            return self._stepped(made, given, visitor)
        if isinstance(function, ast.Call):
            maker = self.functions.get(ast.unparse(function.func))
            function = returned(maker, function) or function
        if isinstance(function, ast.Lambda):
            visited = visitor.visit(cloned(function))
            parts = dict(zip([a.arg for a in visited.args.args], given, strict=False))
            return replaced(visited.body, parts)
        return ast.Call(visitor.visit(function), given, [])

    def written_out(self, node: ast.Call, visitor: NodeTransformer) -> ast.expr | None:
        """What a function of trees computes that is called; None where it is no such function."""
        func = node.func
        if isinstance(func, ast.Lambda):
            fits = len(func.args.args) == len(node.args) and not node.keywords
            return visitor.visit(called(node)) if fits else None
        if not isinstance(func, ast.Name) or node.keywords:
            return None
        function = self.functions.get(func.id)
        if function is None:
            function = self.translator.origin.functions.get(func.id)
            if function is None or not self._maps(function):
                return None
        made_ = straight(function)
        if made_ is None or len(made_.given) != len(node.args):
            return None
        before, shown = self.whole.hidden(set()), self.shown
        for local, argument in zip(made_.given, node.args, strict=True):
            self.whole.bind(local, argument)
        self.shown = shown | {*made_.given}
        made = self._stepped(made_, [visitor.visit(a) for a in node.args], visitor)
        (self.whole.given, self.whole.locals), self.shown = before, shown
        return made

    def _maps(self, function: ast.FunctionDef) -> bool:
        calls = (p for p in walk(function) if isinstance(p, ast.Call))
        fulls = {self.full(c.func) for c in calls}
        return any(f in TREE_MAPS or of_leaf(f) or of_all(f) for f in fulls)

    def _stepped(
        self, function: Straight, given: list[ast.expr], visitor: NodeTransformer
    ) -> ast.expr:
        """What a function of straight lines returns; its steps stand before it."""
        parts = dict(zip(function.given, given, strict=False))

        def of_leaf(value: ast.expr) -> ast.expr:
            made = visitor.visit(function.closed(cloned(value)))
            return replaced(made.body, parts)

        for local, value in function.steps:
            made = visited(self.translator, visited(Decided(), of_leaf(value)))
            if isinstance(made, ast.Name | ast.Attribute):
                parts[local] = made
            elif self.per_leaf:
                place = self.free(local)
                target = ast.Name(place, ast.Store())
                self.update.append(ast.Assign([target], made, lineno=0))
                parts[local] = name(place)
            else:
                parts[local] = self.hoisted(made, local)
        return of_leaf(function.result)

    def _called(
        self, title: str, given: list[ast.expr], visitor: NodeTransformer
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


class _Leaf(NodeTransformer):
    """Writes what is read of trees as what it is for one leaf."""

    def __init__(self, of: LeafExpressions):
        self.of = of

    def visit(self, node: ast.AST) -> ast.AST:
        of = self.of
        if isinstance(node, ast.expr):
            if of.is_key(node):
                return expression("self.key()")
            place = of.place(node)
            if place is not None and place in of.states.read:
                if place in of.states.scalars and of.per_leaf:
                    return of.states.before(place, of.hoisted)
                return cloned(of.states.read[place])
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        of = self.of
        for known in (of.leaves, of.scalars):
            if node.id in known:
                return cloned(known[node.id])
        if node.id in of.known:
            return cloned(of.known[node.id])
        if node.id in ("jnp", "lax") and node.id not in of.translator.origin.imports:
            return name(f"@module:{node.id}")
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        of, hidden = self.of, {a.arg for a in node.args.args}
        saved = of.leaves, of.scalars, of.known, of.keys
        trees = of.whole.hidden(hidden - of.shown)
        of.leaves = {k: v for k, v in of.leaves.items() if k not in hidden}
        of.scalars = {k: v for k, v in of.scalars.items() if k not in hidden}
        of.known = {k: v for k, v in of.known.items() if k not in hidden}
        of.keys = of.keys - hidden
        node.body = visited(self, node.body)
        of.leaves, of.scalars, of.known, of.keys = saved
        of.whole.given, of.whole.locals = trees
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        of = self.of
        full = of.full(node.func)
        if full in TREE_MAPS:
            return of.mapped(node, self)
        if of_all(full):
            return of.whole.number(node)
        if full in INCREMENTS:
            return next_part(visited(self, node.args[0]))
        if full.endswith("lax.cond") and len(node.args) >= 3 and of.is_leaf(node):
            return self._chosen(node)
        if full.rpartition(".")[2] in ("tree_random_like", "random_like"):
            return self._drawn(node)
        row = of_leaf(full)
        if row is not None:
            node.args = [visited(self, a) for a in node.args]
            node.keywords = [
                ast.keyword(k.arg, visited(self, k.value)) for k in node.keywords
            ]
            try:
                return row.fill(row.bind_all(node), of.translator.calculations)
            except MisfitError:
                return node
        made = of.written_out(node, self)
        if made is not None:
            return made
        self.generic_visit(node)
        if full == "callable":
            return ast.Constant(False)
        return node

    def _chosen(self, node: ast.Call) -> ast.expr:
        """One function of trees or the other."""
        test, *functions = node.args[:3]
        sides = [ast.Call(f, cloned(node.args[3:]), []) for f in functions]
        where = ast.Attribute(name("@module:jnp"), "where", ast.Load())
        return ast.Call(where, [visited(self, p) for p in (test, *sides)], [])

    def _drawn(self, node: ast.Call) -> ast.expr:
        """What is drawn for a leaf."""
        given = dict(zip(("key", "tree", "sampler"), node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        sampler = given.get("sampler")
        leaf = visited(self, given.get("tree") or given["target_tree"])
        drawn = visited(self, sampler) if sampler else expression("jax.random.normal")
        shape, dtype = (ast.Attribute(leaf, a, ast.Load()) for a in ("shape", "dtype"))
        return ast.Call(drawn, [expression("self.key()"), shape, dtype], [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        text = ast.unparse(node)
        return (
            expression("self.step")
            if text in ("self.step - 1.0 + 1", "1 + (self.step - 1.0)")
            else node
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        node.slice = visited(_Counted(), node.slice)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if ast.unparse(node.test).startswith("callable("):
            return visited(self, node.orelse)
        self.generic_visit(node)
        return node


class _Counted(NodeTransformer):
    """Writes the number of the step as the integer that indices are."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if ast.unparse(node) == "self.step - 1.0":
            return expression("self.step_number - 1")
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        step = ast.unparse(node) == "self.step"
        return expression("self.step_number") if step else node
