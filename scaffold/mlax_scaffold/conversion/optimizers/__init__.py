"""Transformations of gradients as optimizers."""
