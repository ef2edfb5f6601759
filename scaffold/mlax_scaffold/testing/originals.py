"""What people's own code computes: it is imported, given weights, and run."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.testing.built import Built, Run
from mlax_scaffold.testing.given_arguments import with_given
from mlax_scaffold.testing.joined_sizes import as_by_default
from mlax_scaffold.testing.modules_of_equinox import layer_of_equinox
from mlax_scaffold.testing.plain_objects import PREFIX, put_in_mode, replaced
from mlax_scaffold.testing.settings import Settings, made_of
from mlax_scaffold.testing.tensors import layer_of_torch

_OFF = (
    *("train", "training", "is_training", "is_train", "enable_dropout", "update_stats"),
    "test_local_stats",
)
_ON = ("deterministic", "inference", "eval_mode", "use_running_average", "test")
_MODULES = {
    "torch": "torch",
    "flax": "flax",
    "nnx": "flax",
    "equinox": "equinox",
    "haiku": "haiku",
    "optax": "optax",
}


def _in_package(place: Path, top: Path) -> types.ModuleType | None:
    """A file that imports others of the same code, as a module of the folders that it is in."""
    for folder in place.parents:
        name = ".".join(place.relative_to(folder).with_suffix("").parts)
        sys.path.insert(0, str(folder))
        try:
            return importlib.import_module(name)
        except ImportError:
            sys.modules.pop(name, None)
        finally:
            sys.path.remove(str(folder))
        if folder == top:
            return None
    return None


@dataclass(frozen=True)
class Original:
    """Something of somebody's that was converted.

    Args:
        path: its file, from the folder of the project.
        thing: its name there.
        framework: what it is written with; "pair" for a function that makes weights and one that
            takes them.
        parameters: those of its constructor, and the hyperparameters that they became.
        flags: parameters of its call, and settings, that the definition has not.
        keys: parameters for random numbers: each is a "key" of jax, or a "generator" of NumPy.
        settings: those of its constructor that hold settings, and the class of each, or "". What they hold
            is among the parameters, as in `config.width`.
        given: those of its constructor that the definition has not, and what they are, as its file says it.
        functions: the names of a pair.
        names: what the weights of a pair are called, in order, where it has them in a tuple.
        named: inputs that its call is given by their names.
    """

    path: str
    thing: str
    framework: str
    parameters: MappingOf[str, str] = field(default_factory=dict)
    flags: Sequence[str] = ()
    keys: MappingOf[str, str] = field(default_factory=dict)
    settings: MappingOf[str, str] = field(default_factory=dict)
    given: MappingOf[str, str] = field(default_factory=dict)
    functions: Sequence[str] = ()
    names: Sequence[str] = ()
    named: MappingOf[str, Any] = field(default_factory=dict)

    def load(self, near: str) -> Any:
        """What the name stands for; of two functions without one of that name the module.

        Skips the test where its framework is not installed, or the file is gone.
        """
        module = _MODULES.get(self.framework)
        if module and importlib.util.find_spec(module) is None:
            pytest.skip(f"{self.path} needs {module}, which is not installed")
        folders = [p for p in Path(near).resolve().parents if (p / self.path).is_file()]
        if not folders:
            pytest.skip(f"{self.path}, which it was converted from, is not there")
        place = (folders[0] / self.path).resolve()
        name = PREFIX + "_".join(place.with_suffix("").parts[-3:])
        spec = importlib.util.spec_from_file_location(name, place)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        try:
            with _alone(place):
                spec.loader.exec_module(made)
        except ImportError as error:
            # A file beside the project is in a folder with it.
            around = os.path.commonpath([place, folders[0]])
            made = _in_package(place, Path(around))
            if made is None:
                pytest.skip(f"{self.path} cannot be imported: {error}")
        if self.functions and set(self.functions) <= set(vars(made)):
            return made
        return getattr(made, self.thing)

    def arguments(
        self, hyperparameters: MappingOf[str, Any], thing: Any = None
    ) -> dict[str, Any]:
        """Of its constructor, with the values of these hyperparameters."""
        made = {p: hyperparameters[f] for p, f in self.parameters.items()}
        joined = self.framework == "torch"
        made = {p: as_by_default(thing, p, v, joined) for p, v in made.items()}
        if self.framework == "haiku":
            # Its layers can be made where they are called alone.
            made |= self.given
        else:
            made = with_given(thing, made, self.given)
        for parameter, kind in self.settings.items():
            held = {
                p.partition(".")[2]: made.pop(p)
                for p in [*made]
                if p.startswith(f"{parameter}.")
            }
            modes = (
                f.partition(".")[2] for f in self.flags if f.startswith(f"{parameter}.")
            )
            held |= {mode: mode in _ON for mode in modes}
            module = thing if inspect.ismodule(thing) else sys.modules[thing.__module__]
            holder = getattr(module, kind) if kind else Settings
            made[parameter] = made_of(holder, held)
        return made

    def check_made(self, thing: Any, arguments: MappingOf[str, Any]) -> None:
        """Skip the test where a class cannot be made with these arguments alone.

        It may be handed layers, which what was converted makes itself.
        """
        if not isinstance(thing, type):
            return
        known = inspect.signature(thing).parameters.values()
        named = [p for p in known if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        open_ended = len(named) < len(known)
        drawn = ("key", "rngs", "device", *self.keys)
        missing = [
            p.name
            for p in named
            if p.default is p.empty and p.name not in (*arguments, *drawn)
        ]
        extra = (
            []
            if open_ended
            else [n for n in arguments if n not in {p.name for p in named}]
        )
        if missing or extra:
            what = " and ".join(
                f"{verb} {', '.join(names)}"
                for verb, names in (("also takes", missing), ("does not take", extra))
                if names
            )
            pytest.skip(
                f"{self.thing} of {self.path} {what}: compare it where it is made with these"
            )

    def given_flags(self) -> dict[str, Any]:
        """Its flags as they are in inference, and the inputs that it is given by name."""
        called = [f for f in self.flags if "." not in f]
        modes = {f: f in _ON for f in called if f in (*_OFF, *_ON)}
        keys = {f: jax.random.key(2) for f in called if f not in modes}
        return modes | keys | dict(self.named)

    def given_keys(self) -> dict[str, Any]:
        """What it draws its weights with."""
        return {
            name: np.random.default_rng(0) if kind == "generator" else jax.random.key(0)
            for name, kind in self.keys.items()
        }


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let a file that parses its command line find nothing there."""
    given, sys.argv = sys.argv, [str(place)]
    try:
        yield
    finally:
        sys.argv = given


def _taken(made: Any, **given: Any) -> dict[str, Any]:
    """What a constructor, or a function, takes of these."""
    called = made.__init__ if isinstance(made, type) else made
    names = inspect.signature(called).parameters
    return {name: value for name, value in given.items() if name in names}


def _flax(cls: Any, original: Original, arguments: Any, arrays: Any) -> Built:
    module, flags = cls(**arguments), original.given_flags()
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    # What `make_rng` is asked for by any name; layers find no key for dropout.
    drawing = {"params": jax.random.key(2)}
    return Built(
        module.init(keys, *arrays, **flags),
        lambda variables: lambda *x: module.apply(variables, *x, rngs=drawing, **flags),
    )


def _nnx(cls: Any, original: Original, arguments: Any, arrays: Any) -> Built:
    from flax import nnx

    flags = original.given_flags()
    module = cls(**arguments, **_taken(cls, rngs=nnx.Rngs(0)))
    module.eval()
    # Variables of classes of its own, too, such as codebooks.
    kept = nnx.All(nnx.Variable, nnx.Not(nnx.RngState))
    _, weights, _ = nnx.split(module, kept, ...)
    held = nnx.to_pure_dict(weights)
    # Plain arrays are no variables, and what they were drawn as.
    beside = {
        (*path, name): part
        for path, part in nnx.iter_graph(module)
        if isinstance(part, nnx.Module)
        for name, value in vars(part).items()
        if isinstance(value, jax.Array | np.ndarray)
        and jnp.issubdtype(value.dtype, jnp.floating)
    }
    for path, part in beside.items():
        _put(held, path, getattr(part, path[-1]))

    def bound(moved: Any) -> Run:
        given = jax.tree.map(lambda leaf: leaf, moved)
        for path, part in beside.items():
            setattr(part, path[-1], _take(given, path))
        nnx.replace_by_pure_dict(weights, given)
        nnx.update(module, weights)
        return lambda *x: module(*x, **flags)

    return Built(held, bound)


def _put(tree: dict[Any, Any], path: Sequence[Any], value: Any) -> None:
    *above, last = path
    for key in above:
        tree = tree.setdefault(key, {})
    tree[last] = value


def _take(tree: dict[Any, Any], path: Sequence[Any]) -> Any:
    """A leaf of a tree, which is taken out of it with all that is empty then."""
    first, *rest = path
    found = _take(tree[first], rest) if rest else tree[first]
    if not rest or not tree[first]:
        del tree[first]
    return found


def _haiku(cls: Any, original: Original, arguments: Any, arrays: Any) -> Built:
    import haiku as hk

    flags = original.given_flags()

    def transformed(modes: MappingOf[str, Any]) -> Any:
        def called(*x: Any) -> Any:
            told = {k: v for k, v in arguments.items() if k not in original.given}
            made = with_given(cls, told, original.given)
            if isinstance(cls, type):
                return cls(**made)(*x, **modes)
            return cls(*x, **made, **modes)

        return hk.transform_with_state(called)

    source = transformed(flags)
    # Averages over batches are there only when they were made in training.
    trained = transformed(
        {f: not v if isinstance(v, bool) else v for f, v in flags.items()}
    )
    params, state = trained.init(jax.random.key(0), *arrays)
    return Built(
        (params, state),
        lambda given: lambda *x: source.apply(*given, jax.random.key(1), *x)[0],
    )


def _plain(cls: Any, original: Original, arguments: Any, arrays: Any) -> Built:
    """An object whose attributes are arrays, or hold such."""
    made = cls(**arguments, **original.given_keys())
    call = next(
        getattr(made, name)
        for name in ("__call__", "forward", "call", "apply")
        if hasattr(made, name)
    )
    flags = original.given_flags()
    put_in_mode(made, {**dict.fromkeys(_OFF, False), **dict.fromkeys(_ON, True)})
    weights: dict[str, Any] = {}
    replaced(made, "", weights.setdefault)

    def bound(moved: Any) -> Run:
        replaced(made, "", lambda name, _: moved[name])
        return lambda *x: call(*x, **flags)

    return Built(weights, bound)


def _pair(thing: Any, original: Original, arguments: Any, arrays: Any) -> Built:
    """A function that makes weights, and one that takes them."""
    holder = thing
    configured = isinstance(thing, type) and inspect.signature(thing).parameters
    if inspect.isfunction(thing) or configured:
        holder = thing(**_taken(thing, **arguments))
    if isinstance(holder, tuple) and not hasattr(holder, original.functions[0]):
        first, second = holder[:2]
    else:
        first, second = (getattr(holder, name) for name in original.functions)
    given = original.given_keys() | {"input_shape": arrays[0].shape}
    made = first(**_taken(first, **arguments, **given))
    shaped = isinstance(made, tuple) and len(made) == 2 and _is_shape(made[0])
    params = made[1] if shaped else made
    if isinstance(made, tuple) and len(made) == 2 and all(map(_is_record, made)):
        return _pair_with_state(second, original, arguments, *made)
    leaves, structure = jax.tree.flatten(params)
    if isinstance(params, tuple) and not hasattr(params, "_fields"):
        names = list(original.names)
    else:
        places, _ = zip(*jax.tree.leaves_with_path(params), strict=True)
        names = [jax.tree_util.keystr(p, simple=True, separator="/") for p in places]
        # A container that holds them all is one attribute of the layer.
        if original.names and original.names[0] in ("layers", "weights"):
            names = [f"{original.names[0]}/{name}" for name in names]

    def bound(weights: Any) -> Run:
        moved = jax.tree.unflatten(structure, [weights[name] for name in names])
        given = original.given_flags() | _taken(second, **arguments)
        return lambda *x: second(moved, *x, **given)

    return Built(dict(zip(names, leaves, strict=True)), bound)


def _pair_with_state(
    second: Any, original: Original, arguments: Any, params: Any, state: Any
) -> Built:
    """A pair whose functions hand a state on beside the weights, which the results leave out."""
    places = [jax.tree.leaves_with_path(tree) for tree in (params, state)]
    titles = [
        [jax.tree_util.keystr(p, simple=True, separator="/") for p, _ in each]
        for each in places
    ]
    titles[1] = [f"{t}_state" if t in titles[0] else t for t in titles[1]]
    leaves = [leaf for each in places for _, leaf in each]
    names = [*titles[0], *titles[1]]
    structure = jax.tree.structure((params, state))

    def bound(weights: Any) -> Run:
        moved = jax.tree.unflatten(structure, [weights[name] for name in names])
        given = original.given_flags() | _taken(second, **arguments)

        def run(*x: Any) -> Any:
            *results, _ = second(*moved, *x, **given)
            return results[0] if len(results) == 1 else tuple(results)

        return run

    return Built(dict(zip(names, leaves, strict=True)), bound)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) or hasattr(value, "_fields")


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(n, int) for n in value)


BUILT: MappingOf[str, Callable[[Any, Original, Any, Any], Built]] = {
    "torch": layer_of_torch,
    "flax": _flax,
    "nnx": _nnx,
    "equinox": layer_of_equinox,
    "haiku": _haiku,
    "plain": _plain,
    "pair": _pair,
}
"""How a layer is made, by what it is written with: of the class, its arguments and its inputs."""
