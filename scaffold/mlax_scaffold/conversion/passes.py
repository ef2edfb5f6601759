"""Forms of code that are written in another way, in place and one after the other, before anything is read.

Each is a module with one function; what it finds no such form in, it leaves as it is.
"""

from __future__ import annotations

from mlax_scaffold.conversion.changes.changed_buffers import without_changed_buffers
from mlax_scaffold.conversion.changes.changed_weights import without_changed_weights
from mlax_scaffold.conversion.changes.in_place import without_in_place
from mlax_scaffold.conversion.first_forms import with_first_forms
from mlax_scaffold.conversion.forms.absent_inputs import with_absent_inputs
from mlax_scaffold.conversion.forms.absent_keys import without_absent_keys_apart
from mlax_scaffold.conversion.forms.absent_layers import without_absent_layers
from mlax_scaffold.conversion.forms.absent_rules import without_absent_rules
from mlax_scaffold.conversion.forms.aligned_images import without_aligned_images
from mlax_scaffold.conversion.forms.any_masks import without_any_masks
from mlax_scaffold.conversion.forms.array_assertions import without_array_assertions
from mlax_scaffold.conversion.forms.attention_weights import (
    with_attention_weights,
    without_attention_pairs,
)
from mlax_scaffold.conversion.forms.buffer_methods import with_inputs_for_buffers
from mlax_scaffold.conversion.forms.call_attributes import with_call_attributes
from mlax_scaffold.conversion.forms.call_flags import without_call_flags
from mlax_scaffold.conversion.forms.called_properties import with_called_properties
from mlax_scaffold.conversion.forms.chosen_lambdas import without_chosen_lambdas
from mlax_scaffold.conversion.forms.class_titles import with_class_titles
from mlax_scaffold.conversion.forms.conditional_rules import without_conditional_rules
from mlax_scaffold.conversion.forms.copied_tuples import without_copied_tuples
from mlax_scaffold.conversion.forms.counted_tokens import with_counted_tokens
from mlax_scaffold.conversion.forms.dependent_starts import without_dependent_starts
from mlax_scaffold.conversion.forms.direct_calls import without_direct_calls
from mlax_scaffold.conversion.forms.distributions import without_distributions
from mlax_scaffold.conversion.forms.drawing_functions import without_drawing_functions
from mlax_scaffold.conversion.forms.drawn_buffers import without_drawn_buffers
from mlax_scaffold.conversion.forms.drawn_weights import with_drawn_weights
from mlax_scaffold.conversion.forms.file_tables import with_file_tables
from mlax_scaffold.conversion.forms.fixed_axes import with_fixed_axes
from mlax_scaffold.conversion.forms.floating_powers import with_floating_powers
from mlax_scaffold.conversion.forms.fresh_arrays import without_fresh_changes
from mlax_scaffold.conversion.forms.function_fields import with_function_fields
from mlax_scaffold.conversion.forms.functions_by_name import (
    without_functions_by_name,
)
from mlax_scaffold.conversion.forms.given_keys import without_given_keys
from mlax_scaffold.conversion.forms.haiku_unrolls import without_unrolls
from mlax_scaffold.conversion.forms.handed_methods import (
    without_handed_layers_of_methods,
)
from mlax_scaffold.conversion.forms.handed_shapes import with_arrays_for_shapes
from mlax_scaffold.conversion.forms.handed_states import without_handed_states
from mlax_scaffold.conversion.forms.input_titles import with_own_titles
from mlax_scaffold.conversion.forms.joined_inputs import without_joined_inputs
from mlax_scaffold.conversion.forms.kept_keys import without_kept_keys
from mlax_scaffold.conversion.forms.kept_results import without_kept_results
from mlax_scaffold.conversion.forms.kernel_ranks import with_kernel_ranks
from mlax_scaffold.conversion.forms.keyed_weights import without_keyed_weights
from mlax_scaffold.conversion.forms.literal_modes import with_called_modes
from mlax_scaffold.conversion.forms.mapped_flags import without_mapped_flags
from mlax_scaffold.conversion.forms.mapped_functions import without_mapped_functions
from mlax_scaffold.conversion.forms.mapped_lambdas import without_mapped_lambdas
from mlax_scaffold.conversion.forms.mapped_layers import without_mapped_layers
from mlax_scaffold.conversion.forms.mask_methods import with_boolean_masks
from mlax_scaffold.conversion.forms.merged_layers import with_merged_layers
from mlax_scaffold.conversion.forms.mode_branches import without_mode_branches
from mlax_scaffold.conversion.forms.mode_inputs import with_mode_inputs
from mlax_scaffold.conversion.forms.mode_rates import without_mode_rates
from mlax_scaffold.conversion.forms.module_rules import without_module_rules
from mlax_scaffold.conversion.forms.nnx_modes import without_nnx_modes
from mlax_scaffold.conversion.forms.no_gradients import without_no_grad
from mlax_scaffold.conversion.forms.number_inputs import with_number_inputs
from mlax_scaffold.conversion.forms.number_tensors import without_number_tensors
from mlax_scaffold.conversion.forms.numeric_masks import without_numeric_masks
from mlax_scaffold.conversion.forms.open_calls import (
    without_open_calls,
    without_other_names,
)
from mlax_scaffold.conversion.forms.open_pools import without_open_pools
from mlax_scaffold.conversion.forms.other_titles import without_other_titles
from mlax_scaffold.conversion.forms.own_initializers import with_own_initializers
from mlax_scaffold.conversion.forms.parallel_assignments import (
    without_parallel_assignments,
)
from mlax_scaffold.conversion.forms.plain_classes import with_plain_classes
from mlax_scaffold.conversion.forms.present_layers import without_present_layers
from mlax_scaffold.conversion.forms.returned_distributions import (
    without_returned_distributions,
)
from mlax_scaffold.conversion.forms.rule_locals import without_rule_locals
from mlax_scaffold.conversion.forms.run_cells import without_runs
from mlax_scaffold.conversion.forms.sampled_images import without_sampled_images
from mlax_scaffold.conversion.forms.scalar_sizes import without_scalar_sizes
from mlax_scaffold.conversion.forms.scanned_cells import without_scanned_cells
from mlax_scaffold.conversion.forms.sequence_first import without_sequence_first
from mlax_scaffold.conversion.forms.setup_tables import with_tables_read
from mlax_scaffold.conversion.forms.shape_locals import without_shape_locals
from mlax_scaffold.conversion.forms.shape_sums import without_shape_sums
from mlax_scaffold.conversion.forms.shown_values import without_shown_values
from mlax_scaffold.conversion.forms.single_indices import without_single_indices
from mlax_scaffold.conversion.forms.small_helpers import without_small_helpers
from mlax_scaffold.conversion.forms.sown_values import without_sown
from mlax_scaffold.conversion.forms.static_locals import without_static_locals
from mlax_scaffold.conversion.forms.static_products import with_static_products
from mlax_scaffold.conversion.forms.told_dtypes import without_told_dtypes
from mlax_scaffold.conversion.forms.told_sizes import with_told_sizes
from mlax_scaffold.conversion.forms.told_views import without_named_shapes
from mlax_scaffold.conversion.forms.truth_parameters import with_truth_parameters
from mlax_scaffold.conversion.forms.tuple_paddings import with_tuple_paddings
from mlax_scaffold.conversion.forms.uniform_sizes import with_uniform_sizes
from mlax_scaffold.conversion.forms.unpacked_parts import with_unpacked_parts
from mlax_scaffold.conversion.forms.unrolled_calls import without_nested_calls
from mlax_scaffold.conversion.forms.weightless_layers import without_weightless_layers
from mlax_scaffold.conversion.forms.written_norms import without_unusual_norms
from mlax_scaffold.conversion.handed.called_layers import with_called_layers
from mlax_scaffold.conversion.handed.called_parts import with_called_parts
from mlax_scaffold.conversion.handed.computed_settings import with_computed_settings
from mlax_scaffold.conversion.handed.config_fields import with_settings
from mlax_scaffold.conversion.handed.config_uses import Configured
from mlax_scaffold.conversion.handed.default_functions import without_default_functions
from mlax_scaffold.conversion.handed.demanded_defaults import without_demanded_defaults
from mlax_scaffold.conversion.handed.derived_layers import without_derived_layers
from mlax_scaffold.conversion.handed.field_instances import with_field_instances
from mlax_scaffold.conversion.handed.fixed_parameters import without_fixed_parameters
from mlax_scaffold.conversion.handed.functions_of_layers import (
    without_functions_of_layers,
)
from mlax_scaffold.conversion.handed.given_functions import without_given_functions
from mlax_scaffold.conversion.handed.given_inputs import with_given_inputs
from mlax_scaffold.conversion.handed.given_instances import without_given_instances
from mlax_scaffold.conversion.handed.given_layers import without_given_layers
from mlax_scaffold.conversion.handed.handed_layers import without_handed_layers
from mlax_scaffold.conversion.handed.handed_sizes import without_handed_sizes
from mlax_scaffold.conversion.handed.making_functions import without_making_functions
from mlax_scaffold.conversion.handed.making_locals import without_making_locals
from mlax_scaffold.conversion.handed.making_methods import without_making_methods
from mlax_scaffold.conversion.handed.named_classes import without_class_names
from mlax_scaffold.conversion.handed.parts_of_layers import without_parts_of_layers
from mlax_scaffold.conversion.handed.passed_keywords import without_passed_keywords
from mlax_scaffold.conversion.handed.settled_numbers import without_settled_numbers
from mlax_scaffold.conversion.handed.settled_settings import with_settled_settings
from mlax_scaffold.conversion.handed.several_makers import with_classes_for_makers
from mlax_scaffold.conversion.handed.told_arguments import without_told_arguments
from mlax_scaffold.conversion.handed.unanimous_layers import with_unanimous_layers
from mlax_scaffold.conversion.handed.wrapped_layers import without_wrappers
from mlax_scaffold.conversion.lists.comprehended_loops import with_comprehended_loops
from mlax_scaffold.conversion.lists.iterated_dictionaries import (
    without_iterated_dictionaries,
)
from mlax_scaffold.conversion.lists.later_layers import with_wrapping_layers
from mlax_scaffold.conversion.lists.parted_sequences import without_parted_sequences
from mlax_scaffold.conversion.lists.run_constructors import with_run_constructors
from mlax_scaffold.conversion.lists.settled_classes import with_settled_classes
from mlax_scaffold.conversion.lists.settled_loops import with_settled_loops
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.made_of import leave_others_out
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin


def with_plain_forms(
    origin: Origin, thing: str, notes: Notes, *, run: int
) -> tuple[dict[str, str], list[dict[str, Configured]]]:
    """Write a file in the forms that are read.

    Args:
        origin: the file.
        thing: the class or the function of it that is converted.
        notes: where to tell what is left out.
        run: how far constructors are run: 0 is not at all, 1 where lists of layers depend on it, 2 with all
            that they are given by default but for numbers, 3 with these.

    Returns:
        What the original is given for parameters that are known then, and what each class has in the place
        of a configuration.
    """
    given = with_first_forms(origin, thing, notes)
    with_mode_inputs(origin, thing)
    with_comprehended_loops(origin)
    if not run:
        without_parted_sequences(origin)
    without_sampled_images(origin)
    without_unusual_norms(origin)
    without_distributions(origin)
    without_open_pools(origin)
    without_number_tensors(origin)
    with_floating_powers(origin)
    with_computed_settings(origin)
    with_settled_settings(origin)
    with_called_properties(origin)
    with_inputs_for_buffers(origin)
    without_other_titles(origin, thing)
    with_function_fields(origin)
    without_weightless_layers(origin, thing)
    with_call_attributes(origin)
    without_open_calls(origin)
    without_other_names(origin)
    without_handed_layers_of_methods(origin)
    without_given_keys(origin)
    without_absent_keys_apart(origin)
    before = len(notes.found)
    without_handed_states(origin, notes)
    leave_others_out(origin, thing, notes, before)
    without_mode_branches(origin)
    without_kept_keys(origin)
    without_scalar_sizes(origin)
    without_nnx_modes(origin)
    with_told_sizes(origin)
    without_shape_locals(origin)
    without_shape_sums(origin)
    without_told_arguments(origin, thing, notes)
    configured: list[dict[str, Configured]] = []
    with_settled_loops(origin, thing, notes, skips=True)
    if run:
        # What a constructor is run with may be a setting.
        configured += [with_settings(origin), with_settings(origin)]
        without_passed_keywords(origin, thing, notes)
        without_nested_calls(origin, thing, notes)
        without_small_helpers(origin)
        without_default_functions(origin)
        with_settled_loops(origin, thing, notes)
        given |= (
            with_settled_classes(origin, thing, notes, numbers=run > 2)
            if run > 1
            else with_run_constructors(origin, thing, notes)
        )
        # What a function made and filled stands in the constructor by now.
        with_drawn_weights(origin)
    without_handed_sizes(origin, thing)
    without_told_dtypes(origin)
    without_fresh_changes(origin)
    without_attention_pairs(origin)
    without_sequence_first(origin)
    with_class_titles(origin, thing)
    without_absent_rules(origin, notes)
    without_module_rules(origin, notes)
    without_keyed_weights(origin)
    with_own_initializers(origin)
    with_merged_layers(origin)
    without_mapped_lambdas(origin)
    without_mapped_flags(origin)
    without_mapped_functions(origin)
    without_chosen_lambdas(origin)
    before = len(notes.found)
    without_mode_rates(origin, notes)
    leave_others_out(origin, thing, notes, before)
    with_called_modes(origin)
    without_array_assertions(origin, thing, notes)
    with_plain_classes(origin, notes, thing)
    with_called_parts(origin, thing)
    with_called_layers(origin)
    without_direct_calls(origin)
    without_aligned_images(origin)
    without_small_helpers(origin)
    without_copied_tuples(origin)
    with_arrays_for_shapes(origin)
    without_dependent_starts(origin, notes)
    without_single_indices(origin)
    without_parallel_assignments(origin)
    with_tuple_paddings(origin)
    with_fixed_axes(origin, thing)
    with_wrapping_layers(origin)
    without_conditional_rules(origin, thing, notes)
    without_fixed_parameters(origin, thing, notes)
    without_absent_layers(origin, thing, notes)
    without_present_layers(origin)
    given |= with_file_tables(origin, thing, notes)
    without_iterated_dictionaries(origin, notes)
    given |= without_handed_layers(origin, thing)
    without_given_functions(origin)
    without_parts_of_layers(origin, thing)
    without_functions_of_layers(origin)
    without_making_functions(origin, LAYERS)
    without_making_locals(origin, LAYERS)
    without_making_methods(origin, thing, LAYERS, notes)
    without_default_functions(origin)
    without_kept_results(origin, notes)
    without_derived_layers(origin)
    without_drawn_buffers(origin, notes)
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
    # What scanned layers are handed is seen once they are in a loop.
    without_mapped_layers(origin)
    # A class may be given several configurations.
    configured += [with_settings(origin), with_settings(origin)]
    with_kernel_ranks(origin)
    # What a configuration names is a field by now.
    without_functions_by_name(origin, thing)
    with_truth_parameters(origin)
    with_tables_read(origin)
    without_static_locals(origin)
    without_rule_locals(origin)
    with_own_titles(origin, thing, notes)
    without_call_flags(origin, thing, notes)
    with_absent_inputs(origin, thing)
    with_counted_tokens(origin, thing)
    with_number_inputs(origin, thing, notes)
    without_settled_numbers(origin, thing, notes)
    with_attention_weights(origin)
    with_given_inputs(origin, thing)
    with_static_products(origin)
    with_unpacked_parts(origin)
    without_any_masks(origin)
    with_boolean_masks(origin)
    without_numeric_masks(origin)
    without_wrappers(origin)
    before = len(notes.found)
    with_classes_for_makers(origin, thing, LAYERS)
    without_given_layers(origin, thing, LAYERS, notes)
    leave_others_out(origin, thing, notes, before)
    given |= with_field_instances(origin, thing, LAYERS, notes)
    without_given_instances(origin, LAYERS)
    without_mapped_layers(origin)
    without_scanned_cells(origin)
    without_runs(origin)
    before = len(notes.found)
    without_shown_values(origin, notes)
    without_returned_distributions(origin, notes)
    leave_others_out(origin, thing, notes, before)
    without_unrolls(origin)
    without_sown(origin, thing, notes)
    return given, configured
