from mlax_scaffold.spec import Bool, function


@function
def combine_masks(
    first: Bool["..."],
    second: Bool["..."] | None = None,
    third: Bool["..."] | None = None,
    fourth: Bool["..."] | None = None,
) -> Bool["..."]:
    """True where all masks are that are given; they broadcast."""
    for mask in (second, third, fourth):
        first = first if mask is None else first & mask
    return first
