"""A script and a Jupyter notebook that make a release again, from the same steps (`steps.py.jinja`).

Nothing in the notebook has been run: whoever opens it sees code and what it does, and runs it on rows of their own. It
is written without Jupyter's libraries, which only its readers need.
"""

import re
from typing import Any, NamedTuple

from dpcore.datasets import SKIPPED
from dpcore.domain.documents import json_text
from dpcore.export.artifacts import Table
from dpcore.export.facts import Facts, facts
from dpcore.export.quoting import literal
from dpcore.export.release import Release
from dpcore.export.rendering import render

DATA = "your-data.csv"
TEST_SHARE = 0.3  # what `datasets.read` sets aside if nothing else is asked
CELL = re.compile(r"^# %%(?: \[markdown\])?\n", re.MULTILINE)


class ReplayStep(NamedTuple):
    """A part of a replay: what it does, in a sentence of Markdown, and its code."""

    text: str
    code: str


def show_code(release: Release, *, data: str = DATA, table: Table | None = None) -> str:
    """Return the code that fits the same method with the same parameters, for a person to read.

    With a seed, and the release's files at hand (`table`), it also says whether it made the same
    release.

    Parameters
    ----------
    release : Release
        The release.
    data : str
        The path of the rows that the code reads. Default: one to be replaced.
    table : {"csv", "parquet"}, optional
        The format of the release's rows, if its files lie in the same folder.

    Returns
    -------
    str
        Python code.
    """
    return "\n".join(step.code for step in steps(facts(release), literal(data), table))


def script_of(known: Facts, table: Table = "csv") -> str:
    """The same for a command line that names the file; what came out is told in a sentence.

    Whoever names none, or a wrong one, reads how it is used and what to do, and the script ends with code 2.
    """
    _, rows, fit, *last = steps(known, "file", table, screen=False)
    rest = "\n".join(step.code for step in last)
    return render(
        "replay.py.jinja", facts=known, release=known.release, table=table, fit=rows.code + fit.code, rest=rest
    )


def steps(known: Facts, file: str, table: Table | None, **shown: bool) -> list[ReplayStep]:
    """The parts of a replay, imports first; `file` is how the rows' file is told in Python.

    `screen` is whether a person looks at it, and `notebook` whether they see charts.
    """
    release = known.release
    reading = {"test_share": TEST_SHARE} if release.reading is None else release.reading
    # Without a seed there is new noise anyway; and the lots of the split stay secret.
    names = ["test_share", *["split_seed"] * (release.seed is not None), *SKIPPED]
    split = "".join(f", {name}={literal(reading[name])}" for name in names if name in reading)
    shown = {"screen": True, "notebook": False} | shown
    text = render("steps.py.jinja", facts=known, release=release, file=file, table=table, split=split, **shown)
    _, *cells = CELL.split(text)
    return [ReplayStep(text.strip(), code) for text, code in zip(cells[::2], cells[1::2], strict=True)]


def make_notebook(release: Release, table: Table = "csv") -> str:
    """Return the notebook that does what `show_code` does, as JSON (nbformat 4.5).

    An introduction, then a cell of text and one of code for each step.

    Parameters
    ----------
    release : Release
        The release.
    table : {"csv", "parquet"}, default="csv"
        The format of the release's rows.

    Returns
    -------
    str
        The file's text.
    """
    known = facts(release)
    cells = [cell("markdown", render("notebook.md", facts=known, release=release, file=DATA), 0)]
    for step in steps(known, literal(DATA), table, notebook=True):
        cells += [cell("markdown", step.text, len(cells)), cell("code", step.code, len(cells) + 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json_text({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, 1) + "\n"


def cell(kind: str, source: str, index: int) -> dict[str, Any]:
    """A cell that was never run."""
    lines = source.rstrip("\n").splitlines(keepends=True)
    unrun: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{index}", "metadata": {}, **unrun, "source": lines}
