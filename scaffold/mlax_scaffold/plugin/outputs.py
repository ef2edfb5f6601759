"""What kinds of output are made of: files, templates, passes and the gate."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Kind, Method, MethodRole
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.environment import Templates
from mlax_scaffold.render.gate.imports import GateFault, check_import
from mlax_scaffold.render.header import header
from mlax_scaffold.render.output import Output, Source
from mlax_scaffold.render.signatures import signatures
from mlax_scaffold.rewrite import PASSES, passes_of
from mlax_scaffold.rewrite.context import Context, Pass

__all__ = [
    "PASSES",
    "Context",
    "Definition",
    "GateFault",
    "Kind",
    "Library",
    "Method",
    "MethodRole",
    "Output",
    "Pass",
    "Project",
    "Rendered",
    "Source",
    "Templates",
    "check_import",
    "header",
    "passes_of",
    "signatures",
]
