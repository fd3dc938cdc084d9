"""Comparisons that run: in worker processes, on the books before noise is drawn, and kept where they were stopped."""

import os
import time
from contextlib import closing
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import pandas as pd

from dpcore import evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.store import Books
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, session
from dpcore.dashboard.pages.compare.sweep import charge, find_unfinished, proves, runs_of
from dpcore.dashboard.run_records import record_run
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError
from dpcore.evaluate.baselines import FLOOR, FOREST, REAL
from dpcore.evaluate.learners import MAJORITY
from dpcore.experiment import Config
from dpcore.experiment.config import key_of_rows
from dpcore.experiment.sweeps import PURPOSE, find_finished_runs, join_runs
from dpcore.language import phrase, retold, say
from dpcore.methods.base import PrivateClassifier
from dpcore.text import number

KEPT = phrase(":material/history: An earlier comparison of these data is kept.")
BEGUN = phrase(
    ":material/history: An earlier comparison of these data was not finished ({count:,} of {planned:,} runs)."
)
KEY = "dpcore.comparison"
PURPOSES = (
    phrase("Comparison: {method} | corrected"),
    phrase("Comparison: {method} | as printed"),
)  # as books name them
CHARGED = phrase("Every run is a release of the same rows, and will be charged to your privacy budget.")
OF = phrase("{count:,} of {planned:,} runs")
SPENT = phrase("{count:,} of {planned:,} runs, proven at most epsilon {spent} so far")
SPENT_OF = phrase("{count:,} of {planned:,} runs, proven at most epsilon {spent} so far, of {all}")


@dataclass(eq=False)
class Comparison:
    """A sweep with what it has finished so far, and what its runs are compared with."""

    config: Config
    data: Dataset
    frames: list[pd.DataFrame] = field(default_factory=list)
    references: pd.DataFrame | None = None

    @property
    def planned(self) -> int:
        """How many runs it is to have."""
        return runs_of(self.config)

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


def shown(data: Dataset) -> Comparison | None:
    """The session's comparison of these data, if there is one."""
    found = last().get("shown")
    return found if found is not None and found.data is data else None


def last() -> dict[str, Comparison]:
    """The session's last comparison, as `shown`."""
    return session.kept(KEY, dict[str, Comparison])


def place() -> experiment.Place:
    """Where finished runs are kept: beside the ledger; in the session's memory, if the ledger goes with it."""
    return session.books().sweeps or session.kept("dpcore.sweeps", dict[str, bytes])


def note_of(data: Dataset, kept: experiment.Place) -> str:
    """The file's name that says which comparison of these data was the last."""
    return f"last-{key_of_rows(data, kept)[:32]}.json"


def earlier(data: Dataset) -> tuple[Config, int] | None:
    """The last comparison of these data of any session, and how many runs of it are finished."""
    kept = place()
    try:
        name = note_of(data, kept)
        found = kept.get(name, b"") if isinstance(kept, dict) else (kept / name).read_bytes()
        config = Config.from_json(found.decode())
        return config, len(find_finished_runs(config, data, kept))
    except (OSError, UnicodeDecodeError, DPCoreError):  # a file like any other: what it says is not needed
        return None


def charge_of(config: Config, data: Dataset) -> str:
    """What the runs of a comparison that are not there yet will charge, and how long they take if it is known."""
    rest = find_unfinished(config, find_finished_runs(config, data, place()))
    text, pace = charge(rest, data), paces().get(speed_key(config, data))
    return (
        say("{charge} · about {seconds} s", charge=text, seconds=f"{pace * len(rest):,.0f}") if pace and rest else text
    )


def proven(ledgers: Books, config: Config, data: Dataset) -> float:
    """What is proven of all runs so far that are counted with those of a comparison."""
    account = ledgers.account(ledgers.key(data), next(iter(config.methods.values())).relation)
    return account.epsilon_bound if account else 0.0


def work(config: Config, data: Dataset) -> jobs.Work:
    """Running what is not finished yet; what is finished is kept if somebody cancels."""
    made, kept, kept_paces, spending, shown = Comparison(config, data), place(), paces(), session.spending(), last()

    def compare(progress: Progress) -> None:
        progress(0.0, phrase("measuring the real rows"))
        trees = any(isinstance(method, PrivateClassifier) for method in config.methods.values())
        kinds = (REAL, MAJORITY, *([FOREST] if trees else []), FLOOR)
        made.references = evaluate.baselines(data, kinds, config.measures, models=config.models)
        finished = find_finished_runs(config, data, kept)
        rest, written, before = find_unfinished(config, finished), len(finished), proven(spending.books, config, data)
        remember(config, data, kept)
        notes: dict[Any, Ledger] = {}
        proved = [method.epsilon for method in rest if proves(method, data)]
        values, start = {"planned": made.planned, "all": number(fsum(proved)), "spent": "0"}, time.perf_counter()
        message = OF if not proved else SPENT if len(proved) < len(rest) else SPENT_OF

        def tell(*_: object) -> None:
            count = len(made.frames)
            progress(count / made.planned, message.format(count=count, **values))

        how: dict[str, Any] = {"ledgers": spending.books.open_runs(config.methods, data, PURPOSE), "store": kept}
        try:
            with closing(experiment.stream(data=data, progress=tell, **how, **config.asked)) as found:
                for count, (_, frame) in enumerate(found, 1):
                    if count > written:
                        record_run(spending, notes, data, f"{PURPOSE}: {frame['method'].iloc[0]}", frame)
                        kept_paces[speed_key(config, data)] = (time.perf_counter() - start) / (count - written)
                    made.frames.append(frame)
                    values["spent"] = number(proven(spending.books, config, data) - before)
                    tell()
        finally:
            shown["shown"] = made

    return compare


def remember(config: Config, data: Dataset, kept: experiment.Place) -> None:
    """Write down, for the owner of the ledger only, which comparison was the last."""
    name, text = note_of(data, kept), config.to_json(data)
    if isinstance(kept, dict):
        kept[name] = text.encode()
        return
    path = kept / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def paces() -> dict[Any, float]:
    """Seconds per run of this session's comparisons, by what they depend on most."""
    return session.kept("dpcore.comparison pace", dict[Any, float])


def speed_key(config: Config, data: Dataset) -> Any:
    """What the time of a run depends on most."""
    return data.token, frozenset(config.methods), frozenset(config.measures)
