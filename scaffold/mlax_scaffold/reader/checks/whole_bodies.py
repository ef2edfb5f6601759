"""The checks that look at whole bodies, in the order in which they report."""

from __future__ import annotations

from mlax_scaffold.reader.checks.changes import check_changes
from mlax_scaffold.reader.checks.choices import check_choices
from mlax_scaffold.reader.checks.coefficients import check_coefficients
from mlax_scaffold.reader.checks.complex_dtypes import check_complex_dtypes
from mlax_scaffold.reader.checks.corrections import check_corrections
from mlax_scaffold.reader.checks.declared_in_bodies import check_declared
from mlax_scaffold.reader.checks.drawn_choices import check_drawn_choices
from mlax_scaffold.reader.checks.draws import check_fixed_keys, check_mapped_keys
from mlax_scaffold.reader.checks.first_steps import check_first_steps
from mlax_scaffold.reader.checks.given_dtype import check_given_dtype
from mlax_scaffold.reader.checks.half_precision import check_half_precision
from mlax_scaffold.reader.checks.late_binding import check_late_binding
from mlax_scaffold.reader.checks.moment_counts import check_moment_counts
from mlax_scaffold.reader.checks.numpy_arrays import check_numpy_arrays
from mlax_scaffold.reader.checks.numpy_numbers import (
    check_initializer_numbers,
    check_numpy_numbers,
)
from mlax_scaffold.reader.checks.other_keywords import check_other_keywords
from mlax_scaffold.reader.checks.ranges import check_ranges
from mlax_scaffold.reader.checks.real_inputs import check_real_inputs
from mlax_scaffold.reader.checks.scatters import check_scatters
from mlax_scaffold.reader.checks.strict_values import check_strict_values
from mlax_scaffold.reader.checks.vanishing import check_vanishing

CHECKS = (
    check_declared,
    check_other_keywords,
    check_complex_dtypes,
    check_numpy_numbers,
    check_numpy_arrays,
    check_ranges,
    check_real_inputs,
    check_scatters,
    check_strict_values,
    check_half_precision,
    check_given_dtype,
    check_drawn_choices,
    check_fixed_keys,
    check_mapped_keys,
    check_late_binding,
    check_changes,
    check_choices,
    check_coefficients,
    check_corrections,
    check_first_steps,
    check_moment_counts,
    check_vanishing,
)
"""Each is called with the source, the method, its attributes and what is imported."""

OF_SETUP = (check_initializer_numbers,)
"""What setup computes once becomes numbers of Python, but for what initializers read."""
