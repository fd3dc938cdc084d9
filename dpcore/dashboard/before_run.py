"""The line *Before you run*: the expected errors of a run, and its guarantee, from public facts."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from dpcore.accounting.privacy_measure import PrivacyMeasure
from dpcore.accounting.relation import exact
from dpcore.dashboard import controls, session
from dpcore.dashboard.epsilon import EPSILONS, show_no_limit, show_odds
from dpcore.dashboard.shell import escape
from dpcore.datasets.proposals import PROPOSED
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError
from dpcore.experiment.forecasts import Expectation, expect_errors
from dpcore.export import protection
from dpcore.language import phrase, retold, say
from dpcore.mechanisms.noise import exactly_sampled
from dpcore.methods import parameters
from dpcore.methods.base import Synthesizer
from dpcore.methods.parameters import Preset
from dpcore.text import number

CHARGED = phrase("charged to your privacy budget")
USUAL = 10_000  # rows of a forecast, if no number is known
SIZES = (100, 1_000, USUAL)  # for which errors are estimated then
MOST_EXPECTED = 100_000  # rows of a forecast, unless the user expects more
SLOW = 2.0  # seconds from which on the time is shown
ABOUT = phrase(
    "Estimated from your schema and the number of rows; no row is read. Shares: the mean total "
    "variation distance of a column from the real one, in percentage points; the worst column may "
    "be twice as far off. Relations: pairs of columns whose marginal stands out of the noise; "
    "other pairs look independent, unless implied by those. Within bins, values are spread "
    "evenly: frequent numbers are lost. Fewer rows have larger errors."
)
ASSUMED = phrase(
    "The number of rows is private here. On Data, declare the most rows that there may be; or "
    "enter in Advanced how many you expect."
)
COARSE = phrase("numbers are spread evenly within bins, such as {bin}")


def draw_line(page: str, method: Any, preset: Preset, schema: Schema, rows: int | None, *, waits: bool) -> None:
    """Draw a line with the run's guarantee and, if the run `waits`, its expected errors.

    `rows` is the number of rows if it is public, and None if it is private. No row is read.
    """
    with st.container(key="before" if waits else "claim"):
        if waits:
            known = rows or expected_rows(page, schema)
            sizes = (known,) if known else SIZES
            parts, about = [f"**{line_title(known, rows)}**"], [say(ABOUT), *([] if rows else [say(ASSUMED)])]
            with suppress(DPCoreError):  # the run would be refused: the page says why
                parts += describe_errors([expected_errors(method, schema, some) for some in sizes], method.epsilon)
                parts += describe_wide_bins(method, schema) if known else []
            st.markdown(" · ".join(parts), help=" ".join(about))
        draw_guarantee(method, preset, schema)


def draw_guarantee(method: Any, preset: Preset, schema: Schema) -> None:
    """Draw why a run would have no guarantee, or what is known of a published proof."""
    good, bad = ":material/verified: {}", ":red[:material/warning: {}]"
    if why := parameters.void_reason(method, schema):
        st.markdown(bad.format(say("Guarantee: {why}", why=escape(say(why)))))
    elif method.mode == "published":
        st.markdown((good if preset.proof_holds else bad).format(retold(preset.remark)))


def line_title(known: int | None, public: int | None) -> str:
    """Return the beginning of the line: for which number of rows it holds, and whose it is.

    `known` is `public`, the public number, or else a bound or the number that the user expects.
    """
    if known and not public:
        return say("Before you run, :orange[if there are {rows:,} rows]", rows=known)
    return say("Before you run") if known else say("Before you run, with {rows} rows", rows=sizes_text(SIZES))


def draw_terms(method: Any, schema: Schema) -> None:
    """Draw the terms of a run: its neighbors, delta, noise, a person's epsilon, and its charge."""
    unit = schema.unit
    parts = [say(controls.relation_words(method.relation, schema.persons is not None)).lower()]
    if method.delta:
        parts.append(say("delta {delta}", delta=f"{method.delta:g}"))
    if not exactly_sampled(method.noise, method.random_state):
        parts.append(f":red[{say('noise for teaching, not for publication')}]")
    if person := protection.for_person(unit, method.epsilon, method.delta):
        parts.append(person)
    st.caption(" · ".join([*parts, say(CHARGED)]))


def draw_odds(method: Any, preset: Preset, schema: Schema) -> None:
    """Draw what the run's epsilon means for one person in odds, or why no bound holds."""
    if "epsilon" not in method.control_map() or not method.control_map()["epsilon"].applies_to(method):
        return
    if "corrected" not in method.modes:
        show_no_limit(say("this method adds no noise"))
    elif schema.source == "inferred" or method.random_state is not None:
        show_no_limit(say("no guarantee holds; the reason is below"))
    else:
        measure = PrivacyMeasure.from_delta(method.delta)
        loss = measure.loss_of(exact(method.epsilon))
        claimed = method.mode == "published" and not preset.proof_holds
        gained = protection.log_odds_gained(schema.unit, measure, loss)
        show_odds(gained, method.observed_output, method.delta, claimed=claimed)


def rows_key(page: str, schema: Schema) -> str:
    """Return the key of the control in which a user says how many rows to expect."""
    return f"forecast.rows.{page}:{schema.max_rows}"


def expected_rows(page: str, schema: Schema) -> int | None:
    """Return the number of rows that the user expects, else the public bound, else None."""
    said: int | None = st.session_state.get(rows_key(page, schema))
    return said or schema.max_rows


def forecast_rows(page: str, schema: Schema) -> int:
    """Return the number of rows for a forecast: declared or expected by the user, else 10,000.

    The number is at most `MOST_EXPECTED`.
    """
    return min(expected_rows(page, schema) or USUAL, MOST_EXPECTED)


def sizes_text(sizes: Sequence[int]) -> str:
    """Return numbers of rows as one text, such as "100 / 1,000"."""
    return " / ".join(f"{some:,}" for some in sizes)


def expected_errors(method: Any, schema: Schema, rows: int) -> Expectation:
    """Return a method's expected errors on `rows` rows, computed once per session and settings."""
    known = session.keep_once("dpcore.expectations", dict[Any, Expectation])
    key = (method.title, repr(method.get_params()), schema.to_json(), rows)
    steps = method.control_map()["epsilon"].steps or EPSILONS
    return session.compute_once(known, key, partial(expect_errors, method, schema, rows, steps=steps))


def describe_errors(found: Sequence[Expectation], epsilon: float) -> list[str]:
    """Return phrases for the expected errors at an epsilon.

    `found` has one expectation per number of rows. Each phrase lists their values in that order.
    """
    parts, last, several = [], found[-1], len(found) > 1

    def each(of: Callable[[Expectation], float], write: Callable[[float], str]) -> str:
        return " / ".join(write(of(one)) for one in found)

    if last.columns is not None:
        words = phrase("shares off by {points} points on average")
        if not several and (last.enough or 0) > epsilon:
            words = phrase("shares off by {points} points on average (by 5 from epsilon {epsilon})")
        parts.append(say(words, points=each(lambda one: one.columns or 0, as_points), epsilon=number(last.enough or 0)))
    elif last.leaf is not None:
        noisy = say("tree leaves hold more noise than rows")
        share = each(lambda one: one.leaf or 0, "{:.0%}".format)
        parts.append(say("counts in tree leaves off by {share} of their rows", share=share) if last.leaf < 1 else noisy)
    if last.pairs and last.measurable is not None:
        some = phrase("at most about {some} of {all:,} pairs keep their relation")
        some = phrase("at most {some} of {all:,} pairs keep their relation") if several else some
        if last.measurable == 0:
            some = phrase("no pair of columns keeps its relation: columns look independent")
        parts.append(say(some, some=each(lambda one: one.measurable or 0, "{:,}".format), all=last.pairs))
    if last.seconds >= SLOW:
        parts.append(say("the run takes about {seconds:.0f} s", seconds=last.seconds))
    return parts


def as_points(share: float) -> str:
    """Return a share in percentage points as text, without a unit."""
    return f"{100 * share:.1f}" if share < 0.01 else f"{100 * share:.0f}"


def describe_wide_bins(method: Any, schema: Schema) -> list[str]:
    """Return a phrase for the widest bin of numbers, in a list; an empty list if no bin is wide.

    Width is relative to the column's range. Bins that a user declared are left out. Of each column,
    only the bin that contains 0 counts, or else its first bin. Dates come before numbers.
    """
    widest, wide = ((False, 0.0), ""), 0
    for one in schema if isinstance(method, Synthesizer) else ():  # other methods make no rows
        if not one.numeric or one.origin not in PROPOSED:
            continue
        widths, below = np.diff(one.edges), int((one.edges <= 0).sum())
        at = below - 1 if 0 < below <= len(widths) else 0
        if one.kind == "date" or widths[at] > (one.step or one.whole):
            label = f"{escape(one.name)} {escape(one.labels[at])}"
            widest, wide = max(widest, ((one.kind == "date", widths[at] / widths.sum()), label)), wide + 1
    return [say(COARSE, bin=widest[1] + " …" * (wide > 1))] if wide else []
