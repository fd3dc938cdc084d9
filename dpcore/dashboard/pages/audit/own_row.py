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
from dpcore.dashboard.demonstration import epsilon_slider
from dpcore.dashboard.epsilon import EPSILONS
from dpcore.dashboard.pages.audit import twin_worlds
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import caption, choice, focus, lasting, settings_drawer
from dpcore.datasets import Dataset
from dpcore.datasets.reading import MAX_BYTES
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.text import number

TRIALS = (20, 30, 50, 70, 100, 150, 200, 300, 500)
CHANGES = {"add_remove": phrase("Remove this person"), "replace": phrase("Give this person the values of another")}
WAIT = 20.0  # seconds that people wait gladly
CELLS = 200_000  # of the table that takes a method its `seconds`


@dataclass(frozen=True)
class OwnRow:
    """What is to be run about a row: rows are counted from 1, as people do."""

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


def own(page: str, data: Dataset, place: Any) -> None:
    """Choose a person, run both worlds, and see; the button stands in its place."""
    if not data.held:
        needs = phrase(
            "The rows in use are in a folder. Both worlds need them in memory: upload {size} MB of them at most."
        )
        st.info(say(needs, size=MAX_BYTES >> 20))
        return
    key = f"{page}.own"
    jobs.answer(place, key, twin_worlds.RUNNING)
    with st.container(key="settings"), links.of(page, data, "own"):
        choices = settings(key, data)
    look: Any = {"type": "primary", "icon": ":material/play_arrow:", "width": "stretch"}
    look["disabled"] = controls.refusal(estimator_of(choices, data), data.schema) != ""
    jobs.end_in_page(key)
    last = session.kept("dpcore.twins.own", dict[str, tuple[OwnRow, str, Case, Twins]])

    def work(progress: Progress) -> None:
        case = case_of(choices, data)
        last["run"] = (choices, data.token, case, cases.run(case, choices.trials, progress=progress))

    if not jobs.run(twin_worlds.RUNNING, key, work, place=place):
        with place.container():
            jobs.button(say("Run"), key, "run", **look)
    if last:
        before, token, case, done = last["run"]
        if (before, token) != (choices, data.token):
            st.info(say("The settings or the data were changed since. Below: the last run."), icon=":material/update:")
        twin_worlds.verdict(case, done)
        summary(before, case, done)
        twin_worlds.pictures(page, case, done, real=True)
        twin_worlds.explanation(case)
    if session.has_ended(key):
        focus("verdict")
    st.caption(f"**{say(REAL_DATA)}.** {loss(choices)}")
    with st.expander(say("The person’s values. {mark}", mark=say(REAL_DATA))), mendable():
        values(data, choices)


def settings(key: str, data: Dataset) -> OwnRow:
    """Method, epsilon, person, and what becomes of them."""
    cells = st.columns([5, 4, 4, 4], gap="medium", vertical_alignment="bottom")
    names = [name for name in METHODS if target(data) or "target" not in METHODS[name]().get_params()]
    titles = {name: twin_worlds.method_title(name) for name in names}
    name = choice(cells[0].selectbox, say("Method"), f"{key}.method", titles)
    kind: type[PrivateEstimator] = METHODS[name]
    modes = {mode: words for mode, words in twin_worlds.MODES.items() if mode in kind.modes}
    mode = choice(cells[1].selectbox, say("Version"), f"{key}.mode.{len(modes)}", modes, len(modes) - 1)
    rows, other = len(data.train_sample), 1
    row = lasting(cells[3].number_input, say("Row of the person"), f"{key}.row:{data.token}", 1, rows, 1)
    with cells[2]:
        epsilon = epsilon_slider(key, phrase("Epsilon"), EPSILONS)
    with settings_drawer():
        changes = {change: words for change, words in CHANGES.items() if change in kind.relations_in(mode)}
        relation_key, usual = f"{key}.relation.{'.'.join(changes)}", kind.parameters()["relation"].default
        relation = choice(st.radio, say("What happens to the person"), relation_key, changes, usual=usual)
        if relation == "replace":
            label = say("Row whose values are taken")
            other = lasting(st.number_input, label, f"{key}.other:{data.token}", 1, rows, min(2, rows))
        seconds = kind.seconds[mode == "published"] * max(rows * len(data.schema) / CELLS, 0.1)
        most = max((trials for trials in TRIALS if 2 * trials * seconds <= WAIT), default=TRIALS[0])
        trials_key = f"{key}.trials.{name}.{mode}"
        trials = lasting(st.select_slider, say("Runs in each world"), trials_key, TRIALS, value=min(most, 100))
        caption("About {n} seconds on a usual computer.", n=math.ceil(2 * trials * seconds))
    return OwnRow(name, mode, epsilon, relation, row, other, trials)


def target(data: Dataset) -> str | None:
    """The class column: the schema's, or the last one with categories."""
    names = [column.name for column in data.schema if not column.numeric]
    wished = data.schema.target
    return wished if wished in names else names[-1] if names else None


def estimator_of(choices: OwnRow, data: Dataset) -> PrivateEstimator:
    """The method that runs in both worlds."""
    kind: type[PrivateEstimator] = METHODS[choices.method]
    estimator = kind(mode=choices.mode, relation=choices.relation).at_epsilon(choices.epsilon)
    return estimator.set_params(target=target(data)) if "target" in estimator.get_params() else estimator


def case_of(choices: OwnRow, data: Dataset) -> Case:
    """The case of one's own."""
    estimator = estimator_of(choices, data)
    other = {str(name): value for name, value in data.train_sample.iloc[choices.other - 1].items()}
    given = other if choices.relation == "replace" else None
    return cases.own_row(
        estimator, data.schema, data.train_sample, choices.row - 1, choices.relation, other=given, trials=choices.trials
    )


def values(data: Dataset, choices: OwnRow) -> None:
    """The values of the person in both worlds, side by side; a table that has no download."""
    names = list(data.schema.names)
    mine = data.train_sample[names].iloc[choices.row - 1]
    changed = data.train_sample[names].iloc[choices.other - 1] if choices.relation == "replace" else None
    there = [say("(not there)")] * len(names) if changed is None else [escaped(str(value)) for value in changed]
    shown = {say("World A"): [escaped(str(value)) for value in mine], say("World B"): there}
    st.table(pd.DataFrame(shown, index=pd.Index([escaped(name) for name in names], name=say("column"))))


def loss(choices: OwnRow) -> str:
    """Why nothing is charged, and what it would cost."""
    kind = METHODS[choices.method]
    if choices.mode == "published" and (len(kind.modes) == 1 or "none claimed" in kind.provable_printed):
        would = say("Shown to anyone, no epsilon would be left: this method claims none.")
    else:
        would = say(
            "Shown to anyone, all runs could cost up to epsilon {sum}, if one run keeps its claim.",
            sum=number(choices.runs * choices.trials * choices.epsilon),
        )
    runs = 2 * choices.trials
    return say("{runs:,} runs on your real rows, for your eyes only: nothing is charged.", runs=runs) + " " + would


def summary(choices: OwnRow, case: Case, done: Twins) -> None:
    """What was run."""
    total = choices.runs * done.result.trials * done.result.bound
    caption(
        "Row {row:,}, {method}, {mode}. {story} All these runs together: {cost}.",
        row=choices.row,
        method=choices.method,
        mode=say(twin_worlds.MODES[choices.mode]).lower(),
        story=case.story,
        cost=say("epsilon {epsilon}", epsilon=number(total)) if math.isfinite(total) else say("no limit"),
    )
