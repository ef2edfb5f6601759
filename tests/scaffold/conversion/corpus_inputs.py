"""The corpus: code as people of each library write it, and the specs that it becomes."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from mlax_scaffold.conversion import Converted, convert
from mlax_scaffold.project.converting import Conversion, Source
from mlax_scaffold.project.parity import parity_test
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader.files import SpecFile

PACKAGE = "converted"
CORPUS = Path(__file__).parent / "corpus"
_HELPERS = {
    "linen": ("reparameterize",),
    "haiku_": ("layer_norm",),
    "plain": ("random_layer_params", "dense"),
    "pytorch": ("layer_init", "conv3x3", "conv1x1", "GPTConfig"),
    "nnx_": ("LlamaConfig", "llama_rotate_half", "llama_rope"),
}
_PAIRS = {
    "apply_linear": "linear",
    "attention_apply": "attention",
    "apply_gated_unit": "gated_unit",
    "apply_mdn": "mdn",
}
_MAIN = {
    "pytorch/adversarial.py": ("Discriminator",),
    "pytorch/annotated.py": ("Encoder",),
    "pytorch/bert.py": ("BertLayer",),
    "pytorch/convolved.py": ("GCN",),
    "pytorch/densenet.py": ("DenseNet",),
    "pytorch/derived.py": ("CosineNet",),
    "pytorch/dit.py": ("DiT",),
    "pytorch/efficient.py": ("MBConvBlock",),
    "pytorch/flows.py": ("NormalizingFlow",),
    "pytorch/graphs.py": ("GraphAttentionLayer", "GAT"),
    "pytorch/mobilenet.py": ("MobileNetV2",),
    "pytorch/radiance.py": ("NeRF",),
    "pytorch/seresnet.py": ("SEResNet",),
    "pytorch/sets.py": ("MAB", "SetTransformer"),
    "pytorch/tokens.py": ("VisionTransformer",),
    "linen/configured.py": ("ConfiguredDecoder",),
    "linen/decorated.py": ("ScannedClassifier",),
    "linen/policies.py": ("NormalTanhPolicy",),
    "linen/scanned.py": ("SentimentClassifier",),
    "linen/shared.py": ("Refiner", "FrameEncoder"),
    "linen/transformed.py": ("PairScorer",),
    "nnx_/mixtures.py": ("MoEBlock",),
    "equinox_/stacks.py": ("FlowField", "NormedStack", "RadianceField"),
    "equinox_/unet.py": ("UNet",),
    "haiku_/gated.py": ("GatedAttention",),
    "nnx_/variational.py": ("NnxVAE",),
    "haiku_/quantized.py": ("VQEncoder",),
    "plain/residual.py": ("resmlp",),
    "optax_/factored.py": ("lion", "scale_by_factored"),
    "optax_/factories.py": (
        *("create_optimizer", "make_sgd", "decayed_rms", "scale_by_heavy_ball"),
    ),
}
"""What of a file is converted as a whole, with all that it is made of."""
_HALVES = (
    *("init_linear", "attention_init", "init_gated_unit", "init_mdn"),
    "init_network_params",
)


@dataclass(frozen=True)
class Input:
    """One thing of a file of the corpus."""

    framework: str
    path: str
    thing: str
    kind: str

    @property
    def name(self) -> str:
        """The name of the definition."""
        camel = "".join(p[0].upper() + p[1:] for p in self.thing.split("_") if p)
        if self.kind == "FUNCTION":
            return f"from_{self.thing}"
        return self.framework.capitalize() + camel

    @property
    def section(self) -> str:
        return {"LAYER": "nn", "OPTIMIZER": "optim", "FUNCTION": "functional"}[
            self.kind
        ]

    def __str__(self) -> str:
        return f"{self.framework}-{self.thing}"


def _inputs() -> list[Input]:
    found = []
    for file in sorted(CORPUS.rglob("*.py")):
        path = file.relative_to(CORPUS)
        folder = path.parts[0]
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef):
                continue
            if node.name in (*_HALVES, *_HELPERS.get(folder, ())):
                continue
            if node.name not in _MAIN.get(str(path), (node.name,)):
                continue
            optimizes = folder == "optax_"
            if optimizes and isinstance(node, ast.ClassDef):
                continue
            kind = "OPTIMIZER" if optimizes else "LAYER"
            kind = "FUNCTION" if path.stem.startswith("functions") else kind
            thing = _PAIRS.get(node.name, node.name)
            found.append(Input(folder.strip("_"), str(path), thing, kind))
    return found


INPUTS = _inputs()


@cache
def all_converted() -> dict[Input, Converted]:
    """Every spec; classes that several files have beside others get names of their own."""
    taken = {"Attention", "LayerNorm", "MLP", "PatchEmbed", "RMSNorm"}
    found = {}
    for given in INPUTS:
        text = (CORPUS / given.path).read_text()
        made = convert(given.path, text, given.thing, given.name, given.kind, taken)
        taken |= set(re.findall(r"^class (\w+)\(", made.text, re.MULTILINE))
        found[given] = made
    return found


def write_project(root: Path) -> dict[Input, str]:
    """Make a folder a project of all specs that are whole; their paths, as headers say them."""
    text = f'[tool.mlax-scaffold]\npackage = "{PACKAGE}"\n'
    (root / "pyproject.toml").write_text(text)
    found = {}
    for given, made in all_converted().items():
        if made.whole:
            found[given] = f"{given.section}/{given.name.lower()}.py"
            place = root / "specs" / found[given]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(made.text)
    return found


def write_parity(root: Path, specs: dict[Input, str]) -> dict[Input, Path]:
    """Write the tests that compare them with the originals, which are copied beside them."""
    shutil.copytree(CORPUS, root / "corpus")
    workspace = Workspace.find(str(root))
    found = {}
    for given, path in specs.items():
        made = all_converted()[given]
        source = Source(str(root / "corpus" / given.path), given.thing)
        whole = Conversion(source, made.framework, made.text, made.notes, made.trial)
        spec = SpecFile(f"specs/{path}", given.section, made.text)
        for place, text in parity_test(workspace, spec, given.name, whole).items():
            found[given] = root / place
            found[given].parent.mkdir(parents=True, exist_ok=True)
            found[given].write_text(text)
    return found


@cache
def original(path: str) -> ModuleType:
    """A file of the corpus, imported."""
    name = "corpus_" + path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, CORPUS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
