"""A script and a Jupyter notebook that make a release again, from the same steps, and how to run them.

Nothing in the notebook has been run: whoever opens it sees code and what it does, and runs it on rows of their own. It
is written without Jupyter's libraries, which only its readers need.
"""

import itertools
import textwrap
from typing import Any, NamedTuple

from dpcore.datasets import DATASETS
from dpcore.domain.documents import json_text
from dpcore.export.artifacts import Table
from dpcore.export.model_file import Model
from dpcore.export.quoting import literal, plain
from dpcore.export.release import Release

DATA = "your-data.csv"
TEST_SHARE = 0.3  # what `datasets.read` sets aside if nothing else is asked
WIDTH = 720  # pixels; a notebook has no container that a chart could be as wide as
# One row may decide what a person has to declare of a file, so no export has it: every replay says the same.
OPTIONS = "[encoding=NAME] [delimiter=SIGN] [decimal=SIGN]"
HOW = "how = {}  # if the file needs it, how it is written: dict(encoding='cp1252', delimiter=';', decimal=',')\n"
RUN = """\
Run both by a Python that has dpcore. Where dpcore was installed as a package, that is:

    python {command}
    python -m pip install jupyterlab
    python -m jupyterlab replay.ipynb

Where it is used in a clone's folder, make it known to that folder's Python once, there:

    .venv/bin/python -m pip install --no-deps -e .

and then write the path to `.venv/bin/python` (on Windows `.venv\\Scripts\\python`) in place of `python`."""
HEAD = """\
{told}

import os
import sys
from pathlib import Path

USAGE = {usage}


def stop(why):
    print(USAGE, why, sep='\\n', file=sys.stderr)
    sys.exit(2)


if {misused}:
    stop({remedy})
try:
    import dpcore as dp
except ImportError as error:
    stop(f'dpcore is not installed for this Python ({{error}}). README.md says how to run this.')
{given}os.chdir(Path(__file__).resolve().parent)
if not Path('schema.json').is_file():
    stop('schema.json is not beside replay.py. Unpack the whole zip into one folder.')
"""
MISUSED = (
    "len(sys.argv) < 2 or sys.argv[1].startswith('-') or "
    "not all(word.startswith(('encoding=', 'delimiter=', 'decimal=')) for word in sys.argv[2:])"
)
GIVEN = "file, how = Path(sys.argv[1]).resolve(), dict(word.split('=', 1) for word in sys.argv[2:])\n"


class Stage(NamedTuple):
    """A part of a replay: what it does, in a sentence of Markdown, its code, and what that shows to who looks on."""

    told: str
    code: str
    shown: str = ""


IMPORTS = Stage(
    "`dpcore` runs the method.",
    "from pathlib import Path\n\nimport dpcore as dp  # not found? README.md says how to run this\n",
)
LEDGER = Stage(
    "Every question that was asked of the rows, and what all of them can cost.",
    "ledger = method.ledger_\n",
    "print(ledger.to_frame())\nprint('claimed', ledger.epsilon_claimed, 'proved', ledger.epsilon_bound)\n",
)
SAME = {  # by the format of the release's file
    "csv": "dp.export.spreadsheet_csv(synthetic).encode() == Path('synthetic.csv').read_bytes()",
    "parquet": "pd.read_parquet('synthetic.parquet').equals(synthetic)",
    "json": "dp.models.Model.from_json(again).structure == dp.models.Model.from_json(kept).structure",
}
CHARTS = (
    Stage(
        "What is claimed, and what can be proved. The charts are drawn as images: they need no network.",
        "import altair as alt\n\n"
        "from dpcore import charts\n\n"
        "alt.renderers.enable('svg')\n"
        "bars = charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=ledger.epsilon_bound)\n"
        f"bars.properties(width={WIDTH})\n",
    ),
    Stage("Where epsilon went.", f"charts.epsilon_split(ledger.breakdown()).properties(width={WIDTH})\n"),
)


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
    return "\n".join(step.code + step.shown for step in steps(release, literal(data), table))


def script_of(release: Release, table: Table = "csv") -> str:
    """The same for a command line that names the file; what came out is told in a sentence.

    Whoever names none, or a wrong one, reads how it is used and what to do, and the script ends with code 2.
    """
    _, rows, fit, *last = steps(release, "file", table, how="")
    if release.data_name in DATASETS:
        options, misused, given = "", "len(sys.argv) != 1", ""
        remedy = f"No file is needed: dpcore knows the data set {release.data_name!r}."
    else:
        options, misused, given = f" {OPTIONS}", MISUSED, GIVEN
        remedy = f"FILE is the table that the release was made from ({plain(release.data_name)})."
    head = HEAD.format(
        told=f'"""Makes this release again: python {command(release)}"""',
        usage=literal(f"usage: python {command(release)}{options}"),
        misused=misused,
        remedy=literal(remedy),
        given=given,
    )
    tried = textwrap.indent(rows.code + fit.code, "    ")
    guarded = f"try:\n{tried}except (dp.DPCoreError, OSError) as error:\n    stop(error)\n"
    return "\n".join([head + guarded, *(step.code for step in last), outcome(release, table)])


def how_to_run(release: Release) -> str:
    """How a script and a notebook are run, in Markdown."""
    return RUN.format(command=command(release))


def command(release: Release) -> str:
    """What follows the name of Python on a command line."""
    return "replay.py" if release.data_name in DATASETS else "replay.py FILE"


def outcome(release: Release, table: Table) -> str:
    """The code that tells what came out: with a seed, whether it is what was released."""
    what, kept, file = "rows", f"synthetic.{table}", "synthetic-again.csv"
    if isinstance(release.artifact, Model):
        what, kept, file = "model", "model.json", "model-again.json"
    if release.seed is None:
        return (
            "spent = f'epsilon {dp.export.protection.headline(schema.unit, ledger.epsilon_bound, ledger.delta)}'\n"
            "if ledger.epsilon_bound == float('inf'):\n    spent = 'an epsilon that cannot be proved'\n"
            f"print(f'A new release came out ({file}), with new noise; it can cost {{spent}} once more.')\n"
            "print(f'{method.noise_label_}.')\n"
        )
    return (
        f"if {SAME[kept.rpartition('.')[2]]}:\n"
        f"    print('The release came out again: the same {what} as {kept} ({file}).')\n"
        "else:\n"
        f"    print('Another release than {kept} came out, by other data or versions ({file}).')\n"
    )


def steps(release: Release, file: str, table: Table | None, how: str = HOW) -> list[Stage]:
    """The parts of a replay, imports first; `file` is how the rows' file is told in Python.

    `how` is the code that says how that file is written.
    """
    given = {key: literal(value) for key, value in release.parameters.items() if value is not None}
    arguments = "".join(f"    {key}={value},\n" for key, value in given.items())
    if release.data_name in DATASETS:
        source = f"private = dp.datasets.load({literal(release.data_name)})\n"
    else:
        reading = {"test_share": TEST_SHARE} if release.reading is None else release.reading
        known = "" if release.reading is not None else "  # as for the release; 0 if it was made from all rows"
        # Without a seed there is new noise anyway; and the lots of the split stay secret.
        names = ["test_share", *["split_seed"] * (release.seed is not None)]
        lots = "".join(f", {name}={literal(reading[name])}" for name in names if name in reading)
        source = f"{how}private = dp.datasets.read({file}, schema=schema, **how{lots}){known}\n"
        if reading.get("encoded"):
            source = (
                f"from dpcore.rows import FolderData\n\n{how}# goes on if it was stopped\n"
                f"codes = dp.encode_folder({file}, 'codes', schema=schema, **how)\n"
                f"private = FolderData.open(codes, schema=schema{lots})\n"
            )
    at = ", delta=method.delta" if release.ledger.delta else ""
    return [
        IMPORTS,
        Stage(
            f"What is public about the rows, and the rows. {whence(release)}",
            f"schema = dp.Schema.from_json(Path('schema.json').read_text(encoding='utf-8'))\n{source}",
        ),
        Stage(
            f"The same method with the same parameters. {again(release)}",
            f"method = dp.{release.class_name}(\n{arguments})\n"
            f"ledger = dp.persistent_ledger(private, method.relation, purpose={f'Replay of {release.method}'!r}{at})\n"
            "method.fit(private.train, schema=schema, ledger=ledger)  # reads the rows, and books what it spends\n",
        ),
        *released_again(release, table),
    ]


def released_again(release: Release, table: Table | None) -> list[Stage]:
    """The steps from the fitted method to what was released; with a seed, compared with the files.

    Rows are compared with those of `table`, if there is one.
    """
    if isinstance(release.artifact, Model):
        made = (
            f"make_release(method, {literal(release.method)}, data_name={literal(release.data_name)}).model.to_json()"
        )
        model = Stage(
            "The model as a file, and what it predicts for rows that were set aside. Predicting costs nothing.",
            f"again = dp.export.{made}\nPath('model-again.json').write_text(again, encoding='utf-8')\n",
            "print(method.predict(private.test_sample)[:10])\n",
        )
        found = [LEDGER, model]
        needed = "kept = Path('model.json').read_text(encoding='utf-8')\n"
    else:
        sample = Stage(
            "As many synthetic rows as the release has. They are made of what was measured, and cost nothing more.",
            f"synthetic = method.sample({len(release.synthetic)})\n"
            "Path('synthetic-again.csv').write_bytes(dp.export.spreadsheet_csv(synthetic).encode())\n",
        )
        found = [sample, LEDGER]
        needed = "import pandas as pd\n\n" * (table == "parquet")
    if release.seed is not None and table is not None:
        found.append(Stage("Is this what was released?", needed, outcome(release, table)))
    return found


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
    cells = [cell("markdown", introduction(release), 0)]
    parts = steps(release, literal(DATA), table)
    for step in itertools.chain.from_iterable((part, *CHARTS) if part == LEDGER else (part,) for part in parts):
        cells += [cell("markdown", step.told, len(cells)), cell("code", step.code + step.shown, len(cells) + 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json_text({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, 1) + "\n"


def introduction(release: Release) -> str:
    """What the notebook does, and how to run it."""
    lines = [
        f"# Replay: {plain(release.method)}",
        "",
        *([f"**{release.guarantee_void}**", ""] if release.guarantee_void else []),
        f"This runs the same method with the same parameters through `dpcore`. {again(release)}",
        "",
        *([] if release.data_name in DATASETS else [f"Write your file's name into it, in place of `{DATA}`."]),
        whence(release),
        "",
        "Keep the files of the zip beside this notebook: it reads `schema.json`"
        + (", and compares with the release at the end." if release.seed is not None else "."),
        "",
        "## How to run it",
        "",
        how_to_run(release),
    ]
    return "\n".join(lines)


def cell(kind: str, source: str, place: int) -> dict[str, Any]:
    """A cell that was never run."""
    lines = source.rstrip("\n").splitlines(keepends=True)
    unrun: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, **unrun, "source": lines}


def again(release: Release) -> str:
    """What another run gives, in a sentence."""
    if release.seed is None:
        return "It draws new noise, gives another release, and can cost the same epsilon again."
    return (
        f"With the seed {release.seed}, the same rows and the same versions of the libraries it gives the same "
        "release, and says whether it did."
    )


def whence(release: Release) -> str:
    """Which rows a replay has to learn from, in a sentence or two."""
    if release.data_name in DATASETS:
        return f"It learns from the training rows of the data set {release.data_name!r}, which `dpcore` knows."
    unit = release.schema.persons
    named = "" if unit is None else f" It needs the column {plain(unit.id_column or '')!r}, which says whose row it is."
    named += f" If it needs that, say how it is written: `{OPTIONS}` after FILE, or `how` in the notebook."
    share = ", as it was for this release."
    if release.reading is None:
        share = ": use the share that this release was made with, and 0 if it was made from all rows of the file."
    sentence = f"It learns from the file that you name.{named} `test_share` is the share of rows that is set aside"
    return f"{sentence} before the fit{share}"
