"""A released classifier as plain data: it predicts without the private rows, on another day and another computer.

The zip holds the model (`model.json`), `schema.json`, `config.json`, `ledger.json`, `ledger.csv`, a script and a
notebook that replay it (`replay.py`, `replay.ipynb`), a report with the charts (`report.html`), a card (`card.md`) and
a `README.md`; and, if people randomized their own answers, `reports.csv` and `rules.json`
(`ModelRelease.table_of_reports`). Nothing in `model.json` is ever run (`Model`).
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpcore.export.model_file import Model
from dpcore.export.notebooks import notebook
from dpcore.export.privacy_card import card, contents, markdown, privacy
from dpcore.export.release import (
    LEDGER,
    AnyRelease,
    Step,
    first_steps,
    literal,
    plain,
    replay,
    script,
    shared,
    write_shared,
)
from dpcore.export.report import Picture, Report, report
from dpcore.export.spreadsheet import spreadsheet_csv
from dpcore.mechanisms.noise import NoNoise
from dpcore.methods.base import PrivateClassifier
from dpcore.postprocess.reports import Reports

SIZES = ("n_trees", "max_depth")
EXACT = NoNoise.label.capitalize()
REPORTS = (
    "`reports.csv` has one row per person: what that person reported; cells are empty where a person was not asked. "
    "Each randomized their own answers, before anybody collected them, by the rules in `rules.json`: a report supports "
    "the true value with probability gain + base, and any other with its base."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelRelease(AnyRelease):
    """A release of a classifier.

    Attributes
    ----------
    target : str
        The class column.
    sizes : mapping
        Parameters that were left to a rule, such as `n_trees`, and what it gave.
    reports : Reports, optional
        The randomized answers that it was learned from, where people randomize their own.
    """

    target: str
    sizes: Mapping[str, int]
    reports: Reports | None = None

    @property
    def table_of_reports(self) -> Reports | None:
        """The reports that are handed on with the model.

        Not without a finite epsilon, for some of them are true answers; nor with a known seed, which undoes them all.
        """
        return self.reports if math.isfinite(self.ledger.epsilon_of_noise) and self.seed is None else None

    @property
    def exact(self) -> bool:
        """Whether there is no noise at all: for comparison on a screen, never to be handed on."""
        return self.noise_label == EXACT

    @property
    def size(self) -> tuple[str, str]:
        """What predicts, and how much of it."""
        return self.model.size

    @cached_property
    def model(self) -> Model:
        """What predicts."""
        about = {
            "method": self.method,
            "mode": self.parameters["mode"],
            "relation": str(self.ledger.relation),
            "noise": f"{self.noise_label}. {self.attackable}" if self.attackable else self.noise_label,
            "guarantee_void": self.guarantee_void,
            "epsilon_claimed": self.ledger.epsilon_claimed,
            "epsilon_bound": self.ledger.epsilon_bound,
        }
        return Model(self.schema, self.target, self.structure, about)

    def config(self) -> dict[str, Any]:
        """What ran, as JSON-ready values."""
        more = {"target": self.target, "classes": self.model.classes_.tolist(), "sizes": dict(self.sizes)}
        return {**super().config(), **more}


def release_of(
    fitted: PrivateClassifier,
    method: str,
    *,
    data_name: str,
    seconds: float = math.nan,
    reading: Mapping[str, Any] | None = None,
) -> ModelRelease:
    """The release of a fitted classifier."""
    ruled = {name: int(getattr(fitted, f"{name}_")) for name in SIZES if hasattr(fitted, f"{name}_")}
    return ModelRelease(
        method=method,
        target=fitted.target_,
        sizes=ruled,
        reports=getattr(fitted, "reports_", None),
        data_name=data_name,
        seconds=seconds,
        reading=reading,
        **shared(fitted, fitted.structure()),
    )


def show_code(release: ModelRelease, *, data: str = "your-data.csv", schema: str = "schema.json") -> str:
    """A script that fits the same method with the same parameters through `dpcore`, and predicts."""
    return script(steps(release, data, schema))


def steps(release: ModelRelease, data: str, schema: str) -> list[Step]:
    """The parts of that script."""
    made = f"release_of(method, {literal(release.method)}, data_name={literal(release.data_name)}).model.to_json()"
    return [
        *first_steps(release, data, schema, "from dpcore.export import models\n"),
        LEDGER,
        Step(
            "The model as a file, and what it predicts for rows that were set aside. Predicting costs nothing.",
            f"again = models.{made}\n"
            "Path('model-again.json').write_text(again, encoding='utf-8')\n"
            "print(method.predict(private.test)[:10])\n",
        ),
        *([] if release.seed is None else [Step("Is this the model of the release?", CHECK)]),
    ]


CHECK = (
    "kept = Path('model.json').read_text(encoding='utf-8')\n"
    "same = models.Model.from_json(again).structure == models.Model.from_json(kept).structure\n"
    "print('the same model as model.json' if same else 'another model than model.json: other data, or versions?')\n"
)


def report_of(release: ModelRelease, pictures: Sequence[Picture] = ()) -> Report:
    """The report; `pictures` are comparisons with real rows, which are left out unless asked for."""
    return report(release, pictures=pictures)


def notebook_of(release: ModelRelease) -> str:
    """The notebook that does what `show_code` does, as JSON."""
    return notebook(release, steps(release, "your-data.csv", "schema.json"))


def bundle(release: ModelRelease, *, told: Report | None = None) -> bytes:
    """The zip, as bytes; `told` is its report, if that was made before."""
    told = report_of(release) if told is None else told
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", release.model.to_json())
        if release.table_of_reports is not None:
            archive.writestr("reports.csv", reports_csv(release.table_of_reports))
            archive.writestr("rules.json", json.dumps(release.table_of_reports.rules(), indent=2, ensure_ascii=False))
        write_shared(archive, release)
        archive.writestr("replay.py", show_code(release))
        archive.writestr("replay.ipynb", notebook_of(release))
        archive.writestr("report.html", told.html)
        archive.writestr("card.md", markdown(card(release)))
        archive.writestr("README.md", readme(release, real=told.real))
    return buffer.getvalue()


def reports_csv(reports: Reports) -> bytes:
    """The table of randomized answers, one row per person, for a spreadsheet or a program."""
    return spreadsheet_csv(reports.frame(), float_format="%.6g").encode("utf-8")


def readme(release: ModelRelease, *, real: bool = False) -> str:
    """What the zip says of itself."""
    what, many = release.size
    lines = [
        f"# {card(release).title}",
        "",
        f"`model.json` predicts {plain(release.target)!r}. {what}: {many}. Made from {plain(release.data_name)!r}.",
        "",
        *contents(real),
        *privacy(release),
        *([REPORTS, ""] if release.table_of_reports is not None else []),
        "## Predict",
        "",
        "    from pathlib import Path",
        "    from dpcore.export import models",
        "    from dpcore.datasets.reading import read_frame",
        "",
        "    model = models.Model.from_json(Path('model.json').read_text(encoding='utf-8'))",
        "    model.predictions(read_frame('people.csv'))",
        "",
        "It needs no private row and spends nothing. Or load `model.json` on the dashboard, on the tab Predict of any",
        "page that classifies.",
        "",
        *replay(release),
    ]
    return "\n".join(lines) + "\n"
