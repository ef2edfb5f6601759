"""The templates: where they are, and how a fault in one is reported."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.project import template_root
from mlax_scaffold.render.text import indented


class TemplateFault(MlaxScaffoldError):
    """A template does not fit what it is given: a fault of the generator, not of a spec."""


def copied_modules(part: str) -> Iterator[tuple[str, str]]:
    """The modules of the package that are Python as they stand, in the order of their paths.

    Args:
        part: a folder or a module of the package.

    Yields:
        The path below the package, and the text.
    """
    root = template_root() / "package"
    places = [root / f"{part}.py", *(root / part).rglob("*.py")]
    for place in sorted(filter(Path.is_file, places)):
        yield place.relative_to(root).as_posix(), place.read_text("utf-8")


def module_text(module: str) -> str:
    """The text of a module of a plugin, by its dotted name."""
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin
    return Path(found.origin).read_text("utf-8").replace("\r\n", "\n")


@cache
def _environment(root: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(root),
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
    return Templates(template_root()).render(name, **values)


@dataclass(frozen=True)
class Templates:
    """The templates of a folder."""

    root: Path
    shown: str = "templates"
    """What errors call the folder."""

    def render(self, name: str, /, **values: object) -> str:
        """The text of a template. What it is not given, and asks for, is an error.

        Raises:
            TemplateFault: naming the template and the line, and what it was rendering.
        """
        try:
            return _environment(self.root).get_template(name).render(**values)
        except jinja2.TemplateSyntaxError as error:
            place = f"{self.shown}/{error.name or name}:{error.lineno}"
            raise TemplateFault(f"{place}: {error.message}") from error
        except jinja2.TemplateError as error:
            place = self._place(error, name)
            view = getattr(values.get("view"), "name", "")
            of = f" (rendering {view})" if view else ""
            raise TemplateFault(f"{place}: {error.message}{of}") from error

    def _place(self, error: Exception, name: str) -> str:
        root = str(self.root)
        frames = [
            f for f in traceback.extract_tb(error.__traceback__) if root in f.filename
        ]
        if not frames:
            return f"{self.shown}/{name}"
        relative = Path(frames[-1].filename).relative_to(root).as_posix()
        return f"{self.shown}/{relative}:{frames[-1].lineno}"
