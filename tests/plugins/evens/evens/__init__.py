"""Layers of even sizes, for mlax-scaffold."""
