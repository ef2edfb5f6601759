from mlax_scaffold.spec import Bool, function


@function
def make_attention_mask(
    queries: Bool["*batch queries"], keys: Bool["*batch keys"]
) -> Bool["*batch 1 queries keys"]:
    """True where a query and a key are both there, for all heads.

    As a mask of attention; a causal one beside it is `causal=True`.
    """
    return queries[..., None, :, None] & keys[..., None, None, :]
