"""What is done to a class before it is read: other forms of the same become one."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.added_modules import without_added_modules
from mlax_scaffold.conversion.alternating_lists import without_alternating_lists
from mlax_scaffold.conversion.appended_lists import without_appended_lists
from mlax_scaffold.conversion.begun_layers import begun
from mlax_scaffold.conversion.chosen_layers import with_chosen_layers
from mlax_scaffold.conversion.composition import composed
from mlax_scaffold.conversion.joined_lists import without_joined_lists
from mlax_scaffold.conversion.key_loops import without_key_loops
from mlax_scaffold.conversion.lambda_locals import without_lambda_locals
from mlax_scaffold.conversion.last_branches import with_last_branches
from mlax_scaffold.conversion.later_layers import with_later_layers
from mlax_scaffold.conversion.layer_functions import written_out
from mlax_scaffold.conversion.lists_of_one_class import with_lists_of_one_class
from mlax_scaffold.conversion.literal_locals import with_literal_locals
from mlax_scaffold.conversion.local_functions import inlined
from mlax_scaffold.conversion.loop_ends import without_loop_ends
from mlax_scaffold.conversion.mapped_tuples import without_mapped_tuples
from mlax_scaffold.conversion.merged_branches import with_merged_branches
from mlax_scaffold.conversion.methods_of_classes import without_class_methods
from mlax_scaffold.conversion.named_attributes import without_named_attributes
from mlax_scaffold.conversion.nested_loops import without_nested_loops
from mlax_scaffold.conversion.notes import Notes
from mlax_scaffold.conversion.numbered_names import without_numbered_names
from mlax_scaffold.conversion.origin import Origin
from mlax_scaffold.conversion.paired_lists import without_paired_lists
from mlax_scaffold.conversion.part_attributes import without_part_attributes
from mlax_scaffold.conversion.private_names import publicized
from mlax_scaffold.conversion.rebound_names import without_rebound_names
from mlax_scaffold.conversion.shared_layers import with_shared_layers
from mlax_scaffold.conversion.tables import LAYERS
from mlax_scaffold.conversion.unrolled_lists import without_unrolled_lists
from mlax_scaffold.conversion.vocabulary import SEQUENTIAL


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
    inlined(node)
    begun(origin, node, LAYERS)
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
