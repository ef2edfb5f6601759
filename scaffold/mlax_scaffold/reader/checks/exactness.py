"""Which expressions are certain to hold integers or booleans, which no sum widens or rounds."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.handed import (
    called_from,
    handed,
    handed_by_callers,
)
from mlax_scaffold.reader.checks.local_values import (
    bindings_of,
    item_of,
    value_at,
    values_of,
)
from mlax_scaffold.reader.source import class_of, dotted, self_attribute

TO_BOOLEANS = frozenset(
    [
        *("all", "any", "equal", "greater", "greater_equal", "isfinite", "isin"),
        *("isinf", "isnan", "less", "less_equal", "logical_and", "logical_not"),
        *("logical_or", "logical_xor", "not_equal", "signbit"),
    ]
)
"""Functions of `jax.numpy` whose result is boolean, whatever they are given."""
_TO_INTEGERS = frozenset(
    ["argmax", "argmin", "argsort", "count_nonzero", "digitize", "searchsorted"]
)
"""Those whose results are integers, whatever they are given."""
_OF_FIRST = frozenset(
    [
        *(
            "abs",
            "array",
            "asarray",
            "broadcast_to",
            "concatenate",
            "cumprod",
            "cumsum",
        ),
        *("diff", "expand_dims", "flip", "max", "min", "prod", "stack"),
        *("ravel", "repeat", "reshape", "roll", "sort", "square", "squeeze", "sum"),
        *("transpose", "tril", "triu"),
    ]
)
"""Those, and methods of arrays, whose results are integers where the first array is of integers."""
_OF_ALL = frozenset(["clip", "maximum", "minimum", "mod", "remainder", "where"])
"""Those where all that they are given have to be integers."""
_INTEGERS = frozenset(
    [
        *("bool", "int", "jax.numpy.bool_", "jax.numpy.int8", "jax.numpy.int16"),
        *("jax.numpy.int32", "jax.numpy.int64", "jax.numpy.uint8"),
        *("jax.numpy.uint16", "jax.numpy.uint32", "jax.numpy.uint64"),
    ]
)
_DTYPES = {
    **dict.fromkeys(
        ("array", "asarray", "ones", "ones_like", "zeros", "zeros_like"), 1
    ),
    **dict.fromkeys(("full", "full_like"), 2),
}
"""Functions that make arrays, and the place of the dtype."""
_MADE_OF = ("broadcasted_iota", "iota")
"""Functions whose first argument is a dtype."""
_DECLARED = ("moment", "state", "trainable")
"""Words that declare arrays, whose third argument is a dtype."""
_WHOLE_NUMBERS = ("len", "int")
"""Functions of Python whose results are integers."""
_OF_NUMBERS = ("abs", "max", "min")
"""Those whose results are integers where all that they are given are."""
_SEQUENCES = ("list", "sorted", "tuple")
"""Those that make sequences of what they are given."""
_WORDS = frozenset(["Boundaries", "Count", "Shape", "Size", "Sizes", "bool", "int"])
"""Words of fields that are integers, or sequences of them."""
_BITWISE = ast.BitAnd | ast.BitOr | ast.BitXor
_WHOLE = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod


def is_exact(
    node: ast.expr,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether an expression of a method or a function is certain to hold integers or booleans."""
    return _Exact(tree, imports, method).is_exact(node, frozenset())


class _Exact:
    def __init__(
        self,
        tree: ast.Module,
        imports: Mapping[str, Import],
        method: ast.FunctionDef,
    ):
        self.tree = tree
        self.imports = imports
        self.method = method

    def is_exact(self, node: ast.expr, seen: frozenset[str]) -> bool:
        """`seen` are the locals whose values are looked into."""
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int)
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.UnaryOp(operand=inner) | ast.Attribute(value=inner, attr="T"):
                return self.is_exact(inner, seen)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                # An empty one holds nothing yet.
                return bool(parts) and all(self.is_exact(p, seen) for p in parts)
            case ast.Starred(value=inner):
                return self.is_exact(inner, seen)
            case ast.IfExp(body=a, orelse=b):
                return self.is_exact(a, seen) and self.is_exact(b, seen)
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
                return self.is_exact(item, seen)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return f"self.{name}" not in seen and self._attribute(name, seen)
            case ast.BinOp(left=a, op=op, right=b):
                sides = self.is_exact(a, seen), self.is_exact(b, seen)
                if isinstance(op, _BITWISE):
                    return any(sides)
                if isinstance(op, ast.Pow):
                    # A negative number would be no integer, or an error.
                    return all(sides) and not isinstance(b, ast.UnaryOp)
                return isinstance(op, _WHOLE) and all(sides)
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
            case ast.Attribute(attr="ndim" | "size"):
                return True
            case ast.Subscript(value=ast.Name(id=name) as whole, slice=ast.Constant()):
                items = item_of(node, self.method)
                if items and name not in seen:
                    return all(self.is_exact(i, seen | {name}) for i in items)
                return self.is_exact(whole, seen)
            case ast.Subscript(value=inner):
                return self.is_exact(inner, seen)
            case ast.Call():
                return self._call(node, seen)
            case ast.Name(id=name) if name not in seen:
                values = value_at(node, self.method) or values_of(name, self.method)
                inputs = exact_inputs(self.method) | _numbers(self.method)
                inputs |= _passes(self.method)
                if name in inputs:
                    return True
                if values:
                    return all(self.is_exact(v, seen | {name}) for v in values)
                if several := bindings_of(name, self.method):
                    # Of what it was before, too: that is one of them.
                    again = seen | {name, _kept(name)}
                    return all(self.is_exact(v, again) for v in several)
                above = called_from(self.method, seen)
                given = handed_by_callers(name, self.method, self.tree) if above else []
                return bool(given) and all(
                    _Exact(self.tree, self.imports, caller).is_exact(value, above)
                    for caller, value in given
                )
            case ast.Name(id=name):
                # What is given at first is looked into already: this is computed of it.
                return name in handed(self.method) or _kept(name) in seen
        return False

    def _attribute(self, name: str, seen: frozenset[str]) -> bool:
        """Whether a field, or what `setup` derives, is of integers."""
        owner = class_of(self.tree, self.method)
        values = []
        for statement in owner.body if owner else ():
            match statement:
                case ast.AnnAssign(target=ast.Name(id=found), annotation=word) if (
                    found == name
                ):
                    return dotted(word) in _WORDS
                case ast.FunctionDef(name="setup" | "setup_tree"):
                    inner = _Exact(self.tree, self.imports, statement)
                    values += [
                        inner.is_exact(n.value, seen | {f"self.{name}"})
                        for n in walk(statement)
                        if isinstance(n, ast.Assign)
                        and any(self_attribute(t) == name for t in n.targets)
                    ]
        return bool(values) and all(values)

    def _call(self, node: ast.Call, seen: frozenset[str]) -> bool:
        for keyword in node.keywords:
            if keyword.arg == "dtype":
                return self._is_integer(keyword.value)
        module, _, name = (qualified(node.func, self.imports) or "").rpartition(".")
        if module in ("functional", "jax.random") and name == "bernoulli":
            return True
        if module in ("jax.numpy", "numpy"):
            if name in TO_BOOLEANS | _TO_INTEGERS:
                return True
            # A second or a third argument may be a floating number.
            if name == "arange":
                rest = node.args if len(node.args) > 1 else []
                return all(self.is_exact(argument, seen) for argument in rest)
            at = _DTYPES.get(name)
            if at is not None and len(node.args) > at:
                return self._is_integer(node.args[at])
            given = node.args[name == "where" :]
            if name in _OF_FIRST:
                given = given[:1]
            known = name in _OF_FIRST | _OF_ALL
            return known and bool(given) and all(self.is_exact(g, seen) for g in given)
        if module == "jax.random" and name == "randint":
            return True
        if module == "jax.lax" and name in _MADE_OF and node.args:
            return self._is_integer(node.args[0])
        called = dotted(node.func)
        if called in _DECLARED and len(node.args) > 2:
            return self._is_integer(node.args[2])
        if called in _DECLARED:
            return False
        if called in _WHOLE_NUMBERS or (called == "round" and len(node.args) == 1):
            return True
        if called in _SEQUENCES and called not in self.imports:
            return len(node.args) == 1 and self.is_exact(node.args[0], seen)
        if called in _OF_NUMBERS and called not in self.imports:
            return bool(node.args) and all(self.is_exact(g, seen) for g in node.args)
        match node.func:
            case ast.Attribute(attr="astype") if not module and len(node.args) == 1:
                return self._is_integer(node.args[0])
            case ast.Attribute(value=inner, attr=attr) if not module:
                return attr in _OF_FIRST and self.is_exact(inner, seen)
        return False

    def _is_integer(self, dtype: ast.expr) -> bool:
        return is_integer(dtype, self.imports)


def _kept(name: str) -> str:
    """How the locals are marked all of whose values are looked into."""
    return f"={name}"


def is_integer(dtype: ast.expr, imports: Mapping[str, Import]) -> bool:
    """Whether an expression names a dtype of integers or booleans."""
    return (qualified(dtype, imports) or dotted(dtype)) in _INTEGERS


def word_of(argument: ast.arg) -> str | None:
    """The word of the array that an argument is, which may be None."""
    match argument.annotation:
        case (
            ast.Subscript(value=ast.Name(id=word))
            | ast.BinOp(
                left=ast.Subscript(value=ast.Name(id=word)),
                op=ast.BitOr(),
                right=ast.Constant(value=None),
            )
        ):
            return word
    return None


@functools.lru_cache(maxsize=64)
def exact_inputs(method: ast.FunctionDef) -> frozenset[str]:
    """The inputs that are annotated as integers or booleans, and that nothing binds again."""
    inputs = {
        a.arg
        for a in (*method.args.args, *method.args.kwonlyargs)
        if word_of(a) in ("Int", "Bool")
    }
    own = set(map(id, (*method.args.args, *method.args.kwonlyargs)))
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                inputs.discard(name)
            case ast.arg(arg=name) if id(node) not in own:
                inputs.discard(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                inputs.discard(name)
    return frozenset(inputs)


@functools.lru_cache(maxsize=64)
def _passes(method: ast.FunctionDef) -> frozenset[str]:
    """The names that count the passes of loops and comprehensions, and are nothing else."""
    counts: dict[str, int] = {}
    stored: dict[str, int] = {}
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                stored[name] = stored.get(name, 0) + 1
            case (
                ast.For(
                    target=ast.Name(id=name),
                    iter=ast.Call(func=ast.Name(id="range")),
                )
                | ast.comprehension(
                    target=ast.Name(id=name),
                    iter=ast.Call(func=ast.Name(id="range")),
                )
            ):
                counts[name] = counts.get(name, 0) + 1
    return frozenset(name for name, count in counts.items() if stored[name] == count)


def _numbers(method: ast.FunctionDef) -> set[str]:
    """The hyperparameters of a function that are integers."""
    return {
        a.arg
        for a in method.args.kwonlyargs
        if a.annotation is not None and dotted(a.annotation) in _WORDS
    }


def qualified(function: ast.expr, imports: Mapping[str, Import]) -> str | None:
    """The dotted name of what is imported; None for anything else."""
    root, _, rest = (dotted(function) or "").partition(".")
    imported = imports.get(root)
    if imported is None:
        return None
    return ".".join(filter(None, (imported.module, imported.attribute, rest)))
