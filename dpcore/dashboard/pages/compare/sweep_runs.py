"""Runs of a comparison in worker processes: charged before noise is drawn, kept if canceled."""

from contextlib import closing
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import pandas as pd

from dpcore import evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.accounting.store import LedgerStore
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, session
from dpcore.dashboard.run_records import record_run
from dpcore.datasets import Dataset
from dpcore.evaluate.evaluator import FLOOR, FOREST, REAL
from dpcore.evaluate.learners import MAJORITY
from dpcore.experiment import Config, Method
from dpcore.experiment.sweeps import PURPOSE, find_finished_runs, join_runs
from dpcore.export.protection import protects
from dpcore.language import phrase, retold, say
from dpcore.methods.base import PrivateClassifier
from dpcore.text import number

# Names of runs in ledgers; the last one is in older ledgers only.
PURPOSES = [phrase("Comparison: {method} | corrected")]
PURPOSES += [phrase("Comparison: {method} | as published")]
PURPOSES += [phrase("Comparison: {method} | as printed")]
FINISHED = phrase("finished: no charge")
CHARGED = phrase("Every run is a release of the same rows, and will be charged to your privacy budget.")
SPENT = phrase("{count:,} of {planned:,} runs, proven at most epsilon {spent} so far")


@dataclass(eq=False)
class Comparison:
    """A comparison with what it has measured so far.

    `references` has the values of the baselines, and `frames` one frame per finished run.
    """

    config: Config
    data: Dataset
    references: pd.DataFrame
    frames: list[pd.DataFrame] = field(default_factory=list)

    @property
    def n_runs(self) -> int:
        """Number of runs that the comparison has when it is complete."""
        return len(self.config.methods) * len(self.config.epsilons) * self.config.repeats

    @property
    def frame(self) -> pd.DataFrame:
        """Frame of all finished runs, with `series` (method) and `mode` split from the label."""
        frame = join_runs(self.frames)
        parts = frame["method"].str.partition(" | ")
        return frame.assign(series=parts[0], mode=parts[2])

    @property
    def void(self) -> str:
        """Why epsilons of some runs guarantee nothing; empty if all of them guarantee something."""
        return " ".join(dict.fromkeys(filter(None, (retold(frame["void"].iloc[0]) for frame in self.frames))))


def kept_comparison() -> dict[str, Comparison]:
    """Return the session's dict that holds the latest comparison under the key "shown"."""
    return session.keep_once("dpcore.comparison", dict[str, Comparison])


def current_comparison(data: Dataset) -> Comparison | None:
    """Return the session's latest comparison if it was made on `data`, else None."""
    found = kept_comparison().get("shown")
    return found if found is not None and found.data is data else None


def run_store() -> experiment.Location:
    """Return where finished runs are kept: beside the ledger file, or in the session's memory."""
    return session.ledger_store().sweeps or session.keep_once("dpcore.sweeps", dict[str, bytes])


def find_unfinished(config: Config, data: Dataset, kept: experiment.Location) -> list[Method]:
    """Return the methods of the runs of a comparison that have not finished yet, one per run.

    `kept` is where finished runs are kept, as `run_store` returns it.
    """
    finished = find_finished_runs(config, data, kept)
    return [run.method for position, run in enumerate(config.runs) if position not in finished]


def format_charge(config: Config, data: Dataset) -> str:
    """Return the text of what the unfinished runs of a comparison will charge to the ledger.

    The text names the neighboring data sets if the runs do not follow add/remove.
    """
    rest = find_unfinished(config, data, run_store())
    if not rest:
        return say(FINISHED)
    sound = [each for each in rest if each.mode == "corrected" and each.random_state is None]
    proved = [each.epsilon for each in sound if data.schema.source == "declared"]
    parts, epsilon = [say("{count:,} runs", count=len(rest))], number(fsum(proved))
    if rest[0].relation != Relation.ADD_REMOVE:
        epsilon = f"{epsilon} ({say(neighbors(config, data))})"
    if proved:
        parts.append(say("charges at most epsilon {epsilon}", epsilon=epsilon))
    if bare := len(rest) - len(proved):
        parts.append(say("{bare:,} runs have no guarantee", bare=bare))
    return " · ".join(parts)


def neighbors(config: Config, data: Dataset) -> str:
    """Return in a few words which neighboring data sets all runs of a comparison protect."""
    return Relation(next(iter(config.methods.values())).relation).short_for(protects(data.schema.unit))


def proven_epsilon(ledgers: LedgerStore, config: Config, data: Dataset) -> float:
    """Return the proven epsilon of the ledger account that a comparison charges, all runs included.

    The result is 0 if nothing was charged yet to the account of these rows.
    """
    account = ledgers.account(ledgers.key(data), next(iter(config.methods.values())).relation)
    return account.epsilon_bound if account else 0.0


def make_work(config: Config, data: Dataset) -> jobs.Work:
    """Return the work that makes a comparison's unfinished runs; a cancel keeps finished runs."""
    kept, spending, store_key = run_store(), session.spending(), kept_comparison()

    def compare(progress: Progress) -> None:
        """Measure the baselines, then make the unfinished runs and charge each to the ledger."""
        progress(0.0, phrase("measuring the real rows"))
        trees = any(isinstance(method, PrivateClassifier) for method in config.methods.values())
        kinds = (REAL, MAJORITY, *([FOREST] if trees else []), FLOOR)
        references = evaluate.baselines(data, kinds, config.measures, models=config.models)
        made = Comparison(config, data, references)
        finished = made.n_runs - len(find_unfinished(config, data, kept))
        notes: dict[Any, Ledger] = {}
        before = proven_epsilon(spending.store, config, data)

        def report_progress(*_: object) -> None:
            """Show the number of finished runs, and their proven epsilon, on the progress bar."""
            spent = number(proven_epsilon(spending.store, config, data) - before)
            values = {"count": len(made.frames), "planned": made.n_runs, "spent": spent}
            progress(len(made.frames) / made.n_runs, SPENT.format(**values))

        how: dict[str, Any] = {"ledgers": spending.store.open_runs(config.methods, data, PURPOSE), "store": kept}
        with closing(experiment.stream(data=data, progress=report_progress, **how, **config.arguments)) as found:
            for count, (_, run) in enumerate(found, 1):
                made.frames.append(run)
                store_key["shown"] = made
                if count > finished:
                    record_run(spending, notes, data, f"{PURPOSE}: {run['method'].iloc[0]}", run)
                report_progress()

    return compare
