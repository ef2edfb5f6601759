"""Tensors that are made of sizes by their type, as those that `torch.empty` makes.

torch.FloatTensor(out, features)    becomes    torch.empty(out, features)
torch.FloatTensor(out)              becomes    torch.empty(out)

What is given alone may be the numbers themselves: it is a size where another tensor of the class has it
as one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression
from mlax_scaffold.conversion.source.walking import located, walk

_TYPES = ("torch.FloatTensor", "torch.Tensor", "torch.cuda.FloatTensor")


def without_sized_tensors(origin: Origin) -> None:
    """Write them so, in place."""
    torch = origin.name_of("torch")
    if not torch:
        return
    for node in origin.classes.values():
        made = [
            p
            for p in walk(node)
            if isinstance(p, ast.Call)
            and origin.qualified(p.func) in _TYPES
            and p.args
            and not any(isinstance(a, ast.Starred) for a in p.args)
        ]
        several = [p for p in made if len(p.args) > 1]
        sizes = {ast.unparse(a) for p in several for a in p.args}
        for call in made:
            if call in several or ast.unparse(call.args[0]) in sizes:
                call.func = ast.copy_location(expression(f"{torch}.empty"), call.func)
    located(origin.tree)
