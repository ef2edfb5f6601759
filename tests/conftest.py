"""What holds for all tests."""

from __future__ import annotations

import sys

# Some versions of Python count frames that an error has left in C code as still running, so that
# a process that has run thousands of tests is told of a recursion where there is none.
sys.setrecursionlimit(20_000)
