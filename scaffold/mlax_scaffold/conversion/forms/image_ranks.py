"""Images that norms of PyTorch are called with, which say of how many axes these are: `nn.BatchNorm2d`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute

_DIMS = {
    f"torch.nn.{kind}{dims}d": dims
    for kind in ("BatchNorm", "InstanceNorm")
    for dims in (1, 2, 3)
    if (kind, dims) != ("BatchNorm", 1)
}


def with_image_ranks(origin: Origin) -> None:
    """Note the number of axes down at the name of what such a layer is called with.

    It is negative: those behind the channels are the sides of an image.
    """
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        made: dict[str, list[int]] = {}
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[target], value=value) if self_attribute(
                    target
                ):
                    found = _dims(origin, value)
                    made.setdefault(str(self_attribute(target)), []).append(found)
        for part in ast.walk(node):
            match part:
                case ast.Call(func=func, args=[ast.Name() as given]):
                    dims = {*made.get(self_attribute(func) or "", [0])}
                    if len(dims) == 1 and 0 not in dims:
                        given.rank = -(2 + dims.pop())  # type: ignore[attr-defined]


def _dims(origin: Origin, value: ast.expr) -> int:
    """The sides of the images that a layer takes; 0 for another one."""
    if not isinstance(value, ast.Call):
        return 0
    full = origin.qualified(value.func)
    if full == "torch.nn.Sequential" and value.args:
        return _dims(origin, value.args[0])
    return _DIMS.get(full, 0)
