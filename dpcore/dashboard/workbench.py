"""The page of a family of methods: settings, a run, and what it gave."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import streamlit as st

from dpcore import export
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.dashboard import controls, jobs, links, panels, session, shell
from dpcore.dashboard.headline import headline
from dpcore.dashboard.sections import forecast
from dpcore.dashboard.session import Shown
from dpcore.dashboard.widgets import MADE, caption, outdated
from dpcore.datasets import Dataset
from dpcore.evaluate.evaluator import Evaluator
from dpcore.export import facts, protection
from dpcore.export.release import PURPOSE
from dpcore.language import phrase, say
from dpcore.methods import METHODS, presets
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.parameters import Control
from dpcore.methods.synthesizer import Synthesizer

NEXT = ("next",)
NOISE = "relation noise random_state"
LAYOUT = (("epsilon",), ("method", "rows target own", NOISE))
CHARGED = phrase("It is charged.")


@dataclass(frozen=True)
class Workbench:
    """A page of methods; `tabs` has what it shows of a release.

    The `layout` is a tuple of rows. A row is a tuple of columns, and a column names parameters; "own" are all that no
    column names, "method" chooses one, "rows" says how many are made. What the next run is stands in the drawer if
    `NEXT` ends it, else below.
    """

    page: str
    title: str
    lead: str
    tabs: Callable[[Any, Dataset], Mapping[str, Callable[[], None]]]
    _: KW_ONLY
    layout: tuple[tuple[str, ...], ...] = LAYOUT
    gap: Literal["medium", "large"] = "medium"
    printed: str = phrase("As the paper prints it")  # what published mode is called
    # While there is no release; `waiting` draws more.
    invitation: str = phrase("Press Run to make a copy. Every run is charged to the ledger.")
    remark: str = ""  # about what was released
    waiting: Callable[[Dataset], None] = lambda _: None
    told: Callable[[PrivateEstimator], str] | None = None  # what the next run is; below it, `explained` draws more
    explained: Callable[[PrivateEstimator, int | None], None] = lambda *_: None  # of the method, and its public rows

    def draw(self, before: Callable[[Dataset], None] = lambda _: None) -> None:
        """The page; `before` draws what comes before the settings."""
        shell.frame(say(self.title), "" if session.shown(self.page) else say(self.lead))
        data = session.dataset()
        before(data)
        self.bench(data)

    def bench(self, data: Dataset) -> None:
        """Settings, a run, and what it gave."""
        left, right = st.columns([5, 1])
        st.session_state.pop(f"{self.page}.lacks", None)
        with left:
            st.fragment(self.settings)(data)
        controls.run_button(self.page, data, right)
        copies = len(st.session_state[f"{self.page}.chosen"]) > len(("method", "parameters"))
        title = phrase("Making a copy") if copies else phrase("Learning privately")
        working = jobs.run(title, self.page, self.release(data))
        shown: Shown | None = session.shown(self.page)
        if shown is None:
            if not working:
                st.info(say(self.invitation), icon=":material/arrow_upward:")
            self.waiting(data)
            return
        with st.container(key=MADE):
            headline(shown, self.remark)
            panels.draw_open(self.page, self.tabs(shown, data))

    def release(self, data: Dataset) -> jobs.Work:
        """The chosen run: a classifier, or a synthesizer and its rows, which end where the page looks for a release.

        The spending is on the books, and a failure leaves the earlier release in place.
        """
        name, given, *rows = asked = st.session_state[f"{self.page}.chosen"]
        page, shelf, spending = self.page, session.shelf(), session.spending()
        known = {"name": page, "settings": links.settings_of(page)}

        def work(progress: Progress) -> None:
            start = time.perf_counter()
            method: Any = METHODS[name](**given)
            purpose = PURPOSE.format(method=name, mode=method.mode)
            ledger = spending.account(data, method.relation, purpose, method.delta)
            try:
                method.fit(data.train, schema=data.schema, ledger=ledger, progress=progress)
            except jobs.CanceledError as stopped:
                raise jobs.CanceledError(paid(ledger)) from stopped
            copy = [method.sample(*rows)] if rows else []
            made = export.make_release(method, name, *copy, data_name=data.name, reading=data.reading)
            writes = method if copy and not data.held else None
            made = replace(made, seconds=time.perf_counter() - start, page=known)
            shelf[page] = Shown(made, data, asked, method=writes)

        return work

    def settings(self, data: Dataset) -> None:
        """All settings; moving one draws nothing and spends nothing."""
        page, shown = self.page, session.shown(self.page)
        with links.of(page, data):
            # Open until there is a release, and folded away by each new one: under another key it is another drawer,
            # and one that is not the page's, as it is no setting.
            with st.expander(
                say("Settings"), expanded=shown is None and not session.laid_aside(), key=f"drawer.{page}.{id(shown)}"
            ) as drawer:
                method, given, rows = self.chosen(data)
            made = (method.title, {**given, **method.implied(rows)})
            lacks = controls.refusal(METHODS[method.title](**made[1]), data.schema)
            st.session_state[f"{page}.chosen"] = (*made, rows) if isinstance(method, Synthesizer) else made
            with drawer if NEXT in self.layout else nullcontext():
                own, public = on_rows(method, data)
                if told := own.foretold(public):
                    st.caption(told)
                self.explained(own, public)
            if shown is not None and shown.asked not in (None, st.session_state[f"{page}.chosen"]):
                outdated()
            run = self.told(method) if self.told else self.next_run(method, rows)
            caption("Next run: {run}", run=run)
            grounds = facts.grounds(data.schema, method.relation, method.delta, presets.noise_of(method))
            if why := presets.void_reason(method, data.schema):
                grounds = [(say("Guarantee"), say(why)), *grounds]
            drawer.caption("  \n".join(f"**{what}:** {shell.escaped(about)}" for what, about in grounds))
        controls.lacking(page, lacks)
        if isinstance(own, Synthesizer) and isinstance(method, Synthesizer):
            own.set_params(**own.implied(rows))
            with drawer:
                forecast.draw(page, method, own, data.schema, public, rows, tried=shown is not None)

    def chosen(self, data: Dataset) -> tuple[PrivateEstimator, dict[str, Any], int]:
        """The method as it was chosen, its parameters that were, and how many rows are wanted."""
        method: Any = None
        given: dict[str, Any] = {}
        rows, placed = 0, " ".join(map(" ".join, self.layout)).split()
        spots = [(row, st.container()) for row in self.layout if row != NEXT]
        for row, spot in sorted(spots, key=lambda at: "method" not in at[0]):  # all others hang on the method
            if method and not any(control.seen(method) for column in row for control in named(column, method, placed)):
                continue
            cells = spot.columns(len(row), gap=self.gap) if len(row) > 1 else [spot]
            for column, cell in zip(row, cells, strict=True):
                with cell:
                    if column == "method":
                        name, given = controls.method_picker(self.page, self.printed, data.schema)
                        method = METHODS[name](**given)
                    if "rows" in column.split():
                        rows = controls.rows_picker(self.page, data)
                    for control in named(column, method, placed):
                        given |= controls.ask(self.page, method, control, data)
        return method, given, rows

    def next_run(self, method: PrivateEstimator, rows: int) -> str:
        """What the Run button would make."""
        several = len({kind for kind in METHODS.values() if kind.page == self.page}) > 1
        name = f"{method.title}, " if several else ""
        unit = session.dataset().schema.unit
        relation = say(controls.relation_words(method.relation, unit is not None and unit.id_column is not None))
        printed = say(self.printed)
        mode = say("corrected") if method.mode == "corrected" else f"{printed[0].lower()}{printed[1:]}"
        at = {"epsilon": method.epsilon, "relation": relation.lower()}
        price = say("epsilon {epsilon:g} ({relation})", **at)
        if method.delta:
            price = say("epsilon {epsilon:g} at delta {delta} ({relation})", delta=f"{method.delta:g}", **at)
        if person := protection.for_person(unit, method.epsilon, method.delta):
            price = say("{price}: {person}", price=price, person=person)
        told = say("{price}, {mode}", price=price, mode=mode)
        if rows:
            told = say("{run}, {rows:,} rows", run=told, rows=rows)
        return f"{name}{say('{sentence}.', sentence=told)} {say(CHARGED)}"


def paid(ledger: Ledger) -> str:
    """What a run that was canceled has cost."""
    if not ledger.epsilon_bound:
        return phrase("The run was stopped before it asked anything: **nothing was charged.**")
    if math.isinf(ledger.epsilon_bound):
        return phrase("The run was stopped. What it had asked by then **stays charged: without a bound.**")
    told = phrase("The run was stopped. What it had asked by then **stays charged: epsilon {price}.**")
    return told.format(price=protection.headline(None, ledger.epsilon_bound, ledger.delta))


def on_rows(method: PrivateEstimator, data: Dataset) -> tuple[PrivateEstimator, int | None]:
    """The method as it runs on rows, each with its share of a person's epsilon, and how many are public."""
    unit, public = data.schema.persons, data.schema.max_rows
    if method.relation == "replace":
        public = data.sizes[0] if unit is None else unit.max_contributions * Evaluator(data).people(unit)
    return (method if unit is None else method.for_rows(unit.max_contributions)), public


def named(column: str, method: PrivateEstimator, placed: list[str]) -> list[Control]:
    """The controls of a method's parameters that a column names; "own" are those that no column does."""
    asks = method.asks()
    own = [name for name in asks if name not in placed]
    return [asks[name] for part in column.split() for name in (own if part == "own" else [part]) if name in asks]
