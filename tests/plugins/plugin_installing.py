"""Installs distributions as `pip install -e` does, without a network: by their metadata."""

from __future__ import annotations

import tomllib
from pathlib import Path

SAMPLES = Path(__file__).parent


def install(folder: Path, site: Path) -> list[str]:
    """Write the metadata of a distribution; what has to be in a path for it to be installed.

    Args:
        folder: of the distribution, with its pyproject.toml.
        site: the folder that the metadata are written into.
    """
    table = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = table["name"], table["version"]
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata)
    lines = []
    for group, entries in table["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return [str(site), str(folder)]
