"""Twin worlds of one's own: the table in use, and the same without one person or with that person's values changed.

Real rows are read by many runs. Nothing of them is released, so that nothing is charged; everything is marked, and what
it would cost to show it is said.
"""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.arguments import Progress
from dpcore.audit import cases
from dpcore.audit.cases import Case, Twins
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import controls, jobs, links, session
from dpcore.dashboard.epsilon import epsilon_picker
from dpcore.dashboard.pages.audit import twin_worlds
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import caption, choice, lasting, markdown
from dpcore.datasets import Dataset
from dpcore.datasets.reading import MAX_BYTES
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.text import number

TRIALS = (20, 30, 50, 70, 100, 150, 200, 300, 500)
CHANGES = {"add_remove": phrase("Remove this person"), "replace": phrase("Give this person the values of another")}
WAIT = 20.0  # seconds that nobody minds
CELLS = 200_000  # of the table that takes a method its `seconds`


@dataclass(frozen=True)
class Asked:
    """What is to be run: rows are counted from 1, as people do."""

    method: str
    mode: str
    epsilon: float
    relation: str
    row: int
    other: int
    trials: int

    @property
    def runs(self) -> int:
        """What one run in each world costs, in runs: under replace, a person's values stand in two rows of world B."""
        return 3 if self.relation == "replace" else 2


def own(page: str, data: Dataset) -> None:
    """Choose a person, run both worlds, and see."""
    markdown(
        "**Could anybody tell from a release whether this person is in the table?** Your own table is one world, "
        "and the same table without one person, or with that person’s values changed, is the other."
    )
    if not data.held:
        needs = phrase(
            "The rows in use are in a folder. Both worlds need them in memory: upload {size} MB of them at most."
        )
        st.info(say(needs, size=MAX_BYTES >> 20))
        return
    mark = say(REAL_DATA).removeprefix("⚠ ").lower()
    st.warning(say("Everything below: {mark}.", mark=mark), icon=":material/visibility_lock:")
    key = f"{page}.own"
    with links.of(page, data, "own"):
        asked = settings(key, data)
    with st.expander(say("The person’s values. {mark}", mark=say(REAL_DATA))), mendable():
        values(data, asked)
    price(asked)
    look: Any = {"type": "primary", "icon": ":material/play_arrow:", "width": "stretch"}
    look["disabled"] = controls.refusal(estimator_of(asked, data), data.schema) != ""
    jobs.button(say("Run on my own table"), key, "run", **look)
    last = session.kept("dpcore.twins.own", dict[str, tuple[Asked, str, Case, Twins]])

    def work(progress: Progress) -> None:
        case = case_of(asked, data)
        last["run"] = (asked, data.token, case, cases.run(case, asked.trials, progress=progress))

    working = jobs.run(phrase("Running both worlds"), key, work)
    if not last:
        if not working:
            st.info(say("Press the button. Nothing is read before."), icon=":material/arrow_upward:")
        return
    before, token, case, done = last["run"]
    if (before, token) != (asked, data.token):
        st.info(say("The settings or the data were changed since. Below: the last run."), icon=":material/update:")
    told(before, case, done)
    twin_worlds.headline(case, done)
    twin_worlds.pictures(page, case, done, real=True)
    twin_worlds.explained()


def settings(key: str, data: Dataset) -> Asked:
    """Method, epsilon, person, and what becomes of them."""
    epsilon = epsilon_picker(key, persons=data.schema.persons is not None)
    left, right = st.columns(2, gap="large")
    with left:
        names = [name for name in METHODS if target(data) or "target" not in METHODS[name]().get_params()]
        titles = {name: twin_worlds.grouped(name) for name in names}
        name = choice(st.selectbox, say("Method"), f"{key}.method", titles)
        kind: type[PrivateEstimator] = METHODS[name]
        modes = {mode: words for mode, words in twin_worlds.MODES.items() if mode in kind.modes}
        last, mode_key = len(modes) - 1, f"{key}.mode.{len(modes)}"
        mode = choice(st.radio, say("Mode"), mode_key, modes, last, horizontal=True)
        changes = {change: words for change, words in CHANGES.items() if change in kind.relations_in(mode)}
        relation_key = f"{key}.relation.{'.'.join(changes)}"
        change, own = say("What happens to the person"), kind.parameters()["relation"].default
        relation = choice(st.radio, change, relation_key, changes, usual=own)
    with right:
        other, rows = 1, len(data.train_sample)
        row = lasting(st.number_input, say("Row of the person, from 1"), f"{key}.row:{data.token}", 1, rows, 1)
        if relation == "replace":
            label = say("Row whose values are taken")
            other = lasting(st.number_input, label, f"{key}.other:{data.token}", 1, rows, min(2, rows))
        seconds = kind.seconds[mode == "published"] * max(rows * len(data.schema) / CELLS, 0.1)
        usual = max((trials for trials in TRIALS if 2 * trials * seconds <= WAIT), default=TRIALS[0])
        trials_key, usual = f"{key}.trials.{name}.{mode}", min(usual, 100)
        trials = lasting(st.select_slider, say("Runs in each world"), trials_key, TRIALS, value=usual)
        caption("About {n} seconds on a usual computer.", n=math.ceil(2 * trials * seconds))
    return Asked(name, mode, epsilon, relation, row, other, trials)


def target(data: Dataset) -> str | None:
    """The class column: the schema's, or the last one with categories."""
    names = [column.name for column in data.schema if not column.numeric]
    wished = data.schema.target
    return wished if wished in names else names[-1] if names else None


def estimator_of(asked: Asked, data: Dataset) -> PrivateEstimator:
    """The method that runs in both worlds."""
    kind: type[PrivateEstimator] = METHODS[asked.method]
    estimator = kind(mode=asked.mode, relation=asked.relation).at_epsilon(asked.epsilon)
    return estimator.set_params(target=target(data)) if "target" in estimator.get_params() else estimator


def case_of(asked: Asked, data: Dataset) -> Case:
    """The case of one's own."""
    estimator = estimator_of(asked, data)
    other = {str(name): value for name, value in data.train_sample.iloc[asked.other - 1].items()}
    given = other if asked.relation == "replace" else None
    return cases.own_row(
        estimator, data.schema, data.train_sample, asked.row - 1, asked.relation, other=given, trials=asked.trials
    )


def values(data: Dataset, asked: Asked) -> None:
    """The values of the person in both worlds, side by side; a table that has no download."""
    names = list(data.schema.names)
    mine = data.train_sample[names].iloc[asked.row - 1]
    changed = data.train_sample[names].iloc[asked.other - 1] if asked.relation == "replace" else None
    there = [say("(not there)")] * len(names) if changed is None else [escaped(str(value)) for value in changed]
    shown = {say("World A"): [escaped(str(value)) for value in mine], say("World B"): there}
    st.table(pd.DataFrame(shown, index=pd.Index([escaped(name) for name in names], name=say("column"))))


def price(asked: Asked) -> None:
    """Why nothing is charged, and what it would cost."""
    kind = METHODS[asked.method]
    if asked.mode == "published" and (len(kind.modes) == 1 or "none claimed" in kind.provable_printed):
        would = say(
            "**If you showed it to anybody, no epsilon would be left: this method claims none**, and they would learn "
            "whom you asked about."
        )
    else:
        times = asked.runs * asked.trials
        would = say(
            "**If you showed it to anybody, that could cost up to the sum of all runs: epsilon {sum}** ({times:,} "
            "times {epsilon:g}, if one run keeps its claim), and they would learn whom you asked about.",
            sum=number(times * asked.epsilon),
            times=times,
            epsilon=asked.epsilon,
        )
    free = say(
        "Both worlds together are {runs:,} runs, on tables with and without a row that you name. The ledger charges "
        "runs on the rows as they are; this carries ⚠ instead, and is for your eyes only.",
        runs=2 * asked.trials,
    )
    st.caption(f"{free} {would}")


def told(asked: Asked, case: Case, done: Twins) -> None:
    """What was run."""
    st.divider()
    result = done.result
    total = asked.runs * result.trials * result.bound
    neighbors = controls.relation_words(asked.relation, case.schema.persons is not None)
    markdown(
        "Row {row:,}, {method}, {mode} mode. {story} Neighbors: {neighbors}; epsilon for one run; all these runs "
        "together: {cost}.",
        row=asked.row,
        method=asked.method,
        mode=say(asked.mode),
        story=case.story,
        neighbors=say(neighbors).lower(),
        cost=say("epsilon {epsilon}", epsilon=number(total)) if math.isfinite(total) else say("no limit"),
    )
