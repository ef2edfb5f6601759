"""`mlax-scaffold completion`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import PROGRAM

_HELP = f"""Print the script that completes commands, options and names in a shell.

\b
bash  echo 'eval "$({PROGRAM} completion bash)"' >> ~/.bashrc
zsh   echo 'eval "$({PROGRAM} completion zsh)"' >> ~/.zshrc
fish  {PROGRAM} completion fish > ~/.config/fish/completions/{PROGRAM}.fish
"""


@click.command(help=_HELP, epilog=f"Example: {PROGRAM} completion zsh")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and names in a shell."""
    from click.shell_completion import get_completion_class

    from mlax_scaffold.cli.group import cli

    variable = f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE"
    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"this version of click cannot complete in {shell}")
    click.echo(complete(cli, {}, PROGRAM, variable).source())
