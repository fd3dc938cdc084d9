"""What every release shows: its price, its columns, its pairs, and its use for learning.

Written once for all methods. Each panel draws from the immutable release; what it computes from the real rows is
remembered with the release and carries the mark "uses real data".
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.accounting.relation import Relation
from dpcore.arguments import Ints, Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import controls, jobs, session
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.tabs import disclosure
from dpcore.dashboard.tabs.take_home import take_home
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.verdict import CLOSE, Verdict
from dpcore.export import protection
from dpcore.export.model_file import Model
from dpcore.language import say, spoken
from dpcore.methods import METHODS
from dpcore.text import claim, limit, number

NO_NOISE = 1e9  # an epsilon at which noise is far below one count
HANGS = f"{REAL_DATA}. It hangs on the real rows, as nothing else in this line does."
FIRST = 8  # rows: two tables fit a laptop
MOST_NAMED = 3  # pairs
COSTS = "It can cost up to"  # the epsilon that can be proved
UNEVEN = 1.5  # times as far off as the largest group: who pays more
PAIRS_AT_MOST = 60  # columns; beyond it the pairs panel compares a sample of the pairs


def tabs(page: str, shown: Shown, more: Mapping[str, Callable[[], None]]) -> dict[str, Callable[[], None]]:
    """All panels of a release of rows."""
    return {
        "Rows": lambda: rows(page, shown),
        "Price": lambda: price(shown),
        "Columns": lambda: columns(page, shown),
        "Pairs": lambda: pairs(page, shown),
        "Accuracy": lambda: accuracy(page, shown),
        **more,
        disclosure.TAB: lambda: disclosure.learned(page, shown),
        "Take home": lambda: take_home(page, shown, lambda: comparisons(shown)),
    }


def draw_open(page: str, panels: Mapping[str, Callable[[], None]]) -> None:
    """Panels as tabs, of which only the open one is computed."""
    asked = f"{page}.tab"  # by its English name, under which links, lessons and steps ask for it
    names = {say(name): name for name in panels}
    label = f"{asked}.{spoken()}"

    def turned() -> None:
        st.session_state[asked] = names[st.session_state[label]]

    st.session_state.pop(label, None)
    if st.session_state.get(asked) in panels:
        st.session_state[label] = say(st.session_state[asked])
    for tab, draw in zip(st.tabs(list(names), key=label, on_change=turned), panels.values(), strict=True):
        if tab.open:
            with tab, mendable():
                draw()


def headline(shown: Shown) -> None:
    """The release in one line: what it is, what it cost, and whether a guarantee holds."""
    release, ledger = shown.release, shown.release.ledger
    cells = st.columns(4)
    unit = release.schema.unit
    whose = f", per {protection.protects(unit)}" if unit is not None else ""
    claims = "The paper claims" if release.parameters["mode"] == "paper" else "Claimed"
    cells[0].metric(f"{claims}{whose}", claim(ledger.epsilon_claimed), border=True)
    more = ledger.epsilon_bound > ledger.epsilon_claimed
    costs = "It can cost up to, in exact arithmetic" if release.attackable else COSTS
    with cells[1].container(key="over" if more else None):
        if release.schema.source == "inferred":
            st.metric("Guarantee", "none", border=True)
        else:
            st.metric(f"{costs}{whose}", limit(ledger.epsilon_bound), border=True)
    cells[2].metric(*release.artifact.size, border=True)
    cells[3].metric("⚠ Run time", f"{release.seconds:.2f} s", border=True, help=HANGS)
    st.caption(
        f"{escaped(release.method)}, {release.parameters['mode']} mode, made from {escaped(release.data_name)}. "
        f"{ledger.relation.sentence_for(protection.protects(unit))}"
    )
    if person := protection.for_person(unit, ledger.epsilon_bound):
        st.info(f"One person may have several rows. For a person: {escaped(person)}.", icon=":material/groups:")
    if release.guarantee_void:
        st.error(release.guarantee_void, icon=":material/gpp_bad:")
    if release.attackable:
        st.warning(release.attackable, icon=":material/warning:")
    if shown.data.token != session.dataset().token:
        made, now = escaped(release.data_name), escaped(session.dataset().name)
        st.info(f"This was made from {made}. Press Run to use {now}, which was chosen since.", icon=":material/update:")


def rows(page: str, shown: Shown) -> None:
    """What the release kept and lost; the synthetic rows, and real ones below them."""
    release = shown.release
    st.markdown(judged(remember(shown, "verdict", lambda: evaluator(shown).verdict(release.synthetic))))
    st.dataframe(release.synthetic.head(FIRST), hide_index=True, key=f"{page}.synthetic")
    st.caption(f"The first {FIRST} of {len(release.synthetic):,} synthetic rows. None of them is a person.")
    st.dataframe(shown.data.train[list(release.schema.names)].head(FIRST), hide_index=True, key=f"{page}.real")
    st.caption(f"For your eyes only: the first {FIRST} real rows, in no relation to those above ({REAL_DATA}).")


def judged(found: Verdict) -> str:
    """A verdict in sentences: what was kept, what was lost, and who pays."""
    kept = f"{found.close_columns:,} of {found.columns:,} columns"
    kept += f" and {found.close_pairs:,} of {found.pairs:,} pairs" * bool(found.pairs)
    told = [f"**Kept:** {kept} are within {CLOSE * 100:.0f} points of the real rows."]
    if found.lost:
        names = [f"{escaped(tie.first)} × {escaped(tie.second)}" for tie in found.lost[:MOST_NAMED]]
        more = f" and {len(found.lost) - MOST_NAMED:,} more" if len(found.lost) > MOST_NAMED else ""
        told.append(
            f"**Lost:** {', '.join(names)}{more}: in the real rows one tells of the other, here less than half as much."
        )
    worst, largest = found.worst, found.largest
    if worst is not None and largest is not None and worst.distance > UNEVEN * largest.distance:
        who = f"rows with {escaped(worst.column)} = {escaped(worst.value)} ({worst.share:.1%} of all)"
        off = "are missing" if worst.distance == 1 else f"are off by {worst.distance * 100:.0f} points in mean"
        beside = f"those with {escaped(largest.value)} by {largest.distance * 100:.0f}"
        told.append(f"**Who pays:** {who} {off}, {beside}.")
    return f"{' '.join(told)} ({REAL_DATA})"


def price(shown: Shown) -> None:
    """Claimed and proved epsilon, in odds, and where it went."""
    ledger, unit, persons = shown.release.ledger, shown.release.schema.unit, shown.release.schema.persons
    rows = 1 if persons is None else persons.rows  # questions are priced for one of them
    frame = ledger.to_frame()
    bound = ledger.epsilon_bound
    chart(charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=bound))
    left, right = st.columns(2, gap="large")
    more = bound > ledger.epsilon_claimed
    for place, title, epsilon in (
        (left, f"Claimed: {claim(ledger.epsilon_claimed)}", ledger.epsilon_claimed),
        (right, f"{COSTS}: {limit(bound)}", bound),
    ):
        with place:
            st.markdown(f":red[**{title}**]" if place is right and more else f"**{title}**")
            if place is left and math.isinf(epsilon):
                st.markdown("Its source promises nothing that could be put so.")
            else:
                seen = "your reports" if reported(shown) else "the release"
                own = epsilon if unit is None else unit.of_one(epsilon)
                st.markdown(ledger.void if ledger.void and place is right else controls.odds_sentence(own, seen))
                if place is right and shown.release.attackable:
                    st.markdown(shown.release.attackable)
    for reason, part in frame[frame["reason"] != ""].groupby("reason", sort=False):
        st.info(f"{escaped(str(reason))} {factor(part, rows)}", icon=":material/help:")
    if bound < ledger.epsilon_claimed < math.inf:
        st.caption("It costs less than the source claims, which books more for some questions than they can cost.")
    if ledger.void:
        st.caption(
            f"The noise alone would give {amount(ledger.epsilon_of_noise)}. The shares below are of that. They are no "
            "bound: the guarantee is void."
        )
    chart(charts.epsilon_split(frame))
    st.caption(f"{escaped(shown.release.noise_label)}.")
    table_behind(frame, "What each person reported" if reported(shown) else "Every question that was asked of the rows")


def reported(shown: Shown) -> bool:
    """Whether people randomized their own answers."""
    return shown.release.artifact.reports is not None


def factor(entries: pd.DataFrame, rows: int = 1) -> str:
    """How many times what is claimed some questions can cost somebody with so many rows, in a sentence."""
    claimed, bound = rows * entries["epsilon_claimed"].sum(), rows * entries["epsilon_of_noise"].sum()
    paid = "Of the noise alone" if entries["void"].any() else COSTS
    if math.isinf(claimed):
        return ""
    if math.isinf(bound):
        return f"Claimed: epsilon {number(claimed)}. {COSTS}: no limit."
    ratio = bound / claimed if claimed else 0.0
    times = f", **{ratio:{',.0f' if ratio >= 100 else '.3g'}} times** as much" if claimed else ""
    return f"Claimed: epsilon {number(claimed)}. {paid}: epsilon {number(bound)}{times}."


def columns(page: str, shown: Shown) -> None:
    """One column, real beside synthetic, then how far off all of them are."""
    release, real = shown.release, shown.data.train
    worst = remember(shown, "1-way", lambda: distances(shown, 1))
    valid = remember(shown, "validity", lambda: evaluate.validity(release.synthetic, release.schema))
    names = list(worst.sort_values("avd", ascending=False)["attributes"])
    told = "One column, value by value (the worst first)"
    name = st.selectbox(told, names, key=f"{page}.column", label_visibility="collapsed")
    if name is not None:
        place = f"column {name}"
        frame = remember(shown, place, lambda: evaluate.marginals(real, release.synthetic, release.schema, name))
        chart(charts.mark_real(charts.marginal(frame, column=name)), data=frame)
    st.markdown(
        f"Mean distance over all columns: **{worst['avd'].mean():.3f}**; a fresh sample of the real rows would have "
        f"**{worst['floor'].mean():.3f}** ({REAL_DATA}). {valid:.0%} of the synthetic cells lie inside the schema."
    )
    chart(charts.mark_real(charts.worst_columns(worst)), data=worst)


def pairs(page: str, shown: Shown) -> None:
    """Distances of all pairs, and one pair side by side."""
    release = shown.release
    if len(release.schema) < 2:
        st.info("The schema has one column only; there are no pairs.")
        return
    frame = remember(shown, "2-way", lambda: distances(shown, 2))
    every = math.comb(len(release.schema), 2)
    which = "all pairs" if len(frame) == every else f"{len(frame):,} of {every:,} pairs, drawn at random"
    st.markdown(
        f"Mean distance over {which}: **{frame['avd'].mean():.3f}**; a fresh sample of the real rows would have "
        f"**{frame['floor'].mean():.3f}** ({REAL_DATA})."
    )
    chart(charts.mark_real(charts.pair_heatmap(frame)), data=frame)
    worst = frame.sort_values("avd").iloc[-1]
    names = list(release.schema.names)
    left, right = st.columns(2)
    x = left.selectbox("First column", names, index=names.index(worst["a"]), key=f"{page}.pair_x")
    y = right.selectbox("Second column", names, index=names.index(worst["b"]), key=f"{page}.pair_y")
    if x == y:
        st.info("Choose two different columns.")
        return
    shares = remember(
        shown, f"pair {(x, y)!r}", lambda: evaluate.pair(shown.data.train, release.synthetic, release.schema, x, y)
    )
    chart(charts.mark_real(charts.pair_tables(shares, x=x, y=y)), data=shares)


def accuracy(page: str, shown: Shown) -> None:
    """Classifiers trained on the release and on the real rows, both tested on real rows kept aside."""
    release, data = shown.release, shown.data
    target = release.parameters.get("target") or release.schema.target
    if target is None or data.test.empty:
        st.info("Accuracy needs a class column and test rows. Choose them on the page Data & schema.")
        return
    frame = jobs.once(page, shown, "accuracy", "Training classifiers", partial(accuracies, shown, target))
    if frame is None:
        return
    majority = float(frame.loc[frame["model"] == "majority class", "accuracy"].iloc[0])
    models = frame[frame["model"] != "majority class"]
    st.markdown(
        f"How well can **{escaped(target)}** be predicted for {len(data.test):,} real rows that no method has seen, by "
        f"a classifier that learned from the synthetic rows, or from the real ones? ({REAL_DATA})"
    )
    chart(charts.mark_real(charts.accuracy(models, majority=majority)), data=frame)
    for note in frame.loc[frame["note"].fillna("") != "", "note"].unique():
        st.caption(escaped(str(note)))


def accuracies(shown: Shown, target: str, progress: Progress) -> pd.DataFrame:
    """The release's accuracies beside those of real rows and of the same method without noise.

    The reference without noise is for the screen only: it is never released. What it is better at is the price of
    privacy: noise, and whatever a method leaves out because its epsilon is small.
    """
    release, real = shown.release, evaluator(shown)
    found = [real.learned(release.synthetic, target, progress=progress)]
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.5, "the same method without noise")
        rows = without_noise(shown).sample(len(release.synthetic))
        scores = real.learned(rows, target, include_real=False)
        found.append(scores.assign(trained_on="same method, no noise"))
    return pd.concat(found, ignore_index=True)


def without_noise(shown: Shown) -> Any:
    """The same method fitted again, as large as it was, at an epsilon at which nothing is left of NumPy's noise."""
    release = shown.release
    sizes = release.model.sizes if isinstance(release.artifact, Model) else {}
    method = METHODS[release.method](**{**release.parameters, **sizes, "noise": "laplace"})
    return method.at_epsilon(NO_NOISE).fit(shown.data.train, schema=release.schema)


def comparisons(shown: Shown) -> list[tuple[Any, pd.DataFrame]]:
    """The charts of how close all columns and pairs are, for a report that somebody wants them in."""
    worst = remember(shown, "1-way", lambda: distances(shown, 1))
    found: list[tuple[Any, pd.DataFrame]] = [(charts.worst_columns(worst), worst)]
    if len(shown.release.schema) > 1:
        pairs = remember(shown, "2-way", lambda: distances(shown, 2))
        found.append((charts.pair_heatmap(pairs), pairs))
    return found


def evaluator(shown: Shown) -> Evaluator:
    """The real rows of a release, encoded and counted once."""
    return remember(shown, "evaluator", lambda: Evaluator(shown.data))


def likened(shown: Shown) -> Ints:
    """Places of the real rows that a release's own counts are compared with: all, or as many of each person's.

    They are cut as the release was, by other lots: its own are secret.
    """
    unit, rows = shown.release.schema.persons, shown.data.train
    if unit is None:
        return np.arange(len(rows))
    fill, lots = shown.release.ledger.relation is Relation.REPLACE, np.random.default_rng(0)
    return remember(shown, "likened", lambda: unit.kept(unit.persons(rows), lots.random(len(rows)), fill=fill))


def of_persons(shown: Shown) -> str:
    """How the real rows of `likened` were cut, in a sentence; empty if they are all."""
    unit = shown.release.schema.persons
    if unit is None:
        return ""
    places = f"{unit.rows:,} {'row' if unit.rows == 1 else 'rows'}"
    many = places if shown.release.ledger.relation is Relation.REPLACE else f"at most {places}"
    return (
        f" The release is made of {many} of each person, drawn in secret; the real rows beside it are drawn likewise, "
        "anew."
    )


def distances(shown: Shown, degree: int) -> pd.DataFrame:
    """AVD and noise floor per column (`attributes`) or pair (`a`, `b`)."""
    release, real = shown.release, evaluator(shown)
    most = None if len(release.schema) <= PAIRS_AT_MOST else PAIRS_AT_MOST**2 // 2
    frame = real.distances(release.synthetic, degree, most=most)
    floor = real.floors(degree, most=most, rows=len(release.synthetic))
    merged = frame.merge(floor.rename(columns={"avd": "floor"}), on="attributes")
    if degree == 2:
        merged["a"], merged["b"] = merged["attributes"].str[0], merged["attributes"].str[1]
    merged["attributes"] = merged["attributes"].map(" × ".join)
    return merged


def chart(picture: Any, *, data: pd.DataFrame | None = None) -> None:
    """A chart with its alternative text, and the table behind it, marked as the chart is."""
    st.vega_lite_chart(charts.specification(picture), width="stretch")  # its description is the alternative text
    if data is not None:
        mark = f". {REAL_DATA}" if REAL_DATA in picture.title.text else ""
        table_behind(data, f"The numbers behind this chart{mark}")


def table_behind(frame: pd.DataFrame, title: str) -> None:
    """A table in an expander, for people who want to read values."""
    words = {str(relation): relation.short for relation in Relation}
    if "relation" in frame and frame["relation"].isin(words).all():  # and not a column of somebody's own
        frame = frame.assign(relation=frame["relation"].map(words))
    with st.expander(title):
        st.dataframe(frame, hide_index=True)


def amount(epsilon: float) -> str:
    """An epsilon in a sentence."""
    return f"epsilon {number(epsilon)}" if math.isfinite(epsilon) else "no epsilon"
