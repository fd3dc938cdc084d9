"""What pages share: tabs and parts of which only the open one is drawn, charts with their marks, and a release's rows.

Written once for all methods. Each panel draws from the immutable release; what it computes from the
real rows is remembered with the release and carries the mark "uses real data".
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
from dpcore.dashboard.widgets import one_of, translate_table
from dpcore.evaluate.distances import Center
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.export.artifacts import Model
from dpcore.language import current_language, phrase, retold, say
from dpcore.methods import METHODS
from dpcore.text import claim

NO_NOISE = 1e9  # an epsilon at which noise is far below one count
MOST_PAIRS = 1_800  # those of 60 columns; of more pairs, so many are drawn at random


def draw_open(page: str, panels: Mapping[str, Callable[[], None]]) -> None:
    """Panels as tabs, of which only the open one is computed."""
    tab_key = f"{page}.tab"  # by its English name, under which links, lessons and steps ask for it
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
    """Parts of a tab, of which one is chosen; a part alone needs no choice."""
    names = {name: name for name in parts}
    chosen = one_of(say("What to show"), f"{key}.part", names, label_visibility="collapsed")
    parts[chosen]()


def release_chart(shown: ShownRelease, picture: Any, *, data: pd.DataFrame | None = None) -> None:
    """A chart of what was released, with the mark if that is noiseless."""
    chart(charts.mark_real(picture) if shown.release.noiseless else picture, data=data)


def release_note(shown: ShownRelease) -> str:
    """What it costs to look at a part of a release, or what it is if it is not private, in a sentence."""
    if shown.release.noiseless:
        return say("All of it is noiseless: a baseline without privacy, for this screen only.")
    if shown.release.guarantee_void:
        return say("All of it is part of the release, and no more is proven of it: see the top of the page.")
    return say("All of it is part of the release: looking at it spends nothing more.")


def of_test_rows(shown: ShownRelease) -> None:
    """Of test rows in a folder, that some of them are asked about."""
    if text := evaluator(shown).test_rows_note:
        st.caption(escape(retold(text)))


def noiseless(shown: ShownRelease) -> Any:
    """The same method fitted again, as large as it was, at an epsilon at which nothing is left of NumPy's noise."""
    release = shown.release
    sizes = release.model.sizes if isinstance(release.artifact, Model) else {}
    method = METHODS[release.method](**{**release.parameters, **sizes, "noise": "laplace"})
    return method.at_epsilon(NO_NOISE).fit(shown.data.train, schema=release.schema)


def evaluator(shown: ShownRelease) -> Evaluator:
    """The real rows of a release, encoded and counted once."""
    return remember(shown, "evaluator", partial(Evaluator, shown.data))


def compared_rows(shown: ShownRelease) -> Ints:
    """Places of the real rows that a release's own counts are compared with: all, or as many of each person's.

    They are cut as the release was, by other lots: its own are secret.
    """
    unit, fill = shown.release.schema.persons, shown.release.ledger.relation is Relation.REPLACE
    return remember(shown, "likened", partial(evaluator(shown).compared_rows, unit, fill=fill))


def of_persons(shown: ShownRelease) -> str:
    """How the real rows of `compared_rows` were cut, in a sentence; empty if they are all."""
    unit = shown.release.schema.persons
    if unit is None:
        return ""
    text = phrase(" At most {n:,} rows of each person count, drawn in secret; real ones, anew.")
    return say(text, n=unit.max_contributions)


def shares(shown: ShownRelease, name: str) -> Statistics:
    """How often each value of a column is in the real rows, and in the synthetic ones."""
    release = shown.release
    of = partial(evaluate.marginals, evaluator(shown).rows, release.synthetic, release.schema, name)
    return remember(shown, f"column {name}", of)


def draw_column(shown: ShownRelease, name: str, **look: Any) -> None:
    """Draw a column, real and synthetic, with the synthetic one of the run before as a pale mark."""
    if (before := shown.previous) is not None:
        epsilon = claim(before.release.ledger.epsilon_claimed)
        text = say("the run before, epsilon {epsilon}", epsilon=epsilon)
        look |= {"previous": shares(before, name), "before": text}
    real(charts.marginal, shares(shown, name), column=name, **look)


def centers(shown: ShownRelease) -> tuple[Center, ...]:
    """Where the numbers of columns lie, in a release and in the real rows."""
    return remember(shown, "centers", partial(evaluator(shown).centers, shown.release.synthetic))


def distances(shown: ShownRelease, degree: int) -> pd.DataFrame:
    """AVD and noise floor per column (`attributes`) or pair (`a`, `b`)."""
    return evaluator(shown).distances_with_floors(shown.release.synthetic, degree, MOST_PAIRS)


def real(
    draw: Callable[..., Any], frame: pd.DataFrame, /, of: Any = slice(None), *, private: bool = True, **look: Any
) -> None:
    """A chart of what evaluation made of real rows, or of some lines of it, with the mark; TypeError of all else.

    Not `private`: no real row was read for it, and it has no mark.
    """
    if not isinstance(frame, Statistics):
        raise TypeError("Pictures of real rows are drawn of counts and means only: see dpcore.evaluate.statistics.")
    picture = draw(statistics(frame)[of], **look)
    chart(charts.mark_real(picture) if private else picture, data=frame)


def chart(picture: Any, *, data: pd.DataFrame | None = None) -> None:
    """A chart with its alternative text, and the table behind it, marked as the chart is."""
    spec = charts.on_phones(charts.specification(picture))
    st.vega_lite_chart(spec, width="stretch")  # its description is the alternative text
    if data is not None:
        text, mark = say("Numbers"), say(REAL_DATA)
        table_behind(data, say("{title}. {mark}", title=text, mark=mark) if mark in picture.title.text else text)


def table_behind(frame: pd.DataFrame, title: str) -> None:
    """A table in an expander, for people who want to read values."""
    words = {str(relation): relation.short for relation in Relation}
    with st.expander(title):
        st.dataframe(translate_table(frame.replace({"relation": words})), hide_index=True)
