"""States of equinox that calls hand on, which layers here keep themselves.

def __call__(self, x, state):                    becomes    def __call__(self, x):
    x, state = self.norm(x, state)                              x = self.norm(x)
    return self.out(x), state                                   return self.out(x)
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator

from mlax_scaffold.conversion.forms.state_indices import (
    has_state_indices,
    with_own_states,
)
from mlax_scaffold.conversion.source.arguments_of import without_arguments
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, is_name, literal, name
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_NORM = "equinox.nn.BatchNorm"


def without_handed_states(origin: Origin, notes: Notes) -> None:
    """Write them so, in place; what averages over batches do otherwise is told."""
    own, averages = has_state_indices(origin), averages_over_batches(origin)
    if not origin.uses("equinox") or not (own or averages):
        return
    classes = [
        c for c in origin.classes.values() if framework_of(origin, c) == "equinox"
    ]
    found = [(m, p) for c in classes for m in _methods(c) if (p := _state(m))]
    before = [method.body for method, _ in found]
    for method, parameter in found if own else ():
        method.body = with_own_states(cloned(method), parameter)
    if any(not _is_handed_on(method, parameter) for method, parameter in found):
        for (method, _), body in zip(found, before, strict=True):
            method.body = body
        return
    for method, parameter in found:
        method.body = [_Without(parameter).visit(part) for part in method.body]
        without_arguments(method.args, {parameter})
    for node in classes if found and averages else ():
        _count_from_last(origin, node, notes)
        for call in walk(node):
            if isinstance(call, ast.Call) and origin.qualified(call.func) == _NORM:
                _tell(call, notes)
    located(origin.tree)


def averages_over_batches(origin: Origin) -> bool:
    """Whether classes of a file have such averages, so that what they are called with is a batch."""
    return any(
        isinstance(p, ast.Call) and origin.qualified(p.func) == _NORM
        for p in walk(origin.tree)
    )


def refuse_of_one(origin: Origin, node: ast.AST, notes: Notes) -> None:
    """Refuse what counts axes of one example, where averages are over a batch of them."""
    if averages_over_batches(origin):
        notes.refuse(
            node,
            "axes of one example beside averages over a batch",
            "count axes from the last one, `axis=-1`, so that there may be others before them",
        )


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name != "__init__":
            yield part


def _state(method: ast.FunctionDef) -> str:
    """The parameter that is such a state, by its name or its type; "" where there is none."""
    given = [*method.args.args[1:], *method.args.kwonlyargs]
    for argument in given:
        said = ast.unparse(argument.annotation) if argument.annotation else ""
        if said.endswith("nn.State") or (
            argument.arg == "state" and said in ("", "State")
        ):
            return argument.arg
    return ""


def _is_handed_on(method: ast.FunctionDef, state: str) -> bool:
    """Whether a state is only given to calls that return it last, and returned so."""
    fitting = set[int]()
    for part in walk(method):
        match part:
            case ast.Return(value=ast.Tuple(elts=[_, *_, last])):
                fitting.add(id(last))
            case ast.Return(value=ast.Call() as call):
                fitting |= _given(call)
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, *_, last])], value=ast.Call() as call
            ) if is_name(last, state):
                fitting |= {id(last), *_given(call)}
    return all(id(n) in fitting for n in walk(method) if is_name(n, state))


def _given(call: ast.Call) -> set[int]:
    return {id(a) for a in (*call.args, *(k.value for k in call.keywords))}


class _Without(NodeTransformer):
    """Leaves a state out."""

    def __init__(self, state: str):
        self.state = state

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [a for a in node.args if not is_name(a, self.state)]
        node.keywords = [k for k in node.keywords if not is_name(k.value, self.state)]
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.generic_visit(node)
        kept = [e for e in node.elts if not is_name(e, self.state)]
        if len(kept) == len(node.elts):
            return node
        made = kept[0] if len(kept) == 1 else ast.Tuple(kept, copy.copy(node.ctx))
        return ast.copy_location(made, node)


def _count_from_last(origin: Origin, node: ast.ClassDef, notes: Notes) -> None:
    """Count axes of each example from the last one, as averages are over a batch of them."""
    made = [
        origin.qualified(p.func) for p in walk(origin.tree) if isinstance(p, ast.Call)
    ]
    spatial = {
        int(full[-2]) for full in made if re.fullmatch(r"equinox\.nn\.\w+[123]d", full)
    }
    axes = max(spatial, default=0) + 1 if len(spatial) < 2 else 0
    for method in _methods(node):
        _Counted(origin, axes, notes).visit(method)


class _Counted(NodeTransformer):
    def __init__(self, origin: Origin, axes: int, notes: Notes):
        self.origin, self.axes, self.notes = origin, axes, notes
        """The axes that an example has at most; 0 where that is not known."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func, array, rest = node.func, None, node.args
        full = self.origin.qualified(func)
        title = (full or ast.unparse(func)).rpartition(".")[2]
        if full in ("jax.numpy.reshape", "jax.numpy.ravel"):
            array, rest = node.args[0], node.args[1:]
        elif isinstance(func, ast.Attribute) and func.attr in _FLAT:
            array = func.value
        text = [ast.unparse(a) for a in rest]
        whole = text in (["-1"], ["(-1,)"]) if title == "reshape" else not text
        if array is not None and whole and not node.keywords and self.axes:
            return ast.copy_location(self._flat(array), node)
        if full.startswith("jax.numpy") or title in _REDUCING:
            self._count(node, title, full)
        return node

    def _flat(self, array: ast.expr) -> ast.expr:
        jnp = name(self.origin.name_of("jax.numpy") or "@module:jnp")
        text = f"jnp.reshape(a, (*a.shape[:-{self.axes}], -1))"
        if isinstance(array, ast.Name):
            return expression(text, jnp=jnp, a=array)
        given = ast.arguments([], [ast.arg("a")], None, [], [], None, [])
        return ast.Call(ast.Lambda(given, expression(text, jnp=jnp)), [array], [])

    def _count(self, node: ast.Call, title: str, full: str) -> None:
        """Count the axes that a call is told from the last one; it is told where that cannot be."""
        place = 1 if full else 0
        told = next((k for k in node.keywords if k.arg == "axis"), None)
        at = told.value if told else None
        if at is None and title in _REDUCING and len(node.args) > place:
            at = node.args[place]
        axes = literal(at) if at is not None else (0 if title in _JOINING else None)
        several = axes if isinstance(axes, tuple) else (axes,)
        counted = [a for a in several if type(a) is int and a >= 0]
        if not counted:
            return
        if len(counted) < len(several) or max(counted) != self.axes - 1:
            self.notes.refuse(
                node,
                f"`{ast.unparse(node)}` counts axes of one example from the first one",
                "count them from the last one, `axis=-1`: averages are over a batch of examples",
            )
            return
        value = tuple(a - self.axes for a in counted)
        made = expression(repr(value if isinstance(axes, tuple) else value[0]))
        if told is not None:
            told.value = made
        elif at is not None:
            node.args[place] = made
        else:
            node.keywords.append(ast.keyword("axis", made))


_JOINING = ("concatenate", "stack", "split")
_REDUCING = ("mean", "sum", "max", "min", "prod", "std", "var", "squeeze", *_JOINING)
_FLAT = ("reshape", "ravel", "flatten")


def _tell(call: ast.Call, notes: Notes) -> None:
    """Tell what is different in training, and leave out what says how examples are mapped."""
    mode = next((literal(k.value) for k in call.keywords if k.arg == "mode"), None)
    what = "the averages of `eqx.nn.BatchNorm` are a state of the layer"
    if mode == "batch":
        todo = (
            "they begin at 0 and 1 and are not divided by what has been averaged so far"
        )
    else:
        todo = "in training it normalizes by the batch, as with `mode='batch'`, not by them"
    notes.remark(call, what, todo)
    # The axis is that of the batch, which the layer has.
    gone = ("axis_name", "mode")
    del call.args[1:2]
    call.keywords = [k for k in call.keywords if k.arg not in gone]
