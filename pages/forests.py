"""Trees and forests: private classifiers, one tree or many (paper 003)."""

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import controls, jobs, links, panels, session, shell
from dpcore.dashboard.tabs import budgets, classifier, figures_003, forest, paper_figures, predict, take_home

PAGE = "forests"
PRINTED = "As published, or reconstructed"

shell.frame(
    "Trees & forests",
    "Learn, privately, to tell a class from the other columns; look at the trees; then predict for rows of your own.",
)
data = session.dataset()


@st.fragment
def settings() -> None:
    """All settings; moving one draws nothing and spends nothing."""
    with links.of(PAGE, data), controls.drawer(PAGE, session.shown(PAGE)):
        epsilon = controls.epsilon_picker(PAGE)
        left, right = st.columns(2, gap="medium")
        with left:
            chosen = controls.method_picker(PAGE, PRINTED)
        name = chosen.pop("method")
        with right:
            chosen["target"] = controls.target_picker(PAGE, data)
            relation = controls.relation_picker(PAGE)
            noise = controls.noise_picker(PAGE)
        chosen |= forest.picker(PAGE, name, chosen, data.schema)
        parameters = {**chosen, **noise, "epsilon": epsilon, "relation": relation}
        st.session_state[f"{PAGE}.chosen"] = (name, parameters)
        forest.next_run(name, parameters, PRINTED, data)


settings()
controls.run_button(PAGE)
if jobs.requested(PAGE):
    method, given = st.session_state[f"{PAGE}.chosen"]
    jobs.learn(PAGE, method, METHODS[method](**given), data)
shown = session.shown(PAGE)
if shown is None:
    st.info("Press Run to learn a classifier. Every run is charged to the ledger.", icon=":material/arrow_upward:")
    with st.expander("Or predict with a model that was taken home earlier"):
        predict.predict(PAGE, None)
else:
    panels.headline(shown)
    tabs = {
        "Price": lambda: panels.price(shown),
        "Trees": lambda: forest.tree(PAGE, shown),
        "Where the budget went": lambda: budgets.budget(shown),
        "Accuracy": lambda: classifier.accuracy(PAGE, shown),
        "Draw again": lambda: classifier.redraws(PAGE, shown),
        "Predict": lambda: predict.predict(PAGE, shown),
        "The paper's figures": lambda: paper_figures.figures(PAGE, data, figures_003.FIGURES, repeats=5),
        "Take home": lambda: take_home.take_model_home(PAGE, shown, classifier.pictures),
    }
    panels.draw_open(PAGE, tabs)
