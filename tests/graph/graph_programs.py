"""Programs that need devices of their own: each runs in a process with simulated ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(
    program: str, devices: int, arguments: Sequence[str]
) -> subprocess.Popen[str]:
    """A Python process with this library, and with a number of simulated devices."""
    paths = [str(ROOT / "generated_layers"), str(Path(__file__).parent)]
    paths.append(os.environ.get("PYTHONPATH", ""))
    flags = os.environ.get("XLA_FLAGS", "")
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count={devices}",
    }
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outputs(*processes: subprocess.Popen[str]) -> list[str]:
    """What they print; all must succeed."""
    printed = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
            printed.append(out)
    finally:
        for process in processes:
            process.kill()
    return printed


def run(program: str, devices: int = 8) -> str:
    """What one process prints."""
    [printed] = outputs(start(program, devices, ()))
    return printed
