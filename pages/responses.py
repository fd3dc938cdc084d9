"""Randomized responses: everybody adds noise to their own answers, before anybody collects them (paper 004)."""

from collections.abc import Callable

import streamlit as st

from dpcore.dashboard import links, panels, session, shell, workbench
from dpcore.dashboard.sections import coin_game, collection, report_privacy
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import classifier, disclosure, forest, paper_figures, predict, reports, take_home
from dpcore.dashboard.widgets import lasting
from dpcore.datasets import Dataset
from dpcore.export import protection
from dpcore.methods.base import PrivateEstimator

PAGE, FIGURES, FIRST = "responses", "The paper's figures", "Play the coin game"
TOP = ("method", f"target {workbench.NOISE}")
LAYOUT = (TOP, ("epsilon p0 theta factors",), ("randomizer", "privacy"), ("asked pairs numbers max_depth", "own"))
NAMES = """
- **PPNB** (the paper's method): naive Bayes from randomized answers. **PPNB-LDP**: the same with every answer
  randomized, the class too. LDP is local differential privacy: the noise is added by each person.
- **ERRPH** (the paper's rule): the truth with probability p0, otherwise any of the values, drawn. With two values it is
  called **RRPH**. **Warner's rule**: the truth with probability p, otherwise the opposite.
- **TRR** (the paper's rule for numbers): y = a x + b, with a and b drawn.
- **OUE**: a yes or no for every value, each of them randomized. **OLH**: a short code of the value, randomized.
- **DTPD** (Du and Zhan 2003): a decision tree from bits that are kept or turned round, all with probability theta.
- **DTCRD** (Agrawal and Srikant 2000): a decision tree from numbers with noise, whose distributions are reconstructed.
"""


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    return {
        "Price": lambda: panels.price(shown),
        **({"Reports": lambda: reports.reports(PAGE, shown)} if shown.release.artifact.reports else {}),
        "Accuracy": lambda: classifier.accuracy(PAGE, shown),
        "Draw again": lambda: classifier.redraws(PAGE, shown),
        **({"Tree": lambda: forest.tree(PAGE, shown)} if "forest" in shown.release.artifact.released else {}),
        "Predict": lambda: predict.predict(PAGE, shown),
        disclosure.TAB: lambda: disclosure.learned(PAGE, shown),
        "Take home": lambda: take_home.take_home(PAGE, shown, lambda: classifier.pictures(PAGE, shown)),
        FIGURES: lambda: paper_figures.figures(PAGE, data, "004", repeats=5),
    }


def waiting(data: Dataset) -> None:
    """What can be done without a release."""
    figures = {FIGURES: lambda: paper_figures.figures(PAGE, data, "004", repeats=5)}
    panels.draw_open(PAGE, {**figures, "Predict": lambda: predict.predict(PAGE, None)})


def next_run(method: PrivateEstimator) -> str:
    """What the Run button would make."""
    unit = session.dataset().schema.unit
    price = f"{method.epsilon:g} per person" if unit is None else protection.headline(unit, method.epsilon)
    how = "as the papers print it" if method.mode == "paper" else f"corrected, epsilon {price}"
    once_more = "Everybody reports, and pays for it: the ledger counts every round."
    return f"{method.title}, {how}. {once_more if len(method.modes) > 1 else 'Everybody tells the truth.'}"


def explained(*_: object) -> None:
    """Who plays the people, and what names stand for."""
    st.caption(
        "This program plays all the people: it tosses their coins, and learns from their reports only. What is true it "
        "keeps to compare with, on this screen."
    )
    with st.expander("What the names stand for"):
        st.markdown(NAMES)


bench = workbench.Workbench(
    PAGE,
    "Randomized responses",
    "Here nobody holds the true rows: people add noise to their own answers, before anybody collects them.",
    tabs,
    layout=(*LAYOUT, workbench.NEXT),
    gap="large",
    printed="As the papers print it",
    invitation="Press Run, and everybody reports. Every round is charged.",
    waiting=waiting,
    told=next_run,
    explained=explained,
)
shell.frame(bench.title, bench.lead)
data = session.dataset()
sections = {FIRST: coin_game.game, "How private is one report?": report_privacy.measures}
sections |= {"Learn from reports": lambda _: bench.bench(data), "Open collected reports": collection.collection}
with links.of(PAGE, data, "what"):
    what = lasting(st.segmented_control, "What to do", f"{PAGE}.what", [*sections], default=FIRST, required=True)
sections[what](PAGE)
