"""A row of a table: what a call of another library is called here.

A row is two texts: the signature of what is called, and the expression that it becomes, in which the names
of parameters stand for the arguments. `word.mean` is a word of specs, `layer.Linear` a layer of the library,
`calc.name(...)` is computed when the row is filled in, and `_` is an argument that was not given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from mlax_scaffold.conversion.rows.truths import as_truth
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    negated,
    visited,
)
from mlax_scaffold.conversion.source.vocabulary import INFERENCE, TRAINING
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

Bound = Mapping[str, "ast.expr | list[ast.expr]"]
Calculation = Callable[..., "ast.expr | None"]

WITHOUT_EFFECT = frozenset(
    (
        *("device", "key", "rngs", "rng", "name", "inplace", "parent", "generator"),
        *("layout", "requires_grad", "state", "pin_memory", "promote_dtype"),
        *("sow_weights", "input_format", "fast_variance", "use_fast_variance"),
        *("force_float32_reductions", "graphdef", "rng_collection", "rngs_key"),
        *("non_blocking", "memory_format", "out_sharding", "dropout_rng"),
    )
)
"""Arguments that say nothing of what is computed, or that are said in another way here."""

_HINTS = (
    *("need_weights", "average_attn_weights", "is_causal", "momentum"),
    *("sparse", "precision"),
)
"""Arguments of that kind where a row names them and makes nothing of them."""

_DTYPES = ("dtype", "param_dtype", "preferred_element_type")
_NOTHING = dict.fromkeys(("axis_name", "axis_index_groups", "precision", "out"))
"""What arguments that rows need not name have to be, so that leaving them out changes nothing."""

_MODES = {
    **dict.fromkeys(TRAINING, "self.training"),
    **dict.fromkeys(INFERENCE, "not self.training"),
}

_BEGUN = ("deterministic", "use_running_average")
"""What layers of nnx are told of the mode that they begin in."""

REMARKED = {
    "padding_idx": (
        "its row begins and is trained as others are",
        "set its row to zero, and its gradient, where that matters",
    ),
}
"""Arguments that change how weights begin or are trained, and not what is computed with them."""


def remarks(bound: Bound) -> Iterator[tuple[str, str]]:
    """What is to be said of arguments that change something else than what is computed."""
    for argument, (what, todo) in REMARKED.items():
        value = bound.get(argument)
        if isinstance(value, ast.expr) and not is_none(value):
            yield f"`{argument}={ast.unparse(value)}` is left out: {what}", todo
    for argument in _BEGUN:
        if literal(bound.get(argument)) is True:
            yield (
                f"`{argument}=True`, the mode that a layer begins in, is left out",
                "call it in inference, where it is never to be trained",
            )
    windows = bound.get("output_size")
    pools = bound.keys() <= {"x", "output_size", "return_indices"}
    if pools and isinstance(windows, ast.expr) and _several(windows):
        yield (
            f"the windows of `output_size={ast.unparse(windows)}` overlap where the size of the "
            "input is no multiple of it, and do not here",
            "give it images whose size is one, where that matters",
        )
    for argument in ("axis_name", "cross_replica_axis"):
        value = bound.get(argument)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield (
                f"`{argument}={value.value!r}` is left out: statistics are those of one device",
                "give the layer `axis_name` where it runs on several",
            )
    training = bound.get("training")
    always = isinstance(training, ast.Constant) and training.value is True
    rate = bound.get("dropout_p")
    if isinstance(rate, ast.expr) and not (
        isinstance(rate, ast.Constant) and not rate.value
    ):
        always = always or "self.training" not in ast.unparse(rate)
    if always:
        yield "this drops in inference, too", "here it does in training alone"


def _several(windows: ast.expr) -> bool:
    """Whether more than one window is told."""
    sizes = windows.elts if isinstance(windows, ast.Tuple | ast.List) else [windows]
    return not all(literal(size) in (None, 1) for size in sizes)


def is_silent(argument: str, value: ast.expr) -> bool:
    """Whether an argument may be left out without a word, with this value."""
    if argument in WITHOUT_EFFECT or argument in REMARKED:
        return True
    if argument in _DTYPES:
        # What is computed here has the dtype of the input, as the guide says; counts have their own.
        return not _COUNTS.match(ast.unparse(value).rpartition(".")[2].strip("'\""))
    if argument in _NOTHING:
        return isinstance(value, ast.Constant) and value.value == _NOTHING[argument]
    return says_mode(argument) and follows_mode(argument, value)


def says_mode(argument: str) -> bool:
    """Whether an argument tells training from inference."""
    return argument in _MODES


_COUNTS = re.compile(r"u?int\d*_?$|long$|bool_?$|complex\d*$|cfloat$")


def follows_mode(argument: str, value: ast.expr) -> bool:
    """Whether a flag of training or inference has the value that the mode says."""
    if missing(value) or is_none(value):
        return True
    return ast.unparse(_mode(value)) == _MODES[argument]


class _Mode(NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A flag of the class that hands a layer on."""
        mode = _MODES.get(node.id)
        return expression(mode) if mode else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A key is there in training."""
        if ast.unparse(node) == "self.key() is not None":
            return expression("self.training")
        if ast.unparse(node) == "self.key() is None":
            return expression("not self.training")
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return negated(node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if is_name(node.func, "bool") and len(node.args) == 1:
            return self.visit(node.args[0])
        return node


def _mode(value: ast.expr) -> ast.expr:
    return visited(_Mode(), cloned(value))


class Calculating(Protocol):
    """What computes arguments, by the name that rows call it by."""

    def __getitem__(self, key: str, /) -> Calculation: ...


_MARKED = ("word", "layer", "loss")
"""What names of the library are marked with in rows."""

MODULES = {"jnp": "jax.numpy", "jax": "jax", "lax": "jax.lax", "math": "math"}
"""Modules that rows name."""


_AS_IN_NUMPY = {"axis": "dim", "keepdims": "keepdim", "input": "x"}


class MisfitError(Exception):
    """A call has an argument that the row has no place for, or lacks one."""

    @property
    def said(self) -> str:
        """What the call is made with, or without."""
        text = str(self)
        return text if text.startswith("without ") else f"with {text}"


@dataclass(frozen=True)
class Row:
    """How calls of one function or class are written here."""

    signature: str
    text: str
    kind: str = "expression"
    """ "function" for what is an expression of x, "either" where that depends on the arguments."""

    def bind(self, call: ast.Call) -> dict[str, ast.expr | list[ast.expr]]:
        """The arguments by parameter; those not given by their defaults.

        Raises:
            MisfitError: naming the argument that has no place.
        """
        return bind(_parameters(self.signature), call)

    def in_places(self, call: ast.Call) -> ast.Call:
        """A call of a layer, with what keywords name first in its place, as far as that goes."""
        args, keywords = list(call.args), {k.arg: k for k in call.keywords}
        for place in _parameters(self.signature).args[len(args) + 1 :]:
            if place.arg not in keywords:
                break
            args.append(keywords.pop(place.arg).value)
        return ast.copy_location(ast.Call(call.func, args, [*keywords.values()]), call)

    def bind_all(self, call: ast.Call) -> dict[str, ast.expr | list[ast.expr]]:
        """The arguments by parameter, where each has a place in what is written here.

        Raises:
            MisfitError: naming the argument that would be lost.
        """
        bound = self.bind(call)
        for name, default in _unused(self.signature, self.text).items():
            given = bound.get(name)
            if isinstance(given, ast.expr) and not _fits(name, given, default):
                raise MisfitError(f"`{name}={ast.unparse(given)}`")
        return bound

    def fill(self, bound: Bound, calculations: Calculating) -> ast.expr:
        """The expression for these arguments."""
        node = cloned(_expression(self.text))
        return _Fill(bound, calculations).visit(node)


@cache
def _parameters(signature: str) -> ast.arguments:
    function = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.args


def places_of(row: Row) -> list[str]:
    """The parameters of what a row is for, in order."""
    return [a.arg for a in _parameters(row.signature).args]


def default_in(row: Row, title: str) -> ast.expr | None:
    """What a parameter is where it is not given; None where that is not written out."""
    found = dict(_defaults(_parameters(row.signature))).get(title)
    return None if missing(found) else found


@cache
def _unused(signature: str, text: str) -> dict[str, ast.expr]:
    """The parameters that nothing is made of here, and the one value that they may have."""
    used = {n.id for n in walk(_expression(text)) if isinstance(n, ast.Name)}
    return {
        name: default
        for name, default in _defaults(_parameters(signature))
        if name not in used
    }


def _fits(argument: str, given: ast.expr, default: ast.expr) -> bool:
    """Whether a parameter that nothing is made of here has a value that changes nothing."""
    if argument in _HINTS or is_silent(argument, given):
        return True
    if argument in _MODES:
        # None of a flag leaves it to the call, and False does not. What nnx begins in, `train()` changes.
        changes = argument in _BEGUN and isinstance(default, ast.Constant)
        given_mode = isinstance(literal(given), bool) and changes
        return given_mode or ast.unparse(given) == ast.unparse(default)
    return _equal(given, default)


def _equal(given: ast.expr, default: ast.expr) -> bool:
    """Whether a value is the default; None and False both say that there is none."""
    no = ("None", "False", "_")
    texts = ast.unparse(given), ast.unparse(default)
    if texts[0] in no and texts[1] in no:
        return True
    values = literal(given), literal(default)
    numbers = all(type(v) in (int, float) for v in values)
    return values[0] == values[1] if numbers else texts[0] == texts[1]


@cache
def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def bind(
    parameters: ast.arguments, call: ast.Call
) -> dict[str, ast.expr | list[ast.expr]]:
    """The arguments of a call by parameter."""
    places = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    names = {*places, *(a.arg for a in parameters.kwonlyargs)}
    bound: dict[str, ast.expr | list[ast.expr]] = {}
    given = list(call.args)
    for name in places[: len(given)]:
        if isinstance(given[0], ast.Starred):
            break
        bound[name] = given.pop(0)
    if parameters.vararg:
        bound[parameters.vararg.arg] = given
    elif given:
        raise MisfitError(f"`{ast.unparse(given[0])}`")
    for keyword in call.keywords:
        title = keyword.arg
        if title not in names and _AS_IN_NUMPY.get(title or "") in names:
            # PyTorch takes the words of NumPy, too, and rows call each tensor x.
            title = _AS_IN_NUMPY[str(title)]
        if title in names:
            bound[str(title)] = keyword.value
        elif bound.get(str(title)) == []:  # As in `torch.zeros(size=(2, 3))`.
            bound[str(title)] = [keyword.value]
        elif keyword.arg is None or not is_silent(keyword.arg, keyword.value):
            raise MisfitError(f"`{ast.unparse(keyword)}`")
    for name, default in _defaults(parameters):
        bound[name] = as_truth(bound.get(name, default), default)
    for name in sorted(names - set(bound)):
        raise MisfitError(f"without `{name}`")
    return bound


def _defaults(parameters: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, and the defaults."""
    places = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    pairs = zip(places[::-1], parameters.defaults[::-1], strict=False)
    keyword_only = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    return [*pairs, *((a.arg, d) for a, d in keyword_only if d is not None)]


def missing(value: object) -> bool:
    """Whether an argument was not given, and has no default that is written out."""
    return isinstance(value, ast.Name) and value.id == "_"


class _Fill(NodeTransformer):
    def __init__(self, bound: Bound, calculations: Calculating):
        self.bound, self.calculations = bound, calculations

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound:
            value = self.bound[node.id]
            assert isinstance(value, ast.expr), node.id
            return cloned(value)
        if node.id in MODULES:
            return ast.Name(f"@module:{node.id}", ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in _MARKED:
            return ast.Name(f"@{node.value.id}:{node.attr}", ast.Load())
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "calc"
        ):
            args = [
                self.bound[a.id]
                if isinstance(a, ast.Name) and a.id in self.bound
                else self.visit(cloned(a))
                for a in node.args
            ]
            made = self.calculations[node.func.attr](*args)
            return made if made is not None else ast.Name("_", ast.Load())
        node.func = self.visit(node.func)
        node.args = [a for a in self._spread(node.args) if not missing(a)]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        node.keywords = [k for k in keywords if not missing(k.value)]
        return node

    def _spread(self, args: Sequence[ast.expr]) -> list[ast.expr]:
        found: list[ast.expr] = []
        for arg in args:
            inner = arg.value if isinstance(arg, ast.Starred) else None
            if isinstance(inner, ast.Name) and inner.id in self.bound:
                value = cloned(self.bound[inner.id])
                if isinstance(value, ast.Tuple | ast.List):
                    value = value.elts
                found += (
                    value
                    if isinstance(value, list)
                    else [ast.Starred(value, ast.Load())]
                )
            else:
                found.append(self.visit(arg))
        return found
