"""The first look at a release: what is proven, what was kept and lost, and its worst column beside the real one."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs, session
from dpcore.dashboard.epsilon import CERTAIN, odds_in_short, odds_sentence
from dpcore.dashboard.panels import classifier, distances, evaluator, marginals, real
from dpcore.dashboard.panels.verdict import kept, lost_relations, served_worst
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.evaluate.baselines import FOREST, TREE
from dpcore.evaluate.learners import MAJORITY
from dpcore.evaluate.verdict import CLOSE, Verdict
from dpcore.export import protection
from dpcore.export.model_file import Model
from dpcore.language import retold, say
from dpcore.methods import METHODS
from dpcore.text import claim, limit, odds

MOST_VALUES = 12  # of the column that is drawn
FIRST = 8  # rows
Tile = tuple[str, str, str]  # label, value, and what it means


def notices(shown: Shown) -> None:
    """What must be known before anything of a release is read: no guarantee, a wrong claim, or other data in use."""
    release, ledger = shown.release, shown.release.ledger
    if ledger.guarantee_void or math.isinf(ledger.epsilon_bound):
        st.error(release.guarantee_void, icon=":material/gpp_bad:")
    elif release.guarantee_void:
        with st.container(key="band", horizontal=True, vertical_alignment="center"):
            st.markdown(f":red[:material/gpp_maybe: **{release.guarantee_void}**]", width="content")
            with st.popover(say("Why?")):
                frame = ledger.to_frame()
                for reason in dict.fromkeys(frame.loc[frame["reason"] != "", "reason"]):
                    st.markdown(escaped(retold(str(reason))))
    if person := protection.for_person(release.schema.unit, ledger.epsilon_bound, ledger.delta):
        odds = odds_in_short(protection.gained(release.schema.unit, ledger.currency, ledger.totals.bound))
        told = say("One person may have several rows. For a person: {price}, {odds}.", price=escaped(person), odds=odds)
        st.info(told, icon=":material/groups:")
    if release.attackable:
        st.warning(release.attackable, icon=":material/warning:")
    if shown.data.token != session.dataset().token:
        told = say(
            "This was made from {made}. Press Run to use {now}, which was chosen since.",
            made=escaped(release.data_name),
            now=escaped(session.dataset().name),
        )
        st.info(told, icon=":material/update:")


def summary(page: str, shown: Shown, remark: str = "") -> None:
    """Tiles, one chart, and the rows behind a switch."""
    release = shown.release
    if isinstance(release.artifact, Model):
        of_classifier(page, shown)
        st.caption(origin(shown, remark))
        return
    top = st.container()
    judge = partial(evaluator(shown).verdict, release.synthetic)
    found = jobs.counted(page, shown, "verdict", judge)
    worst = jobs.counted(page, shown, "1-way", partial(distances, shown, 1))
    with top:
        tiles([epsilon_tile(shown), *([] if found is None else verdict_tiles(found))])
    if worst is not None:
        worst_column(shown, worst)
    st.caption(say(REAL_DATA))  # which the tiles say by its sign alone
    if st.toggle(say("Show synthetic and real rows"), key=f"{page}.show_rows", help=origin(shown, remark)):
        rows(page, shown)


def tiles(shown: list[Tile]) -> None:
    """Numbers in frames, side by side; the first one gets the focus after a run."""
    with st.container(key="verdict"):
        for cell, (label, value, meaning) in zip(st.columns(4), shown, strict=False):
            cell.metric(label, value, border=True, help=meaning or None)


def epsilon_tile(shown: Shown) -> Tile:
    """What is proven, in epsilon and in odds."""
    release, ledger = shown.release, shown.release.ledger
    unit, bound = release.schema.unit, ledger.epsilon_bound
    if ledger.guarantee_void or math.isinf(bound):
        return say("Epsilon (proven)"), say("none"), release.guarantee_void
    label = say("Epsilon (proven)") if bound <= ledger.epsilon_claimed else say("Epsilon (proven at most)")
    gained = protection.gained(unit, ledger.currency, ledger.totals.bound)
    told = [say(ledger.relation.sentence_for(protection.protects(unit)))]
    if ledger.delta:
        label = say("{title}, at delta {delta}", title=label, delta=f"{ledger.delta:g}")
        told.append(protection.of_delta(ledger.delta))
    if unit is not None:
        label = say("{title}, per {whose}", title=label, whose=say(protection.protects(unit)))
    if protection.for_person(unit, bound, ledger.delta):  # whose odds are others, and stand beside it
        return label, limit(bound), " ".join(told)
    if odds(gained) >= CERTAIN:  # a tile has no room for it
        return label, limit(bound), " ".join([*told, odds_sentence(gained)])
    return label, say("{epsilon} · {odds}", epsilon=limit(bound), odds=odds_in_short(gained)), " ".join(told)


def verdict_tiles(found: Verdict) -> list[Tile]:
    """What was kept, what was lost, and who is served worst."""
    close = say("{close:,} of {all:,}", close=found.close_columns, all=found.columns)
    shown = [(say("⚠ Columns close"), close, kept(found))]
    if found.ties:
        many = say("{close:,} of {all:,}", close=found.ties - len(found.lost), all=found.ties)
        shown.append((say("⚠ Relations kept"), many, lost_relations(found)))
    else:
        shown.append((say("⚠ Relations kept"), say("none to keep"), lost_relations(found)))
    if found.worst is not None:
        label = f"{say('⚠ Served worst')}: {escaped(found.worst.column)}"
        shown.append((label, escaped(str(found.worst.value)), served_worst(found)))
    return shown


def worst_column(shown: Shown, worst: pd.DataFrame) -> None:
    """The worst column of few values, real and synthetic, and the run before."""
    release, before = shown.release, shown.previous
    few = {column.name for column in release.schema if column.size <= MOST_VALUES}
    of_few = worst[worst["attributes"].isin(few)]
    name = str((of_few if len(of_few) else worst).sort_values("avd")["attributes"].iloc[-1])
    shares = partial(evaluate.marginals, evaluator(shown).rows, release.synthetic, release.schema, name)
    look: dict[str, Any] = {}
    if before is not None:
        earlier = partial(evaluate.marginals, evaluator(shown).rows, before.release.synthetic, release.schema, name)
        look["previous"] = remember(before, f"column {name}", earlier)
        epsilon = claim(before.release.ledger.epsilon_claimed)
        look["before"] = say("the run before, epsilon {epsilon}", epsilon=epsilon)
    real(charts.marginal, remember(shown, f"column {name}", shares), column=name, **look)


def of_classifier(page: str, shown: Shown) -> None:
    """The accuracy of a released classifier beside what it has to be measured against."""
    what, many = shown.release.artifact.size
    size = (say(what), many, "")
    if not len(shown.data.test_sample):
        without_tests(page, shown, size)
        return
    top = st.container()
    found = classifier.comparison(page, shown)
    if found is None:
        with top:
            tiles([epsilon_tile(shown), size])
        return
    scores = found[0].set_index("model")["accuracy"]
    accuracy = (say("⚠ Accuracy"), f"{scores.iloc[0]:.1%}", say("Share of test rows that are predicted correctly."))
    majority = (
        say("⚠ Majority class"),
        f"{scores[MAJORITY]:.1%}",
        say("Always the most frequent class: the baseline."),
    )
    with top:
        tiles([epsilon_tile(shown), accuracy, majority, size])
    real(charts.classifier_scores, found[0], of=~found[0]["model"].isin([TREE, FOREST]))


def without_tests(page: str, shown: Shown, size: Tile) -> None:
    """The worst column of a classifier's released counts, where no rows can tell how good it is."""
    top = st.container()
    caption("No rows were set apart for testing: choose it on Data.")
    found, shown_tiles = marginals.of_counts(page, shown), [epsilon_tile(shown)]
    if found is not None:
        frame, distances_of = found
        close, points = int((distances_of["avd"] <= CLOSE).sum()), f"{CLOSE * 100:.0f}"
        of = {"close": close, "columns": len(distances_of), "points": points}
        meaning = say("**Kept:** {close:,} of {columns:,} columns are within {points} points of the real rows.", **of)
        value = say("{close:,} of {all:,}", close=close, all=len(distances_of))
        shown_tiles.append((say("⚠ Columns close"), value, meaning))
        marginals.of_column(frame, distances_of["attributes"].iloc[0])
    with top:
        tiles([*shown_tiles, size])


def origin(shown: Shown, remark: str) -> str:
    """What was released, of what, and by which method."""
    release = shown.release
    what, many = release.artifact.size
    made = say(
        "{what}: {many}. {method} ({by}), {mode}, made from {data} in {seconds:.1f} s ({mark}).",
        what=say(what),
        many=many,
        method=escaped(release.method),
        by=say(METHODS[release.method].reference),
        mode=say("as published") if release.parameters["mode"] == "published" else say("corrected"),
        data=escaped(release.data_name),
        seconds=release.seconds,
        mark=say(REAL_DATA),
    )
    return f"{made} {say(remark)}" if remark else made


def rows(page: str, shown: Shown) -> None:
    """The first synthetic rows, and as many real ones beside them."""
    release = shown.release
    left, right = st.columns(2)
    with left:
        markdown("**Synthetic rows**")
        st.dataframe(release.synthetic.head(FIRST), hide_index=True, key=f"{page}.synthetic")
        caption("None was copied from a person, though one may coincide with a real row.")
    with right:
        markdown("**Real rows**, for your eyes only")
        st.dataframe(evaluator(shown).first_rows(release.schema.names, FIRST), hide_index=True, key=f"{page}.real_rows")
        caption("In no relation to the rows beside them ({mark}).", mark=say(REAL_DATA))
