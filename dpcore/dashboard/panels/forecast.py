"""What the next run will be good for, before it is paid: from public facts alone, so nothing here is given rows."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.before_run import rows_expected, rows_key
from dpcore.dashboard.controls import MOST_ROWS
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.domain.schema import Schema
from dpcore.experiment.forecasts import Band, Forecast, forecast
from dpcore.language import phrase, say
from dpcore.methods.base import Synthesizer
from dpcore.text import number

MOST_NAMED = 10  # pairs
OTHERS = ("epsilon", "noise", "random_state")  # parameters that a forecast does not hang on
WHENCE = phrase(
    "**Forecast**, at no cost: the method runs on random tables made from your schema and the public number of rows. "
    "It reads no row of yours."
)
READ_OFF = phrase("But the schema was read off them, so this is no public fact before it is declared.")


def draw(
    page: str, method: Synthesizer, own: Synthesizer, schema: Schema, public: int | None, rows: int | None
) -> None:
    """The forecast of a run, once it is asked for; it moves with epsilon.

    `own` is the method as it runs on rows, of which so many are `public`; so many `rows` are to be
    made.
    """
    note = say(WHENCE) if schema.source == "declared" else f"{say(WHENCE)} {say(READ_OFF)}"
    if public is None:
        label = say("Rows that you expect (a number that you know, not one that you count)")
        usual = rows_expected(page, schema)
        look: Any = {"value": None, "placeholder": f"{usual:,}", "step": 1_000, "key": rows_key(page, schema)}
        public = int(st.number_input(label, 1, MOST_ROWS, **look) or usual)
    settings = {name: value for name, value in own.get_params().items() if name not in OTHERS}
    key = (method.title, repr(settings), schema.to_json(), public, rows)
    last = session.keep_once("dpcore.forecasts", dict[str, tuple[Any, Forecast]])  # of each page
    if page in last and last[page][0] == key:
        show(last[page][1], float(method.epsilon), float(own.epsilon), note)
        return

    def work(progress: Progress) -> None:
        last[page] = key, forecast(own, schema, public, made=rows, progress=progress)

    name = f"forecast.{page}"
    jobs.button(say("Forecast this run"), name, "go", icon=":material/query_stats:", help=note)
    jobs.run(phrase("Running on made-up tables"), name, work)


def show(found: Forecast, epsilon: float, of_row: float, note: str) -> None:
    """A forecast in words and bands, at the page's epsilon, which is `of_row` for a single row."""
    at, times, group = found.at(of_row), epsilon / of_row, say("none")
    if at.group is not None:
        many = {"share": round(1 / at.group), "many": at.group * found.rows, "rows": found.rows}
        group = say("1 in {share:,} rows, {many:,.0f} of {rows:,}", **many)
    off = {"columns": points(at.columns), "pairs": points(at.pairs)}
    text = say(
        "At epsilon {epsilon}, nine of ten **columns** may be off by **{columns}**, nine of ten **pairs** by "
        "**{pairs}**. The smallest **group** that stands out of the noise: **{group}**.",
        epsilon=number(epsilon),
        group=group,
        **off,
    )
    st.markdown(text, help=note)
    bands = [
        {"of": of, "epsilon": times * step.epsilon, **band._asdict()}
        for step in found.steps
        for of, band in (("pairs", step.pairs), ("columns", step.columns))
        if band is not None
    ]
    ends = {"low": times * found.steps[0].epsilon, "high": times * found.steps[-1].epsilon}
    panels.chart(charts.forecast_bands(pd.DataFrame(bands), epsilon=epsilon, **ends))
    caption(
        "Without any noise, columns would be off by {columns}, pairs by {pairs}. That part is a guess: it depends on "
        "how your columns depend on each other, and the tables are made up. The rest is noise, which is known.",
        columns=points(found.noiseless.columns),
        pairs=points(found.noiseless.pairs),
    )
    names = [f"{escape(first)} × {escape(second)}" for first, second in at.lost_ties]
    markdown(
        "**Lost**, {lost:,} of {pairs:,} pairs: {names}. Where one column determined the other, less than half of "
        "that was left.",
        lost=len(names),
        pairs=len(at.kept_ties),
        names=", ".join([*names[:MOST_NAMED], *["…"] * (len(names) > MOST_NAMED)]) or "–",
    )


def points(band: Band | None) -> str:
    """A band in points; a single column has no pairs."""
    if band is None:
        return "–"
    low, high = (f"{100 * end:.{0 if end >= 0.1 else 1}f}" for end in (band.low, band.high))
    return say("{low} to {high} points", low=low, high=high) if low != high else say("{points} points", points=low)
