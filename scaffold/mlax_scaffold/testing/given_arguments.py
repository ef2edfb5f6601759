"""What an original is given beside hyperparameters: layers, tables and classes, as its file says them."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import ChainMap
from collections.abc import Mapping
from typing import Any


def with_given(
    thing: Any, arguments: Mapping[str, Any], given: Mapping[str, str]
) -> dict[str, Any]:
    """The arguments of a constructor, with what texts say of them, which may read the others.

    Args:
        thing: the class, or the function, of a file that was run.
        arguments: those that hyperparameters tell, some of which are only those of what it is handed.
        given: the texts, by parameter.
    """
    made = dict(arguments)
    for parameter, text in given.items():
        known = inspect.signature(thing).parameters.values()
        defaults = {p.name: p.default for p in known if p.default is not p.empty}
        around = vars(sys.modules[thing.__module__])
        # It is written in that file, which was run.
        made[parameter] = eval(text, dict(ChainMap(dict(arguments), defaults, around)))
        taken = {p.name for p in known}
        if not any(p.kind is p.VAR_KEYWORD for p in known):
            read = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
            made = {p: v for p, v in made.items() if p in taken or p not in read}
    return made
