"""Which imports a generated module needs. The linter drops those that its text does not use."""

from __future__ import annotations

from mlax_scaffold.model.definition import SECTIONS, Definition, Reference
from mlax_scaffold.model.word import bound
from mlax_scaffold.reader.homes import module_name

_COMMON = (
    "from __future__ import annotations",
    "import math",
    "from collections.abc import Callable, Sequence",
    "from typing import Any, ClassVar, Literal, NamedTuple",
    "import jax",
    "import jax.numpy as jnp",
    "from jax import lax",
    "from jax.typing import ArrayLike, DTypeLike",
)
_CORE = (
    "from {package}._core import arrays, checks, containers, effects, outlines, placement, scopes, trees",
    "from {package}._core.checks import Padding, PaddingLike, PrecisionLike",
    "from {package}._core.static import InitializedLayer, InitializedOptimizer, "
    "CellHyperparams, LayerHyperparams, LayerOutput, OfLayer, OfOptimizer, "
    "OptimizerHyperparams, Weights, static",
    "from {package}._core.scopes import applied_by, scoped",
)


def imports(definition: Definition, package: str) -> tuple[str, ...]:
    """Import statements of the module of a definition."""
    lines = [*_COMMON, *(line.format(package=package) for line in _CORE)]
    lines += [f"from {package}._core import {bound(m)}" for m in checked_by(definition)]
    for imported in definition.imports:
        if imported.reference is not None:
            line = _of_spec(definition, imported.reference, package)
            renamed = imported.name != imported.reference.name
            lines.append(f"{line} as {imported.name}" if renamed else line)
        elif imported.attribute is None:
            alias = f" as {imported.name}"
            plain = imported.name == imported.module.partition(".")[0]
            lines.append(f"import {imported.module}{'' if plain else alias}")
        else:
            module = imported.module
            if module.startswith("_core.") or module == "initializers":
                module = f"{package}.{module}"
            renamed = imported.name != imported.attribute
            alias = f" as {imported.name}" if renamed else ""
            lines.append(f"from {module} import {imported.attribute}{alias}")
    for helper in definition.helpers:
        if helper.home:
            module = _module_of(helper.home)
            lines.append(f"from {package}.{module} import {helper.name}")
    return tuple(dict.fromkeys(lines))


def _module_of(reference: Reference) -> str:
    """The module of a definition inside the package."""
    private = "_" if SECTIONS[reference.section].is_member else ""
    return f"{reference.section}.{private}{module_name(reference.name)}"


def checked_by(definition: Definition) -> list[str]:
    """The modules of plugins whose checks make its hyperparameters canonical."""
    words = {h.type.word for h in definition.hyperparameters}
    return sorted({word.check_module for word in words} - {""})


def _of_spec(definition: Definition, reference: Reference, package: str) -> str:
    if SECTIONS[reference.section].is_member:
        # Within the package its names are not there yet when modules are imported.
        within = definition.section == reference.section
        place = _module_of(reference) if within else reference.section
        return f"from {package}.{place} import {reference.name}"
    module = module_name(reference.name)
    return f"from {package}.{reference.section} import {module} as {reference.name}"


def file_name(definition: Definition) -> str:
    """The file of a generated module inside its section."""
    private = definition.kind.is_member
    return f"{'_' if private else ''}{definition.module}.py"
