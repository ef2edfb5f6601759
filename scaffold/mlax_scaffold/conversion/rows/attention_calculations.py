"""What rows compute of attention and of cells."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.array_calculations import (
    Arg,
    is_given,
    with_keywords,
)
from mlax_scaffold.conversion.rows.rows import MisfitError, missing
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    marked,
    name,
)


class AttentionCalculations:
    """Calls of attention, as the library takes them, and carries of cells."""

    first_input: str
    keyed: bool
    absent: set[str]

    def _attend(
        self,
        f: Arg,
        x: Arg,
        k: Arg,
        v: Arg,
        inputs_k: Arg,
        inputs_v: Arg,
        mask: Arg,
        bias: Arg | None = None,
    ) -> Arg:
        key = k if is_given(k) else inputs_k
        value = v if is_given(v) else inputs_v
        key = key if is_given(key) and ast.unparse(key) != ast.unparse(x) else None
        same = (
            is_given(value)
            and key is not None
            and ast.unparse(value) == ast.unparse(key)
        )
        alone = is_given(value) and ast.unparse(value) == ast.unparse(x)
        value = (
            value
            if is_given(value) and not same and not (alone and key is None)
            else None
        )
        call = expression("f(x)", f=f, x=x)
        return with_keywords(
            call,
            context=key,
            values=value,
            mask=mask if is_given(mask) else None,
            bias=bias,
        )

    def _attended(self, call: Arg, need_weights: Arg) -> Arg:
        """The result and the weights, where these are asked for, or None."""
        if literal(need_weights) is True:
            return with_keywords(call, with_weights=ast.Constant(True))
        return ast.Tuple([call, ast.Constant(None)], ast.Load())

    def _causal(self, mask: Arg, causal: Arg, x: Arg, k: Arg, inputs_k: Arg) -> Arg:
        """A mask, and that of earlier positions where a call says so."""
        if literal(causal) is False:
            return mask
        if literal(causal) is not True:
            raise MisfitError(f"`is_causal={ast.unparse(causal)}`")
        key = k if is_given(k) else inputs_k if is_given(inputs_k) else x
        text = "jnp.tril(jnp.ones((x.shape[-2], k.shape[-2]), bool))"
        earlier = marked(text, x=x, k=key)
        return self._combined([mask, earlier] if is_given(mask) else [earlier])

    def _allowed(self, mask: Arg) -> Arg:
        return self._inverted(mask) if is_given(mask) else name("_")

    def _inverted(self, mask: Arg, allowed: str = "~m") -> Arg:
        """PyTorch's says where not to attend."""
        if self._may_be_none(mask):
            return expression(f"None if m is None else {allowed}", m=mask)
        return expression(allowed, m=mask)

    def _pairwise(self, q: Arg, k: Arg, function: Arg) -> Arg:
        """A mask of pairs; a product is not zero where both are not."""
        parts = {"q": q, "k": k}
        text = "jnp.logical_and((q)[..., None], (k)[..., None, :])"
        if is_given(function) and not ast.unparse(function).endswith("multiply"):
            text, parts = f"f{text[15:]}", {**parts, "f": function}
        return marked(text, **parts)

    def _combined(self, masks: list[Arg]) -> Arg:
        """A mask of all that are there."""
        given = [m for m in masks if not is_none(m)]
        made = given[0] if given else ast.Constant(None)
        for mask in given[1:]:
            both = marked("jnp.logical_and(a, b)", a=made, b=mask)
            if self._may_be_none(mask):
                both = expression("a if b is None else c", a=made, b=mask, c=both)
            if isinstance(made, ast.Name) and self._may_be_none(made):
                both = expression("b if a is None else c", a=made, b=mask, c=both)
            made = both
        return made

    def _may_be_none(self, mask: Arg) -> bool:
        return isinstance(mask, ast.Name) and mask.id in self.absent

    def _encoded(self, f: Arg, x: Arg, mask: Arg, padding: Arg) -> Arg:
        allowed = self._both_allowed(mask, padding)
        given = allowed if is_given(allowed) else None
        return with_keywords(expression("f(x)", f=f, x=x), mask=given)

    def _both_allowed(self, mask: Arg, padding: Arg) -> Arg:
        """What may be attended to by a mask of pairs, and by one of the keys that are no padding."""
        there = "~m[:, None, None, :]"
        if not is_given(padding) or is_none(padding):
            return self._allowed(mask)
        if not is_given(mask) or is_none(mask):
            return self._inverted(padding, there)
        first, second = expression("~m", m=mask), expression(there, m=padding)
        allowed = expression("a & b", a=first, b=second)
        if self._may_be_none(padding):
            parts = {"a": first, "p": padding, "both": allowed}
            allowed = expression("a if p is None else both", **parts)
        if self._may_be_none(mask):
            other = self._inverted(padding, there)
            parts = {"b": other, "m": mask, "both": allowed}
            allowed = expression("b if m is None else both", **parts)
        return allowed

    def _square_mask(self, size: Arg) -> Arg:
        text = f"jnp.triu(jnp.full((n, n), -jnp.inf, {self.first_input}.dtype), 1)"
        return marked(text, n=size)

    def _swapped(self, carry: Arg) -> Arg:
        if isinstance(carry, ast.Tuple) and len(carry.elts) == 2:
            return ast.Tuple(carry.elts[::-1], ast.Load())
        return expression("c[::-1]", c=carry)

    def _scaled_attention(
        self,
        q: Arg,
        k: Arg,
        v: Arg,
        mask: Arg,
        is_causal: Arg,
        scale: Arg,
        dropped: Arg,
    ) -> Arg:
        # Heads stand before positions in PyTorch, and after them here.
        made = [marked("jnp.swapaxes(a, -3, -2)", a=a) for a in (q, k, v)]
        call = marked("word_dot_product_attention(q, k, v)")
        assert isinstance(call, ast.Call)
        call.args = made
        causal = is_causal if literal(is_causal) is not False else None
        call = with_keywords(
            call,
            mask=mask if is_given(mask) else None,
            causal=causal,
            scale=scale if is_given(scale) else None,
            **self._dropping(dropped),
        )
        return marked("jnp.swapaxes(y, -3, -2)", y=call)

    def _attention_of_flax(
        self,
        q: Arg,
        k: Arg,
        v: Arg,
        mask: Arg,
        bias: Arg,
        rate: Arg,
        broadcast: Arg,
    ) -> Arg:
        call = marked("word_dot_product_attention(q, k, v)", q=q, k=k, v=v)
        dropping = self._dropping(rate)
        if dropping:
            dropping["broadcast_dropout"] = broadcast
        return with_keywords(call, mask=mask, bias=bias, **dropping)

    def _as_mask(self, mask: Arg, dtype: Arg) -> Arg:
        """A mask is bool here, whatever it is said to be."""
        del dtype
        return mask

    def _attention_weights(
        self, q: Arg, k: Arg, mask: Arg, bias: Arg, rate: Arg
    ) -> Arg:
        made = marked(
            "jnp.einsum('...qhd,...khd->...hqk', q, k) / math.sqrt(q.shape[-1])",
            q=q,
            k=k,
        )
        if is_given(bias) and not is_none(bias):
            made = expression("a + b", a=made, b=bias)
        call = with_keywords(
            marked("word_softmax(a)", a=made), where=mask if is_given(mask) else None
        )
        dropped = not missing(rate) and literal(rate)
        if not dropped or not isinstance(rate, ast.expr):
            return call
        return expression("D(p)(a)", D=name("@layer:Dropout"), p=rate, a=call)

    def _dropping(self, rate: Arg) -> dict[str, Arg]:
        """The keywords of an attention that drops weights in training."""
        if isinstance(rate, ast.IfExp) and ast.unparse(rate.test) == "self.training":
            rate = rate.body if not literal(rate.orelse) else rate
        if missing(rate) or not literal(rate):
            return {}
        if "self.training" in ast.unparse(rate) or not self.keyed:
            raise MisfitError(f"dropout at a rate of `{ast.unparse(rate)}`")
        key = expression("self.key() if self.training else None")
        return {"dropout_key": key, "dropout_rate": rate}
