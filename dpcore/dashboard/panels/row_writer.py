"""A file of any number of synthetic rows, written on this computer block by block."""

from pathlib import Path

import streamlit as st

from dpcore.arguments import Progress
from dpcore.dashboard import hosting, jobs
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import markdown
from dpcore.language import phrase, say


def draw_writer(page: str, shown: ShownRelease) -> None:
    """Draw the controls for writing any number of synthetic rows to a file, and the work.

    The rows are sampled from the release, which spends nothing.
    """
    name, key = f"{page}.longer", "rows in a file"
    markdown(
        "This release makes as many rows as you like, at no cost. They are written to a file on "
        "this computer, and are other rows than those in the zip, from the same model."
    )
    left, right, end = st.columns([1, 2, 1], vertical_alignment="bottom")
    rows = left.number_input(
        say("Synthetic rows to write"), 1, None, shown.method.estimated_rows(), key=f"{name}.rows:{id(shown)}"
    )
    label, file = say("File for the rows (.parquet or .csv)"), Path.home() / "synthetic.parquet"
    path = right.text_input(label, str(file), key=f"{name}.path:{id(shown)}").strip()
    replace = end.checkbox(say("Replace the file if it exists"), key=f"{name}.replace:{id(shown)}")
    jobs.run_button(say("Write the synthetic rows"), name, "go", icon=":material/save:")

    def work(progress: Progress) -> None:
        hosting.require_own_computer()
        output = hosting.absolute_path(path)
        shown.memory[key] = shown.method.sample_to(output, rows, replace=replace, progress=progress)

    jobs.run(phrase("Writing synthetic rows"), name, work)
    found: Path | None = shown.memory.get(key)
    if found is not None and found.exists():
        size = found.stat().st_size / 1e6
        text = say("The rows are in {file}, {size:,.1f} MB.", file=escape(str(found)), size=size)
        st.success(text, icon=":material/check:")
