"""`python -m mlax_scaffold` is `mlax-scaffold`."""

from mlax_scaffold.cli import main

main()
