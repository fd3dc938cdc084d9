"""The zip that a person takes home.

It holds what was released and what it can cost, and nothing that was computed from real rows
besides:

    synthetic.csv (or .parquet)  rows; structure.json has a network's families and the scores that its clusters come
                                 from, or a tree's noisy counts, whose rounded leaves are in generalized.csv
    answers.csv, chart-1.svg     or the answers to plain statistics, with a chart of each
    model.json                   or a classifier as plain data: nothing in it is ever run (`Model`); and, if people
                                 randomized their own answers, reports.csv and rules.json (`Release.table_of_reports`)
    schema.json, config.json, ledger.json, ledger.csv
    replay.py, replay.ipynb      make it again: `python replay.py FILE`
    report.html, card.md         for readers
    README.md                    under which relation, with which epsilons and which noise it was made

The script and the notebook are made of the same steps (`steps.py.jinja`). Nothing in the notebook
has been run: whoever opens it sees code and what it does, and runs it on rows of their own. It is
written without Jupyter's libraries, which only its readers need.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, NamedTuple

from dpcore.datasets import SKIPPED
from dpcore.domain.documents import json_text, json_value
from dpcore.errors import DataError, ParameterError
from dpcore.export.artifacts import Answers, CountTree, Model, SyntheticRows, TableFormat
from dpcore.export.collection import Collection
from dpcore.export.facts import Facts, facts
from dpcore.export.release import Release
from dpcore.export.rendering import literal, render, spreadsheet_csv, spreadsheet_safe
from dpcore.export.report import Report, make_report, svg
from dpcore.extras import is_installed
from dpcore.text import number

PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may ask for gigabytes to unpack
MOST_BYTES = 1_000_000
# What a zip that is damaged, or of another kind, makes the libraries raise.
UNREADABLE = (ValueError, KeyError, TypeError, RuntimeError, OSError, EOFError, zipfile.BadZipFile, zlib.error)
ENDINGS = re.compile(r"(\.(csv|tsv|txt|xlsx?|parquet|zip|gz))+$", re.IGNORECASE)
LONGEST = 60  # letters of a data set's name in a file's name

DATA = "your-data.csv"
TEST_SHARE = 0.3  # what `datasets.read` sets aside if nothing else is asked
CELL = re.compile(r"^# %%(?: \[markdown\])?\n", re.MULTILINE)


def bundle(release: Release, *, table: TableFormat = "csv", report: Report | None = None) -> bytes:
    """Return a release as the bytes of a zip file.

    It holds what was released, the schema, the configuration, the ledger, a script and a notebook
    that make the release again, an HTML report, a privacy card and a README.

    Parameters
    ----------
    release : Release
        The release.
    table : {"csv", "parquet"}, default="csv"
        The format of rows.
    report : Report, optional
        The HTML report, if `make_report` made it before.

    Returns
    -------
    bytes
        The zip file.

    Raises
    ------
    ParameterError
        If the format is not known.

    Examples
    --------
    >>> import io, zipfile
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> method = dp.IndependentMarginals().fit(data.train, schema=data.schema)
    >>> rows = method.sample(100)
    >>> release = dp.export.make_release(method, "Independent marginals", rows, data_name="sample")
    >>> content = dp.export.bundle(release)
    >>> "card.md" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    True
    """
    if table not in ("csv", "parquet"):
        raise ParameterError("The table format is not known.", "Choose csv or parquet.")
    report = make_report(release) if report is None else report
    known = facts(release)
    files = release.artifact.files(table)
    if is_installed("vl_convert") and isinstance(answers := release.artifact, Answers):
        for i, name in enumerate(answers.names, 1):
            files[f"chart-{i}.svg"] = svg(answers.picture(name)[0], i)
    if (reports := release.table_of_reports) is not None:
        files |= Collection(reports, release.origin).files()
    files |= {
        "schema.json": release.schema.to_json(),
        "config.json": json_text(release.config(), 2),
        "ledger.json": release.ledger.to_json(),
        "ledger.csv": spreadsheet_csv(release.ledger.to_frame()),
        "replay.py": script_of(known, table),
        "replay.ipynb": make_notebook(release, table),
        "report.html": report.html,
        "card.md": render("card.md", facts=known),
    }
    files["README.md"] = readme(known, table, report, files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def settings_of_release(raw: bytes, cause: str, remedy: str, name: str = "config.json") -> Any:
    """Read a JSON document from the zip of a release, or from its own file.

    `raw` has the file's bytes, and `name` is the document's name in the zip. DataError with the
    texts `cause` and `remedy` if there is no such document.
    """
    try:
        if zipfile.is_zipfile(io.BytesIO(raw)):
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                if archive.getinfo(name).compress_type not in PACKINGS:
                    raise DataError(f"{cause}: its zip uses an unusual compression.", remedy)
                with archive.open(name) as file:
                    raw = file.read(MOST_BYTES + 1)
        return json_value(raw, DataError, cause, remedy, most=MOST_BYTES)
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"{cause}.", remedy) from error


def file_name(release: Release, *, real: bool = False, ending: str = "zip") -> str:
    """Return the name of a release's zip or report: the data's, what was released, and what is proven.

    Parameters
    ----------
    release : Release
        The release.
    real : bool, default=False
        Whether the HTML report in it compares with real rows.
    ending : str, default="zip"
        What the name ends with.

    Returns
    -------
    str
        A file name that every system takes.
    """
    artifact = release.artifact
    kind = "count-tree" if isinstance(artifact, CountTree) else "synthetic"
    kind = "statistics" if isinstance(artifact, Answers) else kind
    if isinstance(artifact, Model):
        kind = "classifier" if release.table_of_reports is None else "reports"
    stem = ENDINGS.sub("", PurePath(release.data_name.replace("\\", "/")).name)
    stem = re.sub(r"[^\w.-]+", "_", stem)[:LONGEST].strip("._-") or "data"
    bound, delta, unit = release.ledger.epsilon_bound, release.ledger.delta, release.schema.unit
    proven = f"eps{number(bound).replace(',', '')}" + f"-delta{delta:g}" * (delta > 0)
    proven += "-per-row" * (unit is not None and unit.id_column is None and unit.max_contributions > 1)
    proven = "no-guarantee" if bound == float("inf") else proven
    return f"{stem}-{kind}-{proven}{'-do-not-publish' * real}.{ending}"


def readme(known: Facts, table: TableFormat, report: Report, files: Iterable[str] = ()) -> str:
    """Return the README of a release's zip.

    `known` are the facts on the release, `table` is the format of rows, `report` the HTML report in
    the zip, and `files` the names of the other files in it.
    """
    release, artifact = known.release, known.release.artifact
    cells = spreadsheet_safe(artifact.synthetic)[1] if isinstance(artifact, SyntheticRows) and table == "csv" else 0
    return render("README.md", facts=known, release=release, table=table, report=report, files={*files}, escaped=cells)


class ReplayStep(NamedTuple):
    """One step of a replay: a Markdown sentence on what it does, and its code."""

    text: str
    code: str


def show_code(release: Release, *, data: str = DATA, table: TableFormat | None = None) -> str:
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


def script_of(known: Facts, table: TableFormat = "csv") -> str:
    """Return the replay as a script for the command line, which takes the name of the rows' file.

    `known` are the facts on the release, and `table` is the format of its rows. Without a name, or
    with a wrong one, the script prints its usage and ends with exit code 2. It prints in a sentence
    whether it made the same release.
    """
    _, rows, fit, *last = steps(known, "file", table, screen=False)
    rest = "\n".join(step.code for step in last)
    return render(
        "replay.py.jinja", facts=known, release=known.release, table=table, fit=rows.code + fit.code, rest=rest
    )


def steps(known: Facts, file: str, table: TableFormat | None, **shown: bool) -> list[ReplayStep]:
    """Return the steps of a replay, imports first.

    `known` are the facts on the release. `file` is the Python expression for the rows' file,
    `table` the format of the release's rows (None: its files are not at hand). `screen` is whether
    a person looks at the output, and `notebook` whether charts can be shown.
    """
    release = known.release
    reading = {"test_share": TEST_SHARE} if release.reading is None else release.reading
    # Without a seed there is new noise anyway, and the random split stays secret.
    names = ["test_share", *["split_seed"] * (release.seed is not None), *SKIPPED]
    split = "".join(f", {name}={literal(reading[name])}" for name in names if name in reading)
    shown = {"screen": True, "notebook": False} | shown
    text = render("steps.py.jinja", facts=known, release=release, file=file, table=table, split=split, **shown)
    _, *cells = CELL.split(text)
    return [ReplayStep(text.strip(), code) for text, code in zip(cells[::2], cells[1::2], strict=True)]


def make_notebook(release: Release, table: TableFormat = "csv") -> str:
    """Return a Jupyter notebook that makes a release again, as JSON (nbformat 4.5).

    It has an introduction, then a cell of text and one of code for each step of `show_code`.

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
    """Return a notebook cell without output; `kind` is "markdown" or "code", `index` makes its id."""
    lines = source.rstrip("\n").splitlines(keepends=True)
    unrun: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{index}", "metadata": {}, **unrun, "source": lines}
