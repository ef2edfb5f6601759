"""Kinds of edits that people make in generated code, each in a module of the library."""

from __future__ import annotations

import pytest
from cli_projects import PYPROJECT, ProjectFolder

from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.project.absorbing import absorb, module_of
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader.files import LIBRARY_SPECS

BATCH_NORM, SPECTRAL_NORM = "nn/batch_norm.py", "nn/spectral_norm.py"
LSTM, ADAM_W, SGD = "nn/lstm_cell.py", "optim/adam_w.py", "optim/sgd.py"
SIGN_SGD, RMS_NORM, RE_GLU = "optim/sign_sgd.py", "nn/rms_norm.py", "nn/re_glu.py"
ENCODER, EMA = "block/transformer_encoder_layer.py", "functional/ema.py"

TAKEN = {
    "one line by two": (
        BATCH_NORM,
        "    y = (deviation * spread(factor, x.shape)).astype(x.dtype)\n",
        "    factor = spread(factor, x.shape)\n"
        "    y = (deviation * factor).astype(x.dtype)\n",
        "        factor = spread(factor, x.shape)\n"
        "        y = (deviation * factor).astype(x.dtype)\n",
    ),
    "one by two before a branch made of a choice": (
        LSTM,
        "    gates = gates + h.dot(recurrent_kernel, precision=hyperparams.precision)\n",
        "    more = h.dot(recurrent_kernel, precision=hyperparams.precision)\n"
        "    gates = gates + more\n",
        "        more = h.dot(self.recurrent_kernel, precision=self.precision)\n"
        "        gates = gates + more\n"
        "        gates = gates if self.bias is None",
    ),
    "two by one before a branch made of a choice": (
        LSTM,
        "    gates = inputs.dot(kernel, precision=hyperparams.precision)\n"
        "    gates = gates + h.dot(recurrent_kernel, precision=hyperparams.precision)\n",
        "    gates = inputs.dot(kernel) + h.dot(recurrent_kernel)\n",
        "        gates = inputs.dot(self.kernel) + h.dot(self.recurrent_kernel)\n"
        "        gates = gates if self.bias is None",
    ),
    "in a branch made of a choice": (
        LSTM,
        "        gates = gates + spread(bias, gates.shape)",
        "        gates = gates + 2.0 * spread(bias, gates.shape)",
        "else gates + 2.0 * spread(self.bias, gates.shape)",
    ),
    "another side of a branch made of a choice": (
        LSTM,
        "        gates = gates + spread(bias, gates.shape)\n",
        "        gates = gates + spread(bias, gates.shape)\n    else:\n        gates = -gates\n",
        "        else:\n            gates = -gates\n",
    ),
    "a line more in a branch": (
        BATCH_NORM,
        "        # The average of an infinite",
        "        var = jnp.abs(var)\n        # The average of an infinite",
        "            var = jnp.abs(var)\n            # The average",
    ),
    "a line less, and its comment": (
        BATCH_NORM,
        "        # The average of an infinite variance would never be finite again.\n"
        "        var = jnp.minimum(var, jnp.finfo(var.dtype).max)\n",
        "",
        "astype(var.dtype))\n            if mask is not None:",
    ),
    "a condition": (
        BATCH_NORM,
        "if not inference_mode and x.size > 0:",
        "if x.size > 1 and not inference_mode:",
        "if x.size > 1 and self.training:",
    ),
    "the next state": (
        BATCH_NORM,
        "ema(non_trainables.mean, mean, decay=hyperparams.momentum)",
        "ema(non_trainables.mean, mean, decay=1.0 - hyperparams.momentum)",
        "self.mean = ema(self.stored.mean, mean, decay=1.0 - self.momentum)",
    ),
    "one by two in a loop": (
        SPECTRAL_NORM,
        "            u = fixed.T.dot(fixed.dot(u))\n",
        "            v = fixed.dot(u)\n            u = fixed.T.dot(v)\n",
        "                v = fixed.dot(u)\n                u = fixed.T.dot(v)\n",
    ),
    "a loop": (
        SPECTRAL_NORM,
        "in range(hyperparams.iterations)",
        "in range(2 * hyperparams.iterations)",
        "in range(2 * self.iterations)",
    ),
    "a shape in init, which documentation follows": (
        BATCH_NORM,
        "zeros, keys[2], (channels,)",
        "zeros, keys[2], (channels, 1)",
        "self.mean = state(zeros, (self.channels, 1), at_least=jnp.float32)",
    ),
    "a default": (
        BATCH_NORM,
        "    momentum: float = 0.9,",
        "    momentum: float = 0.99,",
        "momentum: Probability = 0.99  #: decay of the moving averages",
    ),
    "a method": (
        LSTM,
        "        return jnp.zeros(shape, dtype), jnp.zeros(shape, dtype)",
        "        zero = jnp.zeros(shape, dtype)\n        return zero, zero",
        "        zero = jnp.zeros(shape, dtype)\n        return zero, zero",
    ),
    "two by one in a step": (
        ADAM_W,
        "            ahead = mean * unbias_next\n            unbiased = ema(ahead, ",
        "            unbiased = ema(mean * unbias_next, ",
        "            unbiased = ema(\n                self.mean * self.unbias_next,",
    ),
    "the result of a step that keeps state": (
        SGD,
        "            return -learning_rate * grad, trace\n",
        "            step = learning_rate * grad\n            return -step, trace\n",
        "            step = self.learning_rate * grad\n            return -step\n",
    ),
    "the result of a step that keeps nothing": (
        SIGN_SGD,
        "return (-learning_rate * lax.sign(grad),)",
        "return (-learning_rate / lax.sign(grad),)",
        "        return -self.learning_rate / lax.sign(grad)\n",
    ),
    "a side of a returned choice": (
        RMS_NORM,
        "return y + spread(bias, x.shape), None",
        "return -(y + spread(bias, x.shape)), None",
        "return y if self.bias is None else -(y + spread(self.bias, x.shape))",
    ),
    "the other side of a returned choice, by a name": (
        RMS_NORM,
        "    return y + spread(bias, x.shape), None",
        "    shifted = y + spread(bias, x.shape)\n    return shifted, None",
        "        if self.bias is None:\n"
        "            return y\n"
        "        shifted = y + spread(self.bias, x.shape)\n"
        "        return shifted\n",
    ),
    "the attribute of a class that is based on another": (
        RE_GLU,
        "return jax.nn.relu(gate) * value",
        "return jax.nn.relu6(gate) * value",
        "    activation = jax.nn.relu6\n",
    ),
    "the argument of a layer": (
        ENCODER,
        "y, None, None, hyperparams.dropout, inference_mode, keys[1]",
        "2.0 * y, None, None, hyperparams.dropout, inference_mode, keys[1]",
        "x = x + self.dropout(2.0 * y)",
    ),
    "the result of a layer": (
        ENCODER,
        "        return x + dropout, non_trainables",
        "        x = x + dropout\n        return 0.5 * x, non_trainables",
        "            x = x + self.dropout(y)\n            return 0.5 * x\n",
    ),
    "a function": (
        EMA,
        "    change = (1.0 - decay) * new - (1.0 - decay) * old\n",
        "    rest = 1.0 - decay\n    change = rest * new - rest * old\n",
        "    rest = 1.0 - decay\n    change = rest * new - rest * old\n",
    ),
}


def opened(project: ProjectFolder, spec: str) -> tuple[Workspace, str, str, str]:
    """A project with one spec of the library: its name, and the path and the text of its module."""
    project.write("pyproject.toml", PYPROJECT)
    project.write(f"specs/{spec}", (LIBRARY_SPECS / spec).read_text())
    workspace = Workspace.find(str(project.root))
    [found] = [d for d in workspace.read() if d.source == f"specs/{spec}"]
    return workspace, str(found.reference), *module_of(workspace, found)


def edited(project: ProjectFolder, spec: str, *pairs: tuple[str, str]) -> str:
    """What the spec becomes by an edit of its module."""
    workspace, name, module, code = opened(project, spec)
    for before, after in pairs:
        assert code.count(before) == 1, code
        code = code.replace(before, after)
    project.write(module, code)
    found = absorb(workspace, name).workspace.edited[f"specs/{spec}"]
    assert found is not None
    return found


@pytest.mark.parametrize("case", TAKEN)
def test_an_edit_of_a_kind_goes_back(project: ProjectFolder, case: str):
    spec, before, after, said = TAKEN[case]
    found = edited(project, spec, (before, after))
    assert said in found
    assert said not in (LIBRARY_SPECS / spec).read_text()


def test_edits_of_what_two_methods_say_go_back(project: ProjectFolder):
    found = edited(
        project,
        ADAM_W,
        ("bias_correction(step + 1.0,", "bias_correction(step + 2.0,"),
        ("unbiased = mean * unbias_mean\n", "unbiased = 0.5 * mean * unbias_mean\n"),
    )
    assert "bias_correction(self.step + 2.0," in found
    assert "unbiased = 0.5 * self.mean * self.unbias_mean\n" in found


REFUSED = {
    "the documentation of a field": (
        '    """Added to the variance."""',
        '    """Added to each variance."""',
        "Documentation follows from",
    ),
    "the documentation of a function": (
        '    """Normalizes each channel over',
        '    """Normalizes every channel over',
        "Documentation follows from",
    ),
    "a signature": (
        "-> tuple[jax.Array, BatchNormNonTrainables]:",
        "-> tuple[jax.Array, object]:",
        "Signatures follow from the spec",
    ),
    "a class of fields": (
        "class BatchNormNonTrainables(NamedTuple):",
        "class BatchNormNonTrainables(tuple):",
        "Classes of fields follow from the spec",
    ),
    "a check": (
        '    momentum = checks.probability("BatchNorm", momentum=momentum)\n',
        "",
        "it is what the generator adds",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_the_edited_part_follows_from(
    project: ProjectFolder, case: str
):
    before, after, said = REFUSED[case]
    with pytest.raises(FindingsError, match=said):
        edited(project, BATCH_NORM, (before, after))


def test_the_edit_of_a_body_that_is_inherited_is_told_its_place(project: ProjectFolder):
    with pytest.raises(FindingsError) as caught:
        edited(project, RE_GLU, ("relu(gate) * value", "relu(gate) + value"))
    said = str(caught.value)
    assert "ReGLU is based on GLU, and has this from it. Edit GLU" in said
    assert "\n    +    return jax.nn.relu(gate) + value, None\n" in said
    assert said.count("\n") < 12


def test_what_stands_before_a_method_is_not_the_place_of_a_line(project: ProjectFolder):
    line = (
        "    learning_rate = trees.scheduled(hyperparams.learning_rate, state.step)\n"
    )
    with pytest.raises(FindingsError, match="it is what the generator adds"):
        edited(project, SIGN_SGD, (line, f"{line}    learning_rate *= 2.0\n"))


def test_an_edit_of_what_calls_the_module_is_told_its_place(project: ProjectFolder):
    project.write("pyproject.toml", PYPROJECT)
    project.write(f"specs/{LSTM}", (LIBRARY_SPECS / LSTM).read_text())
    project.ok("generate", "--no-trial")
    surface = "mynet/graph/nn/lstm_cell.py"
    text = project.text(surface)
    project.write(surface, text.replace("is_training, reset", "True, reset"))
    assert project.text(surface) != text
    with pytest.raises(UsageError) as caught:
        absorb(Workspace.find(str(project.root)), "LSTMCell")
    assert f"{surface} differs from its spec" in str(caught.value)
    assert "calls mynet/nn/lstm_cell.py. Edit that" in str(caught.value)
