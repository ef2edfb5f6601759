"""Which sub-layers and weights are used more than once: they are cast to the compute dtype before that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import libcst as cst

from mlax_scaffold.model.definition import MethodRole, Role
from mlax_scaffold.model.needs import parts_without_dtype
from mlax_scaffold.model.places import Member, Step, meets
from mlax_scaffold.rewrite.chains import called_member
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import local_names, self_attribute
from mlax_scaffold.rewrite.traversal import Visitor, children

_Place = tuple[str, tuple[Step, ...]]
"""A sub-layer, or a place of a container."""


def cast_once(function: cst.FunctionDef, context: Context) -> list[str]:
    """What casts the weights of sub-layers that are called more than once, or that no input gives a dtype.

    It casts weights, too, that several entry points read. Gradients of these and of the first would else be
    added in the dtype of the weights.
    """
    dtype = dtype_of(context)
    if dtype is None:
        return []
    without = parts_without_dtype(context.traits) & context.method.reads
    several = set() if context.is_own else _several(function, context)
    given = [h.name for h in context.definition.structural()]
    found = [n for n in (*context.declarations, *given) if n in several | without]
    own = _weights_of(context, context.method.name)
    # What the function reads itself is cast at its top.
    casts = ", ".join(
        f"{n}=self.{n}" if n in own else f"{n}=arrays.cast(trainables.{n}, {dtype})"
        for n in found
    )
    return [f"trainables = trainables._replace({casts})"] if found else []


def dtype_of(context: Context) -> str | None:
    """Expression of the compute dtype; of a tree, that of its first floating leaf."""
    first = context.method.positional[:1]
    of_tree = first and context.dynamic and not context.is_own
    if of_tree and context.compute_dtype is None:
        return f"arrays.floating_dtype({first[0].variable})"
    return context.compute_dtype


def _handed(context: Context, name: str, above: tuple[str, ...]) -> Counter[_Place]:
    """How often a method casts the weights of each sub-layer, itself and by others that it calls.

    An entry point does so once, of its own weights, too; a method of one's own is given these.
    """
    found: Counter[_Place] = Counter()
    method = context.definition.method(name)
    if method is None or name not in context.needs or name in above:
        return found
    found.update(method.places)
    for consumer in method.consumers:
        found[consumer, ()] += 1
        found += _handed(context, consumer, (*above, name))
    if method.role is MethodRole.OWN:
        return found
    found.update((weight, ()) for weight in _weights_of(context, name))
    return Counter(dict.fromkeys(found, 1))


def _weights_of(context: Context, name: str) -> frozenset[str]:
    """The weights that a method reads, or hands to methods that are given them."""
    method = context.definition.method(name)
    reads = set() if method is None else set(method.reads)
    handed = (context.needs[n].weights for n in reads & set(context.needs))
    return context.declared(Role.TRAINABLE) & reads.union(*handed)


def _several(function: cst.FunctionDef, context: Context) -> set[str]:
    """The sub-layers and weights that are cast more than once, by an entry point and what it calls."""
    containers = {*context.containers, *context.several}
    declared = (context.sub_layers | containers) & set(context.traits)
    names = {n for n in declared if context.traits[n].trainable} | context.dynamic
    counts = _Calls(context, names | set(context.needs)).of(function.body)
    passes = _Calls(context, set(context.needs), given=True).of(function.body)
    names |= context.declared(Role.TRAINABLE)
    counts.update((n, ()) for n in _weights_of(context, context.method.name))
    for method in context.needs:
        for place, number in _handed(context, method, (context.method.name,)).items():
            name, steps = place
            if name not in names:
                continue
            # What a method is given is another layer each time, as far as the text tells.
            given = name in containers and all(step.key is None for step in steps)
            counts[place] += number * (passes if given else counts)[method, ()]
    return {name for name, steps in counts if _together(counts, name, steps) > 1}


def _together(counts: Counter[_Place], name: str, steps: tuple[Step, ...]) -> int:
    """How often what may be at a place is called."""
    return sum(
        count
        for (other, others), count in counts.items()
        if other == name and meets(Member(others, None), steps)
    )


def _returns(body: cst.BaseSuite) -> bool:
    """Whether a branch ends the function."""
    match body.body[-1:]:
        case [cst.SimpleStatementLine(body=[cst.Return()])]:
            return True
    return False


@dataclass
class _Calls:
    """Counts the calls of some names, and of places of containers among them."""

    context: Context
    names: Collection[str]
    given: bool = False
    """Whether calls beside each other, and passes of a loop whose variable a method gets, count once."""

    def of(self, node: cst.CSTNode) -> Counter[_Place]:
        """How often each is called, on the way through the branches that does so most often.

        What a loop calls, it calls twice.
        """
        found: Counter[_Place] = Counter()
        branches: list[Counter[_Place]] = []
        if isinstance(node, cst.IndentedBlock):
            for number, child in enumerate(node.body):
                if isinstance(child, cst.If) and _returns(child.body):
                    # What follows is the other branch.
                    below = node.with_changes(body=node.body[number + 1 :])
                    counts = self.of(child) | self.of(below)
                    before = node.with_changes(body=node.body[:number])
                    return counts + self.of(before)
        for child in children(node):
            counts = self.of(child)
            if isinstance(node, cst.If | cst.IfExp) and child is not node.test:
                branches.append(counts)
            else:
                found = found | counts if self.given else found + counts
        for counts in branches[1:]:
            branches[0] |= counts
        if isinstance(node, cst.Call):
            found += self._called(node)
        found = found + branches[0] if branches else found
        if isinstance(node, cst.For | cst.While):
            again = self.of(node.body)
            if isinstance(node, cst.For):
                for place in self._of_passes(node):
                    del again[place]
            found += again
        return found

    def _called(self, node: cst.Call) -> Counter[_Place]:
        member = called_member(node, self.context)
        if member is not None:
            name, steps = member.name, member.steps
        else:
            name, steps = self_attribute(node.func) or "", ()
        return Counter([(name, steps)] if name in self.names else [])

    def _of_passes(self, loop: cst.For) -> set[_Place]:
        """The places of containers that are others in each pass of a loop."""
        variables = local_names(loop.target)
        found: set[_Place] = set()
        context, given = self.context, self.given

        class Calls(Visitor):
            def visit_Call(self, node: cst.Call) -> None:
                member = called_member(node, context)
                if member and any(local_names(i) & variables for i in member.indices):
                    found.add((member.name, member.steps))
                if given and any(local_names(a.value) & variables for a in node.args):
                    found.add((self_attribute(node.func) or "", ()))

        loop.body.visit(Calls())
        return found
