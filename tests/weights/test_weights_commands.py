"""`mlax-scaffold weights`: what is printed and written, statuses, and what runs."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file, save_file

import mlax
from mlax import nn
from mlax_scaffold.cli.group import cli
from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.weights import program

MODEL = """\
import pathlib
import jax
from mlax import block, nn
print("ran")

def make(key):
    return block.Series.init([nn.Linear.init(key, 4, 3), nn.BatchNorm.init(key, 3)])
"""
PLAIN = """\
import jax

class place:
    weights = {"kernel": jax.ShapeDtypeStruct((4, 3), "float32")}

two = [{"kernel": jax.ShapeDtypeStruct((4, 4), "float32")}] * 2

def several(key, size):
    return None

def wrong():
    print("said")
    raise ValueError("not today")
"""
ARRAYS = {
    "fc.weight": np.arange(12.0, dtype="float32").reshape(3, 4),
    "fc.bias": np.arange(3, dtype="float32"),
    "bn.weight": np.full(3, 2, "float32"),
    "bn.bias": np.full(3, 3, "float32"),
    "bn.running_mean": np.full(3, 4, "float32"),
    "bn.running_var": np.full(3, 5, "float32"),
    "bn.num_batches_tracked": np.array(9),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(MODEL)
    (tmp_path / "plain.py").write_text(PLAIN)
    np.savez(tmp_path / "a.npz", **ARRAYS)
    monkeypatch.chdir(tmp_path)
    # The package is not installed where it is tested from a checkout.
    monkeypatch.setenv("PYTHONPATH", str(Path(mlax.__file__).parents[1]))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["weights", *arguments])


def test_map_and_apply(folder: Path):
    done = run("map", "a.npz", "--model", "net.py:make", "--output", "a.toml")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "6 of 6 weights are decided, from a.npz (torch).",
        "  not needed  bn.num_batches_tracked",
        "The mapping is in a.toml; next: mlax-scaffold weights apply a.npz a.toml "
        "--output FILE.safetensors",
    ]
    again = run("map", "a.npz", "--model", "net.py:make", "--output", "a.toml")
    assert again.exit_code == 1
    assert "a.toml is there already; --force" in again.stdout
    done = run("apply", "a.npz", "a.toml", "--dry-run")
    assert done.stdout == "6 weights, 108 bytes: would be written.\n"
    done = run("apply", "a.npz", "a.toml", "--output", "model.safetensors")
    assert done.stdout == "6 weights, 108 bytes: in model.safetensors.\n"
    written = load_file("model.safetensors")
    np.testing.assert_array_equal(written["0/layers/0/kernel"], ARRAYS["fc.weight"].T)
    np.testing.assert_array_equal(written["1/layers/1/var"], ARRAYS["bn.running_var"])
    assert sorted(p.name for p in folder.iterdir() if "tmp" in p.name) == []


def test_what_is_written_is_what_the_package_loads(folder: Path):
    (folder / "m.toml").write_text(
        "version = 1\n[trainables]\n"
        "kernel = ['float32[4, 3]', 'transpose(\"w\", 1, 0)']\n"
        "bias = ['float32[3]', '\"b\"']\n"
    )
    np.savez("c.npz", w=ARRAYS["fc.weight"], b=ARRAYS["fc.bias"])
    assert run("apply", "c.npz", "m.toml", "-o", "m.safetensors").exit_code == 0
    import jax

    shapes = jax.eval_shape(
        lambda: nn.Linear.init(jax.random.key(0), 4, 3, dtype="float32")
    )
    trainables, _ = mlax.load_safetensors("m.safetensors", like=shapes[:2])
    np.testing.assert_array_equal(trainables.bias, ARRAYS["fc.bias"])


def test_what_is_open_is_said_and_has_a_status(folder: Path):
    square = np.zeros((4, 4))
    save_file({"a.weight": square, "b.weight": square}, "b.safetensors")
    done = run("map", "b.safetensors", "--model", "plain.py:two")
    assert done.exit_code == 1
    assert '# "0/kernel" = ' in done.stdout
    assert "  ambiguous  0/kernel\n" in done.stderr


def test_json(folder: Path):
    save_file({"net/w": np.zeros((4, 3)), "extra/x": np.zeros(2)}, "c.safetensors")
    target = "plain.py:place.weights"
    done = run("map", "c.safetensors", "--model", target, "--format", "json")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {
        "source": "haiku",
        "complete": False,
        "weights": [
            {
                "group": "weights",
                "path": "kernel",
                "shape": [4, 3],
                "dtype": "float32",
                "from": '"net/w"',
                "initial": False,
                "reason": "the only one of its shape",
                "candidates": [],
                "readings": [],
            }
        ],
        "unused": ["extra/x"],
        "ignored": {},
        "notes": [],
    }


def test_failures_of_commands(folder: Path):
    assert run("apply", "a.npz", "gone.toml", "--dry-run").exit_code == 2
    assert run("apply", "a.npz", "gone.toml").exit_code == 2
    gone = run("apply", "a.npz", "gone.toml", "--dry-run").stderr
    assert "there is no file gone.toml; `mlax-scaffold weights map` writes" in gone
    assert run("map", "gone.npz", "--model", "net.py:make").exit_code == 2
    (folder / "m.toml").write_text(
        "version = 1\n[weights]\ncached = ['int32[]', 'initial']\nunused = []\n"
    )
    done = run("apply", "a.npz", "m.toml", "--dry-run")
    assert done.exit_code == 2
    assert "weights, unused: expected" in done.stderr


def test_what_cannot_be_written_is_named_and_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Neither by the name of the file that is written first."""
    run("map", "a.npz", "--model", "net.py:make", "-o", "a.toml")

    def refuse(self: Path, *_: object) -> Path:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "replace", refuse)
    for name in ("b.toml", "b.safetensors"):
        rest = ("a.toml",) if name == "b.safetensors" else ("--model", "net.py:make")
        command = "apply" if name == "b.safetensors" else "map"
        result = run(command, "a.npz", *rest, "-o", name)
        assert result.exit_code == 3
        told = f"Error: {name}: permission was denied; make it writable and run again"
        assert told in result.stderr
    left = {place.name for place in folder.iterdir()} - {"__pycache__"}
    assert left == {"a.npz", "a.toml", "net.py", "plain.py"}


def test_a_model_is_nothing_to_apply(folder: Path):
    result = run("apply", "a.npz", "b.toml", "--model", "net.py:make")
    assert result.exit_code == 2
    assert "the mapping that `map` wrote says what the model's weights" in result.stderr
    assert "apply CHECKPOINT MAPPING.toml --output FILE.safetensors" in result.stderr


def test_the_model_runs_in_a_process_of_its_own(folder: Path, capfd):
    """What it raises is told from its own file on, and what it prints is no answer."""
    with pytest.raises(FindingsError) as caught:
        program.model_of("plain.py:wrong")
    assert capfd.readouterr() == ("", "said\n")
    assert str(caught.value).splitlines()[:2] == [
        "plain.py:wrong raised an error.",
        "Traceback (most recent call last):",
    ]
    assert "program.py" not in str(caught.value)
    assert str(caught.value).endswith("ValueError: not today")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("gone.py:make", "there is no such file"),
        ("plain.py", "names no model"),
        ("plain.py:wrnog", 'did you mean "wrong"'),
        ("plain.py:several", "takes key, size"),
        ("plain.py:jax", "holds no arrays"),
    ],
)
def test_what_names_no_model(target: str, said: str, folder: Path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    with pytest.raises(UsageError, match=said):
        program.expected(target)
