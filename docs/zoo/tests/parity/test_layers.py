"""Layers and blocks compute what their papers say, in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made import Made, assert_same, drawn, made

from references.act_norm import act_norm
from references.adaptive_computation_time import adaptive_computation_time
from references.affine_coupling import affine_coupling
from references.arc_face import arc_face
from references.axial_attention import axial_attention
from references.b_spline_kan import b_spline_kan
from references.capsule_routing import capsule_routing
from references.cbam import cbam
from references.cheby_kan import cheby_kan
from references.common import dense
from references.crf import crf
from references.crf import decode as best_tags
from references.drop_block import drop_block
from references.evo_norm import evo_norm
from references.film import film
from references.filter_response_norm import filter_response_norm
from references.fnet_mixing import fnet_mixing
from references.gated_delta_net import gated_delta_net
from references.gmlp_block import gmlp_block
from references.highway import highway
from references.hopfield import hopfield
from references.hyper_linear import hyper_linear
from references.mixture_density import log_prob, mixture_density
from references.mogrifier_lstm_cell import mogrifier_lstm_cell
from references.nalu import nalu
from references.net_vlad import net_vlad
from references.neural_ode import neural_ode
from references.nystrom_attention import nystrom_attention
from references.perceiver_cross_attention import perceiver_cross_attention
from references.poincare_linear import poincare_linear
from references.pointer_head import pointer_head
from references.random_fourier_features import random_fourier_features
from references.rbf import rbf
from references.relative_position_bias import relative_position_bias
from references.reversible import inverse as inverse_of_reversible
from references.reversible import reversible
from references.set2set import set2set
from references.siren import siren
from references.swin_attention import swin_attention
from references.switchable_norm import switchable_norm
from references.talking_heads_attention import talking_heads_attention
from references.wave_net import wave_net
from zoo import block, nn


def test_act_norm():
    layer, batches = (
        made(nn.ActNorm, features=3),
        [drawn(2, 4, 3, 3), drawn(3, 4, 3, 3)],
    )
    found = []
    for x in batches:
        y, layer.states = layer.step(x, "fwd", inference=False)
        found.append(y)
    assert_same(found, act_norm(batches))
    assert_same(layer(batches[1]), act_norm(batches)[1])


@pytest.mark.parametrize("swap", [False, True])
def test_affine_coupling(swap):
    layer, x = made(nn.AffineCoupling, features=5, hidden=3, swap=swap), drawn(4, 5)
    y, logdet = layer(x)
    assert_same((y, logdet), affine_coupling(x, layer.w.inner, layer.w.outer, swap))
    assert_same(layer(y, "inverse"), x)


@pytest.mark.parametrize("labels", [None, np.array([0, 3, 1])])
def test_arc_face(labels):
    layer, x = made(nn.ArcFace, features=4, classes=5), drawn(3, 4)
    y = layer(x, labels=labels)
    assert_same(y, arc_face(x, labels, layer.w.weight), 1e-6)


def test_axial_attention():
    layer, x = made(nn.AxialAttention, features=4, num_heads=2), drawn(2, 3, 2, 4)
    maps = [attention[:4] for attention in layer.w.attentions]
    assert_same(layer(x), axial_attention(x, maps, heads=2))


def test_b_spline_kan():
    layer = made(nn.BSplineKAN, in_features=3, out_features=2, grid_size=4, order=2)
    x, w = drawn(5, 3), layer.w
    expected = b_spline_kan(x, w.base, w.coef, grid_size=4, order=2)
    assert_same(layer(x), expected)


def test_capsule_routing():
    layer = made(nn.CapsuleRouting, in_capsules=4, in_dim=3, out_capsules=2, out_dim=5)
    u = drawn(2, 4, 3)
    assert_same(layer(u), np.stack([capsule_routing(each, layer.w.W) for each in u]))


def test_cbam():
    layer, x = made(nn.CBAM, features=4, reduction=2, kernel_size=3), drawn(2, 5, 4, 4)
    w = layer.w
    kernel = w.spatial.kernel.transpose(1, 2, 3, 0)
    assert_same(layer(x), cbam(x, w.squeeze, w.excite, kernel))


def test_cheby_kan():
    layer, x = made(nn.ChebyKAN, in_features=3, out_features=2, degree=4), drawn(5, 3)
    assert_same(layer(x), cheby_kan(x, layer.w.coefficients))


def test_crf():
    layer, emissions = made(nn.CRF, num_tags=3), drawn(2, 4, 3)
    tags = np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
    expected = [crf(e, t, *layer.w) for e, t in zip(emissions, tags, strict=True)]
    assert_same(layer((emissions, tags)), np.array(expected))
    found = layer(emissions[0], "decode")
    tags, score = best_tags(emissions[0], *layer.w)
    assert_same(tuple(found), (np.array(tags), score))


def test_drop_block():
    layer = Made(nn.DropBlock2D, lambda: nn.DropBlock2D.init(2, keep_prob=0.7))
    x = drawn(2, 6, 5, 3)
    y = layer(x, key=jax.random.key(0))
    windows = np.lib.stride_tricks.sliding_window_view(y == 0, (2, 2), axis=(1, 2))
    seeds = windows.all((-2, -1))
    assert 0 < seeds.mean() < 1
    assert_same(y, drop_block(x, seeds, 2))
    assert_same(layer(x), x)


@pytest.mark.parametrize("nonlinear", [True, False])
def test_evo_norm(nonlinear):
    layer = made(nn.EvoNormS0, features=4, groups=2, nonlinear=nonlinear)
    x, w = drawn(2, 3, 2, 4), layer.w
    assert_same(layer(x), evo_norm(x, w.gamma, w.beta, w.v, groups=2))


def test_film():
    layer = made(nn.FiLM, features=4, conditioning=3)
    x, z = drawn(2, 3, 2, 4), drawn(2, 3)
    assert_same(layer((x, z)), film(x, z, layer.w.gamma, layer.w.beta))


@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 4, 3)])
@pytest.mark.parametrize("learn_epsilon", [True, False])
def test_filter_response_norm(shape, learn_epsilon):
    layer = made(nn.FilterResponseNorm, features=3, learn_epsilon=learn_epsilon)
    x, (gamma, beta, tau, eps_l) = drawn(*shape), layer.w
    eps_l = 0.0 if eps_l is None else eps_l
    assert_same(layer(x), filter_response_norm(x, gamma, beta, tau, eps_l=eps_l))


def test_fnet_mixing():
    # There are no complex numbers of half precision.
    dtypes = jnp.float32, jnp.complex64
    layer = Made(nn.FNetMixing, nn.FNetMixing.init, dtypes)
    x = drawn(2, 5, 4)
    assert_same(layer(x), fnet_mixing(x))


def test_gated_delta_net():
    layer = made(nn.GatedDeltaNet, dim=4, num_heads=2, head_dim=3)
    x, w = drawn(2, 5, 4), layer.w
    maps = w.qkv.kernel, w.gates, w.out_norm.scale, w.out.kernel
    assert_same(layer(x), gated_delta_net(x, *maps, heads=2))


def test_gmlp_block():
    layer, x = made(block.GMLPBlock, features=4, hidden=6, length=5), drawn(2, 5, 4)
    w = layer.w
    maps = w.norm, w.proj_in, w.gate_norm, w.spatial, w.proj_out
    assert_same(layer(x), gmlp_block(x, *maps))


def test_highway():
    layer, x = made(nn.Highway, width=4, depth=3), drawn(5, 4)
    pairs = [(each["transform"], each["plain"]) for each in layer.w.layers]
    assert_same(layer(x), highway(x, pairs))


def test_hopfield():
    layer = made(nn.Hopfield, features=4, patterns=6, beta=2.0, tolerance=1e-2)
    x = drawn(5, 4)
    expected = hopfield(x, layer.w.Y, beta=2.0, tolerance=1e-2)
    assert_same(layer(x), expected)
    assert (layer(expected, "energy") <= layer(x, "energy")).all()


def test_hyper_linear():
    layer, x = made(nn.HyperLinear, in_features=3, out_features=5), drawn(2, 3)
    assert_same(layer(x), hyper_linear(x, *layer.w))


def test_mixture_density():
    layer = made(nn.MixtureDensity, in_features=3, out_features=2, components=4)
    x, target, w = drawn(5, 3), drawn(5, 2), layer.w.heads
    maps = w["pi"], w["mu"], w["sigma"]
    assert_same(tuple(layer(x)), mixture_density(x, *maps, out_features=2))
    assert_same(layer((x, target), "log_prob"), log_prob(x, target, *maps))


def test_mogrifier_lstm_cell():
    layer = made(nn.MogrifierLSTMCell, in_features=3, features=4, rounds=3)
    x, c, h, cell = drawn(2, 3), drawn(2, 4), drawn(2, 4, seed=1), layer.w.cell

    def lstm(x, h):
        parts = x @ cell.kernel + h @ cell.recurrent_kernel + cell.bias
        i, f, g, o = np.split(parts, 4, axis=-1)
        new = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        return np.tanh(new) / (1 + np.exp(-o)), new

    y, (new_c, new_h) = layer((x, (c, h)))
    expected, expected_c = mogrifier_lstm_cell(x, h, layer.w.gates, lstm)
    assert_same((y, new_c, new_h), (expected, expected_c, expected))


def test_nalu():
    layer, x = made(nn.NALU, in_features=3, out_features=2), drawn(4, 3)
    assert_same(layer(x), nalu(x, *layer.w))


def test_net_vlad():
    layer, x = made(nn.NetVLAD, features=4, clusters=3), drawn(2, 3, 2, 4)
    kernel, bias = layer.w.assign
    assign = kernel[:, 0, 0].T, bias
    expected = [net_vlad(image, assign, layer.w.centers) for image in x]
    assert_same(layer(x), np.stack(expected))


def test_nystrom_attention():
    layer = made(nn.NystromAttention, features=4, num_heads=2, num_landmarks=3)
    x = drawn(2, 6, 4)
    assert_same(layer(x), nystrom_attention(x, layer.w.qkv, layer.w.out, 2, 3))


@pytest.mark.parametrize("masked", [False, True])
def test_perceiver_cross_attention(masked):
    layer = made(
        nn.PerceiverCrossAttention,
        in_features=3,
        latent_features=4,
        num_latents=5,
        num_heads=2,
    )
    x, w = drawn(2, 6, 3), layer.w
    mask = drawn(2, 6) > -0.5 if masked else None
    maps = w.latents, w.norms, w.query, w.key_value, w.out, w.mlp
    expected = perceiver_cross_attention(x, *maps, heads=2, mask=mask)
    assert_same(layer(x, mask=mask), expected)


def test_poincare_linear():
    layer, x = made(nn.PoincareLinear, in_features=3, out_features=2), drawn(4, 3)
    # Points outside of the ball are projected into it.
    expected = [poincare_linear(point, layer.w.M, layer.w.b) for point in x / 2]
    assert_same(layer(x / 2), np.stack(expected))


@pytest.mark.parametrize("clipping", [None, 2.0])
def test_pointer_head(clipping):
    layer = made(
        nn.PointerHead,
        encoder_features=3,
        decoder_features=4,
        hidden=5,
        logit_clipping=clipping,
    )
    x = drawn(2, 6, 3), drawn(2, 4), drawn(2, 6) > 0.5
    assert_same(layer(x), pointer_head(*x, *layer.w, clipping=clipping))


def test_random_fourier_features():
    layer = made(nn.RandomFourierFeatures, in_features=3, num_features=6, bandwidth=2.0)
    x, (W, b) = drawn(4, 3), layer.states
    assert_same(layer(x), random_fourier_features(x, W, b))
    assert ((b >= 0) & (b < 2 * np.pi)).all()


@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric", "inverse_multiquadric"])
def test_rbf(kernel):
    layer = made(nn.RBF, in_features=3, out_features=2, centers=4, kernel=kernel)
    x = drawn(5, 3)
    assert_same(layer(x), rbf(x, *layer.w, kernel=kernel), 1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_set2set(masked):
    layer = made(nn.Set2Set, features=3, processing_steps=4)
    x, cell = drawn(2, 5, 3), layer.w.lstm
    mask = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]], bool) if masked else None
    lstm = cell.kernel, cell.recurrent_kernel, cell.bias
    assert_same(layer(x, mask=mask), set2set(x, lstm, steps=4, mask=mask))


def test_siren():
    layer = made(nn.SIREN, in_features=2, hidden_features=4, out_features=3)
    x = drawn(5, 2)
    assert_same(layer(x), siren(x, layer.w.layers, layer.w.last))


@pytest.mark.parametrize("shift", [0, 1])
def test_swin_attention(shift):
    layer = made(nn.SwinAttention, features=4, num_heads=2, window=2, shift=shift)
    x, w = drawn(2, 4, 6, 4), layer.w
    maps = w.qkv, w.proj, w.table
    assert_same(layer(x), swin_attention(x, *maps, heads=2, window=2, shift=shift))


@pytest.mark.parametrize("training", [False, True])
def test_switchable_norm(training):
    layer, x = made(nn.SwitchableNorm, features=3), drawn(2, 4, 3, 3)
    running = None if training else tuple(layer.states.running.values())
    y, states = layer.step(x, "fwd", not training)
    assert_same(y, switchable_norm(x, *layer.w, running=running))
    followed = x.mean((0, 1, 2)) if training else layer.states.running["mean"] / 0.1
    assert_same(states.running["mean"], 0.1 * followed, 1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_talking_heads_attention(masked):
    layer = made(
        nn.TalkingHeadsAttention,
        in_features=3,
        memory_features=4,
        out_features=5,
        head_dim=2,
        key_heads=2,
        heads=3,
        value_heads=4,
    )
    x, memory = drawn(2, 3, 3), drawn(2, 6, 4)
    mask = drawn(2, 3, 6) > -0.5 if masked else None
    y, weights = layer((x, memory), mask=mask)
    expected = talking_heads_attention(x, memory, *layer.w, mask=mask)
    assert_same((y, weights), expected)


def test_wave_net():
    layer = made(
        block.WaveNet,
        in_channels=2,
        out_channels=3,
        channels=4,
        skip_channels=5,
        dilation_cycle=2,
        repeats=2,
    )
    x, w = drawn(2, 9, 2), layer.w

    def wide(conv):
        return conv.kernel.transpose(1, 2, 0), conv.bias

    def pointwise(conv):
        return conv.kernel[:, 0].T, conv.bias

    blocks = [
        {
            "filter": wide(each.filter),
            "gate": wide(each.gate),
            "residual": pointwise(each.residual),
            "skip": pointwise(each.skip),
        }
        for each in w.blocks
    ]
    ends = pointwise(w.out1), pointwise(w.out2)
    assert_same(layer(x), wave_net(x, pointwise(w.inp), blocks, *ends, 2))


def linear(number: int):
    """An initialized layer that a block is given."""
    return nn.Linear.init(jax.random.key(number), 3, 3, dtype="float64")


def test_adaptive_computation_time():
    module = block.AdaptiveComputationTime

    def make():
        key = jax.random.key(1)
        options = {"features": 3, "max_steps": 4, "epsilon": 0.1}
        return module.init(key, layer=linear(0), dtype="float64", **options)

    layer, x = Made(module, make), 4 * drawn(9, 3)
    found = layer(x)
    y, costs = adaptive_computation_time(
        x,
        lambda state: dense(layer.w.layer, state),
        (layer.w.halt_kernel, layer.w.halt_bias),
        max_steps=4,
        epsilon=0.1,
    )
    assert len({int(cost) for cost in costs}) > 1
    assert_same((found["output"], found["ponder_cost"]), (y, costs))


@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
def test_neural_ode(method):
    def make():
        return block.NeuralODE.init(linear(0), method=method, steps=3)

    layer, x = Made(block.NeuralODE, make), drawn(2, 3)
    expected = neural_ode(lambda h: dense(layer.w.layer, h), x, method, steps=3)
    assert_same(layer(x), expected)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_relative_position_bias(bidirectional):
    options = {"max_distance": 16, "bidirectional": bidirectional}
    layer = made(nn.RelativePositionBias, num_heads=2, num_buckets=8, **options)
    queries, keys = np.arange(9), np.array([0, 3, 30, 5])
    expected = relative_position_bias(queries, keys, layer.w.embedding, **options)
    assert_same(layer((queries, keys)), expected)


def test_reversible():
    def make():
        return block.Reversible.init([linear(0), linear(1)], [linear(2), linear(3)])

    layer, x = Made(block.Reversible, make), drawn(2, 6)
    units = [
        (lambda t, f=f: dense(f, t), lambda t, g=g: dense(g, t))
        for f, g in zip(layer.w.fs, layer.w.gs, strict=True)
    ]
    y = layer(x)
    assert_same(y, reversible(x, units))
    assert_same(layer(y, "inverse"), inverse_of_reversible(y, units))
    assert_same(layer(y, "inverse"), x)
