"""What functions of PyTorch are called here, one by one."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert


def written(expression: str, given: str = "x, y") -> str:
    """What an expression of a method becomes."""
    made = converted(
        module("Thing", "self.dim = dim", f"{given}: return {expression}")
    ).text
    return " ".join(made[made.rindex("return ") + 7 :].split())


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("torch.atan(x)", "jnp.arctan(x)"),
        ("x.frac()", "x - jnp.trunc(x)"),
        ("x * torch.finfo(torch.float32).min", "x * jnp.finfo(x.dtype).min"),
        ("x * torch.finfo(y.dtype).min", "x * jnp.finfo(y.dtype).min"),
        ("torch.erfinv(x)", "lax.erf_inv(x)"),
        ("torch.logit(x, eps=0.1)", "jnp.clip(x, 0.1, 1 - 0.1)"),
        ("torch.logaddexp(x, y)", "jnp.logaddexp(x, y)"),
        ("torch.remainder(x, y)", "jnp.remainder(x, y)"),
        ("torch.div(x, y, rounding_mode='floor')", "x // y"),
        ("torch.sub(x, y, alpha=2)", "x - 2 * y"),
        ("torch.addmm(x, y, y, beta=0, alpha=0.5)", "0.5 * jnp.matmul(y, y)"),
        ("torch.diag(x, 1)", "jnp.diag(x, 1)"),
        ("torch.cdist(x, y)", "l2_norm(jnp.expand_dims(x, -2) - jnp.expand_dims(y, -3), axis=-1)"),
        ("torch.norm(x, float('inf'), dim=1)", "jnp.max(jnp.abs(x), axis=1)"),
        ("torch.topk(x, 2, dim=1)[0]", "jnp.moveaxis(lax.top_k(jnp.moveaxis(x, 1, -1), 2)[0], -1, 1)"),
        ("torch.topk(x, 2, largest=False)[1]", "lax.slice_in_dim(jnp.argsort(x, axis=-1), 0, 2, axis=-1)"),
        ("torch.median(x)", "jnp.sort(x.reshape(-1))[(x.size - 1) // 2]"),
        ("torch.kthvalue(x, 2, dim=1)[0]", "jnp.take(jnp.sort(x, axis=1), 2 - 1, axis=1)"),
        ("torch.cummax(x, dim=-1)[0]", "lax.cummax(x, axis=x.ndim + -1)"),
        ("x.unfold(-1, 3, 2)", "jnp.arange(0, x.shape[-1] - 3 + 1, 2)[:, None] + jnp.arange(3)"),
        ("torch.fft.rfft(x, dim=1).abs()", "jnp.abs(jnp.fft.rfft(x, n=None, axis=1))"),
        ("torch.fft.irfft2(x, s=(4, 6))", "jnp.fft.irfft2(x, s=(4, 6), axes=(-2, -1))"),
        ("torch.view_as_complex(x)", "lax.complex(x[..., 0], x[..., 1])"),
        ("torch.bucketize(x, y)", "jnp.searchsorted(y, x, side='left')"),
        ("torch.hstack((x, y))", "jnp.hstack((x, y))"),
        ("F.softshrink(x, 0.3)", "jnp.sign(x) * jnp.maximum(jnp.abs(x) - 0.3, 0)"),
        ("F.normalize(x, p=1, dim=-1)", "x / jnp.maximum(sum(jnp.abs(x), axis=-1, keepdims=True), 1e-12)"),
        ("F.layer_norm(x, x.shape[1:])", "layer_norm(x, axis=tuple(range(1, x.ndim)))"),
        ("F.group_norm(x, 2)", "group_norm(x, groups=2)"),
        ("F.unfold(x, 2)", "lax.conv_general_dilated_patches(x, (2, 2), (1, 1), [(0, 0), (0, 0)]"),
        ("F.conv_transpose2d(x, y, stride=2)", "lhs_dilation=(2, 2)"),
        ("F.kl_div(x, y, reduction='batchmean')", "/ x.shape[0]"),
        ("F.smooth_l1_loss(x, y, beta=0.5)", "mean(huber_loss(x, y, delta=0.5) / 0.5)"),
        ("F.binary_cross_entropy(x, y, reduction='sum')", "sum(-(y * jnp.maximum(jnp.log(x), -100)"),
        ("F.cosine_similarity(x, y)", "sum(x * y, axis=1) / (jnp.maximum(l2_norm(x, axis=1), 1e-08)"),
        ("F.triplet_margin_loss(x, y, y)", "mean(jnp.maximum(l2_norm(x - y + 1e-06, axis=-1) - "),
    ],
)  # fmt: skip
def test_functions_of_pytorch_have_names_here(expression, text):
    assert text in written(expression)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", "mean(softmax_cross_entropy_with_integer_labels("),
        (", reduction='none'", "return softmax_cross_entropy_with_integer_labels("),
        (", ignore_index=0, reduction='none'", "jnp.where(y != 0, softmax_cross"),
        (", ignore_index=0", "where=y != 0)"),
        (", weight=w", "* w[y]) / sum(w[y])"),
        (", label_smoothing=0.1", "- 0.1 * mean(log_softmax("),
    ],
)
def test_losses_of_classes_leave_out_weigh_and_smooth(arguments, text):
    made = "return " + written(f"F.cross_entropy(x, y{arguments})", "x, y, w")
    assert text in made


def test_a_setting_chooses_what_a_loss_is_reduced_to():
    text = converted(
        module(
            "Thing",
            "self.reduction = reduction",
            "x, y: return F.mse_loss(x, y, reduction=self.reduction)",
            "reduction='mean'",
        )
    ).text
    assert "if self.reduction == 'mean' else" in text


def test_a_comparison_as_numbers_has_the_dtype_of_the_input():
    assert written("(x > 0).float()") == "(x > 0).astype(x.dtype)"
    assert written("y * mask.float()", "x, y, mask") == "y * mask.astype(x.dtype)"


def test_modules_of_several_inputs_are_functions():
    text = converted(
        module(
            "Thing",
            "self.criterion = nn.CrossEntropyLoss(reduction='sum')\n"
            "self.near = nn.CosineSimilarity(dim=-1, eps=eps)\n"
            "self.net = nn.Linear(dim, dim)",
            "x, y, t: h = self.net(x); "
            "return self.criterion(h, t) + nn.MSELoss()(h, y) + self.near(h, y).mean()",
            "dim, eps=1e-6",
        )
    ).text
    assert "sum(softmax_cross_entropy_with_integer_labels(" in text
    assert "mean(squared_error(h, y))" in text
    assert "jnp.maximum(l2_norm(h, axis=-1), self.eps)" in text
    assert "criterion" not in text


def test_a_module_that_is_handed_on_stays_one():
    made = convert(
        "thing.py",
        TORCH
        + module(
            "Thing",
            "self.loss = nn.MSELoss()",
            "x, y: f = self.loss; return f(x, y)",
        ),
        "Thing",
        "FromThing",
    )
    assert not made.whole


def test_images_are_sampled_at_places_by_a_function():
    text = converted(
        module(
            "Thing",
            "self.loc = nn.Linear(dim, 6)",
            "x, z: grid = F.affine_grid(self.loc(z).view(-1, 2, 3), x.size()); "
            "return F.grid_sample(x, grid, align_corners=True)",
        )
    ).text
    assert "grid = places_between(self.loc(z).reshape(-1, 2, 3), " in text
    assert "return sample_aligned(x, grid)" in text
    assert "def sample_aligned(x, grid):" in text
    assert "x: Float['batch" in text


def test_losses_that_are_locals_are_called_as_functions():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.fc = nn.Linear(dim, classes)

    def forward(self, x, labels):
        logits = self.fc(x)
        if labels.dtype == torch.long:
            loss_fct = nn.CrossEntropyLoss()
            loss = loss_fct(logits.view(-1, 4), labels.view(-1))
        else:
            loss_fct = nn.MSELoss()
            loss = loss_fct(logits, labels)
        return loss
""")
    assert "loss_fct" not in made.text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            "F.linear(x, self.weight, None if self.bias is None else self.bias.to(x.dtype))",
            "x @ self.weight.T + (0.0 if self.bias is None else self.bias.astype(x.dtype))",
        ),
        (
            "F.conv1d(x, self.weight[:, :, None], None if self.bias is None else self.bias)",
            "+ (0.0 if self.bias is None else self.bias[:, None])",
        ),
    ],
)
def test_a_bias_that_may_be_none_is_nothing_that_is_added(call, text):
    made = converted(f"""\
class Thing(nn.Linear):
    def forward(self, x):
        return {call}
""").text
    assert text in made
