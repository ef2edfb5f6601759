"""Prints pyproject.toml's requirements at the lowest versions that they allow, for pip.

    pip install -r <(python .ci/lowest.py test)

The arguments are the names of extras.
"""

import re
import sys
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,-]+)\])?(?:>=(?P<lowest>[\w.]+))?"
)


def lowest(project: dict, extras: list[str]) -> list[str]:
    """The requirements of a project and of some of its extras, each pinned to its floor."""
    found = list(project["dependencies"])
    for extra in extras:
        found += project["optional-dependencies"][extra]
    pinned = []
    for requirement in found:
        matched = _REQUIREMENT.match(requirement)
        if matched is None or not (
            matched["lowest"] or matched["name"] == project["name"]
        ):
            raise SystemExit(
                f"{requirement!r} has no lowest version; write it as name>=version"
            )
        if matched["name"] == project["name"]:
            pinned += lowest(
                project | {"dependencies": []}, matched["extras"].split(",")
            )
        else:
            pinned.append(f"{matched['name']}=={matched['lowest']}")
    return pinned


if __name__ == "__main__":
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    print("\n".join(lowest(settings["project"], sys.argv[1:])))
