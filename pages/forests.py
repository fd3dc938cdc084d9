"""Trees and forests: private classifiers, one tree or many (paper 003)."""

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import (
    budgets,
    comparing,
    figures_003,
    forests,
    forms,
    frame,
    panels,
    predicting,
    presets,
    reproduce,
    runs,
    state,
    takehome,
)

PAGE = "forests"
CORRECTED = {
    "DiffPRFs: trees that cut numbers where they like": {"method": "DiffPRFs"},
    "DiffPRF: trees over public bins": {"method": "DiffPRF"},
    "DiffP-C4.5: one tree, pruned": {"method": "DiffP-C4.5"},
    "DiffP-ID3: one tree, by the exponential mechanism": {"method": "DiffP-ID3"},
    "PINQ-ID3: one tree, by noisy tables": {"method": "PINQ-ID3"},
    "SuLQ-ID3: one tree, by noisy counts": {"method": "SuLQ-ID3"},
    "DT-Diff (reconstructed): a tree from counts of groups": {"method": "DT-Diff"},
    "DiffGen tree: a tree from DiffGen's groups": {"method": "DiffGen tree"},
}
PRINTED = "As published, or reconstructed"

frame.frame(
    "Trees & forests",
    "Learn, privately, to tell a class from the other columns; look at the trees; then predict for rows of your own.",
)
data = state.dataset()


@st.fragment
def settings() -> None:
    """All settings; moving one draws nothing and spends nothing."""
    with presets.of(PAGE, data), forms.drawer(PAGE, state.shown(PAGE)):
        epsilon = forms.epsilon_picker(PAGE)
        left, right = st.columns(2, gap="medium")
        with left:
            chosen = forms.method_picker(PAGE, CORRECTED, forests.PAPER, forests.REMARKS, PRINTED)
        name = chosen.pop("method")
        with right:
            chosen["target"] = forms.target_picker(PAGE, data)
            relation = forms.relation_picker(PAGE)
            noise = forms.noise_picker(PAGE)
        chosen |= forests.picker(PAGE, name, chosen, data.schema)
        parameters = {**chosen, **noise, "epsilon": epsilon, "relation": relation}
        st.session_state[f"{PAGE}.chosen"] = (name, parameters)
        forests.next_run(name, parameters, PRINTED, data)


settings()
forms.run_button(PAGE)
if runs.requested(PAGE):
    method, given = st.session_state[f"{PAGE}.chosen"]
    runs.learn(PAGE, method, METHODS[method](**given), data)
shown = state.shown(PAGE)
if shown is None:
    st.info("Press Run to learn a classifier. Every run is charged to the ledger.", icon=":material/arrow_upward:")
    with st.expander("Or predict with a model that was taken home earlier"):
        predicting.predict(PAGE, None)
else:
    panels.headline(shown)
    tabs = {
        "Price": lambda: panels.price(shown),
        "Trees": lambda: forests.tree(PAGE, shown),
        "Where the budget went": lambda: budgets.budget(shown),
        "Accuracy": lambda: comparing.accuracy(PAGE, shown),
        "Draw again": lambda: comparing.redraws(PAGE, shown),
        "Predict": lambda: predicting.predict(PAGE, shown),
        "The paper's figures": lambda: reproduce.figures(PAGE, data, figures_003.FIGURES, repeats=5),
        "Take home": lambda: takehome.take_model_home(PAGE, shown, comparing.pictures),
    }
    panels.draw_open(PAGE, tabs)
