"""Whatever stands in a generated file: importing it runs what is on the list, or the file is refused."""

from __future__ import annotations

import pytest

from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import draft
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate.imports import (
    GateFault,
    check_import,
    check_test_import,
)

PROJECT = Project("gated", "specs", "gated", "tests", "docs")
LAYER = '''import math

from mlax_scaffold.spec import Activation, Float, Initializer, Layer, Literal, Size, gelu
from mlax_scaffold.spec import lecun_normal, require, trainable, zeros
from mlax_scaffold.specs.nn.linear import Linear


class Example(Layer):
    """A spec of a test."""

    size: Size = 3  #: a size
    turn: float = 2 * math.pi  #: an angle
    activation: Activation = gelu  #: a function
    mode: Literal["a", "b"] = "a"  #: a choice
    kernel_initializer: Initializer = lecun_normal(in_axis=0)  #: of the map

    def setup(self):
        require(self.size % 2 == 1, "size must be odd")
        self.shift = trainable(zeros, (self.size,))
        self.scale = trainable(lambda k, s, d=float: zeros(k, s, d), (3,))
        self.linear = Linear(
            self.size, self.size, kernel_initializer=self.kernel_initializer
        )

    def scaled(self, by: float = 1.0) -> float:
        return self.turn * by

    def forward(self, x: Float["*batch size"]) -> Float["*batch size"]:
        return self.activation(self.linear(x) + self.shift) * self.scaled(2.0)
'''


@pytest.fixture(scope="module")
def files() -> tuple[Rendered, ...]:
    """The module, its tests and the module class."""
    spec = SpecFile("specs/nn/example.py", "nn", LAYER)
    library = read_library((spec,), find_specs(LIBRARY_SPECS, "library"))
    definition = next(d for d in library if d.source == spec.path)
    made = draft(definition, library, PROJECT)
    formatted = format_python(made.files, PROJECT.package)
    made.check({f.path: f for f in formatted})
    # The module of the pair, its tests, the module class.
    return tuple(sorted(formatted, key=lambda f: ("/graph/" in f.path, f.path)))


def changed(file: Rendered, old: str, new: str) -> Rendered:
    assert old in file.text, file.text
    return Rendered(file.path, file.text.replace(old, new, 1), file.source)


HOSTILE = [
    "exec('x')",
    "eval('x')",
    "open('x')",
    "__import__('os').system('x')",
    "functools.reduce(open, ['x'])",
    "typing.sys.modules['os'].system('x')",
    "jax.tree.map(open, 'x')",
    "jax.nn.relu.__globals__",
    "jax.nn.relu.__call__(1)",
    "math.__loader__",
    "math.factorial(10**8)",
    "().__class__.__base__.__subclasses__()",
    "''.join(open('x'))",
    "f'{open(1)}'",
    "(lambda: open('x'))()",
    "lambda: 1",
    "[open('x') for _ in (1,)]",
    "(n := open('x'))",
    "lecun_normal(open('x'))",
    "lecun_normal(*open('x'))",
    "lecun_normal(**open('x'))",
    "lecun_normal(in_axis=open('x'))",
    "1 if open('x') else 2",
    "1 < open('x')",
    "not open('x')",
    "-open('x')",
    "(1, open('x'))",
    "{open('x'): 1}",
    "10**10**10",
    "'a' * 10**10",
    "(0,) * 10**9",
    "1 / 0",
    "checks.size",
    "Linear.init",
    "ExampleHyperparams(1)",
    "__builtins__",
    "print",
]
"""Expressions that run something, or could."""

DEFAULT = "size: int = 3"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_defaults(files: tuple[Rendered, ...], hostile: str):
    for file in (files[0], files[2]):
        text = changed(file, "float = 2 * math.pi", f"float = {hostile}")
        with pytest.raises(GateFault, match="may not run at import"):
            check_import(text, PROJECT.package)


@pytest.mark.parametrize("hostile", [h for h in HOSTILE if h != "lambda: 1"])
def test_decorators_of_tests(files: tuple[Rendered, ...], hostile: str):
    for old, new in (
        ("@given(examples(cases))", f"@given({hostile})"),
        ("claims(cases)", f"claims({hostile})"),
        ("examples(cases)", "examples(x)"),
    ):
        with pytest.raises(GateFault, match="may not run at import"):
            check_test_import(changed(files[1], old, new), PROJECT.package)


@pytest.mark.parametrize("hostile", [h for h in HOSTILE if h != "checks.size"])
def test_fields_and_attributes(files: tuple[Rendered, ...], hostile: str):
    module, _, module_class = files
    for file, old in ((module, DEFAULT[:9]), (module_class, "ClassVar[Any] = pure")):
        value = f"{old.partition(' =')[0]} = {hostile}"
        with pytest.raises(GateFault, match="may not run at import"):
            check_import(changed(file, old, value), PROJECT.package)


END = "\n\n\ndef init("
TYPES = "def init("
STATEMENTS = {
    "import of another library": ("import jax\n", "import os\nimport jax\n"),
    "import from another library": (
        "import jax\n",
        "from os import path\nimport jax\n",
    ),
    "private import": ("import jax\n", "import jax\nimport jax._src.xla_bridge\n"),
    "private name": ("import jax\n", "import jax\nfrom jax._src import lib\n"),
    "relative import": ("import jax\n", "import jax\nfrom . import x\n"),
    "star": ("import jax\n", "import jax\nfrom math import *\n"),
    "rebound by an import": (
        "import jax\n",
        "import jax\nfrom math import pi as jax\n",
    ),
    "rebound by a function": (END, f"\n\n\ndef math():\n    pass{END}"),
    "rebound by a class": (END, f"\n\n\nclass math:\n    pass{END}"),
    "rebound by a statement": (END, f"\n\n\nmath = 1{END}"),
    "statement": (END, f"\n\n\nopen('x'){END}"),
    "constant": (END, f"\n\n\nX = 1{END}"),
    "loop": (END, f"\n\n\nfor i in (1,):\n    pass{END}"),
    "with": (END, f"\n\n\nwith open('x'):\n    pass{END}"),
    "if": (END, f"\n\n\nif True:\n    pass{END}"),
    "try": (END, f"\n\n\ntry:\n    pass\nfinally:\n    pass{END}"),
    "async": (END, f"\n\n\nasync def f():\n    pass{END}"),
    "decorator": (END, f"\n\n\n@open\ndef f():\n    pass{END}"),
    "called decorator": ("@static", "@static('x')"),
    "type of a parameter": (DEFAULT, "size: open('x') = 3"),
    "type in quotes": (DEFAULT, "size: 'open(1)' = 3"),
    "subscript of a type": (DEFAULT, "size: jax.x['os'] = 3"),
    "walrus in a type": (DEFAULT, "size: (x := int) = 3"),
    "result": ("-> float:", "-> open('x'):"),
    "base": ("(NamedTuple)", "(open('x'))"),
    "metaclass": ("(NamedTuple)", "(metaclass=open)"),
    "statement of a class": ("    size: int", "    open('x')\n    size: int"),
    "import of a class": ("    size: int", "    import os\n    size: int"),
    "hidden name of a class": (
        "    size: int",
        "    math: int\n    turn_2: float = math.pi\n    size: int",
    ),
    "target of a field": ("    size: int", "    x[open('x')]: int\n    size: int"),
    "default of a method": ("by: float = 1.0", "by: float = open('x')"),
    "default of a keyword": ("by: float = 1.0", "*, by: float = open('x')"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(files: tuple[Rendered, ...], name: str):
    with pytest.raises(GateFault, match="may not run at import"):
        check_import(changed(files[0], *STATEMENTS[name]), PROJECT.package)


def test_tests_import_and_assign_what_they_need(files: tuple[Rendered, ...]):
    test = files[1]
    for old, new in (
        ("SPEC = find_spec(", "SPEC = open("),
        ("near=__file__", "near=open('x')"),
        ("import pytest\n", "import os\nimport pytest\n"),
        ("@layer(", "@open("),
        ("claims(cases)", "claims(open)"),
        ("claims(cases)", "claims(open('x'))"),
    ):
        with pytest.raises(GateFault, match="may not run at import"):
            check_test_import(changed(test, old, new), PROJECT.package)


def test_what_is_on_the_list(files: tuple[Rendered, ...]):
    for value in (
        *("1", "-1.5", "None", "True", "'text'", "(1, (2, 3))", "1 / 3", "2**10"),
        *("math.pi", "math.sqrt(2.0)", "jax.nn.relu", "gelu", "zeros", "len"),
        *("lecun_normal(in_axis=1)", "lecun_normal(2 * math.pi)"),
    ):
        check_import(changed(files[0], "= 2 * math.pi", f"= {value}"), PROJECT.package)


def test_the_fault_says_where(files: tuple[Rendered, ...]):
    with pytest.raises(GateFault) as error:
        check_import(changed(files[0], DEFAULT, "size: int = open(3)"), "gated")
    line = files[0].text[: files[0].text.index(DEFAULT)].count("\n") + 1
    assert str(error.value) == (
        f"gated/nn/example.py:{line}: `open(3)` may not run at import"
    )


TUPLE = '''class Row(NamedTuple):
    """A row of a table."""

    width: int
    deep: bool = False


def row(width):
    """No class."""
    return width


ROWS = {value}


'''


@pytest.mark.parametrize("value", ["[Row(4), Row(width=2**3, deep=True)]", "Row((1,))"])
def test_constants_of_the_modules_own_tuples(files: tuple[Rendered, ...], value: str):
    check_import(_with_rows(files[0], value), PROJECT.package, constants=["ROWS"])


@pytest.mark.parametrize(
    "value",
    [
        *("Row(open('x'))", "[Row(4), row(4)]", "Row(*open('x'))", "Row(**open('x'))"),
        *("Row._make([1])", "Row(1).width", "ExampleHyperparams(1)", "Rows(1)"),
    ],
)
def test_constants_of_nothing_else(files: tuple[Rendered, ...], value: str):
    with pytest.raises(GateFault, match="may not run at import"):
        check_import(_with_rows(files[0], value), PROJECT.package, constants=["ROWS"])


def _with_rows(file: Rendered, value: str) -> Rendered:
    first = "class ExampleHyperparams("
    return changed(file, first, TUPLE.format(value=value) + first)
