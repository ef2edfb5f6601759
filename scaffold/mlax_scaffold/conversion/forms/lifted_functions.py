"""Functions inside of one that makes weights, which read nothing of it, as functions of the file.

def init(key, width):                                   def dense(key, n):
    def dense(key, n):                                      return {"w": random.normal(key, (n, n))}
        return {"w": random.normal(key, (n, n))}
    return {"fc": dense(key, width)}        becomes     def init(key, width):
                                                            return {"fc": dense(key, width)}
"""

from __future__ import annotations

import ast
import re

from mlax_scaffold.conversion.source.free_names import free_names
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import as_function, targets
from mlax_scaffold.conversion.source.walking import walk

_MAKES = re.compile(r"init|params|weights")


def without_inner_helpers(origin: Origin) -> None:
    """Write them so, in place."""
    for function in list(origin.functions.values()):
        if not _MAKES.search(function.name):
            continue
        own = {a.arg for a in walk(function.args) if isinstance(a, ast.arg)}
        own |= {t for part in function.body for t in targets(part)}
        for part in list(function.body):
            made = as_function(part)
            if made is None or made.name in {*origin.functions, *origin.classes}:
                continue
            bound = [t for p in function.body if p is not part for t in targets(p)]
            if made.decorator_list or made.name in bound:
                continue
            if not free_names(made) & own - {made.name}:
                function.body.remove(part)
                origin.lift(made)
