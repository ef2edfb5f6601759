"""Optimizers that functions put together: chains of optax, with conditions, schedules and masks."""

from __future__ import annotations

import inspect

import pytest

from mlax_scaffold.conversion import Converted, convert
from mlax_scaffold.conversion.rows.tables.optax import transformations

ZEROS = "jax.tree.map(jnp.zeros_like, params)"
OPTAX = "from typing import Any, NamedTuple\nimport jax\nimport jax.numpy as jnp\nimport optax\n\n\n"


def made(body: str) -> Converted:
    return convert("thing.py", OPTAX + body, "thing", "FromThing", "OPTIMIZER")


def converted(body: str) -> str:
    found = made(body)
    assert found.whole, found.notes
    return found.text


def test_an_optimizer_of_optax_in_a_chain_is_what_it_computes():
    text = converted("""\
def thing(learning_rate, b1=0.9):
    return optax.chain(optax.clip(1.0), optax.adam(learning_rate, b1=b1))
""")
    assert "mu = self.b1 * self.mu + (1 - self.b1) * jnp.clip(grad, -1.0, 1.0)" in text


def test_transformations_of_optax_are_given_what_optax_gives_them():
    optax = pytest.importorskip("optax")
    for title, node in transformations().items():
        parameters = inspect.signature(getattr(optax, title)).parameters.values()
        places = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        given = [a.arg for a in node.args.args]
        assert given[: len(places)] == places[: len(given)], title


def test_the_first_number_of_a_trust_ratio_is_the_least_norm():
    text = converted("""\
def thing(learning_rate):
    return optax.chain(optax.scale_by_trust_ratio(0.01), optax.scale(-learning_rate))
""")
    assert "jnp.maximum(l2_norm(param), jnp.maximum(" in text
    assert "1.0 * weight / (length + 0.0)" in text


def test_a_norm_behind_other_stages_is_that_of_what_they_make():
    text = converted("""\
def thing(rate, decay=0.1):
    return optax.chain(
        optax.trace(0.9),
        optax.add_decayed_weights(decay),
        optax.clip_by_global_norm(1.0),
        optax.scale(-rate),
    )
""")
    made = "lambda grad, own_trace, param: grad + 0.9 * own_trace + self.decay * param"
    assert f"jax.tree.map({made}, grads, self.trace, params)" in text


def test_a_norm_of_what_is_drawn_on_the_way_is_listed():
    what = "`global_norm(updates)` of trees that are made on the way"
    given = """\
def thing(rate):
    return optax.chain(optax.add_noise(0.1, 0.5, 0), optax.clip_by_global_norm(1.0), optax.sgd(rate))
"""
    assert [note.what for note in made(given).notes if note.blocks] == [what]


def test_a_mask_of_shapes_says_which_weights_decay():
    text = converted("""\
def thing(learning_rate, decay=0.1):
    mask = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
    return optax.chain(
        optax.add_decayed_weights(decay, mask=mask), optax.scale_by_learning_rate(learning_rate)
    )
""")
    assert "grad + self.decay * param if param.ndim > 1 else grad" in text


def test_a_mask_that_names_tell_is_listed():
    found = made("""\
def named(params):
    return {k: k != "bias" for k in params}


def thing(learning_rate, decay=0.1):
    return optax.chain(
        optax.add_decayed_weights(decay, mask=named), optax.scale_by_learning_rate(learning_rate)
    )
""")
    [note] = [n for n in found.notes if n.blocks]
    assert note.line == OPTAX.count("\n") + 7
    assert note.what == "the mask `named` is not told by each weight alone"


def test_an_argument_of_a_transformation_that_has_no_counterpart_is_listed():
    found = made("""\
def thing(learning_rate):
    return optax.adagrad(learning_rate, decay=False)
""")
    [note] = [n for n in found.notes if n.blocks]
    assert note.what == "`decay=False` of `optax.adagrad` has no counterpart"


def test_a_schedule_that_is_made_there_is_the_rate_of_each_step():
    text = converted("""\
def thing(rate=0.1, steps=10):
    schedule = optax.exponential_decay(rate, steps, 0.9)
    return optax.sgd(schedule)
""")
    assert "self.rate_2 = self.rate * 0.9 ** ((self.step - 1.0) / self.steps)" in text


def test_a_stage_that_a_traced_number_decides_is_chosen_by_jax():
    text = converted("""\
def thing(learning_rate, weight_decay=0.0):
    parts = []
    if weight_decay > 0:
        parts.append(optax.add_decayed_weights(weight_decay))
    parts += [optax.sgd(learning_rate)]
    return optax.chain(*parts)
""")
    assert "update = jnp.where(self.weight_decay > 0, step, grad)" in text


def test_locals_of_two_transformations_are_apart():
    text = converted("""\
def twice():
    def init(params):
        return optax.EmptyState()

    def update(updates, state, params=None):
        step = jax.tree.map(lambda g: 2 * g, updates)
        return jax.tree.map(lambda s: s + 1, step), state

    return optax.GradientTransformation(init, update)


def thing():
    return optax.chain(twice(), twice())
""")
    assert "step_ = 2 * (step + 1)" in text
    assert "return step_ + 1" in text


def test_numbers_of_a_tuple_are_hyperparameters():
    text = converted("""\
def thing(betas=(0.9, 0.99)):
    b1, b2 = betas

    def init(params):
        return jax.tree.map(jnp.zeros_like, params)

    def update(updates, state, params=None):
        state = jax.tree.map(lambda m, g: b1 * m + b2 * g, state, updates)
        return state, state

    return optax.GradientTransformation(init, update)
""")
    assert "b1: Decay = 0.9\n    b2: Decay = 0.99\n" in text


@pytest.mark.parametrize("module", ["optax", "optax.tree_utils", "optax.tree"])
def test_functions_of_optax_over_trees_are_what_they_do_to_a_leaf(module):
    tree = "tree_" * module.endswith("utils")
    text = converted(f"""\
def thing(rate=0.1, b1=0.9):
    def init(params):
        return {{"mu": jax.tree.map(jnp.zeros_like, params), "count": jnp.zeros([], jnp.int32)}}

    def update(updates, state, params=None):
        mu = {module}.{tree}update_moment(updates, state["mu"], b1, 1)
        count = optax.safe_int32_increment(state["count"])
        step = {module}.{tree}bias_correction(mu, b1, count)
        return {module}.{tree}scale(-rate, step), {{"mu": mu, "count": count}}

    return optax.GradientTransformation(init, update)
""")
    assert "mu = (1 - self.b1) * grad ** 1 + self.b1 * self.mu" in text
    assert "step = mu / (1 - self.b1 ** self.step)" in text
    assert "return -self.rate * step" in text


def test_schedules_one_after_another_count_from_where_each_begins():
    text = converted("""\
def rates(peak, warm):
    return optax.join_schedules(
        [optax.linear_schedule(0.0, peak, warm), optax.constant_schedule(peak)], [warm]
    )


def thing(peak=0.1, warm=5):
    schedule = rates(peak, warm)
    return optax.chain(optax.trace(0.9), optax.scale_by_schedule(lambda c: -schedule(c)))
""")
    assert "self.rate = -jnp.where(self.step - 1.0 < self.warm, " in text
    assert "/ self.warm, 0.0, 1.0), self.peak)" in text


def test_a_transformation_that_is_masked_is_one_of_those_weights():
    text = converted("""\
def thing(rate=0.1, decay=0.1):
    large = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
    return optax.chain(
        optax.masked(optax.add_decayed_weights(decay), large), optax.scale(-rate)
    )
""")
    assert "if param.ndim > 1 else grad" in text


def test_what_is_injected_is_a_hyperparameter():
    text = converted("""\
def thing(rate=0.1):
    return optax.inject_hyperparams(optax.sgd)(learning_rate=rate)
""")
    assert "return -self.rate * grad" in text


def test_keywords_that_are_passed_on_are_left_out():
    found = made("""\
def inner(b=0.5):
    return optax.trace(b)


def thing(rate=0.1, **kwargs):
    return optax.chain(inner(**kwargs), optax.scale(-rate))
""")
    assert found.whole
    assert [n.what for n in found.notes] == ["`**kwargs` of `inner` is left out"]


def test_a_number_that_is_not_that_of_the_step_is_a_state_of_its_own():
    text = converted("""\
def thing(period: int = 3):
    def init(params):
        return {"count": jnp.zeros([], jnp.int32), "first": jnp.ones([], jnp.int32)}

    def update(updates, state, params=None):
        count = jnp.where(state["count"] >= period, 0, state["count"] + 1)
        updates = jax.tree.map(lambda g: g * count / state["first"], updates)
        return updates, {"count": count, "first": state["first"] + 1}

    return optax.GradientTransformation(init, update)
""")
    assert "self.count = state(zeros, (), jnp.int32)" in text
    assert "jnp.where(self.count >= self.period, 0, self.count + 1)" in text
    assert "grad * self.count / self.step" in text


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("optax.tree_utils.tree_l2_norm(updates)", "jnp.sqrt(tree_dot(grads, grads))"),
        (
            "optax.tree_utils.tree_l2_norm(updates, squared=True)",
            "tree_dot(grads, grads)",
        ),
        ("optax.tree.vdot(updates, params)", "tree_dot(grads, params)"),
        (
            "jax.tree.reduce(jnp.minimum, jax.tree.map(jnp.max, updates))",
            "jax.tree.reduce(jnp.minimum, jax.tree.map(jnp.max, grads))",
        ),
    ],
)
def test_numbers_of_all_leaves_are_computed_before_them(text, made):
    found = converted(f"""\
def thing():
    def update(updates, state, params):
        scale = {text}
        return jax.tree.map(lambda g: scale * g, updates), state

    return optax.GradientTransformation(optax.init_empty_state, update)
""")
    assert f"self.scale = {made}" in found
    assert "return self.scale * grad" in found


def test_a_norm_of_what_is_made_on_the_way_is_that_of_the_whole_tree():
    text = converted("""\
def thing(b=0.9):
    def init(params):
        return optax.TraceState(trace=jax.tree.map(jnp.zeros_like, params))

    def update(updates, state, params):
        trace = jax.tree.map(lambda g, t: g + b * t, updates, state.trace)
        norm = optax.global_norm(trace)
        return jax.tree.map(lambda t: t / norm, trace), optax.TraceState(trace)

    return optax.GradientTransformation(init, update)
""")
    assert "jax.tree.map(lambda g, t: g + self.b * t, grads, self.trace)" in text


def test_what_a_state_is_made_of_may_be_bound_anew_behind_it():
    text = converted("""\
def thing(rate=0.1):
    def init(params):
        return optax.TraceState(trace=jax.tree.map(jnp.zeros_like, params))

    def update(updates, state, params=None):
        updates = jax.tree.map(lambda g, t: g + t, updates, state.trace)
        new_state = optax.TraceState(trace=updates)
        updates = jax.tree.map(lambda g: -rate * g, updates)
        return updates, new_state

    return optax.GradientTransformation(init, update)
""")
    assert "self.trace = updates\n" in text
    assert "updates_ = -self.rate * updates" in text


def test_moments_that_read_each_other_change_together():
    text = converted("""\
def thing():
    def init(params):
        z = jax.tree.map(jnp.zeros_like, params)
        return {"a": z, "b": z}

    def update(updates, state, params=None):
        a = jax.tree.map(lambda g, b: g + b, updates, state["b"])
        return a, {"a": a, "b": jax.tree.map(lambda a, g: a - g, state["a"], updates)}

    return optax.GradientTransformation(init, update)
""")
    assert text.index("new_b = self.a - grad") < text.index("self.a = a")


def test_a_flag_begins_as_it_does_there():
    text = converted("""\
def thing():
    def init(params):
        return {"first": jnp.array(True), "scale": jnp.asarray(2.0)}

    def update(updates, state, params=None):
        scale = jnp.where(state["first"], 1.0, state["scale"])
        new = {"first": jnp.array(False), "scale": scale + 1.0}
        return jax.tree.map(lambda g: g * scale, updates), new

    return optax.GradientTransformation(init, update)
""")
    assert "self.first = state(ones, (), jnp.bool_)" in text
    assert "self.scale = state(constant(2.0), ())" in text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "jax.tree.map(lambda updates: updates / optax.global_norm(updates), updates)",
            "`optax.global_norm(updates)` of trees that are made on the way",
        ),
        ("mu", "`mu, nu = (nu, mu)`"),
    ],
)
def test_what_is_not_followed_is_listed(text, what):
    found = made(f"""\
def thing():
    def update(updates, state, params=None):
        mu, nu = updates, params
        mu, nu = nu, mu
        return {text}, state

    return optax.GradientTransformation(optax.init_empty_state, update)
""")
    assert what in [n.what for n in found.notes if n.blocks]


def test_a_rate_whose_sign_stays_is_no_other_one():
    text = converted("""\
def thing(rate=0.1):
    return optax.chain(optax.scale_by_learning_rate(rate, flip_sign=False))
""")
    assert "return self.rate * grad" in text


def test_a_word_takes_the_default():
    text = converted("""\
def thing(beta=1.0, decay=0.9, eps=-0.5):
    return optax.stateless_with_tree_map(lambda g, p: beta * g - decay * p + eps)
""")
    assert "beta: float = 1.0" in text
    assert "decay: Decay = 0.9" in text
    assert "eps: float = -0.5" in text


def test_loops_over_flattened_leaves_are_what_happens_to_each():
    text = converted("""\
class State(NamedTuple):
    step: jax.Array
    m: Any


def thing(rate=0.1, b=0.9, limit=1.0):
    def init(params):
        return State(jnp.zeros([], jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(grads, state, params=None):
        leaves, treedef = jax.tree_util.tree_flatten(grads)
        kept, out = [], []
        for g, m in zip(leaves, treedef.flatten_up_to(state.m)):
            m = b * m + g
            if limit > 0:
                g = g - m
            kept.append(m)
            out.append(-rate * g)
        new = State(state.step + 1, jax.tree_util.tree_unflatten(treedef, kept))
        return treedef.unflatten(out), new

    return optax.GradientTransformation(init, update)
""")
    assert "m = self.b * self.m + leaves" in text
    assert "g = jnp.where(self.limit > 0, leaves - m, leaves)" in text
    assert "return out" in text


def test_lists_over_flattened_leaves_are_read():
    text = converted("""\
def thing(rate=0.1, decay=0.01):
    def step(g, p):
        return -rate * (g + decay * p)

    def update(grads, state, params):
        leaves = jax.tree.leaves(grads)
        treedef = jax.tree.structure(grads)
        out = [step(g, p) for g, p in zip(leaves, jax.tree.leaves(params))]
        return jax.tree.unflatten(treedef, out), state

    return optax.GradientTransformation(lambda params: (), update)
""")
    assert "-self.rate * (leaves + self.decay * param)" in text


def test_a_loop_that_adds_up_over_leaves_is_listed():
    found = made("""\
def thing(rate=0.1):
    def init(params):
        return {}

    def update(grads, state, params=None):
        leaves, treedef = jax.tree.flatten(grads)
        last, out = 0.0, []
        for g in leaves:
            last = last + g
            out.append(last)
        return treedef.unflatten(out), state

    return optax.GradientTransformation(init, update)
""")
    [note] = [n for n in found.notes if "in an update function" in n.what]
    assert note.what == "`for g in leaves:` in an update function"
    assert "tree_sum" in note.todo


def test_several_trees_that_a_condition_chooses_are_chosen_one_by_one():
    text = converted("""\
class State(NamedTuple):
    n: jax.Array
    acc: Any


def thing(every=4):
    def init(params):
        return State(jnp.zeros([], jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(grads, state, params=None):
        acc = jax.tree.map(lambda a, g: a + g, state.acc, grads)
        due = state.n == every - 1

        def emit(acc):
            return acc, jax.tree.map(jnp.zeros_like, acc)

        def keep(acc):
            return jax.tree.map(jnp.zeros_like, acc), acc

        acc, rest = jax.lax.cond(due, emit, keep, acc)
        return acc, State(jnp.where(due, 0, state.n + 1), rest)

    return optax.GradientTransformation(init, update)
""")
    assert "new_acc = jnp.where(self.due, acc, jnp.zeros_like(acc))" in text
    assert "rest = jnp.where(self.due, jnp.zeros_like(acc), acc)" in text
    assert text.index("rest = ") < text.index("acc = new_acc")


INNER = """\
class State(NamedTuple):
    inner: Any
    slow: Any


def averaged(inner, rate):
    inner = optax.with_extra_args_support(inner)

    def init(params):
        return State(inner.init(params), params)

    def update(grads, state, params):
        steps, new = inner.update(grads, state.inner, params)
        fast = optax.apply_updates(params, steps)
        slow = optax.incremental_update(fast, state.slow, rate)
        return optax.tree_utils.tree_sub(slow, params), State({new}, slow)

    return optax.GradientTransformation(init, update)


def thing(learning_rate=0.1, rate=0.5):
    base = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(learning_rate, momentum=0.9))
    return averaged(base, rate)
"""


def test_a_transformation_that_is_given_another_one_does_what_that_one_does():
    text = converted(INNER.replace("{new}", "new"))
    assert "trace = self.factor * grad + 0.9 * self.trace" in text
    assert "fast = param + -self.learning_rate * step" in text
    assert "slow = self.rate * fast + (1 - self.rate) * self.slow" in text


def test_a_given_transformation_whose_state_is_not_kept_is_listed():
    found = made(INNER.replace("{new}", "state.inner"))
    assert "the state `state.inner` of a transformation that this one is given" in [
        n.what for n in found.notes if n.blocks
    ]


def test_a_function_whose_parameters_are_injected_is_what_it_returns():
    text = converted("""\
def thing(learning_rate=0.1, momentum=0.9):
    @optax.inject_hyperparams
    def build(learning_rate):
        return optax.chain(optax.trace(momentum), optax.scale(-learning_rate))

    return build(learning_rate=learning_rate)
""")
    assert "self.trace = " in text
    assert "-self.learning_rate *" in text


def test_a_name_chooses_the_optimizer_that_is_its_default():
    found = made("""\
def thing(name: str = "sgd", lr=0.1, clip=None):
    if name == "adam":
        tx = optax.adam(lr)
    elif name == "sgd":
        tx = optax.sgd(lr, momentum=0.9)
    else:
        raise ValueError(name)
    if clip is not None:
        tx = optax.chain(optax.clip_by_global_norm(clip), tx)
    return tx
""")
    assert found.whole, found.notes
    assert "self.mu" not in found.text
    assert found.text.count("moment(zeros, param.shape)") == 1
    assert "self.factor * grad if self.clip is not None else grad" in found.text
    assert "the optimizer is the one for `name='sgd'`" in [n.what for n in found.notes]


def test_names_of_a_file_for_functions_of_libraries_are_these_functions():
    text = converted("""\
tmap = jax.tree.map
increment = optax.safe_increment


class State(NamedTuple):
    n: jax.Array
    m: Any


def thing(rate=0.1):
    def init(params):
        return State(jnp.zeros([], jnp.int32), tmap(jnp.zeros_like, params))

    def update(grads, state, params=None):
        m = tmap(lambda a, g: 0.9 * a + g, state.m, grads)
        return tmap(lambda a: -rate * a, m), State(increment(state.n), m)

    return optax.GradientTransformation(init, update)
""")
    assert "m = 0.9 * self.m + grad" in text
    assert "return -self.rate * m" in text


@pytest.mark.parametrize(
    ("labels", "made"),
    [
        ('"matrix" if p.ndim == 2 else "other"', "if param.ndim == 2"),
        (
            '"none" if p.ndim == 0 else ("other" if p.ndim == 1 else "matrix")',
            "and param.ndim == 1 else update",
        ),
    ],
)
def test_groups_of_weights_that_their_shapes_tell_are_masked(labels, made):
    text = convert(
        "given.py",
        f"""\
import jax
import optax


def grouped(rate=0.1):
    def label(params):
        return jax.tree.map(lambda p: {labels}, params)

    groups = {{"matrix": optax.sgd(rate, momentum=0.9), "other": optax.adam(rate)}}
    return optax.multi_transform(groups, label)
""",
        "grouped",
        "Grouped",
        "OPTIMIZER",
    )
    assert text.whole
    assert made in text.text


def test_groups_of_weights_that_their_names_tell_are_listed():
    made = convert(
        "given.py",
        """\
import optax


def grouped(rate=0.1):
    labels = {"kernel": "matrix", "bias": "other"}
    return optax.partition({"matrix": optax.sgd(rate), "other": optax.adam(rate)}, labels)
""",
        "grouped",
        "Grouped",
        "OPTIMIZER",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.what == "`optax.partition` is not known as a transformation"


@pytest.mark.parametrize(
    ("begun", "kept"),
    [
        (f"{ZEROS} if largest else None", "if self.largest else None"),
        (f"None if not largest else {ZEROS}", "None if not self.largest else"),
    ],
)
def test_a_tree_that_an_option_keeps_is_none_else(begun: str, kept: str):
    text = converted(f"""\
class State(NamedTuple):
    nu: Any
    top: Any


def thing(rate, largest: bool = False):
    def init(params):
        top = {begun}
        return State(jax.tree.map(jnp.zeros_like, params), top)

    def update(updates, state, params=None):
        nu = jax.tree.map(lambda n, g: 0.9 * n + g * g, state.nu, updates)
        if largest:
            top = jax.tree.map(jnp.maximum, state.top, nu)
            below = top
        else:
            top = None
            below = nu
        made = jax.tree.map(lambda g, n: -rate * g / (1.0 + n), updates, below)
        return made, State(nu, top)

    return optax.GradientTransformation(init, update)
""")
    assert kept in text
    assert "top = jnp.maximum(self.top, nu) if self.largest else None" in text


def test_a_tree_that_a_decided_option_keeps_is_a_moment():
    body = """\
def inner(kept):
    def init(params):
        return (optax.tree.zeros_like(params) if kept else None,)

    def update(updates, state, params=None):
        made = jax.tree.map(lambda g, m: g + m, updates, state[0])
        return made, (made,)

    return optax.GradientTransformation(init, update)


def thing(rate):
    return optax.chain(inner(True), optax.scale(-rate))
"""
    assert " = moment(zeros, param.shape)\n" in converted(body)


@pytest.mark.parametrize("test", ["callable(rate)", "not callable(rate)"])
def test_a_rate_that_may_be_a_schedule_is_a_number_in_the_stages_of_either(test):
    scheduled = "parts.append(optax.scale_by_schedule(lambda n: -rate(n)))"
    plain = "parts.append(optax.scale(-rate))"
    one, other = (plain, scheduled) if "not" in test else (scheduled, plain)
    text = converted(f"""\
def thing(rate=0.1):
    parts = [optax.trace(0.9)]
    if {test}:
        {one}
    else:
        {other}
    return optax.chain(*parts)
""")
    assert "callable" not in text
    assert "self.rate(" not in text
    assert "return -self.rate * " in text
