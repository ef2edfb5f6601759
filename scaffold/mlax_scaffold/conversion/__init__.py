"""Code that people have, as specs: read and never run.

`convert` finds a class or a function in a file and tells its kind. A front end for each library makes a small
description of it, and one back end prints that as a spec. What has no counterpart is noted with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from mlax_scaffold.conversion.declarations.spare_layers import SPARE
from mlax_scaffold.conversion.definitions.assumed_axes import (
    AXES,
    DOCUMENTED,
    NOTHING,
    Assumed,
    unknown_inputs,
)
from mlax_scaffold.conversion.definitions.documented_axes import documented_inputs
from mlax_scaffold.conversion.definitions.functions import (
    function_definition,
    library_of,
)
from mlax_scaffold.conversion.definitions.pair_settings import with_pair_settings
from mlax_scaffold.conversion.definitions.pairs import pair_class
from mlax_scaffold.conversion.definitions.programs import Program
from mlax_scaffold.conversion.forms.boolean_sums import count_truths
from mlax_scaffold.conversion.forms.einops_calls import without_einops
from mlax_scaffold.conversion.forms.haiku_functions import transformed
from mlax_scaffold.conversion.forms.known_tuples import without_known_tuples
from mlax_scaffold.conversion.forms.made_classes import with_made_class
from mlax_scaffold.conversion.forms.made_models import with_made_model
from mlax_scaffold.conversion.forms.named_lambdas import with_named_lambdas
from mlax_scaffold.conversion.forms.named_results import without_named_results
from mlax_scaffold.conversion.forms.named_transforms import with_named_transforms
from mlax_scaffold.conversion.forms.padded_queries import tell_padded_queries
from mlax_scaffold.conversion.forms.repeats import called_once
from mlax_scaffold.conversion.forms.weightless_objects import (
    without_weightless_objects,
)
from mlax_scaffold.conversion.handed.config_fields import dotted
from mlax_scaffold.conversion.handed.config_uses import Configured
from mlax_scaffold.conversion.handed.optimizer_settings import with_optimizer_settings
from mlax_scaffold.conversion.output.builtin_sums import without_builtin_sums
from mlax_scaffold.conversion.output.choices import with_choices
from mlax_scaffold.conversion.output.description import Described, SpecText, Trial
from mlax_scaffold.conversion.output.held_requirements import (
    without_held_requirements,
)
from mlax_scaffold.conversion.output.joined_sizes import with_joined_sizes
from mlax_scaffold.conversion.output.leftovers import refuse_leftovers
from mlax_scaffold.conversion.output.printing import (
    Printer,
    renamed_functions,
    renamed_locals,
)
from mlax_scaffold.conversion.passes import with_plain_forms
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.made_of import leave_others_out
from mlax_scaffold.conversion.source.notes import ConversionError, Note, Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.vocabulary import flags
from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.errors import UsageError

__all__ = ["AXES", "FURTHEST", "ConversionError", "Converted", "Note", "convert"]


FURTHEST = 3
"""How far constructors are run at most."""


@dataclass(frozen=True)
class Converted:
    """The spec that came of it."""

    text: str
    framework: str
    notes: tuple[Note, ...]
    trial: Trial | None = None
    """What the original can be run with, to be compared."""

    @property
    def whole(self) -> bool:
        """Whether all could be carried over."""
        return not any(note.blocks for note in self.notes)


def _trees(spec: SpecText) -> list[ast.AST]:
    """All that a spec is printed of."""
    found: list[ast.AST] = list(spec.beside)
    for definition in spec.definitions:
        if isinstance(definition, Described):
            found += [*definition.setup, *definition.methods]
        else:
            found.append(definition.node)
    return found


def _of_haiku(origin: Origin, node: ast.AST) -> bool:
    """Whether something makes layers of haiku, or the file's own ones that are written with it."""
    read = [n for n in walk(node) if isinstance(n, ast.Attribute | ast.Name)]
    own = [origin.classes.get(n.id) for n in read if isinstance(n, ast.Name)]
    return any(origin.qualified(n).startswith("haiku.") for n in read) or any(
        made is not None and framework_of(origin, made) == "haiku" for made in own
    )


def _keeps_apart(what: str) -> bool:
    """Whether what a note tells of is nothing that both are to be compared in."""
    if "in inference too" in what:
        # What the original draws is its mean in the comparison, too.
        return not any(d in what for d in _WITH_MEANS)
    return any(said in what for said in _APART)


_APART = ("is the pair (cell, hidden)", "is returned as")
_WITH_MEANS = (
    "jax.random.normal(",
    "jax.random.uniform(",
    "jax.random.truncated_normal(",
)


def _of_settings(tried: Trial, made: Configured) -> Trial:
    """The trial of a class that the original gives a configuration, by its class."""
    settings = dict(dotted(made))
    pairs = tuple((settings.get(p, p), f) for p, f in tried.parameters)
    # Where nothing but the code makes it, it holds all that is read of it.
    given = {f"{made.parameter}.{s}": v for s, v in made.defaults.items()}
    given |= {settings.get(p, p): v for p, v in tried.given}
    given = {p: v for p, v in given.items() if p not in dict(pairs)}
    modes = tuple(s for title, s in settings.items() if flags([title]))
    return replace(
        tried,
        parameters=pairs,
        flags=(*tried.flags, *modes),
        settings=(*tried.settings, (made.parameter, made.kind)),
        given=tuple(given.items()),
    )


def convert(
    path: str,
    text: str,
    thing: str,
    name: str,
    kind: str = "LAYER",
    taken: Collection[str] = (),
    run: int = 0,
    axes: int = 0,
) -> Converted:
    """The spec of a class or a function of a file.

    Args:
        path: the file, as messages call it.
        text: what is in it.
        thing: the name of the class or the function there.
        name: the name of the definition.
        kind: "LAYER", "FUNCTION" or "OPTIMIZER".
        taken: names that definitions have already, which those beside it may not have.
        run: how far constructors are run at least, up to `FURTHEST`: what becomes of a layer is of fewer
            hyperparameters then.
        axes: how many axes inputs have of which nothing in the code tells how many; 0 for any number,
            `DOCUMENTED` for those that docstrings tell, `NUMBERS` for none.

    Raises:
        UsageError: the file is not Python, or has no such thing, or one of another kind.
    """
    spec_of = partial(_converted, path, text, thing, name, kind, taken)
    first: Converted | None = None
    best: tuple[Converted, int] | None = None
    for further in range(run, (FURTHEST if kind == "LAYER" else run) + 1):
        try:
            made = spec_of(run=further)
        except (UsageError, ConversionError):
            if first is None:
                raise
            continue
        first = first or made
        if made.whole and not any(SPARE in note.what for note in made.notes):
            best = made, further
            break
        if made.whole:
            best = best or (made, further)
    if best is None:
        assert first is not None
        return first
    made, further = best
    numbered = axes and axes != DOCUMENTED
    assumed = unknown_inputs(made.text, axes) if numbered else {}
    if axes == DOCUMENTED:
        assumed = documented_inputs(text, thing, name)
    return spec_of(run=further, assumed=assumed) if assumed else made


def _converted(
    path: str,
    text: str,
    thing: str,
    name: str,
    kind: str,
    taken: Collection[str],
    *,
    run: int = 0,
    assumed: Assumed = NOTHING,
) -> Converted:
    """The spec; with constructors run as far as that is asked for, and inputs of these axes."""
    origin, notes = Origin.read(path, text), Notes()
    if kind == "LAYER":
        with_named_transforms(origin, thing)
        with_made_model(origin, thing)
        with_made_class(origin, thing)
    objects = without_weightless_objects(origin, thing, notes)
    pads = tell_padded_queries(origin, thing, notes)
    given, configured = with_plain_forms(origin, thing, notes, run=run)
    known = origin.classes.get(thing) or origin.functions.get(thing)
    pair, functions = None, None
    if kind == "LAYER" and not (
        isinstance(known, ast.ClassDef) and is_layer_class(origin, known)
    ):
        if known is None or isinstance(known, ast.FunctionDef):
            configured.append(with_pair_settings(origin, thing))
        found = pair_class(origin, known, thing, notes)
        pair, functions = found or (transformed(origin, known, _of_haiku), None)
    node = pair or origin.thing(thing)
    if pair is None and kind != "OPTIMIZER":
        before = len(notes.found)
        without_named_results(origin, notes)
        leave_others_out(origin, thing, notes, before)
        without_einops(origin)
    if kind == "FUNCTION":
        if not isinstance(node, ast.FunctionDef):
            raise UsageError(
                f"{path}:{node.lineno}: {thing} is a class, which becomes a layer: "
                f"mlax-scaffold new-layer {thing} --from {path}:{thing}"
            )
        spec = function_definition(origin, node, notes, name, assumed)
        framework = library_of(origin, node)
    elif kind == "OPTIMIZER":
        from mlax_scaffold.conversion.optimizers.library_rules import library_rule
        from mlax_scaffold.conversion.optimizers.optimizers import optimizer_definition

        configured.append(with_optimizer_settings(origin, thing))
        ruled = library_rule(origin, node, name)
        if ruled is not None:
            return Converted(ruled[0], "optax", tuple(notes.found), ruled[1])
        spec = optimizer_definition(origin, node, notes, name)
        framework = "optax"
    elif isinstance(node, ast.ClassDef) and is_layer_class(origin, node):
        framework = framework_of(origin, node) if node is not pair else ""
        framework = framework or ("haiku" if _of_haiku(origin, node) else "plain")
        spec = Program(origin, notes, name, taken, assumed).layers(node, framework)
    else:
        raise UsageError(
            f"{path}:{node.lineno}: {thing} is no layer: expected a class with a method "
            "`__call__` or `forward`, or a pair of functions `init` and `apply`; a function over "
            f"arrays is converted by `mlax-scaffold new-function NAME --from {path}:{thing}`"
        )
    refuse_leftovers(origin, notes, spec)
    spec = with_choices(without_held_requirements(spec))
    without_builtin_sums(_trees(spec))
    with_joined_sizes(spec.definitions)
    for part in spec.beside:
        if isinstance(part, ast.FunctionDef):
            count_truths(part)
    for definition in spec.definitions:
        methods = (
            definition.methods
            if isinstance(definition, Described)
            else (definition.node,)
        )
        for method in methods:
            without_known_tuples(method)
            called_once(method)
            with_named_lambdas(method)
        renamed_locals(methods)
    renamed_locals(part for part in spec.beside if isinstance(part, ast.FunctionDef))
    renamed_functions(_trees(spec), spec.beside)
    printed = Printer(origin).text(spec)
    tried = spec.definitions[-1].trial if spec.definitions else None
    if any(_keeps_apart(note.what) for note in notes.found):
        # Two draws are not to be compared, nor states in another order.
        tried = None
    if tried is not None:
        paddings = [name for name, _ in tried.inputs if "padding" in name]
        whole = tuple(dict.fromkeys((*tried.integers, *paddings))) if pads else ()
        tried = replace(tried, given=tuple(given.items()), unpadded=whole)
    for found_settings in configured:
        if thing in found_settings and tried is not None:
            tried = _of_settings(tried, found_settings[thing])
    functions = functions or objects.get(thing)
    if functions is not None and tried is not None:
        framework = "pair"
        keys = tuple((k, "key") for k in functions.keys)
        tried = replace(tried, pair=functions, keys=keys)
    return Converted(printed, framework, tuple(sorted(set(notes.found))), tried)
