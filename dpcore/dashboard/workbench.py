"""The page of a family of methods: its settings, its Run button, and the release."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any, ClassVar, NamedTuple

import streamlit as st

from dpcore import export
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.dashboard import before_run, controls, jobs, links, panels, session, shell, void_guarantee
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
from dpcore.methods.base import PrivateEstimator, Synthesizer, max_rows_in_memory

# Parameters for the strength of the noise: a method's first one is beside its name.
STRENGTHS = ("epsilon", "p0", "theta", "privacy")
Parts = Mapping[str, Callable[[], None]]


class Areas(NamedTuple):
    """The containers of a page's settings, in no particular order on the screen."""

    choice: Any
    strength: Any
    odds: Any
    terms: Any
    forecast: Any
    drawer: Any


def no_parts(_: ShownRelease, __: Dataset) -> Parts:
    """Return an empty dict: a tab without parts."""
    return {}


@dataclass(frozen=True)
class Workbench:
    """A page of methods: those of a paper, and those that it compares them with.

    Attributes
    ----------
    page, title
        File name and title of the page.
    paper
        Number of the paper.
    model
        Returns the parts of the tab Model; none if the release has no model to show.
    redraws
        Draws the tab of run-to-run variation, if not as for other releases.
    variants
        Draws further published results of these methods.
    drawers
        Draws expanders for further tasks.
    explain
        Draws an explanation of the chosen method, given the public number of rows.
    remark
        Note about what is released.
    """

    page: str
    title: str
    paper: str
    _: KW_ONLY
    model: Callable[[ShownRelease, Dataset], Parts] = no_parts
    redraws: Callable[[str, ShownRelease], None] | None = None
    variants: Callable[[], None] | None = None
    drawers: Callable[[Dataset], None] = lambda _: None
    explain: Callable[[PrivateEstimator, int | None], None] = lambda *_: None
    remark: str = ""

    methods: ClassVar[Mapping[str, Any]] = METHODS

    def draw(self) -> None:
        """Draw the whole page: settings, Run button, progress, and the tabs of the release."""
        area = shell.draw_frame(say(self.title), describe_data(session.dataset())).empty()
        data = session.dataset()
        title = phrase("Learning privately")
        jobs.show_start(area, self.page, title)
        with st.container(key="settings"):
            st.session_state.pop(f"{self.page}.lacks", None)
            st.fragment(self.settings)(data)
        jobs.finish_in_page(self.page)
        void_guarantee.record_agreement(self.page, "run", data)
        if not jobs.run(title, self.page, self.release(data), area=area):
            with area.container():
                controls.run_button(self.page, data)
        shown: ShownRelease | None = session.current_release(self.page)
        if shown is not None:
            with st.container(key=MADE):
                summary.draw_notices(shown)
                panels.draw_open(self.page, self.tabs(shown, data))
        if session.has_ended(self.page):
            focus("verdict")
        self.drawers(data)

    def tabs(self, shown: ShownRelease, data: Dataset) -> Parts:
        """Return the tabs that show a release, as {title: function that draws the tab}."""
        page, model = self.page, self.model(shown, data)
        variation = self.redraws or paper.draw_redraws
        of_paper: dict[str, Callable[[], None]] = {
            phrase("Figures"): lambda: paper.draw_figures(page, data, self.paper),
            phrase("Run-to-run variation"): lambda: variation(page, shown),
        }
        if self.variants is not None:
            of_paper[phrase("Published variants")] = self.variants
        found: dict[str, Callable[[], None]] = {
            phrase("Summary"): lambda: summary.draw_summary(page, shown, self.remark),
            phrase("Marginals"): lambda: marginals.draw_marginals(page, shown),
            phrase("Accuracy"): lambda: accuracy.draw_accuracy(page, shown),
            phrase("Privacy"): lambda: privacy.draw_privacy(page, shown),
            phrase("Model"): partial(panels.draw_part, f"{page}.model", model),
            phrase("Paper"): partial(panels.draw_part, f"{page}.paper", of_paper),
            phrase("Download"): lambda: download.draw_download(page, shown),
        }
        if not model:
            del found["Model"]
        return found

    def release(self, data: Dataset) -> jobs.Work:
        """Return the function that makes the release of the chosen run, for a background thread.

        It fits the method, samples synthetic rows if it makes them, and puts the release on the
        page. The charges are in the ledger. If it fails, the earlier release stays.
        """
        name, given, *rows = chosen_run = st.session_state[f"{self.page}.chosen"]
        page, shelf, spending = self.page, session.shown_releases(), session.spending()
        known = {"name": page, "settings": links.settings_of(page)}

        def work(progress: Progress) -> None:
            start = time.perf_counter()
            method: Any = self.methods[name](**given)
            purpose = PURPOSE.format(method=name, mode=method.mode)
            ledger = spending.open_ledger(data, method.relation, purpose, method.delta)
            try:
                method.fit(data.train, schema=data.schema, ledger=ledger, progress=progress)
            except jobs.CanceledError as stopped:
                raise jobs.CanceledError(describe_spent(ledger)) from stopped
            copy = [method.sample(rows[0] or default_rows(method, data.schema))] if rows else []
            made = export.make_release(method, name, *copy, data_name=data.name, reading=data.reading)
            writes = method if copy and not data.in_memory else None
            made = replace(made, seconds=time.perf_counter() - start, page=known)
            before = comparable_release(shelf.get(page), made, data)
            shelf[page] = ShownRelease(made, data, chosen_run, method=writes, previous=before)

        return work

    def settings(self, data: Dataset) -> None:
        """Draw all settings; moving one draws no noise and spends nothing."""
        page, shown = self.page, session.current_release(self.page)
        with links.draw_settings(page, data):
            areas = self.areas()
            name, preset = self.choose_method(data, areas)
            method: Any = self.methods[name](mode=preset.mode, **preset.parameters)
            given, rows = self.draw_controls(method, data, areas.strength, areas.drawer)
            given = {"mode": preset.mode, **preset.parameters, **given}
            given |= method.implied_parameters(rows)
            made = (name, given, rows) if isinstance(method, Synthesizer) else (name, given)
            run: Any = self.methods[name](**given)
            lacks = controls.show_refusal(partial(run.check, data.schema), partial(require_room, run, data))
            st.session_state[f"{page}.chosen"] = made
            own, public = method_on_rows(method, data)
            with areas.odds:
                before_run.draw_odds(method, preset, data.schema)
            with areas.terms:
                before_run.draw_terms(method, data.schema)
            known = public if method.relation == "replace" else None
            with areas.forecast:
                waits = shown is None or shown.settings != made or shown.data.token != data.token
                self.draw_before(method, preset, data, known, waits=waits)
            if shown is not None and shown.settings not in (None, made):
                note_outdated()
            with areas.drawer:
                self.explain(own, public)
                grounds = facts.grounds(data.schema, method.relation, method.delta, parameters.describe_noise(method))
                text = [own.describe_size_rule(public), *(f"**{what}:** {shell.escape(why)}" for what, why in grounds)]
                st.caption(say("What follows from these settings"), help="\n\n".join(filter(None, text)))
        controls.note_missing(page, lacks)
        if isinstance(own, Synthesizer) and isinstance(method, Synthesizer):
            own.set_params(**own.implied_parameters(rows))
            with areas.drawer:
                forecast.draw_forecast(page, method, own, data.schema, known, rows)

    def areas(self) -> Areas:
        """Draw the containers of the settings."""
        strength, odds, choice = st.columns([9.3, 7.6, 13.1], gap="medium")
        return Areas(choice, strength, odds, choice, st.container(), settings_drawer())

    def choose_method(self, data: Dataset, areas: Areas) -> tuple[str, parameters.Preset]:
        """Draw the choice of the method; return its title and the chosen preset."""
        with areas.choice:
            return controls.choose_method(self.page)

    def draw_before(
        self, method: Any, preset: parameters.Preset, data: Dataset, known: int | None, *, waits: bool
    ) -> None:
        """Draw what to expect of a run; `waits` says that the settings were not run yet.

        `known` is the number of rows if it is public, and None if it is private.
        """
        before_run.draw_line(self.page, method, preset, data.schema, known, waits=waits)
        if waits:
            accuracy.draw_rare_class(self.page, method, data, known)

    def draw_controls(self, method: Any, data: Dataset, area: Any, advanced: Any) -> tuple[dict[str, Any], int | None]:
        """Draw the method's controls; return the chosen parameters and the number of rows.

        The control of the noise's strength is in the container `area`, all others are in
        `advanced`. The values are also set on `method`. The number of synthetic rows is None if the
        method makes none, or if the user leaves it open.
        """
        asks = method.control_map()
        strength = next((name for name in STRENGTHS if name in asks and asks[name].applies_to(method)), "")
        given: dict[str, Any] = {}
        if strength:
            with area:
                given |= controls.draw_control(self.page, method, asks[strength], data)
        cells = cycle(advanced.columns(2, gap="medium"))
        rows = None
        if isinstance(method, Synthesizer):
            with next(cells):
                rows = controls.rows_picker(self.page, method, data)
        paper = method.mode == "published"  # the paper's own parameters follow
        shared = {control.name for control in PrivateEstimator.controls}
        for name, control in asks.items():
            if name != strength and control.applies_to(method):
                if paper and name not in shared:
                    advanced.markdown(f"**{say('Paper')}**")
                    cells, paper = cycle(advanced.columns(2, gap="medium")), False
                with next(cells):
                    given |= controls.draw_control(self.page, method, control, data)
        return given, rows


def default_rows(method: Synthesizer, schema: Schema) -> int:
    """Return the number of rows that the release estimates, at most as many as can be made.

    A larger estimate is no error, so that the charged release is not lost.
    """
    return min(method.estimated_rows(), controls.MOST_ROWS, max_rows_in_memory(schema))


def comparable_release(before: ShownRelease | None, made: export.Release, data: Dataset) -> ShownRelease | None:
    """Return the previous release if it can be compared with the new one, else None.

    Both must be synthetic rows of the same data and schema. The previous release forgets the one
    before it.
    """
    if before is None or before.data.token != data.token or before.release.schema != made.schema:
        return None
    if not all(isinstance(one.artifact, SyntheticRows) for one in (before.release, made)):
        return None
    before.previous = None
    return before


def describe_data(data: Dataset) -> str:
    """Return a line with the name of the data and whom a run protects."""
    unit = say(protection.protects(data.schema.unit))
    return say("{data} · protects a {protected}", data=shell.escape(data.name), protected=unit)


def require_room(run: PrivateEstimator, data: Dataset) -> None:
    """Raise `BudgetError` if a cap of the ledger would stop a run before its end.

    A run whose privacy loss is not known before it starts is not checked.
    """
    if run.mode == "published" or parameters.void_reason(run, data.schema):
        return  # its loss may be smaller than claimed, or unknown
    with suppress(LedgerError):  # the run reports why it cannot be charged
        session.ledger_store().require_room(data, run.relation, run.epsilon, run.delta)


def describe_spent(ledger: Ledger) -> str:
    """Return a sentence: what a canceled run was charged."""
    if not ledger.epsilon_bound:
        return phrase("The run was stopped before its first query: **nothing was charged.**")
    if math.isinf(ledger.epsilon_bound):
        return phrase("The run was stopped. Its queries until then **stay charged, with no bound on epsilon.**")
    text = phrase("The run was stopped. Its queries until then **stay charged: epsilon {loss}.**")
    return text.format(loss=protection.headline(None, ledger.epsilon_bound, ledger.delta))


def method_on_rows(method: PrivateEstimator, data: Dataset) -> tuple[PrivateEstimator, int | None]:
    """Return the method as it runs on single rows, and the public number of rows, or None.

    Each row of a person gets its share of the person's epsilon.
    """
    unit, public = data.schema.persons, data.schema.max_rows
    if method.relation == "replace":
        public = data.sizes[0] if unit is None else unit.max_contributions * Evaluator(data).people(unit)
    return (method if unit is None else method.with_row_budget(unit.max_contributions)), public
