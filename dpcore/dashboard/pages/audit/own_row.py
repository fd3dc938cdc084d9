"""Audit on the user's own table: a method runs with and without one of its rows.

World A is the table in use. World B lacks one row, or has that row with another row's values. Many
runs read the real rows. No result is released, so the ledger is not charged. The results carry the
mark of real data, and the page says what privacy loss publishing them would have.
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
WAIT = 20.0  # seconds that a user waits gladly
CELLS = 200_000  # cells of the table for which a method's `seconds` were measured


class OwnRow(NamedTuple):
    """The chosen attack on one row of the user's data, run in two worlds.

    World A has all rows. In world B, the row number `row` (from 1) is missing under add/remove;
    under replace, it gets the values of the row number `donor`.
    """

    method: str
    mode: str
    epsilon: float
    relation: str
    row: int
    donor: int

    @property
    def loss_factor(self) -> int:
        """Loss of one run in world A and one in world B, in multiples of epsilon.

        It is 2 under add/remove. Under replace it is 3, because world B has one person's values
        twice.
        """
        return 3 if self.relation == "replace" else 2


def draw_own_row_attack(page: str, data: Dataset, container: Any) -> None:
    """Draw the attack on one of the user's rows: its settings, the run and its results.

    `container` is the empty place where the run button is drawn.
    """
    if not data.in_memory:
        needs = phrase("This attack needs all rows in memory: upload a file of at most {size} MB.")
        st.info(say(needs, size=MAX_BYTES >> 20))
        return
    key = f"{page}.own"
    jobs.show_start(container, key, twin_worlds.RUNNING)
    with st.container(key="settings"), links.draw_settings(page, data, "own"):
        chosen, trials = draw_settings(key, data)
    estimator = make_estimator(chosen, data)
    st.session_state[f"{key}.lacks"] = controls.show_refusal(partial(estimator.check, data.schema))
    make = partial(make_case, estimator, chosen, data)
    found = twin_worlds.run_worlds(key, container, (chosen, data.token), make, trials, real=True)
    cost = phrase("Shown to others, these results could cost up to epsilon {sum}, if each run keeps its claim.")
    kind, bound = METHODS[chosen.method], chosen.epsilon
    unclaimed = len(kind.modes) == 1 or "none claimed" in kind.provable_published
    if chosen.mode == "published" and unclaimed:
        bound = math.inf
    if found is not None:
        case, result = found[0], found[1].result
        caption(case.story)
        twin_worlds.draw_explanation(case)
        cost = phrase("Shown to others, these results could cost up to epsilon {sum}.")
        bound, trials = result.epsilon_nominal, result.trials
    if math.isinf(bound):
        cost = phrase("Shown to others, these results have no guarantee: no epsilon is proven.")
    runs = phrase("{runs:,} runs on your real rows, for your eyes only: nothing is charged.")
    texts = say(runs, runs=2 * trials), say(cost, sum=number(chosen.loss_factor * trials * bound))
    st.caption(f"**{say(REAL_DATA)}** · {' '.join(texts)}")
    with st.expander(say("The person’s values. {mark}", mark=say(REAL_DATA))), mendable():
        draw_values(data, chosen)


def draw_settings(key: str, data: Dataset) -> tuple[OwnRow, int]:
    """Draw the settings of the attack; return the chosen attack and the runs per world."""
    cells = st.columns([5, 4, 4, 4], gap="medium", vertical_alignment="bottom")
    names = [name for name in METHODS if target_column(data) or "target" not in METHODS[name]().get_params()]
    titles = {name: twin_worlds.method_title(name) for name in names}
    name = choice(cells[0].selectbox, say("Method"), f"{key}.method", titles)
    kind: type[PrivateEstimator] = METHODS[name]
    modes = {mode: words for mode, words in twin_worlds.MODES.items() if mode in kind.modes}
    mode = choice(cells[1].selectbox, say("Method version"), f"{key}.mode.{len(modes)}", modes, len(modes) - 1)
    rows, other = len(data.train_sample), 1
    row = lasting(cells[3].number_input, say("Row number of the person"), f"{key}.row:{data.token}", 1, rows, 1)
    with cells[2]:
        epsilon = epsilon_slider(key, phrase("Epsilon"), EPSILONS)
    with settings_drawer():
        changes = {k: v for k, v in CHANGES.items() if k in kind.relations_in(mode)}
        widget, usual = f"{key}.relation.{'.'.join(changes)}", kind.parameters()["relation"].default
        relation = choice(st.radio, say("Change in world B"), widget, changes, usual=usual)
        if relation == "replace":
            label = say("Row number whose values the person gets")
            other = lasting(st.number_input, label, f"{key}.other:{data.token}", 1, rows, min(2, rows))
        seconds = 2 * kind.seconds[mode == "published"] * max(rows * len(data.schema) / CELLS, 0.1)
        most = max((trials for trials in TRIALS[:5] if trials * seconds <= WAIT), default=TRIALS[0])
        label, trials_key = say("Runs in each world"), f"{key}.trials.{name}.{mode}"
        trials = lasting(st.select_slider, label, trials_key, TRIALS, value=most)
        caption("These runs take about {n} seconds on a usual computer.", n=math.ceil(trials * seconds))
    return OwnRow(name, mode, epsilon, relation, row, other), trials


def target_column(data: Dataset) -> str | None:
    """Return the class column's name: the schema's target, else the last categorical column."""
    names = [column.name for column in data.schema if not column.numeric]
    wished = data.schema.target
    return wished if wished in names else names[-1] if names else None


def make_estimator(chosen: OwnRow, data: Dataset) -> PrivateEstimator:
    """Return the unfitted method that runs in both worlds, at the chosen epsilon."""
    kind: type[PrivateEstimator] = METHODS[chosen.method]
    estimator = kind(mode=chosen.mode, relation=chosen.relation).with_epsilon(chosen.epsilon)
    return estimator.set_params(target=target_column(data)) if "target" in estimator.get_params() else estimator


def make_case(estimator: PrivateEstimator, chosen: OwnRow, data: Dataset) -> Case:
    """Return the audit case of the chosen row: the rows of both worlds, and the attacked method."""
    rows = data.train_sample
    other: Any = rows.iloc[chosen.donor - 1].to_dict()
    return cases.own_row(estimator, data.schema, rows, chosen.row - 1, chosen.relation, other=other)


def draw_values(data: Dataset, chosen: OwnRow) -> None:
    """Draw a table of the attacked person's values in worlds A and B; the table has no download."""
    people = data.train_sample[list(data.schema.names)].iloc[[chosen.row - 1, chosen.donor - 1]]
    shown = people.map(lambda value: escape(str(value))).T
    shown.columns = [say("World A"), say("World B")]
    if chosen.relation == "add_remove":
        shown[say("World B")] = say("(not in world B)")
    st.table(shown.rename(index=escape).rename_axis(say("column")))
