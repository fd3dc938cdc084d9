"""What a person takes home of a release: the zip, the report, the notebook, the card, and code that does the same."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import links
from dpcore.dashboard.session import AnyShown, Shown, ShownModel, remember
from dpcore.dashboard.shell import escaped
from dpcore.export import models, privacy_card
from dpcore.export.archive import bundle, notebook_of, report_of, show_code
from dpcore.export.report import Picture, Report

Comparisons = Callable[[], Sequence[Picture] | None]
"""The charts that compare a release with real rows; None if making them was stopped."""

READERS = "a notebook and a script that replay it, a report with the charts, and a card"
WARNING = ":material/gpp_bad:"
REPORT = "Opens in any browser without a network, and prints."
DO_NOT = "-do-not-publish"
NOTEBOOK = "Keep it beside the files of the zip; the README there says how to run it."


def take_home(page: str, shown: Shown, comparisons: Comparisons) -> None:
    """The zip of synthetic rows, what is in it for readers, and the code that does the same."""
    release = shown.release
    also = " the network, as it was released," if release.structure else ""
    if "tree" in release.structure:
        also = " the generalized rows and the tree of counts,"
    st.markdown(
        f"The zip holds the synthetic rows, the schema, the settings,{also} the ledger, {READERS}. No real row is "
        "copied; a synthetic one may equal one by chance."
    )
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=WARNING)
    chosen = st.segmented_control(
        "Table format", ["csv", "parquet"], default="csv", required=True, key=f"{page}.format"
    )
    table: Literal["csv", "parquet"] = "parquet" if chosen == "parquet" else "csv"
    told = report(page, shown, comparisons, lambda pictures: report_of(release, pictures))
    if told is None:
        return
    # Bytes, made once per release and choice: a deferred download is lost if the page reruns under the click.
    packed = remember(shown, f"zip {table} {told.real}", lambda: bundle(release, table=table, told=told))
    with st.container(horizontal=True):
        download(page, packed, real=told.real)
        for_readers(page, told, remember(shown, f"notebook {table}", lambda: notebook_of(release, table)))
    card(shown)
    st.dataframe(release.synthetic.head(20), hide_index=True, key=f"{page}.rows")
    st.caption("The first 20 synthetic rows.")
    groups = remember(shown, "generalized", lambda: release.generalized)
    if groups is not None:
        st.dataframe(groups.nlargest(20, groups.columns[-1]), hide_index=True, key=f"{page}.groups")
        st.caption(f"The 20 largest of {len(groups):,} generalized rows that are not empty.")
    again(shown, show_code(release))


def take_model_home(page: str, shown: ShownModel, comparisons: Callable[[str, ShownModel], Any]) -> None:
    """The zip of a model, the model alone, what is there for readers, and the code that does the same."""
    release = shown.release
    if release.exact:
        st.info("This model holds exact counts of real rows. It is for comparison on this screen, and stays here.")
        return
    also = "" if release.table_of_reports is None else " the table of reports and the rules that made it,"
    clear = [] if release.reports is None else [name for family in release.reports.clear for name in family]
    honest = "No real row is copied; what was learned from the rows has the protection that the card states."
    if clear:
        honest = (
            f"The model was learned from true answers of {escaped(', '.join(clear))}, and holds exact figures of them."
        )
    st.markdown(
        f"The zip holds the model,{also} the schema, the settings, the ledger, {READERS}. {honest} The model alone "
        "is enough to predict tomorrow: load it on the tab Predict."
    )
    if release.reports is not None and not also:
        st.markdown(
            "The table of reports stays here: by these rules, or with a known seed, some of its cells are true answers."
        )
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=WARNING)
    told = report(page, shown, lambda: comparisons(page, shown), lambda pictures: models.report_of(release, pictures))
    if told is None:
        return
    with st.container(horizontal=True):
        packed = remember(shown, f"zip {told.real}", lambda: models.bundle(release, told=told))
        download(page, packed, real=told.real)
        st.download_button(
            "Download the model alone",
            data=remember(shown, "model", release.model.to_json),
            file_name="model.json",
            mime="application/json",
            icon=":material/download:",
            on_click="ignore",
            key=f"{page}.download_model",
        )
        for_readers(page, told, remember(shown, "notebook", lambda: models.notebook_of(release)))
    card(shown)
    again(shown, models.show_code(release))


def report(
    page: str, shown: AnyShown, comparisons: Comparisons, make: Callable[[Sequence[Picture]], Report]
) -> Report | None:
    """The report, made once per release and choice; None if what it needs was stopped."""
    real = st.toggle(
        "Put the comparisons with real rows into the report",
        value=False,
        key=f"{page}.real",
        help="They carry no guarantee. Without them the report holds only what was released, and what it cost.",
    )
    if real:
        st.error(f"{REAL_DATA}. The report, and the zip that holds it, compare with real rows now.", icon=WARNING)
    key = f"report, real: {real}"
    if key not in shown.memory:
        pictures = comparisons() if real else []
        if pictures is None:
            return None
        with st.spinner("Drawing the charts of the report"):
            remember(shown, key, lambda: make(pictures))
    told: Report = shown.memory[key]
    if real and not told.real:
        st.info("There is nothing to compare with: no rows were kept aside to test on.")
    return told


def for_readers(page: str, told: Report, notebook: str) -> None:
    """The buttons for the report and the notebook alone."""
    st.download_button(
        "Download the report alone",
        data=told.html,
        file_name=f"dpcore-report{DO_NOT * told.real}.html",
        mime="text/html",
        icon=":material/description:",
        help=REPORT,
        on_click="ignore",
        key=f"{page}.download_report",
    )
    st.download_button(
        "Download the notebook alone",
        data=notebook,
        file_name="replay.ipynb",
        mime="application/x-ipynb+json",
        icon=":material/code:",
        help=NOTEBOOK,
        on_click="ignore",
        key=f"{page}.download_notebook",
    )


def card(shown: AnyShown) -> None:
    """The release's card; the zip holds the same."""
    made = remember(shown, "card", lambda: privacy_card.card(shown.release))
    with st.container(border=True):
        st.markdown("**Release card**")
        left, right = st.columns([3, 2], gap="large")
        left.markdown("\n".join(f"- **{escaped(what)}:** {escaped(about)}" for what, about in made.facts))
        right.markdown("\n".join(["**What is not protected**", "", *(f"- {escaped(text)}" for text in made.open)]))


def again(shown: AnyShown, code: str) -> None:
    """The way back to these settings: code, a link, and the zip itself."""
    with st.expander("Show the code"):
        st.code(code, language="python")
    made = shown.release.page
    if made:
        with st.expander("A link to these settings"):
            st.code(links.link(made["name"], made["settings"], shown.release.schema.target), language=None)
            st.markdown(
                "It opens this page with the same controls: parameters only, never data. The zip does it as well: give "
                "it to **Go on from a release** on the page Home."
            )


def download(page: str, packed: bytes, *, real: bool) -> None:
    """The button for a release's zip."""
    st.download_button(
        "Download the release",
        data=packed,
        file_name=f"dpcore-release{DO_NOT * real}.zip",
        mime="application/zip",
        icon=":material/download:",
        type="primary",
        on_click="ignore",
        key=f"{page}.download",
    )
