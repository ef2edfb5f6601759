"""Layers that a project owns: their source, brought into it and kept up to date by merging."""
