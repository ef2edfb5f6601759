"""The test that compares what was converted with the code that it comes from."""

from __future__ import annotations

import os

from mlax_scaffold.conversion.output.description import Trial, Written
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.project.converting import Conversion
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.render.formatting import format_python

_LAYER = '''\
"""What was converted computes what the original does, with the original's weights."""

{imported}from mlax_scaffold.testing.parity import Original, assert_parity

from {package}.{section} import {name}

ORIGINAL = {original}


{cases}def test_computes_what_the_original_does({given}):
    assert_parity(
        {name},
        ORIGINAL,
        hyperparameters={hyperparameters!r},
        inputs={inputs!r},
        integers={integers!r},
        booleans={booleans!r},
        mapped={mapped!r},{unpadded}{optional}
        near=__file__,
    )
'''
_FUNCTION = '''\
"""What was converted computes what the original does."""

from mlax_scaffold.testing.parity import Original, assert_function_parity

from {package}.{section} import {name}

ORIGINAL = {original}


def test_computes_what_the_original_does():
    assert_function_parity(
        {name},
        ORIGINAL,
        hyperparameters={hyperparameters!r},
        inputs={inputs!r},
        integers={integers!r},
        booleans={booleans!r},
        near=__file__,
    )
'''
_OPTIMIZER = '''\
"""What was converted makes the updates that the original does."""

from mlax_scaffold.testing.parity import Original, assert_optimizer_parity

from {package}.{section} import {name}

ORIGINAL = {original}


def test_makes_the_updates_of_the_original():
    assert_optimizer_parity(
        {name},
        ORIGINAL,
        hyperparameters={hyperparameters!r},
        near=__file__,
    )
'''
_TEXTS = {"functional": _FUNCTION, "loss": _FUNCTION, "optim": _OPTIMIZER}
"""By the section; all else is a layer."""


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
    if tried is None:
        return {}
    path = parity_path(workspace.project, spec.path)
    text = _TEXTS.get(spec.section, _LAYER).format(
        package=workspace.project.package,
        section=spec.section,
        name=name,
        original=_original(workspace.root, made, tried),
        hyperparameters=dict(tried.hyperparameters),
        inputs=dict(tried.inputs),
        integers=tried.integers,
        booleans=tried.booleans,
        mapped=tried.mapped,
        **_optional(tried),
        unpadded=f"\n        unpadded={tried.unpadded!r}," if tried.unpadded else "",
    )
    if any(isinstance(v, Written) for _, v in tried.hyperparameters):
        first, _, rest = text.partition("\n\n")
        text = f"{first}\n\nimport jax\n\n{rest}"
    [file] = format_python([Rendered(path, text, "")], workspace.project.package)
    return {path: file.text}


def _optional(tried: Trial) -> dict[str, str]:
    """The parts of the test that try inputs that may be left out, each given alone."""
    if not tried.optional:
        return dict.fromkeys(("imported", "cases", "given", "optional"), "")
    known = [name for name, _ in tried.optional]
    text = f"\n        optional={dict(tried.optional)!r},\n        given=given,"
    return {
        "imported": "import pytest\n\n",
        "cases": f'@pytest.mark.parametrize("given", {["", *known]!r})\n',
        "given": "given",
        "optional": text,
    }


def _original(root: str, made: Conversion, tried: Trial) -> str:
    """The call that names what it was converted from; what is empty is not said."""
    pair = tried.pair
    place = _relative(root, made.source.path), made.source.thing, made.framework
    more = {
        "parameters": dict(tried.parameters),
        "flags": tried.flags,
        "keys": dict(tried.keys),
        "settings": dict(tried.settings),
        "given": dict(tried.given),
        "functions": pair.functions if pair else (),
        "names": pair.names if pair else (),
    }
    given = [*map(repr, place), *(f"{k}={v!r}" for k, v in more.items() if v)]
    return f"Original({', '.join(given)})"


def on_disk(root: str, path: str) -> bytes | None:
    """The bytes of a file of the project; None where there is none."""
    place = os.path.join(root, path)
    if os.path.islink(place) or not os.path.isfile(place):
        return None
    with open(place, "rb") as file:
        return file.read()


def _relative(root: str, path: str) -> str:
    """A path as seen from the project, where it is in it, or beside it; a name elsewhere."""
    found = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
    return os.path.basename(path) if found.startswith(_FAR) else found


_FAR = "../" * 3
"""What is further away is where it is on one machine alone."""
