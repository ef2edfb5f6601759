"""Lists whose elements are all of one class, which a constructor puts together: one comprehension then.

self.layers = [Linear(a, b)]                    self.layers = [
for _ in range(n):                                  Linear(i, o)
    self.layers.append(Linear(b, b))   becomes      for i, o in [(a, b), *[(b, b) for _ in range(n)], (b, c)]
self.layers.append(Linear(b, c))                ]
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.conversion.lists.key_loops import (
    holds_keys,
    is_split,
    number_of_keys,
)
from mlax_scaffold.conversion.lists.list_sources import Piece, Sources
from mlax_scaffold.conversion.rows.rows import places_of
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.loop_parts import applied
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import cloned, located, walk

HOLDERS = ("flax.nnx.List", "flax.nnx.data")
_STARTS = ("__init__", "setup")


def with_lists_of_one_class(
    origin: Origin, node: ast.ClassDef, layers: Collection[str]
) -> None:
    """Write such lists of a class of a library of jax so, in place."""
    if framework_of(origin, node) in ("torch", "plain"):
        return
    start = next((m for m in node.body if getattr(m, "name", "") in _STARTS), None)
    if not isinstance(start, ast.FunctionDef):
        return
    for place in dict.fromkeys(_begun(origin, start)):
        copied = cloned(node)
        body = [m for m in copied.body if getattr(m, "name", "") == start.name]
        assert isinstance(body[0], ast.FunctionDef)
        made = OneClass(origin, copied, body[0], place, layers)
        if made.is_of_one_class() and made.write():
            node.body = copied.body
            start = body[0]
            located(node)


def _begun(origin: Origin, start: ast.FunctionDef) -> Iterator[str]:
    """The attributes and locals that begin as lists, at the top of a constructor."""
    for part in start.body:
        if not isinstance(part, ast.Assign | ast.AnnAssign) or part.value is None:
            continue
        target = part.targets[0] if isinstance(part, ast.Assign) else part.target
        named = isinstance(target, ast.Name) or self_attribute(target)
        if named and _pieces(origin, part.value) is not None:
            yield ast.unparse(target)


def _pieces(origin: Origin, node: ast.expr) -> list[Piece] | None:
    """The elements of a list that is written out; None of anything else."""
    match node:
        case ast.List(elts=elts) if not any(isinstance(e, ast.Starred) for e in elts):
            return [Piece(node, e) for e in elts]
        case ast.ListComp(elt=elt, generators=[one]) if not one.ifs:
            return [Piece(node, elt, [one])]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _pieces(origin, left), _pieces(origin, right)
            return None if first is None or second is None else first + second
        case ast.Call(func=func, args=[inner], keywords=[]) if (
            origin.qualified(func) in HOLDERS
        ):
            return _pieces(origin, inner)
        case ast.Call(func=func, args=[], keywords=[]):
            return [] if origin.qualified(func) in HOLDERS else None
    return None


class OneClass:
    def __init__(
        self,
        origin: Origin,
        owner: ast.ClassDef,
        start: ast.FunctionDef,
        place: str,
        layers: Collection[str],
    ):
        self.origin, self.owner, self.start, self.place = origin, owner, start, place
        self.layers = layers
        self.statements: list[tuple[ast.stmt, list[Piece]]] = []
        self.end: ast.stmt | None = None
        """The statement that names the list as an attribute, where a local holds it."""
        self.attribute = place.removeprefix("self.") if "." in place else ""
        self.followed = self._read()
        self.splits: dict[str, ast.expr] = {}
        """Names of keys that the constructor splits, and how many there are."""
        for part in start.body:
            match part:
                case ast.Assign(
                    targets=[ast.Name(id=local)],
                    value=ast.Call() as call,
                ) if is_split(origin, call):
                    self.splits[local] = number_of_keys(call)

    def _read(self) -> bool:
        """Whether the constructor does nothing to the list but fill it."""
        for part in self.start.body:
            if not self._names(part):
                continue
            match part:
                case ast.Assign(targets=[target], value=value):
                    if ast.unparse(target) == self.place:
                        found = _pieces(self.origin, value)
                        if found is None or self.statements:
                            return False
                        self.statements.append((part, found))
                        continue
                    whole = value
                    match value:
                        case ast.Call(func=func, args=[inner], keywords=[]):
                            held = self.origin.qualified(func) in HOLDERS
                            whole = inner if held or is_name(func, "tuple") else value
                    attribute = self_attribute(target)
                    if attribute and is_name(whole, self.place) and self.end is None:
                        self.end, self.attribute = part, attribute
                        continue
                    return False
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    found = _pieces(self.origin, value)
                    if ast.unparse(target) != self.place or found is None:
                        return False
                    self.statements.append((part, found))
                case _:
                    if not self.statements or self.end is not None:
                        return False
                    found = self._filled(part)
                    if found is None:
                        return False
                    self.statements.append((part, found))
        return bool(self.attribute)

    def _filled(self, node: ast.stmt) -> list[Piece] | None:
        """What a statement adds to the list, in loops and under conditions too."""
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[given])
            ) if ast.unparse(owner) == self.place:
                if attr == "append":
                    return [Piece(node.value, given)]
                return _pieces(self.origin, given) if attr == "extend" else None
            case ast.AugAssign(target=target, op=ast.Add(), value=value):
                if ast.unparse(target) == self.place:
                    return _pieces(self.origin, value)
            case ast.For(body=body, orelse=[]):
                found = self._all_filled(body)
                return found
            case ast.If(body=body, orelse=orelse):
                return self._all_filled([*body, *orelse])
        return None if self._names(node) else []

    def _names(self, node: ast.AST) -> bool:
        """Whether something reads or binds the list."""
        found = (p for p in walk(node) if isinstance(p, ast.Name | ast.Attribute))
        return any(ast.unparse(p) == self.place for p in found)

    def _all_filled(self, body: list[ast.stmt]) -> list[Piece] | None:
        found: list[Piece] = []
        for part in body:
            more = self._filled(part)
            if more is None:
                return None
            found += more
        return found

    @property
    def pieces(self) -> list[Piece]:
        return [piece for _, found in self.statements for piece in found]

    def is_of_one_class(self) -> bool:
        """Whether all elements are made by one class, of several lines or a loop."""
        calls = [p.element for p in self.pieces]
        if not self.followed or len(calls) < 2 or not self._is_needed():
            return False
        first = calls[0]
        if not isinstance(first, ast.Call) or not self._makes_layers(first.func):
            return False
        for call in calls:
            if not isinstance(call, ast.Call):
                return False
            if ast.unparse(call.func) != ast.unparse(first.func):
                return False
            if len(call.args) != len(first.args):
                return False
            if [k.arg for k in call.keywords] != [k.arg for k in first.keywords]:
                return False
            if any(isinstance(a, ast.Starred) for a in call.args):
                return False
            if any(k.arg is None for k in call.keywords):
                return False
        return True

    def _makes_layers(self, func: ast.expr) -> bool:
        own = self.origin.classes.get(getattr(func, "id", ""))
        if own is not None:
            return is_layer_class(self.origin, own)
        return self.origin.qualified(func) in self.layers

    def _is_needed(self) -> bool:
        """Whether the list is filled in several ways, or counted and paired with others."""
        loops = any(p.loops for p in self.pieces) or any(
            isinstance(part, ast.For | ast.If) and found
            for part, found in self.statements
        )
        if loops:
            return not self._is_called_whole()
        return any(
            isinstance(part, ast.Call)
            and getattr(part.func, "id", "") in ("zip",)
            and any(self_attribute(inner) == self.attribute for inner in walk(part))
            for part in walk(self.owner)
        )

    def _is_called_whole(self) -> bool:
        """Whether what reads the list only applies its elements in turn."""
        reads = [
            part
            for method in self.owner.body
            if isinstance(method, ast.FunctionDef) and method is not self.start
            for part in walk(method)
            if self_attribute(part) == self.attribute
        ]
        whole = [
            part.iter
            for part in walk(self.owner)
            if isinstance(part, ast.For) and applied(part)
        ]
        return bool(reads) and all(any(r is w for w in whole) for r in reads)

    def write(self) -> bool:
        """Write the list as one comprehension, in place; False where that is not possible."""
        calls = [p.element for p in self.pieces if isinstance(p.element, ast.Call)]
        given = [[*c.args, *(k.value for k in c.keywords)] for c in calls]
        keys = self._keys()
        columns = list(zip(*given, strict=True))
        keyed = [
            any(names(v) & keys and not isinstance(v, ast.BinOp) for v in c)
            for c in columns
        ]
        changed = self._changed()
        varying = [
            not keyed[at]
            and (
                len({ast.unparse(v) for v in column}) > 1
                or any(names(v) & changed for v in column)
            )
            for at, column in enumerate(columns)
        ]
        if not any(varying):
            varying = [not k and not any(varying[:at]) for at, k in enumerate(keyed)]
            varying = [v and at == varying.index(True) for at, v in enumerate(varying)]
        wanted = self._titles(calls[0]) or [
            *(f"in_{at}" for at in range(len(calls[0].args))),
            *(str(k.arg) for k in calls[0].keywords),
        ]
        titles = [
            f"{self.attribute}_{w}" if v else ""
            for w, v in zip(wanted, varying, strict=True)
        ]
        for piece, values in zip(self.pieces, given, strict=True):
            kept = [v for v, chosen in zip(values, varying, strict=True) if chosen]
            made = kept[0] if len(kept) == 1 else ast.Tuple(kept, ast.Load())
            self._put(piece, made)
        bound: list[ast.expr] = [ast.Name(t, ast.Store()) for t in titles if t]
        target = bound[0] if len(bound) == 1 else ast.Tuple(bound, ast.Store())
        call = cloned(calls[0])
        values = [*call.args, *(k.value for k in call.keywords)]
        chosen = [
            ast.Name(t, ast.Load()) if t else v
            for t, v in zip(titles, values, strict=True)
        ]
        key = next((a for a in sorted(keys) if a in KEYS), "key")
        chosen = [
            ast.Name(key, ast.Load()) if k else c
            for k, c in zip(keyed, chosen, strict=True)
        ]
        call.args = chosen[: len(call.args)]
        for keyword, value in zip(call.keywords, chosen[len(call.args) :], strict=True):
            keyword.value = value
        return self._place(call, target)

    def _titles(self, call: ast.Call) -> list[str]:
        """What the parameters are called that a class is given."""
        own = self.origin.classes.get(getattr(call.func, "id", ""))
        places: list[str] = []
        if own is None:
            places = places_of(LAYERS[self.origin.qualified(call.func)])
        else:
            for part in own.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    places = [a.arg for a in part.args.args[1:]]
        if len(places) < len(call.args):
            return []
        return [*places[: len(call.args)], *(str(k.arg) for k in call.keywords)]

    def _keys(self) -> set[str]:
        """Names of the constructor that hold keys."""
        given = {a.arg for a in (*self.start.args.args, *self.start.args.kwonlyargs)}
        keys = given & {*KEYS}
        for part in walk(self.start):
            if isinstance(part, ast.Assign) and (
                holds_keys(self.origin, part.value)
                or (names(part.value) & keys and "split" in ast.unparse(part.value))
            ):
                keys |= set(targets(part))
            if isinstance(part, ast.For | ast.comprehension):
                pairs = [(part.target, part.iter)]
                if isinstance(part.iter, ast.Call) and isinstance(
                    part.target, ast.Tuple
                ):
                    pairs = list(zip(part.target.elts, part.iter.args, strict=False))
                for target, source in pairs:
                    inner = (
                        source.value if isinstance(source, ast.Subscript) else source
                    )
                    if (isinstance(inner, ast.Name) and inner.id in keys) or holds_keys(
                        self.origin, source
                    ):
                        keys |= set(targets(target))
        return keys

    def _changed(self) -> set[str]:
        """Names that loops bind, or that the constructor binds more than once."""
        found: set[str] = set()
        for part in walk(self.start):
            if isinstance(part, ast.For | ast.comprehension):
                found |= set(targets(part.target))
            if isinstance(part, ast.For | ast.If):
                found |= {t for s in part.body for t in targets(s)}
        return found

    def _put(self, piece: Piece, made: ast.expr) -> None:
        made = ast.copy_location(made, piece.element)
        holder = piece.holder
        if isinstance(holder, ast.List):
            holder.elts = [made if e is piece.element else e for e in holder.elts]
        elif isinstance(holder, ast.ListComp):
            holder.elt = made
        elif isinstance(holder, ast.Call):
            holder.args = [made]

    def _place(self, call: ast.Call, target: ast.expr) -> bool:
        """Put the comprehension where the list is whole, over what is left in its place."""
        body = self.start.body
        last = self.end or self.statements[-1][0]
        filled = [part for part, _ in self.statements]
        whole, rest = Sources(self, body).whole()
        if whole is None:
            return False
        owner = ast.Attribute(ast.Name("self", ast.Load()), self.attribute, ast.Store())
        loop = ast.comprehension(target, whole, [], 0)
        made = ast.Assign([owner], ast.ListComp(call, [loop]))
        ast.copy_location(made, last)
        for part in walk(made):
            if isinstance(part, ast.expr) and not hasattr(part, "lineno"):
                ast.copy_location(part, last)
        found: list[ast.stmt] = []
        for part in body:
            if part in filled:
                found += rest[filled.index(part)]
            elif part is not self.end:
                found.append(part)
            if part is last:
                found.append(made)
        self.start.body = found
        return True
