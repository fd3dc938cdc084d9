"""A release of rows, and the zip that a person takes home.

The zip holds what was released and what it cost, and nothing that was computed from real rows besides: synthetic rows
(CSV or Parquet), `schema.json`, `config.json`, `ledger.json`, `ledger.csv`, `structure.json` (a network's families, and
the scores that its clusters come from; or a tree's noisy counts, whose rounded leaves are in `generalized.csv`),
a script and a notebook that replay it (`replay.py`, `replay.ipynb`), a report with the charts (`report.html`), a card
(`card.md`), and a `README.md` that says under which relation, with which epsilons and which noise the rows were made.
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpcore.errors import ParameterError
from dpcore.export.notebooks import notebook
from dpcore.export.privacy_card import card, contents, markdown, privacy
from dpcore.export.release import LEDGER, AnyRelease, Step, first_steps, plain, replay, script, shared, write_shared
from dpcore.export.report import Picture, Report, report
from dpcore.export.spreadsheet import spreadsheet_csv, spreadsheet_safe
from dpcore.methods.base import Synthesizer
from dpcore.postprocess.count_tree import ReleasedTree


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(AnyRelease):
    """A release of synthetic rows.

    Attributes
    ----------
    synthetic : DataFrame
    """

    synthetic: pd.DataFrame

    @property
    def size(self) -> tuple[str, str]:
        """The number of rows."""
        return "Synthetic rows", f"{len(self.synthetic):,}"

    @property
    def generalized(self) -> pd.DataFrame | None:
        """The generalized rows with their counts, if the release is a tree of counts."""
        if "tree" not in self.structure:
            return None
        tree = ReleasedTree.from_dict(self.schema, self.structure["tree"])
        return tree.rows(np.array(self.structure["leaf_counts"], dtype=float))

    def config(self) -> dict[str, Any]:
        """What ran, as JSON-ready values."""
        return {**super().config(), "rows": len(self.synthetic)}


def release_of(
    fitted: Synthesizer,
    method: str,
    synthetic: pd.DataFrame,
    *,
    data_name: str,
    seconds: float = math.nan,
    reading: Mapping[str, Any] | None = None,
) -> Release:
    """The release of a fitted synthesizer and the rows sampled from it."""
    return Release(
        method=method,
        synthetic=synthetic,
        data_name=data_name,
        seconds=seconds,
        reading=reading,
        **shared(fitted, fitted.structure()),
    )


def show_code(
    release: Release,
    *,
    data: str = "your-data.csv",
    schema: str = "schema.json",
    table: Literal["csv", "parquet"] | None = None,
) -> str:
    """A script that fits the same method with the same parameters through `dpcore`.

    With a seed, and the release's rows beside it (`table`), the script also says whether it made the same rows.
    """
    return script(steps(release, data, schema, table))


def steps(release: Release, data: str, schema: str, table: Literal["csv", "parquet"] | None) -> list[Step]:
    """The parts of that script."""
    checked = release.seed is not None and table is not None
    pandas = "import pandas as pd\n" if table == "parquet" and checked else ""
    return [
        *first_steps(release, data, schema, pandas),
        Step(
            "As many synthetic rows as the release has. They are made of what was measured, and cost nothing more.",
            f"synthetic = method.sample({len(release.synthetic)})\n"
            "synthetic.to_csv('synthetic-again.csv', index=False)\n",
        ),
        LEDGER,
        *([Step("Are these the rows of the release?", CHECK[str(table)])] if checked else []),
    ]


CHECK = {
    "csv": "same = dp.export.spreadsheet_csv(synthetic).encode()"
    " == Path('synthetic.csv').read_bytes()\n"
    "print('the same rows as synthetic.csv' if same else 'other rows than synthetic.csv: other data, or versions?')\n",
    "parquet": "same = pd.read_parquet('synthetic.parquet').equals(synthetic)\n"
    "print('the same rows as synthetic.parquet' if same else 'other rows than synthetic.parquet: other data, or "
    "versions?')\n",
}


def report_of(release: Release, pictures: Sequence[Picture] = ()) -> Report:
    """The report; `pictures` are comparisons with real rows, which are left out unless asked for."""
    return report(release, rows=release.synthetic, pictures=pictures)


def notebook_of(release: Release, table: Literal["csv", "parquet"] = "csv") -> str:
    """The notebook that does what `show_code` does, as JSON."""
    return notebook(release, steps(release, "your-data.csv", "schema.json", table))


def bundle(release: Release, *, table: Literal["csv", "parquet"] = "csv", told: Report | None = None) -> bytes:
    """The zip, as bytes; `told` is its report, if that was made before."""
    if table not in ("csv", "parquet"):
        raise ParameterError("The table format is not known.", "Choose csv or parquet.")
    told = report_of(release) if told is None else told
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        escaped = 0
        if table == "csv":
            escaped = spreadsheet_safe(release.synthetic)[1]
            archive.writestr("synthetic.csv", spreadsheet_csv(release.synthetic).encode("utf-8"))
        else:
            rows = io.BytesIO()
            release.synthetic.to_parquet(rows, index=False)
            archive.writestr("synthetic.parquet", rows.getvalue())
        write_shared(archive, release)
        if release.structure:
            indent = None if "tree" in release.structure else 1  # a tree is long
            structure = json.dumps(release.structure, indent=indent, ensure_ascii=False, allow_nan=False)
            archive.writestr("structure.json", structure)
        if (groups := release.generalized) is not None:
            archive.writestr("generalized.csv", spreadsheet_csv(groups).encode("utf-8"))
        archive.writestr("replay.py", show_code(release, table=table))
        archive.writestr("replay.ipynb", notebook_of(release, table))
        archive.writestr("report.html", told.html)
        archive.writestr("card.md", markdown(card(release)))
        archive.writestr("README.md", readme(release, table, escaped, real=told.real))
    return buffer.getvalue()


def readme(release: Release, table: str, escaped: int = 0, *, real: bool = False) -> str:
    """What the zip says of itself."""
    lines = [
        f"# {card(release).title}",
        "",
        f"{len(release.synthetic):,} synthetic rows in `synthetic.{table}`, made from {plain(release.data_name)!r}.",
        "",
        *contents(real),
        *privacy(release),
        *replay(release),
    ]
    if escaped:
        lines += [
            "",
            f"{escaped:,} cells that a spreadsheet would run as formulas begin with an apostrophe in the CSV.",
        ]
    return "\n".join(lines) + "\n"
