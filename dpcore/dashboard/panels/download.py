"""The tab Download: a release's zip, report, notebook, card, and the code that repeats the run."""

from functools import partial
from mimetypes import guess_type
from typing import Any

import streamlit as st

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import hosting, links
from dpcore.dashboard.panels import row_writer
from dpcore.dashboard.panels.accuracy import comparison_charts
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.export import bundle, file_name, make_notebook, make_report, show_code
from dpcore.export.artifacts import Answers, Model, SyntheticRows
from dpcore.export.facts import facts
from dpcore.export.report import Report
from dpcore.language import ENGLISH, current_language, phrase, say, use_language

WARNING = ":material/gpp_bad:"


def draw_download(page: str, shown: ShownRelease) -> None:
    """Draw the downloads of a release, its card, and the code that repeats the run."""
    release, artifact = shown.release, shown.release.artifact
    if isinstance(artifact, Model) and release.noiseless:
        st.info(say("This model holds noiseless counts of real rows. It is a baseline on screen only."))
        return
    with st.container(horizontal=True):
        first, others = st.container(width="content"), st.popover(say("Other files to download"))
    markdown(
        "The zip holds what was released, its schema, settings and ledger, a notebook and a script "
        "that replay it, a report, and a card."
    )
    reports = artifact.reports
    if reports is not None and reports.truthful_questions:
        names = escape(", ".join(name for family in reports.truthful_questions for name in family))
        markdown("The model holds noiseless figures of true answers about {names}.", names=names)
    elif isinstance(artifact, SyntheticRows):
        markdown("No real row is copied, though a synthetic row may coincide with a real one.")
    if reports is not None and release.table_of_reports is None:
        markdown("The zip lacks the randomized reports: with the randomizers or seed, they reveal true answers.")
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=WARNING)
    with others:
        note = say("Comparisons have no guarantee. Without them, the report holds only the release.")
        label = say("Put the comparisons with real rows into the report")
        real = not isinstance(artifact, Answers) and st.toggle(label, key=f"{page}.real", help=note)
    html_report = make_html_report(page, shown, real=real)
    if html_report is None:
        return
    # Made once per release and choice: a rerun during the click would lose a deferred download.
    with use_language(ENGLISH):  # as all files are
        packed = remember(shown, f"zip {html_report.real}", partial(bundle, release, report=html_report))
        notebook = remember(shown, "notebook", partial(make_notebook, release))
    zipped, html = (file_name(release, real=html_report.real, ending=ending) for ending in ("zip", "html"))
    with first:
        file_button(f"{page}.download", escape(zipped), packed, zipped, type="primary")
    with others:
        if isinstance(artifact, Model):
            model = remember(shown, "model", artifact.to_json)
            file_button(f"{page}.download_model", say("Download the model alone"), model, "model.json")
        file_button(f"{page}.download_report", say("Download the report alone"), html_report.html, html)
        label = say("Download the notebook alone")
        file_button(f"{page}.download_notebook", label, notebook, "replay.ipynb")
    if shown.method is not None and hosting.is_own_computer():
        with st.expander(say("More rows than fit into memory")):
            row_writer.draw_writer(page, shown)
    draw_card(shown)
    with st.expander(say("Show the code")):
        st.code(show_code(release), language="python")
    if made := release.page:
        link = links.make_link(made["name"], made["settings"], release.schema.target)
        with st.expander(say("A link to these settings")):
            st.code(link, language=None)
            caption("A link holds parameters, no data. Start also opens the zip, by **Go on from a release**.")


def make_html_report(page: str, shown: ShownRelease, *, real: bool) -> Report | None:
    """Return the HTML report, made once per release and choice; None until it is computed.

    `real` is the user's choice: whether the report has comparisons with real rows.
    """
    if real:
        html_report = phrase("{mark}. The report and its zip now have comparisons with real rows.")
        st.error(say(html_report, mark=say(REAL_DATA)), icon=WARNING)
    pictures = comparison_charts(page, shown) if real else []
    if pictures is None:
        return None
    with st.spinner(say("Drawing the charts of the report")), use_language(ENGLISH):
        make = partial(make_report, shown.release, pictures)
        made = remember(shown, f"report, real: {real}", make)
    if real and not made.real:
        st.info(say("The report has no comparisons, as no test rows were set aside."))
    return made


def file_button(key: str, label: str, data: str | bytes, file: str, **style: Any) -> None:
    """Draw a download button for one file, which does not rerun the page.

    `data` are the contents of the file, and `file` is its name.
    """
    style |= {"on_click": "ignore", "icon": ":material/download:", "key": key}
    mime = guess_type(file)[0] or "application/octet-stream"  # as text, a browser may rename it
    st.download_button(label, data, file, mime, **style)


def draw_card(shown: ShownRelease) -> None:
    """Draw the release card: what was released, its guarantee, its limits, what is not protected.

    The zip holds the same card in English.
    """
    made = remember(shown, f"card {current_language()}", partial(facts, shown.release))
    with st.expander(say("Release card")):
        left, right = st.columns([3, 2], gap="large")
        left.markdown("\n".join(f"- **{escape(what)}:** {escape(about)}" for what, about in made.card + made.limits))
        right.markdown("\n".join([say("**What is not protected**"), "", *(f"- {escape(text)}" for text in made.open)]))
