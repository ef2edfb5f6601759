"""A class with what it is built on in the same file: other classes, functions and constants."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.declarations.loop_stages import with_loop_stages
from mlax_scaffold.conversion.definitions.assumed_axes import (
    NOTHING,
    Assumed,
)
from mlax_scaffold.conversion.definitions.classes import ClassReader
from mlax_scaffold.conversion.examples.callers import with_callers
from mlax_scaffold.conversion.examples.handed_images import with_handed_images
from mlax_scaffold.conversion.examples.nested_examples import (
    Fitted,
    with_nested_examples,
)
from mlax_scaffold.conversion.examples.spatial_needs import with_spatial_needs
from mlax_scaffold.conversion.examples.whole_groups import with_whole_groups
from mlax_scaffold.conversion.forms.decorators import kept_decorators
from mlax_scaffold.conversion.forms.initial_rules import Rule, rules_of
from mlax_scaffold.conversion.forms.own_derivatives import (
    derivative_rules,
    has_derivative,
)
from mlax_scaffold.conversion.handed.inherited_starts import with_bases
from mlax_scaffold.conversion.handed.layer_methods import with_layer_methods
from mlax_scaffold.conversion.lists.dictionaries import without_dictionaries
from mlax_scaffold.conversion.lists.stages import with_stages
from mlax_scaffold.conversion.output.description import (
    Described,
    HelperDtypes,
    SpecText,
)
from mlax_scaffold.conversion.output.open_axes import with_open_axes
from mlax_scaffold.conversion.rows.calculations import Calculations
from mlax_scaffold.conversion.rows.translated_calls import OfWeight
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.shapes.draws import without_key
from mlax_scaffold.conversion.shapes.helper_dtypes import (
    in_dtype,
    without_wide_casts,
)
from mlax_scaffold.conversion.shapes.numpy_functions import with_numpy_functions
from mlax_scaffold.conversion.shapes.signatures import Signature
from mlax_scaffold.conversion.source.arguments_of import begins_weights
from mlax_scaffold.conversion.source.free_names import bound_by, free_names
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.requirements import plain_text
from mlax_scaffold.conversion.source.trees import (
    constant,
    is_name,
    literal,
    name,
    names,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, OWN_INITIALIZER
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_WORDS = frozenset(
    (
        *("Layer", "Optimizer", "Schedule", "Float", "Int", "Bool", "Complex", "Key"),
        *("PyTree", "PerDim", "Size", "Sizes", "Shape", "Count", "Positive", "Decay"),
        *("NonNegative", "Probability", "Scheduled", "Activation", "Initializer"),
        *("Function", "Padding", "DotGeneral", "ConvGeneralDilated"),
    )
)
"""Names that specs of layers import: a class of the file has another one beside them."""


class Program:
    """The classes that become definitions, in the order in which they are built on each other."""

    def __init__(
        self,
        origin: Origin,
        notes: Notes,
        name: str,
        taken: Collection[str],
        assumed: Assumed = NOTHING,
    ):
        self.origin, self.notes, self.name, self.taken = origin, notes, name, taken
        self.assumed = assumed
        self.own: dict[str, Interface] = {}
        self.results: dict[str, Signature] = {}
        self.definitions: list[Described] = []
        self.fitted: dict[str, Fitted] = {}
        self.seen: set[str] = set()
        self.rules: dict[str, tuple[Rule, ...]] = {}

    def layers(self, node: ast.ClassDef, framework: str) -> SpecText:
        """The spec of a class."""
        self._class(node, framework, self.name)
        self.definitions = with_nested_examples(self.definitions, self.fitted)
        known = self.fitted.get(self.name)
        if known is not None and node.name in self.own:
            self.definitions[-1] = with_callers(
                self.origin, node, self.definitions[-1], known, self.own[node.name]
            )
        self.definitions = with_whole_groups(self.definitions, self.fitted)
        self.definitions = with_handed_images(with_spatial_needs(self.definitions))
        self.definitions = with_open_axes(self.definitions)
        beside = beside_of(self.origin, self.notes, self.definitions, framework)
        beside = with_numpy_functions(self.definitions, beside)
        return SpecText(tuple(self.definitions), tuple(beside))

    def _class(
        self,
        node: ast.ClassDef,
        framework: str,
        name: str,
        rules: tuple[Rule, ...] = (),
    ) -> None:
        if node.name in self.seen:
            self._same_rules(node, rules)
            return
        self.seen.add(node.name)
        self.rules[node.name] = rules
        node = without_dictionaries(
            self.origin, with_bases(self.origin, node), self.notes
        )
        node, sequences = with_layer_methods(self.origin, node)
        node, loops = with_loop_stages(self.origin, node)
        node, stages = with_stages(self.origin, node)
        stages = {**sequences, **loops, **stages}
        inner = (*rules_of(self.origin, node), *rules)
        for used in _used(node):
            other = stages.get(used) or self.origin.classes.get(used)
            if used in self.origin.copied:
                continue
            if other is None or other.name == node.name:
                continue
            if used in self.own:
                self._same_rules(other, inner)
                continue
            if is_layer_class(self.origin, other):
                given = used
                if used in self.taken or used in _WORDS or used == self.name:
                    given = f"{self.name}{used}"
                self._class(other, framework_of(self.origin, other), given, inner)
        reader = ClassReader(
            self.origin,
            node,
            framework,
            self.notes,
            self.own,
            self.results,
            name,
            rules,
            self.assumed,
        )
        made = reader.read()
        if made is None:
            return
        described, interface = made
        self.definitions.append(described)
        if reader.fitted is not None:
            self.fitted[described.name] = reader.fitted
        self.own[node.name] = interface
        if name != node.name:
            self.results[name] = self.results.get(name, self.results.get(node.name))  # type: ignore[assignment]
            self.own.setdefault(name, interface)

    def _same_rules(self, node: ast.ClassDef, rules: tuple[Rule, ...]) -> None:
        """Say so where a class would begin otherwise than it does where it was met first."""
        for rule in {*rules} ^ {*self.rules.get(node.name, rules)}:
            self.notes.remark(
                rule.line,
                f"what fills the weights of {node.name} holds for some of its uses alone",
                "give the weights initializers, by hyperparameters of that class",
            )


def _used(node: ast.ClassDef) -> list[str]:
    """The names that a class reads; what it is derived from it has itself."""
    parts = [part for statement in node.body for part in walk(statement)]
    # `super(Base, self)` says whose methods are called, and makes nothing.
    owners = {
        id(part.args[0])
        for part in parts
        if isinstance(part, ast.Call) and is_name(part.func, "super") and part.args
    }
    found = [p.id for p in parts if isinstance(p, ast.Name) and id(p) not in owners]
    return list(dict.fromkeys(found))


def beside_of(
    origin: Origin, notes: Notes, definitions: list[Described], framework: str
) -> list[ast.stmt]:
    """Functions and constants of the file that definitions use, directly or not."""
    used: set[str] = set()
    for definition in definitions:
        body = [*definition.setup]
        parts = [*body, *definition.methods, *definition.constants]
        used |= {title for part in parts for title in free_names(part)}
        # What setup binds, its other lines read.
        only = {title for part in definition.methods for title in free_names(part)}
        used -= bound_by(body) - only
        for field in definition.fields:
            used |= names(field.default) if field.default is not None else set()
    told = HelperDtypes.together(d.helpers for d in definitions)
    beside = carried(origin, notes, used, framework, told)
    keyless = {name for d in definitions for name in d.keyless}
    for node in beside:
        if isinstance(node, ast.FunctionDef) and node.name in keyless:
            without_key(node)
    return beside


def carried(
    origin: Origin,
    notes: Notes,
    used: set[str],
    framework: str,
    helpers: HelperDtypes,
) -> list[ast.stmt]:
    """What stands beside a definition, for these names, in the dtypes that are told."""
    queue = sorted(used)
    found: dict[str, ast.stmt] = {}
    while queue:
        name = queue.pop()
        if name in found:
            continue
        node = origin.functions.get(name) or origin.assigned.get(name)
        if node is None:
            continue
        made = _translated(origin, notes, node, framework, helpers.floats(name))
        if made is None:
            continue
        if isinstance(made, ast.FunctionDef) and name in helpers.dtyped:
            in_dtype(made, _called(origin, "jax.numpy"))
        found[name] = made
        queue += sorted(free_names(made) - set(found))
        if has_derivative(origin, node):
            for rule in derivative_rules(origin, name):
                if isinstance(rule, ast.FunctionDef):
                    queue.append(rule.name)
                    continue
                found[ast.unparse(rule)] = rule
                queue += sorted(free_names(rule) - set(found))
    return [
        found[name]
        for name, _ in sorted(
            ((n, s.lineno) for n, s in found.items()), key=lambda item: item[1]
        )
    ]


_MADE = ("ones", "zeros", "full", "eye", "arange", "tri", "linspace")


def _counts(function: ast.FunctionDef) -> set[str]:
    """Names of a function that are sizes of the arrays which it makes."""
    return {
        n.id
        for call in walk(function)
        if isinstance(call, ast.Call) and call.args
        if ast.unparse(call.func).rpartition(".")[2] in _MADE
        for argument in call.args
        for n in _plain_names(argument)
    }


def _plain_names(node: ast.expr) -> list[ast.Name]:
    """The names of arithmetic that are numbers themselves: of `x.size(0) * n` it is n."""
    if isinstance(node, ast.Name):
        return [node]
    if isinstance(node, ast.BinOp | ast.Tuple | ast.List):
        inner = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]
        return [n for part in inner for n in _plain_names(part)]
    return []


def sizes_in(function: ast.FunctionDef) -> set[str]:
    """Names of a function that hold sizes of its arrays."""
    found: set[str] = set()
    for part in walk(function):
        if not isinstance(part, ast.Assign) or len(part.targets) != 1:
            continue
        value = part.value
        index = isinstance(value, ast.Subscript) and isinstance(
            value.slice, ast.Constant
        )
        shape = value.value if isinstance(value, ast.Subscript) else value
        of_shape = isinstance(shape, ast.Attribute) and shape.attr == "shape"
        if of_shape and index == isinstance(part.targets[0], ast.Name):
            found |= set(targets(part.targets[0]))
    return found


def _dictionaries(function: ast.FunctionDef) -> set[str]:
    """Names of a function that are asked for entries by a text, as dictionaries of weights are."""
    return {
        n.value.id
        for n in walk(function)
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
        if isinstance(literal(n.slice), str)
    }


def _called(origin: Origin, module: str) -> frozenset[str]:
    """What a file calls a module."""
    return frozenset(n for n, full in origin.imports.items() if full == module)


class _Required(NodeTransformer):
    """Writes assertions of a function as what it requires."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        text = plain_text(node.msg or constant(None), node.test)
        call = ast.Call(name("@word:require"), [node.test, text], [])
        return ast.copy_location(ast.Expr(call), node)


def _translated(
    origin: Origin,
    notes: Notes,
    node: ast.stmt,
    framework: str,
    floats: Collection[str],
) -> ast.stmt | None:
    first = "x"
    if isinstance(node, ast.FunctionDef):
        node = _Required().visit(cloned(node))
        assert isinstance(node, ast.FunctionDef)
        numbers = _counts(node)
        given = [a.arg for a in node.args.args if a.arg not in KEYS]
        arrays = [a for a in given if a not in numbers | _dictionaries(node)]
        # Of numbers alone, arrays are made in a dtype that nothing here tells.
        first = (arrays[0] if arrays else "") if given else first
        floating = [a for a in given if a in floats]
        if floating:
            first = floating[0]
            node = without_wide_casts(node, first)
        if begins_weights(node):
            first = OWN_INITIALIZER
    translator = Translator(
        origin, framework, notes, Calculations(first, keyed=False), {}
    )
    if isinstance(node, ast.FunctionDef):
        translator.numbers = frozenset(sizes_in(node))
    found = translator.statements([node])
    if not found:
        return None
    made = found[0]
    if first == OWN_INITIALIZER:
        made = OfWeight().visit(made)
    if isinstance(made, ast.FunctionDef):
        made.decorator_list = kept_decorators(origin, notes, made)
        for part in walk(made):
            if isinstance(part, ast.FunctionDef):
                part.returns = None
            elif isinstance(part, ast.arg):
                part.annotation = None
    if isinstance(made, ast.AnnAssign) and made.value is not None:
        made = ast.Assign([made.target], made.value, lineno=made.lineno)
    return made
