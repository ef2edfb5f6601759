"""The shapes of inputs: that they fit hyperparameters, and each other."""

import ast
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.FloorDiv: int.__floordiv__,
}


def shapes(owner: str, sizes: Any, /, **inputs: tuple[Any, Any]) -> None:
    """Inputs have their shapes.

    A shape is a text like `"*batch heads features//2"`: the name of an axis stands for one
    size wherever it is, `*name` for any number of axes, `#name` for a size or 1, `_` and
    `...` for axes that nothing is known of; of several sizes, `len(name)` is their number and
    `name[0]` the first one. What begins with `# ` is a shape that the
    input broadcasts to, and what ends in `| None` may be absent.

    Args:
        owner: what messages call the layer or function.
        sizes: hyperparameters, or a dict, with the sizes of some names; `spatial_dims`
            is the number of the axes `*spatial` and `*kernel_spatial`.
        inputs: by name, an array with its shape; a tuple with a tuple of shapes, in which
            None is any.

    Raises:
        ValueError: where a shape does not fit.
    """
    fitting, case = _case(sizes, inputs)
    if case is not None and case in fitting:
        return
    get = sizes.get if isinstance(sizes, dict) else functools.partial(_held, sizes)
    leaves = tuple(leaf for name in inputs for leaf in _leaves(name, *inputs[name]))
    names = {name: None for *_, shape in leaves for name in _read(shape)}
    _check(owner, tuple((name, get(name)) for name in names), leaves)
    if case is not None:
        if len(fitting) >= _REMEMBERED:
            fitting.clear()
        fitting.add(case)


_REMEMBERED = 1024
"""How many cases are remembered of one object of hyperparameters, and of all functions."""

_OF_FUNCTIONS: set[Any] = set()
"""The cases that fit functions, each with its sizes."""


def _case(
    sizes: Any, inputs: Mapping[str, tuple[Any, Any]]
) -> tuple[set[Any], tuple[Any, ...] | None]:
    """The cases that fit a function or hyperparameters, and the one of these inputs.

    None for inputs that are trees, and before hyperparameters have an outline. Where
    nothing is compiled, every call of a layer passes here.
    """
    try:
        given = [x if x is None else (x.shape, text) for x, text in inputs.values()]
        if type(sizes) is dict:
            return _OF_FUNCTIONS, (*sizes.items(), *given)
        return sizes.__dict__["_outline"].fitting, tuple(given)
    except (AttributeError, KeyError):
        return set(), None


def _held(hyperparams: Any, name: str) -> Any:
    """The size that hyperparameters hold; None where a name is none of theirs."""
    found = getattr(hyperparams, name, None)
    return found if type(found) in (int, tuple) else None


_Leaf = tuple[str, tuple[int, ...] | None, str]
"""Name and shape of an array, None where it is absent, and the text that it has to fit."""


def _leaves(name: str, value: Any, shape: Any) -> Iterator[_Leaf]:
    if isinstance(shape, str):
        yield name, None if value is None else value.shape, shape
    elif shape is not None and value is not None:
        parts = shape.items() if isinstance(shape, dict) else enumerate(shape)
        for at, part in parts:
            yield from _leaves(f"{name}[{at!r}]", value[at], part)


@functools.lru_cache(maxsize=4096)
def _check(
    owner: str, sizes: tuple[tuple[str, Any], ...], leaves: tuple[_Leaf, ...]
) -> None:
    """Raise a ValueError where a shape does not fit. What fits is remembered."""
    known = _Sizes({name: size for name, size in sizes if size is not None})
    for _, found in itertools.groupby(leaves, lambda leaf: leaf[0].partition("[")[0]):
        parts = [*found]
        # Of a tuple that may be absent, all parts are there, or none is.
        alike = all(_parsed(text)[2] for *_, text in parts)
        outside = dict(known.sizes)
        for name, shape, text in parts:
            dims, broadcast, optional = _parsed(text)
            if optional and shape is None:
                continue
            assert shape is not None
            before = dict(known.sizes)
            if broadcast:
                problem = known.broadcast(shape, dims)
            else:
                fits = known.fit(shape, dims)
                problem = None if fits else known.expected(dims, before)
            if problem is not None:
                raise ValueError(f"{owner}: {name} must {problem}, got {shape}")
            if optional and not alike:
                known.sizes = before  # What may be absent says nothing of the others.
        if alike:
            known.sizes = outside


class _Sizes:
    """What names stand for: what is given, and what the shapes of inputs have said."""

    def __init__(self, sizes: dict[str, Any]):
        self.sizes = sizes

    def count(self, dim: str) -> int | None:
        """How many axes a dim is; None where nothing says so."""
        if dim == "...":
            return None
        if dim[0] != "*":
            return 1
        axes, counter = self.sizes.get(dim[1:]), self.counter(dim)
        if isinstance(axes, tuple):
            return len(axes)
        return self.sizes[counter] if counter else None

    def counter(self, dim: str) -> str | None:
        """The name that says how many axes a `*name` is."""
        names = _counters(dim)
        return next((n for n in names if isinstance(self.sizes.get(n), int)), None)

    def fit(self, shape: tuple[int, ...], dims: tuple[str, ...]) -> bool:
        """Whether a shape is that of dims; names without a size get theirs."""
        counts = [self.count(dim) for dim in dims]
        rest = len(shape) - sum(count or 0 for count in counts)
        if rest < 0 or (rest > 0 and None not in counts):
            return False
        start, fits = 0, True
        for dim, count in zip(dims, counts, strict=True):
            stop = start + (rest if count is None else count)
            fits = self._agrees(dim, shape[start:stop]) and fits
            start = stop
        return fits

    def _agrees(self, dim: str, axes: tuple[int, ...]) -> bool:
        if dim in ("...", "_"):
            return True
        if dim[0] == "*":
            return self.sizes.setdefault(dim[1:], axes) == axes
        if dim.isidentifier():
            return self.sizes.setdefault(dim, axes[0]) == axes[0]
        wanted = self.computed(dim.lstrip("#"))
        return wanted is None or axes[0] == wanted or (dim[0] == "#" and axes[0] == 1)

    def computed(self, dim: str) -> int | None:
        """The size of an axis; None where a name in it has none."""

        def value(node: ast.expr) -> int | None:
            match node:
                case ast.Constant(value=int(number)):
                    return number
                case ast.Name(id=name):
                    return self.sizes.get(name)
                case ast.Call(args=[ast.Name(id=name)]):
                    several = self.sizes.get(name)
                    return None if several is None else len(several)
                case ast.Subscript(value=ast.Name(id=name), slice=index):
                    several = self.sizes.get(name)
                    return None if several is None else several[ast.literal_eval(index)]
                case ast.BinOp(left=left, op=op, right=right):
                    a, b = value(left), value(right)
                    if a is not None and b is not None:
                        return _OPERATORS[type(op)](a, b)
            return None

        return value(_tree(dim))

    def broadcast(self, shape: tuple[int, ...], dims: tuple[str, ...]) -> str | None:
        """What a shape must do that does not broadcast to dims; None for one that does."""
        target: list[Any] = []
        for dim in dims:
            if dim[0] == "*" or dim == "...":
                target += self.sizes.get(dim[1:], [...])
            else:
                target.append(self.computed(dim.lstrip("#")))
        last = target[target.index(...) + 1 :] if ... in target else target
        fits = ... in target or len(shape) <= len(target)
        for size, wanted in zip(reversed(shape), reversed(last), strict=False):
            fits = fits and (wanted is None or size in (1, wanted))
        if fits:
            return None
        words = {None: "any", ...: "..."}
        here = ", ".join(str(words.get(size, size)) for size in target)
        return f"broadcast to {_text(dims)}, here ({here})"

    def expected(self, dims: tuple[str, ...], before: Mapping[str, Any]) -> str:
        """What a shape must do that does not fit: dims, with the sizes that were compared."""
        shown: dict[str, Any] = {}
        learned = self.sizes.keys() - before
        for dim in dims:
            counter = self.counter(dim) if dim[0] == "*" else None
            if counter and dim[1:] not in before:
                shown[counter] = self.sizes[counter]
        standing = [name for dim in dims for name in _names(dim)]
        for dim in dims:
            sizes = {name: self.sizes.get(name) for name in _names(dim)}
            once = any(standing.count(name) == 1 for name in learned & sizes.keys())
            if None not in sizes.values() and not once:
                shown |= sizes
        where = ", ".join(f"{name}={size}" for name, size in shown.items())
        return f"have shape {_text(dims)}" + (f" with {where}" if where else "")


@functools.cache
def _parsed(shape: str) -> tuple[tuple[str, ...], bool, bool]:
    """The dims of a shape, whether it is broadcast to, and whether it may be absent."""
    optional = shape.endswith("| None")
    dims = tuple(shape.removesuffix("| None").split())
    broadcast = dims[:1] == ("#",)
    return dims[broadcast:], broadcast, optional


@functools.cache
def _read(shape: str) -> tuple[str, ...]:
    """The names whose sizes a shape reads."""
    dims, _, _ = _parsed(shape)
    counters = [name for dim in dims if dim[0] == "*" for name in _counters(dim)]
    return *counters, *(name for dim in dims for name in _names(dim))


def _counters(dim: str) -> tuple[str, ...]:
    """Names for the number of axes that a `*name` is."""
    kinds = dim[1:], dim.rpartition("_")[2].lstrip("*")
    return tuple(name for kind in kinds for name in (f"{kind}_dims", f"num_{kind}"))


@functools.cache
def _tree(dim: str) -> ast.expr:
    return ast.parse(dim, mode="eval").body


@functools.cache
def _names(dim: str) -> tuple[str, ...]:
    """The names in a dim, in the order of the text."""
    if dim in ("...", "_") or dim.isdecimal():
        return ()
    if dim[0] in "*#":
        return (dim[1:],)
    names = {node.id for node in ast.walk(_tree(dim)) if isinstance(node, ast.Name)}
    return tuple(sorted(names - {"len"}, key=dim.index))


def _text(dims: tuple[str, ...]) -> str:
    """Dims as messages show them: `(*batch, in_features)`."""
    return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"
