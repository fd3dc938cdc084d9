"""Shared parts of panels: tabs, of which only the open one is drawn, and marked charts.

Panels are written once for all methods, and draw from the immutable release. A result that a panel
computes from real rows is stored with the release, and carries the mark "uses real data".
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.accounting.relation import Relation
from dpcore.arguments import Ints
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape, mendable
from dpcore.dashboard.widgets import segmented_choice, translate_table
from dpcore.evaluate.distances import Center
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.export.artifacts import Model
from dpcore.language import current_language, phrase, retold, say
from dpcore.text import claim

NO_NOISE = 1e9  # an epsilon with noise far below one count
MOST_PAIRS = 1_800  # the pairs of 60 columns; of more, a random sample


def draw_open(page: str, panels: Mapping[str, Callable[[], None]]) -> None:
    """Draw panels as tabs, and compute only the open one.

    `panels` maps the title of each tab to the function that draws it.
    """
    tab_key = f"{page}.tab"  # by its English name, as in links and lessons
    names = {say(name): name for name in panels}
    label = f"{tab_key}.{current_language()}"

    def turned() -> None:
        st.session_state[tab_key] = names[st.session_state[label]]

    st.session_state.pop(label, None)
    if st.session_state.get(tab_key) in panels:
        st.session_state[label] = say(st.session_state[tab_key])
    for tab, draw in zip(st.tabs(list(names), key=label, on_change=turned), panels.values(), strict=True):
        if tab.open:
            with tab, mendable():
                draw()


def draw_part(key: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Draw a choice among parts of a tab, and the chosen part; a single part needs no choice.

    `parts` maps the title of each part to the function that draws it.
    """
    names = {name: name for name in parts}
    chosen = segmented_choice(say("What to show"), f"{key}.part", names, label_visibility="collapsed")
    parts[chosen]()


def draw_release_chart(shown: ShownRelease, picture: Any, *, data: pd.DataFrame | None = None) -> None:
    """Draw a chart of a release, marked as real data if the release is noiseless.

    `picture` is the chart, and `data` its numbers for a table below it.
    """
    chart(charts.mark_real(picture) if shown.release.noiseless else picture, data=data)


def release_note(shown: ShownRelease) -> str:
    """Return a sentence: what a look at a part of a release costs, or why it is not private."""
    if shown.release.noiseless:
        return say("This is a noiseless baseline without privacy, for this screen only.")
    if shown.release.guarantee_void:
        return say("All values here are part of the release. See the top of the page for its guarantee.")
    return say("All values here are part of the release: looking at them spends no budget.")


def note_test_sample(shown: ShownRelease) -> None:
    """Draw a note if the release is tested on a sample of the test rows only."""
    if text := evaluator(shown).test_rows_note:
        st.caption(escape(retold(text)))


def fit_noiseless(shown: ShownRelease) -> Any:
    """Return the release's method, fitted again almost without noise.

    Its epsilon is so large that the noise is far below one count. A model keeps its sizes.
    """
    release = shown.release
    sizes = release.model.sizes if isinstance(release.artifact, Model) else {}
    method = release.new_method(**sizes, noise="laplace")
    return method.with_epsilon(NO_NOISE).fit(shown.data.train, schema=release.schema)


def evaluator(shown: ShownRelease) -> Evaluator:
    """Return the evaluator of a release's real rows, which are encoded and counted once."""
    return remember(shown, "evaluator", partial(Evaluator, shown.data))


def compared_row_indices(shown: ShownRelease) -> Ints:
    """Return the positions of the real rows that a release's own counts are compared with.

    These are all rows, or as many of each person's rows as the release used. They are drawn anew at
    random, since the release's own choice is secret.
    """
    unit, fill = shown.release.schema.persons, shown.release.ledger.relation is Relation.REPLACE
    return remember(shown, "likened", partial(evaluator(shown).compared_rows, unit, fill=fill))


def describe_person_sample(shown: ShownRelease) -> str:
    """Return a sentence: how many rows of each person count in comparisons; "" if all rows do."""
    unit = shown.release.schema.persons
    if unit is None:
        return ""
    text = phrase(" At most {n:,} random rows of each person count; those of the real rows are drawn anew.")
    return say(text, n=unit.max_contributions)


def column_shares(shown: ShownRelease, name: str) -> Statistics:
    """Return the share of each value of a column, in the real and in the synthetic rows."""
    release = shown.release
    of = partial(evaluate.marginals, evaluator(shown).rows, release.synthetic, release.schema, name)
    return remember(shown, f"column {name}", of)


def draw_column(shown: ShownRelease, name: str, **style: Any) -> None:
    """Draw a column's real and synthetic shares, with those of the previous run as a pale mark.

    `style` has further arguments of `charts.marginal`.
    """
    if (before := shown.previous) is not None:
        epsilon = claim(before.release.ledger.epsilon_claimed)
        text = say("previous run, epsilon {epsilon}", epsilon=epsilon)
        style |= {"previous": column_shares(before, name), "before": text}
    real(charts.marginal, column_shares(shown, name), column=name, **style)


def column_centers(shown: ShownRelease) -> tuple[Center, ...]:
    """Return the means and medians of numeric columns, in the release and in the real rows."""
    return remember(shown, "centers", partial(evaluator(shown).centers, shown.release.synthetic))


def marginal_distances(shown: ShownRelease, degree: int) -> pd.DataFrame:
    """Return the total variation distances and sampling-noise floors of marginals.

    `degree` is 1 for columns, or 2 for pairs of columns. There is one line for each column or pair,
    with its name (`attributes`), distance (`avd`) and floor (`floor`); lines of pairs also name
    both columns (`a` and `b`).
    """
    return evaluator(shown).distances_with_floors(shown.release.synthetic, degree, MOST_PAIRS)


def real(
    draw: Callable[..., Any], frame: pd.DataFrame, /, of: Any = slice(None), *, private: bool = True, **style: Any
) -> None:
    """Draw a chart of statistics of real rows, with the mark "uses real data".

    Parameters
    ----------
    draw
        Makes the chart from the statistics.
    frame
        Statistics, as returned by `dpcore.evaluate.statistics`.
    of
        Selects lines of the statistics for the chart; the table below has all lines.
    private
        Whether real rows were read; if not, the chart has no mark.

    Raises
    ------
    TypeError
        If `frame` is not of type `Statistics`.
    """
    if not isinstance(frame, Statistics):
        raise TypeError("Charts of real rows need counts and means only: see dpcore.evaluate.statistics.")
    picture = draw(statistics(frame)[of], **style)
    chart(charts.mark_real(picture) if private else picture, data=frame)


def chart(picture: Any, *, data: pd.DataFrame | None = None) -> None:
    """Draw a chart with its text alternative, and `data` as a table below it.

    A mark of the chart, such as "uses real data", is on the table as well.
    """
    spec = charts.on_phones(charts.specification(picture))
    st.vega_lite_chart(spec, width="stretch")  # its description is the text alternative
    if data is not None:
        text, mark = say("Chart numbers"), say(REAL_DATA)
        draw_table(data, say("{heading}. {mark}", heading=text, mark=mark) if mark in picture.title.text else text)


def draw_table(frame: pd.DataFrame, title: str) -> None:
    """Draw a table in an expander, for users who want to read values."""
    words = {str(relation): relation.short for relation in Relation}
    with st.expander(title):
        st.dataframe(translate_table(frame.replace({"relation": words})), hide_index=True)
