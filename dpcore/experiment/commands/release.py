"""`dpcore release`: make a release by a method's name or by saved settings; write its zip.

With `--method`, the one file is the table. Without it, the first file has the settings.
"""

import argparse
import math
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from dpcore.accounting.store import LedgerStore, ledger_path
from dpcore.arguments import is_whole
from dpcore.datasets.reading import MAX_BYTES, source_bytes
from dpcore.domain.former_names import LABELS, PUBLIC
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.evaluator import Method
from dpcore.experiment.commands import (
    load_rows,
    parse_parameters,
    print_summary,
    progress_line,
    require_budget,
    require_writable,
    write,
)
from dpcore.experiment.sweeps import method_of, refuse_faults
from dpcore.export.archive import bundle, file_name, settings_of_release
from dpcore.export.artifacts import Model
from dpcore.export.facts import grounds_of
from dpcore.export.protection import headline
from dpcore.export.release import PURPOSE, make_release
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier, max_rows_in_memory

CAUSE = "This file holds no settings of a release"
REMEDY = "Choose the zip of a release or its config.json; a table needs --method and --epsilon."
FORMAT = "dpcore release 1"
MOST_ROWS = 100_000_000


def make(options: argparse.Namespace) -> int:
    """Fit the method, write the release as a zip, and return the exit code."""
    if options.method is None and options.set:
        raise argparse.ArgumentTypeError("parameters need --method; saved settings have their own")
    if options.method is not None:
        if options.data is not None:
            raise argparse.ArgumentTypeError("--method takes one file, the table: leave out the settings")
        options.data = options.config
    require_writable(options.out or Path("release.zip"), force=options.force or options.out is None)
    raw = b"" if options.method else source_bytes(options.config, MAX_BYTES)
    config = new_settings(options) if options.method else settings_of_release(raw, CAUSE, REMEDY)
    method = saved_method(config)
    name = LABELS.get(config["method"], str(config["method"]))
    rows = config.get("rows") if options.rows is None else options.rows
    saved = None
    if zipfile.is_zipfile(BytesIO(raw)):
        saved = Schema.from_document(settings_of_release(raw, CAUSE, REMEDY, "schema.json"))
    data = load_rows(options, str(config["data"]["name"]), saved)
    method.check(data.schema)  # before anything is spent
    most = 0 if isinstance(method, PrivateClassifier) else max_rows_in_memory(data.schema)
    if rows is not None and not 0 < rows <= most:
        raise ParameterError(f"{name} cannot make {rows:,} rows.", "Leave out --rows, or lower it.")
    if options.rows is not None and "rows" in method.implied_parameters(options.rows):
        method.set_params(rows=rows)  # the method labels rows while it learns
    store = LedgerStore(ledger_path())
    require_budget(store, data, [method])
    ledger = store.open_run(data, method.relation, PURPOSE.format(method=name, mode=method.mode), method.delta).ledger()
    fitted = method.fit(data.train, schema=data.schema, ledger=ledger, progress=progress_line)
    copy = [] if isinstance(fitted, PrivateClassifier) else [fitted.sample(rows or min(fitted.estimated_rows(), most))]
    progress_line(1.0, "")
    release = make_release(fitted, name, *copy, data_name=data.name, reading=data.reading)
    release = replace(release, page=config.get("page", {}))
    if isinstance(release.artifact, Model) and release.noiseless:
        raise ParameterError("This model holds noiseless counts of real rows.", "Choose a method that adds noise.")
    # numbered if the file exists: the release is charged by now
    named = Path(file_name(release))
    free = (named, *(named.with_stem(f"{named.stem}-{i}") for i in range(2, 1_000)))
    out = options.out or next(path for path in free if options.force or not path.exists())
    write(out, bundle(release, table=options.table), force=options.force)
    proved = math.isfinite(ledger.epsilon_bound)
    cost = f"epsilon {headline(None, ledger.epsilon_bound, ledger.delta)}" if proved else "nothing can be proved"
    grounds = grounds_of(release)
    print_summary(
        options,
        {
            "command": "release",
            "out": str(out),
            **release.origin,
            "noise": release.noise_label,
            "delta": ledger.delta,
            "data": data.name,
            "rows": len(copy[0]) if copy else None,
            "exactly_sampled": release.exactly_sampled,  # the noise only
            "grounds": {what.lower().replace(" ", "_"): about for what, about in grounds},
            "ledger": str(store.path) if store.kept else "session",
        },
        f"{out}: {name}, {cost}. {release.guarantee_void or release.attackable}".rstrip()
        + "".join(f"\n{what}: {about}" for what, about in grounds),
    )
    return 0


def new_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings like those in a release's zip, from the options --method and --set.

    Raises
    ------
    ParameterError
        If the method, a parameter or a value is not known, or epsilon is missing.
    """
    titles = {name.casefold(): name for name in METHODS}
    titles |= {kind.casefold(): METHODS.name_of(kind, "") for kind in METHODS.classes}
    title = titles.get(options.method.casefold())
    if title is None:
        raise ParameterError(f"There is no method {options.method!r}.", f"Choose one of {', '.join(METHODS)}.")
    parameters = parse_parameters(METHODS[title], options.set)
    return {"format": FORMAT, "method": title, "parameters": parameters, "data": {"name": ""}}


def saved_method(config: Any) -> Method:
    """Return the unfitted method that the settings of a release (`config`) describe.

    Raises
    ------
    ParameterError
        If they are not the settings of a release.
    """
    with refuse_faults(CAUSE, REMEDY):
        given = {name: math.inf if value == "infinity" else value for name, value in config["parameters"].items()}
        epsilon, rows, page = given.pop("epsilon"), config.get("rows"), config.get("page", {})
        sound = config["format"] == FORMAT and isinstance(page, dict)
        sound = sound and isinstance(config["data"]["name"], str) and isinstance(config["method"], str)
        if not sound or type(epsilon) not in (int, float) or not (rows is None or is_whole(rows, 0, MOST_ROWS)):
            raise ParameterError(f"{CAUSE}.", REMEDY)
        kind = PUBLIC.get(config.get("class"), config.get("class"))
        known = METHODS.name_of(kind, config["method"])  # releases may have other titles
        method: Method = method_of({"method": known, "parameters": given}).set_params(epsilon=epsilon)
    return method
