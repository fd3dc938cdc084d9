"""The tab Summary: the proven epsilon, what was kept and lost, and the worst column."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs, session
from dpcore.dashboard.epsilon import odds_sentence, short_odds
from dpcore.dashboard.panels import classifier, draw_column, evaluator, marginal_distances, marginals, real
from dpcore.dashboard.panels.verdict import Tile, close_columns_tile, column_names, describe_centers, verdict_tiles
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.evaluate.distances import CLOSE, Center
from dpcore.evaluate.evaluator import FOREST, TREE
from dpcore.evaluate.learners import MAJORITY
from dpcore.export import protection
from dpcore.export.artifacts import Model, SyntheticRows
from dpcore.language import phrase, retold, say
from dpcore.text import limit

MOST_VALUES = 8  # values of the drawn column; all other values are one
FIRST = 8  # rows
FEWER = phrase(
    "This release estimates {rows:,.0f} rows; {made:,} rows were made. If your data have far fewer, "
    "the release is mostly noise: raise epsilon, or declare the most rows that there may be."
)


def draw_notices(shown: ShownRelease) -> None:
    """Draw what users must know before they read a release: a void guarantee, or other data."""
    release, ledger = shown.release, shown.release.ledger
    if ledger.guarantee_void or math.isinf(ledger.epsilon_bound):
        st.error(release.guarantee_void, icon=":material/gpp_bad:")
    elif release.guarantee_void:
        with st.container(key="band", horizontal=True, vertical_alignment="center"):
            st.markdown(f":red[:material/gpp_maybe: **{release.guarantee_void}**]", width="content")
            with st.popover(say("Why the claim fails")):
                for reason in dict.fromkeys(filter(None, ledger.to_frame()["reason"])):
                    st.markdown(escape(retold(str(reason))))
    if person := protection.for_person(release.schema.unit, ledger.epsilon_bound, ledger.delta):
        odds = short_odds(protection.log_odds_gained(release.schema.unit, ledger.measure, ledger.totals.bound))
        text = say("One person may have several rows. For a person: {loss}, {odds}.", loss=escape(person), odds=odds)
        st.info(text, icon=":material/groups:")
    if release.attackable:
        st.warning(release.attackable, icon=":material/warning:")
    if shown.settings and shown.settings[2:] == (None,) and (made := release.artifact_as(SyntheticRows).replay_rows):
        st.warning(say(FEWER, rows=release.rows, made=made), icon=":material/warning:")
    if shown.data.token != session.dataset().token:
        of = {"old": escape(release.data_name), "new": escape(session.dataset().name)}
        st.info(say("This release was made from data {old}. Press Run to use {new}.", **of), icon=":material/update:")


def draw_summary(page: str, shown: ShownRelease, remark: str = "") -> None:
    """Draw the tiles of a release and one chart; on request, its first synthetic rows."""
    release, top = shown.release, st.container()
    distant: Sequence[Center] = ()
    if isinstance(release.artifact, Model):
        what, many = release.artifact.size
        found = [*classifier_tiles(page, shown), (say(what), many, "")]
    else:
        judge = partial(evaluator(shown).fidelity, release.synthetic)
        verdict = jobs.count_rows(page, shown, "verdict", judge)
        found, distant = ([], ()) if verdict is None else (verdict_tiles(verdict), verdict.distant)
        worst = jobs.count_rows(page, shown, "1-way", partial(marginal_distances, shown, 1))
        if worst is not None:
            draw_worst_column(shown, worst)
        style: Any = {"key": f"{page}.show_rows", "help": say(remark) or None}
        if st.toggle(say("Show synthetic and real rows"), **style):
            draw_rows(page, shown)
    with top, st.container(key="verdict"):  # gets the focus after a run
        tiles = [epsilon_tile(shown), *found]
        for cell, (label, value, meaning) in zip(st.columns(4), tiles, strict=False):
            cell.metric(label, value, border=True, help=meaning or None, height="stretch")
    if distant:
        st.caption(say("⚠ Medians far off: {names}", names=column_names(distant)), help=describe_centers(distant))
    st.caption(say(REAL_DATA))  # in the tiles, only the sign ⚠ says so


def epsilon_tile(shown: ShownRelease) -> Tile:
    """Return a tile with the proven epsilon and its meaning for a row or a person."""
    release, ledger = shown.release, shown.release.ledger
    unit, bound, label = release.schema.unit, ledger.epsilon_bound, say("Epsilon (proven)")
    if ledger.guarantee_void or math.isinf(bound):
        return label, say("none"), release.guarantee_void
    if bound > ledger.epsilon_claimed:
        label = say("Epsilon (proven at most)")
    if ledger.delta:
        label = say("{title}, at delta {delta}", title=label, delta=f"{ledger.delta:g}")
    if unit is not None:
        label = say("{title}, per {whom}", title=label, whom=say(protection.protects(unit)))
    neighbors = protection.neighbors(unit, ledger.relation)
    gained = protection.log_odds_gained(unit, ledger.measure, ledger.totals.bound)
    value, text = limit(bound), f"{neighbors} {odds_sentence(gained, delta=ledger.delta)}"
    if protection.for_person(unit, bound, ledger.delta):  # a notice shows the odds of a person
        return label, value, text
    return label, say("{epsilon} · {odds}", epsilon=value, odds=short_odds(gained)), text


def draw_worst_column(shown: ShownRelease, worst: pd.DataFrame) -> None:
    """Draw the column that is furthest off, released beside real.

    `worst` has the total variation distances of all columns. After another run, the column of the
    previous run is drawn, to be compared.
    """
    off = worst.set_index("attributes")["avd"] * 100
    name = last = str(off.idxmax())
    if shown.previous is not None:
        name = str(shown.previous.memory.get("drawn", last))
    title = say("The worst column, off by {points:.1f} points: {column}", points=off[name], column=name)
    if off[name] < off[last]:
        of = {"points": off[name], "column": name, "worst": last, "more": off[last]}
        title = say("{column}, off by {points:.1f} points; the worst column is {worst}, off by {more:.1f}", **of)
    shown.memory["drawn"] = name
    draw_column(shown, name, title=title, most=MOST_VALUES)


def classifier_tiles(page: str, shown: ShownRelease) -> list[Tile]:
    """Draw a classifier's accuracy, or its worst column without test rows; return its tiles."""
    if not len(shown.data.test_sample):
        caption("No rows were set aside for testing. Choose a share of test rows on Data.")
        if (counts := marginals.classifier_marginals(page, shown)) is None:
            return []
        frame, off = counts
        marginals.draw_counts(frame, off["attributes"].iloc[0])
        return [close_columns_tile(int((off["avd"] <= CLOSE).sum()), len(off))]
    if (found := classifier.compared_classifiers(page, shown)) is None:
        return []
    scores = found[0].set_index("model")["accuracy"]
    real(charts.classifier_scores, found[0], of=~found[0]["model"].isin([TREE, FOREST]))
    baseline = say("The baseline: always predict the most frequent class.")
    majority = say("⚠ Majority-class accuracy"), f"{scores[MAJORITY]:.1%}", baseline
    return [(say("⚠ Accuracy"), f"{scores.iloc[0]:.1%}", ""), majority]


def draw_rows(page: str, shown: ShownRelease) -> None:
    """Draw the first synthetic rows, and the same number of unrelated real rows beside them."""
    release = shown.release
    left, right = st.columns(2)
    with left:
        markdown("**Synthetic rows**: none is a copy, though one may coincide with a real row.")
        st.dataframe(release.synthetic.head(FIRST), hide_index=True, key=f"{page}.synthetic")
    with right:
        markdown("**Real rows**, unrelated to the synthetic rows. {mark}.", mark=say(REAL_DATA))
        st.dataframe(evaluator(shown).first_rows(release.schema.names, FIRST), hide_index=True, key=f"{page}.real_rows")
