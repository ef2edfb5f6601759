"""Which sub-layers and weights are used more than once: they are cast to the compute dtype before that.

A sub-layer is used where it is called, and where a weight of it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from mlax_scaffold.model.definition import MethodRole, Role
from mlax_scaffold.model.needs import parts_without_dtype
from mlax_scaffold.model.places import Member, Step, meets
from mlax_scaffold.rewrite.chains import Chain, called_given, called_member, read_weight
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import local_names, self_attribute
from mlax_scaffold.rewrite.traversal import children, parts

_Loop = cst.For | cst.CompFor
_SOME = (Step(""),)
"""The place of some element of a list."""


@dataclass(frozen=True)
class _Place:
    """A sub-layer, a weight, a method, or a place of a container."""

    name: str
    steps: tuple[Step, ...] = ()
    given: bool = False
    """Whether what its method is given says which place it is."""


def cast_once(context: Context, found: Sequence[str]) -> list[str]:
    """What casts the weights that are found so: see `used_again`."""
    dtype = dtype_of(context)
    own = _weights_of(context, context.method.name)
    # What the function reads itself is cast at its top.
    casts = ", ".join(
        f"{n}=self.{n}" if n in own else f"{n}=arrays.cast(trainables.{n}, {dtype})"
        for n in found
    )
    return [f"trainables = trainables._replace({casts})"] if found else []


def used_again(context: Context) -> list[str]:
    """The sub-layers that are used more than once, or that no input gives a dtype, by name.

    With weights that several entry points read. Gradients of these and of the first would be added in the
    dtype of the weights, if they were not cast before.
    """
    if dtype_of(context) is None:
        return []
    without = parts_without_dtype(context.traits) & context.method.reads
    several = set() if context.is_own else _several(context)
    given = [h.name for h in context.definition.structural()]
    return [n for n in (*context.declarations, *given) if n in several | without]


def casts_all(context: Context) -> bool:
    """Whether a method casts all weights first: a loop would add up gradients in the dtype of the weights."""
    needs = context.needs.get(context.method.name)
    return needs is not None and needs.casts and dtype_of(context) is not None


def dtype_of(context: Context) -> str | None:
    """Expression of the compute dtype; of a tree, that of its first floating leaf."""
    first = context.method.positional[:1]
    layers = context.dynamic or context.given
    of_tree = first and layers and not context.is_own
    if of_tree and context.compute_dtype is None:
        return f"arrays.floating_dtype({first[0].variable})"
    return context.compute_dtype


def _weights_of(context: Context, name: str) -> frozenset[str]:
    """The weights that a method reads, or hands to methods that are given them."""
    method = context.definition.method(name)
    reads = set() if method is None else set(method.reads)
    handed = (context.needs[n].weights for n in reads & set(context.needs))
    return context.declared(Role.TRAINABLE) & reads.union(*handed)


def _several(context: Context) -> set[str]:
    """The sub-layers and weights that are cast more than once, by an entry point and what it calls."""
    counts = _casts(context, context.method.name, ())
    return {p.name for p in counts if _together(counts, p) > 1}


def _casts(context: Context, name: str, above: tuple[str, ...]) -> Counter[_Place]:
    """How often a method casts the weights at each place, itself and by others that it calls.

    An entry point does so once, of its own weights, too; a method of one's own is given these.
    """
    found: Counter[_Place] = Counter()
    method, function = context.definition.method(name), context.texts.get(name)
    if method is None or function is None or name in above:
        return found
    containers = {*context.containers, *context.several}
    declared = (context.sub_layers | containers) & set(context.traits)
    names = {n for n in declared if context.traits[n].trainable}
    names |= context.dynamic | context.given
    parameters = local_names(function.params)
    counts = _Calls(context, names | set(context.needs), parameters).of(function.body)
    passes = _Calls(context, set(context.needs), parameters, given=True)
    turns = passes.of(function.body)
    for place, number in counts.items():
        if place.name not in context.needs:
            found[place] += number
            continue
        inner = _casts(context, place.name, (*above, name))
        for other, times in inner.items():
            # What a method is given is another layer each time, as far as the text tells.
            often = _turns(turns, place.name) if other.given else number
            found[replace(other, given=False)] += times * often
    if method.role is MethodRole.OWN:
        if context.needs[name].casts:
            # All that it hands on as trees it casts first.
            for place in map(_Place, method.reads & names - context.needs.keys()):
                found[place] = max(found[place], 1)
        return found
    found.update(map(_Place, _weights_of(context, name)))
    return Counter(dict.fromkeys(found, 1)) if above else found


def _turns(counts: Counter[_Place], name: str) -> int:
    """How often a method may be given one layer: that of one literal place, and any of the others."""
    found = {
        place.steps: number for place, number in counts.items() if place.name == name
    }
    return found.pop(_SOME, 0) + max(found.values(), default=0)


def _together(counts: Counter[_Place], place: _Place) -> int:
    """How often what may be at a place is called."""
    return sum(
        count
        for other, count in counts.items()
        if other.name == place.name and meets(Member(other.steps, None), place.steps)
    )


def _returns(body: cst.BaseSuite) -> bool:
    """Whether a branch ends the function."""
    match body.body[-1:]:
        case [cst.SimpleStatementLine(body=[cst.Return()])]:
            return True
    return False


@dataclass
class _Calls:
    """Counts the uses of some names, and of places of containers among them."""

    context: Context
    names: Collection[str]
    parameters: Collection[str] = ()
    """Those of the method."""
    given: bool = False
    """Whether calls of methods that are given literal places are told apart.

    And passes of a loop whose variable a method is given count once.
    """
    variables: dict[str, str] = field(default_factory=dict)
    """Those of loops over lists of layers of one kind, with their lists."""

    def of(self, node: cst.CSTNode) -> Counter[_Place]:
        """How often each is called, on the way through the branches that does so most often.

        What a loop calls, it calls twice.
        """
        found: Counter[_Place] = Counter()
        branches: list[Counter[_Place]] = []
        loops = [*_loops(node)]
        for loop, _ in loops:
            self.variables |= self._bound(loop)
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
                found += counts
        for counts in branches[1:]:
            branches[0] |= counts
        found += self._used(node)
        found = found + branches[0] if branches else found
        for loop, body in loops:
            again = sum((self.of(part) for part in body), Counter[_Place]())
            for place in self._of_passes(loop, body):
                del again[place]
            found += again
        return found

    def _used(self, node: cst.CSTNode) -> Counter[_Place]:
        """What a node itself calls, or reads a weight of."""
        if isinstance(node, cst.Call):
            return self._called(node)
        owner = None if self.given else read_weight(node, self.context)
        if owner is None or owner.name not in self.names:
            return Counter()
        return Counter([self._place(owner)])

    def _called(self, node: cst.Call) -> Counter[_Place]:
        member = called_member(node, self.context) or called_given(node, self.context)
        match node.func:
            case cst.Name(value=variable) if variable in self.variables:
                return Counter([_Place(self.variables[variable], _SOME)])
        if member is None:
            name = self_attribute(node.func) or ""
            steps = _literals(node) if self.given else ()
            return Counter([_Place(name, steps)] if name in self.names else [])
        if member.name not in self.names:
            return Counter()
        return Counter([self._place(member)])

    def _place(self, member: Chain) -> _Place:
        given = any(local_names(i) & {*self.parameters} for i in member.indices)
        return _Place(member.name, member.steps, given)

    def _bound(self, loop: _Loop | None) -> dict[str, str]:
        """The variables of a loop over lists of layers of one kind, with their lists."""
        if loop is None:
            return {}
        fields = (self_attribute(part) or "" for part in parts(loop.iter))
        known = self.context.several | self.context.given
        lists = [n for n in fields if n in known]
        names = [n.value for n in parts(loop.target) if isinstance(n, cst.Name)]
        if len(lists) == 1:
            lists *= len(names)
        pairs = zip(names[-len(lists) :] if lists else [], lists, strict=False)
        return {name: field for name, field in pairs if field in self.names}

    def _of_passes(
        self, loop: _Loop | None, body: Sequence[cst.CSTNode]
    ) -> set[_Place]:
        """The places of containers that are others in each pass of a loop."""
        if loop is None:
            return set()
        variables = local_names(loop.target)
        found = {_Place(name, _SOME) for name in self._bound(loop).values()}
        for node in (n for part in body for n in parts(part)):
            member = read_weight(node, self.context)
            if isinstance(node, cst.Call):
                member = called_member(node, self.context)
                member = member or called_given(node, self.context)
            if member and any(_differs(i, variables) for i in member.indices):
                found.add(self._place(member))
            if not isinstance(node, cst.Call):
                continue
            given = any(_differs(a.value, variables) for a in node.args)
            if self.given and given:
                found.add(_Place(self_attribute(node.func) or "", _literals(node)))
        return found


def _literals(call: cst.Call) -> tuple[Step, ...]:
    """The literal arguments of a method, which tell places apart."""
    values = [a.value for a in call.args]
    plain = [v for v in values if isinstance(v, cst.Integer | cst.SimpleString)]
    return tuple(Step("", v.value) for v in plain) or _SOME


def _differs(node: cst.BaseExpression, variables: Collection[str]) -> bool:
    """Whether an expression is another in each pass of a loop: `layers[i + 1]`, not `layers[min(i, 1)]`."""
    same = (
        part
        for part in parts(node)
        if isinstance(part, cst.Call)
        or (isinstance(part, cst.BinaryOperation) and isinstance(part.operator, _MANY))
    )
    again = any(local_names(part) & {*variables} for part in same)
    return bool(local_names(node) & {*variables}) and not again


_MANY = cst.Modulo | cst.FloorDivide
"""Operations of which several numbers have one result."""


def _loops(
    node: cst.CSTNode,
) -> Iterator[tuple[_Loop | None, Sequence[cst.CSTNode]]]:
    """The loops that a node is, each with what its passes evaluate; None: one without a variable."""
    match node:
        case cst.For(body=body):
            yield node, [body]
        case cst.While(body=body):
            yield None, [body]
        case cst.DictComp(key=key, value=value, for_in=loop):
            yield from _comprehension(loop, [key, value])
        case cst.ListComp(elt=made, for_in=loop) | cst.SetComp(elt=made, for_in=loop):
            yield from _comprehension(loop, [made])
        case cst.GeneratorExp(elt=made, for_in=loop):
            yield from _comprehension(loop, [made])


def _comprehension(
    loop: cst.CompFor, made: list[cst.CSTNode]
) -> Iterator[tuple[_Loop, Sequence[cst.CSTNode]]]:
    inner = loop.inner_for_in
    body = [*made, *loop.ifs, *([] if inner is None else [inner])]
    yield loop, body
    if inner is not None:
        yield from _comprehension(inner, made)
