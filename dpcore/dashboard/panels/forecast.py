"""The forecast of the next run from public facts alone; no function here receives rows."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.before_run import forecast_rows, rows_key
from dpcore.dashboard.controls import MOST_ROWS
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.domain.schema import Schema
from dpcore.experiment.forecasts import Band, Forecast, forecast
from dpcore.language import phrase, say
from dpcore.methods.base import Synthesizer
from dpcore.text import number

MOST_NAMED = 10  # pairs
OTHERS = ("epsilon", "noise", "random_state")  # parameters without effect on a forecast
WHENCE = phrase(
    "**Forecast**, at no cost: the method runs on random tables made from your schema and the public number of rows. "
    "It reads no row of yours."
)
READ_OFF = phrase("But the schema was inferred from your rows, so the forecast is no public fact yet.")


def draw_forecast(
    page: str, method: Synthesizer, own: Synthesizer, schema: Schema, public: int | None, rows: int | None
) -> None:
    """Draw the forecast of a run, once it was requested; it follows the page's epsilon.

    Parameters
    ----------
    page
        Page whose run is forecast.
    method, own
        The method as chosen, and the method as it runs on single rows.
    schema
        Public schema.
    public
        Public number of rows; None draws a control for it.
    rows
        Number of synthetic rows; None for the release's own.
    """
    note = say(WHENCE) if schema.source == "declared" else f"{say(WHENCE)} {say(READ_OFF)}"
    if public is None:
        label = say("Rows that you expect (a number that you know, not one that you count)")
        usual = forecast_rows(page, schema)
        style: Any = {"value": None, "placeholder": f"{usual:,}", "step": 1_000, "key": rows_key(page, schema)}
        public = int(st.number_input(label, 1, MOST_ROWS, **style) or usual)
    settings = {name: value for name, value in own.get_params().items() if name not in OTHERS}
    key = (method.title, repr(settings), schema.to_json(), public, rows)
    last = session.keep_once("dpcore.forecasts", dict[str, tuple[Any, Forecast]])  # of each page
    if page in last and last[page][0] == key:
        draw_result(last[page][1], float(method.epsilon), float(own.epsilon), note)
        return

    def work(progress: Progress) -> None:
        last[page] = key, forecast(own, schema, public, made=rows, progress=progress)

    name = f"forecast.{page}"
    jobs.run_button(say("Forecast this run"), name, "go", icon=":material/query_stats:", help=note)
    jobs.run(phrase("Running on made-up tables"), name, work)


def draw_result(found: Forecast, epsilon: float, of_row: float, note: str) -> None:
    """Draw a forecast as text and bands, at the page's epsilon.

    `of_row` is the epsilon of a single row, and `note` explains the forecast.
    """
    at, times, group = found.expected_at(of_row), epsilon / of_row, say("none")
    if at.group is not None:
        many = {"share": round(1 / at.group), "count": at.group * found.rows, "rows": found.rows}
        group = say("1 in {share:,} rows, which is {count:,.0f} of {rows:,} rows", **many)
    off = {"columns": format_band(at.columns), "pairs": format_band(at.pairs)}
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
        "Even without noise, columns would be off by {columns}, pairs by {pairs}. That part is a "
        "guess, as the tables are made up. The rest is noise, whose size is known.",
        columns=format_band(found.noiseless.columns),
        pairs=format_band(found.noiseless.pairs),
    )
    names = [f"{escape(first)} × {escape(second)}" for first, second in at.lost_ties]
    markdown(
        "**Lost relations**, {lost:,} of {pairs:,} pairs of columns: {names}. On made-up tables "
        "where one column determined the other, less than half of that relation was left.",
        lost=len(names),
        pairs=len(at.kept_ties),
        names=", ".join([*names[:MOST_NAMED], *["…"] * (len(names) > MOST_NAMED)]) or "–",
    )


def format_band(band: Band | None) -> str:
    """Return a band of forecast distances, in percentage points, as text; "–" for None."""
    if band is None:
        return "–"
    ends = (f"{100 * end:.{0 if end >= 0.1 else 1}f}" for end in (band.low, band.high))
    return say("{points} percentage points", points=say(" to ").join(dict.fromkeys(ends)))
