"""A generated module with a fault in it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.library import PROJECT as LIBRARY
from tests.library import library

from mlax_scaffold.model.definition import Definition, Reference
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import draft, render
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate.bodies import GateFault, check_doc, check_module
from mlax_scaffold.render.gate.imports import check_import
from mlax_scaffold.render.package.files import module
from mlax_scaffold.rewrite import Rewritten, rewrite_methods

PROJECT = Project("gated", "specs", "gated", "tests", "docs")
LAYER = '''from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Example(Layer):
    """A spec of a test.

    It scales.
    """

    size: Size = 3  #: a size

    def setup(self):
        self.kernel = trainable(ones, (self.size,))

    @property
    def double(self):
        return self.size * 2

    def attend(self, x: Float["..."]) -> Float["..."]:
        return x

    def forward(self, x: Float["..."]) -> Float["..."]:
        def scaled(y):
            """Scales.

            With the kernel.
            """
            return y * self.kernel

        text = """two
            lines"""
        return scaled(x) if text else x
'''
Module = tuple[Definition, Mapping[str, Rewritten], Rendered]
Faults = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def layer() -> Module:
    library = read_library((SpecFile("specs/nn/example.py", "nn", LAYER),))
    [definition] = library
    methods = rewrite_methods(definition, library)
    [file] = format_python(
        [module(definition, library, methods, PROJECT)], PROJECT.package
    )
    return definition, methods, file


def faulty(made: Module, old: str, new: str) -> Module:
    definition, methods, file = made
    assert file.text.count(old) >= 1, f"{old!r} is not in\n{file.text}"
    return definition, methods, replace(file, text=file.text.replace(old, new, 1))


def check(definition: Definition, methods: Mapping[str, Rewritten], file: Rendered):
    check_import(file, PROJECT.package)
    check_module(definition, methods, file)


def test_what_was_generated_is_let_through(layer: Module):
    check(*layer)
    check_doc(layer[0], layer[2])


END = "\n\n\ndef init("
FAULTS: Faults = [
    ("statement", END, f"\n\nprint('at import'){END}"),
    ("assignment", END, f"\n\nLIMIT = 3{END}"),
    ("second docstring", END, f"\n\n'text'{END}"),
    ("branch", END, f"\n\nif init:\n    pass{END}"),
    ("decorator", "\n\n\ndef init(", "\n\n\n@print\ndef init("),
    ("decorator of the class", "@static", "@static\n@print"),
    ("decorator of a method", "    @property", "    @print\n    @property"),
    ("statement of a class", "    size: int", "    print('x')\n    size: int"),
    ("computed default of a class", "    size: int", "    size: int = print('x')"),
    (
        "unexpected base",
        "class ExampleHyperparams(OfLayer[jax.Array]):",
        "class ExampleHyperparams(*print()):",
    ),
    ("call in the type of a base", "(OfLayer[jax.Array])", "(OfLayer[print()])"),
    ("other name in the type of a base", "OfLayer[jax.Array]", "OfLayer[jax.config]"),
    ("type of another base", "(OfLayer[jax.Array])", "(dict[jax.Array])"),
    (
        "decorator of something else",
        "@applied_by(ExampleHyperparams, init)",
        "@applied_by(jax)",
    ),
    (
        "decorator with a call",
        "@applied_by(ExampleHyperparams, init)",
        "@applied_by(print('x'))",
    ),
    (
        "function",
        "def fwd(",
        "def fwd_(",
    ),
    ("second entry", "def attend(", "def attend_("),
    ("property", "def double(", "def double_("),
    ("setup", "def init(", "def init_("),
    ("expression of a body", "y * kernel", "y + kernel"),
    ("string of a body", "            lines", "lines"),
    ("statement in the middle of a body", "    text =", "    x = 0\n    text ="),
    ("statement that is missing", "    text = ", "    # text = "),
    ("result", "return scaled(x)", "return 2 * scaled(x)"),
    ("body of the property", "self.size * 2", "self.size * 3"),
    ("body of init", "(size,), dtype", "(size + 1,), dtype"),
    ("computed default", "size: int = 3", "size: int = print(3)"),
    ("computed default of a method", "def double(self", "def double(self, x=print(3)"),
    ("syntax", "def fwd(", "def fwd(("),
    ("null byte", "def fwd(", "def fwd(  # \0"),
]


@pytest.mark.parametrize(
    ("old", "new"), [fault[1:] for fault in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_a_fault_is_refused(layer: Module, old: str, new: str):
    with pytest.raises(GateFault, match=r"gated/nn/example\.py"):
        check(*faulty(layer, old, new))


def test_faults_say_where_and_what(layer: Module):
    with pytest.raises(GateFault) as error:
        check(*faulty(layer, END, f"\n\nprint('at import')\n{END}"))
    assert "`print('at import')` may not run at import" in str(error.value)
    with pytest.raises(GateFault) as error:
        check_module(*faulty(layer, "def fwd(", "def forwards("))
    assert str(error.value).endswith("fwd of specs/nn/example.py is missing")
    with pytest.raises(GateFault) as error:
        check_module(*faulty(layer, "y * kernel", "y"))
    assert "fwd is not what forward of specs/nn/example.py was rewritten to" in str(
        error.value
    )


def test_formatting_and_docstrings_may_differ(layer: Module):
    check_module(*faulty(layer, "With the kernel.", "   With the kernel."))
    check_module(*faulty(layer, "    size: int", "    # a comment\n    size: int"))
    check_module(*faulty(layer, '"""Weights of Example."""', '"""Other text."""'))


def test_the_docstring_of_the_spec_must_arrive(layer: Module):
    definition, _, file = faulty(layer, "It scales.", "It does not scale.")
    with pytest.raises(GateFault, match=r"the docstring of specs/nn/example\.py"):
        check_doc(definition, file)


@pytest.mark.parametrize("path", ["nn/linear.py", "graph/nn/linear.py"])
def test_what_is_rendered_goes_through_it(path: str):
    definition = library()[Reference("nn", "Linear")]
    made = draft(definition, library(), LIBRARY)
    some = render(library(), LIBRARY, new={definition.source})
    files = {file.path: file for file in some}
    made.check(files)
    path = f"{LIBRARY.output}/{path}"
    fault = replace(files[path], text=f"{files[path].text}\n\nprint('at import')\n")
    with pytest.raises(GateFault):
        made.check(files | {path: fault})
