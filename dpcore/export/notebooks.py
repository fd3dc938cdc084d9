"""A Jupyter notebook that replays a release, from the same parts as its script.

Nothing in it has been run: whoever opens it sees code and what it does, and runs it on rows of their own. It is written
without Jupyter's libraries, which only its readers need.
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from dpcore.export.release import LEDGER, RUN, AnyRelease, Step, again, plain, whence

WIDTH = 720  # pixels; a notebook has no container that a chart could be as wide as
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


def notebook(release: AnyRelease, steps: Sequence[Step]) -> str:
    """The notebook as JSON (nbformat 4.5): an introduction, then a cell of text and one of code for each step."""
    cells = [cell("markdown", introduction(release), 0)]
    for step in itertools.chain.from_iterable((part, *CHARTS) if part == LEDGER else (part,) for part in steps):
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


def introduction(release: AnyRelease) -> str:
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
