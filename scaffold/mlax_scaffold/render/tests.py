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
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.model.shapes import Conditional, Shape
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.graph_tests import creation_keys, module_expression
from mlax_scaffold.render.header import header
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.optimizer import needs
from mlax_scaffold.render.tests_imports import IMPORTS
from mlax_scaffold.render.tests_shapes import (
    drawn,
    has_axes,
    rank,
    ranked,
    variadic,
)
from mlax_scaffold.render.tests_values import dividing, fixed_axis, per_dim_axes

_NOT_NEGATIVE = ("var", "positive")
"""Names of inputs that are drawn above zero."""
_DTYPES = {"Int": ", jnp.int32", "Bool": ", jnp.bool_"}
_PASSED = (("shift", 'array(shapes["shift"])', True),)
"""The keyword input of the layers that blocks are tested with."""
_TOYS = {
    "SubLayer": "toys.layer(key, dtype)",
    "Cell": "toys.cell(key, dtype)",
    "Stacked": "toys.stacked(key, dtype, depth)",
    "SubLayers": "toys.layers(key, dtype, count)",
    "SubOptimizer": "toys.optimizer(trainables, traced)",
    "SubOptimizers": "toys.optimizers(trainables, count)",
}


@dataclass(frozen=True)
class TestView:
    """A generated test module."""

    name: str
    title: str
    imported: str
    """Statement that imports what is tested."""
    spec: str
    draws: tuple[str, ...]
    arguments: str
    """Arguments of `init`, or of the function, from what was drawn."""
    takes_key: bool
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
    needs: tuple[str, ...]
    """Inputs of `step` that an optimizer cannot do without."""
    per_example: bool
    takes_weights: bool
    """Whether `init` of an optimizer takes the weights."""
    draws_keys: bool
    trains: bool
    carries: bool
    """Whether it is a cell, whose hyperparameters make the first carry."""
    stateful: bool
    stored: bool
    """Whether a state is read in the dtype that it is stored in."""
    floating: bool
    requirements: tuple[str, ...]
    example: str
    """Arguments of a valid call, for those that are made invalid."""
    invalid: tuple[tuple[str, str], ...]
    """Hyperparameters with values that they may not have."""
    fixed_axis: tuple[str, str] | None
    """A name of an axis of x whose size a hyperparameter fixes, and the shape of x."""
    module: str
    """Expression of a module of the layer; empty for what has no module class."""
    module_keys: int | None
    """Number of keys that creating its parameters takes; None where that depends."""
    spread: bool
    wrong_input: bool
    """Whether integers in the place of x are an error."""


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
        imports=IMPORTS,
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
    method = definition.method("forward") or definition.methods[0]
    layer = definition.kind in (Kind.LAYER, Kind.BLOCK)
    traits = library.traits(definition.reference) if layer else None
    takes_weights = definition.kind is Kind.OPTIMIZER and definition.takes_weights
    takes_key = bool(traits and traits.takes_key and definition.kind is Kind.LAYER)
    plain = [h for h in definition.hyperparameters if not h.type.word.structural]
    patterns = drawn(definition)
    if method.passes:
        patterns.append(("shift", "features"))
    return TestView(
        name=name,
        title=f"Property tests of {package}.{name}.",
        imported=imported,
        spec=definition.source,
        draws=tuple(_draws(definition)),
        arguments=", ".join(
            [
                *(["trainables"] if takes_weights else []),
                *(["key"] if takes_key else []),
                *_arguments(definition),
                *(["dtype=dtype"] if takes_key else []),
            ]
        ),
        takes_key=takes_key,
        patterns=", ".join(f"{label!r}: {text!r}" for label, text in patterns),
        known=", ".join(_known(definition, patterns)),
        axes=", ".join(map(repr, per_dim_axes(definition, method))),
        x=_x(method, definition),
        inputs=tuple(
            (i.name, _abstract(i.name, i.type, definition), i.type.optional)
            for i in method.keyword
        )
        + _PASSED * method.passes,
        y='example["y"]'
        if "y" in definition.example_shapes
        else _expected(method.returns),
        allow=_allowed(plain, definition.kind),
        smooth="".join(f"{h.name}, " for h in plain if h.type.word.name == "DType"),
        ranges=_ranges(definition, method),
        key_optional=definition.kind is Kind.BLOCK,
        partial=tuple(
            item.name
            for item in (*definition.structural(), *definition.declared(Role.STATE))
        ),
        needs=tuple(needs(definition)) if definition.kind is Kind.OPTIMIZER else (),
        per_example=definition.per_example,
        takes_weights=takes_weights,
        draws_keys=bool(traits and traits.draws)
        or any(i.type.kind == "Key" for i in method.positional),
        trains=bool(traits and traits.training),
        carries=definition.method("initial_carry") is not None,
        stateful=bool(traits and traits.stateful),
        stored=bool(traits and traits.stored),
        floating=any(
            "Float" in str(i.type) or "PyTree" in str(i.type) for i in method.positional
        ),
        requirements=tuple(dict.fromkeys(_requirements(definition, library))),
        example=", ".join(
            f'"{name}": {text}' for name, text in _valid(definition, plain).items()
        ),
        invalid=tuple(_invalid(plain)) if not definition.structural() else (),
        fixed_axis=fixed_axis(definition, method),
        module=module_expression(definition, library) if layer else "",
        module_keys=creation_keys(definition, library) if layer else None,
        spread=len(method.positional) > 1,
        wrong_input=[i.type.kind for i in method.positional] == ["Float"],
    )


def _allowed(plain: list[Hyperparameter], kind: Kind) -> str:
    """The declared dtypes; those of an optimizer as arguments of its case."""
    names = [h.name for h in plain if h.type.word.name == "DType"]
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


def _draws(definition: Definition) -> Iterator[str]:
    if definition.examples:
        examples = ", ".join(map(_literal, definition.examples))
        yield f"example = draw(st.sampled_from([{examples}]))"
    if ranked(definition):
        yield "rank = draw(sizes(max=3))"
    elif has_axes(definition):
        yield f"rank = {rank(definition)}"
    for h in definition.hyperparameters:
        if h.name in definition.example_values:
            yield f'{h.name} = example["{h.name}"]'
            continue
        if h.type.word.structural:
            if h.type.word.name in ("SubLayers", "SubOptimizers"):
                yield "count = draw(sizes(max=3))"
            if h.type.word.name == "SubOptimizer":
                yield "traced = draw(booleans())"
            continue
        strategy = "sizes(max=2)" if h.name == "spatial_dims" else h.type.strategy
        if definition.kind is Kind.SCHEDULE:  # numbers of steps, which cost nothing
            strategy = strategy.replace("sizes()", "sizes(max=32)").replace(
                "size_sequences()", "size_sequences(min_size=1, max=32)"
            )
        yield f"{h.name} = draw({dividing(definition, h) or strategy})"


def _literal(example: Example) -> str:
    values = [*example.values, *((n, str(shape)) for n, shape in example.shapes)]
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in values)}}}"


def _arguments(definition: Definition) -> Iterator[str]:
    toys = [h.name for h in definition.structural()]
    for h in definition.hyperparameters:
        if definition.kind is Kind.FUNCTION:
            yield f'"{h.name}": {h.name}'
            continue
        made = _TOYS.get(h.type.word.name, h.name)
        if h.name in toys and len(toys) > 1:
            own = f"jax.random.fold_in(key, {toys.index(h.name)})"
            made = made.replace("(key,", f"({own},")
        yield f"{h.name}={made}"


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
        if not h.type.optional and h.type.word.name != "Scheduled":
            yield h.name, "None"


def _known(definition: Definition, patterns: list[tuple[str, str]]) -> Iterator[str]:
    if definition.structural():
        yield "features=toys.WIDTH"
    shapes = [name for name in definition.example_shapes if name != "y"]
    if shapes:
        given = ", ".join(f'"{name}": example["{name}"]' for name in shapes)
        yield f"given={{{given}}}"
    name = variadic(patterns)
    if name and ranked(definition):
        fixed = len(patterns[0][1].split()) - 1
        yield f'ranks={{"{name}": {f"max(rank - {fixed}, 0)" if fixed else "rank"}}}'


def _x(method: Method, definition: Definition) -> str:
    parts = [_abstract(i.name, i.type, definition) for i in method.positional]
    if definition.kind is Kind.FUNCTION:
        parts = [
            f"draw(optional(st.just({part})))" if i.default == "None" else part
            for i, part in zip(method.positional, parts, strict=True)
        ]
        return f"({', '.join(parts)},)"
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _abstract(label: str, array: ArrayType, definition: Definition) -> str:
    if array.kind == "tuple":
        if array.items[-1].kind == "...":
            return f'(array(shapes["{label}[0]"]),) * count'
        parts = [
            _abstract(f"{label}[{i}]", part, definition)
            for i, part in enumerate(array.items)
        ]
        return f"({', '.join(parts)},)"
    if array.kind == "PyTree" and label != "x" and definition.structural():
        return "None"
    if array.kind == "Key":
        return "abstract_key()"
    return f'array(shapes["{label}"]{_DTYPES.get(array.kind, "")})'


def _expected(array: ArrayType | None) -> str:
    """Expression of the shapes of the result; empty where the spec does not say."""
    if array is None or "PyTree" in str(array):
        return ""
    if array.kind == "tuple":
        parts = [_expected(part) for part in array.items]
        return "" if "" in parts else f"({', '.join(parts)},)"
    if array.shape is None or _unknown(array.shape):
        return ""
    return f'shapes.expected("{array.shape}")'


def _unknown(shape: Shape | Conditional) -> bool:
    return "..." in str(shape).split()


def _ranges(definition: Definition, method: Method) -> str:
    """Half-open ranges of inputs that have one: indices, and variances."""
    labels = [i.name for i in method.inputs if "Int" in str(i.type)]
    if definition.kind is Kind.FUNCTION:
        labels = [
            f"x[{n}]" for n, i in enumerate(method.inputs) if "Int" in str(i.type)
        ]
    sizes = ", ".join(
        h.name for h in definition.hyperparameters if h.type.word.name == "Size"
    )
    ranges = [f'"{label}": (0, smallest({sizes}))' for label in labels]
    ranges += [
        f'"x[{n}]": (0.5, 1.5)'
        for n, i in enumerate(method.inputs)
        if i.name in _NOT_NEGATIVE
    ]
    return ", ".join(ranges)
