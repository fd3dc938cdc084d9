"""The page Statistics: what is estimated, the errors to expect, and the tabs of a release."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import pandas as pd
import streamlit as st

from dpcore.dashboard import before_run, session
from dpcore.dashboard.pages.statistics import answers, finding
from dpcore.dashboard.pages.statistics.choosing import Boxes
from dpcore.dashboard.panels import disclosure, download, privacy
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import settings_drawer
from dpcore.dashboard.workbench import Areas, Parts, Workbench
from dpcore.datasets import Dataset
from dpcore.domain.statistic import Statistic
from dpcore.errors import DPCoreError
from dpcore.language import phrase, say
from dpcore.methods.parameters import Preset
from dpcore.methods.statistics import PlainStatistics

ABOUT = phrase(
    "Half the widths of 90% intervals, from your schema and the number of rows, as if all values "
    "were equally common; no row is read. Fewer rows have wider intervals."
)


class StatisticsPage(Workbench):
    """The page Statistics, on which several statistics are released together for one epsilon."""

    methods: ClassVar[Mapping[str, Any]] = {PlainStatistics.title: PlainStatistics}

    def areas(self) -> Areas:
        """Draw the containers of the settings: boxes above, and expected errors beside epsilon."""
        choice = st.container(horizontal=True, gap="xsmall", key=f"{self.page}.boxes")
        strength, odds, right = st.columns([9.3, 7.6, 13.1], gap="medium")
        with right:
            return Areas(choice, strength, odds, odds, right.container(), settings_drawer())

    def choose_method(self, data: Dataset, areas: Areas) -> tuple[str, Preset]:
        """Draw the choice of the statistics; return the method's title, with them as parameter."""
        boxes = Boxes(self.page, data)
        with areas.choice:
            chosen = boxes.draw_statistic()
        with areas.drawer:
            if chosen is not None and not chosen.persons:
                chosen = replace(chosen, where=boxes.draw_condition())
            lines = boxes.draw_lines()
        own = "" if chosen is None else str(chosen)
        style: dict[str, Any] = {"icon": ":material/add:", "on_click": boxes.change(add=own)}
        style |= {"disabled": not own, "help": say("All are released together, for one epsilon.")}
        areas.choice.button(say("Add another"), key=f"{self.page}.add", **style)
        texts = dict.fromkeys(filter(None, [*lines, own]))
        name, given = PlainStatistics.title, {"queries": "\n".join(texts)}
        return name, Preset(name, parameters=given)

    def draw_before(self, method: Any, preset: Preset, data: Dataset, known: int | None, *, waits: bool) -> None:
        """Draw each chosen statistic with its expected errors, and a button that removes it."""
        rows = known or before_run.expected_rows(self.page, data.schema) or before_run.USUAL
        widths, lines = pd.DataFrame(), method.queries.splitlines()
        key = repr(method.get_params()), data.schema.to_json(), rows
        with suppress(DPCoreError):  # a refusal of the run says why
            forecasts = session.keep_once("dpcore.interval_forecasts", dict[Any, pd.DataFrame])
            widths = session.compute_once(forecasts, key, partial(method.forecast, data.schema, rows))
        with st.container(key="before" if waits else "claim", gap=None):
            if waits:
                st.markdown(f"**{before_run.line_title(rows, known)}**", help=say(ABOUT))
            for i, line in enumerate(lines):
                row = st.container(horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False)
                row.markdown(escape(line) + (describe_widths(widths, line) if waits else ""))
                if len(lines) > 1:
                    style: dict[str, Any] = {"type": "tertiary", "help": say("Remove this statistic")}
                    remove = Boxes(self.page, data).change(remove=line)
                    row.button(":material/close:", key=f"{self.page}.remove.{i}", on_click=remove, **style)
        before_run.draw_guarantee(method, preset, data.schema)

    def tabs(self, shown: ShownRelease, data: Dataset) -> Parts:
        """Return the tabs that show a release, as {title: function that draws the tab}."""
        return {
            phrase("Answers"): lambda: answers.draw_answers(self.page, shown),
            phrase("Numbers"): lambda: answers.draw_numbers(shown),
            phrase("Run-to-run variation"): lambda: answers.draw_redraws(self.page, shown),
            phrase("Does the finding survive?"): lambda: finding.draw_finding(self.page, shown),
            phrase("Privacy"): lambda: draw_privacy(shown),
            phrase("Download"): lambda: download.draw_download(self.page, shown),
        }


def describe_widths(widths: pd.DataFrame, line: str) -> str:
    """Return the expected errors of a statistic, as text after its name; "" if they are not known.

    `widths` is the forecast of all statistics, and `line` the statistic's text.
    """
    if widths.empty:
        return ""
    one = Statistic.parse(line)
    own, share = widths[widths["statistic"] == str(one)], one.kind == "share"
    half = own.loc[~own["too_few"], ["noise", "both"]].median() * (100 if share else 1)
    if half.isna().any():
        return f": {say('too few rows to tell')}" if len(own) else ""  # persons are not forecast
    texts = {str(name): f"{width:,.0f}" if width >= 10 else f"{width:.2g}" for name, width in half.items()}
    texts |= {name: say("{points} points", points=text) for name, text in texts.items() if share}
    text = say(": **± {noise}** from the noise, **± {both}** with sampling", **texts)
    return text.replace("± ", "±\u00a0")


def draw_privacy(shown: ShownRelease) -> None:
    """Draw claimed and proven epsilon, its shares, and the limit of what anyone can learn."""
    privacy.draw_epsilon(shown)
    st.markdown(disclosure.describe_limit(shown.release))
