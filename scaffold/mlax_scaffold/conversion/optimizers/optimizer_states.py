"""What the state of a transformation begins as: moments, numbers of steps, scalars."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from mlax_scaffold.conversion.forms.leaf_functions import as_lambda
from mlax_scaffold.conversion.optimizers.first_values import (
    KEYS,
    Begun,
    begin,
    filling,
)
from mlax_scaffold.conversion.optimizers.optimizer_chains import COUNT
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    name,
    replaced,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned

_OF_KEYS = (
    *("split", "fold_in", "wrap_key_data", "unflatten", "tree_unflatten", "list"),
    *("split_key_like", "tree_split_key_like"),
)


def is_key(full: str) -> bool:
    """Whether a function makes keys of keys."""
    return full.rpartition(".")[2] in _OF_KEYS


@dataclass
class States:
    """The parts of a state, by the name or the place that they have in the original."""

    places: list[str] = field(default_factory=list)
    read: dict[str, ast.expr] = field(default_factory=dict)
    """What stands for each of them."""
    written: dict[str, str] = field(default_factory=dict)
    """The attribute of each one that is kept; a number of steps is not."""
    scalars: set[str] = field(default_factory=set)
    """Those that are kept once for all leaves."""
    keys: set[str] = field(default_factory=set)
    """Those that are PRNG keys, which steps are given here."""
    inner: set[str] = field(default_factory=set)
    """Those of transformations that are given, which keep their own."""
    setup: list[ast.stmt] = field(default_factory=list)
    setup_tree: list[ast.stmt] = field(default_factory=list)
    _before: dict[str, ast.expr] = field(default_factory=dict)

    def add(
        self,
        translator: Translator,
        free: Callable[[str], str],
        place: str,
        value: ast.expr,
        title: str,
        counts: bool = True,
    ) -> bool:
        """One part of the state; False where it is not clear what it is.

        Args:
            translator: of the file.
            free: makes a name that nothing has yet.
            place: its name.
            value: what it begins as.
            title: its name where its place is none.
            counts: whether each step adds one to it.
        """
        self.places.append(place)
        begun = begin(translator, value)
        if begun is None:
            return False
        if begun.kind == "key":
            self.keys.add(place)
            return True
        if begun.kind == "none":
            self.read[place] = ast.Constant(None)
            return True
        first = literal(begun.value)
        whole = begun.kind == "integer" and literal(begun.shape) == ()
        if whole and counts and isinstance(first, int):
            self.read[place] = expression(COUNT) if first == 0 else _later(first)
            return True
        attribute = free(place if place.isidentifier() else title)
        self.read[place] = expression(f"self.{attribute}")
        self.written[place] = attribute
        target = ast.Attribute(name("self"), attribute, ast.Store())
        if begun.kind == "moment":
            self.setup.append(ast.Assign([target], begun.value, lineno=0))
            return True
        self.scalars.add(place)
        made = ast.Assign([target], _scalar(begun), lineno=0)
        self.setup_tree.append(made)
        return True

    def before(
        self, place: str, hoisted: Callable[[ast.expr, str], ast.expr]
    ) -> ast.expr:
        """What a number of all leaves was before the step, for the updates of leaves."""
        if place not in self._before:
            wanted = f"old_{self.written[place]}"
            self._before[place] = hoisted(cloned(self.read[place]), wanted)
        return cloned(self._before[place])


def _later(first: int) -> ast.expr:
    """A count that does not begin at zero."""
    return expression("self.step" if first == 1 else f"self.step + {first - 1}.0")


def _scalar(begun: Begun) -> ast.expr:
    """The declaration of what is kept once."""
    made = ast.Call(name("@word:state"), [filling(begun.value), begun.shape], [])
    if dtype := {"integer": "int32", "boolean": "bool_"}.get(begun.kind):
        made.args.append(ast.Attribute(name("@module:jnp"), dtype, ast.Load()))
    return made


def init_values(
    translator: Translator, init: ast.FunctionDef
) -> list[tuple[str, ast.expr, ast.AST]]:
    """The parts of the state that an init function returns, with their names."""
    locals_: dict[str, ast.expr] = {}
    for part in without_docstring(init.body):
        if isinstance(part, ast.FunctionDef) and (made := as_lambda(part)):
            locals_[part.name] = made
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            locals_[part.targets[0].id] = replaced(part.value, locals_)
        if isinstance(part, ast.Return) and part.value is not None:
            value = part.value
            if isinstance(value, ast.Name) and value.id in locals_:
                value = locals_[value.id]
            return [
                (place, replaced(v, locals_), part)
                for place, v in _parts(translator, value)
            ]
    return []


def _parts(translator: Translator, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(value, ast.IfExp):
        sides = [dict(_parts(translator, v)) for v in (value.body, value.orelse)]
        # What one of two states has beside the other is kept in both.
        return [*{**sides[1], **sides[0]}.items()]
    if isinstance(value, ast.Call):
        title = ast.unparse(value.func).rpartition(".")[2]
        if title in ("EmptyState", "ScaleState"):
            return []
        fields = fields_of(translator, title)
        looks = title[:1].isupper() and title not in KEYS
        if fields or looks:
            places = fields or [str(i) for i in range(len(value.args))]
            found = list(zip(places, value.args, strict=False))
            return [*found, *((str(k.arg), k.value) for k in value.keywords)]
        if title == "dict":
            return [(str(k.arg), k.value) for k in value.keywords]
    if isinstance(value, ast.Dict):
        return [
            (str(literal(k)), v)
            for k, v in zip(value.keys, value.values, strict=True)
            if k is not None
        ]
    if isinstance(value, ast.Tuple):
        return [(str(i), v) for i, v in enumerate(value.elts)]
    if isinstance(value, ast.Constant) and value.value is None:
        return []
    return [("", value)]


def fields_of(translator: Translator, title: str) -> list[str]:
    """The fields of a NamedTuple of the file."""
    node = translator.origin.classes.get(title)
    if node is None:
        return []
    return [
        p.target.id
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]
