"""The tabs of answers: estimates with both intervals beside real values, numbers, and redraws."""

from dataclasses import replace
from functools import partial

import streamlit as st

from dpcore import charts
from dpcore.dashboard import jobs, panels
from dpcore.dashboard.panels import redraw, summary
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import caption, translate_table
from dpcore.evaluate.answers import answers_with_real
from dpcore.evaluate.statistics import Statistics
from dpcore.export.artifacts import Answers
from dpcore.language import say


def draw_answers(page: str, shown: ShownRelease) -> None:
    """Draw the answers of one statistic; on request, the real values beside them."""
    artifact = shown.release.artifact_as(Answers)
    with st.container(key="verdict", horizontal=True, vertical_alignment="center"):
        label, value, meaning = summary.epsilon_tile(shown)
        st.metric(label, value, border=True, help=meaning, width="content")
        name = choose_statistic(page, artifact)
        is_real = st.toggle(say("⚠ Show the real values"), key=f"{page}.real_values")
    if not is_real:
        panels.draw_release_chart(shown, artifact.picture(name)[0])
    elif (found := real_answers(page, shown)) is not None:
        panels.real(charts.answers, found, of=found["statistic"] == name, title=name)
        if found["real_value"].isna().any():
            caption("Real quantiles are not shown: each is the number of one row.")


def choose_statistic(page: str, artifact: Answers) -> str:
    """Draw the choice among several statistics, and return the chosen one."""
    first, *more = artifact.names
    key = f"{page}.shown"
    return st.selectbox(say("Statistic to show"), [first, *more], key=key) if more else first


def draw_numbers(shown: ShownRelease) -> None:
    """Draw the table of all answers."""
    st.dataframe(translate_table(shown.release.artifact_as(Answers).table), hide_index=True)
    caption("Intervals hold 9 times of 10: of the noise, of sampling, and of both (low to high).")


def draw_redraws(page: str, shown: ShownRelease) -> None:
    """Draw a button for 20 more runs, then their answers as dots."""
    redraw.offer_redraws(page, shown)
    if shown.redraws is not None:
        artifact = shown.release.artifact_as(Answers)
        others = shown.redraws[shown.redraws["run"] > 0]
        dots = others[["value"]].assign(line=others["metric"].astype(int))
        name = choose_statistic(page, artifact)
        panels.draw_release_chart(shown, artifact.picture(name, dots=dots)[0])


def real_answers(page: str, shown: ShownRelease) -> Statistics | None:
    """Return the answers with the real values beside them; None while they are computed."""
    release = shown.release
    data, answers = replace(shown.data, schema=release.schema), release.artifact_as(Answers).answers
    compute = partial(answers_with_real, answers, release.new_method(), data)
    return jobs.count_rows(page, shown, "real answers", compute)
