"""Whatever the texts of a spec say, they arrive as text, and the generated code is the same."""

from __future__ import annotations

import ast
import string
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mlax_scaffold.errors import SpecError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.reader.specs import read_spec
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate.bodies import check_doc, check_module
from mlax_scaffold.render.package.files import module
from mlax_scaffold.rewrite import Rewritten, rewrite_methods

PROJECT = Project("injected", "specs", "injected", "tests", "docs")
SPEC = string.Template("""import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Literal, require, state, trainable, zeros


class Example(Layer):
    $doc

    name: str = $default  #: a name $comment
    #: $comment
    mode: Literal[$choice, "other"] = $choice

    def setup(self):  # $comment
        # $comment
        require(self.name != $message, $message)  # $comment
        require(self.name != $formatted, $message)
        self.kernel = trainable(zeros, (3,))  #: $comment
        self.mean = state(zeros, (3,))  # $comment

    def size(self, other=$default):
        $method_doc
        return $value, other  # $comment

    def forward(self, x: Float["..."]) -> Float["..."]:
        $method_doc
        # $comment
        require(x.ndim > 1, $message)  # $comment
        self.mean = self.mean * {  # $comment
            $value: x, "b": f"{x}", $long: $formatted  # $comment
        }[$value]
        # $comment
        return x * self.kernel if self.name == $value else x  # $comment
        # $comment
""")
EVIL = (
    '"""',
    "'''",
    '"',
    "'",
    "\\",
    "\\\\\\",
    '\\"""',
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{# no #}",
    "#}",
    "${HOME}",
    "%s %(x)s",
    "{x}",
    "\n",
    "\r\n",
    "\nimport os\n",
    "\0",
    "\x0c",
    "\x85",
    "\u2028import os",
    "\u2029",
    "\u202e",
    "\x1b[31m",
    "\ud800",
    "\ufeff",
    "):\n    import os\n",
    "# type: ignore",
    "# fmt: off",
    "# noqa",
    "N\\{DASH}",
    "\\N{EM DASH}",
    "\\x41",
    "\\u2028",
    "\\x41\x1b\\",
    '\\x41"""\\',
    "self.kernel",
    "é😀",
    "x" * 300,
)


DOCS = tuple(text for text in EVIL if text != "\ud800")
"""Those that docstrings can hold in every version of Python."""


def shown(text: str) -> str:
    """The text as a comment can hold it."""
    return "".join(c for c in text if c.isprintable())


def inside(text: str) -> str:
    """The text between quotes of any kind; what can be seen is as it is."""
    return "".join(
        c if c.isprintable() and c not in "\\\"'" else f"\\U{ord(c):08x}" for c in text
    )


def spec(doc: str, text: str, choice: str, comment: str) -> str:
    """The spec, with texts as literals and in comments."""
    braces = inside(text).replace("{", "{{").replace("}", "}}")
    return SPEC.substitute(
        doc=repr(f"A spec.\n\nIt says: {doc} and ends."),
        method_doc=repr(f"A method.\n\nIt says: {doc}."),
        default=repr(text),
        message=repr(text),
        value=repr(text),
        choice=repr(choice),
        long=f'"""long {inside(text)}\n"""',
        formatted=f'f"{{self.name}}{braces}"',
        comment=f"note {shown(comment)}",
    )


def generated(text: str) -> tuple[Definition, Mapping[str, Rewritten], Rendered]:
    file = SpecFile("specs/nn/example.py", "nn", text)
    library: Library = read_library((file,))
    [definition] = library
    methods = rewrite_methods(definition, library)
    return definition, methods, module(definition, library, methods, PROJECT)


class _Blank(ast.NodeTransformer):
    """Strings are all the same, and strings that follow each other in f-strings are one."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            return ast.Constant("")
        return node


def structure(text: str) -> str:
    """A module without its strings."""
    return ast.dump(_Blank().visit(ast.parse(text)))


def strings(text: str) -> list[str]:
    return [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def squeezed(text: str) -> str:
    return "".join(text.split())


PLAIN = structure(generated(spec("plain", "plain", "plain", "plain"))[2].text)


def assert_is_text(doc: str, text: str, choice: str, comment: str) -> None:
    definition, methods, file = generated(spec(doc, text, choice, comment))
    assert structure(file.text) == PLAIN
    found = strings(file.text)
    # A default, two messages, and the values in the bodies.
    assert found.count(text) >= 5
    assert f"long {text}\n" in found
    assert choice in found
    # Of the class, in one or more places, and of the method.
    told = [squeezed(value) for value in found if "It says:" in value]
    assert len(told) >= 2
    assert all(squeezed(f"It says: {doc}") in value for value in told)
    check_module(definition, methods, file)


def joined(texts: Sequence[str]) -> st.SearchStrategy[str]:
    parts = st.sampled_from(texts) | st.text(max_size=5)
    return st.lists(parts, min_size=1, max_size=4).map("".join)


evil = joined(EVIL)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(doc=joined(DOCS), text=evil, choice=evil, comment=evil)
def test_texts_of_any_kind(doc: str, text: str, choice: str, comment: str):
    assume(text not in ("", "b", "other"))
    printable = choice.isprintable() and not set(choice) & set('"\\') and choice
    assume(choice != "other")
    if printable:
        assert_is_text(doc, text, choice, comment)
        return
    with pytest.raises(SpecError, match="a choice is printable text"):
        generated(spec(doc, text, choice, comment))
    assert_is_text(doc, text, "plain", comment)


def test_each_text_survives_the_formatter():
    """One call of the formatter for all of them, as in a whole run."""
    made = []
    for i, text in enumerate(EVIL):
        doc = text if text in DOCS else "plain"
        definition, methods, file = generated(spec(doc, text, "plain", text))
        made.append((definition, methods, Rendered(f"m{i}.py", file.text, "")))
    formatted = format_python([file for *_, file in made], PROJECT.package)
    for text, (definition, methods, _), file in zip(EVIL, made, formatted, strict=True):
        check_module(definition, methods, file)
        check_doc(definition, file)
        assert strings(file.text).count(text) >= 5
        top = ast.parse(file.text).body[1:]
        allowed = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
        [exports] = [node for node in top if not isinstance(node, allowed)]
        assert isinstance(exports, ast.Assign)
        assert ast.unparse(exports.targets[0]) == "__all__"
        assert all(name.isidentifier() for name in ast.literal_eval(exports.value))


@pytest.mark.parametrize("text", EVIL)
def test_shapes_hold_no_text(text: str):
    spec_text = f'''from mlax_scaffold.spec import Float, Layer


class Example(Layer):
    """A spec of a test."""

    def forward(self, x: Float[{"*a " + text!r}]) -> Float["*a"]:
        return x
'''
    if text.strip() and not shown(text).isidentifier():
        with pytest.raises(SpecError, match=r"not a shape|no hyperparameter"):
            generated(spec_text)
    else:
        # Spaces say nothing in a shape, and some words are names of axes.
        _, _, file = generated(spec_text)
        assert "import" not in file.text.partition("def fwd")[2]


@pytest.mark.parametrize("name", ['x"""', "a\nimport os", "{{ x }}", "é\u2028x", ""])
def test_paths_are_names(name: str):
    text = spec("plain", "plain", "plain", "plain")
    definition, findings = read_spec(f"specs/nn/{name}.py", text)
    assert definition is None
    # What cannot be seen is shown as an escape.
    shown = name.replace("\u2028", r"\u2028")
    assert [f.message for f in findings] == [
        f"`{shown}.py` cannot be the name of a spec's file"
    ]
