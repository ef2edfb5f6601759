"""Settings that a program is given on its command line, as `add_argument` tells them.

`parser.add_argument("--width", type=int, default=64)` says of `args.width` that it is a whole number, 64 by
default. `argparse.Namespace(width=64)`, and what is like it, says so, too, and so does a dictionary of the
file that is called so, `DEFAULT_CONFIG = {"width": 64}`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mlax_scaffold.conversion.source.config_classes import Setting
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal
from mlax_scaffold.conversion.source.walking import walk

_HOLDERS = ("Namespace", "SimpleNamespace", "EasyDict", "edict", "AttrDict", "Munch")
_CALLED = re.compile(
    r"(^|_)(config\w*|cfg|conf|defaults?|settings|options|hparams|hyperparams|args)$",
    re.IGNORECASE,
)
"""What dictionaries of settings are called."""
_TYPES = ("int", "float", "str", "bool")


def parsed_settings(origin: Origin) -> dict[str, Setting]:
    """The settings that a file parses, or that an object of no class of its own holds, in order."""
    found: dict[str, Setting] = {}
    for part in walk(origin.tree):
        if not isinstance(part, ast.Call):
            continue
        last = getattr(part.func, "attr", getattr(part.func, "id", ""))
        if last == "add_argument":
            made = _parsed(part)
            if made is not None:
                found.setdefault(*made)
        elif last in _HOLDERS and not part.args:
            for keyword in part.keywords:
                if keyword.arg and _is_known(keyword.value):
                    found.setdefault(keyword.arg, Setting(None, keyword.value))
    for title, assigned in origin.assigned.items():
        if _CALLED.search(title):
            for key, value in entries_of(assigned.value).items():
                if _is_known(value) and not isinstance(value, ast.Dict):
                    found.setdefault(key, Setting(None, value))
    for title, text in _asked(origin):
        # Where nothing says which text it is, it is the first one that the code asks for.
        known = found.get(title)
        if known is None or (known.default is None and known.annotation is None):
            found[title] = Setting(ast.Name("str", ast.Load()), text)
    return found


def entries_of(node: ast.expr | None) -> dict[str, ast.expr]:
    """What a dictionary holds under names, `{"width": 64}` or `dict(width=64)`; nothing of anything else."""
    match node:
        case ast.Dict(keys=keys, values=values):
            titles = [literal(k) for k in keys]
            if all(isinstance(t, str) and t.isidentifier() for t in titles):
                return {str(t): v for t, v in zip(titles, values, strict=True)}
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            if all(k.arg is not None for k in keywords):
                return {str(k.arg): k.value for k in keywords}
    return {}


def _asked(origin: Origin) -> Iterator[tuple[str, ast.expr]]:
    """The settings that are compared with texts, `args.norm == "batch"`, in the order of the file."""
    parts = [p for p in walk(origin.tree) if isinstance(p, ast.Compare)]
    for part in sorted(parts, key=lambda p: (p.lineno, p.col_offset)):
        match part:
            case ast.Compare(
                left=ast.Attribute(value=owner, attr=title),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=str()) as text],
            ) if not is_name(owner, "self"):
                yield title, text


def _parsed(call: ast.Call) -> tuple[str, Setting] | None:
    """What one argument is called where it is read, and what is said of it."""
    flags = [text for a in call.args if isinstance(text := literal(a), str)]
    given = {k.arg: k.value for k in call.keywords}
    named = literal(given.get("dest"))
    long = [f for f in flags if f.startswith("--")] or flags
    title = named if isinstance(named, str) else (long[0] if long else "")
    title = title.lstrip("-").replace("-", "_")
    if not title.isidentifier():
        return None
    default = given.get("default")
    action = literal(given.get("action"))
    if action in ("store_true", "store_false"):
        off = default if default is not None else ast.Constant(action != "store_true")
        return title, Setting(ast.Name("bool", ast.Load()), off)
    if default is None or not _is_known(default):
        return title, Setting(_type(given, None), None)
    return title, Setting(_type(given, literal(default)), default)


def _type(given: dict[str | None, ast.expr], default: object) -> ast.expr | None:
    """The type of an argument; none where several values are taken, whose default says it."""
    kind = getattr(given.get("type"), "id", "")
    if "nargs" in given or kind not in _TYPES:
        return None
    if isinstance(default, str) and kind != "str":
        # It is parsed as a text is.
        return None
    return ast.Name(kind, ast.Load())


def _is_known(node: ast.expr) -> bool:
    """Whether a value is one of literals that says what it is."""
    value = literal(node)
    return not isinstance(value, ast.AST) and value is not None
