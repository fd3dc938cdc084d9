"""The page of a family of methods: settings, a run, and what it gave."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import streamlit as st

from dpcore import export
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.dashboard import before_run, controls, jobs, links, panels, session, shell, unproved
from dpcore.dashboard.panels import accuracy, download, forecast, marginals, paper, privacy, summary
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import MADE, focus, note_outdated, settings_drawer
from dpcore.datasets import Dataset
from dpcore.domain.schema import Schema
from dpcore.errors import LedgerError
from dpcore.evaluate.evaluator import Evaluator
from dpcore.export import facts, protection
from dpcore.export.artifacts import SyntheticRows
from dpcore.export.release import PURPOSE
from dpcore.language import phrase, say
from dpcore.methods import METHODS, parameters
from dpcore.methods.base import PrivateEstimator, Synthesizer, most_rows

# What says how strong the noise is: the first of these that a method asks for stands beside its name.
STRENGTHS = ("epsilon", "p0", "theta", "privacy")
Parts = Mapping[str, Callable[[], None]]


def no_parts(_: ShownRelease, __: Dataset) -> Parts:
    """No parts of a tab."""
    return {}


@dataclass(frozen=True)
class Workbench:
    """A page of methods, which are those of a paper and what it compares them with.

    `model` has the parts of the tab Model, and none where there is no model to be seen; `paper` is
    the paper's number, and `variants` draws what else is published of these methods. `drawers`
    draws what else can be done here, folded, and `explained` what there is to say of the method
    that is chosen and the public number of rows.
    """

    page: str
    title: str
    paper: str
    _: KW_ONLY
    model: Callable[[ShownRelease, Dataset], Parts] = no_parts
    redraws: Callable[[str, ShownRelease], None] | None = None  # where not those of synthetic rows or of a classifier
    variants: Callable[[], None] | None = None
    drawers: Callable[[Dataset], None] = lambda _: None
    explained: Callable[[PrivateEstimator, int | None], None] = lambda *_: None
    remark: str = ""  # about what is released

    def draw(self) -> None:
        """The page."""
        area = shell.frame(say(self.title), data_in_use(session.dataset())).empty()
        data = session.dataset()
        title = phrase("Learning privately")
        jobs.answer(area, self.page, title)
        with st.container(key="settings"):
            st.session_state.pop(f"{self.page}.lacks", None)
            st.fragment(self.settings)(data)
        jobs.end_in_page(self.page)
        unproved.agree(self.page, "run", data)
        working = jobs.run(title, self.page, self.release(data), place=area)
        if not working:
            with area.container():
                controls.run_button(self.page, data)
        shown: ShownRelease | None = session.current_release(self.page)
        if shown is not None:
            with st.container(key=MADE):
                summary.notices(shown)
                panels.draw_open(self.page, self.tabs(shown, data))
        if session.has_ended(self.page):
            focus("verdict")
        self.drawers(data)

    def tabs(self, shown: ShownRelease, data: Dataset) -> Parts:
        """What is shown of a release."""
        page, model = self.page, self.model(shown, data)
        variation = self.redraws or paper.redraws
        of_paper: dict[str, Callable[[], None]] = {
            phrase("Figures"): lambda: paper.figures(page, data, self.paper),
            phrase("Run-to-run variation"): lambda: variation(page, shown),
        }
        if self.variants is not None:
            of_paper[phrase("Published variants")] = self.variants
        found: dict[str, Callable[[], None]] = {
            phrase("Summary"): lambda: summary.summary(page, shown, self.remark),
            phrase("Marginals"): lambda: marginals.marginals(page, shown),
            phrase("Accuracy"): lambda: accuracy.accuracy(page, shown),
            phrase("Privacy"): lambda: privacy.privacy(page, shown),
            phrase("Model"): partial(panels.draw_part, f"{page}.model", model),
            phrase("Paper"): partial(panels.draw_part, f"{page}.paper", of_paper),
            phrase("Download"): lambda: download.download(page, shown),
        }
        if not model:
            del found["Model"]
        return found

    def release(self, data: Dataset) -> jobs.Work:
        """The chosen run: a classifier, or a synthesizer and its rows, which end where the page looks for a release.

        The spending is in the ledger, and a failure leaves the earlier release in place.
        """
        name, given, *rows = chosen_run = st.session_state[f"{self.page}.chosen"]
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
                raise jobs.CanceledError(describe_spent(ledger)) from stopped
            copy = [method.sample(rows[0] or most_made(method, data.schema))] if rows else []
            made = export.make_release(method, name, *copy, data_name=data.name, reading=data.reading)
            writes = method if copy and not data.held else None
            made = replace(made, seconds=time.perf_counter() - start, page=known)
            before = comparable(shelf.get(page), made, data)
            shelf[page] = ShownRelease(made, data, chosen_run, method=writes, previous=before)

        return work

    def settings(self, data: Dataset) -> None:
        """All settings; moving one draws nothing and spends nothing."""
        page, shown = self.page, session.current_release(self.page)
        with links.draw_settings(page, data):
            strength, odds, choose = st.columns([9.3, 7.6, 13.1], gap="medium")
            with choose:
                name, preset = controls.method_select(page)
            method: Any = METHODS[name](mode=preset.mode, **preset.parameters)
            before, advanced = st.container(), settings_drawer()
            given, rows = self.chosen(method, data, strength, advanced)
            given = {"mode": preset.mode, **preset.parameters, **given}
            given |= method.implied(rows)
            made = (name, given, rows) if isinstance(method, Synthesizer) else (name, given)
            run: Any = METHODS[name](**given)
            lacks = controls.refusal(partial(run.check, data.schema), partial(require_room, run, data))
            st.session_state[f"{page}.chosen"] = made
            own, public = on_rows(method, data)
            with odds:
                before_run.odds(method, preset, data.schema)
            with choose:
                before_run.terms(method, data.schema)
            known = public if method.relation == "replace" else None
            with before:
                waits = shown is None or shown.asked != made or shown.data.token != data.token
                before_run.line(page, method, preset, data.schema, known, waits=waits)
                if waits:
                    accuracy.rare_class(page, method, data, known)
            if shown is not None and shown.asked not in (None, made):
                note_outdated()
            with advanced:
                self.explained(own, public)
                grounds = facts.grounds(data.schema, method.relation, method.delta, parameters.noise_of(method))
                text = [own.foretold(public), *(f"**{what}:** {shell.escape(why)}" for what, why in grounds)]
                st.caption(say("What follows from these settings"), help="\n\n".join(filter(None, text)))
        controls.note_missing(page, lacks)
        if isinstance(own, Synthesizer) and isinstance(method, Synthesizer):
            own.set_params(**own.implied(rows))
            with advanced:
                forecast.draw(page, method, own, data.schema, known, rows)

    def chosen(self, method: Any, data: Dataset, area: Any, advanced: Any) -> tuple[dict[str, Any], int | None]:
        """The method's parameters that were chosen, and how many rows are wanted; the method has them, too."""
        asks = method.asks()
        strength = next((name for name in STRENGTHS if name in asks and asks[name].wanted(method)), "")
        given: dict[str, Any] = {}
        if strength:
            with area:
                given |= controls.ask(self.page, method, asks[strength], data)
        cells = cycle(advanced.columns(2, gap="medium"))
        rows = None
        if isinstance(method, Synthesizer):
            with next(cells):
                rows = controls.rows_picker(self.page, method, data)
        paper = method.mode == "published"  # what its source says of its own parameters stands by itself
        shared = {control.name for control in PrivateEstimator.controls}
        for name, control in asks.items():
            if name != strength and control.wanted(method):
                if paper and name not in shared:
                    advanced.markdown(f"**{say('Paper')}**")
                    cells, paper = cycle(advanced.columns(2, gap="medium")), False
                with next(cells):
                    given |= controls.ask(self.page, method, control, data)
        return given, rows


def most_made(method: Synthesizer, schema: Schema) -> int:
    """As many rows as a release says, or as can be made: what was charged is not lost."""
    return min(method.estimated_rows(), controls.MOST_ROWS, most_rows(schema))


def comparable(before: ShownRelease | None, made: export.Release, data: Dataset) -> ShownRelease | None:
    """The release of the run before, if both are of rows, and of the same data and schema; it forgets its own."""
    if before is None or before.data.token != data.token or before.release.schema != made.schema:
        return None
    if not all(isinstance(one.artifact, SyntheticRows) for one in (before.release, made)):
        return None
    before.previous = None
    return before


def data_in_use(data: Dataset) -> str:
    """The data in use, and whose rows a run protects."""
    unit_text = say(protection.protects(data.schema.unit))
    return say("{data} · protects a {whose}", data=shell.escape(data.name), whose=unit_text)


def require_room(run: PrivateEstimator, data: Dataset) -> None:
    """BudgetError if a cap would stop a run before its end, as far as it is known before what it can cost."""
    if run.mode == "published" or parameters.void_reason(run, data.schema):
        return  # it may cost less than it claims, or nothing is proved of it
    with suppress(LedgerError):  # the run says why it cannot be charged
        session.books().require_room(data, run.relation, run.epsilon, run.delta)


def describe_spent(ledger: Ledger) -> str:
    """What a run that was canceled has spent."""
    if not ledger.epsilon_bound:
        return phrase("The run was stopped before its first query: **nothing was charged.**")
    if math.isinf(ledger.epsilon_bound):
        return phrase("The run was stopped. Its queries until then **stay charged: without a bound.**")
    text = phrase("The run was stopped. Its queries until then **stay charged: epsilon {price}.**")
    return text.format(price=protection.headline(None, ledger.epsilon_bound, ledger.delta))


def on_rows(method: PrivateEstimator, data: Dataset) -> tuple[PrivateEstimator, int | None]:
    """The method as it runs on rows, each with its share of a person's epsilon, and how many are public."""
    unit, public = data.schema.persons, data.schema.max_rows
    if method.relation == "replace":
        public = data.sizes[0] if unit is None else unit.max_contributions * Evaluator(data).people(unit)
    return (method if unit is None else method.for_rows(unit.max_contributions)), public
