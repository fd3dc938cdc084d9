"""A script and a Jupyter notebook that make a release again, from the same steps, and how to run them.

Nothing in the notebook has been run: whoever opens it sees code and what it does, and runs it on rows of their own. It
is written without Jupyter's libraries, which only its readers need.
"""

import itertools
import json
from dataclasses import dataclass
from typing import Any

from dpcore.datasets import DATASETS
from dpcore.export.artifacts import Table
from dpcore.export.model_file import Model
from dpcore.export.quoting import literal, plain
from dpcore.export.release import Release

DATA = "your-data.csv"
TEST_SHARE = 0.3  # what `datasets.read` sets aside if nothing else is asked
WIDTH = 720  # pixels; a notebook has no container that a chart could be as wide as
IF_LACKING = "  # not found? README.md says how to run this"
RUN = (
    "Both need dpcore and the packages that it was installed with. Once, in dpcore's folder:",
    "",
    "    .venv/bin/python -m pip install --no-deps -e .",
    "    .venv/bin/python -m pip install jupyterlab",
    "",
    "The first line makes dpcore known to that Python wherever it is started; the second is for the notebook only.",
    "Then, in the folder of these files, with the path to dpcore's folder in place of `dpcore`:",
    "",
    "    dpcore/.venv/bin/python replay.py",
    "    dpcore/.venv/bin/python -m jupyterlab replay.ipynb",
    "",
    "On Windows write `.venv\\Scripts\\python` for `.venv/bin/python`.",
)


@dataclass(frozen=True)
class Step:
    """A part of a script: what it does, in a sentence of Markdown, and its code."""

    told: str
    code: str


LEDGER = Step(
    "Every question that was asked of the rows, and what all of them cost.",
    "ledger = method.ledger_\nprint(ledger.to_frame())\n"
    "print('claimed', ledger.epsilon_claimed, 'proved', ledger.epsilon_bound)\n",
)
MODEL_CHECK = (
    "kept = Path('model.json').read_text(encoding='utf-8')\n"
    "same = models.Model.from_json(again).structure == models.Model.from_json(kept).structure\n"
    "print('the same model as model.json' if same else 'another model than model.json: other data, or versions?')\n"
)
ROWS_CHECKS = {
    "csv": "dp.export.spreadsheet_csv(synthetic).encode() == Path('synthetic.csv').read_bytes()",
    "parquet": "pd.read_parquet('synthetic.parquet').equals(synthetic)",
}
CHARTS = (
    Step(
        "What is claimed, and what can be proved. The charts are drawn as images: they need no network.",
        "import altair as alt\n\n"
        "from dpcore import charts\n\n"
        "alt.renderers.enable('svg')\n"
        "bars = charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=ledger.epsilon_bound)\n"
        f"bars.properties(width={WIDTH})\n",
    ),
    Step("Where epsilon went.", f"charts.epsilon_split(ledger.to_frame()).properties(width={WIDTH})\n"),
)


def show_code(release: Release, *, data: str = DATA, table: Table | None = None) -> str:
    """A script that fits the same method with the same parameters through `dpcore`.

    With a seed, and the release's files beside it (`table`), the script also says whether it made the same release.
    """
    return "\n".join(step.code for step in steps(release, data, table))


def steps(release: Release, data: str, table: Table | None) -> list[Step]:
    """The parts of that script."""
    imports, last = released_again(release, table)
    given = {key: literal(value) for key, value in release.parameters.items() if value is not None}
    arguments = "".join(f"    {key}={value},\n" for key, value in given.items())
    if release.data_name in DATASETS:
        source = f"private = dp.datasets.load({literal(release.data_name)})\n"
    else:
        reading = {"test_share": TEST_SHARE} if release.reading is None else release.reading
        known = "" if release.reading is not None else "  # as for the release; 0 if it was made from all rows"
        if release.seed is None:  # new noise anyway; and the lots of the split stay secret
            reading = {key: value for key, value in reading.items() if key != "split_seed"}
        how = "".join(f", {key}={literal(value)}" for key, value in reading.items())
        source = f"private = dp.datasets.read({literal(data)}, schema=schema{how}){known}\n"
    return [
        Step("`dpcore` runs the method.", f"from pathlib import Path\n\nimport dpcore as dp{IF_LACKING}\n{imports}"),
        Step(
            f"What is public about the rows, and the rows. {whence(release)}",
            f"schema = dp.Schema.from_json(Path('schema.json').read_text(encoding='utf-8'))\n{source}",
        ),
        Step(
            f"The same method with the same parameters. {again(release)}",
            f"method = dp.{release.class_name}(\n{arguments})\n"
            f"ledger = dp.durable_ledger(private, method.relation, purpose={f'Replay of {release.method}'!r})\n"
            "method.fit(private.train, schema=schema, ledger=ledger)  # reads the rows, and books what it spends\n",
        ),
        *last,
    ]


def released_again(release: Release, table: Table | None) -> tuple[str, list[Step]]:
    """Imports, and the steps from the fitted method to what was released; with a seed, compared with the files.

    Rows are compared with those of `table`, if there is one.
    """
    seeded = release.seed is not None
    if isinstance(release.artifact, Model):
        made = f"release_of(method, {literal(release.method)}, data_name={literal(release.data_name)}).model.to_json()"
        model = Step(
            "The model as a file, and what it predicts for rows that were set aside. Predicting costs nothing.",
            f"again = models.{made}\n"
            "Path('model-again.json').write_text(again, encoding='utf-8')\n"
            "print(method.predict(private.test)[:10])\n",
        )
        check = [Step("Is this the model of the release?", MODEL_CHECK)] if seeded else []
        return "from dpcore.export import models\n", [LEDGER, model, *check]
    sample = Step(
        "As many synthetic rows as the release has. They are made of what was measured, and cost nothing more.",
        f"synthetic = method.sample({len(release.synthetic)})\nsynthetic.to_csv('synthetic-again.csv', index=False)\n",
    )
    if table is None or not seeded:
        return "", [sample, LEDGER]
    code = (
        f"same = {ROWS_CHECKS[table]}\nprint('the same rows as synthetic.{table}' if same else "
        f"'other rows than synthetic.{table}: other data, or versions?')\n"
    )
    imports = "import pandas as pd\n" if table == "parquet" else ""
    return imports, [sample, LEDGER, Step("Are these the rows of the release?", code)]


def notebook_of(release: Release, table: Table = "csv") -> str:
    """The notebook that does what `show_code` does, as JSON (nbformat 4.5).

    An introduction, then a cell of text and one of code for each step.
    """
    cells = [cell("markdown", introduction(release), 0)]
    parts = steps(release, DATA, table)
    for step in itertools.chain.from_iterable((part, *CHARTS) if part == LEDGER else (part,) for part in parts):
        cells += [cell("markdown", step.told, len(cells)), cell("code", step.code, len(cells) + 1)]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def introduction(release: Release) -> str:
    """What the notebook does, and how to run it."""
    lines = [
        f"# Replay: {plain(release.method)}",
        "",
        *([f"**{release.guarantee_void}**", ""] if release.guarantee_void else []),
        f"This runs the same method with the same parameters through `dpcore`. {again(release)}",
        "",
        whence(release),
        "",
        "Keep the files of the zip beside this notebook: it reads `schema.json`"
        + (", and compares with the release at the end." if release.seed is not None else "."),
        "",
        "## How to run it",
        "",
        *RUN,
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
        return "It draws new noise, gives another release, and spends the same epsilon again."
    return (
        f"With the seed {release.seed}, the same rows and the same versions of the libraries it gives the same "
        "release, and says whether it did."
    )


def whence(release: Release) -> str:
    """Which rows a replay has to learn from, in a sentence or two."""
    if release.data_name in DATASETS:
        return f"It learns from the training rows of the data set {release.data_name!r}, which `dpcore` knows."
    unit = release.schema.persons
    named = "" if unit is None else f" It needs the column {plain(unit.column or '')!r}, which says whose row it is."
    sentence = (
        f"Write your file's name into it.{named} `test_share` is the share of rows that is set aside before the fit"
    )
    if release.reading is not None:
        return f"{sentence}, as it was for this release."
    return f"{sentence}: use the share that this release was made with, and 0 if it was made from all rows of the file."
