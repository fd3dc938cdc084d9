"""Finished runs in a file that survives kill -9, or in memory, so that a sweep goes on where it was stopped.

One file per data set, schema, split, measures and version, named by their hash, in which the rows
are keyed with the folder's secret; one line of JSON per run, written whole and flushed when the run
is finished. A run is known by its method, parameters, epsilon and repeat, so that another sweep of
the same data, or more repeats, finds what is there. An unseeded run counts too: a finished run is a
draw.

Nothing of the data is in it but aggregates; yet they were measured on real rows without noise, and are not private.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from dpcore.accounting.ledger import EPSILONS
from dpcore.datasets import Dataset
from dpcore.domain.documents import json_value
from dpcore.domain.former_names import renamed_fields
from dpcore.errors import DataError
from dpcore.evaluate.evaluator import Pair
from dpcore.experiment.config import Config, Place, yardstick_of

INFINITY, MOST = "infinity", 1e300
NUMBERS = ("seconds", *EPSILONS)
VALUES = ["metric", "model", "value"]


class Store:
    """The finished runs that a place holds of sweeps with the same data and measures.

    A folder is made if there is none, and only its owner may read its files; a dict is for what
    must not outlive it.

    Parameters
    ----------
    place : Path or dict
        The folder, or the dict of bytes by file name.
    config : Config
        What is measured.
    data : Dataset
        The data set.

    Raises
    ------
    DataError
        If the folder cannot be read or written.
    """

    def __init__(self, place: Place, config: Config, data: Dataset) -> None:
        self.place = place
        with refuse_unusable(place):
            self.name = f"{yardstick_of(config, data, place)}.jsonl"

    def read(self) -> dict[str, dict[str, Any]]:
        """Return what is finished, by key: a dict of numbers and values for each run.

        A line that is torn, or holds something else, is as good as none.
        """
        found = {}
        for line in self._content().splitlines():
            try:
                record = json_value(line, DataError, "This line is torn", "")
                record = renamed_fields(record) if isinstance(record, dict) else {}
            except (DataError, TypeError):
                continue
            if isinstance(record.get("run"), str) and sound(record):
                found[record["run"]] = record
        return found

    def _content(self) -> bytes:
        if isinstance(self.place, dict):
            return self.place.get(self.name, b"")
        path = self.place / self.name
        with refuse_unusable(path):
            return path.read_bytes() if path.exists() else b""

    def add(self, key: str, frame: pd.DataFrame) -> None:
        """Write down a finished run.

        One that failed is left out, because it may succeed another time.

        Parameters
        ----------
        key : str
            What names the run among those of the same data and measures.
        frame : DataFrame
            The run's rows, as of `sweep`.

        Raises
        ------
        DataError
            If the folder cannot be written.
        """
        if (frame["error"] != "").any():
            return
        numbers = {name: frame[name].iloc[0] for name in NUMBERS}
        values = frame[VALUES].itertuples(index=False)
        record = {
            "run": key,
            **{name: INFINITY if math.isinf(number) else float(number) for name, number in numbers.items()},
            "void": frame["void"].iloc[0],
            "values": [[metric, model, None if math.isnan(value) else value] for metric, model, value in values],
        }
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        if isinstance(self.place, dict):
            self.place[self.name] = self._content() + line
            return
        path = self.place / self.name
        with refuse_unusable(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
            try:
                size = os.fstat(file).st_size
                torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                os.write(file, b"\n" + line if torn else line)
                os.fsync(file)
            finally:
                os.close(file)


@contextmanager
def refuse_unusable(path: Place) -> Iterator[None]:
    """Refuse a folder that fails: DataError."""
    try:
        yield
    except OSError as error:
        cause = f"The finished runs in {path} cannot be read or written: {error.strerror}."
        raise DataError(cause, "Choose another folder, or none.") from error


def sound(record: Mapping[str, Any]) -> bool:
    """Whether a record's numbers are numbers."""
    values = record.get("values")
    known = all(record.get(name) == INFINITY or number(record.get(name)) for name in NUMBERS)
    if not (known and isinstance(record.get("void"), str) and isinstance(values, list)):
        return False
    return all(isinstance(one, list) and len(one) == 3 and (one[2] is None or number(one[2])) for one in values)


def number(value: Any) -> bool:
    """Whether it is a finite number of 0 or more."""
    return type(value) in (int, float) and 0 <= value < MOST


def restored(record: Mapping[str, Any], shared: Mapping[str, Any], asked: Sequence[Pair]) -> pd.DataFrame | None:
    """The rows of a finished run; None if they are not those that are asked for."""
    if [tuple(one[:2]) for one in record["values"]] != list(asked):
        return None
    numbers = {name: math.inf if record[name] == INFINITY else float(record[name]) for name in NUMBERS}
    rows = pd.DataFrame(record["values"], columns=VALUES).astype({"value": float})
    return rows.assign(**shared, **numbers, void=record["void"], error="")
