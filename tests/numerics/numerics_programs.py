"""Programs that need several devices: each runs in a process with simulated ones."""

import os
import subprocess
import sys
from pathlib import Path


def run_on_devices(program: str) -> str:
    """What a program prints that runs on eight simulated devices; it must succeed.

    It may import what stands beside this file.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    flags += " --xla_force_host_platform_device_count=8"
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": here},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
