"""The process that runs a person's code to see what a model of theirs expects.

`python -m mlax_scaffold.weights.program FILE.py:NAME` writes JSON: what `to_json` makes of the
model, or {"usage": ...} or {"raised": ...}. What the code itself prints goes to stderr.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.spelling import did_you_mean
from mlax_scaffold.weights.model import Model, from_json, read_model, to_json


def model_of(target: str) -> Model:
    """What the model at `file.py:name` expects; its code runs in another process.

    Raises:
        UsageError: where there is no such file or name, or it is no model.
        FindingsError: where the code raises; the text ends in its traceback.
    """
    # Found where it is not installed, too, and never in the place of a module of the folder.
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    done = subprocess.run(
        [sys.executable, "-m", "mlax_scaffold.weights.program", target],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": path},
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise FindingsError(
            f"{target}: its process ended with status {done.returncode} before it said what "
            "the model expects"
        ) from None
    if "usage" in answer:
        raise UsageError(answer["usage"])
    if "raised" in answer:
        raise FindingsError(f"{target} raised an error.\n{answer['raised']}")
    return from_json(answer)


def main() -> None:
    """Answer on the standard output that was there before the code of the model ran."""
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        answer: dict[str, Any] = to_json(expected(sys.argv[1]))
    except UsageError as error:
        answer = {"usage": str(error)}
    except BaseException as error:
        answer = {"raised": _told(error)}
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        json.dump(answer, out)


def _told(error: BaseException) -> str:
    """The traceback from the person's own code on."""
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename.startswith(_ABOVE):
        own = own.tb_next
    # What jax says of its own frames is about none of these.
    notes = [n for n in getattr(error, "__notes__", ()) if _FILTERED not in n]
    error.__notes__ = notes
    return "".join(traceback.format_exception(type(error), error, own)).strip()


_FILTERED = "JAX_TRACEBACK_FILTERING"
_ABOVE = (
    __file__,
    "<frozen importlib",
    str(Path(inspect.__file__).parent / "importlib"),
)


def expected(target: str) -> Model:
    """What the model at `file.py:name` expects; its code runs here."""
    file, colon, name = target.rpartition(":")
    if not colon or not name.replace(".", "_").isidentifier():
        raise UsageError(
            f"{target!r} names no model; write FILE.py:NAME, a function that returns an "
            "initialized layer, or the layer itself"
        )
    found: Any = _module(Path(file))
    for part in name.split("."):
        if not hasattr(found, part):
            known = [n for n in dir(found) if not n.startswith("_")]
            hint = did_you_mean(part, known) or "it has " + ", ".join(known[:10])
            raise UsageError(f"{file} has no {part!r}; {hint}")
        found = getattr(found, part)
    return read_model(_made(found, target))


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; write FILE.py:NAME")
    name = f"_model_of_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file; write FILE.py:NAME")
    sys.path[:0] = [str(path.resolve().parent), str(Path.cwd())]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _made(found: Any, target: str) -> Any:
    """The model; a function that makes it is traced where it can be, so that nothing is drawn."""
    if not callable(found):
        return found
    import jax

    needed = [
        p
        for p in inspect.signature(found).parameters.values()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1:
        raise UsageError(
            f"{target} takes {', '.join(p.name for p in needed)}; it may take a PRNG key, or "
            "nothing: write a function that gives the rest"
        )
    key = [jax.random.key(0)] * len(needed)
    try:
        return jax.eval_shape(lambda: found(*key))
    except (TypeError, jax.errors.JAXTypeError, jax.errors.JAXIndexError):
        # What it makes holds more than arrays, or it computes with them: then it runs as it is.
        return found(*key)


if __name__ == "__main__":
    main()
