"""The line *Before you run*: what a run will be good for, and what it lacks, by public facts."""

from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

from dpcore.accounting.currency import Currency
from dpcore.accounting.relation import exact
from dpcore.dashboard import controls, session
from dpcore.dashboard.epsilon import EPSILONS, show_no_limit, show_odds
from dpcore.dashboard.shell import escaped
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError
from dpcore.experiment.expectations import Expectation, expect_errors
from dpcore.export import protection
from dpcore.language import phrase, retold, say
from dpcore.mechanisms.noise import exactly_sampled
from dpcore.methods import presets
from dpcore.methods.presets import Preset
from dpcore.text import number

CHARGED = phrase("charged to your budget")
USUAL = 10_000  # rows that are assumed, where nobody says how many there are
ABOUT = phrase(
    "Worked out from your schema and the number of rows, without a look at the rows. Shares: the mean total variation "
    "distance of a column from the real one, in percentage points. Relations: pairs of columns whose marginal can be "
    "told from noise. Close: 5 points on average, and half of the pairs that the largest epsilon can measure."
)

ASSUMED = phrase("How many rows there are is private here: {rows:,} is an assumption, which Advanced lets you change.")


def line(page: str, method: Any, preset: Preset, schema: Schema, rows: int | None, *, waits: bool = True) -> None:
    """Say whether a guarantee holds and, while a run `waits`, what is expected of it; it reads no row.

    `rows` is how many there are where that is public, and None where it stays private.
    """
    with st.container(key="before" if waits else "claim"):
        if waits:
            some = rows or rows_expected(page, schema)
            title = (
                say("Before you run")
                if rows
                else say("Before you run, :orange[if there were {rows:,} rows]", rows=some)
            )
            if rows or schema.max_rows:  # the bound is known, and a person's other rows do not count
                title = say("Before you run, if {rows:,} rows count", rows=some) if schema.persons else title
            parts, about = [f"**{title}**"], [say(ABOUT), *([] if rows else [say(ASSUMED, rows=some)])]
            with suppress(DPCoreError):  # it would not run: the page says why
                parts += words(expectation(method, schema, some))
            st.markdown(" · ".join(parts), help=" ".join(about))
        good, bad = ":material/verified: {}", ":red[:material/warning: {}]"
        if why := presets.void_reason(method, schema):
            st.markdown(bad.format(say("Guarantee: {why}", why=escaped(say(why)))))
        elif method.mode == "published":
            st.markdown((good if preset.holds else bad).format(retold(preset.remark)))


def terms(method: Any, schema: Schema) -> None:
    """Say on which terms a run is made: neighbors, delta, noise, a person's epsilon, and that it is charged."""
    unit = schema.unit
    parts = [say(controls.relation_words(method.relation, schema.persons is not None)).lower()]
    if method.delta:
        parts.append(say("delta {delta}", delta=f"{method.delta:g}"))
    if not exactly_sampled(method.noise, method.random_state):
        parts.append(f":red[{say('noise for teaching, not for publication')}]")
    if person := protection.for_person(unit, method.epsilon, method.delta):
        parts.append(person)
    st.caption(" · ".join([*parts, say(CHARGED)]))


def odds(method: Any, preset: Preset, schema: Schema) -> None:
    """Show what the run's epsilon means for one person, or why there is no limit."""
    if "epsilon" not in method.asks() or not method.asks()["epsilon"].wanted(method):
        return
    if "corrected" not in method.modes:
        show_no_limit(say("no noise at all"))
    elif schema.source == "inferred" or method.random_state is not None:
        show_no_limit(say("no guarantee holds, see below"))
    else:
        measure = Currency.of(method.delta)
        loss = measure.amount(exact(method.epsilon))
        claimed = method.mode == "published" and not preset.holds
        show_odds(protection.gained(schema.unit, measure, loss), method.seen, method.delta, claimed=claimed)


def rows_key(page: str, schema: Schema) -> str:
    """The key of the control that asks how many rows there may be."""
    return f"forecast.rows.{page}:{schema.max_rows}"


def rows_expected(page: str, schema: Schema) -> int:
    """How many rows someone says that there may be; until then a usual number, and no more than the public bound."""
    return int(st.session_state.get(rows_key(page, schema), min(USUAL, schema.max_rows or USUAL)))


def expectation(method: Any, schema: Schema, rows: int) -> Expectation:
    """What is expected, worked out once for the same settings."""
    known = session.kept("dpcore.expectations", dict[Any, Expectation])
    key = (method.title, repr(method.get_params()), schema.to_json(), rows)
    steps = method.asks()["epsilon"].steps or EPSILONS
    return session.compute_once(known, key, partial(expect_errors, method, schema, rows, steps=steps))


def words(found: Expectation) -> list[str]:
    """An expectation in a few words each."""
    parts = []
    if found.columns is not None:
        points = 100 * found.columns
        parts.append(say("shares ± {points} points", points=f"{points:.1f}" if points < 1 else f"{points:.0f}"))
    elif found.leaf is not None:
        noisy = say("leaves hold more noise than rows")
        parts.append(say("counts in leaves ± {share:.0%}", share=found.leaf) if found.leaf < 1 else noisy)
    if found.columns is not None and found.pairs and found.measurable is not None:
        some = phrase("{some:,} of {all:,} relations measured, others guessed")
        some = some if found.measurable < found.pairs else phrase("{some:,} of {all:,} relations measured")
        parts.append(say(some, some=found.measurable, all=found.pairs))
    parts.append(
        say("about {seconds} s", seconds=f"{found.seconds:.1g}" if found.seconds < 10 else f"{found.seconds:.0f}")
    )
    if found.enough is not None:
        parts.append(say("close from epsilon {epsilon}", epsilon=number(found.enough)))
    elif found.columns is not None:
        parts.append(say("close at no epsilon here"))
    return parts
