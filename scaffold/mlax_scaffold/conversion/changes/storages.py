"""Which names of a function may hold the same tensor, or a part of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_VIEWS = frozenset(
    (
        *("view", "reshape", "permute", "transpose", "swapaxes", "t", "squeeze"),
        *("unsqueeze", "flatten", "unflatten", "chunk", "split", "unbind", "expand"),
        *("expand_as", "view_as", "narrow", "select", "movedim", "contiguous", "float"),
        *("to", "type_as", "detach", "rearrange", "tensor_split", "values", "items"),
    )
)
"""What hands on a tensor, or parts of it, without a copy."""
_SEVERAL = (
    *("topk", "sort", "max", "min", "median", "kthvalue", "cummax", "cummin", "svd"),
    *("mode", "aminmax", "std_mean", "var_mean", "qr", "eigh", "slogdet", "unique"),
)
"""What makes several new tensors."""
_NUMBERS = ("len", "int", "float", "range", "round", "bool", "str")
_OF_SHAPE = ("size", "dim", "numel", "item", "shape", "ndim", "device", "dtype")


@dataclass(frozen=True)
class Held:
    """What a name holds."""

    exact: str = ""
    """The tensor that it is; "" for one that no other name has."""
    parts: frozenset[str] = frozenset()
    """Tensors that it may be, or that it may hold parts of."""
    number: bool = False
    listed: bool = False
    """Whether it is a list or a dictionary, which is set without a change of what is in it."""

    @property
    def all(self) -> frozenset[str]:
        return self.parts | {self.exact} - {""}


@dataclass
class Storages:
    """What names hold, as far as statements were read."""

    origin: Origin
    function: ast.FunctionDef
    returned: Callable[[ast.Call], ast.expr | None]
    """The tensor that a call returns, of those that it is given; None for a new one."""
    numbers: frozenset[str] = frozenset()
    """Arguments that are numbers wherever the function is called."""
    known: dict[str, Held] = field(default_factory=dict)

    def __post_init__(self):
        if self.known:
            return
        given = self.function.args
        defaults = dict(
            zip(
                reversed([a.arg for a in given.args]),
                reversed(given.defaults),
                strict=False,
            )
        )
        for argument in (*given.args, *given.kwonlyargs):
            annotation = ast.unparse(argument.annotation or ast.Name("_"))
            value = literal(defaults.get(argument.arg))
            number = annotation in ("int", "float", "bool", "str")
            number = number or isinstance(value, int | float | str)
            number = number or argument.arg in self.numbers
            self.known[argument.arg] = Held(f"@{argument.arg}", number=number)

    def copy(self) -> Storages:
        """Another one, which goes on by itself."""
        return replace(self, known=dict(self.known))

    def joined(self, other: Storages) -> Storages:
        """What holds after one of two ways."""
        found: dict[str, Held] = {}
        for title in {*self.known, *other.known}:
            left, right = self.known.get(title), other.known.get(title)
            if left is None or right is None or left == right:
                found[title] = left or right or Held()
            else:
                number = left.number and right.number
                listed = left.listed and right.listed
                found[title] = Held("", left.all | right.all, number, listed)
        return replace(self, known=found)

    def passed(self, node: ast.For | ast.While) -> None:
        """What holds before a loop's body that may have been run before."""
        after = self.copy()
        if isinstance(node, ast.For):
            self._bound(node.target, self._loop(node.iter))
            after._bound(node.target, self._loop(node.iter))
        for part in walk(node):
            if isinstance(part, ast.stmt) and part is not node:
                after.bind(part)
        self.known = self.joined(after).known

    def _loop(self, node: ast.expr) -> Held:
        held = self.of(node)
        number = isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
        return Held("", held.all, number)

    def of(self, node: ast.expr | None) -> Held:
        """What an expression holds."""
        match node:
            case ast.Name(id=local):
                return self.known.get(local, Held())
            case ast.Constant() | ast.JoinedStr() | ast.Compare():
                return Held(number=True)
            case ast.Attribute(attr=attr) if attr in _OF_SHAPE:
                return Held(number=True)
            case ast.Attribute():
                own = self_attribute(node)
                if own is not None:
                    return Held(f"self.{own}")
                return Held("", self.of(node.value).all)
            case ast.Subscript(value=value, slice=index):
                held = self.of(value)
                if not held.listed and not held.number and self._by_tensor(index):
                    # What is taken by indices, or by a mask, is a copy.
                    return Held(str(id(node)))
                return Held("", held.all, held.number)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                numbers = all(self.of(p).number for p in parts)
                return Held("", self._any(parts), numbers and bool(parts), True)
            case ast.Starred(value=value) | ast.NamedExpr(value=value):
                return self.of(value)
            case ast.IfExp(body=first, orelse=second):
                left, right = self.of(first), self.of(second)
                listed = left.listed and right.listed
                if left == right:
                    return left
                return Held("", left.all | right.all, listed=listed)
            case ast.BinOp(left=first, right=second):
                left, right = self.of(first), self.of(second)
                listed = isinstance(first, ast.List) or isinstance(second, ast.List)
                parts = left.all | right.all if listed else frozenset()
                listed = listed or left.listed or right.listed
                return Held("", parts, left.number and right.number, listed)
            case ast.UnaryOp(operand=operand):
                return Held(number=self.of(operand).number)
            case ast.ListComp() | ast.GeneratorExp():
                parts = self._any(g.iter for g in node.generators)
                return Held("", parts, listed=True)
            case ast.Dict(values=parts):
                return Held("", self._any(parts), listed=True)
            case ast.Call():
                return self._of_call(node)
        return Held(str(id(node)))

    def _by_tensor(self, index: ast.expr) -> bool:
        """Whether an index is a tensor for certain, or has one: `x[mask > 0]`, `x[rows[0], columns[0]]`."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        for part in parts:
            match part:
                case ast.Compare():
                    return True
                case ast.Call(func=func) if self.origin.qualified(func).startswith(
                    "torch."
                ):
                    return True
                case ast.Subscript(value=ast.Name(id=local)):
                    held = self.known.get(local, Held())
                    if held.exact.startswith("@") and not held.number | held.listed:
                        return True
        return False

    def _any(self, parts: Iterable[ast.expr]) -> frozenset[str]:
        return frozenset().union(*(self.of(p).all for p in parts))

    def _of_call(self, node: ast.Call) -> Held:
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else ast.unparse(func)
        if self_attribute(func) is not None:
            # A module of any name: `self.squeeze(x)` is no view.
            return self._returned_by(node)
        if last in _OF_SHAPE or last in _NUMBERS:
            return Held(number=True)
        if last in _VIEWS:
            full = self.origin.qualified(func)
            if isinstance(func, ast.Attribute) and not full:
                return Held("", self.of(func.value).all)
            return Held("", self._any(node.args[:1]))
        if last in ("list", "tuple", "zip", "enumerate", "reversed", "dict"):
            return Held("", self._any(node.args), listed=True)
        return self._returned_by(node)

    def _returned_by(self, node: ast.Call) -> Held:
        """What a call of a module or of an unknown function holds: what it hands on, or a new tensor."""
        same = self.returned(node)
        return self.of(same) if same is not None else Held(str(id(node)))

    def bind(self, node: ast.stmt) -> None:
        """Read a statement."""
        match node:
            case ast.Assign(targets=several, value=value):
                for target in several:
                    self._assigned(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assigned(target, value)
            case ast.AugAssign(target=ast.Name(id=local), value=value):
                before, held = self.known.get(local, Held()), self.of(value)
                if isinstance(value, ast.List | ast.Tuple | ast.ListComp):
                    parts = before.parts | held.all
                    self.known[local] = Held(before.exact, parts, listed=True)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id=local), attr="append" | "insert" | "extend"
                    ),
                    args=args,
                )
            ):
                before = self.known.get(local, Held())
                parts = before.parts | self._any(args)
                self.known[local] = Held(before.exact, parts, listed=True)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            given = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            if len(given) == len(target.elts):
                all_held = [self.of(v) for v in given]
                for one, part in zip(target.elts, all_held, strict=True):
                    self._bound(one, part)
                return
            held = self.of(value)
            if not self._several(value):
                held = Held("", held.all, held.number)
                self._bound(target, held)
                return
            for one in target.elts:
                self._bound(one, Held(str(id(one))))
            return
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            before = self.known.get(target.value.id, Held())
            if before.listed:
                parts = before.parts | self.of(value).all
                self.known[target.value.id] = replace(before, parts=parts)
            return
        held = self.of(value)
        if not held.exact and not held.parts and not held.number:
            held = replace(held, exact=str(id(value)))
        self._bound(target, held)

    @staticmethod
    def _several(value: ast.expr) -> bool:
        """Whether a call makes several new tensors, none of which is a part of another one."""
        match value:
            case ast.Call(func=ast.Attribute(attr=attr) as func):
                return attr in _SEVERAL and self_attribute(func) is None
        return False

    def _bound(self, target: ast.expr, held: Held) -> None:
        if isinstance(target, ast.Name):
            self.known[target.id] = held
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                # Results of one call are not each other.
                other = not held.parts and not held.number
                self._bound(one, Held(str(id(one))) if other else held)

    # Questions.

    def all_of(self, titles: Iterable[str]) -> frozenset[str]:
        """All tensors that names hold."""
        return frozenset().union(*(self.known.get(t, Held()).all for t in titles))

    def is_number(self, local: str) -> bool:
        """Whether a name holds a number of Python, which is never changed."""
        return self.known.get(local, Held()).number

    def is_listed(self, local: str) -> bool:
        """Whether a name holds a list or a dictionary."""
        return self.known.get(local, Held()).listed

    def of_self(self, local: str, stored: Iterable[str]) -> bool:
        """Whether a name holds what one of these attributes of the object holds."""
        return not {f"self.{s}" for s in stored}.isdisjoint(self.all_of([local]))

    def overlap(self, node: ast.expr, local: str) -> bool:
        """Whether a name may hold the tensor of an expression, or share a part with it."""
        return bool(self.of(node).all & self.known.get(local, Held()).all)

    def same(self, local: str, other: str) -> bool:
        """Whether two names are the same tensor."""
        left, right = self.known.get(local), self.known.get(other)
        return bool(left and right and left.exact and left.exact == right.exact)

    def holds(self, local: str, storage: str) -> bool:
        """Whether a name may hold that tensor."""
        return storage in self.known.get(local, Held()).all

    def is_exactly(self, local: str, storage: str) -> bool:
        """Whether a name is that tensor."""
        return self.known.get(local, Held()).exact == storage

    def only_names(self, node: ast.stmt) -> bool:
        """Whether a statement only gives another name to a value, or takes its shape."""
        match node:
            case ast.Assign(value=ast.Name()):
                return True
            case ast.Assign(value=value):
                return self.of(value).number
        return False
