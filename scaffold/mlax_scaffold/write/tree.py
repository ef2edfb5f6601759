"""The project's tree: which paths may be touched, and reading what is there."""

from __future__ import annotations

import os

from mlax_scaffold.write.failure import OccupiedError, WriteError, explained

STATE_DIR = ".mlax-scaffold"
LOCK_NAME = "mlax-scaffold.lock"

StrPath = str | os.PathLike[str]


def path_fault(path: str) -> str | None:
    """Why a path is not a plain posix path below the root, or None if it is one."""
    if not path or "\0" in path or "\\" in path or ":" in path.split("/", 1)[0]:
        return "it is not a relative posix path"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    parts = path.split("/")
    if path.startswith("/"):
        return "it is absolute"
    if ".." in parts:
        return "it leads out of the project's root"
    if "" in parts or "." in parts:
        return "it is not normalized"
    if parts[0].lower() in (STATE_DIR, ".git"):
        return f"{parts[0]}/ is not a place for generated files"
    return None


def check_path(path: str) -> None:
    """Raises WriteError unless `path` is a plain posix path below the root."""
    if fault := path_fault(path):
        raise WriteError(
            f"refusing to touch {path!r}: {fault}; "
            'give a path below the root such as "docs/reference/linear.md"'
        )


def ancestors(path: str) -> list[str]:
    """The directories above a relative path, nearest first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]


class Tree:
    """Access to the files below a root.

    Symbolic links to directories are followed as long as they stay below the root.
    The places of directories are remembered, so an instance serves one operation.
    """

    def __init__(self, root: StrPath):
        self.root = os.path.realpath(root)
        self._directories: dict[str, str] = {"": self.root}

    def locate(self, path: str) -> str:
        """The absolute place of a relative path. Raises WriteError if it is outside."""
        check_path(path)
        parent, _, name = path.rpartition("/")
        directory = self._directories.get(parent)
        if directory is None:
            directory = os.path.realpath(os.path.join(self.root, parent))
            if os.path.commonpath((self.root, directory)) != self.root:
                raise WriteError(
                    f"refusing to touch {path}: its directory is a symbolic link to "
                    f"{directory}, outside the project's root {self.root}; "
                    "replace the link with a directory"
                )
            self._directories[parent] = directory
        return os.path.join(directory, name)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is none.

        Raises OccupiedError for a directory, WriteError for what cannot be read.
        """
        with explained(f"read {path}"):
            return self.read_raw(path)

    def read_raw(self, path: str) -> bytes | None:
        """Like `read`, but raises the OSError itself."""
        place = self.locate(path)
        try:
            with open(place, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            # Opening a directory is IsADirectoryError or, on Windows, a denial.
            if os.path.isdir(place):
                raise OccupiedError(
                    f"{path} is a directory, but a file belongs there; move it away"
                ) from None
            raise

    def state(self, *parts: str) -> str:
        """A place in the state directory."""
        return os.path.join(self.root, STATE_DIR, *parts)

    def make_state(self) -> None:
        """Creates the state directory, ignored by git, if it is absent."""
        state = self.state()
        if os.path.islink(state):
            raise WriteError(
                f"{STATE_DIR} is a symbolic link; it must be a directory in the "
                "project itself, so that files can be moved from it atomically; "
                "remove the link"
            )
        with explained(f"create {STATE_DIR}"):
            os.makedirs(state, exist_ok=True)
            ignore = self.state(".gitignore")
            if not os.path.exists(ignore):
                with open(ignore, "w", encoding="utf-8") as file:
                    file.write("*\n")
