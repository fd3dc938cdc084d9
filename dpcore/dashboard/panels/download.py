"""The files of a release: the zip, the report, the notebook, the card, and code that does the same."""

from functools import partial
from mimetypes import guess_type
from typing import Any

import streamlit as st

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import hosting, links
from dpcore.dashboard.panels import longer
from dpcore.dashboard.panels.accuracy import comparisons
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.export import bundle, file_name, make_notebook, make_report, show_code
from dpcore.export.artifacts import Model
from dpcore.export.facts import facts
from dpcore.export.report import Report
from dpcore.language import ENGLISH, current_language, phrase, say, use_language

WARNING = ":material/gpp_bad:"


def download(page: str, shown: ShownRelease) -> None:
    """The zip, what is in it for readers and programs, and the code that does the same."""
    release, artifact = shown.release, shown.release.artifact
    if isinstance(artifact, Model) and release.noiseless:
        st.info(say("This model holds noiseless counts of real rows. It is for comparison on screen, and stays here."))
        return
    with st.container(horizontal=True):
        first, others = st.container(width="content"), st.popover(say("Other files"))
    markdown(
        "The zip holds what was released, its schema, settings and ledger, a notebook and a script "
        "that replay it, a report, and a card."
    )
    reports = artifact.reports
    if reports is not None and reports.clear:
        names = escape(", ".join(name for family in reports.clear for name in family))
        markdown("The model holds noiseless figures of true answers of {names}.", names=names)
    elif not isinstance(artifact, Model):
        markdown("No real row is copied, though a synthetic one may coincide with one.")
    if reports is not None and release.table_of_reports is None:
        markdown("The table of reports stays here: by its rules or seed, it holds true answers.")
    if release.guarantee_void:
        st.warning(release.guarantee_void, icon=WARNING)
    with others:
        note = say("They carry no guarantee. Without them the report holds the release alone, and what it can cost.")
        real = st.toggle(say("Put the comparisons with real rows into the report"), key=f"{page}.real", help=note)
    html_report = report(page, shown, real=real)
    if html_report is None:
        return
    # Bytes, made once per release and choice: a deferred download is lost if the page reruns under the click.
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
    if shown.method is not None and hosting.own_computer():
        with st.expander(say("More rows than fit into memory")):
            longer.draw_writer(page, shown)
    card(shown)
    with st.expander(say("Show the code")):
        st.code(show_code(release), language="python")
    if made := release.page:
        link = links.link(made["name"], made["settings"], release.schema.target)
        with st.expander(say("A link to these settings")):
            st.code(link, language=None)
            caption("Parameters only, never data. Or give Start the zip: **Go on from a release**.")


def report(page: str, shown: ShownRelease, *, real: bool) -> Report | None:
    """The report, made once per release and choice; None until what it needs is there."""
    if real:
        html_report = phrase("{mark}. The report, and the zip that holds it, compare with real rows now.")
        st.error(say(html_report, mark=say(REAL_DATA)), icon=WARNING)
    pictures = comparisons(page, shown) if real else []
    if pictures is None:
        return None
    with st.spinner(say("Drawing the charts of the report")), use_language(ENGLISH):
        make = partial(make_report, shown.release, pictures)
        made = remember(shown, f"report, real: {real}", make)
    if real and not made.real:
        st.info(say("There is nothing to compare with: no rows were kept aside to test on."))
    return made


def file_button(key: str, label: str, data: str | bytes, file: str, **look: Any) -> None:
    """A button for one file; a press of it draws nothing anew."""
    look |= {"on_click": "ignore", "icon": ":material/download:", "key": key}
    mime = guess_type(file)[0] or "application/octet-stream"  # as text, a browser may rename it
    st.download_button(label, data, file, mime, **look)


def card(shown: ShownRelease) -> None:
    """The release's card; the zip holds the same in English."""
    made = remember(shown, f"card {current_language()}", partial(facts, shown.release))
    with st.expander(say("Release card")):
        left, right = st.columns([3, 2], gap="large")
        left.markdown("\n".join(f"- **{escape(what)}:** {escape(about)}" for what, about in made.card + made.limits))
        right.markdown("\n".join([say("**What is not protected**"), "", *(f"- {escape(text)}" for text in made.open)]))
