import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Int, Size, function, segment_sum


@function
def pair_counts(
    rows: Int["*shape"],
    columns: Int["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    row_count: Size,  #: number of rows
    column_count: Size,  #: number of columns
) -> Int["row_count column_count"]:
    """How often each pair of numbers occurs, as a matrix.

    Of labels and predictions it is the confusion matrix. Counts are int32. Pairs that
    `where` leaves out count nothing, nor do those of which one number is none of a row
    or a column.
    """
    # A number of rows may be none of int8.
    rows, columns = (
        x.astype(jnp.int32) if x.dtype.itemsize < 4 else x for x in (rows, columns)
    )
    known = (rows >= 0) & (rows < row_count) & (columns >= 0) & (columns < column_count)
    if where is not None:
        known = known & where
    place = rows.astype(jnp.int32) * column_count + columns.astype(jnp.int32)
    place = jnp.where(known, place, -1).reshape(-1)
    ones = known.reshape(-1).astype(jnp.int32)
    return segment_sum(ones, place, row_count * column_count).reshape(
        row_count, column_count
    )
