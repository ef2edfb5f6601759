"""Optimizers under names: one for each group of weights, and one after another."""

from collections.abc import Callable, Mapping
from typing import Any

import jax

from . import arrays, checks, scopes
from .checks._errors import invalid
from .paths import listed, named_leaves, path_name, shown
from .static import InitializedOptimizer, OfOptimizer, OptimizerHyperparams, static
from .trees import labels_of_tree, scales_loss, tree_merge, tree_prune, tree_select


@static
class PartitionHyperparams(OfOptimizer):
    """Hyperparameters of `partition`: canonical, hashable, static."""

    names: tuple[str, ...]
    """The labels of the groups."""
    optimizers: tuple[OptimizerHyperparams, ...]
    """The optimizer of each group."""
    labels: Callable[[str, Any], str]
    """The label of a weight."""

    def apply(
        self, gradients: Any, state: Any, trainables: Any, **inputs: Any
    ) -> tuple[Any, Any]:
        """A step: the updates of each weight are those of its group's optimizer."""
        groups = _groups(self.names, self.labels, trainables)
        evaluate = inputs.pop("value_and_gradients", None)
        keys = arrays.split_keys(inputs.pop("key", None), len(self.names))
        updates, states = gradients, {}
        for name, optimizer, key in zip(self.names, self.optimizers, keys, strict=True):
            chosen = jax.tree.map(lambda label, n=name: label == n, groups)

            def of_the_group(
                parts: Any, chosen: Any = chosen, function: Any = evaluate
            ) -> tuple[Any, Any]:
                loss, slopes = function(tree_merge(parts, trainables))
                return loss, tree_select(slopes, chosen)

            given = inputs | {"key": key}
            if evaluate is not None:
                given["value_and_gradients"] = of_the_group
            parts, states[name] = scopes.apply_at(
                name,
                optimizer,
                tree_select(gradients, chosen),
                state[name],
                tree_select(trainables, chosen),
                **given,
            )
            updates = tree_merge(parts, updates)
        return updates, states

    def initial_state(self, trainables: Any) -> dict[str, Any]:
        """The state before the first step, for weights with these labels."""
        states = [optimizer.initial_state(trainables) for optimizer in self.optimizers]
        groups = _groups(self.names, self.labels, trainables)
        return _of_groups(self.names, states, groups, trainables)


def partition(
    trainables: Any, optimizers: Mapping[str, InitializedOptimizer], labels: Any
) -> tuple[dict[str, Any], PartitionHyperparams]:
    """An optimizer for each group of weights, each of which is in exactly one.

        state, hyperparams = partition(
            trainables,
            {"matrices": Muon.init(trainables, 2e-2), "others": Adam.init(trainables, 1e-3)},
            lambda path, weight: "matrices" if weight.ndim == 2 else "others",
        )

    The state is a dictionary of those of the optimizers, which are kept for the weights
    of their group alone. Inputs of a step are handed on to each of them.

    Args:
        trainables: the weights.
        optimizers: an initialized optimizer for each label, initialized for all weights.
        labels: a hashable function of a weight's path (such as 'layers/0/kernel') and the
            weight, which gives its label; or a tree of labels, structured like the
            weights or like the first levels of them.

    Returns:
        `(state, hyperparams)`.

    Raises:
        ValueError: where a weight has a label that no optimizer has, or an optimizer a
            label that no weight has, naming them; where DynamicLossScaling is in one of
            several groups.
    """
    names, states, hyperparams = _named("partition", optimizers)
    scaled = [n for n, s in zip(names, states, strict=True) if scales_loss(s)]
    if scaled and len(names) > 1:
        raise ValueError(
            f"partition: DynamicLossScaling is in the group {scaled[0]!r}, and the gradients "
            "of all groups would have the scale of the loss; put it around all of them: "
            "DynamicLossScaling.init(partition(trainables, {...}, labels))"
        )
    if not callable(labels):
        expected = (
            "a hashable function of a weight's path and the weight that gives a label, or "
            "a tree of labels like the weights"
        )
        labels = labels_of_tree("partition", "labels", expected, labels, trainables)
    labels = checks.function("partition", labels=labels)
    groups = _groups(names, labels, trainables)
    unused = sorted(set(names) - set(jax.tree.leaves(groups)))
    if unused and jax.tree.leaves(trainables):
        weights = listed([path for path, _ in named_leaves(trainables)])
        raise ValueError(
            f"partition: no weight has the label {', '.join(map(repr, unused))}; leave the "
            f"optimizer out, or give the label to one of {weights}"
        )
    pruned = _of_groups(names, states, groups, trainables)
    return pruned, PartitionHyperparams(names, hyperparams, labels)


@static
class NamedChainHyperparams(OfOptimizer):
    """Hyperparameters of `named_chain`: canonical, hashable, static."""

    names: tuple[str, ...]
    """The names, in order."""
    optimizers: tuple[OptimizerHyperparams, ...]
    """The optimizer of each name."""

    def apply(
        self, gradients: Any, state: Any, trainables: Any, **inputs: Any
    ) -> tuple[Any, Any]:
        """A step: the updates of each optimizer are the gradients of the next."""
        keys = arrays.split_keys(inputs.pop("key", None), len(self.names))
        states = {}
        for name, optimizer, key in zip(self.names, self.optimizers, keys, strict=True):
            gradients, states[name] = scopes.apply_at(
                name, optimizer, gradients, state[name], trainables, **inputs, key=key
            )
        return gradients, states

    def initial_state(self, trainables: Any) -> dict[str, Any]:
        """The state before the first step, for these weights."""
        pairs = zip(self.names, self.optimizers, strict=True)
        return {name: optimizer.initial_state(trainables) for name, optimizer in pairs}


def named_chain(
    optimizers: Mapping[str, InitializedOptimizer],
) -> tuple[dict[str, Any], NamedChainHyperparams]:
    """Optimizers one after another, as Chain has them, whose states have names.

        clip, adam = ClipByGlobalNorm.init(trainables, 1.0), Adam.init(trainables, 1e-3)
        state, hyperparams = named_chain({"clip": clip, "adam": adam})
        state["adam"].mean

    Args:
        optimizers: initialized optimizers by name, in order.

    Returns:
        `(state, hyperparams)`; the state is a dictionary of their states.

    Raises:
        ValueError: where DynamicLossScaling is in another one than the first.
    """
    names, states, hyperparams = _named("named_chain", optimizers)
    if any(map(scales_loss, states[1:])):
        raise ValueError(
            "named_chain: what stands before DynamicLossScaling would see gradients with the "
            "scale of the loss; put that around the chain, or first in it"
        )
    return dict(zip(names, states, strict=True)), NamedChainHyperparams(
        names, hyperparams
    )


def _named(owner: str, optimizers: Any) -> tuple[Any, Any, Any]:
    """Names, states and hyperparameters of initialized optimizers."""
    if not isinstance(optimizers, Mapping) or not all(
        isinstance(name, str) for name in optimizers
    ):
        expected = "a mapping of names to initialized optimizers (state, hyperparams)"
        raise invalid(owner, "optimizers", expected, optimizers)
    pairs = [
        checks.sub_optimizer(owner, **{f"optimizers[{name!r}]": optimizer})
        for name, optimizer in optimizers.items()
    ]
    states, hyperparams = zip(*pairs, strict=True) if pairs else ((), ())
    return tuple(optimizers), states, hyperparams


def _of_groups(names: Any, states: Any, groups: Any, trainables: Any) -> dict[str, Any]:
    """States of optimizers by name, each for the weights of its group alone."""
    return {
        name: tree_prune(
            state, trainables, jax.tree.map(lambda label, n=name: label == n, groups)
        )
        for name, state in zip(names, states, strict=True)
    }


def _groups(names: tuple[str, ...], labels: Any, trainables: Any) -> Any:
    """The label of each weight."""

    def label(path: Any, weight: Any) -> str:
        name = path_name(path)
        given = labels(name, weight)
        if given not in names:
            raise ValueError(
                f"partition: the label of {shown(name)} is {given!r}, for which there is no "
                f"optimizer; there are {', '.join(map(repr, names)) or 'none'}"
            )
        return given

    return jax.tree_util.tree_map_with_path(label, trainables)
