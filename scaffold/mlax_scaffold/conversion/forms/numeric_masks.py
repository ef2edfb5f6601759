"""Masks of attention that are numbers, as comparisons: here a mask is of True and False."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.forms.mask_uses import MaskUses, Use
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import located, walk

_MASKS = ("attn_mask", "mask", "src_mask", "tgt_mask")
_TRIANGLES = ("tril", "triu")
_BOOLEAN = ("bool", "where", "isinf", "isnan", "logical_")


def without_numeric_masks(origin: Origin) -> None:
    """Compare such masks where layers are called with them, in place.

    What is added is zero or minus infinity: PyTorch's masks say then where not to attend. Of ones and
    zeros, which flax takes, all but zero is attended to. What is called with a mask that it adds itself
    gets the numbers.
    """
    torch = any(full.startswith("torch") for full in origin.imports.values())
    compared = _Compared(origin, torch)
    owners = {
        id(method): owner
        for owner in walk(origin.tree)
        if isinstance(owner, ast.ClassDef)
        for method in owner.body
    }
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            compared.compare(node, owners.get(id(node)))
    located(origin.tree)


class _Compared:
    """Compares the masks that calls of layers are given."""

    def __init__(self, origin: Origin, torch: bool):
        self.origin, self.torch = origin, torch
        self.uses = MaskUses(origin)
        self.known: dict[str, list[ast.expr]] = {}
        """What the locals of a function are."""
        self.is_mask = _is_added if torch else _Multiplied(origin).is_mask

    def compare(self, function: ast.FunctionDef, owner: ast.ClassDef | None) -> None:
        """Do so in a function, or in a method of a class."""
        numeric = self._numeric(function)
        self.known = _bound(function)
        made = {
            t
            for part in walk(function)
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
            for t in targets(part.targets[0])
        }
        for part in walk(function):
            if not isinstance(part, ast.Call):
                continue
            if self_attribute(part.func) == "register_buffer":
                self._compare_buffer(part, owner, numeric)
            # A layer: an attribute, a local, or one that is made where it is called.
            elif (
                self_attribute(part.func)
                or isinstance(part.func, ast.Call)
                or getattr(part.func, "id", "") in made
                or ast.unparse(part.func) == "super().__call__"
                or self.uses.attends(part)
            ):
                for at, value in enumerate(part.args):
                    if getattr(value, "id", "") in _MASKS:
                        use = self.uses.of_argument(owner, part, at)
                        part.args[at] = self._compared(value, use, numeric)
                for keyword in part.keywords:
                    if keyword.arg in _MASKS:
                        use = self.uses.of_argument(owner, part, keyword.arg)
                        keyword.value = self._compared(keyword.value, use, numeric)
                if self.uses.is_multihead(owner, part):
                    self._add(part, numeric)

    def _add(self, call: ast.Call, numeric: set[str]) -> None:
        """Hand an `nn.MultiheadAttention` a mask that is still of numbers as what is added to scores."""
        if len(call.args) == 6:
            call.keywords.append(ast.keyword("attn_mask", call.args.pop()))
        for keyword in call.keywords:
            value = keyword.value
            terms = [value]
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
                terms += value.left, value.right
            if keyword.arg == "attn_mask" and any(
                self._is_numeric(t, numeric) for t in terms
            ):
                keyword.arg = "bias"

    def _compare_buffer(
        self, call: ast.Call, owner: ast.ClassDef | None, numeric: set[str]
    ) -> None:
        """Compare a buffer that is called a mask, or holds one, where it is not added."""
        if len(call.args) < 2 or owner is None:
            return
        title, value = literal(call.args[0]), call.args[1]
        if isinstance(title, str) and (
            title in _MASKS or getattr(value, "id", "") in _MASKS
        ):
            use = self.uses.of_attribute(owner, title)
            call.args[1] = self._compared(value, use, numeric)

    def _compared(self, value: ast.expr, use: Use, numeric: set[str]) -> ast.expr:
        if use == "added" or not self._is_numeric(value, numeric):
            return value
        if use in ("kept", "biased") and not _is_of_two(value, self.known):
            return value  # It may hold a bias, too.
        by: ast.cmpop = ast.NotEq()
        if self.torch:
            by = ast.Eq() if use == "kept" else ast.Lt()
        test = ast.Compare(value, [by], [ast.Constant(0)])
        return ast.copy_location(test, value)

    def _numeric(self, function: ast.FunctionDef) -> set[str]:
        """The locals that are such masks."""
        found: set[str] = set()
        for part in walk(function):
            if isinstance(part, ast.Assign) and self._is_numeric(part.value, found):
                found |= set(targets(part.targets[0]))
        return found

    def _is_numeric(self, value: ast.expr, known: set[str]) -> bool:
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            return self._is_numeric(value.left, known) or self._is_numeric(
                value.right, known
            )
        if isinstance(value, ast.IfExp):
            return self._is_numeric(value.body, known) or self._is_numeric(
                value.orelse, known
            )
        return self.is_mask(value) or any(is_name(value, n) for n in known)


def _bound(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """What each local is made of, wherever that is."""
    found: dict[str, list[ast.expr]] = {}
    for part in walk(function):
        if isinstance(part, ast.Assign):
            for title in targets(part.targets[0]):
                found.setdefault(title, []).append(part.value)
        elif isinstance(part, ast.AugAssign):
            for title in targets(part.target):
                found.setdefault(title, []).append(part)  # type: ignore[arg-type]
    return found


def _is_of_two(
    value: ast.AST,
    known: Mapping[str, list[ast.expr]],
    seen: frozenset[str] = frozenset(),
) -> bool:
    """Whether a mask is zeros and minus infinity, and no bias in addition."""
    match value:
        case ast.Compare():
            return True  # As numbers, what is left of it is one.
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is_of_two(left, known, seen) and _is_end(right)
        case ast.Name(id=title):
            made = known.get(title, []) if title not in seen else []
            others = seen | {title}
            return title in seen or (
                bool(made) and all(_is_of_two(v, known, others) for v in made)
            )
        case ast.Subscript(value=inner):
            return _is_of_two(inner, known, seen)
        case ast.Call(func=ast.Attribute(attr=attr, value=inner), args=args):
            if attr in ("full", "ones", "zeros", "generate_square_subsequent_mask"):
                return True
            function = is_name(inner, "torch")
            if attr == "where":
                return all(_is_end(a) for a in args[1:])
            if attr.startswith("masked_fill") and not all(map(_is_end, args[-1:])):
                return False
            return _is_of_two(args[0] if function and args else inner, known, seen)
    return False


def _is_end(value: ast.expr) -> bool:
    """Whether a value is zero or minus infinity, or as good as that."""
    zero = literal(value) == 0 or ast.unparse(value) in ("float(0)", "float(0.0)")
    return zero or _is_added(value)


def _is_added(value: ast.expr) -> bool:
    text = ast.unparse(value)
    infinite = ("-inf", "-float('inf')", "-torch.inf", "-1000000000.0", "-10000.0")
    square = "generate_square_subsequent_mask" in text
    return square or any(i in text for i in infinite)


class _Multiplied:
    """Masks of ones and zeros."""

    def __init__(self, origin: Origin):
        self.origin = origin

    def is_mask(self, value: ast.expr) -> bool:
        """Whether a value is a triangle of numbers, or what a function of the file makes so."""
        if isinstance(value, ast.Subscript):
            return self.is_mask(value.value)
        if not isinstance(value, ast.Call):
            return False
        text = ast.unparse(value)
        match value:
            case ast.Call(
                func=ast.Attribute(value=ast.Compare(), attr="astype"), args=[_]
            ):
                # `(tokens > 0).astype(jnp.float32)`
                return not any(b in ast.unparse(value.args[0]) for b in _BOOLEAN)
        if any(b in text for b in _BOOLEAN):
            return False
        last = ast.unparse(value.func).rpartition(".")[2]
        function = self.origin.functions.get(last)
        if function is not None:
            ends = [n.value for n in walk(function) if isinstance(n, ast.Return)]
            return bool(ends) and all(
                isinstance(e, ast.Call)
                and ast.unparse(e.func) != last
                and self.is_mask(e)
                for e in ends
            )
        return last in _TRIANGLES
