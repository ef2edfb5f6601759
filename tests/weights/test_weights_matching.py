"""What decides, and what is left open: shapes and names alone, nothing is computed."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from torch_layers import encoder_state, under
from weights_compare import KEY, made_of, shaped

from mlax import block, graph, nn
from mlax_scaffold.errors import UsageError
from mlax_scaffold.weights import Mapping, load_mapped, map_weights, parse_mapping
from mlax_scaffold.weights.naming import words
from mlax_scaffold.weights.turning import is_turned


def arrays(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Arrays of these shapes; in names `__` stands for the point."""
    return {n.replace("__", "."): np.zeros(shape) for n, shape in shapes.items()}


def linears(*sizes: int, use_bias: bool = False) -> Any:
    """A series of linear maps."""
    pairs = list(itertools.pairwise(sizes))
    return jax.eval_shape(
        lambda: block.Series.init(
            [nn.Linear.init(KEY, a, b, use_bias, dtype=jnp.float64) for a, b in pairs]
        )
    )


def reason(mapping: Mapping, path: str) -> str:
    [weight] = [w for w in mapping.weights if w.leaf.path == path]
    return weight.reason


def test_two_of_one_shape_that_names_do_not_decide_are_ambiguous():
    mapping = map_weights(arrays(a__weight=(4, 4), b__weight=(4, 4)), linears(4, 4, 4))
    assert [w.leaf.path for w in mapping.ambiguous] == [
        "layers/0/kernel",
        "layers/1/kernel",
    ]
    for weight in mapping.ambiguous:
        assert weight.candidates == (
            'transpose("a.weight", 1, 0)',
            'transpose("b.weight", 1, 0)',
        )
    assert not mapping.complete
    assert not mapping.unused
    assert '# "layers/0/kernel" = ["float64[4, 4]", ' in str(mapping)


def test_all_that_fit_are_known_of_which_a_few_are_listed():
    state = arrays(**{f"{n}__weight": (4, 4) for n in "abcdefghijkl"})
    mapping = map_weights(state, linears(4, 4, 4))
    assert all(len(weight.candidates) == 12 for weight in mapping.ambiguous)
    assert str(mapping).count('# "layers/0/kernel" = ') == 8


def test_numbers_decide_in_their_order():
    state = arrays(**{f"h__{n}__weight": (4, 4) for n in range(1, 13)})
    mapping = map_weights(dict(sorted(state.items())), linears(*[4] * 13))
    assert made_of(mapping, "layers/10/kernel") == 'transpose("h.11.weight", 1, 0)'
    assert reason(mapping, "layers/10/kernel") == "by number; square, taken as (o, i)"


def test_another_number_of_layers_is_ambiguous():
    state = arrays(**{f"h__{n}__weight": (4, 4) for n in range(3)})
    mapping = map_weights(state, linears(4, 4, 4))
    assert len(mapping.ambiguous) == 2
    assert len(mapping.ambiguous[0].candidates) == 3


def test_layers_in_another_nesting_are_ambiguous():
    """Three of two, and two of three: no order of numbers says which is which."""
    model = jax.eval_shape(
        lambda: block.Series.init(
            [
                block.Series.init([nn.Linear.init(KEY, 4, 4, False)] * 2)
                for _ in range(3)
            ]
        )
    )
    names = [f"s.{a}.l.{b}.weight" for a in range(2) for b in range(3)]
    mapping = map_weights({n: np.zeros((4, 4)) for n in names}, model)
    assert len(mapping.ambiguous) == 6
    names = [f"s.{a}.l.{b}.weight" for a in range(3) for b in range(2)]
    mapping = map_weights({n: np.zeros((4, 4)) for n in names}, model)
    assert made_of(mapping, "layers/1/layers/0/kernel") == (
        'transpose("s.1.l.0.weight", 1, 0)'
    )


def test_names_decide_between_layers_of_one_shape():
    model = {
        "encoder": {"dense": {"kernel": jnp.zeros((4, 4))}},
        "decoder": {"dense": {"kernel": jnp.zeros((4, 4))}},
    }
    mapping = map_weights(arrays(dec__fc__weight=(4, 4), enc__fc__weight=(4, 4)), model)
    assert made_of(mapping, "decoder/dense/kernel") == (
        'transpose("dec.fc.weight", 1, 0)'
    )
    assert reason(mapping, "encoder/dense/kernel").startswith("the only one left")


def test_what_is_over_on_either_side_is_listed():
    state = arrays(fc__weight=(3, 4), head__weight=(9, 9), head__bias=(9,))
    mapping = map_weights(state, linears(4, 3, 7))
    assert [w.leaf.path for w in mapping.missing] == ["layers/1/kernel"]
    assert mapping.unused == ("head.bias", "head.weight")
    assert '# "layers/1/kernel" = ["float64[3, 7]", "initial"]' in str(mapping)


def test_an_array_that_would_be_left_of_a_layer_is_no_match():
    """A bias that is dropped would change what the layer computes."""
    mapping = map_weights(arrays(fc__weight=(3, 4), fc__bias=(3,)), linears(4, 3))
    assert len(mapping.missing) == 1
    assert mapping.unused == ("fc.bias", "fc.weight")


@pytest.mark.parametrize(
    ("linear", "expected"),
    [("oi", 'transpose("b.weight", 1, 0)'), ("io", '"b.weight"')],
)
def test_square_kernels_are_open_where_others_lie_against_the_framework(
    linear, expected
):
    """Models of PyTorch with kernels (in, out), as some published ones have."""
    state = arrays(a__weight=(4, 8), a__bias=(8,), b__weight=(8, 8), b__bias=(8,))
    mapping = map_weights(state, linears(4, 8, 8, use_bias=True))
    [square] = mapping.ambiguous
    assert square.candidates == ('"b.weight"', 'transpose("b.weight", 1, 0)')
    assert "how square ones lie is open" in str(mapping)
    mapping = map_weights(state, linears(4, 8, 8, use_bias=True), linear=linear)
    assert made_of(mapping, "layers/1/kernel") == expected


def test_candidates_of_a_stack_are_of_the_whole_or_of_a_layer():
    model = jax.eval_shape(
        lambda: block.Repeat.init(
            jax.vmap(lambda k: nn.Linear.init(k, 4, 4, False))(
                jax.random.split(KEY, 3)
            ),
            3,
        )
    )
    state = {f"{n}.weight": np.zeros((4, 4)) for n in range(3)}
    [weight] = map_weights(state | {"x.kernel": np.zeros(2)}, model).ambiguous
    assert weight.candidates == (
        'each("{}.weight", 0, 3)',
        'transpose(each("{}.weight", 0, 3), 0, 2, 1)',
    )
    state = {f"{n}.weight": np.zeros((4, 4)) for n in ("a", "b", "c")}
    mapping = map_weights(state, model)
    assert '\n# layer 2 of 3: transpose("c.weight", 1, 0)\n' in str(mapping)
    parse_mapping(str(mapping))


def test_an_unknown_framework_is_told_by_other_kernels_or_left_open():
    state = {"a.weight": np.zeros((4, 4)), "b.kernel": np.zeros((4, 3))}
    mapping = map_weights(state, linears(4, 4, 3))
    assert mapping.source == ""
    assert made_of(mapping, "layers/0/kernel") == '"a.weight"'
    state = {"a.weight": np.zeros((4, 4)), "b.kernel": np.zeros(2)}
    [weight] = map_weights(state, linears(4, 4)).ambiguous
    assert len(weight.candidates) == 2


def test_one_map_to_queries_keys_and_values():
    """In thirds or head by head: the heads of a model make both possible."""
    model = shaped(nn.MultiHeadAttention.init, KEY, 4, 2)
    state = arrays(
        attn__qkv__weight=(12, 4), attn__qkv__bias=(12,),
        attn__proj__weight=(4, 4), attn__proj__bias=(4,),
    )  # fmt: skip
    thirds = 'transpose(part("attn.qkv.weight", 0, 4, 8), 1, 0)'
    heads = 'transpose(reshape(pick(reshape("attn.qkv.weight", 2, 3, 2, 4), 1, 1), 4, 4), 1, 0)'
    mapping = map_weights(state, model)
    assert len(mapping.ambiguous) == 6
    assert made_of(mapping, "to_key/kernel") == f"{thirds} | {heads}"
    assert f"'{thirds}']  # thirds\n" in str(mapping)
    assert f"'{heads}']  # heads\n" in str(mapping)
    assert "say --qkv thirds or --qkv heads" in str(mapping)
    for way, expected in (("thirds", thirds), ("heads", heads)):
        mapping = map_weights(state, model, qkv=way)
        assert mapping.complete
        assert made_of(mapping, "to_key/kernel") == expected
    with pytest.raises(UsageError, match="qkv must be one of thirds, heads, or None"):
        map_weights(state, model, qkv="halves")


@pytest.mark.parametrize("name", ["in_proj", "c_attn"])
def test_one_map_whose_name_tells_is_in_thirds(name):
    """As torch.nn.MultiheadAttention and GPT-2 have it."""
    state = arrays(**{
        f"a__{name}_weight" if name == "in_proj" else f"a__{name}__weight": (12, 4),
        f"a__{name}_bias" if name == "in_proj" else f"a__{name}__bias": (12,),
        "a__out_proj__weight": (4, 4), "a__out_proj__bias": (4,),
    })  # fmt: skip
    assert map_weights(state, shaped(nn.MultiHeadAttention.init, KEY, 4, 2)).complete


def test_one_map_into_a_model_that_does_not_say_its_heads_is_taken_as_thirds():
    weights, _, _ = shaped(nn.MultiHeadAttention.init, KEY, 4, 2)
    state = arrays(
        attn__qkv__weight=(12, 4), attn__qkv__bias=(12,),
        attn__proj__weight=(4, 4), attn__proj__bias=(4,),
    )  # fmt: skip
    mapping = map_weights(state, weights)
    assert mapping.complete
    assert "is taken as thirds. It may have them head by head" in mapping.notes[0]


def test_one_map_of_one_head_can_be_read_in_one_way():
    state = arrays(
        attn__qkv__weight=(12, 4), attn__qkv__bias=(12,),
        attn__proj__weight=(4, 4), attn__proj__bias=(4,),
    )  # fmt: skip
    mapping = map_weights(state, shaped(nn.MultiHeadAttention.init, KEY, 4, 1))
    assert mapping.complete
    assert not mapping.notes


def test_a_stack_of_maps_that_lie_head_by_head():
    def layer(key: Any) -> Any:
        return nn.MultiHeadAttention.init(key, 4, 2, use_bias=False)

    model = jax.eval_shape(
        lambda: block.Repeat.init(jax.vmap(layer)(jax.random.split(KEY, 3)), 3)
    )
    state = {
        f"{n}.query_key_value.weight": np.full((12, 4), float(n)) for n in range(3)
    } | {f"{n}.dense.weight": np.zeros((4, 4)) for n in range(3)}
    mapping = map_weights(state, model)
    [query, *_] = mapping.ambiguous
    assert query.readings == ("thirds", "heads")
    mapping = map_weights(state, model, qkv="heads")
    picked = (
        'pick(reshape(each("{}.query_key_value.weight", 0, 3), 3, 2, 3, 2, 4), 2, 0)'
    )
    assert made_of(mapping, "layer/to_query/kernel") == (
        f"transpose(reshape({picked}, 3, 4, 4), 0, 2, 1)"
    )
    assert load_mapped(mapping, state, model)[0].layer.to_query.kernel[2, 0, 0] == 2


def test_projections_of_an_lstm_are_named():
    """torch.nn.LSTM(4, 6, proj_size=3)."""
    state = arrays(
        rnn__weight_ih_l0=(24, 4), rnn__weight_hh_l0=(24, 3), rnn__bias_ih_l0=(24,),
        rnn__bias_hh_l0=(24,), rnn__weight_hr_l0=(3, 6),
    )  # fmt: skip
    mapping = map_weights(state, shaped(nn.LSTMCell.init, KEY, 4, 6))
    assert len(mapping.missing) == 3
    assert "rnn.weight_hr_l0" in mapping.unused
    [note] = mapping.notes
    assert note.startswith("rnn.weight_hr_l0: an LSTM of torch with proj_size ")
    assert "new-layer --like LSTMCell" in note


def test_attention_by_the_names_of_its_maps():
    names = ("self.query", "self.key", "self.value", "output.dense")
    state = {
        f"bert.layer.{n}.attention.{name}.{leaf}": np.zeros(shape)
        for n in range(2)
        for name in names
        for leaf, shape in (("weight", (4, 4)), ("bias", (4,)))
    }
    for n in range(2):
        state |= {f"bert.layer.{n}.attention.output.LayerNorm.bias": np.zeros(4)}
        state |= {f"bert.layer.{n}.attention.output.LayerNorm.weight": np.zeros(4)}
    model = jax.eval_shape(
        lambda: block.Series.init(
            [nn.MultiHeadAttention.init(KEY, 4, 2), nn.LayerNorm.init(KEY, 4)] * 2
        )
    )
    mapping = map_weights(state, model)
    assert mapping.complete
    assert made_of(mapping, "layers/2/to_output/bias") == (
        '"bert.layer.1.attention.output.dense.bias"'
    )
    assert made_of(mapping, "layers/3/scale") == (
        '"bert.layer.1.attention.output.LayerNorm.weight"'
    )


def test_roles_of_the_parts_of_a_decoder():
    """Its second norm is that of the attention to the context."""
    state = encoder_state(0, 4, 8)
    names = {"norm1": 0, "norm2": 0, "norm3": 0}
    state |= under("multihead_attn", {
        n.removeprefix("self_attn."): a
        for n, a in state.items() if n.startswith("self_attn.")
    })  # fmt: skip
    state |= {f"{n}.{leaf}": np.zeros(4) for n in names for leaf in ("weight", "bias")}
    model = shaped(block.TransformerDecoderLayer.init, KEY, 4, 2, 8)
    mapping = map_weights(state, model)
    assert mapping.complete, str(mapping)
    own = {w.leaf.path: str(w.expression) for w in mapping.weights}
    assert own["attention_norm/scale"] == '"norm1.weight"'
    assert own["context_norm/scale"] == '"norm2.weight"'
    assert own["feed_forward_norm/scale"] == '"norm3.weight"'
    kernels = [p for p in own if p.startswith("context_attention/")]
    assert len(kernels) == 8
    assert all("multihead_attn" in own[p] for p in kernels)


def test_parameters_of_modules_have_names_only():
    """`Params` do not say of which layers they are: their names and shapes do."""
    params = graph.Params(
        {
            ("net", "conv", "kernel"): jnp.zeros((5, 2, 3, 3)),
            ("net", "conv", "bias"): jnp.zeros(5),
            ("net", "dense", "kernel"): jnp.zeros((7, 4)),
            ("rng", "counter"): jnp.zeros((), jnp.int32),
        }
    )
    state = arrays(c__weight=(5, 2, 3, 3), c__bias=(5,), d__weight=(4, 7))
    state = {n: np.full(a.shape, 2.0) for n, a in state.items()}
    mapping = map_weights(state, params)
    assert mapping.complete, str(mapping)
    found = load_mapped(mapping, state, params)
    assert isinstance(found, graph.Params)
    assert (found["net", "dense", "kernel"].value == 2).all()
    square = graph.Params({("conv", "kernel"): jnp.zeros((3, 3, 3, 3))})
    [weight] = map_weights(arrays(c__weight=(3, 3, 3, 3)), square).ambiguous
    assert weight.candidates == ('"c.weight"', 'transpose("c.weight", 0, 2, 3, 1)')


def test_the_librarys_own_files_are_recognized():
    trainables, state, _ = model = shaped(nn.BatchNorm.init, KEY, 3)
    names = {f"0/{n}": 1.0 for n in ("scale", "bias")} | {"1/mean": 2.0, "1/var": 3.0}
    given = {n: np.full(3, value) for n, value in names.items()}
    mapping = map_weights(given, model)
    assert (mapping.source, mapping.complete) == ("mlax", True)
    found, statistics, _ = load_mapped(mapping, given, model)
    assert (found.bias == 1).all()
    assert (statistics.var == 3).all()
    assert jax.tree.structure((found, statistics)) == jax.tree.structure(
        (trainables, state)
    )


def test_caches_and_keys_keep_their_initial_values():
    def attention(dtype):
        return nn.MultiHeadAttention.init(
            KEY, 4, 2, max_length=3, batch=(1,), dtype=dtype
        )

    state = {
        f"{n}_proj.{leaf}": np.ones(shape)
        for n in ("query", "key", "value", "output")
        for leaf, shape in (("weight", (4, 4)), ("bias", (4,)))
    }
    mapping = map_weights(state, shaped(attention))
    assert mapping.complete
    assert '"cached" = ["int32[]", "initial"]' in str(mapping)
    model = attention(jnp.float64)
    _, caches, _ = load_mapped(parse_mapping(str(mapping)), state, model)
    assert caches.cached is model[1].cached


def test_indices_beside_a_weight_are_no_weights():
    model = {"table": jax.ShapeDtypeStruct((25, 2), jnp.float32)}
    checkpoint = {
        "table": np.zeros((25, 2), np.float32),
        "index": np.zeros((9, 9), np.int64),
    }
    mapping = map_weights({"block": checkpoint}, {"other": model}, "torch")
    assert made_of(mapping, "other/table") == '"block/table"'
    assert dict(mapping.ignored) == {"block/index": "holds integers, no weights"}


class Maps(NamedTuple):
    linear_0: Any
    linear_1: Any


def test_what_is_stacked_is_numbered_by_the_layers_that_are_stacked():
    (one,) = linears(4, 4)[0].layers
    model = {"layers": (Maps(one, one), Maps(one, one))}
    state = arrays(layers__Dense_0__kernel=(2, 4, 4), layers__Dense_1__kernel=(2, 4, 4))
    mapping = map_weights(state, model, "flax")
    for layer, part in itertools.product(range(2), range(2)):
        path, given = f"layers/{layer}/linear_{part}", f"layers.Dense_{part}.kernel"
        assert made_of(mapping, f"{path}/kernel") == f'pick("{given}", 0, {layer})'


class Both(NamedTuple):
    phi: Any
    rho: Any


def test_layers_are_not_taken_for_those_of_another_part():
    phi, rho = linears(4, 4, 4), linears(4, 4, 4, 4)
    model = (Both(phi[0], rho[0]), Both(phi[1], rho[1]), phi[2])
    state = arrays(
        **{f"phi__layers__{n}__weight": (4, 4) for n in range(3)},
        **{f"rho__layers__{n}__weight": (4, 4) for n in range(2)},
    )
    mapping = map_weights(state, model)
    assert [w.leaf.path for w in mapping.ambiguous] == ["rho/layers/2/kernel"]
    for part, number in itertools.product(("phi", "rho"), range(2)):
        path, given = f"{part}/layers/{number}/kernel", f"{part}.layers.{number}.weight"
        assert made_of(mapping, path) == f'transpose("{given}", 1, 0)'


def test_weights_of_the_very_names_are_taken_beside_what_the_model_computes():
    model = {"layer": {"weight": jnp.zeros((4, 3)), "scaler": jnp.zeros((4, 3))}}
    state = arrays(layer__scaler=(4, 3), layer__weight=(4, 3), layer__grid=(7,))
    mapping = map_weights(state, model, "torch")
    assert made_of(mapping, "layer/weight") == '"layer.weight"'
    assert made_of(mapping, "layer/scaler") == '"layer.scaler"'
    assert mapping.unused == ("layer.grid",)


def test_a_layer_of_the_very_path_is_taken_before_others_of_its_shape():
    model = {
        "ff_0_0": {"weight": jnp.zeros((8, 4))},
        "ff_3": {"weight": jnp.zeros((4, 8))},
    }
    state = arrays(ff__0__0__weight=(8, 4), ff__3__weight=(4, 8))
    mapping = map_weights(state, model, "torch")
    assert made_of(mapping, "ff_0_0/weight") == '"ff.0.0.weight"'
    assert made_of(mapping, "ff_3/weight") == '"ff.3.weight"'


def test_the_only_weight_left_of_a_layer_is_the_only_array_left_of_it():
    model = {
        "h": [
            {"norm": {"weight": jnp.ones(4)}, "last": {"weight": jnp.ones(4)}}
            for _ in range(2)
        ]
    }
    state = arrays(
        **{f"params__{n}__norm__kernel": (4,) for n in range(2)},
        **{f"params__{n}__last__kernel": (4,) for n in range(2)},
    )
    mapping = map_weights(state, model, "flax")
    for n, part in itertools.product(range(2), ("norm", "last")):
        assert made_of(mapping, f"h/{n}/{part}/weight") == f'"params.{n}.{part}.kernel"'
    assert not mapping.unused


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *(("ln_zs", "ln_z_0"), ("gates", "gate_3"), ("cross", "cross_1")),
        *(("mass", "mass"), ("map_head_0", "MAPHead_0"), ("mlp_block", "MLPBlock")),
    ],
)
def test_a_list_means_what_each_of_its_layers_does(ours, theirs):
    assert words(ours) == words(theirs)
    assert words("ln_zs") != words("ln_xs")


def test_layers_whose_numbers_are_exchanged_are_where_those_beside_them_are():
    """Each block of the checkpoint is a list of two; the model has a list of each of them."""
    model = {}
    state = {}
    for place in range(2):
        for part, width in enumerate((12, 6)):
            ours, theirs = f"layers_{part}", f"layers.{place}.{part}"
            model.setdefault(ours, {})[str(place)] = {
                "norm": {"scale": jnp.zeros(4), "bias": jnp.zeros(4)},
                "fn": {"kernel": jnp.zeros((4, width))},
            }
            state[f"{theirs}.norm.weight"] = np.zeros(4)
            state[f"{theirs}.norm.bias"] = np.zeros(4)
            state[f"{theirs}.fn.weight"] = np.zeros((width, 4))
    mapping = map_weights(state, model)
    assert not mapping.ambiguous
    for part, place in ((0, 1), (1, 0)):
        for own, end in (("scale", "weight"), ("bias", "bias")):
            made = made_of(mapping, f"layers_{part}/{place}/norm/{own}")
            assert made == f'"layers.{place}.{part}.norm.{end}"'


def test_the_words_before_numbers_tell_which_of_them_counts_layers():
    """`layer_{i}_ln_{j}`, of which the model has a list for each `j`."""
    norm = {"scale": jnp.zeros(4), "bias": jnp.zeros(4)}
    model = {f"layer_ln_{j}s": {str(i): dict(norm) for i in range(2)} for j in (1, 2)}
    state = {
        f"layer_{i}_ln_{j}/{part}": np.zeros(4)
        for i in range(2)
        for j in (1, 2)
        for part in ("scale", "offset")
    }
    mapping = map_weights(state, model, "haiku")
    for i, j in itertools.product(range(2), (1, 2)):
        made = made_of(mapping, f"layer_ln_{j}s/{i}/scale")
        assert made == f'"layer_{i}_ln_{j}/scale"'


@pytest.mark.parametrize("norms", [(0, 2), (0, 1)])
def test_layers_whose_numbers_are_exchanged_are_told_by_the_numbers(norms):
    """Blocks of a checkpoint are lists, with norms at two places, which are two lists of the model.

    At 0 and 2 of two blocks the numbers of the norms tell that, at 0 and 1 those of the map beside them.
    """
    model: dict[str, Any] = {}
    state = {}
    for block_, place in itertools.product(range(2), norms):
        model.setdefault(f"layers_{place}", {})[str(block_)] = {"scale": jnp.zeros(4)}
        state[f"layers.{block_}.{place}.weight"] = np.zeros(4)
    [place] = {0, 1, 2} - {*norms}
    for block_ in range(2):
        model.setdefault(f"layers_{place}", {})[str(block_)] = {
            "kernel": jnp.zeros((4, 6))
        }
        state[f"layers.{block_}.{place}.weight"] = np.zeros((6, 4))
    mapping = map_weights(state, model)
    assert not mapping.ambiguous
    for block_, place in itertools.product(range(2), norms):
        made = made_of(mapping, f"layers_{place}/{block_}/scale")
        assert made == f'"layers.{block_}.{place}.weight"'


def test_numbers_are_told_beside_weights_that_are_in_no_layer():
    """The model itself is known already, which is at no place."""
    places = [(("layers", str(i), f"norm{j}"), i, j) for i in (0, 1) for j in (1, 2)]
    pairs: list[Any] = [
        (SimpleNamespace(path=path), SimpleNamespace(path=("x", str(i), f"norm{j}")))
        for path, i, j in places
    ]
    other: list[Any] = [
        (slot, pairs[i][1]) for i, (slot, _) in zip((0, 2, 1, 3), pairs, strict=True)
    ]
    known: list[Any] = [(SimpleNamespace(path=()), SimpleNamespace(path=()))]
    assert not is_turned(pairs, other, known, roles=True)
