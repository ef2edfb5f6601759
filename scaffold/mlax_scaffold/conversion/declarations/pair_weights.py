"""The weights that a function makes: what it returns, as one expression of arrays."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.declarations.carried_sizes import carried_size
from mlax_scaffold.conversion.declarations.known_passes import KnownPasses
from mlax_scaffold.conversion.handed.layer_functions import bound_arguments
from mlax_scaffold.conversion.lists.key_loops import (
    holds_keys,
    splits,
    without_keys_beside,
)
from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_none,
    literal,
    names,
    replaced,
    targets,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_DEEP = 5
"""How many functions may call each other."""


class MadeWeights:
    """Follows the statements of a function that makes weights."""

    def __init__(self, origin: Origin, depth: int = 0):
        self.origin, self.depth = origin, depth
        self.known: dict[str, ast.expr] = {}
        """Locals that hold arrays, or containers of them."""
        self.rest: list[ast.stmt] = []
        """Statements that make neither: sizes, and keys."""
        self.renamed: dict[str, ast.expr] = {}
        """Sizes that are others from some statement on, under names of their own."""

    def returned(self, function: ast.FunctionDef) -> ast.expr | None:
        """What it returns; None where that is not to be told."""
        for part in without_docstring(function.body):
            if isinstance(part, ast.Return):
                return self._settled(part.value) if part.value is not None else None
            self._statement(part)
        return None

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                if not self._assigned(target, value):
                    self._kept(node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                if not self._assigned(target, value):
                    self._kept(node)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                read = ast.Name(target.id, ast.Load())
                made = ast.Assign([target], ast.BinOp(read, op, value))
                self._kept(ast.copy_location(made, node))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"))):
                if not self._appended(node.value, None):  # type: ignore[arg-type]
                    self._kept(node)
            case ast.For():
                if not self._looped(node) and not self._in_passes(node):
                    self._kept(node)
            case ast.If() if (holds := truth(self._decided(node.test))) is not None:
                for part in node.body if holds else node.orelse:
                    self._statement(part)
            case _:
                self._kept(node)

    def _kept(self, node: ast.stmt) -> None:
        """A statement that stands before all weights, which still read what a size was before it."""
        made = cloned(node)
        match made:
            case ast.Assign(targets=[ast.Name(id=local) as target]):
                made.value = replaced(made.value, self.renamed)
                before = [t for part in self.rest for t in targets(part)]
                if local in before and not splits(self.origin, made.value):
                    count = sum(t.rpartition("_")[0] == local for t in before)
                    target.id = f"{local}_{count + 2}"
                    self.renamed[local] = ast.Name(target.id, ast.Load())
                    self.known[local] = self.renamed[local]
            case _:
                made = with_names(made, self.renamed)
        self.rest.append(made)

    def _assigned(self, target: ast.expr, value: ast.expr) -> bool:
        if splits(self.origin, value):
            return False
        if isinstance(target, ast.Tuple):
            return self._unpacked(target, value)
        made = self._settled(value)
        if isinstance(target, ast.Name):
            if isinstance(made, ast.Tuple) and made.elts and not _holds(made):
                # A shape that has a name.
                self.known[target.id] = made
                return True
            if not _holds(made) and not self._is_size(made):
                return "output_shape" in target.id
            self.known[target.id] = made
            return True
        if isinstance(target, ast.Subscript):
            holder = self._place(target.value)
            if isinstance(holder, ast.Dict) and isinstance(target.slice, ast.Constant):
                known = [literal(k) for k in holder.keys]
                if target.slice.value in known:
                    # What stood there is another one now.
                    holder.values[known.index(target.slice.value)] = made
                    return True
                holder.keys.append(target.slice)
                holder.values.append(made)
                return True
        return False

    def _unpacked(self, target: ast.Tuple, value: ast.expr) -> bool:
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
            return "output_shape" in ast.unparse(target)
        made = [self._settled(v) for v in value.elts]
        if not all(map(_holds, made)):
            return False
        pairs = zip(target.elts, made, strict=True)
        self.known |= {t.id: m for t, m in pairs if isinstance(t, ast.Name)}
        return True

    def _place(self, node: ast.expr) -> ast.expr | None:
        """The container that a name, or an element of one, stands for."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Subscript):
            outer, key = self._place(node.value), literal(node.slice)
            if isinstance(outer, ast.Dict):
                pairs = zip(outer.keys, outer.values, strict=True)
                return next((v for k, v in pairs if literal(k) == key), None)
        return None

    def _appended(self, call: ast.Call, loop: ast.comprehension | None) -> bool:
        """Whether a call appends to a list of weights, which is done then."""
        assert isinstance(call.func, ast.Attribute)
        holder = self._place(call.func.value)
        if not isinstance(holder, ast.List) or len(call.args) != 1:
            return False
        made = self._settled(call.args[0])
        if loop is None:
            holder.elts.append(made)
            return True
        if holder.elts:
            return False
        self._put(call.func.value, ast.ListComp(made, [loop]))
        return True

    def _put(self, place: ast.expr, value: ast.expr) -> None:
        if isinstance(place, ast.Name):
            self.known[place.id] = value
        elif isinstance(place, ast.Subscript):
            outer = self._place(place.value)
            assert isinstance(outer, ast.Dict)
            keys = [literal(k) for k in outer.keys]
            outer.values[keys.index(literal(place.slice))] = value

    def _looped(self, node: ast.For) -> bool:
        """Whether a loop only appends to a list of weights, once in each pass."""
        inner = MadeWeights(self.origin, self.depth)
        inner.known = dict(self.known)
        begun = [p for p in self.rest if isinstance(p, ast.Assign)]
        carried = carried_size(node, begun)
        loop = ast.comprehension(node.target, node.iter, [], 0)
        body = node.body
        if carried is not None:
            loop, body = carried.loop, body[:-1]
            inner.known.pop(carried.local, None)
        appended = 0
        for part in body:
            match part:
                case ast.Assign(value=value) if splits(self.origin, value):
                    pass
                case ast.Assign(targets=[target], value=value):
                    if not inner._assigned(target, value) and not self._counts(
                        inner, body, part
                    ):
                        return False
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="append")) as call
                ):
                    appended += inner._appended(call, loop)
                case _:
                    return False
        if appended != 1:
            return False
        own = {t for part in node.body for t in targets(part)}
        self.known = {k: v for k, v in inner.known.items() if k not in own}
        if carried is not None:
            target = ast.Name(carried.local, ast.Store())
            self._kept(ast.copy_location(ast.Assign([target], carried.after), node))
        return True

    def _in_passes(self, node: ast.For) -> bool:
        """Whether a loop goes over what is known, so that each of its passes is followed."""
        passes = self._passes().of_loop(node)
        for part in passes or ():
            self._statement(part)
        return passes is not None

    def _passes(self) -> KnownPasses:
        split = [
            part
            for part in self.rest
            if isinstance(part, ast.Assign) and splits(self.origin, part.value)
        ]
        keys = {t for part in split for t in targets(part)}
        return KnownPasses(self.origin, self.known, keys)

    def _counts(
        self, inner: MadeWeights, body: list[ast.stmt], node: ast.Assign
    ) -> bool:
        """Whether a pass computes a number for itself, which is written where it is read."""
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                before = body[: body.index(node)]
                known = {n for p in before for n in names(p)} | names(value)
                bound = {t for p in self.rest for t in targets(p)}
                if local in known | bound or holds_keys(self.origin, value):
                    return False
                inner.known[local] = inner._settled(value)
                return True
        return False

    def _is_size(self, node: ast.expr) -> bool:
        """Whether a function that another one calls computes a number, which is written where it is read."""
        return self.depth > 0 and not holds_keys(self.origin, node)

    def _decided(self, node: ast.expr) -> ast.expr:
        """A condition, or a choice, with what the function is given."""
        return Known({}, {}).value(replaced(cloned(node), self.known))

    def _settled(self, node: ast.expr) -> ast.expr:
        """A value, with what its names hold, and what functions of the file make."""
        made = replaced(cloned(node), self.known)
        if self.depth > 0:
            made = _Choices().visit(made)
        if isinstance(made, ast.DictComp):
            made = self._passes().of_entries(made)
        return _Calls(self.origin, self.depth).visit(made)


class _Choices(NodeTransformer):
    """Writes what is chosen under conditions that are known, and elements of tuples."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        holds = truth(Known({}, {}).value(node.test))
        return node if holds is None else node.body if holds else node.orelse

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return Known({}, {}).value(node) if isinstance(node.value, ast.Tuple) else node


class _Calls(NodeTransformer):
    """Writes out what functions of the file return that make weights."""

    def __init__(self, origin: Origin, depth: int):
        self.origin, self.depth = origin, depth

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = self.origin.functions.get(getattr(node.func, "id", ""))
        known = _bound(function, node) if function is not None else None
        if function is None or known is None or self.depth >= _DEEP:
            return node
        inner = MadeWeights(self.origin, self.depth + 1)
        inner.known = dict(known)
        made = inner.returned(function)
        if made is None or not _holds(made) or not _keys_alone(self.origin, inner.rest):
            return node
        # The keys that the function splits are no names where it is called.
        split = {t for part in inner.rest for t in targets(part)}
        made = without_keys_beside(made, split, "key")
        return ast.copy_location(made, node)


def _bound(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """The arguments of a call by parameter; those of `*shape` are a tuple."""
    several = function.args.vararg
    if several is None or function.args.kwonlyargs:
        return bound_arguments(function, call)
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    first = len(function.args.args)
    plain = copy.copy(function)
    plain.args = copy.copy(function.args)
    plain.args.vararg = None
    rest = ast.Call(call.func, call.args[:first], call.keywords)
    found = bound_arguments(plain, rest)
    if found is None:
        return None
    return {**found, several.arg: ast.Tuple(call.args[first:], ast.Load())}


def _keys_alone(origin: Origin, body: list[ast.stmt]) -> bool:
    return all(isinstance(s, ast.Assign) and splits(origin, s.value) for s in body)


def _holds(node: ast.expr) -> bool:
    """Whether a value is an array, as far as can be told, or a container of such."""
    if isinstance(node, ast.Dict):
        # None stands where an array is put later.
        return all(is_none(v) or _holds(v) for v in node.values)
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_holds, node.elts))
    if isinstance(node, ast.ListComp):
        return _holds(node.elt)
    return any(
        isinstance(p, ast.Call)
        and isinstance(p.func, ast.Attribute | ast.Name)
        and ast.unparse(p.func) not in _PLAIN
        for p in walk(node)
    )


_PLAIN = ("len", "int", "float", "max", "min", "sum", "range", "math.sqrt", "tuple")
"""Calls that make numbers."""


def containers(value: ast.expr) -> bool:
    """Whether weights are held in containers within the outermost one."""
    parts: list[ast.expr] = []
    if isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, ast.List | ast.Tuple):
        parts = value.elts
    elif isinstance(value, ast.ListComp):
        return True
    kinds = ast.Dict | ast.List | ast.Tuple | ast.ListComp
    return any(isinstance(p, kinds) for p in parts)


def record_fields(origin: Origin, title: str) -> list[str]:
    """The fields of a class of the file that is a record, in order."""
    node = origin.classes.get(title)
    if node is None:
        return []
    return [
        p.target.id
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]


def maker_of(origin: Origin, function: ast.FunctionDef) -> ast.FunctionDef | None:
    """The one function of a file that makes the weights that another one takes first."""
    given = [a.arg for a in function.args.args]
    if not given or given[0] not in _FIRST:
        return None
    found = {n: f for n, f in origin.functions.items() if _begins(n)}
    called = {
        p.id
        for n, f in found.items()
        for p in walk(f)
        if isinstance(p, ast.Name) and p.id != n
    }
    outer = [f for n, f in found.items() if n not in called]
    return outer[0] if len(outer) == 1 else None


_FIRST = ("params", "weights", "theta", "parameters", "model", "p", "state")


def _begins(name: str) -> bool:
    words = name.strip("_").split("_")
    return bool({"init", "initialize", "create", "make"} & set(words)) and (
        words[0] in ("init", "initialize") or words[-1] in ("init", "params", "weights")
    )
