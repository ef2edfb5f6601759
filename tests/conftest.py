"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import sys

# Some versions of Python count frames that an error has left in C code as still running, so that
# a process that has run thousands of tests is told of a recursion where there is none.
sys.setrecursionlimit(20_000)

# Programs run once, and to optimize their machine code would take longer than all else. Processes that
# tests start inherit it. `XLA_FLAGS=` in the environment has it optimized.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 "
    "--xla_cpu_parallel_codegen_split_count=1 "
    "--xla_cpu_use_fusion_emitters=false",
)

# Syntax trees and programs are made by the million, and few of them in cycles.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """What is collected stays: it is not to be looked through for garbage, over and over."""
    gc.collect()
    gc.freeze()
