"""The dtype audit: which values of a traced function have a dtype they should not have.

A function keeps the dtype contract when it takes inputs of one dtype, computes in that
dtype only, and returns it. Weights and state may be stored in another dtype; they are
cast when they enter and cast back when they leave; nothing is computed in their dtype.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jax.extend.core import Literal as JaxprLiteral
from jax.typing import DTypeLike

from mlax_scaffold.testing import _flow, _jaxprs

Role: TypeAlias = Literal["operand", "result", "literal", "const", "output"]


@dataclass(frozen=True)
class Finding:
    """A value whose dtype is not allowed, or an output that is weakly typed.

    `primitive` is empty for constants and outputs of the whole function; `path` names
    the calls around it ("jit[softmax] > scan"); `source` is "file:line (function)".
    """

    primitive: str
    role: Role
    dtype: str
    shape: tuple[int, ...]
    path: str
    source: str
    weak: bool = False

    def __str__(self) -> str:
        shape = ",".join(map(str, self.shape))
        dtype = f"{'weak ' if self.weak else ''}{self.dtype}[{shape}]"
        what = f"{self.role} of {self.primitive}" if self.primitive else self.role
        where = f" in {self.path}" if self.path else ""
        return f"{dtype}: {what}{where}{f' at {self.source}' if self.source else ''}"


def audit_jaxpr(
    closed_jaxpr: ClosedJaxpr,
    allowed: Iterable[DTypeLike],
    *,
    scalars: Iterable[DTypeLike] = (),
    shapes: Iterable[tuple[int, ...]] = ((),),
    stored: Iterable[DTypeLike] = (),
    kept: Sequence[bool] = (),
    passed: Iterable[DTypeLike] = (),
    rules: bool = True,
    weak: bool = False,
) -> list[Finding]:
    """Every floating or complex value of a jaxpr whose dtype is not among `allowed`.

    All sub-jaxprs are audited too, and where `rules` is true the rules of custom
    derivatives as well. What is in another dtype and no finding:
    - an input (also of an inner jaxpr), as long as nothing but casts read it;
    - what a cast, or a constant fill, makes, where it becomes an output unchanged;
    - a weakly typed literal (a Python number), and what is computed of such alone
      (`jnp.sqrt(2)`), as long as nothing but casts read it;
    - what is computed of integers and booleans alone, and only for such;
    - values of a shape among `shapes` in a dtype among `scalars`;
    - values in a dtype among `stored` on which no output depends but those that `kept`
      marks: the new state, which may be computed in the dtype that it is stored in;
    - what a cast makes in a dtype among `passed`, where nothing but casts read it: the
      gradient of a state that is set and read again goes through the dtype of that state.
    A weakly typed output is a finding in any dtype, unless outputs may be `weak`.
    """
    audit = _Audit(
        frozenset(jnp.dtype(d) for d in allowed),
        frozenset(jnp.dtype(d) for d in scalars),
        frozenset(shapes),
        frozenset(jnp.dtype(d) for d in stored),
        frozenset(jnp.dtype(d) for d in passed),
        rules,
    )
    if not weak:
        audit.outputs(closed_jaxpr)
    outputs = [True] * len(closed_jaxpr.jaxpr.outvars)
    audit.walk(closed_jaxpr.jaxpr, outputs, (), kept)
    return list(dict.fromkeys(audit.findings))


def audit_function(
    fn: Callable[..., Any],
    *args: Any,
    compute_dtype: DTypeLike,
    allow: Iterable[DTypeLike] = (),
    **kwargs: Any,
) -> list[Finding]:
    """`audit_jaxpr` of `fn(*args, **kwargs)`. Arrays may be `jax.ShapeDtypeStruct`."""
    closed_jaxpr = jax.make_jaxpr(lambda a, k: fn(*a, **k))(args, kwargs)
    return audit_jaxpr(closed_jaxpr, (compute_dtype, *allow))


def assert_dtypes(
    closed_jaxpr: ClosedJaxpr,
    allowed: Iterable[DTypeLike],
    *,
    scalars: Iterable[DTypeLike] = (),
    shapes: Iterable[tuple[int, ...]] = ((),),
    stored: Iterable[DTypeLike] = (),
    kept: Sequence[bool] = (),
    passed: Iterable[DTypeLike] = (),
    weak: bool = False,
    what: str = "function",
) -> None:
    """Raise AssertionError with a table of the findings of `audit_jaxpr`, if any."""
    allowed = tuple(jnp.dtype(d) for d in allowed)
    findings = audit_jaxpr(
        closed_jaxpr,
        allowed,
        scalars=scalars,
        shapes=shapes,
        stored=stored,
        kept=kept,
        passed=passed,
        weak=weak,
    )
    if findings:
        raise AssertionError(report(findings, allowed, what=what))


def report(
    findings: Sequence[Finding], allowed: Iterable[DTypeLike], *, what: str
) -> str:
    """The findings as a table, below a line that says what was expected."""
    names = ", ".join(sorted({jnp.dtype(d).name for d in allowed}))
    head = ("dtype", "what", "in", "at")
    rows = [head, *map(_row, findings)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    values = "value has" if len(findings) == 1 else "values have"
    title = (
        f"{what}: {len(findings)} {values} a dtype that is not allowed. Expected "
        f"{names} only; cast inputs first, or declare the dtype if it is meant."
    )
    return "\n".join([title, *lines])


def _row(finding: Finding) -> tuple[str, str, str, str]:
    weak = "weak " if finding.weak else ""
    what = " ".join(filter(None, (finding.primitive, finding.role)))
    shape = ",".join(map(str, finding.shape))
    source = finding.source
    if source:
        path, _, rest = source.rpartition(":")
        relative = os.path.relpath(path)
        source = f"{path if relative.startswith('..') else relative}:{rest}"
    return f"{weak}{finding.dtype}[{shape}]", what, finding.path or "-", source or "-"


@dataclass
class _Audit:
    allowed: frozenset[Any]
    scalars: frozenset[Any]
    shapes: frozenset[tuple[int, ...]]
    stored: frozenset[Any]
    passed: frozenset[Any]
    rules: bool
    findings: list[Finding] = field(default_factory=list)

    def walk(
        self,
        jaxpr: Jaxpr,
        outputs: Sequence[bool],
        path: tuple[str, ...],
        kept: Sequence[bool] = (),
    ) -> None:
        """Audit the eqns of `jaxpr`; `outputs` says which become those of the whole.

        `kept` says which of its outputs are the new state and nothing else.
        """
        self.constants(jaxpr, path)
        reach, _ = _jaxprs.reaching(jaxpr, outputs)
        reach |= self.cast_back(jaxpr)
        state: set[Var] = set()
        if self.stored and any(kept):
            state = _flow.needed_at_most_by(jaxpr, kept)
        numbers = _numbers(jaxpr)
        counted = _flow.between_integers(jaxpr)
        for eqn in jaxpr.eqns:
            if numbers.issuperset(eqn.outvars) or _makes_nothing(eqn):
                continue
            if _flow.is_between_integers(eqn, counted):
                continue
            of_state = [v in state for v in eqn.outvars]
            audit = self.of_state if any(of_state) and all(of_state) else self
            audit.operands(eqn, path)
            audit.results(eqn, reach, path)
            subs = _jaxprs.sub_jaxprs(eqn)
            inner = (*path, _label(eqn)) if subs else path
            results = [v in reach for v in eqn.outvars]
            for sub in subs:
                sub_kept = _flow.sub_kept(eqn, sub, of_state) if any(of_state) else ()
                sub_outputs = _jaxprs.sub_outputs(sub, results)
                audit.walk(sub.jaxpr, sub_outputs, inner, sub_kept)
            if self.rules and eqn.primitive.name in _jaxprs.CUSTOM_RULES:
                audit.derivative(jaxpr, eqn, path)

    def cast_back(self, jaxpr: Jaxpr) -> set[Var]:
        """The variables in a dtype that values may pass through, which nothing but casts read."""
        if not self.passed:
            return set()
        computed = {v for v in jaxpr.outvars if isinstance(v, Var)}
        for eqn in jaxpr.eqns:
            if eqn.primitive.name != "convert_element_type":
                computed.update(_inputs(eqn))
        made = {v for eqn in jaxpr.eqns for v in eqn.outvars} - computed
        return {v for v in made if getattr(v.aval, "dtype", None) in self.passed}

    @property
    def of_state(self) -> _Audit:
        """The audit of what only the new state depends on."""
        allowed = self.allowed | self.stored
        return replace(self, allowed=allowed, stored=frozenset())

    def derivative(self, jaxpr: Jaxpr, eqn: JaxprEqn, path: tuple[str, ...]) -> None:
        # What is stored in another dtype has derivatives in that dtype.
        rules = _jaxprs.custom_rules(jaxpr, eqn, self.wrong)
        if rules is None:
            return
        # The rules of what the rules call are not audited: a rule may call its own
        # function, and so on for ever.
        nested = replace(self, stored=frozenset(), rules=False, findings=[])
        outputs = [True] * len(rules.jaxpr.outvars)
        nested.walk(rules.jaxpr, outputs, (*path, f"vjp of {_label(eqn)}"))
        self.findings += nested.findings

    def operands(self, eqn: JaxprEqn, path: tuple[str, ...]) -> None:
        name = eqn.primitive.name
        calls = name in _jaxprs.TRANSPARENT or name in _jaxprs.IDENTITIES
        for v in eqn.invars:
            if not self.wrong(v.aval):
                continue
            if isinstance(v, JaxprLiteral):
                fills = name == "broadcast_in_dim"
                weak = getattr(v.aval, "weak_type", False)
                passes = calls or name == "convert_element_type"
                if not (fills or (weak and passes)):
                    self.found(eqn, "literal", v.aval, path)
            elif not calls and name != "convert_element_type":
                self.found(eqn, "operand", v.aval, path)

    def results(self, eqn: JaxprEqn, reach: set[Var], path: tuple[str, ...]) -> None:
        name = eqn.primitive.name
        if name in _jaxprs.TRANSPARENT or name in _jaxprs.IDENTITIES:
            return
        fills = name == "broadcast_in_dim" and isinstance(eqn.invars[0], JaxprLiteral)
        boundary = fills or name == "convert_element_type"
        for v in eqn.outvars:
            if self.wrong(v.aval) and not (boundary and v in reach):
                self.found(eqn, "result", v.aval, path)

    def constants(self, jaxpr: Jaxpr, path: tuple[str, ...]) -> None:
        read = set(_jaxprs.variables(jaxpr))
        for v in jaxpr.constvars:
            if self.wrong(v.aval) and v in read:
                self.add("", "const", v.aval, path, _first_use(jaxpr, v))

    def outputs(self, closed_jaxpr: ClosedJaxpr) -> None:
        for v in closed_jaxpr.jaxpr.outvars:
            if getattr(v.aval, "weak_type", False):
                self.add("", "output", v.aval, (), "", weak=True)

    def wrong(self, aval: Any) -> bool:
        dtype = getattr(aval, "dtype", None)
        if dtype is None or not _jaxprs.is_inexact(dtype) or dtype in self.allowed:
            return False
        return not (dtype in self.scalars and aval.shape in self.shapes)

    def found(
        self, eqn: JaxprEqn, role: Role, aval: Any, path: tuple[str, ...]
    ) -> None:
        self.add(eqn.primitive.name, role, aval, path, _jaxprs.source_line(eqn))

    def add(
        self,
        primitive: str,
        role: Role,
        aval: Any,
        path: tuple[str, ...],
        source: str,
        weak: bool = False,
    ) -> None:
        dtype, shape = jnp.dtype(aval.dtype).name, tuple(aval.shape)
        place = " > ".join(path)
        self.findings.append(
            Finding(primitive, role, dtype, shape, place, source, weak)
        )


def _numbers(jaxpr: Jaxpr) -> set[Var]:
    """The variables that are Python numbers still: weakly typed, computed of literals alone.

    What a loop carries is none: its rounding adds up, in the dtype that it has.
    """
    found: set[Var] = set()
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in ("scan", "while"):
            continue
        known = all(isinstance(v, JaxprLiteral) or v in found for v in eqn.invars)
        weak = [
            getattr(v.aval, "weak_type", False) for v in (*eqn.invars, *eqn.outvars)
        ]
        scalar = all(getattr(v.aval, "shape", None) == () for v in eqn.outvars)
        if known and all(weak) and scalar:
            found.update(eqn.outvars)
    return found


def _makes_nothing(eqn: JaxprEqn) -> bool:
    """Whether all that it makes is empty, as a part that `jnp.roll` takes of an array of one element."""
    shapes = [getattr(v.aval, "shape", ()) for v in eqn.outvars]
    return bool(shapes) and all(0 in shape for shape in shapes)


def _label(eqn: JaxprEqn) -> str:
    name = eqn.params.get("name")
    primitive = eqn.primitive.name
    return f"{primitive}[{name}]" if isinstance(name, str) else primitive


def _first_use(jaxpr: Jaxpr, variable: Var) -> str:
    uses: Iterator[JaxprEqn] = (e for e in jaxpr.eqns if variable in _inputs(e))
    eqn = next(uses, None)
    return _jaxprs.source_line(eqn) if eqn is not None else ""


def _inputs(eqn: JaxprEqn) -> list[Var]:
    return [v for v in eqn.invars if not isinstance(v, JaxprLiteral)]
