"""The templates: where they are, and how a fault in one is reported."""

from __future__ import annotations

import traceback
from functools import cache
from pathlib import Path

import jinja2

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.render.text import indented


class TemplateFault(MlaxScaffoldError):
    """A template does not fit what it is given: a fault of the generator, not of a spec."""


@cache
def template_root() -> Path:
    """The folder of the templates: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent.parent / "templates"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root()),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["indented"] = indented
    environment.filters["quoted"] = repr
    return environment


def render_template(name: str, **values: object) -> str:
    """The text of a template.

    Raises:
        TemplateFault: naming the template and the line, and what it was rendering.
    """
    try:
        return _environment().get_template(name).render(**values)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateFault(
            f"templates/{error.name or name}:{error.lineno}: {error.message}"
        ) from error
    except jinja2.TemplateError as error:
        place = _place(error, name)
        view = getattr(values.get("view"), "name", "")
        of = f" (rendering {view})" if view else ""
        raise TemplateFault(f"{place}: {error.message}{of}") from error


def _place(error: Exception, name: str) -> str:
    root = str(template_root())
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if root in f.filename
    ]
    if not frames:
        return f"templates/{name}"
    relative = Path(frames[-1].filename).relative_to(root).as_posix()
    return f"templates/{relative}:{frames[-1].lineno}"
