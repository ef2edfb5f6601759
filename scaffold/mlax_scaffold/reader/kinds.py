"""What each kind of definition may hold: its methods, and what they declare, use and assign to."""

from __future__ import annotations

from mlax_scaffold.model.definition import Kind, MethodRole, Role
from mlax_scaffold.reader.inputs import ENTRY_SIGNATURE

SPECIAL = {
    Kind.LAYER: {"setup": MethodRole.SETUP, "forward": MethodRole.ENTRY},
    Kind.BLOCK: {"setup": MethodRole.SETUP, "forward": MethodRole.ENTRY},
    Kind.OPTIMIZER: {
        "setup": MethodRole.SETUP,
        "setup_tree": MethodRole.SETUP_TREE,
        "update": MethodRole.UPDATE,
        "prepare": MethodRole.PREPARE,
        "finish": MethodRole.FINISH,
        "step": MethodRole.STEP,
    },
    Kind.SCHEDULE: {"setup": MethodRole.SETUP, "value": MethodRole.VALUE},
}
SIGNATURES = {
    MethodRole.SETUP: {
        Kind.LAYER: ("self",),
        Kind.BLOCK: ("self",),
        Kind.OPTIMIZER: ("self", "param"),
        Kind.SCHEDULE: ("self",),
    },
    MethodRole.SETUP_TREE: {Kind.OPTIMIZER: ("self", "params")},
    MethodRole.UPDATE: {Kind.OPTIMIZER: ("self", "grad", "param")},
    MethodRole.PREPARE: {Kind.OPTIMIZER: ("self", "grads", "params")},
    MethodRole.FINISH: {Kind.OPTIMIZER: ("self", "updates", "params")},
    MethodRole.STEP: {Kind.OPTIMIZER: ("self", "grads", "params")},
    MethodRole.VALUE: {Kind.SCHEDULE: ("self", "step")},
}
OPTIONAL = {MethodRole.VALUE: ("step_number",)}
"""What a method may take beside these."""

REQUIRED = {
    Kind.LAYER: ("forward",),
    Kind.BLOCK: ("forward",),
    Kind.OPTIMIZER: ("update", "step"),
    Kind.SCHEDULE: ("value",),
}
EXAMPLES = {
    Kind.LAYER: f"`{ENTRY_SIGNATURE}`",
    Kind.BLOCK: "`def forward(self, x: PyTree) -> PyTree`",
    Kind.OPTIMIZER: "`def update(self, grad, param)`",
    Kind.SCHEDULE: "`def value(self, step)`",
}
_OF_LAYERS = (Role.TRAINABLE, Role.STATE, Role.SUB_LAYER, Role.DERIVED)
ROLES = {
    Kind.LAYER: {"setup": _OF_LAYERS},
    Kind.BLOCK: {"setup": _OF_LAYERS},
    Kind.OPTIMIZER: {
        "setup": (Role.MOMENT,),
        "setup_tree": (Role.STATE, Role.OPTIMIZER),
    },
    Kind.SCHEDULE: {"setup": ()},
}
"""What the methods that declare may declare."""

DECLARE = {
    Kind.LAYER: "state(zeros, shape)",
    Kind.BLOCK: "state(zeros, shape)",
    Kind.OPTIMIZER: "moment(zeros, param.shape)",
    Kind.SCHEDULE: "",
}
"""How `setup` declares what a method may assign to."""

UNKNOWN = {
    MethodRole.PREPARE: ("optimizer", "optimizers"),
    MethodRole.FINISH: ("optimizer", "optimizers", "dither", "key"),
    MethodRole.STEP: (),
    MethodRole.UPDATE: (
        *("optimizer", "optimizers", "step_number", "value", "value_and_gradients"),
    ),
}
"""What these methods of an optimizer may not use."""

ASSIGNABLE = {
    MethodRole.FINISH: ("state",),
    MethodRole.PREPARE: ("coefficient", "moment", "state"),
    MethodRole.STEP: ("moment", "state"),
    MethodRole.UPDATE: ("moment",),
}
"""What these methods of an optimizer may assign to."""

FREE = (MethodRole.PREPARE, MethodRole.SETUP, MethodRole.SETUP_TREE)
"""Those in which an assignment to an attribute of self makes it."""

THREADING = (MethodRole.PREPARE, MethodRole.FINISH, MethodRole.STEP)
"""Those whose functions may set states; `update` is itself a function of one leaf."""

A = {Kind.OPTIMIZER: "an optimizer", Kind.SCHEDULE: "a schedule"}
STATIC = {
    "container": "static container",
    "derived": "derived",
    "hyperparameter": "hyperparameter",
    "layer": "static layer",
    "layers": "layers",
    "method": "method",
    "sub-layer": "static layer",
}
"""What a method of the hyperparameters may use, and what it is there."""
