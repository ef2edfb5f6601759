"""`mlax-scaffold watch`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import nullcontext

import click

from mlax_scaffold.cli import options
from mlax_scaffold.errors import UsageError

_DEBOUNCE_MS = 100
_IDLE_MS = 200


@click.command(epilog="Example: mlax-scaffold watch --test")
@click.option("--test", is_flag=True, help="Run the tests of what was saved, too.")
@options.no_trial
@options.wait
@options.project
@click.pass_context
def command(
    ctx: click.Context,
    test: bool,
    no_trial: bool,
    patience: float,
    directory: str | None,
) -> None:
    """Generate whenever a spec is saved, until it is interrupted.

    Each time, what `generate` does is done and said: what changes is imported from a copy
    and traced first, and an error is shown at its line. Needs the extra "watch".
    """
    from mlax_scaffold.project.processes import warm
    from mlax_scaffold.project.workspace import Workspace

    try:
        from watchfiles import PythonFilter, watch
    except ImportError as error:
        raise UsageError(
            'watch needs watchfiles: pip install "mlax-scaffold[watch]"'
        ) from error
    workspace = Workspace.find(directory)
    root, specs = workspace.root, workspace.project.specs
    folder = os.path.join(root, specs)
    if not os.path.isdir(folder):
        raise UsageError(
            f"{specs} does not exist yet; create a spec: mlax-scaffold new-layer NAME"
        )
    given = {"directory": root, "no_trial": no_trial, "patience": patience}
    try:
        watching = watch(
            folder,
            watch_filter=PythonFilter(),
            debounce=_DEBOUNCE_MS,
            step=_DEBOUNCE_MS // 2,
            rust_timeout=_IDLE_MS,
            yield_on_timeout=True,
        )
        # It watches from here on, so that a save during the first round is not missed.
        next(watching)
        # What is tried needs jax, and so do tests.
        warming = warm(library=workspace.is_library)
        with warming if test or not no_trial else nullcontext():
            _round(ctx, given)
            click.echo(f"Watching {specs}; interrupt to end.", err=True)
            for changes in watching:
                if not changes:
                    continue
                places = (os.path.relpath(place, root) for _, place in changes)
                paths = {place.replace(os.sep, "/") for place in places}
                if _round(ctx, given) and test:
                    _test(root, paths)
    except KeyboardInterrupt:
        # That is how it ends. What was being written is written, or not at all.
        click.echo("", err=True)


def _round(ctx: click.Context, given: dict[str, object]) -> bool:
    """Generate once; whether that succeeded."""
    from mlax_scaffold.cli.commands.generate import command as generate
    from mlax_scaffold.cli.failures import report
    from mlax_scaffold.reader.library import library_words

    library_words.cache_clear()
    begin = time.monotonic()
    click.echo(f"{_clock()} generating", err=True)
    try:
        with generate.make_context("generate", [], parent=ctx) as inner:
            inner.params.update(given)
            generate.invoke(inner)
    except click.exceptions.Exit as error:
        succeeded = error.exit_code == 0
    except Exception as error:
        # The next save may mend it.
        report(error, ctx.meta)
        succeeded = False
    else:
        succeeded = True
    seconds = time.monotonic() - begin
    word = (
        click.style("done", fg="green") if succeeded else click.style("not", fg="red")
    )
    click.echo(f"{_clock()} {word}, {seconds:.1f} s", err=True)
    return succeeded


def _clock() -> str:
    return time.strftime("%H:%M:%S")


def _test(root: str, paths: Iterable[str]) -> None:
    """Run the tests of the definitions of some specs."""
    from mlax_scaffold.project.lookup import full_names
    from mlax_scaffold.project.running import files_of, run_tests
    from mlax_scaffold.project.workspace import Workspace

    workspace = Workspace.find(root)
    saved = set(paths)
    names = [n for f in workspace.own if f.path in saved for n in full_names(f)]
    if names:
        run_tests(workspace, files_of(workspace, names), quiet=True)
