"""Constructors of PyTorch's classes that fill lists in loops over tables, run as far as they are known.

for channels, repeats in table:
    for i in range(repeats):
        layers.append(block(width, channels, 2 if i == 0 else 1))
        width = channels
self.features = nn.Sequential(*layers)

becomes `self.features = nn.Sequential(Block(16, 32, 2), Block(32, 32, 1), ...)`. What such loops depend on
is no parameter then, and has the value that it has by default, or that the file gives.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.lists.computed_names import without_computed_names
from mlax_scaffold.conversion.lists.run_calls import (
    MODULE_LISTS,
    NeededError,
    UnknownError,
)
from mlax_scaffold.conversion.lists.run_methods import with_run_methods
from mlax_scaffold.conversion.lists.run_statements import Run
from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    without_parameters,
)
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import RUN, framework_of, is_layer_class
from mlax_scaffold.conversion.source.known_values import Known, items_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk

_IMAGE = "(4, 44, 44)"
"""The shape of an image that nothing else is told of: of four frames, and large enough for a few windows."""


def with_run_constructors(origin: Origin, thing: str, notes: Notes) -> dict[str, str]:
    """Change the class that is asked for, and those that it is made of, in place.

    Returns:
        The parameters of the class that are none any more and have no default, and what they are.
    """
    given: dict[str, str] = {}
    queue, seen = [thing], {thing}
    while queue:
        # What a class is made of comes after it, as its calls say what it is given.
        title = queue.pop(0)
        node = origin.classes.get(title)
        if node is None or not is_layer_class(origin, node):
            continue
        if framework_of(origin, node) in RUN:
            found = _run(origin, node, notes, asked=title == thing)
            given |= found if title == thing else {}
        more = sorted((names(node) & origin.classes.keys()) - seen)
        queue, seen = [*queue, *more], {*seen, *more}
    located(origin.tree)
    return given


def _run(
    origin: Origin, node: ast.ClassDef, notes: Notes, *, asked: bool
) -> dict[str, str]:
    start = method_of(node, "__init__")
    if start is None or start.args.vararg is not None:
        return {}
    parameters = [a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)]
    values = values_of(origin, node, start, asked=asked)
    defaults = defaults_of(start.args)
    fixed = {p: v for p, v in values.items() if not _is_known(v)}
    for _ in range(len(parameters) + 1):
        run = Run(origin, node, start, fixed, values)
        try:
            run.all()
        except NeededError as needed:
            more = {p: values[p] for p in needed.parameters if p in values}
            if not more or more.keys() <= fixed.keys():
                return {}
            fixed |= more
            continue
        except UnknownError:
            return {}
        break
    else:
        return {}
    if not run.structural and not fixed:
        return {}
    remark_run(notes, node, run, fixed)
    without_parameters(origin.tree, node, start, set(fixed))
    take_run(origin, node, run)
    return {p: ast.unparse(v) for p, v in fixed.items() if p not in defaults}


def remark_run(
    notes: Notes, node: ast.ClassDef, run: Run, fixed: Mapping[str, ast.expr]
) -> None:
    """Tell which parameters of a class are none any more, and what is left out."""
    for parameter, value in fixed.items():
        notes.remark(
            run.start,
            f"`{parameter}` of {node.name} is always `{_short(value)}`",
            "write another spec for other values: they decide which layers there are",
        )
    for part in run.left:
        notes.remark(
            part, f"`{ast.unparse(part)}` is left out", "give the weights initializers"
        )


def take_run(origin: Origin, node: ast.ClassDef, run: Run) -> None:
    """Give a class the constructor that was run, in place."""
    start = run.start
    before = _stored(start)
    start.body = run.body(_read(node, start, run.consumed))
    node.body = [
        m
        for m in node.body
        if getattr(m, "name", "") not in run.consumed - _called(node)
    ]
    settled = run.settled()
    with_run_methods(node, start, settled, MODULE_LISTS, origin)
    without_computed_names(node, start, settled)
    switches = {
        t: v for t, v in settled.items() if _is_switch(v) and not _sets(node, start, t)
    }
    # What a branch sets that is not taken is asked for by `hasattr`.
    left = {*_stored(start), *run.known.attributes, *run.lists}
    gone = {t for t in before if not any(a == t or a.startswith(f"{t}_") for a in left)}
    switches |= {t: ast.Constant(None) for t in gone if not _sets(node, start, t)}
    decided = Decided(Known({}, switches))
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method is not start and switches:
            method.body = decided.statements(method.body)


def _stored(start: ast.FunctionDef) -> set[str]:
    """The attributes that a constructor sets."""
    return {
        title
        for part in walk(start)
        if (title := self_attribute(part)) and isinstance(part.ctx, ast.Store)  # type: ignore[attr-defined]
    }


def _is_switch(node: ast.expr) -> bool:
    """Whether a value is no number, and says what a method does."""
    return isinstance(node, ast.Constant) and isinstance(node.value, bool | str | None)


def _sets(node: ast.ClassDef, start: ast.FunctionDef, title: str) -> bool:
    """Whether a method other than the constructor sets an attribute."""
    return any(
        self_attribute(part) == title and isinstance(part.ctx, ast.Store)  # type: ignore[attr-defined]
        for method in node.body
        if method is not start
        for part in walk(method)
    )


def _short(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) < 40 else text[:36] + " ..."


def _called(node: ast.ClassDef) -> set[str | None]:
    return {self_attribute(p) for p in walk(node)}


def _read(node: ast.ClassDef, start: ast.FunctionDef, consumed: set[str]) -> set[str]:
    """The attributes that methods read, other than those that were run."""
    return {
        str(self_attribute(part))
        for method in node.body
        if method is not start and getattr(method, "name", "") not in consumed
        for part in walk(method)
        if self_attribute(part) is not None
    }


def values_of(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, *, asked: bool
) -> Mapping[str, ast.expr]:
    """What parameters are where nobody says otherwise, or all calls say the same."""
    defaults = {k: v for k, v in defaults_of(start.args).items() if _is_known(v)}
    own = {id(part) for part in walk(node)}
    calls = [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call)
        and is_name(part.func, node.name)
        and id(part) not in own
    ]
    places = [a.arg for a in start.args.args[1:]]
    given: dict[str, list[ast.expr]] = {}
    for call in calls:
        scope = _scope(origin, call)
        bound = dict(zip(places, call.args, strict=False))
        bound |= {str(k.arg): k.value for k in call.keywords}
        for parameter in places if not asked else bound:
            value = bound.get(parameter, defaults.get(parameter))
            if isinstance(value, ast.Name) and value.id in scope:
                value = scope[value.id]
            given.setdefault(parameter, []).append(value or ast.Name("_", ast.Load()))
    found: dict[str, ast.expr] = dict(defaults) if asked or not calls else {}
    if asked:
        images = (p for p in places if p.endswith("_shape") and p not in defaults)
        found |= {p: ast.copy_location(expression(_IMAGE), start) for p in images}
        found = {p: v for p, v in found.items() if p not in given or p in defaults}
    for parameter, values in given.items():
        made = [v for v in values if asked and makes(origin, v)]
        known = [v for v in values if _is_known(v)] or made
        if asked and known:
            found.setdefault(parameter, known[0])
        elif not asked and len({ast.unparse(v) for v in values}) == 1 and known:
            found[parameter] = known[0]
    return found


def _scope(origin: Origin, call: ast.Call) -> Mapping[str, ast.expr]:
    """What names stand for where a call is, in a function of the file, a constructor, or beside them."""
    around: dict[str, ast.expr] = {}
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is not None and any(p is call for p in walk(start)):
            around = defaults_of(start.args)
    bodies = [origin.tree.body]
    bodies += [
        f.body for f in origin.functions.values() if any(p is call for p in walk(f))
    ]
    return {
        part.targets[0].id: part.value
        for body in bodies
        for part in body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    } | around


def _is_known(node: ast.expr) -> bool:
    """Whether a value is one of literals alone."""
    items = items_of(node)
    return not isinstance(literal(node), ast.AST) or bool(
        items and all(map(_is_known, items))
    )


def makes(origin: Origin, node: ast.expr) -> bool:
    """Whether a value is what a function of the file makes, of what the file has."""
    known = {*origin.functions, *origin.classes, *origin.assigned, *origin.imports}
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in origin.functions
        and names(node) <= known
    )
