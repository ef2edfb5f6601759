"""Whole models by the names that published checkpoints have: every weight, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from weights_compare import KEY, made_of

from mlax import block, nn
from mlax_scaffold.weights import Mapping, map_weights

Shapes = dict[str, tuple[int, ...]]
E = 8


def pairs(prefix: str, maps: Shapes) -> Shapes:
    """A weight of these shapes and a bias for each name."""
    return {
        f"{prefix}{name}.{leaf}": shape if leaf == "weight" else shape[:1]
        for name, shape in maps.items()
        for leaf in ("weight", "bias")
    }


def mapped(shapes: Shapes, make: Callable[[], Any], **how: Any) -> Mapping:
    arrays = {n: np.broadcast_to(np.zeros(()), shape) for n, shape in shapes.items()}
    return map_weights(arrays, jax.eval_shape(make), **how)


def stack(**options: Any) -> Any:
    """Two layers of a transformer."""

    def one(key: Any) -> Any:
        return block.TransformerEncoderLayer.init(key, E, 2, 4 * E, **options)

    layers = jax.vmap(one)(jax.random.split(KEY, 2))
    return block.Repeat.init(layers, 2)[0]


def batch_norm(name: str, channels: int) -> Shapes:
    names = ("weight", "bias", "running_mean", "running_var")
    return {f"{name}.{n}": (channels,) for n in names} | {
        f"{name}.num_batches_tracked": ()
    }


def test_resnet():
    """`layer2.0.bn1`: numbers of stages, blocks and norms, and another nesting in ours."""
    shapes = {"conv1.weight": (4, 3, 7, 7), **batch_norm("bn1", 4)}
    for stage, (inputs, outputs) in enumerate(((4, 4), (4, 8)), 1):
        for number in range(2):
            name = f"layer{stage}.{number}"
            first = outputs if number else inputs
            shapes |= {
                f"{name}.conv1.weight": (outputs, first, 3, 3),
                f"{name}.conv2.weight": (outputs, outputs, 3, 3),
                **batch_norm(f"{name}.bn1", outputs),
                **batch_norm(f"{name}.bn2", outputs),
            }
    shapes |= {
        "layer2.0.downsample.0.weight": (8, 4, 1, 1),
        **batch_norm("layer2.0.downsample.1", 8),
        **pairs("", {"fc": (10, 8)}),
    }

    def make() -> Any:
        layers = [
            nn.Conv.init(KEY, 2, 3, 4, 7, 2, use_bias=False),
            nn.BatchNorm.init(KEY, 4),
        ]
        for inputs, outputs, strides in ((4, 4, 1), (4, 4, 1), (4, 8, 2), (8, 8, 1)):
            layers.append(block.ResNetBlock.init(KEY, 2, inputs, outputs, strides))
        return block.Series.init([*layers, nn.Linear.init(KEY, 8, 10)])

    mapping = mapped(shapes, make)
    assert mapping.complete, str(mapping)
    for path, name in {
        "layers/1/var": "bn1.running_var",
        "layers/2/convs/1/kernel": "layer1.0.conv2.weight",
        "layers/3/norms/0/mean": "layer1.1.bn1.running_mean",
        "layers/4/norms/1/scale": "layer2.0.bn2.weight",
        "layers/4/shortcut/kernel": "layer2.0.downsample.0.weight",
        "layers/4/shortcut_norm/bias": "layer2.0.downsample.1.bias",
        "layers/5/norms/1/scale": "layer2.1.bn2.weight",
    }.items():
        assert made_of(mapping, path) == f'"{name}"'


def test_gpt2():
    """Its kernels are (in, out), as in no other model of PyTorch: a square one is open."""
    maps = {
        "attn.c_attn": (E, 3 * E), "attn.c_proj": (E, E),
        "mlp.c_fc": (E, 4 * E), "mlp.c_proj": (4 * E, E),
        "ln_1": (E,), "ln_2": (E,),
    }  # fmt: skip
    shapes = {"wte.weight": (50, E), "wpe.weight": (16, E), **pairs("", {"ln_f": (E,)})}
    for n in range(2):
        shapes |= pairs(f"h.{n}.", maps)
        for name, shape in maps.items():
            shapes[f"h.{n}.{name}.bias"] = shape[-1:]

    def make() -> Any:
        return {
            "tokens": nn.Embed.init(KEY, 50, E)[0],
            "positions": nn.LearnedPositionalEmbedding.init(KEY, 16, E)[0],
            "layers": stack(causal=True),
            "norm": nn.LayerNorm.init(KEY, E)[0],
        }

    [weight] = mapped(shapes, make).ambiguous
    assert weight.leaf.path == "layers/layer/attention/to_output/kernel"
    mapping = mapped(shapes, make, linear="io")
    assert mapping.complete
    for path, expression in {
        "attention/to_output/kernel": 'each("h.{}.attn.c_proj.weight", 0, 2)',
        "attention/to_key/kernel": (
            'part(each("h.{}.attn.c_attn.weight", 0, 2), 2, 8, 16)'
        ),
        "feed_forward/widen/kernel": 'each("h.{}.mlp.c_fc.weight", 0, 2)',
        "feed_forward/narrow/bias": 'each("h.{}.mlp.c_proj.bias", 0, 2)',
        "feed_forward_norm/scale": 'each("h.{}.ln_2.weight", 0, 2)',
    }.items():
        assert made_of(mapping, f"layers/layer/{path}") == expression
    assert made_of(mapping, "norm/scale") == '"ln_f.weight"'


def test_bert():
    """Norms after what they belong to, under the names of its outputs."""
    maps = {
        **{f"attention.self.{n}": (E, E) for n in ("query", "key", "value")},
        "attention.output.dense": (E, E), "attention.output.LayerNorm": (E,),
        "intermediate.dense": (4 * E, E), "output.dense": (E, 4 * E),
        "output.LayerNorm": (E,),
    }  # fmt: skip
    shapes = {
        "bert.embeddings.word_embeddings.weight": (50, E),
        "bert.embeddings.position_ids": (1, 16),
        **pairs("bert.embeddings.", {"LayerNorm": (E,)}),
        **pairs("bert.pooler.", {"dense": (E, E)}),
    }
    for n in range(2):
        shapes |= pairs(f"bert.encoder.layer.{n}.", maps)

    def make() -> Any:
        return {
            "words": nn.Embed.init(KEY, 50, E)[0],
            "embedding_norm": nn.LayerNorm.init(KEY, E)[0],
            "layers": stack(norm_first=False),
            "pooler": nn.Linear.init(KEY, E, E)[0],
        }

    mapping = mapped(shapes, make)
    assert mapping.complete, str(mapping)
    name = "bert.encoder.layer.{}"
    for path, expression in {
        "attention_norm/scale": f'each("{name}.attention.output.LayerNorm.weight", 0, 2)',
        "feed_forward_norm/bias": f'each("{name}.output.LayerNorm.bias", 0, 2)',
        "attention/to_value/bias": f'each("{name}.attention.self.value.bias", 0, 2)',
        "feed_forward/narrow/bias": f'each("{name}.output.dense.bias", 0, 2)',
    }.items():
        assert made_of(mapping, f"layers/layer/{path}") == expression
    assert made_of(mapping, "pooler/kernel") == (
        'transpose("bert.pooler.dense.weight", 1, 0)'
    )


def test_vision_transformer():
    """Arrays that belong to no layer, patches, and queries, keys and values in one map."""
    maps = {
        "attn.qkv": (3 * E, E), "attn.proj": (E, E), "norm1": (E,), "norm2": (E,),
        "mlp.fc1": (4 * E, E), "mlp.fc2": (E, 4 * E),
    }  # fmt: skip
    shapes = {
        "cls_token": (1, 1, E), "pos_embed": (1, 17, E),
        **pairs("", {"patch_embed.proj": (E, 3, 4, 4), "norm": (E,), "head": (10, E)}),
    }  # fmt: skip
    for n in range(2):
        shapes |= pairs(f"blocks.{n}.", maps)

    def make() -> Any:
        return {
            "patches": nn.PatchEmbed.init(KEY, 2, 3, E, 4)[0],
            "token": jnp.zeros((1, 1, E)),
            "positions": nn.LearnedPositionalEmbedding.init(KEY, 17, E)[0],
            "layers": stack(),
            "norm": nn.LayerNorm.init(KEY, E)[0],
            "head": nn.Linear.init(KEY, E, 10)[0],
        }

    mapping = mapped(shapes, make)
    assert mapping.complete, str(mapping)
    assert made_of(mapping, "token") == '"cls_token"'
    assert made_of(mapping, "positions/embedding") == 'reshape("pos_embed", 17, 8)'
    assert made_of(mapping, "layers/layer/attention_norm/bias") == (
        'each("blocks.{}.norm1.bias", 0, 2)'
    )
    assert made_of(mapping, "norm/scale") == '"norm.weight"'


def test_a_model_written_by_hand():
    """Weights that are called as their author likes."""

    def make() -> Any:
        return {
            "first": {"w": jnp.zeros((4, 8)), "b": jnp.zeros(8)},
            "norm": {"gamma": jnp.zeros(8), "beta": jnp.zeros(8)},
            "last": {"w": jnp.zeros((8, 3)), "b": jnp.zeros(3)},
        }

    shapes = pairs("", {"fc1": (8, 4), "ln": (8,), "fc2": (3, 8)})
    mapping = mapped(shapes, make)
    assert mapping.complete, str(mapping)
    assert made_of(mapping, "first/w") == 'transpose("fc1.weight", 1, 0)'
    assert made_of(mapping, "norm/gamma") == '"ln.weight"'
    assert made_of(mapping, "last/b") == '"fc2.bias"'
