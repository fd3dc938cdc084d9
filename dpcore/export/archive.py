"""The zip that a person takes home.

It holds what was released and what it can cost, and nothing that was computed from real rows besides:

    synthetic.csv (or .parquet)  rows; structure.json has a network's families and the scores that its clusters come
                                 from, or a tree's noisy counts, whose rounded leaves are in generalized.csv
    model.json                   or a classifier as plain data: nothing in it is ever run (`Model`); and, if people
                                 randomized their own answers, reports.csv and rules.json (`Release.table_of_reports`)
    schema.json, config.json, ledger.json, ledger.csv
    replay.py, replay.ipynb      make it again: `python replay.py FILE`
    report.html, card.md         for readers
    README.md                    under which relation, with which epsilons and which noise it was made
"""

import io
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

from dpcore.domain.documents import json_text, json_value
from dpcore.errors import DataError, ParameterError
from dpcore.export.artifacts import Rows, Table
from dpcore.export.collection import Collection
from dpcore.export.privacy_card import card, markdown, warned
from dpcore.export.quoting import plain, spreadsheet_csv, spreadsheet_safe
from dpcore.export.release import Release
from dpcore.export.replay import again, command, how_to_run, make_notebook, script_of, whence
from dpcore.export.report import Report, make_report

REPORTS = (
    "`reports.csv` has {each}: what that person reported; cells are empty where a person was not asked. "
    "Each randomized their own answers, before anybody collected them, by the rules in `rules.json`: a report supports "
    "the true value with probability gain + base, and any other with its base. The two files are all that "
    "somebody else needs to learn from these people: open them on the dashboard (Randomized responses, Open collected "
    "reports), or\n\n"
    "    import dpcore as dp\n"
    "    from dpcore.export import Collection\n\n"
    "    reports = Collection.read('reports.csv', 'rules.json')\n"
    "    model = reports.learn(dp.{kind})\n\n"
    "It needs no private row and spends nothing."
)
FILES = {
    "synthetic.csv": "the synthetic rows, for any spreadsheet or program.",
    "synthetic.parquet": "the synthetic rows, with their types.",
    "generalized.csv": "groups of rows and how many rows each has; the synthetic rows are drawn evenly out of them.",
    "structure.json": "what the synthetic rows were drawn from, as it was released.",
    "model.json": "the classifier, as plain data: nothing in it is ever run.",
    "reports.csv": "what people reported, randomized by themselves.",
    "rules.json": "the rules that they randomized by.",
    "report.html": "all of this with charts; it opens in any browser without a network, and prints.",
    "card.md": "what is protected, whose, from whom and at which price, and what is not.",
    "schema.json": "what is public about the columns: types, bounds, bins, categories.",
    "config.json": "the method and its settings.",
    "ledger.csv": "every question that was asked of the private rows, and what it can cost.",
    "ledger.json": "the same for programs.",
    "replay.py": "makes it again; see below.",
    "replay.ipynb": "the same as a notebook, step by step.",
}
UNDRAWN = "all of this, with tables in place of charts; it opens in any browser without a network, and prints."
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may ask for gigabytes to unpack
MOST_BYTES = 1_000_000
# What a zip that is damaged, or of another kind, makes the libraries raise.
UNREADABLE = (ValueError, KeyError, TypeError, RuntimeError, OSError, EOFError, zipfile.BadZipFile, zlib.error)
BRIEF = {"Method", "Guarantee", "Privacy unit", "Neighboring relation", "Noise", "Source of noise", "Seed", "Schema"}
BRIEF |= {"Outside review", "Publication"}
ESCAPED = "{:,} cells that a spreadsheet would run as formulas begin with an apostrophe."
COMPARED = "**`report.html` holds comparisons with the real rows, which carry no guarantee: do not publish it.**"


def bundle(release: Release, *, table: Table = "csv", told: Report | None = None) -> bytes:
    """Return a release as the bytes of a zip file.

    It holds what was released, the schema, the configuration, the ledger, a script and a notebook
    that make the release again, an HTML report, a privacy card and a README.

    Parameters
    ----------
    release : Release
        The release.
    table : {"csv", "parquet"}, default="csv"
        The format of rows.
    told : Report, optional
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
    told = make_report(release) if told is None else told
    files = release.artifact.files(table)
    if (reports := release.table_of_reports) is not None:
        files |= Collection(reports, release.about).files()
    files |= {
        "schema.json": release.schema.to_json(),
        "config.json": json_text(release.config(), 2),
        "ledger.json": release.ledger.to_json(),
        "ledger.csv": spreadsheet_csv(release.ledger.to_frame()),
        "replay.py": script_of(release, table),
        "replay.ipynb": make_notebook(release, table),
        "report.html": told.html,
        "card.md": markdown(card(release)),
    }
    files["README.md"] = readme(release, table, told, files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def settings_of_release(raw: bytes, cause: str, remedy: str, name: str = "config.json") -> Any:
    """A JSON document of a release, out of its zip, or as it is; DataError with this cause and remedy if it is none."""
    try:
        if zipfile.is_zipfile(io.BytesIO(raw)):
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                if archive.getinfo(name).compress_type not in PACKINGS:
                    raise DataError(f"{cause}: it is packed in an unusual way.", remedy)
                with archive.open(name) as file:
                    raw = file.read(MOST_BYTES + 1)
        return json_value(raw, DataError, cause, remedy, most=MOST_BYTES)
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"{cause}.", remedy) from error


def rows_of_reports(release: Release) -> str:
    """How many rows of reports a person has."""
    unit = release.schema.unit
    if unit is None or unit.max_contributions == 1:
        return "one row per person"
    if unit.id_column is None:
        return f"one row per row of the table, of which a person has {unit.max_contributions:,} at most"
    return f"{unit.max_contributions:,} rows per person, one below another"


def readme(release: Release, table: Table, report: Report, held: Iterable[str] = ()) -> str:
    """What the zip says of itself; `held` are the files beside it, with this report."""
    artifact, made = release.artifact, card(release)
    cells = table == "csv" and isinstance(artifact, Rows)
    escaped = spreadsheet_safe(release.synthetic)[1] if cells else 0
    told = FILES | ({"synthetic.csv": f"{FILES['synthetic.csv']} {ESCAPED.format(escaped)}"} if escaped else {})
    told |= {} if report.drawn else {"report.html": UNDRAWN}
    collected = release.table_of_reports is not None
    mode = "mode='published'" if release.parameters["mode"] == "published" else ""
    learner = f"{release.class_name}({mode})"
    lines = [
        f"# {made.title}",
        "",
        artifact.lead(repr(plain(release.data_name)), table),
        "",
        *([COMPARED, ""] if report.real else []),
        "## Privacy",
        "",
        *warned(made),
        *(f"- {what}: {about}" for what, about in made.facts if what in BRIEF),
        "",
        "`card.md` has all of it on one page, and what is not protected.",
        "",
        "## Files",
        "",
        *(f"- `{name}`: {told[name]}" for name in FILES if name in held),
        "",
        *([REPORTS.format(kind=learner, each=rows_of_reports(release)), ""] if collected else []),
        *artifact.use,
        "## Replay",
        "",
        f"    python {command(release)}",
        "",
        f"runs the same method with the same parameters through `dpcore`, and so does `replay.ipynb`. {again(release)}",
        "What that can cost is written, before it is drawn, to the ledger that the dashboard shows too: to the file",
        "that `DPCORE_LEDGER` names, or the usual one.",
        "",
        whence(release),
        "",
        how_to_run(release),
    ]
    return "\n".join(lines) + "\n"
