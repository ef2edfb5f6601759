"""The first forms of code that are written in another way: those in which nothing is decided yet.

Each is a module with one function; what it finds no such form in, it leaves as it is.
"""

from __future__ import annotations

from mlax_scaffold.conversion.changes.kept_locals import with_kept_locals
from mlax_scaffold.conversion.changes.kept_weights import with_kept_weights
from mlax_scaffold.conversion.changes.weight_names import without_weight_names
from mlax_scaffold.conversion.forms.appended_weights import without_appended_weights
from mlax_scaffold.conversion.forms.autograd_functions import without_autograd_functions
from mlax_scaffold.conversion.forms.branch_locals import without_branch_locals
from mlax_scaffold.conversion.forms.called_bases import without_called_bases
from mlax_scaffold.conversion.forms.called_sequentials import without_called_sequentials
from mlax_scaffold.conversion.forms.called_texts import without_called_texts
from mlax_scaffold.conversion.forms.changed_numbers import without_changed_numbers
from mlax_scaffold.conversion.forms.checkpoint_names import with_checkpoint_names
from mlax_scaffold.conversion.forms.chex_assertions import without_chex_assertions
from mlax_scaffold.conversion.forms.chosen_calls import without_chosen_calls
from mlax_scaffold.conversion.forms.chosen_classes import without_chosen_classes
from mlax_scaffold.conversion.forms.chosen_functions import without_chosen_functions
from mlax_scaffold.conversion.forms.computed_again import without_computing_again
from mlax_scaffold.conversion.forms.counted_sizes import without_counted_sizes
from mlax_scaffold.conversion.forms.counted_whiles import without_counted_whiles
from mlax_scaffold.conversion.forms.cut_fractions import with_cut_fractions
from mlax_scaffold.conversion.forms.decode_caches import without_decode_caches
from mlax_scaffold.conversion.forms.derived_linen import without_derived_linen
from mlax_scaffold.conversion.forms.device_code import without_device_code
from mlax_scaffold.conversion.forms.dispatched_rows import without_dispatched_rows
from mlax_scaffold.conversion.forms.drawn_weights import with_drawn_weights
from mlax_scaffold.conversion.forms.field_types import with_field_types
from mlax_scaffold.conversion.forms.filled_sequentials import without_filled_sequentials
from mlax_scaffold.conversion.forms.functions_by_name import (
    without_functions_by_name,
)
from mlax_scaffold.conversion.forms.given_objects import without_given_objects
from mlax_scaffold.conversion.forms.helper_objects import without_helper_objects
from mlax_scaffold.conversion.forms.image_ranks import with_image_ranks
from mlax_scaffold.conversion.forms.inlined_methods import with_begun_attributes
from mlax_scaffold.conversion.forms.keyed_choices import without_keyed_choices
from mlax_scaffold.conversion.forms.known_absences import with_known_absences
from mlax_scaffold.conversion.forms.last_elements import without_last_elements
from mlax_scaffold.conversion.forms.layers_in_loops import with_layers_in_loops
from mlax_scaffold.conversion.forms.lazy_values import without_lazy_values
from mlax_scaffold.conversion.forms.library_decoders import without_library_decoders
from mlax_scaffold.conversion.forms.lifted_functions import without_inner_helpers
from mlax_scaffold.conversion.forms.listed_dictionaries import (
    without_listed_dictionaries,
)
from mlax_scaffold.conversion.forms.listed_parameters import with_listed_parameters
from mlax_scaffold.conversion.forms.listed_ranges import without_listed_ranges
from mlax_scaffold.conversion.forms.mapped_trees import without_mapped_trees
from mlax_scaffold.conversion.forms.masked_elements import without_masked_elements
from mlax_scaffold.conversion.forms.masked_rows import without_masked_rows
from mlax_scaffold.conversion.forms.masks_of_calls import without_masks_of_calls
from mlax_scaffold.conversion.forms.merged_settings import without_merged_settings
from mlax_scaffold.conversion.forms.module_functions import without_module_functions
from mlax_scaffold.conversion.forms.named_inputs import with_placed_inputs
from mlax_scaffold.conversion.forms.named_methods import without_named_methods
from mlax_scaffold.conversion.forms.named_values import without_named_values
from mlax_scaffold.conversion.forms.never_given_flags import without_never_given_flags
from mlax_scaffold.conversion.forms.number_kinds import with_number_kinds
from mlax_scaffold.conversion.forms.other_call_names import without_other_call_names
from mlax_scaffold.conversion.forms.outside_methods import without_outside_methods
from mlax_scaffold.conversion.forms.overwritten_inputs import (
    without_overwritten_inputs,
)
from mlax_scaffold.conversion.forms.packed_arrays import without_packs
from mlax_scaffold.conversion.forms.parameter_lists import with_parameter_lists
from mlax_scaffold.conversion.forms.parsed_arguments import without_parsed_arguments
from mlax_scaffold.conversion.forms.part_sizes import without_part_sizes
from mlax_scaffold.conversion.forms.partial_attributes import without_partial_attributes
from mlax_scaffold.conversion.forms.partial_classes import without_partial_classes
from mlax_scaffold.conversion.forms.partial_maps import without_partial_maps
from mlax_scaffold.conversion.forms.parts_methods import without_methods_of_sizes
from mlax_scaffold.conversion.forms.placed_arguments import with_placed_arguments
from mlax_scaffold.conversion.forms.promoted_dtypes import without_promoted_dtypes
from mlax_scaffold.conversion.forms.python_draws import without_python_draws
from mlax_scaffold.conversion.forms.read_arguments import with_read_arguments
from mlax_scaffold.conversion.forms.rematerialized import without_rematerialized
from mlax_scaffold.conversion.forms.rotated_heads import without_rotated_heads
from mlax_scaffold.conversion.forms.scanned_functions import without_scanned_functions
from mlax_scaffold.conversion.forms.scanned_lambdas import without_scanned_lambdas
from mlax_scaffold.conversion.forms.shardings import without_shardings
from mlax_scaffold.conversion.forms.single_results import with_single_results
from mlax_scaffold.conversion.forms.size_pairs import without_size_pairs
from mlax_scaffold.conversion.forms.sized_tensors import without_sized_tensors
from mlax_scaffold.conversion.forms.spaced_rates import without_spaced_rates
from mlax_scaffold.conversion.forms.stacked_layers import without_stacked_layers
from mlax_scaffold.conversion.forms.starred_keys import without_starred_keys
from mlax_scaffold.conversion.forms.starred_sizes import without_starred_sizes
from mlax_scaffold.conversion.forms.state_makers import without_state_makers
from mlax_scaffold.conversion.forms.strided_lists import without_strided_lists
from mlax_scaffold.conversion.forms.text_parameters import with_text_parameters
from mlax_scaffold.conversion.forms.titled_weights import with_titled_weights
from mlax_scaffold.conversion.forms.type_casts import without_type_casts
from mlax_scaffold.conversion.forms.unbiased_ends import without_unbiased_ends
from mlax_scaffold.conversion.forms.uncalled_layers import without_uncalled_layers
from mlax_scaffold.conversion.forms.unread_counters import without_unread_counters
from mlax_scaffold.conversion.forms.unread_locals import without_unread_lambdas
from mlax_scaffold.conversion.handed.always_functions import without_always_functions
from mlax_scaffold.conversion.handed.called_flags import without_called_flags
from mlax_scaffold.conversion.handed.filled_layers import without_filled_layers
from mlax_scaffold.conversion.handed.given_spaces import without_given_spaces
from mlax_scaffold.conversion.handed.handed_weights import with_handed_weights
from mlax_scaffold.conversion.handed.held_functions import without_held_functions
from mlax_scaffold.conversion.handed.layer_makers import without_layer_makers
from mlax_scaffold.conversion.handed.listed_makers import with_classes_of_makers
from mlax_scaffold.conversion.handed.shared_sequentials import (
    without_shared_sequentials,
)
from mlax_scaffold.conversion.handed.spread_arguments import without_spread_arguments
from mlax_scaffold.conversion.handed.spread_tuples import without_spread_tuples
from mlax_scaffold.conversion.handed.starred_parameters import (
    without_starred_parameters,
)
from mlax_scaffold.conversion.handed.zeroed_layers import without_zeroed_layers
from mlax_scaffold.conversion.lists.iterated_sequences import (
    without_iterated_sequences,
)
from mlax_scaffold.conversion.lists.lists_or_layers import with_lists_apart
from mlax_scaffold.conversion.lists.other_lists import without_other_lists
from mlax_scaffold.conversion.lists.weightless_lists import without_weightless_lists
from mlax_scaffold.conversion.lists.wrapped_lists import without_wrapped_lists
from mlax_scaffold.conversion.optimizers.absent_wrappers import without_absent_wrappers
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.made_of import leave_others_out
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin


def with_first_forms(origin: Origin, thing: str, notes: Notes) -> dict[str, str]:
    """Write a file without them, in place.

    Args:
        origin: the file.
        thing: the class or the function of it that is converted.
        notes: where to tell what is left out.

    Returns:
        What the original is given for parameters that are known then.
    """
    without_state_makers(origin)
    without_parsed_arguments(origin, thing, notes)
    without_library_decoders(origin)
    without_device_code(origin)
    without_sized_tensors(origin)
    with_placed_inputs(origin)
    with_listed_parameters(origin)
    with_classes_of_makers(origin, thing)
    without_other_call_names(origin, thing)
    without_masks_of_calls(origin)
    with_number_kinds(origin)
    with_field_types(origin)
    with_known_absences(origin)
    without_functions_by_name(origin, thing)
    with_text_parameters(origin, thing)
    with_cut_fractions(origin)
    without_other_lists(origin)
    without_merged_settings(origin)
    before = len(notes.found)
    without_outside_methods(origin, notes)
    leave_others_out(origin, thing, notes, before)
    with_titled_weights(origin)
    without_called_sequentials(origin)
    without_layer_makers(origin, thing, notes)
    without_zeroed_layers(origin, notes)
    without_computing_again(origin)
    with_kept_locals(origin)
    without_called_texts(origin, thing)
    with_begun_attributes(origin)
    without_type_casts(origin)
    without_promoted_dtypes(origin)
    without_partial_maps(origin)
    without_mapped_trees(origin)
    with_placed_arguments(origin)
    without_scanned_lambdas(origin)
    without_named_values(origin)
    without_shardings(origin, thing, notes)
    without_decode_caches(origin, thing, notes)
    without_given_objects(origin)
    without_module_functions(origin)
    without_spread_arguments(origin, thing, notes)
    without_filled_layers(origin, notes)
    without_spread_tuples(origin, thing)
    without_partial_classes(origin)
    without_partial_attributes(origin)
    without_absent_wrappers(origin, thing, notes)
    without_chex_assertions(origin)
    without_uncalled_layers(origin)
    with_layers_in_loops(origin, LAYERS)
    without_rematerialized(origin)
    without_packs(origin)
    without_lazy_values(origin)
    without_derived_linen(origin)
    with_checkpoint_names(origin)
    without_filled_sequentials(origin)
    without_shared_sequentials(origin)
    without_starred_keys(origin)
    without_starred_sizes(origin)
    without_starred_parameters(origin)
    without_inner_helpers(origin)
    without_listed_ranges(origin)
    without_appended_weights(origin)
    without_spaced_rates(origin)
    without_counted_sizes(origin)
    without_called_bases(origin)
    without_weight_names(origin)
    with_handed_weights(origin)
    with_single_results(origin)
    with_kept_weights(origin, notes)
    with_drawn_weights(origin)
    without_autograd_functions(origin, notes)
    without_named_methods(origin)
    without_dispatched_rows(origin, notes)
    without_masked_rows(origin, notes)
    without_masked_elements(origin)
    without_branch_locals(origin)
    without_iterated_sequences(origin)
    with_lists_apart(origin)
    without_listed_dictionaries(origin)
    without_helper_objects(origin)
    with_read_arguments(origin)
    without_unread_counters(origin)
    without_changed_numbers(origin)
    without_counted_whiles(origin)
    without_last_elements(origin)
    with_parameter_lists(origin)
    without_part_sizes(origin)
    without_overwritten_inputs(origin)
    without_methods_of_sizes(origin)
    without_size_pairs(origin)
    without_given_spaces(origin)
    without_python_draws(origin, thing, notes)
    with_image_ranks(origin)
    without_chosen_functions(origin)
    without_unread_lambdas(origin)
    without_unbiased_ends(origin)
    without_stacked_layers(origin)
    without_scanned_functions(origin)
    without_rotated_heads(origin)
    without_chosen_classes(origin, LAYERS)
    without_keyed_choices(origin, LAYERS)
    without_chosen_calls(origin)
    without_wrapped_lists(origin)
    without_weightless_lists(origin)
    without_strided_lists(origin)
    without_called_flags(origin, thing)
    without_never_given_flags(origin, thing)
    given = without_held_functions(origin, thing, notes)
    without_always_functions(origin, thing, notes)
    return given
