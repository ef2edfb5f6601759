"""Arrays that an optimizer begins with, as moments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.array_shapes import is_number
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.remedies.of_leaves import OF_TREES, is_tree, sets_once
from mlax_scaffold.reader.source import Source, class_of, dotted, self_attribute

_FILLED = {f"jax.numpy.{name}": name for name in ("zeros", "ones")}
_FILLED |= {f"jax.numpy.{name}_like": name for name in ("zeros", "ones")}
_COPIES = ("jax.numpy.array", "jax.numpy.asarray", "jax.numpy.copy", "copy.deepcopy")
_REDUCTIONS = frozenset(
    ("sum", "mean", "norm", "vdot", "dot", "max", "min", "var", "std", "l2_norm")
)
_MAPS = ("jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map")
_OF_SHAPE = ("shape", "ndim", "size", "dtype")


def moment(
    source: Source,
    setup: ast.FunctionDef,
    name: str,
    value: ast.expr,
    imports: Mapping[str, Import],
) -> Fix | None:
    """What `self.name` begins with, as a moment, where a step sets it or it is a copy of the weight.

    `jnp.zeros_like(param)` is `moment(zeros, param.shape)`, `jnp.array(param)` is
    `moment(param)`, and a number that steps set is one of each leaf, or an array of its
    shape where what they set has that; one that is set once for all leaves is a state. None for what no
    step sets.
    """
    inputs = {a.arg for a in setup.args.args} - {"self"}
    if len(inputs) != 1:
        return None
    leaf = min(inputs)
    found = _filled(source, value, leaf, imports) or _copied(value, leaf, imports)
    found = found or _mapped(source, value, leaf, imports)
    once = False
    if found is None and (sets := _set_in_steps(source, setup, name)):
        once = any(sets_once(m, source.tree) for m, _ in sets)
        shaped_so = is_tree if once else _has_shape_of_leaf
        whole = any(shaped_so(v, method) for method, v in sets)
        once = once and not whole
        shape = f"{leaf}.shape" if whole else "()"
        found = _of_array(source, value, shape, imports)
    if found is None:
        return None
    declared, named = word(source, "state" if once else "moment"), ()
    if found.filled:
        named = (word(source, found.filled),)
        text = f"{named[0].bound}{found.text.removeprefix(found.filled)}"
    else:
        text = found.text
    text = f"{declared.bound}({text})"
    return Fix((source.edit(value, text),), (declared, *named))


@dataclass(frozen=True)
class _Begun:
    """The arguments of `moment`; `filled` is the word of an initializer, with which they begin."""

    filled: str
    text: str


def _filled(
    source: Source, value: ast.expr, leaf: str, imports: Mapping[str, Import]
) -> _Begun | None:
    """The word, the shape and the dtype of `jnp.zeros(shape)` and the like."""
    if not isinstance(value, ast.Call):
        return None
    full = _qualified(value.func, imports)
    dtypes = [*value.args[1:], *(k.value for k in value.keywords if k.arg == "dtype")]
    others = [k for k in value.keywords if k.arg != "dtype"]
    if full not in _FILLED or len(dtypes) > 1 or others or not value.args:
        return None
    given, filled = value.args[0], _FILLED[full]
    shape = source.text_of(given)
    if full.endswith("_like"):
        if not (isinstance(given, ast.Name) and given.id == leaf):
            return None
        shape = f"{leaf}.shape"
    elif not isinstance(given, ast.Tuple | ast.List) and not _is_shape(given):
        shape = f"({shape},)"
    dtype = source.text_of(dtypes[0]) if dtypes else ""
    behind = "" if dtype in ("", f"{leaf}.dtype") else f", {dtype}"
    return _Begun(filled, f"{filled}, {shape}{behind}")


def _mapped(
    source: Source, value: ast.expr, leaf: str, imports: Mapping[str, Import]
) -> _Begun | None:
    """What `jax.tree.map(jnp.zeros_like, params)` makes of each leaf."""
    match value:
        case ast.Call(func=function, args=[made, ast.Name(id=over)], keywords=[]) if (
            over == leaf and qualified(function, imports) in _MAPS
        ):
            pass
        case _:
            return None
    match made:
        case ast.Lambda(
            args=ast.arguments(args=[ast.arg(arg=name)]), body=ast.Call() as call
        ):
            found = _filled(source, call, name, imports)
            if found is None or name == leaf:
                return found
            text = re.sub(rf"\b{name}\.", f"{leaf}.", found.text)
            return replace(found, text=text)
        case ast.Attribute() if filled := _FILLED.get(_qualified(made, imports)):
            return _Begun(filled, f"{filled}, {leaf}.shape")
    return None


def _qualified(function: ast.expr, imports: Mapping[str, Import]) -> str:
    """The dotted name of a function; of `jnp` where that is yet to be imported, too."""
    text = dotted(function) or ""
    if text.startswith("jnp.") and "jnp" not in imports:
        return text.replace("jnp", "jax.numpy", 1)
    return qualified(function, imports) or ""


def _of_array(
    source: Source, value: ast.expr, shape: str, imports: Mapping[str, Import]
) -> _Begun | None:
    """What a number, a field, or an array begins with."""
    match value:
        case ast.Call(func=made, args=[number], keywords=[]) if (
            qualified(made, imports) in _COPIES
        ):
            pass
        case _:
            number = value
    if is_number(number) and not ast.literal_eval(number):
        return _Begun("zeros", f"zeros, {shape}")
    if is_number(number) or self_attribute(number):
        return _Begun("constant", f"constant({source.text_of(number)}), {shape}")
    if isinstance(value, ast.Call):
        full = qualified(value.func, imports) or ""
        if full.startswith("jax.numpy."):
            return _Begun("", source.text_of(value))
    return None


def _copied(value: ast.expr, leaf: str, imports: Mapping[str, Import]) -> _Begun | None:
    """The weight, of a copy of it."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
            pass
        case ast.Call(func=made, args=[inner], keywords=[]) if (
            qualified(made, imports) in _COPIES or dotted(made) == "copy.deepcopy"
        ):
            pass
        case _:
            inner = value
    if isinstance(inner, ast.Name) and inner.id == leaf:
        return _Begun("", leaf)
    return None


def _set_in_steps(
    source: Source, setup: ast.FunctionDef, name: str
) -> list[tuple[ast.FunctionDef, ast.expr]]:
    """What the methods of a step set an attribute to, with the methods."""
    owner = class_of(source.tree, setup)
    found = []
    for method in owner.body if owner else ():
        if not isinstance(method, ast.FunctionDef) or method.name == setup.name:
            continue
        for node in walk(method):
            match node:
                case ast.Assign(targets=targets, value=given):
                    pass
                case ast.AugAssign(target=target, value=given):
                    targets = [target]
                case _:
                    continue
            for target in targets:
                found += [(method, v) for v in _given_to(target, given, name)]
    return found


def _given_to(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if self_attribute(target) == name:
        yield value
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if len(values) != len(target.elts):
            values = [value] * len(target.elts)
        for part, of_part in zip(target.elts, values, strict=True):
            yield from _given_to(part, of_part, name)


def _has_shape_of_leaf(
    value: ast.expr, method: ast.FunctionDef, seen: frozenset[str] = frozenset()
) -> bool:
    """Whether the gradient or the weight is in a value, and no reduction around it."""
    inputs = {a.arg for a in method.args.args} - {"self"}
    match value:
        case ast.Call(func=function) if (
            function.attr if isinstance(function, ast.Attribute) else dotted(function)
        ) in _REDUCTIONS:
            return False
        case ast.Attribute(attr=attr) if attr in _OF_SHAPE:
            return False
        case ast.Name(id=name) if name in inputs:
            return True
        case ast.Name(id=name) if name not in seen:
            values = only_value(name, method)
            return any(_has_shape_of_leaf(v, method, seen | {name}) for v in values)
    parts = (n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr))
    return any(_has_shape_of_leaf(part, method, seen) for part in parts)


def shaped(source: Source, setup: ast.FunctionDef, call: ast.Call) -> Fix | None:
    """`moment()` as zeros in the shape of the leaf, and `moment(ones)` as ones; None for anything else."""
    inputs = [a.arg for a in setup.args.args if a.arg != "self"]
    if call.keywords or dotted(call.func) != "moment" or len(inputs) != 1:
        return None
    function, shape = source.text_of(call.func), f"{inputs[0]}.shape"
    match call.args:
        case []:
            named = word(source, "zeros")
            text = f"{function}({named.bound}, {shape})"
            return Fix((source.edit(call, text),), (named,))
        case [initializer]:
            text = f"{function}({source.text_of(initializer)}, {shape})"
            return Fix((source.edit(call, text),))
    return None


def declared_as(source: Source, call: ast.Call, name: str) -> Fix:
    """What a layer calls its state, and an optimizer a moment, by the word of the other."""
    named = word(source, name)
    return Fix((source.edit(call.func, named.bound),), (named,))


def _is_shape(node: ast.expr) -> bool:
    """Whether an expression is a shape, and no size."""
    match node:
        case ast.Attribute(attr="shape"):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Slice()):
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return any(_is_shape(s) or isinstance(s, ast.Tuple) for s in (left, right))
    return False


def kept_once(source: Source, setup: ast.FunctionDef) -> Fix | None:
    """The states of `setup` in `setup_tree`: those that a step sets, once for all leaves.

    None where no step sets one of them, or one reads the leaf.
    """
    owner = class_of(source.tree, setup)
    body = owner.body if owner else ()
    methods = {m.name: m for m in body if isinstance(m, ast.FunctionDef)}
    inputs = {a.arg for a in setup.args.args} - {"self"}
    moved = []
    for statement in setup.body:
        match statement:
            case ast.Assign(targets=[target], value=ast.Call() as call) if (
                dotted(call.func) == "state"
            ):
                name = self_attribute(target)
                read = {n.id for n in walk(call) if isinstance(n, ast.Name)}
                if name is None or read & inputs:
                    return None
                moved.append((name, statement))
    set_once = {
        self_attribute(node)
        for name in OF_TREES
        if (method := methods.get(name))
        for node in walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    if not moved or not {name for name, _ in moved} & set_once:
        return None
    first, last = setup.lineno, setup.end_lineno or setup.lineno
    lines = [(s.lineno, (s.end_lineno or s.lineno) + 1) for _, s in moved]
    declared = "".join(f"{source.between((a, 1), (b, 1))}" for a, b in lines)
    head = "    def setup_tree(self, params):\n"
    tree = methods.get("setup_tree")
    whole = len(moved) == len(setup.body)
    if whole and tree is None:
        return Fix((source.replace((first, 1), (setup.body[0].lineno, 1), head),))
    gone = [(first, last + 2)] if whole else lines
    edits = [source.replace((a, 1), (b, 1), "") for a, b in gone]
    after = (tree.end_lineno or last) + 1 if tree else last + 1
    text = declared if tree else f"\n{head}{declared}"
    return Fix((*edits, source.replace((after, 1), (after, 1), text)))
