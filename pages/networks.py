"""Bayesian networks: HMPrivBayes and what it is compared with (paper 001)."""

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import controls, jobs, links, panels, session, shell
from dpcore.dashboard.tabs import figures_001, network, paper_figures, redraw

PAGE = "networks"
CHOICES = {
    "score": (
        "Score",
        {"R": "R: distance from independence", "MI": "Mutual information", "F": "F: distance from certainty"},
    ),
    "affinity": (
        "Clustering",
        {"fixed": "Repaired: like with like", "paper": "As printed: like apart"},
    ),
    "partition": ("Clusters from", {"learned": "Noisy scores", "public": "The columns' order (free)"}),
}

shell.frame(
    "Bayesian networks",
    "Learn which columns hang together, privately; measure those tables; then make as many new rows as you like.",
)
data = session.dataset()


@st.fragment
def settings() -> None:
    """All settings; moving one draws nothing and spends nothing."""
    with links.of(PAGE, data):
        with controls.drawer(PAGE, session.shown(PAGE)):
            epsilon = controls.epsilon_picker(PAGE)
            left, middle, right = st.columns(3, gap="medium")
        with left:
            chosen = controls.method_picker(PAGE)
        name, paper = chosen.pop("method"), chosen["mode"] == "paper"
        if not METHODS[name].paper:
            left.caption("This project's own method; no paper printed it.")
        known = METHODS[name]().get_params()
        with middle:
            rows = controls.rows_picker(PAGE, data)
            if "target" in known:
                chosen["target"] = controls.target_picker(PAGE, data)
            chosen |= controls.network_picker(PAGE, name, known, chosen, CHOICES)
        with right:
            relation = controls.relation_picker(PAGE, "replace" if paper or name == "NoPrivacy" else None)
            noise = controls.noise_picker(PAGE)
        parameters = {**chosen, **noise, "epsilon": epsilon, "relation": relation}
        st.session_state[f"{PAGE}.chosen"] = (name, parameters, rows)
        controls.next_run(parameters, rows, name)


settings()
controls.run_button(PAGE)
if jobs.requested(PAGE):
    method, given, size = st.session_state[f"{PAGE}.chosen"]
    jobs.synthesize(PAGE, method, METHODS[method](**given), data, size)
shown = session.shown(PAGE)
if shown is None:
    st.info("Press Run to make a copy. Every run is charged to the ledger.", icon=":material/arrow_upward:")
else:
    panels.headline(shown)
    more = {
        "Network": lambda: network.network(shown),
        "Clusters": lambda: network.clusters(shown),
        "Draw again": lambda: redraw.redraws(PAGE, shown),
        "The paper's figures": lambda: paper_figures.figures(PAGE, data, figures_001.FIGURES),
    }
    panels.tabs(PAGE, shown, more)
