"""Comparisons that run in worker processes: charged before noise is drawn, kept if they are stopped."""

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

# As ledgers name runs; the last is of ledgers that were written before.
PURPOSES = [phrase("Comparison: {method} | corrected")]
PURPOSES += [phrase("Comparison: {method} | as published")]
PURPOSES += [phrase("Comparison: {method} | as printed")]
FINISHED = phrase("finished already: no charge")
CHARGED = phrase("Every run is a release of the same rows, and will be charged to your privacy budget.")
SPENT = phrase("{count:,} of {planned:,} runs, proven at most epsilon {spent} so far")


@dataclass(eq=False)
class Comparison:
    """A sweep with what it has finished so far, and what its runs are compared with."""

    config: Config
    data: Dataset
    references: pd.DataFrame
    frames: list[pd.DataFrame] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """How many runs it is to have."""
        return len(self.config.methods) * len(self.config.epsilons) * self.config.repeats

    @property
    def frame(self) -> pd.DataFrame:
        """All rows so far, with `series` and `mode`."""
        frame = join_runs(self.frames)
        parts = frame["method"].str.partition(" | ")
        return frame.assign(series=parts[0], mode=parts[2])

    @property
    def void(self) -> str:
        """Why its epsilons guarantee nothing; empty if they do."""
        return " ".join(dict.fromkeys(filter(None, (retold(frame["void"].iloc[0]) for frame in self.frames))))


def last() -> dict[str, Comparison]:
    """The session's last comparison, as `current_comparison`."""
    return session.keep_once("dpcore.comparison", dict[str, Comparison])


def current_comparison(data: Dataset) -> Comparison | None:
    """The session's comparison of these data, if there is one."""
    found = last().get("shown")
    return found if found is not None and found.data is data else None


def store() -> experiment.Location:
    """Where finished runs are kept: beside the ledger; in the session's memory, if the ledger goes with it."""
    return session.ledger_store().sweeps or session.keep_once("dpcore.sweeps", dict[str, bytes])


def find_unfinished(config: Config, data: Dataset, kept: experiment.Location) -> list[Method]:
    """The method of each run of a comparison that is not there yet."""
    finished = find_finished_runs(config, data, kept)
    return [run.method for position, run in enumerate(config.runs) if position not in finished]


def charge_of(config: Config, data: Dataset) -> str:
    """What the runs that are not there yet will charge, and of which neighbors, if not the usual."""
    rest = find_unfinished(config, data, store())
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
    """Which data sets are neighbors in all runs of a comparison, in a few words."""
    return Relation(next(iter(config.methods.values())).relation).short_for(protects(data.schema.unit))


def proven(ledgers: LedgerStore, config: Config, data: Dataset) -> float:
    """What is proven of all runs so far that are counted with those of a comparison."""
    account = ledgers.account(ledgers.key(data), next(iter(config.methods.values())).relation)
    return account.epsilon_bound if account else 0.0


def work(config: Config, data: Dataset) -> jobs.Work:
    """Running what is not finished yet; what is finished is kept if somebody cancels."""
    kept, spending, store_key = store(), session.spending(), last()

    def compare(progress: Progress) -> None:
        progress(0.0, phrase("measuring the real rows"))
        trees = any(isinstance(method, PrivateClassifier) for method in config.methods.values())
        kinds = (REAL, MAJORITY, *([FOREST] if trees else []), FLOOR)
        references = evaluate.baselines(data, kinds, config.measures, models=config.models)
        made = Comparison(config, data, references)
        finished = made.planned - len(find_unfinished(config, data, kept))
        notes: dict[Any, Ledger] = {}
        before = proven(spending.store, config, data)

        def tell(*_: object) -> None:
            spent = number(proven(spending.store, config, data) - before)
            values = {"count": len(made.frames), "planned": made.planned, "spent": spent}
            progress(len(made.frames) / made.planned, SPENT.format(**values))

        how: dict[str, Any] = {"ledgers": spending.store.open_runs(config.methods, data, PURPOSE), "store": kept}
        with closing(experiment.stream(data=data, progress=tell, **how, **config.arguments)) as found:
            for count, (_, frame) in enumerate(found, 1):
                made.frames.append(frame)
                store_key["shown"] = made
                if count > finished:
                    record_run(spending, notes, data, f"{PURPOSE}: {frame['method'].iloc[0]}", frame)
                tell()

    return compare
