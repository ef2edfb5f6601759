"""What the templates of generated tests place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    ArrayType,
    Definition,
    Example,
    Hyperparameter,
    Kind,
    Method,
    Role,
)
from mlax_scaffold.model.hyper_types import AXES
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.model.shapes import Conditional, Shape
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.gate.imports import check_test_import
from mlax_scaffold.render.header import header
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.output import Output, Source
from mlax_scaffold.render.signatures import needs
from mlax_scaffold.render.tests.graph import creation_keys
from mlax_scaffold.render.tests.imports import drawn_by, imports_of
from mlax_scaffold.render.tests.names import local
from mlax_scaffold.render.tests.ranges import ranges
from mlax_scaffold.render.tests.shapes import (
    drawn,
    has_axes,
    known_sizes,
    loose,
    rank,
    ranked,
    variadic,
)
from mlax_scaffold.render.tests.values import (
    dividing,
    kept_sizes,
    like_default,
    per_dim_axes,
)

_DTYPES = {
    "Complex": ", jnp.complex64",
    "Int": ", jnp.int32",
    "Bool": ", jnp.bool_",
}
_PASSED = (("shift", 'shapes.array("shift")', True),)
"""The keyword input of the layers that blocks are tested with."""


@dataclass(frozen=True)
class TestView:
    """A generated test module."""

    name: str
    section: str
    title: str
    imported: str
    """Statement that imports what is tested."""
    spec: str
    definition: str
    """Argument that tells which one of the file it is; empty where there is one."""
    draws: tuple[str, ...]
    hyperparameters: str
    """Items of a dict of what `init` or the function is called with, from what was picked."""
    keywords: str
    """The same as keyword arguments."""
    aliases: str
    """Items of a dict of what the module class calls hyperparameters by other names."""
    creates: bool
    """Whether `init` makes weights or states of a key."""
    sizes: str
    """Values of what shapes of a layer name."""
    patterns: str
    known: str
    axes: str
    """Names of hyperparameters that are the sizes of axes, and may be one for all."""
    x: str
    inputs: tuple[tuple[str, str, bool], ...]
    """Keyword inputs: name, expression, and whether they may be left out."""
    y: str
    allow: str
    smooth: str
    """Declared dtypes that decide whether finite differences are exact enough."""
    ranges: str
    key_optional: bool
    partial: tuple[str, ...]
    """Fields of the state that are no moments."""
    held: tuple[str, ...]
    """Moments that are containers."""
    needs: tuple[str, ...]
    """Inputs of `step` that an optimizer cannot do without."""
    surrogate: bool
    """Whether the gradient is meant not to be the derivative."""
    complex_numbers: bool
    """Whether it computes with complex numbers, which half precision does not have."""
    invariances: tuple[str, ...]
    """What it says of axes."""
    returns: str
    """The shape of the result, as annotated; empty where that is no array's."""
    per_example: bool
    draws_keys: bool
    trains: bool
    carries: bool
    """Whether it is a cell, whose hyperparameters make the first carry."""
    stored: bool
    """Whether a state is read in the dtype that it is stored in."""
    requirements: tuple[str, ...]
    unsaid: bool
    """Whether it may refuse what no requirement tells."""
    example: str
    """Arguments of a valid call, for those that are made invalid."""
    invalid: tuple[tuple[str, str], ...]
    """Hyperparameters with values that they may not have."""
    loose: str
    """Names of inputs whose annotations allow more shapes than are picked."""
    module: str
    """Its module class; empty for what has none."""
    module_keys: int | None
    """Number of keys that creating its parameters takes; None where that depends."""
    spread: bool


def test_module(definition: Definition, library: Library, project: Project) -> Rendered:
    """The property tests of one definition."""
    template = {
        Kind.LAYER: "layer",
        Kind.BLOCK: "layer",
        Kind.FUNCTION: "function",
        Kind.OPTIMIZER: "optimizer",
        Kind.SCHEDULE: "schedule",
    }[definition.kind]
    section = definition.section
    text = render_template(
        f"tests/{template}.py.jinja",
        header=header(definition.source),
        imports=imports_of(definition),
        package=project.package,
        view=_view(definition, library, project),
    )
    path = f"{project.tests}/{section}/test_{section}_{definition.module}.py"
    return Rendered(path, text, definition.source)


def _view(definition: Definition, library: Library, project: Project) -> TestView:
    section, name = definition.section, definition.name
    package = f"{project.package}.{section}"
    if definition.kind is Kind.FUNCTION:
        # A function may be called what a test calls something else.
        imported = f"from {project.package} import {section}"
    elif definition.kind is Kind.SCHEDULE:
        stem = file_name(definition).removesuffix(".py")
        imported = f"from {package}.{stem} import {name}"
    else:
        imported = f"from {package} import {definition.module} as {name}"
    method = definition.entry
    layer = definition.kind.is_layer
    traits = library.traits(definition.reference) if layer else None
    takes_key = layer and library.takes_key(definition)
    plain = [h for h in definition.hyperparameters if not h.type.word.structural]
    own = definition.source.startswith(f"{project.specs}/")
    unsaid = own and not project.state_requirements
    named = library.own_dtypes(definition) if unsaid else ()
    patterns = drawn(definition)
    if method.passes:
        patterns.append(("shift", "features"))
    return TestView(
        name=name,
        section=section,
        title=f"Property tests of {package}.{name}.",
        imported=imported,
        spec=definition.source,
        definition=f', name="{name}"' if definition.several else "",
        draws=tuple(_draws(definition, unsaid)),
        hyperparameters=", ".join(_hyperparameters(definition)),
        keywords=", ".join(
            f"{h.name}={local(h.name)}" for h in definition.hyperparameters
        ),
        aliases=", ".join(f'"{alias}": "{name}"' for name, alias in definition.aliases),
        creates=takes_key,
        sizes=known_sizes(definition, patterns),
        patterns=", ".join(f"{label!r}: {text!r}" for label, text in patterns),
        known="".join(f"{item}, " for item in _known(definition, patterns)),
        axes=", ".join(map(repr, per_dim_axes(definition, method))),
        x=_x(method, definition),
        inputs=tuple(
            (i.name, _abstract(i.name, i.type, definition), i.default is not None)
            for i in method.keyword
        )
        + _PASSED * method.passes,
        y='example["y"]'
        if definition.result_shape is not None
        else _expected(method.returns),
        allow=_allowed(plain, definition.kind, named),
        smooth=_allowed(plain, Kind.LAYER, named),
        ranges=ranges(definition, method),
        key_optional=definition.kind is Kind.BLOCK,
        partial=tuple(
            item.name
            for item in (
                *definition.structural(),
                *definition.declared(Role.STATE, Role.OPTIMIZER),
            )
        ),
        held=tuple(d.name for d in definition.declared(Role.MOMENT) if d.members),
        needs=tuple(needs(definition)) if definition.kind is Kind.OPTIMIZER else (),
        surrogate=bool(traits.surrogate if traits else library.surrogate(definition)),
        complex_numbers=(
            traits.complex_numbers if traits else library.has_complex(definition)
        ),
        invariances=tuple(map(str, definition.invariances)),
        returns=_returned(method.returns),
        per_example=definition.per_example,
        draws_keys=bool(traits and traits.draws)
        or any(i.type.kind == "Key" for i in method.positional),
        trains=bool(traits and traits.training),
        carries=definition.method("initial_carry") is not None,
        stored=bool(traits and traits.stored),
        requirements=tuple(dict.fromkeys(_requirements(definition, library))),
        unsaid=unsaid,
        example=", ".join(
            f'"{name}": {text}' for name, text in _valid(definition, plain).items()
        ),
        invalid=tuple(_invalid(plain)) if not definition.structural() else (),
        loose=", ".join(f'"{label}"' for label in loose(definition)),
        module=f"graph.{definition.module_name}" if layer and project.modules else "",
        module_keys=creation_keys(definition, library) if layer else None,
        spread=len(method.positional) > 1,
    )


def _allowed(plain: list[Hyperparameter], kind: Kind, named: tuple[str, ...]) -> str:
    """The declared dtypes; those of an optimizer as arguments of its case."""
    names = [local(h.name) for h in plain if h.type.word.declares_dtype]
    names += map(repr, named)
    if kind is not Kind.OPTIMIZER:
        return "".join(f"{name}, " for name in names)
    others = "".join(f"{name}, " for name in names if name != "moment_dtype")
    text = "moment_dtype=moment_dtype, " if "moment_dtype" in names else ""
    return f"{text}other_dtypes=({others})," if others else text


def _requirements(definition: Definition, library: Library) -> Iterator[str]:
    """Messages of the requirements of a definition, and of what it is built on."""
    for requirement in definition.requirements:
        yield requirement.told
    for reference in library.references(definition):
        if reference in library.definitions:
            yield from _requirements(library[reference], library)


def _draws(definition: Definition, unsaid: bool) -> Iterator[str]:
    if definition.examples:
        examples = ", ".join(map(_literal, definition.examples))
        yield f'example = pick("example", choices({examples}))'
    if ranked(definition):
        yield 'rank = pick("rank", choices(1, 2, 3))'
    elif has_axes(definition):
        yield f"rank = {rank(definition)}"
    same = kept_sizes(definition)
    for h in definition.hyperparameters:
        if h.name in same:
            yield f"{local(h.name)} = {local(same[h.name])}"
            continue
        if h.name in definition.example_values:
            yield f'{local(h.name)} = example["{h.name}"]'
            continue
        if h.type.word.structural:
            if h.type.word.many:
                yield 'count = pick("count", sizes(max=3))'
            if h.type.word.attribute == "optimizer":
                yield 'traced = pick("traced", booleans())'
            continue
        strategy = "choices(1, 2)" if h.name == AXES else h.type.strategy
        if definition.kind is Kind.SCHEDULE:  # numbers of steps, which cost nothing
            strategy = strategy.replace("sizes()", "sizes(max=32)").replace(
                "size_sequences()", "size_sequences(min_size=1, max=32)"
            )
        domain = (unsaid and like_default(h)) or dividing(definition, h) or strategy
        yield f'{local(h.name)} = pick("{h.name}", {domain})'


def _literal(example: Example) -> str:
    values = [*example.values, *((n, str(shape)) for n, shape in example.shapes)]
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in values)}}}"


def _hyperparameters(definition: Definition) -> Iterator[str]:
    for h in definition.hyperparameters:
        yield f'"{h.name}": {h.type.word.toy or local(h.name)}'


def _valid(definition: Definition, plain: list[Hyperparameter]) -> dict[str, str]:
    """Values with which `init` makes a layer."""
    required = {h.name: _example(h) for h in plain if h.default is None}
    return required | definition.example_values


def _example(h: Hyperparameter) -> str:
    return h.type.example


def _invalid(hyperparameters: list[Hyperparameter]) -> Iterator[tuple[str, str]]:
    for h in hyperparameters:
        for value in h.type.invalid:
            if value != "None" or not h.type.optional:
                yield h.name, value
        if not h.type.optional and "None" not in h.type.invalid:
            yield h.name, "None"


def _known(definition: Definition, patterns: list[tuple[str, str]]) -> Iterator[str]:
    shapes = definition.given_shapes
    if shapes:
        given = ", ".join(f'"{name}": example["{name}"]' for name in shapes)
        yield f"given={{{given}}}"
    name = variadic(patterns)
    if name and ranked(definition):
        fixed = len(patterns[0][1].split()) - 1
        yield f'ranks={{"{name}": {f"max(rank - {fixed}, 0)" if fixed else "rank"}}}'


def _x(method: Method, definition: Definition) -> str:
    first = len(method.positional) == 1
    parts = [_abstract(i.name, i.type, definition, first) for i in method.positional]
    if definition.kind is Kind.FUNCTION:
        parts = [
            f'{part} if pick("{i.name} is given", booleans()) else None'
            if i.default and i.default.is_none
            else part
            for i, part in zip(method.positional, parts, strict=True)
        ]
        return f"({', '.join(parts)},)"
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _abstract(
    label: str, array: ArrayType, definition: Definition, first: bool = False
) -> str:
    """An array, or a tree of them, of the drawn shapes; `first` is what layers of a block map."""
    if array.kind == "tuple":
        if array.items[-1].kind == "...":
            return f'(shapes.array("{label}[0]"),) * count'
        parts = [
            _abstract(f"{label}[{i}]", part, definition)
            for i, part in enumerate(array.items)
        ]
        return f"({', '.join(parts)},)"
    if array.kind == "PyTree" and not first and definition.structural():
        return "None"
    if array.kind == "Key":
        return "abstract_key()"
    return f'shapes.array("{label}"{_DTYPES.get(array.kind, "")})'


def _expected(array: ArrayType | None) -> str:
    """Expression of the shapes of the result; empty where the spec does not say."""
    if array is None or array.holds("PyTree"):
        return ""
    if array.kind == "tuple":
        parts = [_expected(part) for part in array.items]
        return "" if "" in parts else f"({', '.join(parts)},)"
    if array.shape is None or _unknown(array.shape):
        return ""
    return f'shapes.expected("{array.shape}")'


def _returned(array: ArrayType | None) -> str:
    return "" if array is None or array.shape is None else str(array.shape)


def _unknown(shape: Shape | Conditional) -> bool:
    return "..." in str(shape).split()


def _files(source: Source) -> Iterator[Rendered]:
    yield test_module(source.definition, source.library, source.project)


def _check(source: Source, file: Rendered) -> None:
    drawing = drawn_by(source.definition)
    check_test_import(file, source.project.package, drawing)


OUTPUT = Output(of_definition=_files, check=_check)
