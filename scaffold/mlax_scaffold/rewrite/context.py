"""What the passes know of the spec whose method they rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from mlax_scaffold.model.arrays import COMPUTING
from mlax_scaffold.model.definition import (
    ArrayType,
    Declaration,
    Definition,
    Input,
    Kind,
    Method,
    MethodRole,
    Reference,
    Role,
)
from mlax_scaffold.model.library import Traits
from mlax_scaffold.model.needs import Needs
from mlax_scaffold.model.places import Member
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.reader.marks import Marks


@dataclass(frozen=True)
class Context:
    """One method of one definition, with what is known of its sub-layers."""

    definition: Definition
    method: Method
    traits: Mapping[str, Traits]
    """Traits of each declared sub-layer, by the name of the declaration."""
    kinds: Mapping[Reference, Traits] = field(default_factory=dict)
    """Traits of each layer that a container may hold."""
    members: Mapping[Member, Traits] = field(default_factory=dict)
    """What each layer in a container is."""
    stacked: Mapping[Reference, str] = field(default_factory=dict)
    """The field of each of them that is a layer with stacked weights, where it has one."""
    optimizers: Mapping[str, bool] = field(default_factory=dict)
    """Names of the optimizers that are imported, and whether their `init` takes the weights."""
    needs: Mapping[str, Needs] = field(default_factory=dict)
    """What the entry points and the methods that are functions take, by name."""
    marks: Mapping[str, Marks] = field(default_factory=dict)
    """The functions inside of methods that draw or change states, by the method; none for most."""
    texts: Mapping[str, cst.FunctionDef] = field(default_factory=dict)
    """The methods as they are in the spec, by name."""

    @cached_property
    def declarations(self) -> Mapping[str, Declaration]:
        return {d.name: d for d in self.definition.declarations}

    @property
    def states(self) -> str:
        """The variable that holds the newest states."""
        optimizes = self.definition.kind is Kind.OPTIMIZER
        return "state" if optimizes else "non_trainables"

    @cached_property
    def dynamic(self) -> frozenset[str]:
        """Fields that hold one initialized layer."""
        return self.fields("layer")

    @cached_property
    def several(self) -> frozenset[str]:
        """Names of the lists of sub-layers that are declared."""
        return frozenset(d.name for d in self.definition.declarations if d.several)

    @cached_property
    def containers(self) -> Mapping[str, Declaration]:
        """Lists and dictionaries of layers, and layers of which there are several kinds."""
        layers = self.definition.declared(Role.SUB_LAYER)
        return {d.name: d for d in layers if d.members}

    @cached_property
    def trees(self) -> frozenset[str]:
        """Lists and dictionaries of arrays of one role."""
        named = (d.name for d in self.definition.declarations if d.members)
        return frozenset(named) - set(self.containers)

    @cached_property
    def sequences(self) -> frozenset[str]:
        """Names of several layers or optimizers, initialized or declared."""
        structural = frozenset(h.name for h in self.definition.structural())
        return (structural - self.dynamic - self.sub_optimizers) | self.several

    @cached_property
    def given(self) -> frozenset[str]:
        """Names of several layers that are initialized."""
        optimizes = self.definition.kind is Kind.OPTIMIZER
        return frozenset() if optimizes else self.sequences - self.several

    @cached_property
    def sub_optimizers(self) -> frozenset[str]:
        """Attributes that are one optimizer: fields, and those that are declared."""
        return self.fields("optimizer") | self.declared(Role.OPTIMIZER)

    def fields(self, attribute: str) -> frozenset[str]:
        """The hyperparameters that make attributes of a kind."""
        return frozenset(self.definition.holding(attribute))

    def declared(self, *roles: Role) -> frozenset[str]:
        return frozenset(d.name for d in self.definition.declared(*roles))

    @cached_property
    def sub_layers(self) -> frozenset[str]:
        """Names that `forward` may call as `self.name(...)`."""
        several = self.several | set(self.containers)
        return (self.declared(Role.SUB_LAYER) - several) | self.dynamic

    def renews(self, called: str) -> bool:
        """Whether a call of an attribute may make new states."""
        traits, needs = self.traits.get(called), self.needs.get(called)
        if traits is not None:
            return traits.stateful
        given = called in self.dynamic | self.sequences | self.sub_optimizers
        return given or (needs is not None and needs.changes)

    def draws(self, consumer: str) -> bool:
        """Whether a place that may take a key does."""
        traits = self.traits.get(consumer)
        return traits is None or traits.draws

    def draws_in(self, name: str) -> bool:
        """Whether another method takes a key."""
        method = self.definition.method(name)
        return method is not None and bool(method.consumers)

    @cached_property
    def floating_input(self) -> str | None:
        """Expression of the first floating input; None where there is none."""
        for item in self.method.positional:
            found = _first_floating(item.variable, item.type)
            if found:
                return found
        return None

    @cached_property
    def tree_dtype(self) -> str | None:
        """Expression of the dtype of the first floating leaf of inputs that are trees, or may be None.

        None where another input says the dtype, or where nothing of this layer's own is to be cast to it.
        """
        own = (Role.TRAINABLE, Role.STATE, Role.SUB_LAYER)
        if self.is_own or self.floating_input or not self.definition.declared(*own):
            return None
        trees = [i for i in self.method.positional if i.type.kind == "PyTree"]
        trees += [i for i in self.inputs if i.type.computes and i not in trees]
        names = ", ".join(i.variable for i in trees)
        several = f"({names})" if len(trees) > 1 else names
        return f"arrays.floating_dtype({several})" if trees else None

    @cached_property
    def rebinds_input(self) -> bool:
        """Whether the body assigns to the input that gives the compute dtype."""
        return (self.floating_input or "").partition("[")[0] in self.method.bound

    @property
    def stateful(self) -> bool:
        """Whether there is a state, of this layer or of those in it."""
        parts = any(traits.stateful for traits in self.traits.values())
        given = self.definition.structural()
        return bool(parts or given or self.definition.declared(Role.STATE))

    @property
    def is_own(self) -> bool:
        """Whether the method takes what it uses, and is called by others of its class."""
        return self.method.role is MethodRole.OWN

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the method's parameters."""
        return frozenset(name.removesuffix("=") for name in self.method.parameters)

    @property
    def changes(self) -> bool:
        """Whether it returns new states."""
        return not self.is_own or self.needs[self.method.name].changes

    def given_as(self, name: str) -> str:
        """The parameter of a method of one's own that is a weight or a state, in the compute dtype."""
        if name not in self.method.names | self.parameters:
            return name
        is_state = name in self.declared(Role.STATE)
        return f"{name}_state" if is_state else f"{name}_weight"

    @property
    def compute_dtype(self) -> str | None:
        """Expression of the compute dtype; None: that of the weights."""
        if self.is_own:
            return "dtype" if self.needs[self.method.name].dtype else None
        if self.tree_dtype:
            return "dtype"
        if self.floating_input is None:
            return None
        return "dtype" if self.rebinds_input else f"{self.floating_input}.dtype"

    @cached_property
    def globals(self) -> frozenset[str]:
        """Names that the generated module may use for something else than a local."""
        own = (*self.definition.imports, *self.definition.helpers)
        return RESERVED | {o.name for o in own} | {"jax", "jnp", *self.functions}

    @cached_property
    def functions(self) -> frozenset[str]:
        """Names of the functions of the module that its methods are."""
        return frozenset(self.needs) - {"forward"}

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names that a temporary of the generated function may not have."""
        weights = self.declared(Role.TRAINABLE, Role.STATE)
        inputs = {name for i in self.inputs for name in (i.name, i.variable)}
        return self.globals | self.method.names | weights | inputs

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.method.inputs


def _first_floating(expression: str, array: ArrayType) -> str | None:
    if not array.decides_dtype:
        return None
    if array.kind in COMPUTING:
        return expression
    found = (_first_floating(f"{expression}{at}", part) for _, at, part in array.parts)
    return next(filter(None, found), None)


Pass = Callable[[cst.FunctionDef, Context], cst.FunctionDef]
