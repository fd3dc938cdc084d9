"""NB-Synth: synthetic rows from a naive-Bayes model (paper 000)."""

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import controls, jobs, links, panels, session, shell
from dpcore.dashboard.tabs import figures_000, paper_figures, redraw

PAGE = "naive_bayes"
shell.frame(
    "Naive Bayes",
    "Learn how every attribute depends on one class column, privately; then make as many new rows as you like.",
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
            method = controls.method_picker(PAGE)
        with middle:
            rows = controls.rows_picker(PAGE, data)
            target = controls.target_picker(PAGE, data)
            smoothing = st.number_input(
                "Smoothing (pseudo-count)", 0.01, 1000.0, 1.0, key=f"{PAGE}.smoothing", persist_state="session"
            )
        with right:
            relation = controls.relation_picker(PAGE)
            noise = controls.noise_picker(PAGE)
        name = method.pop("method")
        parameters = {
            **method,
            **noise,
            "epsilon": epsilon,
            "relation": relation,
            "smoothing": smoothing,
            "target": target,
        }
        if method["variant"] in ("C2", "Alg1", "Alg2"):
            parameters["rows"] = rows
        st.session_state[f"{PAGE}.chosen"] = (name, parameters, rows)
        controls.next_run(parameters, rows)


settings()
controls.run_button(PAGE)
if jobs.requested(PAGE):
    name, chosen, size = st.session_state[f"{PAGE}.chosen"]
    jobs.synthesize(PAGE, name, METHODS[name](**chosen), data, size)
shown = session.shown(PAGE)
if shown is None:
    st.info("Press Run to make a copy. Every run is charged to the ledger.", icon=":material/arrow_upward:")
else:
    panels.headline(shown)
    more = {
        "Draw again": lambda: redraw.redraws(PAGE, shown),
        "The paper's figures": lambda: paper_figures.figures(f"{PAGE}.figures", data, figures_000.FIGURES, repeats=5),
    }
    panels.tabs(PAGE, shown, more)
