"""Randomized responses: everybody adds noise to their own answers, before anybody collects them (paper 004)."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpcore.dashboard import links, panels, session, shell, workbench
from dpcore.dashboard.pages.mechanisms import coin_game, report_privacy
from dpcore.dashboard.pages.responses import collection, reports
from dpcore.dashboard.panels import classifier, disclosure, forest, paper_figures, predict, take_home
from dpcore.dashboard.session import Shown
from dpcore.dashboard.widgets import caption, lasting, markdown
from dpcore.datasets import Dataset
from dpcore.export import protection
from dpcore.language import phrase, say
from dpcore.methods.base import PrivateEstimator

PAGE, FIGURES, FIRST = "responses", phrase("The paper's figures"), phrase("Play the coin game")
TOP = ("method", f"target {workbench.NOISE}")
LAYOUT = (TOP, ("epsilon p0 theta factors",), ("randomizer", "privacy"), ("asked pairs numbers max_depth", "own"))


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    return {
        phrase("Price"): lambda: panels.price(shown),
        **({phrase("Reports"): lambda: reports.reports(PAGE, shown)} if shown.release.artifact.reports else {}),
        phrase("Accuracy"): lambda: classifier.accuracy(PAGE, shown),
        phrase("Draw again"): lambda: classifier.redraws(PAGE, shown),
        **({phrase("Tree"): lambda: forest.tree(PAGE, shown)} if "forest" in shown.release.artifact.released else {}),
        phrase("Predict"): lambda: predict.predict(PAGE, shown),
        disclosure.TAB: lambda: disclosure.learned(PAGE, shown),
        phrase("Take home"): lambda: take_home.take_home(PAGE, shown, lambda: classifier.pictures(PAGE, shown)),
        FIGURES: lambda: paper_figures.figures(PAGE, data, "004", repeats=5),
    }


def waiting(data: Dataset) -> None:
    """What can be done without a release."""
    figures = {FIGURES: lambda: paper_figures.figures(PAGE, data, "004", repeats=5)}
    panels.draw_open(PAGE, {**figures, "Predict": lambda: predict.predict(PAGE, None)})


def next_run(method: PrivateEstimator) -> str:
    """What the Run button would make."""
    unit = session.dataset().schema.unit
    alone = say("{epsilon} per person", epsilon=f"{method.epsilon:g}")
    price = alone if unit is None else protection.headline(unit, method.epsilon)
    if method.mode == "published":
        told = say("{method}, as the papers print it.", method=method.title)
    else:
        told = say("{method}, corrected, epsilon {price}.", method=method.title, price=price)
    once_more = say("Everybody reports, and pays for it: the ledger counts every round.")
    return f"{told} {once_more if len(method.modes) > 1 else say('Everybody tells the truth.')}"


def explained(*_: object) -> None:
    """Who plays the people, and what names stand for."""
    caption(
        "This program plays all the people: it tosses their coins, and learns from their reports only. What is "
        "true it keeps to compare with, on this screen."
    )
    with st.expander(say("What the names stand for")):
        markdown(reports.NAMES)


bench = workbench.Workbench(
    PAGE,
    phrase("Randomized responses"),
    phrase("Here nobody holds the true rows: people add noise to their own answers, before anybody collects them."),
    tabs,
    layout=(*LAYOUT, workbench.NEXT),
    gap="large",
    printed=phrase("As the papers print it"),
    invitation=phrase("Press Run, and everybody reports. Every round is charged."),
    waiting=waiting,
    told=next_run,
    explained=explained,
)
shell.frame(say(bench.title), "" if session.shown(PAGE) else say(bench.lead))
data = session.dataset()
sections = {FIRST: coin_game.game, phrase("How private is one report?"): report_privacy.measures}
sections |= {phrase("Learn from reports"): lambda _: bench.bench(data)}
sections |= {phrase("Open collected reports"): collection.collection}
with links.of(PAGE, data, "what"):
    look: dict[str, Any] = {"default": FIRST, "required": True, "format_func": say, "label_visibility": "collapsed"}
    what = lasting(st.segmented_control, say("What to do"), f"{PAGE}.what", [*sections], **look)
sections[what](PAGE)
