"""Twin worlds of one's own: the table in use, and the same without a person, or with other values.

Real rows are read by many runs. Nothing of them is released, so that nothing is charged; everything
is marked, and what it would cost to show it is said.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from dpcore.audit import cases
from dpcore.audit.cases import Case
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import controls, jobs, links
from dpcore.dashboard.demonstration import epsilon_slider
from dpcore.dashboard.epsilon import EPSILONS
from dpcore.dashboard.pages.audit import twin_worlds
from dpcore.dashboard.shell import escape, mendable
from dpcore.dashboard.widgets import caption, choice, lasting, settings_drawer
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


class OwnRow(NamedTuple):
    """What is to be run about a row: rows are counted from 1, as people do."""

    method: str
    mode: str
    epsilon: float
    relation: str
    row: int
    other: int

    @property
    def runs(self) -> int:
        """What one run in each world costs: under replace, world B has a person's values twice."""
        return 3 if self.relation == "replace" else 2


def attack_own_row(page: str, data: Dataset, container: Any) -> None:
    """Choose a person, run both worlds, and see; the button stands in its place."""
    if not data.held:
        needs = phrase("Both worlds need the rows in memory: upload {size} MB of them at most.")
        st.info(say(needs, size=MAX_BYTES >> 20))
        return
    key = f"{page}.own"
    jobs.show_start(container, key, twin_worlds.RUNNING)
    with st.container(key="settings"), links.draw_settings(page, data, "own"):
        chosen, trials = settings(key, data)
    estimator = estimator_of(chosen, data)
    st.session_state[f"{key}.lacks"] = controls.show_refusal(partial(estimator.check, data.schema))
    make = partial(case_of, estimator, chosen, data)
    found = twin_worlds.run_worlds(key, container, (chosen, data.token), make, trials, real=True)
    cost = phrase("Shown to anyone, they could cost up to epsilon {sum}, if one run keeps its claim.")
    kind, bound = METHODS[chosen.method], chosen.epsilon
    unclaimed = len(kind.modes) == 1 or "none claimed" in kind.provable_published
    if chosen.mode == "published" and unclaimed:
        bound = math.inf
    if found is not None:
        case, result = found[0], found[1].result
        caption(case.story)
        twin_worlds.explanation(case)
        cost = phrase("Shown to anyone, they could cost up to epsilon {sum}.")
        bound, trials = result.bound, result.trials
    if math.isinf(bound):
        cost = phrase("Shown to anyone, no epsilon would be left: none is proven.")
    runs = phrase("{runs:,} runs on your real rows, for your eyes only: nothing is charged.")
    sentences = say(runs, runs=2 * trials), say(cost, sum=number(chosen.runs * trials * bound))
    st.caption(f"**{say(REAL_DATA)}** · {' '.join(sentences)}")
    with st.expander(say("The person’s values. {mark}", mark=say(REAL_DATA))), mendable():
        values(data, chosen)


def settings(key: str, data: Dataset) -> tuple[OwnRow, int]:
    """Method, epsilon, person, and what becomes of them; and how many runs."""
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
        seconds = 2 * kind.seconds[mode == "published"] * max(rows * len(data.schema) / CELLS, 0.1)
        most = max((trials for trials in TRIALS[:5] if trials * seconds <= WAIT), default=TRIALS[0])
        label, trials_key = say("Runs in each world"), f"{key}.trials.{name}.{mode}"
        trials = lasting(st.select_slider, label, trials_key, TRIALS, value=most)
        caption("About {n} seconds on a usual computer.", n=math.ceil(trials * seconds))
    return OwnRow(name, mode, epsilon, relation, row, other), trials


def target(data: Dataset) -> str | None:
    """The class column: the schema's, or the last one with categories."""
    names = [column.name for column in data.schema if not column.numeric]
    wished = data.schema.target
    return wished if wished in names else names[-1] if names else None


def estimator_of(chosen: OwnRow, data: Dataset) -> PrivateEstimator:
    """The method that runs in both worlds."""
    kind: type[PrivateEstimator] = METHODS[chosen.method]
    estimator = kind(mode=chosen.mode, relation=chosen.relation).with_epsilon(chosen.epsilon)
    return estimator.set_params(target=target(data)) if "target" in estimator.get_params() else estimator


def case_of(estimator: PrivateEstimator, chosen: OwnRow, data: Dataset) -> Case:
    """The case of one's own."""
    rows = data.train_sample
    other: Any = rows.iloc[chosen.other - 1].to_dict()
    return cases.own_row(estimator, data.schema, rows, chosen.row - 1, chosen.relation, other=other)


def values(data: Dataset, chosen: OwnRow) -> None:
    """The values of the person in both worlds, side by side; a table that has no download."""
    people = data.train_sample[list(data.schema.names)].iloc[[chosen.row - 1, chosen.other - 1]]
    shown = people.map(lambda value: escape(str(value))).T
    shown.columns = [say("World A"), say("World B")]
    if chosen.relation == "add_remove":
        shown[say("World B")] = say("(not there)")
    st.table(shown.rename(index=escape).rename_axis(say("column")))
