"""Liu et al., 2021, arXiv:2105.08050, equations 1 and 6."""

from .common import dense, gelu, layer_norm


def gmlp_block(x, norm, proj_in, gate_norm, spatial, proj_out):
    """x: (batch, length, f); norms are pairs (scale, bias), the others affine maps."""
    h = gelu(dense(proj_in, layer_norm(norm, x)))
    half = h.shape[-1] // 2
    gate = layer_norm(gate_norm, h[..., half:])
    gate = dense(spatial, gate.swapaxes(-1, -2)).swapaxes(-1, -2)
    return x + dense(proj_out, h[..., :half] * gate)
