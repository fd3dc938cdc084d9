"""NB-Synth: synthetic rows from a naive-Bayes model (paper 000)."""

import streamlit as st

from dpcore import NaiveBayesSynthesizer
from dpcore.dashboard import controls, jobs, links, panels, session, shell
from dpcore.dashboard.tabs import figures_000, paper_figures, redraw

PAGE = "naive_bayes"
CORRECTED = {
    "C1-gen: rows drawn from the private model": {"variant": "C1", "x_source": "model"},
    "C1: random rows, labeled by the private model": {"variant": "C1", "x_source": "uniform"},
    "C2: the paper's algorithm at its true price": {"variant": "C2"},
}
PAPER = {
    "Algorithm 2: random rows, labels by the exponential mechanism": {"variant": "Alg2"},
    "Algorithm 1: random rows, labels by the exact model (no privacy)": {"variant": "Alg1"},
}

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
            method = controls.method_picker(PAGE, CORRECTED, PAPER)
        with middle:
            rows = controls.rows_picker(PAGE, data)
            target = controls.target_picker(PAGE, data)
            smoothing = st.number_input(
                "Smoothing (pseudo-count)", 0.01, 1000.0, 1.0, key=f"{PAGE}.smoothing", persist_state="session"
            )
        with right:
            relation = controls.relation_picker(PAGE)
            noise = controls.noise_picker(PAGE)
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
        st.session_state[f"{PAGE}.chosen"] = (parameters, rows)
        controls.next_run(parameters, rows)


settings()
controls.run_button(PAGE)
if jobs.requested(PAGE):
    chosen, size = st.session_state[f"{PAGE}.chosen"]
    jobs.synthesize(PAGE, "NB-Synth", NaiveBayesSynthesizer(**chosen), data, size)
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
