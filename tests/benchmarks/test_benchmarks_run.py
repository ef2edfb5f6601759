"""The benchmarks run, on tiny sizes. What they measure is not judged here.

What does not depend on the machine is: their exit status says whether a command
imports a heavy package, or a generated layer costs more than one written by hand.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = [str(ROOT / "scaffold"), str(ROOT / "generated_layers")]


def run(name: str, *arguments: str) -> str:
    """What a benchmark prints; it must succeed."""
    paths = [*PATHS, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    done = subprocess.run(
        (sys.executable, "-m", f"tests.benchmarks.{name}", *arguments),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_startup() -> None:
    assert "| python -m mlax_scaffold --help |" in run("startup", "--rounds", "1")


def test_check() -> None:
    printed = run("check", "--rounds", "1", "--sizes", "1", "3", "--kinds", "schedule")
    assert "check, slope in ms per spec" in printed


def test_generate() -> None:
    printed = run(
        "generate", "--rounds", "1", "--sizes", "1", "3", "--kinds", "schedule"
    )
    assert "A spec among 3 takes" in printed


def test_zoo() -> None:
    assert "1 tried: 1 accepted." in run("zoo", "nalu")


def test_layers() -> None:
    printed = run("layers", "Linear", "LayerNorm", "Repeat")
    assert "18 of 18 counts are equal." in printed


def test_dispatch() -> None:
    printed = run("dispatch", "--rounds", "1", "--calls", "2", "--layers", "3")
    assert "training, hyperparams as a plain argument, ratio" in printed


def test_peers() -> None:
    arguments = ("compiled", "eager", "--models", "mlp", "--rounds", "1", "--tiny")
    printed = run("peers", *arguments)
    assert "| mlp, step " in printed
    assert "| mlp, not compiled |" in printed


def test_containers() -> None:
    printed = run("containers", "--rounds", "1", "--calls", "2", "--layers", "3")
    assert "| mlax.graph, Params " in printed


def test_optimizers() -> None:
    printed = run("optimizers", "lion", "--rounds", "1", "--weights", "4000")
    assert "lion (leaves), ratio to hand-written" in printed


def test_linear() -> None:
    printed = run("linear", "--rounds", "1", "--sizes", "one token")
    assert "| encoder, step, one token (8, 1, 256)" in printed


def test_attention() -> None:
    sizes = ("--lengths", "8", "--chunk", "4")
    printed = run("attention", "--rounds", "1", *sizes)
    assert "| gradients, 8 positions" in printed


def test_optimizer_peers() -> None:
    printed = run(
        "optimizer_peers", "sgd", "--rounds", "1", "--weights", "64", "--leaves", "2"
    )
    assert "| sgd " in printed


def test_watch() -> None:
    printed = run("watch", "--saves", "1")
    assert "| generated and tried | " in printed
    assert "| tested | " in printed
