from mlax_scaffold.spec import PyTree, function


@function
def identity(x: PyTree, *others: PyTree) -> PyTree:
    """The input itself; of several inputs the tuple of them."""
    return (x, *others) if others else x
