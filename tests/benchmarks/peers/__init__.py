"""Models written with each library, for `python -m tests.benchmarks.peers`."""
