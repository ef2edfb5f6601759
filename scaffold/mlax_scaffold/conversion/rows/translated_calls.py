"""Calls of other libraries by the tables, and functions that are written out."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.rows.calculations import Calculations
from mlax_scaffold.conversion.rows.rows import MisfitError, Row, is_silent, remarks
from mlax_scaffold.conversion.rows.tables import (
    FUNCTIONS,
    LAYERS,
    METHODS,
    REDUCTIONS,
)
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.arguments_of import defaults_of
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_layer,
    is_name,
    marked,
    name,
    names,
    replaced,
    self_attribute,
    visited,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import (
    BEGUN,
    CHAINED,
    OWN_INITIALIZER,
    SCALARS,
    Surroundings,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


class TranslatedCalls(NodeTransformer):
    """Calls."""

    origin: Origin
    framework: str
    notes: Notes
    calculations: Calculations
    around: Surroundings

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is a number, and no array."""
        raise NotImplementedError

    def _uncast(self, node: ast.Call) -> ast.Call:
        """A number that is computed and cast, `jnp.sqrt(x.shape[-1]).astype(x.dtype)`, without the cast.

        Numbers are of the dtype of what they are computed with.
        """
        match node.func:
            case ast.Attribute(
                value=ast.Call(func=func, args=[given]) as number, attr="astype"
            ):
                if self.origin.qualified(func) in SCALARS and self._is_number(given):
                    return number
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """A function; one that begins a weight draws with its key, in the dtype of the weight."""
        if not getattr(node, OWN_INITIALIZER, False):
            self.generic_visit(node)
            return node
        saved = self.calculations, self.around
        self.calculations = Calculations(OWN_INITIALIZER, keyed=False)
        self.around = copy.copy(saved[1])
        given = [a.arg for a in node.args.args]
        own = saved[1].locals.items()
        self.around.locals = {k: v for k, v in own if k not in given}
        self.around.keys = set()
        body = visited(OfWeight(), self.visit(node.body))
        self.calculations, self.around = saved
        if "dtype" not in names(body):
            body = marked("jnp.asarray(v, dtype)", v=body)
        return ast.copy_location(ast.Lambda(node.args, body), node)

    def _filled(self, node: ast.Call, row: Row) -> ast.expr:
        begun = [k for k in node.keywords if str(k.arg).startswith(BEGUN)]
        node.keywords = [k for k in node.keywords if k not in begun]
        given = ast.Call(
            node.func,
            [self.visit(a) for a in node.args],
            [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords],
        )
        try:
            bound = row.bind_all(given)
            made = row.fill(bound, self.calculations)
        except MisfitError as error:
            self.notes.refuse(
                node,
                f"`{ast.unparse(node.func)}` {error.said} has no counterpart",
                "write what it computes, or leave the argument out",
            )
            return given
        for what, todo in remarks(bound):
            # Who writes `training=True` wants what is random in inference.
            asked = any(k.arg == "training" for k in node.keywords)
            tell = self.notes.refuse if asked else self.notes.remark
            tell(node, what, todo)
        layer = isinstance(made, ast.Call) and is_layer(made)
        if row.kind == "function" or (row.kind == "either" and not layer):
            made = _function_of_x(made)
        self._titled(node, made)
        if isinstance(made, ast.Call) and is_layer(made):
            for keyword in begun:
                self._begin(made, keyword)
        return ast.copy_location(made, node)

    def _begin(self, layer: ast.Call, given: ast.keyword) -> None:
        """Give a layer the initializer that a function of the file gave its weight."""
        call = cloned(given.value)
        assert isinstance(call, ast.Call)
        call.args = [self.visit(a) for a in call.args]
        call.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in call.keywords]
        row = IN_PLACE[ast.unparse(call.func).rpartition(".")[2]]
        try:
            initializer = row.fill(row.bind(call), self.calculations)
        except MisfitError as error:
            self.notes.remark(
                given.value,
                f"`{ast.unparse(given.value)}` {error.said} is left out",
                "give the weight an initializer",
            )
            return
        kept = str(given.arg).removeprefix(BEGUN)
        layer.keywords = [k for k in layer.keywords if k.arg != kept]
        layer.keywords.append(ast.keyword(kept, initializer))

    def _sequence(self, node: ast.Call) -> ast.expr | None:
        """Layers that are called one after the other, as a function."""
        given = node.args
        if len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple):
            given = given[0].elts
        if any(isinstance(e, ast.Starred | ast.ListComp) for e in given):
            return None
        body: ast.expr = name("x")
        for element in given:
            made = self.visit(element)
            if isinstance(made, ast.Lambda):
                body = replaced(made.body, {made.args.args[0].arg: body})
            else:
                if isinstance(made, ast.Call) and is_layer(made):
                    made.keywords.append(ast.keyword(CHAINED, ast.Constant(True)))
                body = ast.Call(made, [body], [])
        parameters = ast.arguments([], [ast.arg("x")], None, [], [], None, [])
        return ast.Lambda(parameters, body)

    def _inlined(self, node: ast.Call) -> ast.expr | None:
        """A function of the file that makes layers: what it returns, as each call makes new ones."""
        function = self.origin.functions.get(getattr(node.func, "id", ""))
        if function is None or self.framework not in ("haiku", "flax"):
            return None
        if not any(
            isinstance(p, ast.Call) and self.origin.qualified(p.func) in LAYERS
            for p in walk(function)
        ):
            return None
        known = defaults_of(function.args)
        known |= zip([a.arg for a in function.args.args], node.args, strict=False)
        known |= {str(k.arg): k.value for k in node.keywords}
        for part in without_docstring(function.body):
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                known[part.targets[0].id] = replaced(part.value, known)
            elif isinstance(part, ast.Return) and part.value is not None:
                return self.visit(replaced(part.value, known))
            else:
                return None
        return None

    def _titled(self, node: ast.Call, made: ast.expr) -> None:
        """Keep the name that a layer is given."""
        if isinstance(made, ast.Call) and is_layer(made):
            made.keywords += [
                ast.keyword("@name", k.value)
                for k in node.keywords
                if k.arg == "name" and isinstance(k.value, ast.Constant | ast.JoinedStr)
            ]

    def _own(self, node: ast.Call, interface: Interface) -> ast.expr:
        """A class of the same file, with the arguments that it has as a definition."""
        values: dict[str, ast.expr] = {}
        for place, value in zip(interface.renamed, node.args, strict=False):
            self._left_out(node, interface, place, value)
            if interface.renamed[place]:
                values[interface.renamed[place]] = self.visit(value)
        for keyword in node.keywords:
            field = interface.renamed.get(str(keyword.arg))
            self._left_out(node, interface, str(keyword.arg), keyword.value)
            if field:
                values[field] = self.visit(keyword.value)
            elif field is None and not is_silent(str(keyword.arg), keyword.value):
                self.notes.refuse(
                    node,
                    f"`{ast.unparse(keyword)}` is no parameter of {interface.name}",
                    "write it as a field of that class",
                )
        for field in interface.added:
            values[field] = self.calculations["hole"](f"size_{field}")  # type: ignore[assignment,arg-type]
        made = ast.Call(name(f"@own:{interface.name}"), [], [])
        rest = dict(values)
        for field in interface.order:
            if field not in rest or len(made.args) >= max(1, len(node.args)):
                break
            made.args.append(rest.pop(field))
        made.keywords = [ast.keyword(k, v) for k, v in rest.items()]
        self._titled(node, made)
        return ast.copy_location(made, node)

    def _left_out(
        self, node: ast.Call, interface: Interface, parameter: str, value: ast.expr
    ) -> None:
        """Say so where a class of layers is handed on that is not the one that is always taken."""
        always = interface.fixed.get(parameter)
        if always is None:
            return
        maker = self.around.makers.get(ast.unparse(value))
        given = self.origin.qualified(maker.func if maker is not None else value)
        if given != always:
            self.notes.refuse(
                node,
                f"`{parameter}={ast.unparse(value)}` of {interface.name}, which always takes `{always}`",
                "write another class with that layer, and call it here",
            )

    def _partial(self, node: ast.Call) -> ast.expr:
        inner = ast.Call(node.args[0], node.args[1:], node.keywords)
        full = self.origin.qualified(node.args[0])
        row = FUNCTIONS.get(full)
        if row is None:
            self.generic_visit(node)
            return node
        inner.args = [name("x"), *inner.args]
        made = self._filled(ast.copy_location(inner, node), row)
        return _function_of_x(made)

    def _method(self, node: ast.Call, func: ast.Attribute) -> ast.expr | None:
        if func.attr == "attend" and self_attribute(func.value) and len(node.args) == 1:
            # Logits of an embedding of flax.
            x, table = self.visit(node.args[0]), self.visit(func.value)
            return expression("x.dot(e.embedding.T)", x=x, e=table)
        table = METHODS if self.framework == "torch" else REDUCTIONS
        row = table.get(func.attr)
        marked = isinstance(func.value, ast.Name) and func.value.id.startswith("@")
        if row is None or marked or is_name(func.value, "self"):
            return None
        if self_attribute(func.value) is None and not self._array(func.value):
            return None
        given = ast.copy_location(
            ast.Call(func, [func.value, *node.args], node.keywords), node
        )
        if func.attr == "sum" and isinstance(func.value, ast.Compare):
            return None
        if func.attr in ("reshape", "view", "permute", "expand"):
            # `x.reshape(shape=(2, 3))`
            named = [k for k in given.keywords if k.arg in ("shape", "size", "dims")]
            given.args += [k.value for k in named]
            given.keywords = [k for k in given.keywords if k not in named]
        return self._filled(given, row)

    def _array(self, node: ast.expr) -> bool:
        """Whether a value may be an array, and is no text, list or module."""
        return not isinstance(
            node, ast.Constant | ast.List | ast.Dict | ast.JoinedStr | ast.Tuple
        )

    def _reduced(self, function: ast.Lambda, node: ast.Call) -> ast.expr:
        parameters = [a.arg for a in function.args.args]
        given = [self.visit(a) for a in node.args]
        if len(parameters) != len(given) or node.keywords:
            return ast.Call(function, given, node.keywords)
        return replaced(function.body, dict(zip(parameters, given, strict=True)))


def with_argument(maker: ast.Call, node: ast.Call) -> ast.Call:
    """A call of a partial one."""
    keywords = {k.arg: k for k in (*maker.keywords, *node.keywords)}
    made = ast.Call(
        cloned(maker.func),
        [*cloned(maker.args), *node.args],
        [cloned(k) for k in keywords.values()],
    )
    return ast.copy_location(made, node)


def _function_of_x(body: ast.expr) -> ast.expr:
    """A function of one argument; the name alone where it is called with nothing else."""
    if (
        isinstance(body, ast.Call)
        and not body.keywords
        and len(body.args) == 1
        and is_name(body.args[0], "x")
    ):
        return body.func
    parameters = ast.arguments([], [ast.arg("x")], None, [], [], None, [])
    return ast.Lambda(parameters, body)


class OfWeight(NodeTransformer):
    """Writes the dtype of what nothing tells the dtype of as that of the weight."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        owner = getattr(node.value, "id", "")
        unknown = owner in (OWN_INITIALIZER, "shape")
        return name("dtype") if unknown and node.attr == "dtype" else node
