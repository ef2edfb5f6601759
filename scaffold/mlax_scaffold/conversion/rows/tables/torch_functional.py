"""Functions of PyTorch beyond the most common ones, and its losses, with the modules that call them."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

_FUNCTIONAL = {
    "hardshrink": Row("(x, lambd=0.5)", "jnp.where(jnp.abs(x) > lambd, x, 0)"),
    "softshrink": Row(
        "(x, lambd=0.5)", "jnp.sign(x) * jnp.maximum(jnp.abs(x) - lambd, 0)"
    ),
    "tanhshrink": Row("(x)", "x - jnp.tanh(x)"),
    "threshold": Row("(x, threshold, value)", "jnp.where(x > threshold, x, value)"),
    "softmin": Row("(x, dim, dtype=_)", "word.softmax(-x, axis=dim)"),
    "softplus": Row("(x, beta=1.0, threshold=20.0)", "calc.softplus_of(x, beta)"),
    "pixel_shuffle": Row(
        "(x, upscale_factor)",
        "x.reshape(x.shape[0], -1, upscale_factor, upscale_factor, *x.shape[2:])"
        ".transpose(0, 1, 4, 2, 5, 3)"
        ".reshape(x.shape[0], -1, x.shape[2] * upscale_factor, x.shape[3] * upscale_factor)",
    ),
    "pixel_unshuffle": Row(
        "(x, downscale_factor)",
        "x.reshape(x.shape[0], x.shape[1], x.shape[2] // downscale_factor, downscale_factor, "
        "x.shape[3] // downscale_factor, downscale_factor).transpose(0, 1, 3, 5, 2, 4)"
        ".reshape(x.shape[0], -1, x.shape[2] // downscale_factor, x.shape[3] // downscale_factor)",
    ),
    "channel_shuffle": Row(
        "(x, groups)",
        "jnp.swapaxes(x.reshape(x.shape[0], groups, -1, *x.shape[2:]), 1, 2).reshape(x.shape)",
    ),
    "group_norm": Row(
        "(x, num_groups, weight=None, bias=None, eps=1e-5)",
        "calc.affine_second(word.group_norm(x, groups=num_groups, epsilon=eps), x, weight, bias)",
    ),
    "instance_norm": Row(
        "(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
        "momentum=0.1, eps=1e-5)",
        "calc.affine_second(word.instance_norm(x, epsilon=eps), x, weight, bias)",
    ),
    "rms_norm": Row(
        "(x, normalized_shape, weight=None, eps=1.1920929e-07)",
        "calc.affine(word.rms_norm(x, axis=calc.last_axes(normalized_shape), epsilon=eps), "
        "weight, None)",
    ),
    "local_response_norm": Row(
        "(x, size, alpha=1e-4, beta=0.75, k=1.0)",
        "calc.over_neighbours(x, size, alpha, beta, k)",
    ),
    "cosine_similarity": Row(
        "(x1, x2, dim=1, eps=1e-8)", "calc.cosine(x1, x2, dim, eps)"
    ),
    "pairwise_distance": Row(
        "(x1, x2, p=2.0, eps=1e-6, keepdim=_)",
        "calc.norm(x1 - x2 + eps, p, -1, keepdim)",
    ),
    "prelu": Row(
        "(x, weight)",
        "jnp.where(x > 0, x, weight.reshape(-1, *[1] * (x.ndim - 2)) * x)",
    ),
    "bilinear": Row(
        "(input1, input2, weight, bias=None)",
        "calc.plus(jnp.einsum('...i,oij,...j->...o', input1, weight, input2), bias)",
    ),
    "fold": Row(
        "(x, output_size, kernel_size, dilation=1, padding=0, stride=1)",
        "calc.unpatched(x, output_size, kernel_size, dilation, padding, stride)",
    ),
    **{
        f"conv_transpose{n}d": Row(
            "(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
            "calc.channelwise(calc.transposed_conv(x, weight, stride, padding, output_padding, "
            f"dilation, {n}), bias, {n})",
        )
        for n in (1, 2, 3)
    },
    "unfold": Row(
        "(x, kernel_size, dilation=1, padding=0, stride=1)",
        "calc.patches(x, kernel_size, dilation, padding, stride)",
    ),
    "gumbel_softmax": Row(
        "(logits, tau=1, hard=False, eps=_, dim=-1)",
        "word.softmax((logits + jax.random.gumbel(self.key(), logits.shape, logits.dtype)) / tau, "
        "axis=dim)",
    ),
}

_TWO = "(input, target, reduction='mean')"
_LOSSES = {
    "mse_loss": Row(_TWO, "calc.reduced(loss.squared_error(input, target), reduction)"),
    "l1_loss": Row(_TWO, "calc.reduced(loss.absolute_error(input, target), reduction)"),
    "huber_loss": Row(
        "(input, target, reduction='mean', delta=_)",
        "calc.reduced(loss.huber_loss(input, target, delta=delta), reduction)",
    ),
    "nll_loss": Row(
        "(input, target, weight=None, ignore_index=-100, reduction='mean')",
        "calc.nll(input, target, weight, ignore_index, reduction)",
    ),
    "smooth_l1_loss": Row(
        "(input, target, reduction='mean', beta=1.0)",
        "calc.reduced(loss.huber_loss(input, target, delta=beta) / beta, reduction)",
    ),
    "binary_cross_entropy": Row(
        "(input, target, weight=None, reduction='mean')",
        "calc.reduced(calc.times(-(target * jnp.maximum(jnp.log(input), -100) + (1 - target) * "
        "jnp.maximum(jnp.log1p(-input), -100)), weight), reduction)",
    ),
    "binary_cross_entropy_with_logits": Row(
        "(input, target, weight=None, reduction='mean', pos_weight=None)",
        "calc.reduced(calc.times(calc.logit_losses(input, target, pos_weight), weight), reduction)",
    ),
    "kl_div": Row(
        "(input, target, reduction='mean', log_target=False)",
        "calc.divergence(input, target, reduction, log_target)",
    ),
    "cosine_embedding_loss": Row(
        "(x1, x2, target, margin=0.0, reduction='mean')",
        "calc.reduced(jnp.where(target == 1, 1 - calc.cosine(x1, x2, -1, 1e-8), "
        "jnp.maximum(0, calc.cosine(x1, x2, -1, 1e-8) - margin)), reduction)",
    ),
    "triplet_margin_loss": Row(
        "(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction='mean')",
        "calc.reduced(jnp.maximum(calc.norm(anchor - positive + eps, p, -1, _) - "
        "calc.norm(anchor - negative + eps, p, -1, _) + margin, 0), reduction)",
    ),
    "margin_ranking_loss": Row(
        "(x1, x2, target, margin=0.0, reduction='mean')",
        "calc.reduced(jnp.maximum(0, -target * (x1 - x2) + margin), reduction)",
    ),
    "hinge_embedding_loss": Row(
        "(input, target, margin=1.0, reduction='mean')",
        "calc.reduced(jnp.where(target == 1, input, jnp.maximum(0, margin - input)), reduction)",
    ),
    "gaussian_nll_loss": Row(
        "(input, target, var, full=False, eps=1e-6, reduction='mean')",
        "calc.reduced(0.5 * (jnp.log(jnp.maximum(var, eps)) + (input - target) ** 2 / "
        "jnp.maximum(var, eps)), reduction)",
    ),
    "poisson_nll_loss": Row(
        "(input, target, log_input=True, full=False, reduction='mean')",
        "calc.reduced(jnp.exp(input) - target * input, reduction)",
    ),
    "soft_margin_loss": Row(
        _TWO, "calc.reduced(jax.nn.softplus(-target * input), reduction)"
    ),
    "multilabel_soft_margin_loss": Row(
        _TWO,
        "calc.reduced(word.mean(loss.sigmoid_binary_cross_entropy(input, target), axis=-1), "
        "reduction)",
    ),
    "cross_entropy": Row(
        "(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0)",
        "calc.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)",
    ),
}
FUNCTIONS = {
    f"torch.nn.functional.{name}": row for name, row in (_FUNCTIONAL | _LOSSES).items()
} | {
    f"torch.{name}": _FUNCTIONAL[name]
    for name in ("cosine_similarity", "pixel_shuffle", "pixel_unshuffle")
}

MODULES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "TripletMarginLoss": "triplet_margin_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "SoftMarginLoss": "soft_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "CosineSimilarity": "cosine_similarity",
    "PairwiseDistance": "pairwise_distance",
}
"""Modules of several inputs without weights, and the functions that they call."""

MODULE_ARGUMENTS = {
    "KLDivLoss": ("size_average", "reduce", "reduction", "log_target"),
    "CrossEntropyLoss": ("weight",),
    "NLLLoss": ("weight",),
    "BCELoss": ("weight",),
    "BCEWithLogitsLoss": ("weight",),
    "CosineSimilarity": ("dim", "eps"),
    "PairwiseDistance": ("p", "eps", "keepdim"),
    "CosineEmbeddingLoss": ("margin",),
    "TripletMarginLoss": ("margin", "p", "eps", "swap"),
    "MarginRankingLoss": ("margin",),
    "HingeEmbeddingLoss": ("margin",),
}
"""What they take without a keyword when they are made."""

_LAYERS = {
    "Hardshrink": Row("(lambd=0.5)", _FUNCTIONAL["hardshrink"].text, "function"),
    "Softshrink": Row("(lambd=0.5)", _FUNCTIONAL["softshrink"].text, "function"),
    "Tanhshrink": Row("()", _FUNCTIONAL["tanhshrink"].text, "function"),
    "Threshold": Row(
        "(threshold, value, inplace=_)", _FUNCTIONAL["threshold"].text, "function"
    ),
    "Softmin": Row("(dim)", "word.softmax(-x, axis=dim)", "function"),
    "Softmax2d": Row("()", "word.softmax(x, axis=-3)", "function"),
    "PixelUnshuffle": Row(
        "(downscale_factor)", _FUNCTIONAL["pixel_unshuffle"].text, "function"
    ),
    "ChannelShuffle": Row("(groups)", _FUNCTIONAL["channel_shuffle"].text, "function"),
    "LocalResponseNorm": Row(
        "(size, alpha=1e-4, beta=0.75, k=1.0)",
        "calc.neighbours_of_x(size, alpha, beta, k)",
        "function",
    ),
    "Unfold": Row(
        "(kernel_size, dilation=1, padding=0, stride=1)",
        "calc.patches_of_x(kernel_size, dilation, padding, stride)",
        "function",
    ),
}
LAYERS = {f"torch.nn.{name}": row for name, row in _LAYERS.items()}
