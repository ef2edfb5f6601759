"""Files of each format, and every way in which they can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import orbax.checkpoint
import pytest
from safetensors.numpy import save_file
from weights_compare import KEY, shaped

from mlax import nn
from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.weights import load_mapped, map_weights, parse_mapping, read_mapping
from mlax_scaffold.weights.arrays import compute, names_in, parse
from mlax_scaffold.weights.checkpoint import read_checkpoint
from mlax_scaffold.weights.paths import key_names, path_name, path_names

ARRAYS = {
    "fc.weight": np.arange(12.0).reshape(3, 4),
    "fc.bias": np.arange(3.0),
}


def as_npz(folder: Path) -> Path:
    np.savez(folder / "a.npz", **ARRAYS)
    return folder / "a.npz"


def as_safetensors(folder: Path) -> Path:
    save_file(ARRAYS, folder / "a.safetensors")
    return folder / "a.safetensors"


def as_shards(folder: Path) -> Path:
    places = {}
    for number, (name, array) in enumerate(ARRAYS.items()):
        save_file({name: array}, folder / f"{number}.safetensors")
        places[name] = f"{number}.safetensors"
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    return folder


def as_orbax(folder: Path) -> Path:
    tree = {"fc": {name.partition(".")[2]: a for name, a in ARRAYS.items()}}
    with orbax.checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / "step", tree)
    return folder / "step"


@pytest.mark.parametrize("write", [as_npz, as_safetensors, as_shards, as_orbax])
def test_formats(write: Any, tmp_path: Path):
    place = write(tmp_path)
    model = shaped(nn.Linear.init, KEY, 4, 3)
    trainables, _, _ = load_mapped(map_weights(place, model), place, model)
    np.testing.assert_array_equal(trainables.kernel, ARRAYS["fc.weight"].T)
    np.testing.assert_array_equal(trainables.bias, ARRAYS["fc.bias"])


def broken(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.safetensors", b"\x10\0\0\0\0\0\0\0{", "no safetensors file"),
        ("a.npz", b"PK\x03\x04 and no more", "no npz file"),
        ("a.pt", b"", "safetensors.torch.save_file"),
        ("a.eqx", b"", "holds no names"),
        ("a.msgpack", b"", "msgpack_restore"),
        ("a.txt", b"", "format that is not known"),
        ("a.safetensors.index.json", b'{"weight_map": 3}', "no index"),
        (
            "b.safetensors.index.json",
            b'{"weight_map": {"x": "../gone.safetensors"}}',
            "files that are not there",
        ),
    ],
)
def test_files_that_cannot_be_read(name, content, said, tmp_path):
    with pytest.raises(UsageError, match=said) as caught:
        read_checkpoint(broken(tmp_path, name, content))
    assert name in str(caught.value)


def test_places_that_hold_no_checkpoint(tmp_path):
    with pytest.raises(UsageError, match="there is no such file"):
        read_checkpoint(tmp_path / "gone.npz")
    with pytest.raises(UsageError, match="no checkpoint of orbax"):
        read_checkpoint(tmp_path)
    np.savez(tmp_path / "objects.npz", a=np.array([{}]))
    with pytest.raises(UsageError, match="plain arrays"):
        read_checkpoint(tmp_path / "objects.npz")
    with pytest.raises(UsageError, match="holds no arrays"):
        read_checkpoint({"a": None})
    with pytest.raises(
        UsageError, match="two arrays of the checkpoint have the name 'a/b'"
    ):
        read_checkpoint({"a/b": np.zeros(1), "a": {"b": np.zeros(1)}})


def test_a_damaged_array_is_told(tmp_path):
    """The end of the file is missing, or a byte of an array is another one."""
    content = as_npz(tmp_path).read_bytes()
    for damaged in (
        content[:-40],
        content.replace(bytes([0xF0, 0x3F]), b"\xf1\x3f", 1),
    ):
        with pytest.raises(UsageError, match="no npz file of plain arrays"):
            read_checkpoint(broken(tmp_path, "b.npz", damaged))
    content = as_safetensors(tmp_path).read_bytes()
    with pytest.raises(UsageError, match="not a complete one"):
        read_checkpoint(broken(tmp_path, "b.safetensors", content[:-5]))


def mapped(**options: Any) -> tuple[Any, Any]:
    model = shaped(nn.Linear.init, KEY, 4, 3)
    return map_weights(ARRAYS, model, **options), model


def test_another_checkpoint_than_the_mapped_one_is_refused():
    mapping, model = mapped()
    for other, said in (
        ({"fc.weight": np.zeros((3, 4))}, "not in the checkpoint: fc.bias"),
        (ARRAYS | {"x": np.zeros(1)}, "neither used nor listed as unused: x"),
        (
            ARRAYS | {"fc.weight": np.zeros((3, 5))},
            r'kernel: expected float64\[4, 3\], and transpose\("fc.weight", 1, 0\) is float64\[5, 3\]',
        ),
        (ARRAYS | {"fc.bias": np.zeros(3, int)}, "expected float64, got int64"),
        (ARRAYS | {"fc.weight": np.zeros(12)}, "does not fit"),
    ):
        with pytest.raises(FindingsError, match=said):
            load_mapped(mapping, other, model)


def test_another_model_than_the_mapped_one_is_refused():
    mapping, _ = mapped()
    with pytest.raises(FindingsError, match=r"the model has float32\[4, 3\]"):
        load_mapped(mapping, ARRAYS, nn.Linear.init(KEY, 4, 3, dtype=jnp.float32))
    with pytest.raises(FindingsError, match="not in the model: bias"):
        load_mapped(mapping, ARRAYS, shaped(nn.Linear.init, KEY, 4, 3, False))


def test_what_is_not_decided_is_refused():
    model = shaped(nn.Linear.init, KEY, 4, 4, False)
    mapping = map_weights(
        {"a.weight": np.zeros((4, 4)), "b.kernel": np.zeros(2)}, model
    )
    with pytest.raises(FindingsError, match="not decided: kernel"):
        load_mapped(mapping, {"a.weight": np.zeros((4, 4))}, model)


def test_dtypes_are_those_of_the_model():
    model = jax.eval_shape(lambda: nn.Linear.init(KEY, 4, 3, dtype=jnp.float32))
    given = {n: a.astype(ml_dtypes.bfloat16) for n, a in ARRAYS.items()}
    trainables, _, _ = load_mapped(map_weights(given, model), given, model)
    assert trainables.kernel.dtype == jnp.float32
    np.testing.assert_array_equal(trainables.kernel, ARRAYS["fc.weight"].T)


def test_a_mapping_is_read_as_it_was_written(tmp_path):
    strange = "a \"b\" 'c' \\ {} é\n#.weight"
    model = shaped(nn.Linear.init, KEY, 4, 3, False)
    mapping = map_weights({strange: np.zeros((3, 4)), "x": np.zeros(1)}, model)
    (tmp_path / "m.toml").write_text(str(mapping), encoding="utf-8")
    again = read_mapping(tmp_path / "m.toml")
    assert [(w.leaf, w.expression) for w in again.weights] == [
        (w.leaf, w.expression) for w in mapping.weights
    ]
    assert list(names_in(parse(str(again.weights[0].expression)))) == [strange]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version = ", "no TOML"),
        ("version = 7", "expected version = 1, got 7"),
        ("version = 1\n[weight]\n", "there is no table 'weight'"),
        ("version = 1\nunused = 3\n", "unused must be a list of names"),
        ('version = 1\n[weights]\na = "b"\n', r"weights, a: expected \["),
        ('version = 1\n[weights]\na = ["f", "x"]\n', "expected a dtype and a shape"),
        (
            "version = 1\n[weights]\na = ['f[1]', 'transposed(\"b\")']\n",
            'did you mean "transpose"',
        ),
    ],
)
def test_mappings_that_are_none(text, said):
    with pytest.raises(UsageError, match=said):
        parse_mapping(text)


def test_a_mapping_that_is_not_there():
    with pytest.raises(UsageError, match=r"no file gone\.toml.*weights map"):
        read_mapping("gone.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"a" + "b"', "expected the name of an array"),
        ("__import__('os')", "there is no operation '__import__'"),
        ('part("a", 0, 1)', "part takes 3 numbers, got 2"),
        ('flip(0, "a")', "takes arrays, and then numbers"),
        ('transpose("a", 0.5)', "are integers"),
        ('each("a", 0, 2)', "a name with {} in it"),
        ("stack(0)", "takes some arrays, got 0"),
        ('"a', "is no expression"),
        ("(" * 500, "is no expression"),
    ],
)
def test_expressions_that_are_none(text, said):
    with pytest.raises(
        ValueError, match=said.replace("(", r"\(").replace("{}", r"\{\}")
    ):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('part("a", 1, 1, 3)', [[1, 2], [5, 6]]),
        ('pick("a", 0, 1)', [4, 5, 6, 7]),
        ('flip("a", 1)', [[3, 2, 1, 0], [7, 6, 5, 4]]),
        ('concat("a", "a", 0)', [[0, 1, 2, 3], [4, 5, 6, 7]] * 2),
        ('shift(negate(pick("a", 1, 3)), 1.5)', [-1.5, -5.5]),
        ('add(pick("a", 0, 0), pick("a", 0, 1), zeros(4))', [4, 6, 8, 10]),
        ('reshape(stack("a", "a", 0), 2, 8)', [list(range(8))] * 2),
        ('each("n{}", 1, 3)', [1, 2]),
    ],
)
def test_operations(text, expected):
    given = {
        "a": np.arange(8.0).reshape(2, 4), "n1": np.array(1.0), "n2": np.array(2.0),
    }  # fmt: skip
    expression = parse(text)
    assert str(expression) == text
    np.testing.assert_array_equal(compute(expression, given), expected)


def test_paths_are_those_of_the_library():
    import mlax

    tree = {"a/b": [1.0, {"c~": 2.0}], "d": (3.0,)}
    rows = jax.tree_util.tree_leaves_with_path(tree)
    names = [path_name(key_names(path)) for path, _ in rows]
    assert names == list(mlax.flatten(tree))
    assert [path_names(n) for n in names] == [key_names(path) for path, _ in rows]


@pytest.mark.parametrize("number", [5, 2**40])
def test_wider_whole_numbers_are_loaded_where_they_fit(number):
    model = {"steps": jnp.zeros((), jnp.int32)}, None, None
    arrays = {"steps": np.array(number)}
    text = 'version = 1\nsource = "mlax"\n[weights]\n"0/steps" = ["int32[]", \'"steps"\']\n'
    mapping = parse_mapping(text)
    if number > 2**31:
        with pytest.raises(FindingsError, match="int64, whose numbers do not fit"):
            load_mapped(mapping, arrays, model)
    else:
        loaded, _, _ = load_mapped(mapping, arrays, model)
        assert loaded["steps"].dtype == jnp.int32
        assert loaded["steps"] == number
