"""What a file uses is found and changed by what its names stand for."""

from __future__ import annotations

import pytest

from mlax_scaffold.project.qualified import Module, NotPythonError, rewrite

RENAMED = {
    "net.nn.Scale": "net.nn.Gain",
    "net.nn.scale": "net.nn.gain",
    "net.nn.scale.ScaleState": "net.nn.gain.GainState",
    "net.nn.Scale.ScaleState": "net.nn.Gain.GainState",
    "net.nn.Scale.init": "net.nn.Gain.init",
}
MOVED = {
    "net.nn.Scale": "net.block.Scale",
    "net.nn.Scale.init": "net.block.Scale.init",
    "net.nn.scale": "net.block.scale",
}

RENAMES = {
    "a name": (
        "from net.nn import Scale\nScale.init()",
        "from net.nn import Gain\nGain.init()",
    ),
    "one of several": (
        "from net.nn import (\n    Linear,  # first\n    Scale,\n)\nScale, Linear",
        "from net.nn import (\n    Linear,  # first\n    Gain,\n)\nGain, Linear",
    ),
    "an alias": (
        "from net.nn import Scale as S\nS.init()",
        "from net.nn import Gain as S\nS.init()",
    ),
    "a package": (
        "from net import nn\nnn.Scale.init()",
        "from net import nn\nnn.Gain.init()",
    ),
    "a package under another name": (
        "import net.nn as layers\nlayers.Scale.init()",
        "import net.nn as layers\nlayers.Gain.init()",
    ),
    "the whole name": (
        "import net\nnet.nn.Scale.init()",
        "import net\nnet.nn.Gain.init()",
    ),
    "the module": (
        "import net.nn.scale\nnet.nn.scale.init()",
        "import net.nn.gain\nnet.nn.gain.init()",
    ),
    "from the module": (
        "from net.nn.scale import ScaleState, init as make\nScaleState, make",
        "from net.nn.gain import GainState, init as make\nGainState, make",
    ),
    "its inner names": (
        "from net.nn import Scale\nx: Scale.ScaleState",
        "from net.nn import Gain\nx: Gain.GainState",
    ),
    "in a function": (
        "def f():\n    from net.nn import Scale\n    return Scale",
        "def f():\n    from net.nn import Gain\n    return Gain",
    ),
    "both ways of a fallback": (
        "try:\n    from net.nn import Scale\nexcept ImportError:\n    Scale = None",
        "try:\n    from net.nn import Gain as Scale\nexcept ImportError:\n    Scale = None",
    ),
    "the new name is taken": (
        "from net.nn import Scale\nGain = 1\nScale.init(Gain)",
        "from net.nn import Gain as Scale\nGain = 1\nScale.init(Gain)",
    ),
    "what it exports": (
        'from net.nn import Scale\n__all__ = ["Scale"]',
        'from net.nn import Gain\n__all__ = ["Gain"]',
    ),
    "relative": ("from .nn import Scale\nScale", "from .nn import Gain\nGain"),
    "Windows": (
        "from net.nn import Scale\r\nScale\r\n",
        "from net.nn import Gain\r\nGain\r\n",
    ),
}
MOVES = {
    "a name": (
        "from net.nn import Scale\nScale.init()",
        "from net.block import Scale\nScale.init()",
    ),
    "one of several": (
        "from net.nn import Linear, Scale\nScale, Linear\n",
        "from net.nn import Linear\nfrom net.block import Scale\nScale, Linear\n",
    ),
    "the whole name": (
        "import net\nnet.nn.Scale.init()",
        "import net\nnet.block.Scale.init()",
    ),
    "a package": (
        '"""Doc."""\nfrom net import nn\n\nnn.Scale.init(), nn.Linear\n',
        '"""Doc."""\nfrom net import nn\nfrom net import block\n\nblock.Scale.init(), nn.Linear\n',
    ),
    "a package whose name is taken": (
        "from net import nn\n\nblock = nn.Scale\n",
        "from net import nn\nfrom net import block as block_\n\nblock = block_.Scale\n",
    ),
    "the module": (
        "import net.nn.scale as s\ns.init()",
        "import net.block.scale as s\ns.init()",
    ),
    "relative": ("from .nn import Scale\nScale", "from .block import Scale\nScale"),
}
OTHERS = [
    "from other.nn import Scale\nScale.init()",
    "from net.nn import Linear\nLinear.Scale, f(Scale=1)",
    "def f(Scale):\n    return Scale.init()",
    "class Scale:\n    pass\n\n\nScale()",
    "from net import nn\nnn.Linear(Scale=3).Scale",
    "x = 'net.nn.Scale'  # net.nn.Scale",
    "import net.nn as nn\ndef f(nn):\n    return nn.Scale\n",
]


@pytest.mark.parametrize("case", RENAMES)
def test_what_is_renamed(case: str):
    before, after = RENAMES[case]
    found = rewrite(Module(before.encode(), "net"), RENAMED)
    assert found.data.decode() == after
    assert found.lines


@pytest.mark.parametrize("case", MOVES)
def test_what_is_moved(case: str):
    before, after = MOVES[case]
    assert rewrite(Module(before.encode(), "net"), MOVED).data.decode() == after


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("names", [RENAMED, MOVED], ids=["renamed", "moved"])
def test_what_stands_for_something_else_stays(text: str, names: dict[str, str]):
    found = rewrite(Module(text.encode(), "app"), names)
    assert (found.data.decode(), found.lines) == (text, ())


def test_a_moved_file_imports_the_same_relatively():
    text = "from .scale import Scale\nfrom ..optim import adam\nfrom . import gate\n"
    module = Module(text.encode(), "specs.nn", "specs.block")
    assert rewrite(module, {}).data.decode() == (
        "from ..nn.scale import Scale\nfrom ..optim import adam\nfrom ..nn import gate\n"
    )


def test_a_definition_and_its_uses_are_renamed():
    text = "class Scale:\n    def f(self, other: Scale): return Scale(other.Scale)\n"
    module = Module(text.encode(), "specs.nn", local={"Scale": "Gain"})
    assert rewrite(module, {}).data.decode() == (
        "class Gain:\n    def f(self, other: Gain): return Gain(other.Scale)\n"
    )


def test_what_others_can_import_is_said():
    module = Module(b"from net.nn import Scale\n", "app")
    assert rewrite(module, RENAMED).exported == {"Scale": "Gain"}


@pytest.mark.parametrize("data", [b"print 'two'\n", b"\xff\xfe", b"\0", b"def f(:\n"])
def test_what_is_not_python_is_refused(data: bytes):
    with pytest.raises(NotPythonError):
        rewrite(Module(data, ""), RENAMED)
