"""Outputs of the modules within a call, by their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from .._core import recording
from .._core.paths import listed, path_name
from ._graph import Path


def recorded(
    function: Callable[..., tuple[Any, Any]],
    paths: Iterable[Path] | Callable[[Path], bool] | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """A call that also returns what the modules in it put out.

    >>> look = recorded(model, [model.encoder.path])
    >>> (y, outputs), params = look(params, x)
    >>> outputs["model/encoder"]

    It is as pure as the call: compiled, differentiated, mapped. A module that is called
    several times has a tuple. What `Module.sow` is given is there, too. What runs within a
    loop (`dynamic_scan`, a Repeat) has no value outside of it, and is left out, as is what
    is not called: `surgery.recorded` looks into a Repeat, and into a layer of layers.

    Args:
        function: a module, or a function that calls modules and returns `(y, params)`.
        paths: of the modules, or of what they sow; or a function that chooses some of
            these; None: all.

    Returns:
        The function; it returns `((y, outputs), params)`.

    Raises:
        KeyError: by what is returned, where there is no output of a path.
    """
    chosen = paths if callable(paths) else None
    names = None
    if paths is not None and chosen is None:
        names = [path_name((path,)) for path in paths]  # type: ignore[union-attr]

    def look(*args: Any, **inputs: Any) -> tuple[Any, Any]:
        with recording.frame() as outputs:
            y, params = function(*args, **inputs)
        if chosen is not None:
            outputs = {n: y for n, y in outputs.items() if chosen(tuple(n.split("/")))}
        if names is not None:
            missing = [name for name in names if name not in outputs]
            if missing:
                raise KeyError(
                    f"recorded: there is no output of {listed(missing)}: it is not called, "
                    f"or within a loop; there are {listed(outputs) or 'none'}"
                )
            outputs = {name: outputs[name] for name in names}
        return (y, outputs), params

    return look


def kept(module: Any, result: Any) -> Any:
    """What a call of a module returns, of which the output is kept where somebody looks."""
    if recording.is_open() and isinstance(result, tuple) and len(result) == 2:
        recording.keep(path_name((module.path,)), result[0])
    return result


def keeping(call: Callable[..., Any]) -> Callable[..., Any]:
    """A `__call__` of a module of one's own that does so."""

    @wraps(call)
    def run(self: Any, *args: Any, **inputs: Any) -> Any:
        return kept(self, call(self, *args, **inputs))

    return run
