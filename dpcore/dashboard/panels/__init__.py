"""What every release shows: its price, its columns, its pairs, and its use for learning.

Written once for all methods. Each panel draws from the immutable release; what it computes from the real rows is
remembered with the release and carries the mark "uses real data".
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.accounting.currency import above
from dpcore.accounting.relation import Relation
from dpcore.arguments import Ints, Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import controls, jobs
from dpcore.dashboard.panels import disclosure
from dpcore.dashboard.panels.take_home import take_home
from dpcore.dashboard.panels.verdict import judged
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import caption, markdown, worded
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.export import protection
from dpcore.export.model_file import Model
from dpcore.language import ENGLISH, phrase, plural, retold, say, speaking, spoken
from dpcore.methods import METHODS
from dpcore.text import claim, limit, number

NO_NOISE = 1e9  # an epsilon at which noise is far below one count
FIRST = 8  # rows: two tables fit a laptop
PAIRS_AT_MOST = 60  # columns; beyond it the pairs panel compares a sample of the pairs


def tabs(page: str, shown: Shown, more: Mapping[str, Callable[[], None]]) -> dict[str, Callable[[], None]]:
    """All panels of a release of rows."""
    return {
        phrase("Rows"): lambda: rows(page, shown),
        phrase("Price"): lambda: price(shown),
        phrase("Columns"): lambda: columns(page, shown),
        phrase("Pairs"): lambda: pairs(page, shown),
        phrase("Accuracy"): lambda: accuracy(page, shown),
        **more,
        disclosure.TAB: lambda: disclosure.learned(page, shown),
        phrase("Take home"): lambda: take_home(page, shown, lambda: comparisons(shown)),
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


def rows(page: str, shown: Shown) -> None:
    """What the release kept and lost; the synthetic rows, and real ones below them."""
    release = shown.release
    judge = partial(evaluator(shown).verdict, release.synthetic)
    if (found := jobs.counted(page, shown, "verdict", judge)) is not None:
        st.markdown(judged(found))
    st.dataframe(release.synthetic.head(FIRST), hide_index=True, key=f"{page}.synthetic")
    caption(
        "The first {first} of {rows:,} synthetic rows. None was copied from a person, though one may coincide with a "
        "real row.",
        first=FIRST,
        rows=len(release.synthetic),
    )
    st.dataframe(evaluator(shown).first_rows(release.schema.names, FIRST), hide_index=True, key=f"{page}.real")
    told = phrase("For your eyes only: the first {first} real rows, in no relation to those above ({mark}).")
    if not shown.data.held:
        told = phrase("For your eyes only: {first} real rows of many, in no relation to those above ({mark}).")
    caption(told, first=FIRST, mark=say(REAL_DATA))


def price(shown: Shown) -> None:
    """Claimed and proved epsilon, in odds, and where it went."""
    ledger, unit, persons = shown.release.ledger, shown.release.schema.unit, shown.release.schema.persons
    rows = 1 if persons is None else persons.max_contributions  # questions are priced for one of them
    frame = ledger.to_frame()
    bound = ledger.epsilon_bound
    chart(charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=bound, delta=ledger.delta))
    left, right = st.columns(2, gap="large")
    more = bound > ledger.epsilon_claimed
    for place, title, spent in (
        (left, say("Claimed: {epsilon}", epsilon=claim(ledger.epsilon_claimed)), ledger.totals.claimed),
        (right, say("It can cost up to: {epsilon}", epsilon=limit(bound)), ledger.totals.bound),
    ):
        with place:
            st.markdown(f":red[**{title}**]" if place is right and more else f"**{title}**")
            if place is left and math.isinf(spent):
                markdown("Its source promises nothing that could be put so.")
            else:
                seen = phrase("your reports") if reported(shown) else phrase("the release")
                own = protection.gained(unit, ledger.currency, spent)
                void = ledger.guarantee_void if place is right else ""
                st.markdown(say(void) if void else controls.odds_sentence(own, seen, ledger.delta))
                if place is right and shown.release.attackable:
                    st.markdown(shown.release.attackable)
    for reason, part in frame[frame["reason"] != ""].groupby("reason", sort=False):
        st.info(f"{escaped(retold(str(reason)))} {factor(part, rows)}", icon=":material/help:")
    if bound < ledger.epsilon_claimed < math.inf:
        caption("The source claims a larger epsilon than is proved: some questions cannot cost what it books.")
    if ledger.guarantee_void:
        caption(
            "The noise alone would give {epsilon}. The shares below are of that. They are no bound: the guarantee is "
            "void.",
            epsilon=amount(ledger.epsilon_nominal),
        )
    if ledger.delta:
        rho = say("Questions are paid in rho, which adds up: {rho} in all.", rho=number(above(ledger.totals.of_noise)))
        st.caption(rho if ledger.guarantee_void else f"{rho} {protection.of_delta(ledger.delta)}")
    chart(charts.epsilon_split(ledger.breakdown()))
    caption("{sentence}.", sentence=escaped(retold(shown.release.noise_label)))
    asked = say("What each person reported") if reported(shown) else say("Every question that was asked of the rows")
    table_behind(frame, asked)


def reported(shown: Shown) -> bool:
    """Whether people randomized their own answers."""
    return shown.release.artifact.reports is not None


def factor(entries: pd.DataFrame, rows: int = 1) -> str:
    """How many times what is claimed some questions can cost somebody with so many rows, in a sentence."""
    claimed, bound = rows * entries["epsilon_claimed"].sum(), rows * entries["epsilon_nominal"].sum()
    if math.isinf(claimed):
        return ""
    of = {"claimed": number(claimed), "bound": number(bound)}
    if math.isinf(bound):
        return say("Claimed: epsilon {claimed}. It can cost up to: no limit.", claimed=number(claimed))
    if not claimed:
        if entries["void"].any():
            return say("Claimed: epsilon {claimed}. Of the noise alone: epsilon {bound}.", **of)
        return say("Claimed: epsilon {claimed}. It can cost up to: epsilon {bound}.", **of)
    ratio = bound / claimed
    of["times"] = f"{ratio:{',.0f' if ratio >= 100 else '.3g'}}"
    if entries["void"].any():
        told = phrase("Claimed: epsilon {claimed}. Of the noise alone: epsilon {bound}, **{times} times** as much.")
    else:
        told = phrase("Claimed: epsilon {claimed}. It can cost up to: epsilon {bound}, **{times} times** as much.")
    return say(told, **of)


def columns(page: str, shown: Shown) -> None:
    """One column, real beside synthetic, then how far off all of them are."""
    release, rows = shown.release, evaluator(shown).rows
    if (worst := jobs.counted(page, shown, "1-way", partial(distances, shown, 1))) is None:
        return
    valid = remember(shown, "validity", lambda: evaluate.validity(release.synthetic, release.schema))
    names = list(worst.sort_values("avd", ascending=False)["attributes"])
    told = say("One column, value by value (the worst first)")
    name = st.selectbox(told, names, key=f"{page}.column", label_visibility="collapsed")
    if name is not None:
        of_one = partial(evaluate.marginals, rows, release.synthetic, release.schema, name)
        frame = remember(shown, f"column {name}", of_one)
        real(charts.marginal, frame, column=name)
    markdown(
        "Mean distance over all columns: **{mean:.3f}**; a fresh sample of the real rows would have **{floor:.3f}** "
        "({mark}). {valid:.0%} of the synthetic cells lie inside the schema.",
        mean=worst["avd"].mean(),
        floor=worst["floor"].mean(),
        mark=say(REAL_DATA),
        valid=valid,
    )
    real(charts.worst_columns, worst)


def pairs(page: str, shown: Shown) -> None:
    """Distances of all pairs, and one pair side by side."""
    release = shown.release
    if len(release.schema) < 2:
        st.info(say("The schema has one column only; there are no pairs."))
        return
    if (frame := jobs.counted(page, shown, "2-way", partial(distances, shown, 2))) is None:
        return
    every = math.comb(len(release.schema), 2)
    some = say("{n:,} of {every:,} pairs, drawn at random", n=len(frame), every=every)
    markdown(
        "Mean distance over {which}: **{mean:.3f}**; a fresh sample of the real rows would have **{floor:.3f}** "
        "({mark}).",
        which=say("all pairs") if len(frame) == every else some,
        mean=frame["avd"].mean(),
        floor=frame["floor"].mean(),
        mark=say(REAL_DATA),
    )
    real(charts.pair_heatmap, frame)
    worst = frame.sort_values("avd").iloc[-1]
    names = list(release.schema.names)
    left, right = st.columns(2)
    x = left.selectbox(say("First column"), names, index=names.index(worst["a"]), key=f"{page}.pair_x")
    y = right.selectbox(say("Second column"), names, index=names.index(worst["b"]), key=f"{page}.pair_y")
    if x == y:
        st.info(say("Choose two different columns."))
        return
    of_two = partial(evaluate.pair_marginal, evaluator(shown).rows, release.synthetic, release.schema, x, y)
    shares = remember(shown, f"pair {(x, y)!r}", of_two)
    real(charts.pair_tables, shares, x=x, y=y)


def accuracy(page: str, shown: Shown) -> None:
    """Classifiers trained on the release and on the real rows, both tested on real rows kept aside."""
    release, data = shown.release, shown.data
    target = release.parameters.get("target") or release.schema.target
    if target is None or not len(data.test_sample):
        st.info(say("Accuracy needs a class column and test rows. Choose them on the page Data & schema."))
        return
    frame = jobs.once(page, shown, "accuracy", phrase("Training classifiers"), partial(accuracies, shown, target))
    if frame is None:
        return
    majority = float(frame.loc[frame["model"] == "majority class", "accuracy"].iloc[0])
    markdown(
        "How well can **{target}** be predicted for {rows:,} real rows that no method has seen, by a classifier that "
        "learned from the synthetic rows, or from the real ones? ({mark})",
        target=escaped(target),
        rows=len(data.test_sample),
        mark=say(REAL_DATA),
    )
    real(charts.accuracy, frame, of=frame["model"] != "majority class", majority=majority)
    tested = evaluator(shown).asked
    for note in dict.fromkeys(note.removesuffix(tested).strip() for note in frame["note"].fillna("")):
        if note:
            st.caption(escaped(retold(note)))
    of_test_rows(shown)


def of_test_rows(shown: Shown) -> None:
    """Of test rows in a folder, that some of them are asked about."""
    if told := evaluator(shown).asked:
        st.caption(escaped(retold(told)))


def accuracies(shown: Shown, target: str, progress: Progress) -> pd.DataFrame:
    """The release's accuracies beside those of real rows and of the same method without noise.

    The reference without noise is for the screen only: it is never released. What it is better at is the price of
    privacy: noise, and whatever a method leaves out because its epsilon is small.
    """
    release, measured = shown.release, evaluator(shown)
    found = [measured.learned(release.synthetic, target, progress=progress)]
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.5, phrase("the same method without noise"))
        rows = noiseless(shown).sample(len(release.synthetic))
        scores = measured.learned(rows, target, include_real=False)
        found.append(scores.assign(trained_on="same method, no noise"))
    return pd.concat(found, ignore_index=True)


def noiseless(shown: Shown) -> Any:
    """The same method fitted again, as large as it was, at an epsilon at which nothing is left of NumPy's noise."""
    release = shown.release
    sizes = release.model.sizes if isinstance(release.artifact, Model) else {}
    method = METHODS[release.method](**{**release.parameters, **sizes, "noise": "laplace"})
    return method.at_epsilon(NO_NOISE).fit(shown.data.train, schema=release.schema)


def comparisons(shown: Shown) -> list[tuple[Any, pd.DataFrame]]:
    """The charts of how close all columns and pairs are, for a report that somebody wants them in."""
    with speaking(ENGLISH):  # as all files are
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
    unit, fill = shown.release.schema.persons, shown.release.ledger.relation is Relation.REPLACE
    return remember(shown, "likened", lambda: evaluator(shown).contributed(unit, fill=fill))


def of_persons(shown: Shown) -> str:
    """How the real rows of `likened` were cut, in a sentence; empty if they are all."""
    unit = shown.release.schema.persons
    if unit is None:
        return ""
    if shown.release.ledger.relation is Relation.REPLACE:
        return plural(
            " The release is made of {n:,} row of each person, drawn in secret; the real rows beside it are drawn "
            "likewise, anew.",
            " The release is made of {n:,} rows of each person, drawn in secret; the real rows beside it are drawn "
            "likewise, anew.",
            unit.max_contributions,
        )
    return plural(
        " The release is made of at most {n:,} row of each person, drawn in secret; the real rows beside it are drawn "
        "likewise, anew.",
        " The release is made of at most {n:,} rows of each person, drawn in secret; the real rows beside it are drawn "
        "likewise, anew.",
        unit.max_contributions,
    )


def distances(shown: Shown, degree: int) -> pd.DataFrame:
    """AVD and noise floor per column (`attributes`) or pair (`a`, `b`)."""
    release = shown.release
    most = None if len(release.schema) <= PAIRS_AT_MOST else PAIRS_AT_MOST**2 // 2
    return evaluator(shown).beside_floors(release.synthetic, degree, most)


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
        told, mark = say("The numbers behind this chart"), say(REAL_DATA)
        table_behind(data, say("{title}. {mark}", title=told, mark=mark) if mark in picture.title.text else told)


def table_behind(frame: pd.DataFrame, title: str) -> None:
    """A table in an expander, for people who want to read values."""
    words = {str(relation): relation.short for relation in Relation}
    if "relation" in frame and frame["relation"].isin(words).all():  # and not a column of somebody's own
        frame = frame.assign(relation=frame["relation"].map(words))
    with st.expander(title):
        st.dataframe(worded(frame), hide_index=True)


def own_table_behind(frame: pd.DataFrame, title: str) -> None:
    """The same of a table whose columns have names of ours."""
    table_behind(frame.rename(columns=say), title)


def amount(epsilon: float) -> str:
    """An epsilon in a sentence."""
    return say("epsilon {number}", number=number(epsilon)) if math.isfinite(epsilon) else say("no epsilon")
