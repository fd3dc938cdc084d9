"""Taxonomy trees: generalized rows from counts that are made consistent (paper 002), and DiffGen."""

import streamlit as st

from dpcore import METHODS
from dpcore.dashboard import controls, jobs, links, panels, session, shell
from dpcore.dashboard.sections import taxonomy_editor
from dpcore.dashboard.tabs import count_tree, figures_002, paper_figures

PAGE = "taxonomy"
PRINTED = "As published, or reconstructed"

shell.frame(
    "Taxonomy tree",
    "Put values into ever finer groups, count the groups privately, and let the counts correct each other; then answer "
    "range queries, or make new rows.",
)
data = session.dataset()


@st.fragment
def settings() -> None:
    """All settings; moving one draws nothing and spends nothing."""
    with links.of(PAGE, data), controls.drawer(PAGE, session.shown(PAGE)):
        epsilon = controls.epsilon_picker(PAGE)
        left, middle, right = st.columns(3, gap="medium")
        with left:
            chosen = controls.method_picker(PAGE, PRINTED)
        name = chosen.pop("method")
        with middle:
            rows = controls.rows_picker(PAGE, data)
            chosen["target"] = controls.target_picker(PAGE, data, needed=name == "DiffGen")
            chosen |= count_tree.picker(PAGE, name, chosen)
        with right:
            relation = controls.relation_picker(PAGE)
            noise = controls.noise_picker(PAGE)
        parameters = {**chosen, **noise, "epsilon": epsilon, "relation": relation}
        st.session_state[f"{PAGE}.chosen"] = (name, parameters, rows)
        controls.next_run(parameters, rows, name, PRINTED)


drawer = st.expander("Taxonomies: which values belong together", key=f"{PAGE}.taxonomies", on_change="rerun")
if drawer.open:
    with drawer:
        taxonomy_editor.editor(f"{PAGE}.editor", data)
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
    st.caption("Synthetic rows are drawn evenly out of the released groups: inside a group nothing was learned.")
    more = {
        "Tree": lambda: count_tree.tree(PAGE, shown),
        "Ask a range": lambda: count_tree.ask(PAGE, shown),
        "Error by range": lambda: count_tree.errors(PAGE, shown),
        "Draw again": lambda: count_tree.redraws(PAGE, shown),
        "The patent's claims": lambda: paper_figures.figures(PAGE, data, figures_002.FIGURES),
    }
    panels.tabs(PAGE, shown, more)
