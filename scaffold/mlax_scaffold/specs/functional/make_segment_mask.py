from mlax_scaffold.spec import Bool, Int, function


@function
def make_segment_mask(
    queries: Int["*batch queries"], keys: Int["*batch keys"]
) -> Bool["*batch 1 queries keys"]:
    """True where a query and a key belong to the same segment, for all heads.

    Of sequences that are packed into one, each position has the number of its own.
    Padding is a segment, too: leave its loss out, or combine this with a mask of what is
    there.
    """
    return queries[..., None, :, None] == keys[..., None, None, :]
