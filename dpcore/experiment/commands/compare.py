"""`dpcore compare`: run a comparison by saved settings, and write a table of all runs."""

import argparse
import sys
from typing import Any

from dpcore.accounting.store import LedgerStore, ledger_path
from dpcore.datasets.reading import MAX_BYTES, source_bytes
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import require_rows
from dpcore.experiment.commands import (
    load_rows,
    print_summary,
    progress_line,
    require_budget,
    require_writable,
    write,
)
from dpcore.experiment.sweeps import ORDER, PURPOSE, Config, Location, find_finished_runs, sweep
from dpcore.export.rendering import spreadsheet_csv

CAUSE, REMEDY = "The file has no settings of a comparison", "Choose a file that the page Compare saved."


def make(options: argparse.Namespace) -> int:
    """Run the comparison of saved settings, write the table of its runs, and return the exit code."""
    require_writable(options.out, force=options.force)
    raw = source_bytes(options.config, MAX_BYTES)
    config = Config.from_json(raw)
    document = json_value(raw, ParameterError, CAUSE, REMEDY)
    name = document["data"].get("name") if isinstance(document.get("data"), dict) else None
    saved = Schema.from_document(document["schema"]) if "schema" in document else None
    data = load_rows(options, str(name or ""), saved)
    require_rows(data.train_sample, data.test_sample)  # before anything is spent
    store = LedgerStore(ledger_path())
    location: Location = store.sweeps or {}
    earlier = find_finished_runs(config, data, location)
    require_budget(store, data, (run.method for count, run in enumerate(config.runs) if count not in earlier))
    ledgers = store.open_runs(config.methods, data, PURPOSE)
    how: dict[str, Any] = {"ledgers": ledgers, "store": location, "n_jobs": options.jobs, "progress": progress_line}
    table = sweep(data=data, **how, **config.arguments)
    write(options.out, spreadsheet_csv(table).encode(), force=options.force)
    runs = table.drop_duplicates(ORDER[:3])
    failed = runs[runs["error"] != ""]
    for run in failed.itertuples():
        sys.stderr.write(f"{run.method}, epsilon {run.epsilon:g}, failed: {run.error}\n")
    print_summary(
        options,
        {
            "command": "compare",
            "out": str(options.out),
            "data": data.name,
            "runs": len(runs),
            "runs_kept_from_earlier": len(earlier),
            "runs_failed": len(failed),
            "guarantee_void": " ".join(dict.fromkeys(text for text in table["void"] if text)),
            "uses_real_data": True,
            "ledger": str(store.path) if store.kept else "session",
        },
        f"{options.out}: {len(runs):,} runs, {len(failed):,} failed. Measured on real rows: do not publish.",
    )
    return int(bool(len(failed)))
