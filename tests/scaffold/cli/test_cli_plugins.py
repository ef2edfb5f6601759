"""Plugins: what a project names takes part, what is merely installed does not."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cli_projects import PYPROJECT, ProjectFolder
from tests.plugins.plugin_installing import SAMPLES, install

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.project import plugins
from mlax_scaffold.project.names import check_free
from mlax_scaffold.project.plugin_code import PluginFault, outputs_of, words_of
from mlax_scaffold.project.plugins import PluginError, find_plugins
from mlax_scaffold.spec.loading import load

BOTH = 'plugins = ["evens", "mirror"]\n'
TOWER = '''\
from evens.specs.nn.even_mirror import EvenMirror
from evens.words import Even

from mlax_scaffold.spec import Float, Layer, ones, trainable


class Tower(Layer):
    """A layer of the plugin, and a scale."""

    features: Even  #: size of the last axis
    groups: Even | None = None
    several: tuple[Even, ...] = (2, 4)

    def setup(self):
        self.first = EvenMirror(self.features)
        self.scale = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.first(x) * self.scale
'''
SOFT_SIGN = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, function


@function
def soft_sign(x: Float["*batch"]) -> Float["*batch"]:
    """x / (1 + |x|)."""
    return x / (1 + jnp.abs(x))  # by element
'''
Edit = Callable[[str, str, str, str], Path]


def forget() -> None:
    """Let the samples be imported anew."""
    importlib.invalidate_caches()
    for name in list(sys.modules):
        if name.partition(".")[0] in ("evens", "mirror"):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Each test imports the samples from where it has installed them."""
    yield
    forget()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both samples, copied and installed; the folder of the copies."""
    folder = tmp_path / "samples"
    for name in ("evens", "mirror"):
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SAMPLES / name, folder / name, ignore=skip)
        for place in install(folder / name, tmp_path / "site"):
            monkeypatch.syspath_prepend(place)
    return folder


@pytest.fixture
def changed(installed: Path) -> Edit:
    """Replaces text in a file of a sample."""

    def change(sample: str, path: str, old: str, new: str) -> Path:
        place = installed / sample / sample / path
        text = place.read_text()
        assert old in text
        place.write_text(text.replace(old, new))
        return place

    return change


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated project that names both plugins."""
    root = tmp_path_factory.mktemp("made")
    project = ProjectFolder(root)
    project.write("pyproject.toml", PYPROJECT + BOTH)
    project.write("specs/nn/tower.py", TOWER)
    project.write("specs/functional/soft_sign.py", SOFT_SIGN)
    site = tmp_path_factory.mktemp("site")
    places = [p for n in ("evens", "mirror") for p in install(SAMPLES / n, site)]
    with pytest.MonkeyPatch.context() as patch:
        for place in places:
            patch.syspath_prepend(place)
        patch.chdir(root)
        project.ok("generate")
        ok = project.ok("check")
    forget()
    assert "all clean" in ok
    return root


@pytest.fixture
def project(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ProjectFolder:
    """A copy of it, in which commands are run."""
    root = tmp_path / "project"
    shutil.copytree(made, root)
    monkeypatch.chdir(root)
    return ProjectFolder(root)


def test_specs_words_and_outputs_take_part(project, installed):
    assert project.run("check").exit_code == 0
    tower = project.text("mynet/nn/tower.py")
    assert "from mynet.nn import even_mirror as EvenMirror" in tower
    assert 'features = evens_checks.even("Tower", features=features)' in tower
    assert "checks.optional(evens_checks.even" in tower
    assert "checks.sequence(\n" in tower or "checks.sequence(" in tower
    page = project.text("docs/reference/nn/tower.md")
    assert "an even integer of at least 2" in page
    marks = {d["name"]: d["plugin"] for d in project.json("list")["definitions"]}
    assert marks == {"Tower": "", "EvenMirror": "evens", "soft_sign": ""}
    assert "[of evens]" in project.ok("list")
    assert "Even" not in WORDS  # but while this project is read


def test_the_package_needs_no_plugin(project):
    """Its checks are copied; the sample's pass made NumPy of a function."""
    program = (
        "import mynet, jax, sys\n"
        "try:\n    mynet.nn.Tower.init(jax.random.key(0), 3)\n"
        "except ValueError as error:\n    print(error)\n"
        "from mynet.numpy.soft_sign import soft_sign\n"
        "print(soft_sign(-3.0), 'evens' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "Tower: features must be an even integer of at least 2, got 3\n-0.75 False\n"
    )
    namespace: dict = {}
    exec(project.text("mynet/numpy/soft_sign.py"), namespace)
    given = np.linspace(-2, 2, 5)
    expected = given / (1 + np.abs(given))
    np.testing.assert_array_equal(namespace["soft_sign"](given), expected)


def test_eager_specs_know_the_words(project, installed):
    tower = load(project.root / "specs/nn/tower.py", project.root)
    assert tower(4)._hyperparameters_["features"] == 4
    with pytest.raises(
        ValueError, match="must be an even integer of at least 2, got 5"
    ):
        tower(5)


def test_tests_of_a_plugins_spec_run_and_tell_its_line(project, changed):
    """The spec is found where the plugin is, and its words draw."""
    changed("evens", "specs/nn/even_mirror.py", "x + jnp.flip", "x - jnp.flip")
    chosen = "spec_says or no_hyperparameter"
    file = "tests/generated/nn/test_nn_even_mirror.py"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-k", chosen, file),
            *("-p", "mlax_scaffold.pytest_plugin", "-p", "no:cacheprovider"),
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), "."]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    told = r"evens/specs/nn/even_mirror\.py:\d+: EvenMirror is claimed to compute what the spec"
    assert re.search(told, done.stdout)


def test_what_is_merely_installed_changes_nothing(
    made, tmp_path, installed, monkeypatch
):
    """Not even its entry points are looked for."""
    files = []
    for scan in (True, False):
        if not scan:
            monkeypatch.setattr(plugins, "installed", lambda: pytest.fail("scanned"))
        project = ProjectFolder(tmp_path / f"plain{scan}")
        project.write("pyproject.toml", PYPROJECT)
        project.write("specs/functional/soft_sign.py", SOFT_SIGN)
        monkeypatch.chdir(project.root)
        project.ok("generate", *([] if scan else ["--quiet"]))
        files.append(project.files())
    assert files[0] == files[1]
    assert not any("numpy" in path for path in files[0])
    record = (made / "mlax-scaffold.lock").read_text().split("\n")[1]
    plain = project.text("mlax-scaffold.lock").split("\n")[1]
    assert re.search(r"\+evens:[0-9a-f]{16}\+mirror:[0-9a-f]{16}\"", record)
    assert record.partition("+")[0] == plain.partition('"]')[0]


def test_an_up_to_date_check_imports_nothing_of_a_plugin(project, installed):
    for sample in ("evens", "mirror"):
        assert sample not in sys.modules
    project.ok("check")
    assert not {"evens", "mirror"} & set(sys.modules)


def test_specs_of_plugins_are_never_run(project, changed):
    changed(
        "evens", "specs/nn/even_mirror.py", '"""A layer', 'raise SystemExit\n"""A layer'
    )
    result = project.run("generate")
    assert result.exit_code == 1
    assert "evens/specs/nn/even_mirror.py:1:1" in result.stdout


@pytest.mark.parametrize("command", ["generate", "check", "list"])
def test_a_plugin_that_is_missing_is_named_and_makes_no_orphan(project, command):
    before = project.files()
    result = project.run(command)
    assert result.exit_code == 2
    assert 'the plugin "evens" is not installed here' in result.stderr
    assert 'the plugin "mirror" is not installed here' in result.stderr
    assert result.stdout == ""
    assert project.files() == before


def test_a_plugin_that_is_misspelt(project, installed):
    project.write("pyproject.toml", PYPROJECT + 'plugins = ["even"]\n')
    assert 'did you mean "evens"?' in project.run("check").stderr


def test_one_that_is_no_longer_named_deletes_no_specs_files_unasked(project, installed):
    project.write("pyproject.toml", PYPROJECT + 'plugins = ["mirror"]\n')
    plain = TOWER.replace("from evens.specs.nn.even_mirror import EvenMirror\n", "")
    plain = plain.replace("EvenMirror(self.features)", "None")
    project.write("specs/nn/tower.py", plain)
    result = project.run("generate")
    assert result.exit_code == 1
    assert "name the plugin in `plugins` of [tool.mlax-scaffold]" in result.stdout
    (project.root / "specs/nn/tower.py").unlink()
    before = project.files()
    result = project.run("generate")
    assert "evens/specs/nn/even_mirror.py is gone" in result.stdout + result.stderr
    assert project.files() == before


def test_specs_of_a_plugin_that_is_not_named(project, installed):
    project.write("pyproject.toml", PYPROJECT + 'plugins = ["mirror"]\n')
    shown = project.run("check").stdout
    assert "`Even` is not a word of the vocabulary" in shown
    assert "If evens.words is a plugin's, name the plugin in `plugins`" in shown
    plain = TOWER.replace("from evens.words import Even\n", "")
    plain = plain.replace(": Even", ": int").replace("tuple[Even", "tuple[int")
    project.write("specs/nn/tower.py", plain)
    shown = project.run("check").stdout
    assert "there is no spec of nn.EvenMirror" in shown
    assert "If evens.specs is a plugin's, name the plugin in `plugins`" in shown


def test_a_spec_is_that_of_the_package_it_is_imported_from(project, installed):
    text = TOWER.replace("from evens.specs", "from mlax_scaffold.specs")
    project.write("specs/nn/tower.py", text)
    shown = project.run("check").stdout
    assert "names has a spec of nn.EvenMirror in mlax_scaffold.specs" in shown
    assert "It is in evens/specs/nn/even_mirror.py" in shown


def test_what_a_plugin_changes_makes_files_stale(project, changed):
    changed("evens", "checks.py", "2 or given % 2", "4 or given % 2")
    files = {f["path"]: f for f in project.json("check", status=1)["files"]}
    found = files["mynet/_core/evens_checks.py"]
    assert found["verdict"] == "stale generator"
    assert found["detail"] == "the plugin evens has changed"
    project.ok("generate")
    assert "given < 4" in project.text("mynet/_core/evens_checks.py")
    changed("evens", "specs/nn/even_mirror.py", "Sum of", "The sum of")
    files = {f["path"]: f for f in project.json("check", status=1)["files"]}
    assert files["mynet/nn/even_mirror.py"]["verdict"] == "stale spec"


def test_a_spelling_of_a_plugins_word_is_mended(project, installed):
    text = TOWER.replace("features: Even ", "features: EvenInt ")
    text = text.replace("from evens.words import Even\n", "")
    project.write("specs/nn/tower.py", text)
    assert "generate --fix" in project.run("generate").stdout
    project.ok("generate", "--fix", "--no-trial")
    mended = project.text("specs/nn/tower.py")
    assert "features: Even  #" in mended
    assert "from evens.words import Even" in mended


def test_a_word_is_imported_as_it_is_called(project, installed):
    text = TOWER.replace("import Even\n", "import Evn\n").replace(": Even", ": Evn")
    project.write("specs/nn/tower.py", text)
    shown = project.run("check").stdout
    assert "evens.words has no word `Evn`" in shown
    assert 'did you mean "Even"?' in shown


def test_archetypes_of_plugins(project, installed):
    shown = project.ok("new-layer", "ProbePair", "--archetype", "paired", "--diff")
    assert "+from evens.words import Even" in shown
    assert "+class ProbePair(Layer):" in shown
    assert "paired" in project.ok("new-layer", "ProbeOther", "--dry-run")
    result = project.run("new-layer", "ProbePair", "--archetype", "pared")
    assert result.exit_code == 2
    assert 'there is no archetype "pared"; did you mean "paired"?' in result.stderr
    copied = project.ok("new-layer", "ProbeCopy", "--like", "EvenMirror", "--diff")
    assert "+class ProbeCopy(Layer):" in copied
    specs = find_plugins(["evens"])[0].specs
    with pytest.raises(
        UsageError, match=r"comes with the plugin evens \(even-layers 1"
    ):
        check_free("EvenMirror", Kind.LAYER, specs)


def other(installed: Path, name: str = "other") -> None:
    """A second plugin in the distribution of the first: a copy of it."""
    shutil.copytree(installed / "evens" / "evens", installed / "evens" / name)
    for path in (installed / "evens" / name).rglob("*.py"):
        path.write_text(path.read_text().replace("evens.", f"{name}."))
    [entries] = (installed.parent / "site").glob("even_layers*/entry_points.txt")
    entries.write_text(f"{entries.read_text()}{name} = {name}\n")


def test_conflicts_of_plugins_are_errors(project, installed):
    other(installed)
    both = "the plugin evens (even-layers 1.2) and the plugin other (even-layers 1.2)"
    with pytest.raises(PluginError) as raised:
        find_plugins(["evens", "other"])
    assert str(raised.value).split("\n") == [
        f'{both} both have an archetype "paired"',
        f"{both} both have a spec nn/even_mirror.py",
    ]
    shutil.rmtree(installed / "evens" / "other" / "specs")
    shutil.rmtree(installed / "evens" / "other" / "archetypes")
    with pytest.raises(PluginError) as raised:
        words_of(find_plugins(["evens", "other"]))
    assert str(raised.value).split("\n") == [
        f"{both} both have a word Even",
        f"{both} both say what EvenInt means",
    ]
    project.write("pyproject.toml", PYPROJECT + 'plugins = ["evens", "other"]\n')
    before = project.files()
    result = project.run("generate")
    assert result.exit_code == 2
    assert "both have a word Even" in result.stderr
    assert project.files() == before


def test_conflicts_with_what_comes_with_mlax_scaffold(installed, changed):
    folder = installed / "evens" / "evens"
    (folder / "specs/nn/even_mirror.py").rename(folder / "specs/nn/linear.py")
    with pytest.raises(
        PluginError, match=r"mlax-scaffold and the plugin evens .* nn/lin"
    ):
        find_plugins(["evens"])
    (folder / "specs/nn/linear.py").unlink()
    changed("evens", "words.py", '"EvenInt"', '"Size"')
    with pytest.raises(PluginError, match="both say what Size means"):
        words_of(find_plugins(["evens"]))


def test_two_distributions_with_one_plugin(installed, tmp_path):
    pyproject = installed / "mirror" / "pyproject.toml"
    text = pyproject.read_text().replace('mirror = "mirror"', 'evens = "mirror"')
    pyproject.write_text(text.replace("numpy-mirror", "other-mirror"))
    install(installed / "mirror", tmp_path / "site")
    importlib.invalidate_caches()
    with pytest.raises(
        PluginError, match="even-layers and other-mirror both have a pl"
    ):
        find_plugins(["evens"])


def test_two_outputs_with_one_file(project, changed):
    changed(
        "mirror", "outputs.py", "/numpy/{definition.module}", "/functional/_soft_sign"
    )
    before = project.files()
    result = project.run("generate")
    assert result.exit_code == 3
    assert (
        "_soft_sign.py is made by mlax-scaffold and by the plugin mirror"
        in result.stderr
    )
    assert project.files() == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"evens.checks.even"', '"evens.checks.odd"', "odd, which is not there"),
        ('"evens.checks.even"', '"json.dumps"', "is in json, expected evens.checks"),
        ('"evens.strategies.evens()"', '"even()"', "is even, which is not there"),
        ('invalid=(3, 0, 2.0, "2")', "invalid=()", "Even has no `invalid`"),
        ('"Even",', '"Evn",', "evens.words.Even is the word Evn"),
        ("measured=True", 'attribute="layer"', "is a layer, expected a hyperp"),
    ],
)
def test_a_word_that_is_not_whole(changed, old, new, message):
    changed("evens", "words.py", old, new)
    with pytest.raises(PluginError, match=re.escape(message)):
        words_of(find_plugins(["evens"]))


def test_checks_import_what_packages_may(changed):
    changed("evens", "checks.py", "import numbers", "import numbers\nimport click")
    with pytest.raises(
        PluginError, match=r"checks\.py imports click; .* need jax alone"
    ):
        words_of(find_plugins(["evens"]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[method] =",
            "[method, _] =",
            r"fails: ValueError: .*\(mirror/outputs\.py:\d+\)",
        ),
        (
            "{source.project.output}",
            "other",
            r"makes other/.*, expected a file in mynet,",
        ),
        (
            "header=header(definition.source)",
            'header=""',
            "whose first line does not say",
        ),
        ("Rendered(path, text, definition.source)", "text", "expected a Rendered"),
        (
            "        name=definition.name,\n",
            "",
            r"mirror/templates/function.py.jinja:\d: ",
        ),
    ],
)
def test_faults_of_an_output_are_told_as_its_own(project, changed, old, new, message):
    changed("mirror", "outputs.py", old, new)
    before = project.files()
    result = project.run("generate")
    assert result.exit_code == 3
    assert re.search(message, result.stderr)
    assert "mirror" in result.stderr
    assert project.files() == before


def test_python_of_a_plugin_that_cannot_be_imported(changed):
    changed("evens", "words.py", "from typing", "import not_there\nfrom typing")
    changed("mirror", "outputs.py", 'OUTPUTS = {"numpy": ', "OUTPUTS = {1: ")
    evens, mirror = find_plugins(["evens", "mirror"])
    with pytest.raises(
        PluginFault, match=r"No module named 'not_there' \(evens/words\.py:"
    ):
        words_of([evens])
    with pytest.raises(PluginError, match=r"expected a dictionary of .*Output by name"):
        outputs_of([mirror])


def test_an_entry_point_that_names_no_package():
    dist = SimpleNamespace(name="some-dist", version="1")
    for name, value, message in (
        ("gone", "gone_package", "which is not there: install it again"),
        ("attribute", "json:dumps", "expected the name of a package"),
        ("Upper-Case", "json", "expected lower case letters, digits and _"),
    ):
        entry = SimpleNamespace(name=name, value=value, dist=dist)
        with pytest.raises(PluginError, match=message):
            plugins.read_plugin(entry)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("plugins = 'evens'", "plugins is 'evens', expected a list of names"),
        ("plugins = ['evens', 'evens']", 'plugins names "evens" twice'),
    ],
)
def test_settings(empty, setting, message):
    empty.write("pyproject.toml", f"{PYPROJECT}{setting}\n")
    result = empty.run("check")
    assert result.exit_code == 2
    assert message in result.stderr


def test_doctor_lists_plugins_and_what_is_wrong_with_them(project, changed):
    found = project.run("doctor", "--format", "json")
    listed = {
        p["name"]: p for p in project.json("doctor", status=found.exit_code)["plugins"]
    }
    assert listed["evens"]["distribution"] == "even-layers"
    assert listed["evens"]["version"] == "1.2"
    assert listed["evens"]["used"]
    assert listed["evens"]["offers"] == ["1 spec", "1 archetype", "words"]
    assert listed["mirror"]["offers"] == ["outputs"]
    project.write("pyproject.toml", PYPROJECT + 'plugins = ["evens", "gone"]\n')
    shown = project.run("doctor").stdout
    assert re.search(
        r"mirror  numpy-mirror 0.3, .*\(not named by this project\)", shown
    )
    assert 'Wrong: the plugin "gone" is not installed here' in shown
    project.write("pyproject.toml", PYPROJECT + 'plugins = ["evens"]\n')
    changed("evens", "words.py", "from typing", "import not_there\nfrom typing")
    forget()
    assert "No module named 'not_there'" in project.run("doctor").stdout
