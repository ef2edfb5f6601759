"""Layers, weights and states as a class declares them."""
