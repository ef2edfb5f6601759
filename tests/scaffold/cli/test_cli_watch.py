"""`watch`: generates on save, tells errors, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_projects import SCALE, ProjectFolder, execute

SPEC, LAYER = "specs/nn/scale.py", "mynet/nn/scale.py"


class Watch:
    """A process that watches, and what it has said."""

    def __init__(self, folder: Path, *options: str):
        self.said = folder.parent / "said"
        path = os.pathsep.join(p for p in sys.path if p)
        with self.said.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlax_scaffold", "watch", *options],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.wait(lambda: "Watching specs" in self.text())

    def text(self) -> str:
        return self.said.read_text()

    def wait(self, condition: Callable[[], bool]) -> float:
        """How long it takes until something is so."""
        begin = time.monotonic()
        while not condition():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() - begin < 100, self.text()
            time.sleep(0.02)
        return time.monotonic() - begin

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


def test_each_save_is_generated_and_tried(project: ProjectFolder):
    watch = Watch(project.root, "--no-trial")
    assert (project.root / LAYER).exists()

    project.write(SPEC, SCALE.replace("by element", "of each element"))
    watch.wait(lambda: "of each element" in project.text(LAYER))

    project.write(SPEC, SCALE.replace("self.weight  #", "self.wieght  #"))
    watch.wait(lambda: f"{SPEC}:13:" in watch.text())
    assert 'did you mean "weight"' in watch.text()
    assert "of each element" in project.text(LAYER)

    project.write(SPEC, SCALE.replace("Product", "Mended product"))
    watch.wait(
        lambda: "Mended product" in project.text(LAYER).replace("mended", "Mended")
    )

    project.write("specs/nn/other.py", SCALE.replace("Scale", "Other"))
    watch.wait((project.root / "mynet/nn/other.py").exists)
    (project.root / "specs/nn/other.py").unlink()
    watch.wait(lambda: "specs/nn/other.py is gone" in watch.text())
    assert (project.root / "mynet/nn/other.py").exists()
    assert watch.end() == 0
    assert "Traceback" not in watch.text()


def test_what_was_saved_is_traced(generated: ProjectFolder):
    watch = Watch(generated.root)
    wrong = SCALE.replace("x * self.weight", "jnp.tahn(x) * self.weight")
    generated.write(SPEC, f"import jax.numpy as jnp\n{wrong}")
    watch.wait(lambda: "has no `tahn`" in watch.text())
    assert f"{SPEC}:14:" in watch.text()
    assert watch.end() == 0


def test_without_specs_there_is_nothing_to_watch(empty: ProjectFolder):
    result = empty.run("watch")
    assert result.exit_code == 2
    assert "specs does not exist yet" in result.stderr


def test_the_extra_is_named_where_it_is_missing(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    result = project.run("watch")
    assert result.exit_code == 2
    assert 'pip install "mlax-scaffold[watch]"' in result.stderr


def test_only_watching_needs_the_extra(project: ProjectFolder):
    program = "import sys; sys.modules['watchfiles'] = None\n"
    program += "from mlax_scaffold.cli import main; main(['list'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert execute(["watch", "--help"], project.root).returncode == 0
