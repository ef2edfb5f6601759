"""What is done to a class before it is read: other forms of the same become one."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.last_branches import with_last_branches
from mlax_scaffold.conversion.forms.literal_locals import with_literal_locals
from mlax_scaffold.conversion.forms.local_functions import inlined
from mlax_scaffold.conversion.forms.loop_ends import without_loop_ends
from mlax_scaffold.conversion.forms.mapped_tuples import without_mapped_tuples
from mlax_scaffold.conversion.forms.methods_of_classes import without_class_methods
from mlax_scaffold.conversion.forms.private_names import publicized
from mlax_scaffold.conversion.forms.rebound_names import without_rebound_names
from mlax_scaffold.conversion.handed.begun_layers import begun
from mlax_scaffold.conversion.handed.composition import composed
from mlax_scaffold.conversion.handed.lambda_locals import without_lambda_locals
from mlax_scaffold.conversion.handed.layer_functions import written_out
from mlax_scaffold.conversion.handed.replaced_weights import without_replaced_weights
from mlax_scaffold.conversion.lists.added_modules import without_added_modules
from mlax_scaffold.conversion.lists.alternating_lists import without_alternating_lists
from mlax_scaffold.conversion.lists.appended_lists import without_appended_lists
from mlax_scaffold.conversion.lists.chosen_layers import with_chosen_layers
from mlax_scaffold.conversion.lists.joined_lists import without_joined_lists
from mlax_scaffold.conversion.lists.key_loops import without_key_loops
from mlax_scaffold.conversion.lists.later_layers import with_later_layers
from mlax_scaffold.conversion.lists.lists_of_one_class import with_lists_of_one_class
from mlax_scaffold.conversion.lists.merged_branches import with_merged_branches
from mlax_scaffold.conversion.lists.named_attributes import without_named_attributes
from mlax_scaffold.conversion.lists.nested_loops import without_nested_loops
from mlax_scaffold.conversion.lists.numbered_names import without_numbered_names
from mlax_scaffold.conversion.lists.paired_lists import without_paired_lists
from mlax_scaffold.conversion.lists.part_attributes import (
    with_kept_indices,
    without_part_attributes,
)
from mlax_scaffold.conversion.lists.shared_layers import with_shared_layers
from mlax_scaffold.conversion.lists.unrolled_lists import without_unrolled_lists
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL


def prepare(origin: Origin, node: ast.ClassDef, notes: Notes) -> None:
    """Change a class in place."""
    without_class_methods(node)
    with_lists_of_one_class(origin, node, LAYERS)
    without_numbered_names(origin, node)
    without_named_attributes(origin, node)
    with_last_branches(node)
    without_loop_ends(node, notes)
    with_later_layers(node)
    with_merged_branches(origin, node)
    without_unrolled_lists(origin, node)
    without_lambda_locals(origin, node)
    without_part_attributes(origin, node, LAYERS)
    with_kept_indices(origin, node)
    inlined(node)
    begun(origin, node, LAYERS)
    without_replaced_weights(origin, node, notes)
    written_out(origin, node, (*LAYERS, *SEQUENTIAL))
    with_chosen_layers(origin, node, (*LAYERS, *SEQUENTIAL))
    without_added_modules(origin, node)
    with_shared_layers(origin, node)
    without_appended_lists(origin, node)
    without_joined_lists(node)
    without_mapped_tuples(node)
    without_paired_lists(origin, node)
    without_alternating_lists(origin, node)
    without_key_loops(origin, node)
    without_nested_loops(origin, node, LAYERS)
    with_literal_locals(node)
    without_rebound_names(node)
    composed(origin, node, (*LAYERS, *SEQUENTIAL), notes)
    publicized(node)
