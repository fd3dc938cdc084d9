"""The files of a release: the zip, the report, the notebook, the card, and code that does the same."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import hosting, links
from dpcore.dashboard.panels import longer
from dpcore.dashboard.panels.accuracy import comparisons
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import markdown
from dpcore.export import Release, bundle, file_name, make_notebook, make_report, show_code
from dpcore.export.artifacts import CountTree, Picture, Rows, Table
from dpcore.export.facts import facts
from dpcore.export.model_file import Model
from dpcore.export.report import Report
from dpcore.language import ENGLISH, phrase, say, speaking, spoken

Comparisons = Callable[[], Sequence[Picture] | None]
"""The charts that compare a release with real rows; None while they are made, and if that was stopped."""

READERS = phrase("a notebook and a script that replay it, a report, and a card")
UNDRAWN = phrase(
    "Tables stand in the report in place of charts: drawing them needs vl_convert, which is not installed: "
    '`pip install "dpcore[report]"`.'
)
WARNING = ":material/gpp_bad:"
FIRST = 20
KINDS = {  # of files, by what their names end with, and their icons
    "zip": ("application/zip", "download"),
    "json": ("application/json", "download"),
    "csv": ("text/csv", "download"),
    "html": ("text/html", "description"),
    "ipynb": ("application/x-ipynb+json", "code"),
}


def download(page: str, shown: Shown) -> None:
    """The zip, what is in it for readers and programs, and the code that does the same."""
    release = shown.release
    artifact = release.artifact
    if isinstance(artifact, Model) and release.noiseless:
        st.info(say("This model holds noiseless counts of real rows. It is for comparison on screen, and stays here."))
        return
    with st.container(horizontal=True):
        first, others = st.container(width="content"), st.popover(say("Other files"))
    st.markdown(about_model(release, artifact) if isinstance(artifact, Model) else about_rows(artifact))
    if artifact.reports is not None and release.table_of_reports is None:
        markdown(
            "The table of reports stays here: by these rules, or with a known seed, some of its cells are true answers."
        )
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=WARNING)
    table: Table = "csv"
    with others:
        if isinstance(artifact, Rows):
            formats: list[Table] = ["csv", "parquet"]
            look: dict[str, Any] = {"default": "csv", "required": True, "key": f"{page}.format"}
            table = st.segmented_control(say("Table format"), formats, **look)
        note = say("They carry no guarantee. Without them the report holds the release alone, and what it can cost.")
        real = st.toggle(say("Put the comparisons with real rows into the report"), key=f"{page}.real", help=note)
    told = report(shown, lambda: comparisons(page, shown), real=real)
    if told is None:
        return
    if not told.drawn:
        st.info(say(UNDRAWN))
    # Bytes, made once per release and choice: a deferred download is lost if the page reruns under the click.
    with speaking(ENGLISH):  # as all files are
        packed = remember(shown, f"zip {table} {told.real}", lambda: bundle(release, table=table, told=told))
        notebook = remember(shown, f"notebook {table}", lambda: make_notebook(release, table))
    zipped = file_name(release, real=told.real)
    with first:
        file_button(f"{page}.download", escaped(zipped), packed, zipped, type="primary")
    with others:
        if isinstance(artifact, Model):
            model = remember(shown, "model", artifact.to_json)
            file_button(f"{page}.download_model", say("Download the model alone"), model, "model.json")
        note = say("Opens in any browser without a network, and prints.")
        alone = file_name(release, real=told.real, ending="html")
        file_button(f"{page}.download_report", say("Download the report alone"), told.html, alone, help=note)
        note = say("Keep it beside the files of the zip; the README there says how to run it.")
        file_button(
            f"{page}.download_notebook", say("Download the notebook alone"), notebook, "replay.ipynb", help=note
        )
    if shown.method is not None and hosting.own_computer():
        with st.expander(say("More rows than fit into memory")):
            longer.written(page, shown)
    card(shown)
    if isinstance(artifact, CountTree):
        groups = artifact.generalized
        told_of = say(
            "The {first} largest of {rows:,} generalized rows that are not empty", first=FIRST, rows=len(groups)
        )
        with st.expander(told_of):
            st.dataframe(groups.nlargest(FIRST, groups.columns[-1]), hide_index=True, key=f"{page}.groups")
    again(release)


def about_rows(artifact: Any) -> str:
    """What is in a zip of rows."""
    also = say(" the network, as it was released,") if artifact.released else ""
    if isinstance(artifact, CountTree):
        also = say(" the generalized rows and the tree of counts,")
    return say(
        "The zip holds the synthetic rows, the schema, the settings,{also} the ledger, {readers}. No real row is "
        "copied, though a synthetic one may coincide with one.",
        also=also,
        readers=say(READERS),
    )


def about_model(release: Release, model: Model) -> str:
    """What is in a zip of a classifier."""
    also = "" if release.table_of_reports is None else say(" the table of reports and the rules that made it,")
    clear = [] if model.reports is None else [name for family in model.reports.clear for name in family]
    honest = say("No real row is copied; what was learned from the rows has the protection that the card states.")
    if clear:
        honest = say(
            "The model was learned from true answers of {columns}, and holds noiseless figures of them.",
            columns=escaped(", ".join(clear)),
        )
    return say(
        "The zip holds the model,{also} the schema, the settings, the ledger, {readers}. {honest} The model alone is "
        "enough to predict later: open it in the part Predict of the tab Model.",
        also=also,
        readers=say(READERS),
        honest=honest,
    )


def report(shown: Shown, pictures_of: Comparisons, *, real: bool) -> Report | None:
    """The report, made once per release and choice; None until what it needs is there."""
    if real:
        told_so = phrase("{mark}. The report, and the zip that holds it, compare with real rows now.")
        st.error(say(told_so, mark=say(REAL_DATA)), icon=WARNING)
    key = f"report, real: {real}"
    if key not in shown.memory:
        pictures = pictures_of() if real else []
        if pictures is None:
            return None
        with st.spinner(say("Drawing the charts of the report")), speaking(ENGLISH):
            remember(shown, key, lambda: make_report(shown.release, pictures))
    told: Report = shown.memory[key]
    if real and not told.real:
        st.info(say("There is nothing to compare with: no rows were kept aside to test on."))
    return told


def file_button(key: str, label: str, data: str | bytes, file: str, **look: Any) -> None:
    """A button for one file; a press of it draws nothing anew."""
    mime, icon = KINDS[file.rpartition(".")[2]]
    look |= {"on_click": "ignore", "icon": f":material/{icon}:"}
    st.download_button(label, data, file, mime, key=key, **look)


def card(shown: Shown) -> None:
    """The release's card; the zip holds the same in English."""
    made = remember(shown, f"card {spoken()}", lambda: facts(shown.release))
    with st.expander(say("Release card")):
        left, right = st.columns([3, 2], gap="large")
        left.markdown("\n".join(f"- **{escaped(what)}:** {escaped(about)}" for what, about in made.card + made.limits))
        right.markdown("\n".join([say("**What is not protected**"), "", *(f"- {escaped(text)}" for text in made.open)]))


def again(release: Release) -> None:
    """The way back to these settings: code, a link, and the zip itself."""
    with st.expander(say("Show the code")):
        st.code(show_code(release), language="python")
    made = release.page
    if made:
        with st.expander(say("A link to these settings")):
            st.code(links.link(made["name"], made["settings"], release.schema.target), language=None)
            markdown(
                "It opens this page with the same controls: parameters only, never data. The zip does it as well: "
                "give it to **Go on from a release** on the page Start."
            )
