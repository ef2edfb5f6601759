"""What a module knows of its layer: its declarations, its sizes, and the trees of its pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks
from ._arguments import initialized
from ._declarations import (
    Declarations,
    checked_metadata,
    declared_paths,
    is_declared,
    keys_of,
    reserve,
)
from ._graph import Graph, Path, shown_path
from ._layout import Layout
from ._module import Module
from ._params import Params
from ._rng import Rng
from ._trees import Outline, check_like, outline_of


class OutlinedModule(Module):
    """A module whose parameters are what `init` of a layer makes.

    Args:
        graph: a node of its own.
        rng: gives the keys of the weights, and of random numbers in training.
        dtype: dtype of the weights; None: that of their initializers.
        metadata: of the parameters, by their names; that of sub-layers is nested.
    """

    functions: ClassVar[Any]
    """The module with `init` and `fwd`."""
    declarations: ClassVar[Declarations] = {}
    """What `init` takes keys for."""
    inferred: ClassVar[Mapping[str, str]] = {}
    """The hyperparameters that the shape of an input decides, with their attributes."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """The hyperparameters that are attributes of another name, with that."""

    def __init__(
        self,
        graph: Graph,
        rng: Rng | None = None,
        dtype: DTypeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(graph)
        name = type(self).__name__
        if rng is not None and not isinstance(rng, Rng):
            raise TypeError(f"{name}: rng must be an Rng, got {type(rng).__name__}")
        self.rng = rng
        self.dtype = checks.optional(checks.dtype, name, dtype=dtype)
        self.metadata = checked_metadata(name, metadata, self.declarations)
        self._outlined: tuple[Mapping[str, Any], Outline] | None = None
        self._complete: tuple[Layout | None, Outline | None] = None, None
        self._known: dict[str, Any] | None = None
        self._is_settled = False
        reserve(graph, self.declarations)

    # What the class of a layer says

    def init(self, key: Any, **sizes: Any) -> tuple[Any, Any, Any]:
        """`init` of the layer with the hyperparameters of this module.

        Args:
            key: a key, or a sequence with one for each declaration.
            **sizes: the hyperparameters that the shape of an input decides.
        """
        return initialized(self, key, sizes)

    def inferred_sizes(self, x: Any) -> dict[str, Any]:
        """The hyperparameters that the shape of an input decides."""
        return {}

    def sizes_for(self, entry: Any, x: Any) -> dict[str, Any]:
        """The same for an input of another entry point than `fwd`."""
        return self.inferred_sizes(x)

    def axis_size(self, name: str, x: Any, axis: int) -> int:
        """A hyperparameter that is given, or the size of an axis."""
        given = getattr(self, name)
        if given is not None:
            return given
        shape = jnp.shape(x)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"{type(self).__name__}: {name} is not given, and an input of shape {shape} "
                f"has no axis {axis} to take it from"
            )
        return shape[axis]

    def axis_sizes(self, name: str, x: Any, first: int, count: int) -> tuple[int, ...]:
        """A hyperparameter that is given, or the sizes of several axes."""
        given = getattr(self, name)
        if given is not None:
            return given
        sizes = (self.axis_size(name, x, axis) for axis in range(first, first + count))
        return tuple(sizes)

    def axes_beside(self, name: str, x: Any, others: int) -> int:
        """A hyperparameter that is given, or the number of axes beside some others."""
        given = getattr(self, name)
        return jnp.ndim(x) - others if given is None else given

    def known_size(self, name: str) -> Any:
        """A hyperparameter that this input does not decide: it is given, or an earlier call decided it."""
        size = self._sizes()[name]
        if size is None:
            raise self._unsettled([name])
        return size

    # Outlines

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_"):
            self.__dict__["_outlined"] = None  # It is that of the attributes before.

    def __getstate__(self) -> dict[str, Any]:
        # An outline is made again; it knows classes that have no way into a pickle.
        return super().__getstate__() | {"_outlined": None, "_complete": (None, None)}

    def outline(self, x: Any) -> Outline:
        """What `init` makes for an input of this shape; nothing is computed for it."""
        return self._outline(self.inferred_sizes(x))

    def _outline(self, sizes: Mapping[str, Any]) -> Outline:
        if self._outlined is None or self._outlined[0] != sizes:
            made = jax.eval_shape(lambda: self.init(jax.random.key(0), **sizes))
            self._outlined = sizes, Outline.of(self.path, made)
        return self._outlined[1]

    def _metadata(self, path: Path) -> Mapping[str, Any] | None:
        found: Any = self.metadata
        for name in path[len(self.path) :]:
            found = (found or {}).get(name)
        return found

    # Creation

    def _with_arrays(
        self, params: Params, sizes: Mapping[str, Any], rng: Rng | None
    ) -> Params:
        """The params with the arrays that the layer of these sizes lacks."""
        layout, complete = self._complete
        if params.layout is layout and self._outline(sizes) is complete:
            return params
        after, made = [params], None

        def draw() -> Any:
            if rng is None:
                return None
            key, after[0] = rng(after[0])
            return key

        seeded = rng is not None and not params.is_locked and rng.is_seeded(params)
        if seeded and self._outlined is None and self._is_new(params):
            # What is made tells its shapes: `init` need not be traced for them before.
            made = self._initialized(keys_of(draw, self.declarations, None), sizes, rng)
            self._outlined = sizes, Outline.of(self.path, made)
        outline = self._outline(sizes)
        missing = params.lacking(outline.paths)
        if not missing:
            self._complete = params.layout, outline
            return params
        params.require_unlocked(*missing)
        if made is None:
            keys = keys_of(draw, self.declarations, outline.hyperparams)
            made = self._initialized(keys, sizes, rng)
        [params] = after
        for tree, values, trainable in (
            (outline.trainables, made[0], True),
            (outline.non_trainables, made[1], False),
        ):
            for path, value in tree.by_path(values).items():
                if path not in params:
                    params = params.add(
                        path, value, trainable=trainable, metadata=self._metadata(path)
                    )
        return params

    def _is_new(self, params: Params) -> bool:
        """Whether it is known that all arrays are missing."""
        paths = declared_paths(self.path, self.declarations)
        return bool(paths) and not any(path in params for path in paths)

    def _initialized(
        self, keys: Any, sizes: Mapping[str, Any], rng: Rng | None
    ) -> tuple[Any, Any, Any]:
        try:
            return self.init(keys, **sizes)
        except (TypeError, AttributeError) as error:
            if rng is not None:
                raise
            raise ValueError(
                f"{type(self).__name__} at {shown_path(self.path)} has weights that are drawn at random: "
                "pass rng=..., an Rng, where it is made"
            ) from error

    # Pairs

    @property
    def hyperparams(self) -> Any:
        """The hyperparameters of `fwd`.

        Raises:
            ValueError: where an input decides some of them, and there was none yet.
        """
        return self._settled().hyperparams

    def _static_hyperparams(self) -> Any:
        """Hyperparameters, with a size of 1 where nothing said it yet."""
        sizes = {name: size or 1 for name, size in self._given().items()}
        return self._outline(self._known or sizes).hyperparams

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, own) for name, own in self.inferred.items()}

    def _sizes(self) -> dict[str, Any]:
        return self._given() if self._known is None else self._known

    def _settled(self) -> Outline:
        sizes = self._sizes()
        missing = [name for name, size in sizes.items() if size is None]
        if missing:
            raise self._unsettled(missing)
        return self._outline(sizes)

    def _unsettled(self, missing: list[str]) -> ValueError:
        return ValueError(
            f"{type(self).__name__} at {shown_path(self.path)} learns {', '.join(missing)} from its "
            "first input: call it once (jax.eval_shape will do), or pass "
            f"{', '.join(f'{self.inferred[name]}=...' for name in missing)}"
        )

    def _to_pair(self, params: Params) -> tuple[Any, Any]:
        """`(trainables, non_trainables)` of `fwd`."""
        outline = self._settled()
        return tuple(
            tree.read(self, params, check=False)
            for tree in (outline.trainables, outline.non_trainables)
        )  # type: ignore[return-value]

    def _from_pair(
        self,
        params: Params,
        trainables: Any,
        non_trainables: Any,
        stack: tuple[int, ...] = (),
    ) -> Params:
        """The params with the arrays of a pair, which `stack` modules have together."""
        found = {
            path: (value, trainable)
            for tree, trainable in ((trainables, True), (non_trainables, False))
            for path, value in outline_of(self.path, tree).by_path(tree).items()
        }
        self._check_pair({path: trainable for path, (_, trainable) in found.items()})
        expected = self._expected(stack)
        for path, (value, trainable) in found.items():
            if path in params:
                check_like(self, path, value, params.value(path), exact=True)
                params = params.set(path, value)
            else:
                check_like(self, path, value, expected.get(path), exact=True)
                params = params.add(
                    path, value, trainable=trainable, metadata=self._metadata(path)
                )
        return params

    def _expected(self, stack: tuple[int, ...]) -> dict[Path, jax.ShapeDtypeStruct]:
        """The arrays that `init` makes, where all sizes are known."""
        sizes = self._sizes()
        if None in sizes.values():
            return {}
        outline = self._outline(sizes)
        return outline.trainables.structs(stack) | outline.non_trainables.structs(stack)

    def _pair_hyperparams(self) -> Any:
        return self.hyperparams

    def _check_pair(self, found: Mapping[Path, bool]) -> None:
        """Refuse trees of another layer, whose arrays this one would never read.

        Which parameters there are is known when all sizes are; before, only their names.
        """
        depth, sizes = len(self.path), self._sizes()
        unexpected = [
            path for path in found if not is_declared(path[depth:], self.declarations)
        ]
        missing: list[Path] = []
        if None not in sizes.values():
            outline = self._outline(sizes)
            expected = dict.fromkeys(outline.trainables.paths, True)
            expected |= dict.fromkeys(outline.non_trainables.paths, False)
            unexpected = [
                path for path in found if expected.get(path) is not found[path]
            ]
            missing = [path for path in expected if path not in found]
        if unexpected or missing:
            shown = [
                f"{what} {', '.join(repr('/'.join(path[depth:])) for path in paths[:4])}"
                for what, paths in (("unexpected", unexpected), ("missing", missing))
                if paths
            ]
            raise ValueError(
                f"{type(self).__name__} at {shown_path(self.path)}: trainables and non_trainables must be "
                f"those of `init` with the same hyperparameters; {'; '.join(shown)}"
            )
