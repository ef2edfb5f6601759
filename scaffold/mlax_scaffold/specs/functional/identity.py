from mlax_scaffold.spec import PyTree, function


@function
def identity(x: PyTree) -> PyTree:
    """The input itself."""
    return x
