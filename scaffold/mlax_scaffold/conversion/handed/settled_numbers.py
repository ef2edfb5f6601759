"""Numbers of Python that calls hand on to one another and that are always their defaults.

`output_attentions=output_attentions`, where every method is given its own parameter of that name, says
nothing but `False`: what asks for it is decided.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection

from mlax_scaffold.conversion.forms.number_inputs import numbers_of
from mlax_scaffold.conversion.source.arguments_of import (
    stored_names,
    without_arguments,
)
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.made_of import uncalled
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, same, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_FRAMEWORKS = ("flax", "nnx", "equinox", "haiku", "plain", "torch")
_CALLS = ("__call__", "forward")
_OF_MODULES = (
    *("register_buffer", "register_parameter", "register_module", "add_module"),
    *("apply", "named_parameters", "load_state_dict"),
)
"""Methods of PyTorch's classes that call no layer with what they are given."""


def without_settled_numbers(origin: Origin, thing: str, notes: Notes) -> None:
    """Write such defaults in place; of what is converted it is told."""
    taking: dict[str, list[tuple[ast.ClassDef, ast.FunctionDef, ast.expr]]] = {}
    for node in origin.classes.values():
        if framework_of(origin, node) not in _FRAMEWORKS:
            continue
        if not is_layer_class(origin, node):
            continue
        for method in node.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            for argument, default in numbers_of(method):
                found = taking.setdefault(argument.arg, [])
                found.append((node, method, default))
    for title, methods in taking.items():
        default = methods[0][2]
        if any(not same(default, other) for _, _, other in methods):
            continue
        others = _outside(origin, title, default)
        if not _is_settled(origin, title, methods, default, others):
            continue
        _leave_out(origin, notes, others)
        for node, method, _ in methods:
            if node.name == thing and method.name in _CALLS:
                what = f"`{title}` of the call is always its default, `{ast.unparse(default)}`"
                notes.remark(method, what, "write another spec for another one")
            without_arguments(method.args, {title})
            # Those that must be given it are given what it is.
            needing = {
                m.name
                for m in node.body
                if isinstance(m, ast.FunctionDef)
                and title in [a.arg for a in (*m.args.args, *m.args.kwonlyargs)]
                and all(m is not other for _, other, _ in methods)
            }
            _hand_on_without(origin, method, title, needing, taking[title])
            known = Known({title: default}, {})
            method.body = Decided(known).statements(method.body)
    located(origin.tree)


def _is_settled(
    origin: Origin,
    title: str,
    methods: list[tuple[ast.ClassDef, ast.FunctionDef, ast.expr]],
    default: ast.expr,
    others: Collection[ast.FunctionDef],
) -> bool:
    """Whether the file gives it what it is anyway, by its name, and nothing binds it anew."""
    own = {id(part) for _, method, _ in methods for part in walk(method)}
    first = min(_place(method, title) for _, method, _ in methods)
    called, kinds = _taking(methods)
    for _, method, _ in methods:
        if any(title in stored_names(part) for part in method.body):
            return False
    outside = {id(p) for method in others for p in walk(method)}
    for part in walk(origin.tree):
        if not isinstance(part, ast.Call) or not _calls_layer(origin, part):
            continue
        if id(part) in outside:
            continue
        if len(part.args) > first and _may_give(origin, part, called, kinds):
            return False
        for keyword in part.keywords:
            if keyword.arg == title:
                namesake = is_name(keyword.value, title) and id(part) in own
                if not namesake and not same(keyword.value, default):
                    return False
    return True


def _taking(
    methods: list[tuple[ast.ClassDef, ast.FunctionDef, ast.expr]],
) -> tuple[set[str], set[str]]:
    """The names of methods, and the classes of those that their objects are called by."""
    called = {method.name for _, method, _ in methods if method.name not in _CALLS}
    return called, {node.name for node, m, _ in methods if m.name in _CALLS}


def _outside(origin: Origin, title: str, default: ast.expr) -> list[ast.FunctionDef]:
    """The methods that give it another literal, and that nothing of the file calls."""
    alone = uncalled(origin)
    return [
        method
        for node in origin.classes.values()
        if framework_of(origin, node) == "torch"
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name in alone - {*_CALLS}
        if any(
            isinstance(part, ast.Call)
            and any(
                k.arg == title
                and isinstance(k.value, ast.Constant)
                and not same(k.value, default)
                for k in part.keywords
            )
            for part in walk(method)
        )
    ]


def _leave_out(
    origin: Origin, notes: Notes, methods: Collection[ast.FunctionDef]
) -> None:
    for method in methods:
        for node in origin.classes.values():
            if method in node.body:
                node.body.remove(method)
        notes.remark(
            method,
            f"`{method.name}` is left out: nothing of the file calls it",
            "write it where it is called",
        )


def _place(method: ast.FunctionDef, title: str) -> int:
    """At which place of a call it is given."""
    places = [a.arg for a in method.args.args[1:]]
    return places.index(title) if title in places else 1000


def _may_give(
    origin: Origin, call: ast.Call, called: set[str], kinds: set[str]
) -> bool:
    """Whether a call may be one of these methods, or of an object of these classes."""
    attribute = self_attribute(call.func)
    if attribute is None:
        return isinstance(call.func, ast.Attribute) and call.func.attr in called
    if attribute in called:
        return True
    if attribute in _OF_MODULES:
        return False
    methods = (m for c in origin.classes.values() for m in c.body)
    if any(getattr(m, "name", "") == attribute for m in methods):
        return False
    made = [
        getattr(getattr(part.value, "func", None), "id", "")
        for part in walk(origin.tree)
        if isinstance(part, ast.Assign) and self_attribute(part.targets[0]) == attribute
    ]
    return not made or not all(made) or bool({*made} & kinds)


def _calls_layer(origin: Origin, call: ast.Call) -> bool:
    """Whether a call may be that of a layer: of no function and no class by its name."""
    title = getattr(call.func, "id", "")
    own = title in origin.functions or title in origin.classes
    own = own or title in dir(builtins)
    return not own and not origin.qualified(call.func)


def _hand_on_without(
    origin: Origin,
    method: ast.FunctionDef,
    title: str,
    needing: Collection[str],
    taking: list[tuple[ast.ClassDef, ast.FunctionDef, ast.expr]],
) -> None:
    """Take what a method hands on under its own name out of the calls of layers, in place.

    Args:
        origin: the file.
        method: the method.
        title: the name.
        needing: the methods of the same object that take it otherwise.
        taking: those that take it no more. Others may call it as they want.
    """
    called, kinds = _taking(taking)
    for part in walk(method):
        if not isinstance(part, ast.Call) or self_attribute(part.func) in needing:
            continue
        if _calls_layer(origin, part):
            part.keywords = [k for k in part.keywords if k.arg != title]
            if not _is_of_local(part) and _may_give(origin, part, called, kinds):
                part.args = [a for a in part.args if not is_name(a, title)]


def _is_of_local(call: ast.Call) -> bool:
    """Whether a call is of what a local has, as `x.reshape(n, -1)`, and no layer's."""
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and not is_name(func.value, "self")
    )
