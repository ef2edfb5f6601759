"""Records what a release promises, from the examples of its reference pages.

    python -m tests.freeze.record tests/freeze/v0_1_0.json

Run it once, in a checkout of the release: a record that follows the code keeps no promise.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.freeze.programs import Program, run

import mlax.graph

_PAGES = Path(__file__).parents[2] / "docs" / "reference"
_EXAMPLE = re.compile(
    r"^# (\w+)$.*?^## Example\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL
)

_LINEAR = "bx.Linear(node.child('{}'), 4, rng=rng)"
_BLOCKS = {
    "Bidirectional": f"bx.Bidirectional(node, {_LINEAR.format('ahead')}, {_LINEAR.format('back')})",
    "F": "bx.F(node, jax.nn.relu)",
    "Parallel": f"bx.Parallel(node, [{_LINEAR.format('left')}, {_LINEAR.format('right')}])",
    "Recurrent": "bx.Recurrent(node, bx.GRU(node.child('cell'), 4, rng=rng))",
    "Remat": f"bx.Remat(node, {_LINEAR.format('layer')})",
    "Repeat": f"bx.Repeat(node, {_LINEAR.format('layer')}, 4)",
    "Residual": f"bx.Residual(node, {_LINEAR.format('layer')})",
    "Series": f"bx.Series(node, [{_LINEAR.format('up')}, {_LINEAR.format('down')}])",
}
"""Modules of blocks take modules, where the examples of pairs take initialized layers."""

_CELLS = {
    "ConvLSTMCell": "ConvLSTM",
    "GRUCell": "GRU",
    "LSTMCell": "LSTM",
    "MGUCell": "MGU",
    "SimpleCell": "SimpleRNN",
}
_ALIASES = {"out_features": "output_size", "features": "hidden_size"}


def programs() -> Iterator[Program]:
    """The program of each item, in the order of pages."""
    for page in sorted(_PAGES.glob("*/*.md")):
        found = _EXAMPLE.search(page.read_text())
        if found is not None:
            name, example = found.groups()
            yield _program(page.parent.name, name, example)


def _program(section: str, name: str, example: str) -> Program:
    # In float32 numbers agree from one processor to the next as far as they are recorded.
    tree = ast.parse(example.replace("jnp.bfloat16", "jnp.float32"))
    body = [
        statement for statement in tree.body if not isinstance(statement, ast.Assert)
    ]
    end = next(
        index
        for index, statement in enumerate(body)
        if _is_step(statement, section, name)
    )
    [call] = [node for node in ast.walk(body[end]) if isinstance(node, ast.Call)][:1]
    if section == "schedule":
        call = ast.Call(call.func, [ast.Name("t")], [])
    start = 0
    if section == "optim":
        start = 1 + next(
            i for i, s in enumerate(body) if ast.unparse(s).startswith("trainables =")
        )
    return Program(
        item=f"{section}/{name}",
        weights=_text(body[:start]),
        setup=_text(body[start:end]),
        call=ast.unparse(call),
        module=_module(section, name, tree),
        inputs={"Bilinear": "(left, right)"}.get(
            name, "(inputs,)" if name in _CELLS else None
        ),
    )


def _is_step(statement: ast.stmt, section: str, name: str) -> bool:
    if not isinstance(statement, ast.Assign) or not isinstance(
        statement.value, ast.Call
    ):
        return False
    function = statement.value.func
    if section == "schedule":
        return isinstance(function, ast.Name)
    member = {"functional": "", "optim": ".step"}.get(section, ".fwd")
    return ast.unparse(function) == f"{section}.{name}{member}"


def _text(statements: list[ast.stmt]) -> str:
    return "\n".join(ast.unparse(statement) for statement in statements)


def _module(section: str, name: str, tree: ast.Module) -> str | None:
    """The module class with the hyperparameters of the example that it takes."""
    if section not in ("nn", "block"):
        return None
    if name in _BLOCKS:
        return _BLOCKS[name]
    cell = _CELLS.get(name, name)
    known = inspect.signature(getattr(mlax.graph, cell).__init__).parameters
    [init] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == f"{section}.{name}.init"
    ]
    arguments = ["node"]
    for keyword in init.keywords:
        name = keyword.arg or ""
        name = name if name in known else _ALIASES.get(name, name)
        if name in known:
            arguments.append(f"{name}={ast.unparse(keyword.value)}")
    if "rng" in known:
        arguments.append("rng=rng")
    return f"bx.{cell}({', '.join(arguments)})"


def main() -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args().file
    lines = []
    for program in programs():
        fields = {
            key: value for key, value in dataclasses.asdict(program).items() if value
        }
        record = json.dumps({"program": fields} | run(program), sort_keys=True)
        lines.append(f"{json.dumps(program.item)}: {record}")
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
