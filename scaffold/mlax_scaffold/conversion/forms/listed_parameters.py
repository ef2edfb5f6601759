"""Inputs of PyTorch that are lists of maps, as their loops and the parts that they are handed to tell.

def forward(self, x):                          def forward(self, x: List[torch.Tensor]):
    return self.head(x)                becomes     return self.head(x)

def forward(self, x):                          def forward(self, x: List[torch.Tensor]):
    return [self.conv(map_) for map_ in x]         return [self.conv(map_) for map_ in x]
"""

from __future__ import annotations

import ast
import re

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute, targets
from mlax_scaffold.conversion.source.walking import located, walk

_ONE = re.compile(r"(feats?|features?|fmap|feature_map|level|level_feats?)_?$")
"""How loops call one of several maps."""
_IMAGES = ("torch.nn.Conv2d", "torch.nn.ConvTranspose2d")
_LIST = "List[torch.Tensor]"


def with_listed_parameters(origin: Origin) -> None:
    """Give these inputs a type, in place, where they have none."""
    if not origin.uses("torch"):
        return
    classes = {
        title: call
        for title, node in origin.classes.items()
        if framework_of(origin, node) == "torch"
        and (call := method_of(node, "forward")) is not None
    }
    parts = {title: _parts(origin, origin.classes[title]) for title in classes}
    found: set[tuple[str, str]] = set()
    while True:
        more = {
            (title, argument.arg)
            for title, call in classes.items()
            for argument in call.args.args[1:]
            if argument.annotation is None
            if (title, argument.arg) not in found
            if _is_list(call, argument.arg, parts[title], classes, found)
        }
        if not more:
            break
        found |= more
    for title, given in found:
        argument = next(a for a in classes[title].args.args if a.arg == given)
        argument.annotation = ast.parse(_LIST, mode="eval").body
    if found:
        located(origin.tree)


def _parts(origin: Origin, node: ast.ClassDef) -> dict[str, str]:
    """What makes the attributes of a class, by the name of a class of the file, or in full."""
    start = method_of(node, "__init__")
    return {
        attribute: getattr(part.value.func, "id", "")
        if getattr(part.value.func, "id", "") in origin.classes
        else origin.qualified(part.value.func)
        for part in walk(start or ast.Pass())
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
        if (attribute := self_attribute(part.targets[0])) is not None
    }


def _is_list(
    call: ast.FunctionDef,
    given: str,
    parts: dict[str, str],
    classes: dict[str, ast.FunctionDef],
    found: set[tuple[str, str]],
) -> bool:
    """Whether all that is done with an input is to go through it, or to hand it to who does."""
    if any(given in targets(p) for p in walk(call) if isinstance(p, ast.Assign)):
        return False
    known: list[ast.expr] = []
    for part in walk(call):
        if isinstance(part, ast.For | ast.comprehension):
            if is_name(part.iter, given) and _gives_images(call, part.target, parts):
                known.append(part.iter)
        elif isinstance(part, ast.Call):
            title = parts.get(self_attribute(part.func) or "", "")
            places = classes[title].args.args[1:] if title in classes else []
            known += [
                value
                for place, value in zip(places, part.args, strict=False)
                if is_name(value, given) and (title, place.arg) in found
            ]
    reads = [p for s in call.body for p in walk(s) if is_name(p, given)]
    return bool(known) and len(known) == len(reads)


def _gives_images(
    call: ast.FunctionDef, target: ast.expr, parts: dict[str, str]
) -> bool:
    """Whether what a loop goes over is called a map and given to layers, or given to one of images."""
    if not isinstance(target, ast.Name):
        return False
    calls = [
        attribute
        for p in walk(call)
        if isinstance(p, ast.Call) and any(is_name(a, target.id) for a in p.args)
        if (attribute := self_attribute(p.func)) is not None
    ]
    named = bool(calls) and _ONE.match(target.id) is not None
    return named or any(parts.get(a) in _IMAGES for a in calls)
