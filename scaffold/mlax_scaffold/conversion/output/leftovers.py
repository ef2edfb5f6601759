"""What a spec cannot hold, found before anybody generates it: told with the lines of the original."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from mlax_scaffold.conversion.output.constructor_reads import refuse_unreadable
from mlax_scaffold.conversion.output.description import Described, Function, SpecText
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, is_none, self_attribute
from mlax_scaffold.conversion.source.vocabulary import CHAINED
from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.reader.remedies.foreign import LIBRARIES

_ALLOWED = ("jax", "numpy", "math", "functools", "itertools", "operator", "typing")
_OF_LAYERS = ("training", "key", "stored", "scheduled", "step", "mask", "apply")
"""What layers have that nothing declares."""
_OF_STEPS = ("value", "step_number")
_NUMBERS = ("Size", "Sizes", "Count", "Positive", "NonNegative", "Probability", "float")
_ADVICE = "write what it computes with functions of jax, or with a layer of the library"


def refuse_leftovers(origin: Origin, notes: Notes, spec: SpecText) -> None:
    """Note down names that nothing defines, modules of others, and layers that are given."""
    told = {note.line for note in notes.found if note.blocks}
    known = {
        *dir(builtins),
        *(d.name for d in spec.definitions),
        *(n for part in spec.beside for n in _bound(part)),
    }
    for node in spec.beside:
        _names(origin, notes, node, known, told)
        _makes_layers(notes, node)
    for definition in spec.definitions:
        for node in _parts(definition):
            _changes_classes(origin, notes, node, told)
            _names(origin, notes, node, known | _locals(definition), told)
            _marks(notes, node, told)
        _calls_nothing(notes, definition)
        if isinstance(definition, Described):
            _computed_names(notes, definition, told)
            _given_layers(notes, definition, told)
            _shared_layers(notes, definition)
            _parts_of_numbers(notes, definition, told)
            _indexed_sequences(notes, definition, told)
            if not notes.blocking:
                _undeclared(notes, definition, told)
            _changes_in_place(notes, definition, told)


def _parts(definition: Described | Function) -> Iterable[ast.stmt]:
    if isinstance(definition, Function):
        return [definition.node]
    return [*definition.constants, *definition.setup, *definition.methods]


def _locals(definition: Described | Function) -> set[str]:
    """What setup and the class itself bind, beside the functions' own names."""
    if isinstance(definition, Function):
        return {f.name for f in definition.fields}
    return {
        n for part in (*definition.constants, *definition.setup) for n in _bound(part)
    }


def _bound(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.alias):
            yield part.asname or part.name.partition(".")[0]


def _names(
    origin: Origin, notes: Notes, node: ast.AST, known: set[str], told: set[int]
) -> None:
    bound = {*known, *_bound(node)}
    whole = {
        id(part.value): part for part in walk(node) if isinstance(part, ast.Attribute)
    }
    for part in walk(node):
        if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load):
            continue
        if part.id.startswith("@") or part.id in ("self", *bound):
            continue
        full = origin.imports.get(part.id)
        if full is not None and full.partition(".")[0] in (*_ALLOWED, ""):
            continue
        if full is not None and full.partition(".")[0] not in LIBRARIES:
            # The person's own module, which a spec imports as it is.
            continue
        line = getattr(part, "lineno", 0)
        if line in told or not line:
            continue
        outer: ast.expr = part
        while id(outer) in whole:
            outer = whole[id(outer)]
        told.add(line)
        if full is None:
            what = f"`{part.id}` is nothing that a spec can read"
            todo = "write what it is where it is used, or take it as a hyperparameter"
        else:
            what, todo = f"`{ast.unparse(outer)}` has no counterpart", _ADVICE
        notes.refuse(part, what, todo)


def _changes_classes(
    origin: Origin, notes: Notes, node: ast.AST, told: set[int]
) -> None:
    """Attributes of a class that its objects set, `Layer.count += 1`, for all that are made of it."""
    for part in walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id=owner), ctx=ast.Store()):
                line = getattr(part, "lineno", 0)
                title = owner.rpartition(":")[2]
                if title not in origin.classes or line in told:
                    continue
                told.add(line)
                notes.refuse(
                    line,
                    f"`{title}.{part.attr}` is set for all objects of {title}",
                    "give each its own number, as a hyperparameter or by `state`",
                )


def _marks(notes: Notes, node: ast.AST, told: set[int]) -> None:
    """Layers of a sequence that stand where no sequence is read."""
    for part in walk(node):
        if not isinstance(part, ast.Call):
            continue
        line = getattr(part, "lineno", 0)
        if any(k.arg == CHAINED for k in part.keywords) and line not in told:
            told.add(line)
            notes.refuse(
                line,
                "a sequence of layers is made where none is read",
                "make it an attribute in the constructor",
            )


def _calls_nothing(notes: Notes, definition: Described | Function) -> None:
    """Calls of what is None where nothing is given, as a layer that may be handed is."""
    for node in _parts(definition):
        for part in walk(node):
            if isinstance(part, ast.Call) and is_none(part.func):
                notes.refuse(
                    part,
                    "what is called here is None where the class is given nothing",
                    "make the layer in the constructor, or leave the call out",
                )


def _changes_in_place(notes: Notes, definition: Described, told: set[int]) -> None:
    """Methods of tensors like `scatter_`: an array is never changed."""
    for method in definition.methods:
        for part in walk(method):
            func = part.func if isinstance(part, ast.Call) else None
            if not isinstance(func, ast.Attribute) or self_attribute(func) is not None:
                continue
            line = getattr(part, "lineno", 0)
            if func.attr.endswith("_") and func.attr[0] != "_" and line not in told:
                told.add(line)
                notes.refuse(
                    line,
                    f"`{func.attr}` changes a tensor in place",
                    "bind what it makes to a name, as in x = x.at[index].set(value)",
                )


def _computed_names(notes: Notes, definition: Described, told: set[int]) -> None:
    """Attributes that are set or read by names that are computed."""
    for node in (*definition.setup, *definition.methods):
        for part in walk(node):
            match part:
                case ast.Call(
                    func=ast.Name(id="getattr" | "setattr"), args=[o, title, *_]
                ) if not isinstance(title, ast.Name | ast.Attribute | ast.Constant):
                    line = getattr(part, "lineno", 0)
                    if is_name(o, "self") and line and line not in told:
                        told.add(line)
                        notes.refuse(
                            part,
                            f"`{ast.unparse(part)}` is an attribute by a name that is computed",
                            "give each its name, or make a list of them",
                        )


def _undeclared(notes: Notes, definition: Described, told: set[int]) -> None:
    """Attributes that methods read, and that neither fields nor `setup` declare."""
    known = {
        *_OF_LAYERS,
        *(_OF_STEPS if definition.base == "Optimizer" else ()),
        *(f.name for f in definition.fields),
        *(m.name for m in definition.methods),
        *(n for part in definition.constants for n in _bound(part)),
    }
    for part in definition.setup:
        known |= {self_attribute(p) or "" for p in walk(part) if _is_set(p)}
    steps = {m.name for m in definition.methods} & {"setup", "update", "step"}
    for method in definition.methods if not steps else ():
        kept = {self_attribute(p) or "" for p in walk(method) if _is_set(p)} - {""}
        for attribute in sorted(kept - known):
            line = next(
                getattr(p, "lineno", 0)
                for p in walk(method)
                if _is_set(p) and self_attribute(p) == attribute
            )
            told.add(line)
            notes.refuse(
                line,
                f"`self.{attribute}` is set by a call, and nothing declares it",
                "declare a `state` of its shape in setup, or compute it in each call",
            )
    refuse_unreadable(notes, definition, known, told)
    for part in definition.methods:
        known |= {self_attribute(p) or "" for p in walk(part) if _is_set(p)}
    for method in definition.methods:
        for part in walk(method):
            attribute = self_attribute(part)
            line = getattr(part, "lineno", 0)
            if attribute is None or attribute in known or line in told or not line:
                continue
            told.add(line)
            notes.refuse(
                line,
                f"`self.{attribute}` is nothing that could be declared in setup",
                "declare it with a layer, `trainable` or `state`, or compute it there",
            )


def _is_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _indexed_sequences(notes: Notes, definition: Described, told: set[int]) -> None:
    """Elements of sequences, which are methods here, at places that are not told."""
    methods = {m.name for m in definition.methods if not m.decorator_list}
    for method in definition.methods:
        for part in walk(method):
            held = (
                part.value
                if isinstance(part, ast.Subscript)
                else part.iter
                if isinstance(part, ast.comprehension)
                else None
            )
            place = self_attribute(held) if held is not None else ""
            line = getattr(part, "lineno", 0) or getattr(held, "lineno", 0)
            if place in methods and line not in told:
                told.add(line)
                notes.refuse(
                    line,
                    f"`self.{str(place).lstrip('_')}` holds layers of several kinds, "
                    "of which one is taken by its place",
                    "make a list for each kind, or call each layer by its name",
                )


def _makes_layers(notes: Notes, node: ast.stmt) -> None:
    """A function beside a class that makes layers, which a class declares in setup."""
    made = [
        part
        for part in walk(node)
        if isinstance(part, ast.Name) and part.id.startswith(("@layer:", "@own:"))
    ]
    if made and isinstance(node, ast.FunctionDef):
        notes.refuse(
            node,
            f"`{node.name}` makes layers, and is not written out where it is called",
            "make them in the constructor",
        )


def _parts_of_numbers(notes: Notes, definition: Described, told: set[int]) -> None:
    """Attributes of hyperparameters that are numbers: an object of settings that was not followed."""
    numbers = _numbers(definition)
    for node in (*definition.setup, *definition.methods):
        for part in walk(node):
            owner = part.value if isinstance(part, ast.Attribute) else None
            field = self_attribute(owner) if owner is not None else None
            line = getattr(part, "lineno", 0)
            if field in numbers and part.attr not in dir(int) and line not in told:  # type: ignore[attr-defined]
                told.add(line)
                notes.refuse(
                    line,
                    f"`{field}.{part.attr}` is read of an object that is not followed",  # type: ignore[attr-defined]
                    "give the constructor what it reads of it, each by its name",
                )


def _numbers(definition: Described) -> set[str]:
    """The hyperparameters that are numbers, or None."""
    return {
        f.name for f in definition.fields if f.word.removesuffix(" | None") in _NUMBERS
    }


def _given_layers(notes: Notes, definition: Described, told: set[int]) -> None:
    """Hyperparameters that are called: a spec makes its layers itself."""
    numbers = _numbers(definition)
    for method in definition.methods:
        for part in walk(method):
            called = part.func if isinstance(part, ast.Call) else None
            field = self_attribute(called) if called is not None else None
            line = getattr(part, "lineno", 0)
            if field in numbers and line not in told:
                told.add(line)
                notes.refuse(
                    line,
                    f"`{field}` is a layer that is given, which no hyperparameter is",
                    "make it in the constructor, of sizes, or write a class for each",
                )


def _shared_layers(notes: Notes, definition: Described) -> None:
    """A layer that two others are handed, each of which would have to be given it."""
    handed: dict[str, list[ast.Call]] = {}
    made: set[str] = set()
    for node in definition.setup:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        value, func = node.value, node.value.func
        if not isinstance(func, ast.Name):
            continue
        if not func.id.startswith(("@layer:", "@own:")):
            continue
        made |= {t for p in node.targets if (t := self_attribute(p)) is not None}
        for given in (*value.args, *(k.value for k in value.keywords)):
            title = self_attribute(given)
            if title is not None:
                handed.setdefault(title, []).append(value)
    for title, calls in handed.items():
        if title in made and len(calls) > 1:
            notes.refuse(
                calls[1],
                f"`self.{title}` is a layer that several others are handed",
                "call it where it is read, or make one in each",
            )
