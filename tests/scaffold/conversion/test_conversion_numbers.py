"""What is converted computes what the original computes, with the original's weights.

Weights are drawn by NumPy, in the shapes that tracing tells: initializers would compile
a program for each. Layer and original are compiled as one program.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import equinox as eqx
import flax.linen
import haiku as hk
import jax
import numpy as np
import optax
import pytest
from corpus_inputs import all_converted, original
from flax import nnx
from torch_references import REFERENCES, bert_layer, encoder

KEY = jax.random.key(0)
TOLERANCE: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-6}


def drawn(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return _normal(shape, np.random.default_rng(seed))


def _normal(
    shape: tuple[int, ...], numbers: np.random.Generator, scale: float = 1.0
) -> np.ndarray:
    return np.asarray(numbers.normal(scale=scale, size=shape), np.float32)


def redrawn(tree: Any, numbers: np.random.Generator | None = None) -> Any:
    """Drawn arrays in the place of all arrays of a tree, none zero or one.

    Dicts keep their order, which those of jax do not.
    """
    numbers = numbers or np.random.default_rng(2)
    if isinstance(tree, Mapping):
        return {name: redrawn(value, numbers) for name, value in tree.items()}
    places, structure = jax.tree.flatten(tree)
    made = [
        _normal(p.shape, numbers, 0.5) if hasattr(p, "shape") else p for p in places
    ]
    return jax.tree.unflatten(structure, made)


def traced(make: Callable[[], Any]) -> Any:
    """What `make` returns, with the order of its dicts, and arrays that have only shapes."""
    found: list[Any] = []
    jax.eval_shape(lambda: found.append(make()))
    return found[0]


def module(package: ModuleType, section: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{package.__name__}.{section}"), name)


def kernels(names: tuple[str, ...], weight: Any) -> np.ndarray:
    """A weight in the layout that it has here."""
    text = "/".join(names).lower()
    if np.ndim(weight) == 4 and "conv" in text:
        return np.transpose(weight, (3, 0, 1, 2))
    return np.asarray(weight)


def leaves(tree: Any, names: tuple[str, ...] = ()) -> Iterator[np.ndarray]:
    """The weights of a tree of flax or haiku, in the order in which they were made."""
    if isinstance(tree, Mapping):
        # A kernel stands before its bias here, and a scale before its shift.
        order = ("w", "kernel", "scale", "b", "bias", "offset")
        keys = sorted(tree, key=lambda k: order.index(k) if k in order else -1)
        for key in keys:
            yield from leaves(tree[key], (*names, key))
    else:
        yield kernels(names, tree)


def with_weights(trainables: Any, weights: Iterator[Any]) -> Any:
    """The weights of a layer, in order, reshaped where axes are joined."""
    places, structure = jax.tree.flatten(trainables)
    given = list(weights)
    assert [p.size for p in places] == [g.size for g in given]
    made = [np.reshape(g, p.shape) for p, g in zip(places, given, strict=True)]
    return jax.tree.unflatten(structure, made)


def created(layer: Any, fields: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The shapes of the weights of a layer, its state, and its hyperparameters."""
    shapes, _, hyperparams = jax.eval_shape(lambda: layer.init(KEY, **fields))
    # What only the weights need is not compiled.
    return shapes, jax.jit(lambda: layer.init(KEY, **fields)[1])(), hyperparams


def assert_same(
    layer: Any, fields: Mapping[str, Any], weights: Any, source: Any, x: Any
) -> None:
    """The layer with these weights maps x to what `source` maps it to."""
    shapes, state, hyperparams = created(layer, fields)
    trainables = with_weights(shapes, weights)

    @jax.jit
    def both(trainables: Any, x: Any) -> Any:
        y, _ = layer.fwd(x, trainables, state, hyperparams, inference_mode=True)
        return y, source(x)

    y, expected = both(trainables, x)
    np.testing.assert_allclose(y, expected, **TOLERANCE)


def test_all_are_generated_together_and_import(package):
    for given, made in all_converted().items():
        if made.whole:
            section = importlib.import_module(f"{package.__name__}.{given.section}")
            assert hasattr(section, given.name), given
            thing = getattr(section, given.name)
            assert callable(thing) or inspect.ismodule(thing)


LINEN = {
    "MLP": ({"features": (8, 6, 4)}, {"in_features": 5}, (3, 5), {}),
    "ExplicitMLP": ({"features": (8, 4)}, {"in_features": 5}, (3, 5), {}),
    "CNN": ({}, {"in_channels": 1, "height": 8, "width": 8}, (2, 8, 8, 1), {}),
    "ResNetBlock": (
        {"filters": 6, "strides": (2, 2)},
        {"in_channels": 4},
        (2, 8, 8, 4),
        {"train": False},
    ),
    "MlpBlock": ({"mlp_dim": 7}, {"in_features": 5}, (3, 5), {"deterministic": True}),
    "Encoder1DBlock": (
        {"mlp_dim": 7, "num_heads": 2},
        {"in_features": 8},
        (2, 3, 8),
        {"deterministic": True},
    ),
    "Encoder": (
        {"mlp_dim": 7, "num_heads": 2, "num_layers": 2},
        {"in_features": 8, "positions": 3},
        (2, 3, 8),
        {"train": False},
    ),
    "RMSNorm": ({}, {"in_features": 5}, (3, 5), {}),
    "SqueezeExcite": ({"reduction": 2}, {"in_features": 6}, (2, 4, 4, 6), {}),
    "LoRADense": ({"features": 4, "rank": 2}, {"in_features": 5}, (3, 5), {}),
    "GatedMLP": ({"hidden_dim": 7}, {"in_features": 5}, (3, 5), {}),
    "MultiHeadAttention": (
        {"heads": 2, "head_dim": 3},
        {"in_features": 6},
        (2, 4, 6),
        {},
    ),
}


@pytest.mark.parametrize("name", LINEN)
def test_linen(package, name):
    given, added, shape, flags = LINEN[name]
    source: flax.linen.Module = getattr(original("linen/models.py"), name)(**given)
    x = drawn(shape)

    def init() -> Any:
        return source.init({"params": KEY}, x, **flags)

    # Biases of zero and scales of one would hide that two are exchanged.
    params = redrawn(traced(init)["params"])
    kept = jax.jit(lambda: {k: v for k, v in init().items() if k != "params"})()
    layer = module(package, "nn", f"Linen{name}")
    assert_same(
        layer,
        {**added, **given},
        leaves(params),
        lambda x: source.apply({**kept, "params": params}, x, **flags),
        x,
    )


HAIKU = {
    "MyLinear": ({"output_size": 4}, {"in_features": 5}, (3, 5)),
    "CNN": (
        {"num_classes": 3},
        {"in_channels": 2, "height": 6, "width": 6},
        (2, 6, 6, 2),
    ),
    "Encoder": ({"latent_size": 3, "hidden_size": 6}, {"in_features": 5}, (2, 5)),
    "MLP": ({"output_sizes": (6, 4)}, {"in_features": 5}, (2, 5)),
}


@pytest.mark.parametrize("name", HAIKU)
def test_haiku(package, name):
    given, added, shape = HAIKU[name]
    cls = getattr(original("haiku_/models.py"), name)
    # Modules of haiku are made inside of the transform.
    source = hk.without_apply_rng(hk.transform(lambda x: cls(**given)(x)))  # noqa: PLW0108
    x = drawn(shape)
    params = redrawn(traced(lambda: source.init(KEY, x)))
    layer = module(package, "nn", f"Haiku{name}")
    assert_same(
        layer,
        {**added, **given},
        leaves(params),
        lambda x: source.apply(params, x),
        x,
    )


def equinox_leaves(tree: Any) -> Iterator[Any]:
    """The weights of a module of equinox: kernels of Linear are transposed here."""
    if isinstance(tree, eqx.nn.Linear):
        yield tree.weight.T
        if tree.bias is not None:
            yield tree.bias
    elif isinstance(tree, eqx.Module):
        for value in vars(tree).values():
            yield from equinox_leaves(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from equinox_leaves(value)
    elif isinstance(tree, np.ndarray):
        yield tree


EQUINOX = {
    "Linear": ({"in_size": 5, "out_size": 4}, (5,)),
    "NeuralNetwork": ({"in_size": 5, "out_size": 4}, (5,)),
    "CNN": ({}, (1, 8, 8)),
    "FeedForwardBlock": (
        {"hidden_size": 5, "intermediate_size": 7, "dropout_rate": 0.1},
        (5,),
    ),
    "AttentionBlock": ({"hidden_size": 6, "num_heads": 2}, (4, 6)),
    "MixerBlock": (
        {"num_patches": 4, "hidden_size": 6, "mix_patch_size": 5, "mix_hidden_size": 7},
        (4, 6),
    ),
    "Func": ({"data_size": 4, "width_size": 6, "depth": 2}, (4,)),
}


@pytest.mark.parametrize("name", EQUINOX)
def test_equinox(package, name):
    given, shape = EQUINOX[name]
    cls = getattr(original("equinox_/models.py"), name)
    shapes = eqx.filter_eval_shape(cls, **given, key=KEY)
    source = eqx.nn.inference_mode(redrawn(shapes))
    dropped = {"enable_dropout": False} if name == "FeedForwardBlock" else {}
    layer = module(package, "nn", f"Equinox{name}")
    assert_same(
        layer,
        given,
        equinox_leaves(source),
        lambda x: source(x, **dropped),
        drawn(shape),
    )


def nnx_leaves(tree: Any, names: tuple[str, ...] = ()) -> Iterator[Any]:
    """The trained weights of a module of nnx, in the order in which they were made."""
    if isinstance(tree, nnx.Param):
        if tree.value is not None:
            yield kernels(names, tree.value)
    elif isinstance(tree, nnx.Module):
        values = vars(tree)
        order = ("scale", "kernel", "embedding", "bias")
        keys = sorted(values, key=lambda k: order.index(k) if k in order else -1)
        for key in keys:
            named = (*names, key, type(tree).__name__)
            yield from nnx_leaves(values[key], named)
    elif isinstance(tree, list | tuple | nnx.List):
        for value in tree:
            yield from nnx_leaves(value, names)


NNX = {
    "Linear": ({"din": 5, "dout": 4}, (3, 5)),
    "MLP": ({"din": 5, "dmid": 6, "dout": 4}, (3, 5)),
    "CNN": ({}, (2, 8, 8, 1)),
    "TransformerBlock": ({"dim": 8, "num_heads": 2, "mlp_dim": 7}, (2, 3, 8)),
    "Stack": ({"dim": 8, "depth": 2}, (2, 3, 8)),
}


@pytest.mark.parametrize("name", NNX)
def test_nnx(package, name):
    given, shape = NNX[name]
    source = getattr(original("nnx_/models.py"), name)(**given, rngs=nnx.Rngs(0))
    source.eval()
    numbers = np.random.default_rng(2)
    for _, found in nnx.iter_graph(source):
        if isinstance(found, nnx.Param) and found.get_value() is not None:
            found.set_value(_normal(found.shape, numbers, 0.5))
    layer = module(package, "nn", f"Nnx{name}")
    assert_same(layer, given, nnx_leaves(source), source, drawn(shape))


OPTAX = {
    "scale_by_adam": {"b1": 0.8},
    "my_adamw": {"learning_rate": 0.1, "weight_decay": 0.01},
    "sgd_momentum": {"learning_rate": 0.1, "nesterov": True},
    "centralize": {},
    "scale_by_lion": {"b1": 0.8},
    "clip": {"max_delta": 0.5},
    "clip_by_global_norm": {"max_norm": 0.5},
    "adagrad": {"learning_rate": 0.1},
    "rmsprop": {"learning_rate": 0.1, "momentum": 0.5},
}


RULES = {
    "factored": {"learning_rate": 0.1},
    "layerwise": {"learning_rate": 0.1},
    "clipped_late": {"learning_rate": 0.1},
    "polyak": {"eps": 0.1},
}


@pytest.mark.parametrize("name", [*OPTAX, *RULES])
def test_optax(package, name):
    given = (OPTAX | RULES)[name]
    file = "known_rules" if name in RULES else "transformations"
    make = getattr(original(f"optax_/{file}.py"), name)
    source: optax.GradientTransformationExtraArgs = make(**given)
    loss = {"value": 2.5} if name == "polyak" else {}
    camel = "".join(p[0].upper() + p[1:] for p in name.split("_"))
    optimizer = module(package, "optim", f"Optax{camel}")
    weights = {"w": drawn((3, 4)), "b": drawn((4,), 2)}
    expected_state = source.init(weights)
    state, hyperparams = optimizer.init(weights, **given)
    theirs: Any = jax.jit(source.update)
    ours: Any = jax.jit(optimizer.step)
    for step in range(3):
        gradients = jax.tree.map(lambda w: drawn(w.shape, 10 + step), weights)  # noqa: B023
        expected, expected_state = theirs(gradients, expected_state, weights, **loss)
        updates, state = ours(gradients, state, weights, hyperparams, **loss)
        for place, update in updates.items():
            np.testing.assert_allclose(update, expected[place], **TOLERANCE)


@pytest.mark.parametrize("name", REFERENCES)
def test_pytorch_as_written_out_in_numpy(package, name):
    fields, shapes, reference = REFERENCES[name]
    layer = module(package, "nn", f"Pytorch{name}")
    shapes_of_weights, state, hyperparams = created(layer, fields)
    trainables = redrawn(shapes_of_weights)
    inputs = [drawn(shape, 3 + i) for i, shape in enumerate(shapes)]
    x = inputs[0] if len(inputs) == 1 else tuple(inputs)
    y, _ = jax.jit(layer.fwd, static_argnums=4)(x, trainables, state, hyperparams, True)
    wide = jax.tree.map(lambda w: np.asarray(w, np.float64), trainables)
    expected = reference(wide, *(np.asarray(i, np.float64) for i in inputs))
    np.testing.assert_allclose(y, expected, rtol=2e-4, atol=2e-5)


def test_a_mask_that_is_added_as_written_out_in_numpy(package):
    layer = module(package, "nn", "PytorchBertLayer")
    fields = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 6}
    shapes, state, hyperparams = created(layer, fields)
    trainables = redrawn(shapes)
    x, mask = drawn((2, 3, 8)), drawn((2, 1, 1, 3), 4)
    y, _ = layer.fwd(x, trainables, state, hyperparams, True, attention_mask=mask)
    wide = jax.tree.map(lambda w: np.asarray(w, np.float64), trainables)
    expected = bert_layer(wide, np.asarray(x, np.float64), np.asarray(mask, np.float64))
    np.testing.assert_allclose(y, expected, rtol=2e-4, atol=2e-5)


def test_layers_that_are_handed_on_as_written_out_in_numpy(package):
    layer = module(package, "nn", "PytorchEncoder")
    fields = {"N": 2, "d_model": 8, "dropout": 0.1, "h": 2, "d_ff": 6}
    shapes, state, hyperparams = created(layer, fields)
    trainables = redrawn(shapes)
    x, mask = drawn((2, 4, 8)), drawn((2, 4, 4), 4) > -0.5
    y, _ = layer.fwd((x, mask), trainables, state, hyperparams, True)
    wide = jax.tree.map(lambda w: np.asarray(w, np.float64), trainables)
    expected = encoder(wide, np.asarray(x, np.float64), np.asarray(mask))
    np.testing.assert_allclose(y, expected, rtol=2e-4, atol=2e-5)
