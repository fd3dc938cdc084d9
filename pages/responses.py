"""Randomized responses: everybody adds noise to their own answers, before anybody collects them (paper 004)."""

from collections.abc import Callable

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import (
    coins,
    comparing,
    exposures,
    figures_004,
    forests,
    forms,
    frame,
    panels,
    predicting,
    presets,
    reported,
    reproduce,
    responses,
    runs,
    state,
    takehome,
)

PAGE = "responses"
GAME, MEASURES, LEARN = "Play the coin game", "How private is one report?", "Learn from reports"

frame.frame(
    "Randomized responses",
    "Here nobody holds the true rows: people add noise to their own answers, before anybody collects them.",
)
data = state.dataset()


@st.fragment
def settings() -> None:
    """All settings; moving one draws nothing and spends nothing."""
    with presets.of(PAGE, data), forms.drawer(PAGE, state.shown(PAGE)):
        left, right = st.columns(2, gap="large")
        with left:
            chosen = forms.method_picker(PAGE, *responses.CHOICES)
        name = chosen.pop("method")
        with right:
            chosen["target"] = forms.target_picker(PAGE, data)
            chosen["relation"] = forms.relation_picker(PAGE, "replace", responses.HIDDEN)
            chosen |= forms.noise_picker(PAGE, "Lots and noise", responses.LOTS)
        chosen |= responses.amount(PAGE, chosen["mode"], name)
        chosen |= responses.options(PAGE, name, chosen, data.schema)
        st.session_state[f"{PAGE}.chosen"] = (name, chosen)
        responses.next_run(name, chosen)


def learn() -> None:
    """Settings, a run, and what it gave."""
    settings()
    forms.run_button(PAGE)
    if runs.requested(PAGE):
        method, given = st.session_state[f"{PAGE}.chosen"]
        runs.learn(PAGE, method, METHODS[method](**given), data)
    shown = state.shown(PAGE)
    tabs: dict[str, Callable[[], None]] = {}
    last = {} if shown else {"Predict": lambda: predicting.predict(PAGE, None)}
    if shown is None:
        st.info("Press Run, and everybody reports. Every round is charged.", icon=":material/arrow_upward:")
    else:
        panels.headline(shown)
        tabs = {
            "Price": lambda: panels.price(shown),
            **({"Reports": lambda: reported.reports(PAGE, shown)} if shown.release.reports else {}),
            "Accuracy": lambda: comparing.accuracy(PAGE, shown),
            "Draw again": lambda: comparing.redraws(PAGE, shown),
            **({"Tree": lambda: forests.tree(PAGE, shown)} if "forest" in shown.release.structure else {}),
            "Predict": lambda: predicting.predict(PAGE, shown),
            "Take home": lambda: takehome.take_model_home(PAGE, shown, comparing.pictures),
        }
    figures = lambda: reproduce.figures(PAGE, data, figures_004.FIGURES, repeats=5, sets=figures_004.SETS)  # noqa: E731
    panels.draw_open(PAGE, {**tabs, "The paper's figures": figures, **last})


with presets.of(PAGE, data, "what"):
    what = st.segmented_control(
        "What to do", [GAME, MEASURES, LEARN], default=GAME, required=True, key=f"{PAGE}.what", persist_state="session"
    )
{GAME: lambda: coins.game(PAGE), MEASURES: lambda: exposures.measures(PAGE), LEARN: learn}[what]()
