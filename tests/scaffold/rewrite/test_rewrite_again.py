"""What is rewritten once more from the same is not rewritten; from anything else it is."""

from __future__ import annotations

from collections.abc import Callable

from mlax_scaffold.model.library import Library
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.rewrite import Passes, passes_of, rewrite_methods

BODY = """
def setup(self):
    self.plain = Plain()

def forward(self, x: Float["..."]) -> Float["..."]:
    return self.plain(x)  # as it is
"""

Read = Callable[..., Library]
Files = Callable[..., tuple[SpecFile, ...]]


def bodies(library: Library, passes: Passes = passes_of):
    definition = next(d for d in library if d.name == "Example")
    return rewrite_methods(definition, library, passes)


def test_the_same_is_known(read: Read):
    assert bodies(read(BODY)) is bodies(read(BODY))


def test_comments_count(read: Read):
    """They are no part of what a definition says, and of the code that follows from it."""
    assert "# as it is" in bodies(read(BODY))["forward"].body
    other = read(BODY.replace("as it is", "as it was"))
    assert "# as it was" in bodies(other)["forward"].body


def test_what_a_sub_layer_does_counts(
    example_files: Files, words: tuple[SpecFile, ...]
):
    """Its text is not in that of the layer that calls it."""
    example, plain, *others = example_files(BODY)
    before = bodies(read_library((example, plain, *others), words))["forward"].body
    drawing = SpecFile(
        plain.path,
        plain.section,
        plain.text.replace(
            "y = x * self.scale",
            "y = x * self.scale * jax.random.normal(self.key(), (), x.dtype)",
        ),
    )
    after = bodies(read_library((example, drawing, *others), words))["forward"].body
    assert "key=None" not in after
    assert before != after


def test_other_passes_are_others(read: Read):
    library = read(BODY)
    untouched = bodies(library, lambda method, definition: ())
    assert "self.plain(x)" in untouched["forward"].body
    assert "self.plain(x)" not in bodies(library)["forward"].body
