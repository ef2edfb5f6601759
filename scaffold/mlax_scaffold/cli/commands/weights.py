"""`mlax-scaffold weights`: weights of models that were trained elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlax_scaffold.cli import FINDINGS, PROGRAM, options
from mlax_scaffold.errors import ConflictError

if TYPE_CHECKING:
    from mlax_scaffold.weights import Mapping

_SHOWN = 10

_replace = click.option(
    "--force", is_flag=True, help="Replace the file that --output names."
)


def _no_model(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> None:
    if value is not None:
        raise click.UsageError(
            "`apply` takes no --model: the mapping that `map` wrote says what the model's "
            f"weights are. Give it in its place: {PROGRAM} weights apply CHECKPOINT "
            "MAPPING.toml --output FILE.safetensors"
        )


@click.group(
    epilog=f"Example: {PROGRAM} weights map resnet.safetensors --model net.py:make "
    "--output resnet.toml"
)
def command() -> None:
    """Bring weights that were trained elsewhere into a model.

    `map` proposes what each weight is made of, in a small file that you can read and edit;
    `apply` makes them by that file.
    """


@command.command(
    "map",
    epilog=f"Example: {PROGRAM} weights map resnet.safetensors --model net.py:make "
    "--output resnet.toml",
)
@click.argument("checkpoint", type=click.Path())
@click.option(
    "--model",
    required=True,
    metavar="FILE.py:NAME",
    help="A function that makes the model, of a PRNG key or of nothing, or the model itself. "
    "The file is run, in a process of its own.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.toml",
    help="Where the mapping is written; default: it is printed.",
)
@click.option(
    "--from",
    "source",
    type=click.Choice(["torch", "flax", "equinox", "haiku", "mlax"]),
    help="Framework of the checkpoint; default: as its names say.",
)
@click.option(
    "--linear",
    type=click.Choice(["oi", "io"]),
    help="How square kernels lie: (outputs, inputs) or (inputs, outputs); default: as in the "
    "framework.",
)
@click.option(
    "--qkv",
    type=click.Choice(["thirds", "heads"]),
    help="How queries, keys and values lie where they are one array: each of them together, or "
    "those of a head; default: it is open.",
)
@_replace
@options.output_format("json")
def map_command(
    checkpoint: str,
    model: str,
    output: Path | None,
    source: str | None,
    linear: str | None,
    qkv: str | None,
    force: bool,
    style: str,
) -> None:
    """Propose what each weight of a model is made of.

    CHECKPOINT is a .safetensors or .npz file, the .safetensors.index.json of several, or an
    orbax folder, of PyTorch, flax, equinox or haiku. Names and shapes of its arrays are read;
    what they do not decide is left open in the mapping, with candidates. The status is 1 then,
    and where arrays are left over.
    """
    from mlax_scaffold.weights.checkpoint import read_checkpoint
    from mlax_scaffold.weights.program import model_of
    from mlax_scaffold.weights.proposing import propose

    _writable(output, force)
    read = read_checkpoint(checkpoint)
    mapping = propose(model_of(model), read.shapes, source, linear, qkv)
    if output is not None:
        _write(output, str(mapping))
    if style == "json":
        import json

        click.echo(json.dumps(_as_dict(mapping), indent=2))
    else:
        if output is None:
            click.echo(str(mapping))
        for line in _summary(mapping, checkpoint, output):
            click.echo(line, err=output is None)
    if not mapping.complete:
        raise click.exceptions.Exit(FINDINGS)


@command.command(
    "apply",
    epilog=f"Example: {PROGRAM} weights apply resnet.safetensors resnet.toml "
    "--output model.safetensors",
)
@click.argument("checkpoint", type=click.Path())
@click.argument("mapping", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.safetensors",
    help="Where the weights are written, for load_safetensors of your package.",
)
@click.option(
    "--model",
    hidden=True,
    expose_value=False,
    callback=_no_model,
    metavar="FILE.py:NAME",
)
@options.dry_run
@_replace
def apply_command(
    checkpoint: str, mapping: str, output: Path | None, dry_run: bool, force: bool
) -> None:
    """Make the weights of a model from a checkpoint, by a mapping.

    Every array is computed and checked: names, shapes, dtypes. With --dry-run nothing is
    written. No code of yours is run.
    """
    from mlax_scaffold.weights import read_mapping
    from mlax_scaffold.weights.checkpoint import read_checkpoint
    from mlax_scaffold.weights.loading import mapped_arrays, write_file

    if output is None and not dry_run:
        raise click.UsageError("name the file to write, --output, or say --dry-run")
    _writable(output, force or dry_run)
    arrays = mapped_arrays(read := read_mapping(mapping), read_checkpoint(checkpoint))
    size = sum(array.nbytes for array in arrays.values())
    if output is not None and not dry_run:
        write_file(read, arrays, output)
    done = "would be written" if dry_run else f"in {output}"
    click.echo(f"{len(arrays)} weights, {size:,} bytes: {done}.")


def _writable(output: Path | None, force: bool) -> None:
    if output is not None and output.exists() and not force:
        raise ConflictError(
            f"{output} is there already; --force replaces it, or name another file"
        )


def _write(path: Path, text: str) -> None:
    from mlax_scaffold.weights.loading import replaced

    replaced(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _summary(mapping: Mapping, checkpoint: str, output: Path | None) -> list[str]:
    decided = sum(weight.decided for weight in mapping.weights)
    origin = mapping.source or "unknown framework"
    lines = [
        f"{decided} of {len(mapping.weights)} weights are decided, from {checkpoint} ({origin})."
    ]
    lines += mapping.notes
    groups = (
        ("ambiguous", "yellow", [w.leaf.path for w in mapping.ambiguous]),
        ("nothing fits", "red", [w.leaf.path for w in mapping.missing]),
        ("left over", "yellow", list(mapping.unused)),
        ("not needed", "green", [name for name, _ in mapping.ignored]),
    )
    for what, colour, names in groups:
        lines += [
            f"  {click.style(what, fg=colour)}  {name or '(the root)'}"
            for name in names[:_SHOWN]
        ]
        if len(names) > _SHOWN:
            lines.append(f"  {what}  ... and {len(names) - _SHOWN} more")
    if output is not None:
        then = (
            f"{PROGRAM} weights apply {checkpoint} {output} --output FILE.safetensors"
        )
        open_lines = bool(mapping.ambiguous or mapping.missing)
        lines.append(
            f"Decide the lines of {output} that are comments; then: {then}"
            if open_lines
            else f"The mapping is in {output}; next: {then}"
        )
    return lines


def _as_dict(mapping: Mapping) -> dict[str, Any]:
    return {
        "source": mapping.source,
        "complete": mapping.complete,
        "weights": [
            {
                "group": w.leaf.group,
                "path": w.leaf.path,
                "shape": list(w.leaf.shape),
                "dtype": w.leaf.dtype,
                "from": str(w.expression) if w.expression else None,
                "initial": w.initial,
                "reason": w.reason,
                "candidates": list(w.candidates),
                "readings": list(w.readings),
            }
            for w in mapping.weights
        ],
        "unused": list(mapping.unused),
        "ignored": dict(mapping.ignored),
        "notes": list(mapping.notes),
    }
