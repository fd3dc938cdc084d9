"""`dpcore release`: a release by saved settings, as the zip that the dashboard gives."""

import argparse
import math
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from dpcore.accounting.store import Books, asked_path
from dpcore.arguments import is_whole
from dpcore.datasets.reading import MAX_BYTES, source_bytes
from dpcore.domain.former_names import LABELS, PUBLIC
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError, ParameterError
from dpcore.evaluate.evaluator import Method
from dpcore.experiment.commands.base import (
    affordable,
    carried_out,
    parser_of,
    room,
    rows_of,
    summary,
    takes_rows,
    told,
    write,
)
from dpcore.experiment.config import method_of
from dpcore.export.archive import bundle, settings_of_release
from dpcore.export.model_file import Model
from dpcore.export.privacy_card import grounds_of
from dpcore.export.protection import headline
from dpcore.export.release import PURPOSE, make_release
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier

CAUSE, REMEDY = "These are no settings of a release", "Choose the zip of a release, or the config.json in it."
FORMAT = "dpcore release 1"
MOST_ROWS = 100_000_000


def main(arguments: Sequence[str]) -> int:
    """Make the release, and say what it can cost; the exit code."""
    asked = command().parse_intermixed_args(arguments)
    return carried_out(lambda: made(asked))


def command() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = parser_of(
        "release",
        "Make a release by saved settings: the zip of the tab Take home, which holds the rows or the model, the "
        "schema, the ledger and a report.",
        "Settings are the config.json of a release's zip, or that zip, whose schema is then used as well.",
    )
    takes_rows(parser, 0.0)
    parser.add_argument("--out", type=Path, default=Path("release.zip"), help="the zip (default: %(default)s)")
    parser.add_argument("--table", choices=["csv", "parquet"], default="csv", help="the format of rows")
    return parser


def made(asked: argparse.Namespace) -> int:
    """The release, written; DPCoreError if it is refused."""
    room(asked.out, force=asked.force)
    raw = source_bytes(asked.config, MAX_BYTES)
    config = settings_of_release(raw, CAUSE, REMEDY)
    method = method_of_release(config)
    name = LABELS.get(config["method"], str(config["method"]))
    rows, page = config.get("rows"), config.get("page")
    data = rows_of(asked, str(config["data"]["name"]), schema_beside(raw))
    books = Books(asked_path())
    affordable(books, data, [method])
    ledger = books.open_run(data, method.relation, PURPOSE.format(method=name, mode=method.mode), method.delta).ledger()
    fitted = method.fit(data.train_sample, schema=data.schema, ledger=ledger, progress=told)
    copy = [] if isinstance(fitted, PrivateClassifier) else [fitted.sample(rows)]
    told(1.0, "")
    release = make_release(fitted, name, *copy, data_name=data.name, reading=data.reading)
    release = replace(release, page=page) if page else release
    if isinstance(release.artifact, Model) and release.noiseless:
        raise ParameterError("This model holds noiseless counts of real rows.", "Choose a method that adds noise.")
    write(asked.out, bundle(release, table=asked.table), force=asked.force)
    price = (
        "nothing can be proved"
        if math.isinf(ledger.epsilon_bound)
        else f"epsilon {headline(None, ledger.epsilon_bound, ledger.delta)}"
    )
    grounds = grounds_of(release)
    summary(
        asked,
        {
            "command": "release",
            "out": str(asked.out),
            "method": name,
            "mode": method.mode,
            "relation": str(ledger.relation),
            "data": data.name,
            "rows": len(copy[0]) if copy else None,
            "epsilon_claimed": ledger.epsilon_claimed,
            "epsilon_bound": ledger.epsilon_bound,
            "delta": ledger.delta,
            "guarantee_void": release.guarantee_void,
            "noise": release.noise_label,
            "exactly_sampled": release.exactly_sampled,  # the noise alone
            "grounds": {what.lower().replace(" ", "_"): about for what, about in grounds},
            "ledger": str(books.path) if books.kept else "session",
        },
        f"{asked.out}: {name}, {price}. {release.guarantee_void or release.attackable}".rstrip()
        + "".join(f"\n{what}: {about}" for what, about in grounds),
    )
    return 0


def method_of_release(config: Any) -> Method:
    """The method of a release's settings, unfitted; ParameterError if they are none."""
    try:
        given = {name: math.inf if value == "infinity" else value for name, value in config["parameters"].items()}
        epsilon, rows, page = given.pop("epsilon"), config.get("rows"), config.get("page", {})
        sound = config["format"] == FORMAT and isinstance(page, dict)
        sound = sound and isinstance(config["data"]["name"], str) and isinstance(config["method"], str)
        if not sound or type(epsilon) not in (int, float) or not (rows is None or is_whole(rows, 0, MOST_ROWS)):
            raise ParameterError(f"{CAUSE}.", REMEDY)
        known = METHODS.name_of(
            PUBLIC.get(config.get("class"), config.get("class")), config["method"]
        )  # a release may have a title of its own
        method: Method = method_of({"method": known, "parameters": given}).set_params(epsilon=epsilon)
    except DPCoreError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ParameterError(f"{CAUSE}.", REMEDY) from error
    return method


def schema_beside(raw: bytes) -> Schema | None:
    """The schema that lies in a release's zip; None if the settings are not in a zip."""
    if not zipfile.is_zipfile(BytesIO(raw)):
        return None
    document = settings_of_release(raw, CAUSE, REMEDY, "schema.json")
    return Schema.from_document(document)
