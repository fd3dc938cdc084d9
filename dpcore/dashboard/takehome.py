"""What a person takes home of a release: the zip, and the code that does the same."""

from __future__ import annotations

import streamlit as st

from dpcore import models
from dpcore.dashboard.frame import escaped
from dpcore.dashboard.state import Shown, ShownModel, remember
from dpcore.export import bundle, show_code

__all__ = ["take_home", "take_model_home"]


def take_home(page: str, shown: Shown) -> None:
    """The code that does the same, and the zip."""
    release = shown.release
    also = " the network, as it was released," if release.structure else ""
    if "tree" in release.structure:
        also = " the generalized rows and the tree of counts,"
    st.markdown(
        f"The zip holds the synthetic rows, the schema, the settings,{also} the ledger, and a script. No real row."
    )
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=":material/gpp_bad:")
    table = st.segmented_control("Table format", ["csv", "parquet"], default="csv", required=True, key=f"{page}.format")
    # Bytes, made once per release and format: a deferred download is lost if the page reruns under the click.
    packed = remember(shown, f"zip {table}", lambda: bundle(release, table="parquet" if table == "parquet" else "csv"))
    download(page, packed)
    st.dataframe(release.synthetic.head(20), hide_index=True, key=f"{page}.rows")
    st.caption("The first 20 synthetic rows.")
    groups = remember(shown, "generalized", lambda: release.generalized)
    if groups is not None:
        st.dataframe(groups.nlargest(20, groups.columns[-1]), hide_index=True, key=f"{page}.groups")
        st.caption(f"The 20 largest of {len(groups):,} generalized rows that are not empty.")
    with st.expander("Show the code"):
        st.code(show_code(release), language="python")


def take_model_home(page: str, shown: ShownModel) -> None:
    """The zip, the model alone, and the code that does the same."""
    release = shown.release
    if release.exact:
        st.info("This model holds exact counts of real rows. It is for comparison on this screen, and stays here.")
        return
    also = "" if release.table_of_reports is None else " the table of reports and the rules that made it,"
    clear = [] if release.reports is None else [name for family in release.reports.clear for name in family]
    honest = "No real row, and nothing that was measured on real rows."
    if clear:
        honest = (
            f"The model was learned from true answers of {escaped(', '.join(clear))}, and holds exact figures of them."
        )
    st.markdown(
        f"The zip holds the model,{also} the schema, the settings, the ledger, and a script. {honest} The model alone "
        "is enough to predict tomorrow: load it on the tab Predict."
    )
    if release.reports is not None and not also:
        st.markdown(
            "The table of reports stays here: by these rules, or with a known seed, some of its cells are true answers."
        )
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=":material/gpp_bad:")
    with st.container(horizontal=True):
        download(page, remember(shown, "zip", lambda: models.bundle(release)))
        st.download_button(
            "Download the model alone",
            data=remember(shown, "model", release.model.to_json),
            file_name="model.json",
            mime="application/json",
            icon=":material/download:",
            on_click="ignore",
            key=f"{page}.download_model",
        )
    with st.expander("Show the code"):
        st.code(models.show_code(release), language="python")


def download(page: str, packed: bytes) -> None:
    """The button for a release's zip."""
    st.download_button(
        "Download the release",
        data=packed,
        file_name="dpcore-release.zip",
        mime="application/zip",
        icon=":material/download:",
        type="primary",
        on_click="ignore",
        key=f"{page}.download",
    )
