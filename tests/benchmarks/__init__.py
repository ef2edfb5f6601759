"""Benchmarks: scripts, each with its command, that print what they measure."""
