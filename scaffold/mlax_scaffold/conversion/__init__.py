"""Code that people have, as specs: read and never run.

`convert` finds a class or a function in a file and tells its kind. A front end for each library makes a small
description of it, and one back end prints that as a spec. What has no counterpart is noted with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace

from mlax_scaffold.conversion.changes.changed_buffers import without_changed_buffers
from mlax_scaffold.conversion.changes.changed_weights import without_changed_weights
from mlax_scaffold.conversion.changes.in_place import without_in_place
from mlax_scaffold.conversion.definitions.functions import (
    function_definition,
    library_of,
)
from mlax_scaffold.conversion.definitions.pairs import pair_class
from mlax_scaffold.conversion.definitions.programs import Program
from mlax_scaffold.conversion.forms.absent_rules import without_absent_rules
from mlax_scaffold.conversion.forms.aligned_images import without_aligned_images
from mlax_scaffold.conversion.forms.array_assertions import without_array_assertions
from mlax_scaffold.conversion.forms.called_properties import with_called_properties
from mlax_scaffold.conversion.forms.chosen_lambdas import without_chosen_lambdas
from mlax_scaffold.conversion.forms.class_titles import with_class_titles
from mlax_scaffold.conversion.forms.conditional_rules import without_conditional_rules
from mlax_scaffold.conversion.forms.device_code import without_device_code
from mlax_scaffold.conversion.forms.direct_calls import without_direct_calls
from mlax_scaffold.conversion.forms.drawing_functions import without_drawing_functions
from mlax_scaffold.conversion.forms.einops_calls import without_einops
from mlax_scaffold.conversion.forms.file_tables import with_file_tables
from mlax_scaffold.conversion.forms.fixed_axes import with_fixed_axes
from mlax_scaffold.conversion.forms.fresh_arrays import without_fresh_changes
from mlax_scaffold.conversion.forms.haiku_functions import transformed
from mlax_scaffold.conversion.forms.haiku_unrolls import without_unrolls
from mlax_scaffold.conversion.forms.joined_inputs import without_joined_inputs
from mlax_scaffold.conversion.forms.kept_results import without_kept_results
from mlax_scaffold.conversion.forms.known_tuples import without_known_tuples
from mlax_scaffold.conversion.forms.made_classes import with_made_class
from mlax_scaffold.conversion.forms.mapped_functions import without_mapped_functions
from mlax_scaffold.conversion.forms.mapped_layers import without_mapped_layers
from mlax_scaffold.conversion.forms.mode_rates import without_mode_rates
from mlax_scaffold.conversion.forms.named_results import without_named_results
from mlax_scaffold.conversion.forms.no_gradients import without_no_grad
from mlax_scaffold.conversion.forms.number_inputs import with_number_inputs
from mlax_scaffold.conversion.forms.numeric_masks import without_numeric_masks
from mlax_scaffold.conversion.forms.parallel_assignments import (
    without_parallel_assignments,
)
from mlax_scaffold.conversion.forms.plain_classes import with_plain_classes
from mlax_scaffold.conversion.forms.repeats import called_once
from mlax_scaffold.conversion.forms.run_cells import without_runs
from mlax_scaffold.conversion.forms.scanned_cells import without_scanned_cells
from mlax_scaffold.conversion.forms.sequence_first import without_sequence_first
from mlax_scaffold.conversion.forms.shown_values import without_shown_values
from mlax_scaffold.conversion.forms.small_helpers import without_small_helpers
from mlax_scaffold.conversion.forms.sown_values import without_sown
from mlax_scaffold.conversion.forms.static_products import with_static_products
from mlax_scaffold.conversion.forms.told_dtypes import without_told_dtypes
from mlax_scaffold.conversion.forms.told_views import without_named_shapes
from mlax_scaffold.conversion.forms.truth_parameters import with_truth_parameters
from mlax_scaffold.conversion.forms.tuple_paddings import with_tuple_paddings
from mlax_scaffold.conversion.forms.uniform_sizes import with_uniform_sizes
from mlax_scaffold.conversion.handed.config_fields import (
    Configured,
    dotted,
    with_settings,
)
from mlax_scaffold.conversion.handed.default_functions import without_default_functions
from mlax_scaffold.conversion.handed.demanded_defaults import without_demanded_defaults
from mlax_scaffold.conversion.handed.derived_layers import without_derived_layers
from mlax_scaffold.conversion.handed.fixed_parameters import without_fixed_parameters
from mlax_scaffold.conversion.handed.functions_of_layers import (
    without_functions_of_layers,
)
from mlax_scaffold.conversion.handed.given_functions import without_given_functions
from mlax_scaffold.conversion.handed.given_instances import without_given_instances
from mlax_scaffold.conversion.handed.given_layers import without_given_layers
from mlax_scaffold.conversion.handed.handed_layers import without_handed_layers
from mlax_scaffold.conversion.handed.named_classes import without_class_names
from mlax_scaffold.conversion.handed.passed_keywords import without_passed_keywords
from mlax_scaffold.conversion.handed.settled_settings import with_settled_settings
from mlax_scaffold.conversion.handed.told_arguments import without_told_arguments
from mlax_scaffold.conversion.handed.unanimous_layers import with_unanimous_layers
from mlax_scaffold.conversion.handed.wrapped_layers import without_wrappers
from mlax_scaffold.conversion.lists.later_layers import with_wrapping_layers
from mlax_scaffold.conversion.lists.run_constructors import with_run_constructors
from mlax_scaffold.conversion.output.choices import with_choices
from mlax_scaffold.conversion.output.description import Described, Trial
from mlax_scaffold.conversion.output.leftovers import refuse_leftovers
from mlax_scaffold.conversion.output.printing import Printer, renamed_locals
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.notes import ConversionError, Note, Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.vocabulary import flags
from mlax_scaffold.errors import UsageError

__all__ = ["ConversionError", "Converted", "Note", "convert"]


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


def _of_haiku(origin: Origin, node: ast.AST) -> bool:
    return any(
        origin.qualified(n).startswith("haiku.")
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute | ast.Name)
    )


def _of_settings(tried: Trial, made: Configured) -> Trial:
    """The trial of a class that the original gives a configuration, by its class."""
    settings = dict(dotted(made))
    pairs = tuple((settings.get(p, p), f) for p, f in tried.parameters)
    modes = tuple(s for title, s in settings.items() if flags([title]))
    return replace(
        tried,
        parameters=pairs,
        flags=(*tried.flags, *modes),
        settings=(*tried.settings, (made.parameter, made.kind)),
    )


def convert(
    path: str,
    text: str,
    thing: str,
    name: str,
    kind: str = "LAYER",
    taken: Collection[str] = (),
) -> Converted:
    """The spec of a class or a function of a file.

    Args:
        path: the file, as messages call it.
        text: what is in it.
        thing: the name of the class or the function there.
        name: the name of the definition.
        kind: "LAYER", "FUNCTION" or "OPTIMIZER".
        taken: names that definitions have already, which those beside it may not have.

    Raises:
        UsageError: the file is not Python, or has no such thing, or one of another kind.
    """
    made = _converted(path, text, thing, name, kind, taken)
    if made.whole or kind != "LAYER":
        return made
    try:
        written = _converted(path, text, thing, name, kind, taken, run=True)
    except (UsageError, ConversionError):
        return made
    return written if written.whole else made


def _converted(
    path: str,
    text: str,
    thing: str,
    name: str,
    kind: str,
    taken: Collection[str],
    *,
    run: bool = False,
) -> Converted:
    """The spec; with constructors run as far as they are known, where that is asked for."""
    origin, notes = Origin.read(path, text), Notes()
    if kind == "LAYER":
        with_made_class(origin, thing)
    without_device_code(origin)
    with_settled_settings(origin)
    with_called_properties(origin)
    without_told_arguments(origin, thing, notes)
    given: dict[str, str] = {}
    if run:
        without_small_helpers(origin)
        without_default_functions(origin)
        given = with_run_constructors(origin, thing, notes)
    without_told_dtypes(origin)
    without_fresh_changes(origin)
    without_sequence_first(origin)
    with_class_titles(origin, thing)
    without_absent_rules(origin, notes)
    without_mapped_functions(origin)
    without_chosen_lambdas(origin)
    without_mode_rates(origin)
    without_array_assertions(origin, thing, notes)
    with_plain_classes(origin, notes, thing)
    without_direct_calls(origin)
    without_aligned_images(origin)
    without_small_helpers(origin)
    without_parallel_assignments(origin)
    with_tuple_paddings(origin)
    with_fixed_axes(origin, thing)
    with_wrapping_layers(origin)
    without_conditional_rules(origin, thing, notes)
    without_fixed_parameters(origin, thing, notes)
    with_file_tables(origin, thing, notes)
    without_handed_layers(origin, thing)
    without_given_functions(origin)
    without_functions_of_layers(origin)
    without_default_functions(origin)
    without_kept_results(origin)
    without_derived_layers(origin)
    without_changed_buffers(origin)
    without_changed_weights(origin, thing, notes)
    with_uniform_sizes(origin)
    without_named_shapes(origin)
    without_no_grad(origin)
    without_joined_inputs(origin, thing)
    without_in_place(origin, thing, notes)
    without_class_names(origin, notes)
    without_demanded_defaults(origin, thing, notes)
    with_truth_parameters(origin)
    without_passed_keywords(origin, thing, notes)
    without_drawing_functions(origin)
    with_unanimous_layers(origin, thing, LAYERS)
    # A class may be given several configurations.
    configured = [with_settings(origin), with_settings(origin)]
    with_number_inputs(origin, notes)
    with_static_products(origin)
    without_numeric_masks(origin)
    without_wrappers(origin)
    without_given_layers(origin, LAYERS, notes)
    without_given_instances(origin, LAYERS)
    without_mapped_layers(origin)
    without_scanned_cells(origin)
    without_runs(origin)
    without_shown_values(origin, notes)
    without_unrolls(origin)
    without_sown(origin, notes)
    known = origin.classes.get(thing) or origin.functions.get(thing)
    pair, functions = None, None
    if kind == "LAYER" and not (
        isinstance(known, ast.ClassDef) and is_layer_class(origin, known)
    ):
        found = pair_class(origin, known, thing, notes)
        pair, functions = found or (transformed(origin, known, _of_haiku), None)
    node = pair or origin.thing(thing)
    if pair is None and kind != "OPTIMIZER":
        without_named_results(origin, notes)
        without_einops(origin)
    if kind == "FUNCTION":
        if not isinstance(node, ast.FunctionDef):
            raise UsageError(
                f"{path}:{node.lineno}: {thing} is a class, which becomes a layer: "
                f"mlax-scaffold new-layer {thing} --from {path}:{thing}"
            )
        spec = function_definition(origin, node, notes, name)
        framework = library_of(origin, node)
    elif kind == "OPTIMIZER":
        from mlax_scaffold.conversion.optimizers.optimizers import optimizer_definition

        spec = optimizer_definition(origin, node, notes, name)
        framework = "optax"
    elif isinstance(node, ast.ClassDef) and is_layer_class(origin, node):
        framework = framework_of(origin, node) if node is not pair else ""
        framework = framework or ("haiku" if _of_haiku(origin, node) else "plain")
        spec = Program(origin, notes, name, taken).layers(node, framework)
    else:
        raise UsageError(
            f"{path}:{node.lineno}: {thing} is no layer: expected a class with a method "
            "`__call__` or `forward`, or a pair of functions `init` and `apply`; a function over "
            f"arrays is converted by `mlax-scaffold new-function NAME --from {path}:{thing}`"
        )
    refuse_leftovers(origin, notes, spec)
    spec = with_choices(spec)
    for definition in spec.definitions:
        methods = (
            definition.methods
            if isinstance(definition, Described)
            else (definition.node,)
        )
        for method in methods:
            without_known_tuples(method)
            called_once(method)
        renamed_locals(methods)
    renamed_locals(part for part in spec.beside if isinstance(part, ast.FunctionDef))
    printed = Printer(origin).text(spec)
    tried = spec.definitions[-1].trial if spec.definitions else None
    apart = ("in inference too", "is the pair (cell, hidden)")
    if any(text in note.what for note in notes.found for text in apart):
        # Two draws are not to be compared, nor states in another order.
        tried = None
    if tried is not None:
        tried = replace(tried, given=tuple(given.items()))
    for found_settings in configured:
        if thing in found_settings and tried is not None:
            tried = _of_settings(tried, found_settings[thing])
    if functions is not None and tried is not None:
        framework = "pair"
        keys = tuple((k, "key") for k in functions.keys)
        tried = replace(tried, pair=functions, keys=keys)
    return Converted(printed, framework, tuple(sorted(set(notes.found))), tried)
