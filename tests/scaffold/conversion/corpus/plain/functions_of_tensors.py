"""A function over tensors."""

import torch
import torch.nn.functional as F


def cosine_similarity(x: torch.Tensor, y: torch.Tensor, eps: float = 1e-6):
    """The cosine of the angle between vectors."""
    x = F.normalize(x, dim=-1, eps=eps)
    y = F.normalize(y, dim=-1, eps=eps)
    return (x * y).sum(dim=-1)
