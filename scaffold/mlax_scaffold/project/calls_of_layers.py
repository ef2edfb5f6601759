"""What calls of layers of the library are given, and these do not take, as findings of the spec."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.project.trial_failures import Failure
from mlax_scaffold.reader.remedies.channels import FIELD, channels_last, made_of
from mlax_scaffold.reader.remedies.named_order import in_named_order
from mlax_scaffold.reader.remedies.single_sizes import in_sequences
from mlax_scaffold.reader.source import Source

_REFUSED = re.compile(
    r"(?:(?P<maker>\w+) > )?(?P<layer>\w+): \w+ must have shape \(.*\) "
    r"with .*channels=(?P<size>\d+).*, got \((?P<others>(?:\d+, )*)(?P<last>\d+)\)"
)
"""What a layer says of an input with other axes than its own, and what it is part of."""
_OF_ONE = re.compile(r"(?P<layer>\w+): ")
"""What refuses the defaults of what it is part of."""
_ONE = re.compile(r"(?P<layer>\w+): \w+ must be a sequence of .*, got -?\d+$")
"""What a layer says of one number in the place of several."""


def with_last_channels(
    library: Library, traced: Definition, failure: Failure
) -> list[Diagnostic]:
    """What to write where a layer of the library is given its channels last; nothing where that is not so."""
    refused = _REFUSED.search(failure.message)
    if refused is None or refused["size"] != refused["last"] or not refused["maker"]:
        return []
    name = refused["maker"]
    makers = [traced, *(d for d in library if d.source == traced.source)]
    maker = next((d for d in makers if d.name == name), None)
    if maker is None:
        return []
    layers = {
        name: layer
        for name, layer in _layers(library, maker).items()
        if any(h.name == FIELD for h in layer.hyperparameters)
    }
    if refused["layer"] not in layers:
        return []
    source = Source(maker.source, maker.text)
    # Sizes that are equal by chance fit in any order: then the names of axes decide.
    said = made_of(source, name, layers) & _last_axes(maker)
    if not (failure.always or failure.axes or said or _are_last(refused, failure)):
        return []
    fix = channels_last(source, layers)
    if fix is not None:
        end = fix.edits[0]
        source.report(
            end.line,
            f"`{refused['layer']}` is given its channels last, and wants them behind the batch",
            failure.message.strip().split("\n")[0],
            fix=fix,
        )
    return source.diagnostics


def _are_last(refused: re.Match[str], failure: Failure) -> bool:
    """Whether the last axis has the size of the channels, whatever it is, where a layer refuses its input.

    It may be the same always, `jnp.stack([high, mean], axis=-1)`, where the other axes are not.
    """
    found = [refused, *filter(None, map(_REFUSED.search, failure.others))]
    own = [m for m in found if m["layer"] == refused["layer"]]
    several = len({m["size"] for m in own}) > 1 or len({m["others"] for m in own}) > 2
    return several and all(m["size"] == m["last"] for m in own)


def _last_axes(definition: Definition) -> set[str]:
    """The names of the last axes of its inputs."""
    shapes = (s for i in definition.entry.inputs for s in i.type.shapes)
    return {str(s.dims[-1]) for s in shapes if s.dims}


def with_sequences(
    library: Library, traced: Definition, failure: Failure
) -> list[Diagnostic]:
    """What to write where a layer is given one number, and takes several; nothing where that is not so."""
    refused = _ONE.search(failure.message)
    layers = _layers(library, traced)
    if refused is None or refused["layer"] not in layers:
        return []
    source = Source(traced.source, traced.text)
    fix = in_sequences(source, traced, layers)
    if fix is not None:
        source.report(
            fix.edits[0].line,
            f"`{refused['layer']}` is given one number, and takes several",
            failure.message.strip().split("\n")[0],
            fix=fix,
        )
    return source.diagnostics


def by_names(
    library: Library, traced: Definition, failure: Failure
) -> list[Diagnostic]:
    """What to write where the names of arguments tell that they stand in another order; nothing else.

    The call may stand in another layer of the file, which the traced one is built on.
    """
    refused = _OF_ONE.search(failure.message)
    if not failure.default or refused is None:
        return []
    source = Source(traced.source, traced.text)
    name = refused["layer"]
    others = (d for d in library if d.source == traced.source and d != traced)
    for maker in (traced, *others):
        layer = _layers(library, maker).get(name)
        if layer is None:
            continue
        fields = [h.name for h in layer.hyperparameters]
        for call, fix in in_named_order(source, maker.name, name, fields):
            source.report(
                call,
                f"`{name}` takes {', '.join(fields[: len(call.args)])} in this order",
                failure.message.strip().split("\n")[0],
                fix=fix,
            )
    return source.diagnostics


def _layers(library: Library, maker: Definition) -> Mapping[str, Definition]:
    """The layers that a spec imports, by their names there."""
    found = {i.name: library[i.reference] for i in maker.imports if i.reference}
    return {name: layer for name, layer in found.items() if layer.kind.is_layer}
