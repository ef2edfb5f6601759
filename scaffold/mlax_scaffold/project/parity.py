"""The test that compares what was converted with the code that it comes from."""

from __future__ import annotations

import os

from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.project.converting import Conversion
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.render.formatting import format_python

_TEXT = '''\
"""What was converted computes what the original does, with the original's weights."""

from mlax_scaffold.testing.parity import Original, assert_parity

from {package}.{section} import {name}

ORIGINAL = Original({path!r}, {thing!r}, {framework!r}, {parameters!r}, {flags!r})


def test_computes_what_the_original_does():
    assert_parity(
        {name},
        ORIGINAL,
        hyperparameters={hyperparameters!r},
        inputs={inputs!r},
        integers={integers!r},
        mapped={mapped!r},
        near=__file__,
    )
'''
_FRAMEWORKS = ("torch", "flax", "nnx", "equinox", "haiku")


def parity_path(project: Project, spec: str) -> str:
    """Where the test of a spec is, if it was converted."""
    section, file = spec.rsplit("/", 2)[1:]
    folder = os.path.dirname(project.tests)
    return f"{folder}/parity/test_parity_{section}_{file}".lstrip("/")


def parity_test(
    workspace: Workspace, spec: SpecFile, name: str, made: Conversion
) -> dict[str, str]:
    """The test by its path; nothing where there is nothing to run the original with.

    It belongs to the person: it is written once, and moves and goes with the spec.
    """
    tried = made.trial
    if tried is None or made.framework not in _FRAMEWORKS:
        return {}
    path = parity_path(workspace.project, spec.path)
    text = _TEXT.format(
        package=workspace.project.package,
        section=spec.section,
        name=name,
        path=_relative(workspace.root, made.source.path),
        thing=made.source.thing,
        framework=made.framework,
        parameters=dict(tried.parameters),
        flags=tried.flags,
        hyperparameters=dict(tried.hyperparameters),
        inputs=dict(tried.inputs),
        integers=tried.integers,
        mapped=tried.mapped,
    )
    [file] = format_python([Rendered(path, text, "")], workspace.project.package)
    return {path: file.text}


def on_disk(root: str, path: str) -> bytes | None:
    """The bytes of a file of the project; None where there is none."""
    place = os.path.join(root, path)
    if os.path.islink(place) or not os.path.isfile(place):
        return None
    with open(place, "rb") as file:
        return file.read()


def _relative(root: str, path: str) -> str:
    """A path as seen from the project, where it is in it."""
    found = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
    return os.path.basename(path) if found.startswith("../") else found
