"""The group of commands: it knows their names and lines of help, and imports one only to run it."""

from __future__ import annotations

import importlib
import os
import shlex
from typing import Any

import click

from mlax_scaffold.cli import PROGRAM

COMMANDS = {
    "init": "Make this folder a project.",
    "new-layer": "Create a layer: its spec, code, tests and docs.",
    "new-optimizer": "Create an optimizer: its spec, code, tests and docs.",
    "new-function": "Create a function: its spec, code, tests and docs.",
    "generate": "Bring everything generated up to date with the specs.",
    "watch": "Generate whenever a spec is saved, until it is interrupted.",
    "check": "Say which generated files do not follow from their specs.",
    "list": "List layers, blocks, functions, losses, optimizers and schedules.",
    "show": "Show one definition: signatures, shapes, hyperparameters, weights, jaxpr.",
    "test": "Run generated tests, all or those of some definitions.",
    "rename": "Give a definition another name, wherever it is used.",
    "move": "Move a definition to another section, or its spec to another file.",
    "remove": "Remove a definition: its spec and all that follows from it.",
    "absorb": "Take an edit of generated code back into the spec that it follows from.",
    "add": "Bring the source of layers into a project, to own and to edit.",
    "update": "Merge later versions into source that `add` brought.",
    "diff": "Show what you changed in source that `add` brought, and what was changed since.",
    "weights": "Bring weights that were trained elsewhere into a model.",
    "undo": "Take the last change back.",
    "history": "List the last changes, which undo takes back one after another.",
    "doctor": "Say what mlax-scaffold runs with, from where, and what is wrong with it.",
    "completion": "Print the script that completes commands, options and names in a shell.",
}


class LazyGroup(click.Group):
    """Commands from `commands/`, and one way to report what goes wrong in any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = f"mlax_scaffold.cli.commands.{cmd_name.replace('-', '_')}"
        return importlib.import_module(module).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with "did you mean"."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from mlax_scaffold.spelling import did_you_mean

            longer = [name for name in COMMANDS if name.startswith(args[0])]
            close = did_you_mean(args[0], longer or list(COMMANDS), cutoff=0.4)
            hint = close or f"`{PROGRAM} --help` lists the commands"
            ctx.fail(f'there is no command "{args[0]}"; {hint}')
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click's, with the place of an option that a command has."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(_placed(ctx, self, error, given), ctx) from error

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; report what it raises and exit with the status for it."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            from mlax_scaffold.cli.failures import report

            ctx.exit(report(error, ctx.meta))


def _placed(
    ctx: click.Context, group: LazyGroup, error: click.NoSuchOption, given: list[str]
) -> str:
    """What to write instead where an option stands before the command that it is of."""
    option = error.option_name
    at = next((i for i, word in enumerate(given) if word in COMMANDS), None)
    command = None if at is None else group.get_command(ctx, given[at])
    known = {name for p in command.params for name in p.opts} if command else set()
    if at is None or option not in known:
        return error.format_message()
    moved = [given[at], *given[:at], *given[at + 1 :]]
    return f"{option} stands after the command: {PROGRAM} {shlex.join(moved)}"


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from mlax_scaffold.cli.version import version

        click.echo(f"{PROGRAM} {version()}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Begin with: {PROGRAM} init mynet, then {PROGRAM} new-layer "
    f"Attention. `{PROGRAM} COMMAND --help` shows an example of each command.",
)
@click.option(
    "--debug",
    is_flag=True,
    envvar="MLAX_SCAFFOLD_DEBUG",
    help="Show the traceback of a fault.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """From a small spec to a generated, tested, documented JAX layer."""
    ctx.meta["mlax_scaffold.debug"] = debug
    if os.environ.get("NO_COLOR"):
        ctx.color = False
