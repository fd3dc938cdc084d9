"""Randomized responses: everybody adds noise to their own answers, before anybody collects them (paper 004)."""

from collections.abc import Callable

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import controls, jobs, links, panels, responses, session, shell
from dpcore.dashboard.sections import coin_game, report_privacy
from dpcore.dashboard.tabs import classifier, figures_004, forest, paper_figures, predict, reports, take_home

PAGE = "responses"
GAME, MEASURES, LEARN = "Play the coin game", "How private is one report?", "Learn from reports"

shell.frame(
    "Randomized responses",
    "Here nobody holds the true rows: people add noise to their own answers, before anybody collects them.",
)
data = session.dataset()


@st.fragment
def settings() -> None:
    """All settings; moving one draws nothing and spends nothing."""
    with links.of(PAGE, data), controls.drawer(PAGE, session.shown(PAGE)):
        left, right = st.columns(2, gap="large")
        with left:
            chosen = controls.method_picker(PAGE, responses.PRINTED)
        name = chosen.pop("method")
        with right:
            chosen["target"] = controls.target_picker(PAGE, data)
            chosen["relation"] = controls.relation_picker(PAGE, "replace", responses.HIDDEN)
            chosen |= controls.noise_picker(PAGE, "Lots and noise", responses.LOTS)
        chosen |= responses.amount(PAGE, chosen["mode"], name)
        chosen |= responses.options(PAGE, name, chosen, data.schema)
        st.session_state[f"{PAGE}.chosen"] = (name, chosen)
        responses.next_run(name, chosen)


def learn() -> None:
    """Settings, a run, and what it gave."""
    settings()
    controls.run_button(PAGE)
    if jobs.requested(PAGE):
        method, given = st.session_state[f"{PAGE}.chosen"]
        jobs.learn(PAGE, method, METHODS[method](**given), data)
    shown = session.shown(PAGE)
    tabs: dict[str, Callable[[], None]] = {}
    last = {} if shown else {"Predict": lambda: predict.predict(PAGE, None)}
    if shown is None:
        st.info("Press Run, and everybody reports. Every round is charged.", icon=":material/arrow_upward:")
    else:
        panels.headline(shown)
        tabs = {
            "Price": lambda: panels.price(shown),
            **({"Reports": lambda: reports.reports(PAGE, shown)} if shown.release.reports else {}),
            "Accuracy": lambda: classifier.accuracy(PAGE, shown),
            "Draw again": lambda: classifier.redraws(PAGE, shown),
            **({"Tree": lambda: forest.tree(PAGE, shown)} if "forest" in shown.release.structure else {}),
            "Predict": lambda: predict.predict(PAGE, shown),
            "Take home": lambda: take_home.take_model_home(PAGE, shown, classifier.pictures),
        }
    figures = lambda: paper_figures.figures(PAGE, data, figures_004.FIGURES, repeats=5, sets=figures_004.SETS)  # noqa: E731
    panels.draw_open(PAGE, {**tabs, "The paper's figures": figures, **last})


with links.of(PAGE, data, "what"):
    what = st.segmented_control(
        "What to do", [GAME, MEASURES, LEARN], default=GAME, required=True, key=f"{PAGE}.what", persist_state="session"
    )
{GAME: lambda: coin_game.game(PAGE), MEASURES: lambda: report_privacy.measures(PAGE), LEARN: learn}[what]()
