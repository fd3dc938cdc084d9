"""The figures of the papers, made again: found by their names, with the numbers of all runs and as charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from dpcore.accounting.store import LedgerStore, ledger_path
from dpcore.arguments import Progress, is_whole, no_progress
from dpcore.datasets import Dataset
from dpcore.errors import ParameterError
from dpcore.experiment.study import NewLedger, Run
from dpcore.text import read_toml

if TYPE_CHECKING:  # workers, which load this package, do without charts
    from dpcore.charts.base import Chart
    from dpcore.experiment.figures.figure import Figure

TABLES: list[dict[str, Any]] = read_toml(Path(__file__).with_name("figures.toml"))["figures"]


def all_figures() -> dict[str, Figure]:
    """Return all figures by name: the paper's number and its label, such as "001 Fig. 5"."""
    from dpcore.experiment.figures.figure import Figure

    return {one.name: one for one in (Figure(**table) for table in TABLES)}


def of_paper(paper: str) -> list[Figure]:
    """Return all figures of a paper, given by its number, such as "001"."""
    return [one for one in all_figures().values() if one.paper == paper]


def find_figure(name: str) -> Figure:
    """Return the figure of that name, such as "001 Fig. 5"; ParameterError if there is none."""
    if name not in (all_of_them := all_figures()):
        raise ParameterError(f"There is no figure {name!r}.", f"Choose one of {', '.join(map(repr, all_of_them))}.")
    return all_of_them[name]


@dataclass(frozen=True)
class MadeFigure:
    """A figure of a paper with the results of its runs.

    `frame` has all runs: settings, values measured on real rows, costs, and `error` for a run that
    failed.
    """

    figure: Figure  # with `source_says`, the paper's statement, and the `choices` of what is drawn
    frame: pd.DataFrame

    @property
    def verdicts(self) -> list[str]:
        """A sentence for each claim of the paper: what it says, and whether the runs agree."""
        return [*self.figure.verdicts(self.frame)]

    def charts(self, **chosen: str) -> list[Chart]:
        """Return the figure's Altair charts, which show real data: do not publish them.

        Parameters
        ----------
        **chosen : str
            Of each of the figure's `choices`, by its name, one of its options; by default the first.
        """
        from dpcore.charts.base import for_files  # whoever asks for charts has loaded them

        drawn = self.figure.pictures(self.frame, **chosen)
        return [for_files(part[0]) for part in drawn if not isinstance(part, str)]


def figure(
    name: str,
    data: Dataset,
    *,
    repeats: int = 5,
    rows: Literal["train", "all"] = "train",
    durable: bool = False,
    n_jobs: int = -1,
    progress: Progress = no_progress,
) -> MadeFigure:
    """Make the runs of one of the papers' figures again, as the dashboard does.

    Every run is a release of rows of `data`, and charges a ledger of its own.

    Parameters
    ----------
    name : str
        The paper's number and its name for the figure, such as "001 Fig. 5".
    data : Dataset
        The data set; most figures need a class column with categories.
    repeats : int, default=5
        How often each setting runs.
    rows : {'train', 'all'}, default='train'
        The rows that methods learn from: 'all' adds the test rows, as tables and some figures of
        paper 001 do; figures that score classifiers on test rows then cannot be made.
    durable : bool, default=False
        Whether all charges are written to the user's ledger file before noise is drawn, as
        `persistent_ledger` does. What finished runs cost is in the frame in any case; what a failed
        run had spent is not.
    n_jobs : int, default=-1
        Processes, as in joblib.
    progress : callable, optional
        Called between runs and inside them; raising inside it cancels, and loses what is finished.

    Returns
    -------
    MadeFigure
        The runs as a frame, what the paper says of the figure and whether it holds, and the charts.

    Raises
    ------
    ParameterError
        If no figure has this name, these data cannot give it, or there are no repeats.
    """
    frames = [*stream(name, data, repeats=repeats, rows=rows, durable=durable, n_jobs=n_jobs, progress=progress)]
    return MadeFigure(find_figure(name), pd.concat(frames, ignore_index=True))


def stream(
    name: str,
    data: Dataset,
    *,
    repeats: int,
    durable: bool,
    rows: str = "train",
    n_jobs: int = -1,
    progress: Progress = no_progress,
) -> Iterator[pd.DataFrame]:
    """Make the runs of one of the papers' figures, and yield each run's rows as it finishes.

    `name` is the figure's, such as "001 Fig. 5"; everything runs `repeats` times. `rows` is "train"
    or "all" (test rows as well). With `durable`, all charges are written to the user's ledger file.
    `progress` is called after each run. ParameterError if the figure cannot be made of `data`.
    """
    from dpcore.experiment.figures.studies import whole

    data = whole(data) if rows == "all" else data
    wanted = find_figure(name)
    if lacking := wanted.lacks(data):
        raise ParameterError(f"There is no figure {name!r} of these data: {lacking}", "Use other data.")
    if not is_whole(repeats, 1):
        raise ParameterError("The 'repeats' parameter must be a whole number of 1 or more.", "Choose one.")
    how: dict[str, Any] = {"ledgers": ledgers_in_file(LedgerStore(ledger_path()), data, name)} if durable else {}
    found = wanted.stream(data, repeats, n_jobs=n_jobs, progress=progress, **how)
    for count, (part, frame) in enumerate(found, 1):
        progress(part, f"run {count:,}")
        yield frame


def ledgers_in_file(store: LedgerStore, data: Dataset, purpose: str) -> Callable[[Run], NewLedger]:
    """Return a function that opens the ledger of a run in the user's ledger file.

    All runs of one series with one relation share a line of the file, which is named by `purpose`
    and the series.
    """
    open_once = cache(partial(store.open_run, data))
    return lambda run: open_once(str(run.method.relation), f"{purpose}: {run.labels['method']}").ledger
