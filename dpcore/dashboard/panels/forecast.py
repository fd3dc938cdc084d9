"""What the next run will be good for, before it is paid: from public facts alone, so nothing here is given rows."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.before_run import MOST, rows_expected, rows_key
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import markdown
from dpcore.domain.schema import Schema
from dpcore.experiment.forecasts import Band, Expected, Forecast, forecast
from dpcore.language import phrase, say
from dpcore.methods.synthesizer import Synthesizer
from dpcore.text import number

MOST_NAMED = 3  # pairs
MOST_KEPT = 20
OTHERS = ("epsilon", "noise", "random_state")  # parameters that a forecast does not hang on
WHENCE = phrase(
    "**Forecast**, at no cost: the method runs on random tables made from your schema and the public number of rows. "
    "It reads no row of yours."
)

READ_OFF = phrase("But the schema was read off them, so this is no public fact before it is declared.")


def draw(page: str, method: Synthesizer, own: Synthesizer, schema: Schema, public: int | None, rows: int) -> None:
    """The forecast of a run, once it is asked for; it moves with epsilon.

    `own` is the method as it runs on rows, of which so many are `public`; so many `rows` are to be made.
    """
    note = say(WHENCE) if schema.source == "declared" else f"{say(WHENCE)} {say(READ_OFF)}"
    if public is None:
        label = say("Rows that you expect (a number that you know, not one that you count)")
        look: Any = {"value": rows_expected(page, schema), "step": 1_000, "key": rows_key(page, schema)}
        public = int(st.number_input(label, 1, MOST, **look))
    settings = {name: value for name, value in own.get_params().items() if name not in OTHERS}
    key = (method.title, repr(settings), schema.to_json(), public, rows)
    known = session.kept("dpcore.forecasts", dict[Any, Forecast])
    if key in known:
        told(method, own, known[key], note)
        return

    def work(progress: Progress) -> None:
        found = forecast(own, schema, public, made=rows, progress=progress)
        while len(known) >= MOST_KEPT:
            known.pop(next(iter(known)))
        known[key] = found

    name = f"forecast.{page}"
    jobs.button(say("Forecast this run"), name, "go", icon=":material/query_stats:", help=note)
    jobs.run(phrase("Running on made-up tables"), name, work)


def told(method: Synthesizer, own: Synthesizer, found: Forecast, note: str) -> None:
    """A forecast at the epsilon that is chosen."""
    at, epsilon = found.at(float(own.epsilon)), float(method.epsilon)
    st.markdown(expected(at, found.rows, epsilon), help=note)
    drawn(found, epsilon, epsilon / float(own.epsilon))
    st.caption(parts(found.noiseless))
    lost(at)


def drawn(found: Forecast, epsilon: float, times: float) -> None:
    """The bands by the page's epsilon, which is so many times that of a row."""
    rows = [
        {"of": of, "epsilon": times * step.epsilon, "low": band.low, "middle": band.middle, "high": band.high}
        for step in found.steps
        for of, band in (("pairs", step.pairs), ("columns", step.columns))
        if band is not None
    ]
    ends = (times * found.steps[0].epsilon, times * found.steps[-1].epsilon)
    panels.chart(charts.forecast_bands(pd.DataFrame(rows), epsilon=epsilon, low=ends[0], high=ends[1]))


def expected(at: Expected, rows: int, epsilon: float) -> str:
    """Columns, pairs and groups in sentences."""
    group = say("No **group** stands out of the noise.")
    if at.group is not None:
        group = say(
            "The smallest **group** that stands out: **1 in {share:,} rows**, {many:,.0f} of {rows:,}.",
            share=round(1 / at.group),
            many=at.group * rows,
            rows=rows,
        )
    of = {"epsilon": number(epsilon), "columns": points(at.columns), "group": group}
    if at.pairs:
        return say(
            "At epsilon {epsilon}, nine of ten **columns** may be off by **{columns}**, nine of ten **pairs** by "
            "**{pairs}**. {group}",
            pairs=points(at.pairs),
            **of,
        )
    return say("At epsilon {epsilon}, nine of ten **columns** may be off by **{columns}**. {group}", **of)


def parts(plain: Expected) -> str:
    """Which part of a forecast is known, and which is a guess."""
    if plain.pairs:
        told = say(
            "Without any noise, columns would be off by {columns}, pairs by {pairs}.",
            columns=points(plain.columns),
            pairs=points(plain.pairs),
        )
    else:
        told = say("Without any noise, columns would be off by {columns}.", columns=points(plain.columns))
    return say(
        "{without} That part is a guess: it depends on how your columns depend on each other, and the tables are "
        "made up. The rest is noise, which is known.",
        without=told,
    )


def lost(at: Expected) -> None:
    """The pairs that will be lost, the first ones by name, and all of them on request."""
    if not at.lost:
        markdown("**Lost:** no pair, where one column determined the other.")
        return
    names = [f"{escaped(first)} × {escaped(second)}" for first, second in at.lost]
    few, more = ", ".join(names[:MOST_NAMED]), len(names) - MOST_NAMED
    markdown(
        "**Lost**, {lost:,} of {pairs:,} pairs: {names}. Where one column determined the other, less than half of "
        "that was left.",
        lost=len(names),
        pairs=len(at.kept),
        names=say("{names} and {more:,} more", names=few, more=more) if more > 0 else few,
    )
    if more > 0:
        with st.popover(say("All {n:,} pairs", n=len(names))):
            st.markdown(", ".join(names))


def points(band: Band) -> str:
    """A band in points."""
    low, high = (f"{100 * end:.{0 if end >= 0.1 else 1}f}" for end in (band.low, band.high))
    return say("{low} to {high} points", low=low, high=high) if low != high else say("{points} points", points=low)
