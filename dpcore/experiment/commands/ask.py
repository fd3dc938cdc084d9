"""`dpcore ask`: estimate plain statistics of a table; print the answers or write them as CSV."""

import argparse
import json
import math

import pandas as pd

from dpcore.accounting.store import LedgerStore, ledger_path
from dpcore.experiment.commands import (
    load_rows,
    parse_parameters,
    print_summary,
    progress_line,
    require_budget,
    require_writable,
    write,
)
from dpcore.export.artifacts import Answers
from dpcore.export.protection import headline
from dpcore.export.release import PURPOSE
from dpcore.export.rendering import spreadsheet_csv
from dpcore.language import say
from dpcore.mechanisms.noise import TEACHING
from dpcore.methods.statistics import PlainStatistics

EXPLAINED = """First ±: the noise. Second ±: noise and sampling, if the rows are a random sample.
Each is half the width of an interval of 90 %; --out FILE writes both ends."""


def make(options: argparse.Namespace) -> int:
    """Estimate the statistics, print or write the answers, and return the exit code."""
    if options.out is not None:
        require_writable(options.out, force=options.force)
    queries = "queries=" + "\n".join(options.statistics)
    method = PlainStatistics(**parse_parameters(PlainStatistics, [queries, *options.set]))
    data = load_rows(options, "", None)
    method.check(data.schema)  # before anything is spent
    store = LedgerStore(ledger_path())
    require_budget(store, data, [method])
    purpose = PURPOSE.format(method=method.title, mode=method.mode)
    ledger = store.open_run(data, method.relation, purpose, method.delta).ledger()
    method.fit(data.train, schema=data.schema, ledger=ledger, progress=progress_line)
    answers = Answers(answers=method.answers()).file_table
    if options.out is not None:
        write(options.out, spreadsheet_csv(answers).encode(), force=options.force)
    cost = "nothing can be proved"
    if math.isfinite(ledger.epsilon_bound):
        cost = f"epsilon {headline(data.schema.unit, ledger.epsilon_bound, ledger.delta)}"
    text = f"{options.out}: " if options.out else f"{text_table(answers)}\n\n{EXPLAINED}\n"
    doubt = ledger.guarantee_void or ("" if method.exactly_sampled_ else TEACHING)
    print_summary(
        options,
        {
            "command": "ask",
            "out": None if options.out is None else str(options.out),
            "answers": json.loads(answers.to_json(orient="records", double_precision=15)),
            "relation": str(ledger.relation),
            "noise": method.noise_label_,
            "exactly_sampled": method.exactly_sampled_,
            "guarantee_void": say(ledger.guarantee_void),
            "epsilon_claimed": ledger.epsilon_claimed,
            "epsilon_bound": ledger.epsilon_bound,
            "delta": ledger.delta,
            "data": data.name,
            "ledger": str(store.path) if store.kept else "session",
        },
        f"{text}{method.title}, {cost}. {say(doubt)}".rstrip(),
    )
    return 0


def text_table(answers: pd.DataFrame) -> str:
    """Return answers as text: a heading for each statistic, and a line for each of its answers."""
    lines = []
    for statistic, rows in answers.groupby("statistic", sort=False):
        names = rows["group"] if rows["of"].nunique() == 1 else rows["group"] + ", " + rows["of"]
        width = max(map(len, names))
        lines += ["", f"{statistic} ({rows['how'].iloc[0]})"]
        for name, cell in zip(names, rows.to_dict("records"), strict=True):
            noise = (cell["noise_high"] - cell["noise_low"]) / 2
            both = (cell["high"] - cell["low"]) / 2
            digits = max(1 - math.floor(math.log10(both)), 0) if 0 < both < math.inf else 0
            found = " ± ".join(f"{number:,.{digits}f}" for number in (cell["value"], noise, both))
            text = "too few to tell" if cell["too_few"] else f"{found} {cell['unit']}"
            lines.append(f"  {name:<{width}}  {text}")
    return "\n".join(lines).strip()
