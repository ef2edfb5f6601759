"""A function of any number of inputs."""

from mlax_scaffold.reader.specs import read_spec
from mlax_scaffold.render.signatures import function_call

SPEC = '''from mlax_scaffold.spec import PyTree, function


@function
def chosen(x: PyTree, *others: PyTree, place: int = 0) -> PyTree:
    """One of several inputs."""
    return (x, *others)[place]
'''


def test_what_follows_further_inputs_is_given_by_its_name():
    definition, findings = read_spec("specs/functional/chosen.py", SPEC)
    assert not findings
    assert definition is not None
    signature = function_call(definition)
    assert signature.text == "chosen(x: Any, *others: Any, place: int = 0) -> Any"
    assert dict(signature.docs)["*others"].startswith("any number of further inputs")


def test_further_inputs_are_trees_of_functions():
    arrays = SPEC.replace("*others: PyTree", '*others: Float["..."]')
    arrays = arrays.replace("import PyTree", "import Float, PyTree")
    _, findings = read_spec("specs/functional/chosen.py", arrays)
    assert [finding.hint for finding in findings] == [
        "A function may have `*others: PyTree`."
    ]
