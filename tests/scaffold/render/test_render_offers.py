"""What an editor offers behind a dot: what there is to use, and nothing that a module imports."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import mlax
import mlax.graph

SECTIONS = (
    *("block", "functional", "generation", "initializers", "loss"),
    *("metric", "nn", "optim", "schedule", "surgery", "train"),
)
MODULES = [
    (section, name)
    for section in ("block", "nn", "optim")
    for name, found in vars(getattr(mlax, section)).items()
    if isinstance(found, ModuleType) and name in getattr(mlax, section).__all__
]


def own_names(module: ModuleType) -> set[str]:
    """The public functions and classes that a module defines."""
    return {
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
        and not name.startswith("_")
    }


@pytest.mark.parametrize(
    ("section", "name"), MODULES, ids=[".".join(each) for each in MODULES]
)
def test_a_layer_or_an_optimizer_offers_its_functions_and_its_types(section, name):
    module = getattr(getattr(mlax, section), name)
    offered = set(dir(module))
    types = {n for n in offered if inspect.isclass(getattr(module, n))}
    assert types <= {
        f"{name}{kind}"
        for kind in ("Hyperparams", "NonTrainables", "State", "Trainables")
    }
    run = "step" if section == "optim" else "fwd"
    assert {"init", run, f"{name}Hyperparams"} <= offered
    assert all(inspect.isfunction(getattr(module, n)) for n in offered - types)
    assert offered <= own_names(module)


@pytest.mark.parametrize("section", ["", "graph", *SECTIONS])
def test_a_package_offers_what_it_exports(section):
    module = importlib.import_module(f"mlax.{section}".rstrip("."))
    assert dir(module) == sorted(module.__all__)
    assert not any(name.startswith("_") for name in module.__all__)


def test_every_module_has_a_docstring():
    found = pkgutil.walk_packages(mlax.__path__, "mlax.")
    lacking = [m.name for m in found if not importlib.import_module(m.name).__doc__]
    assert not lacking
