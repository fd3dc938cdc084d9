"""Sweeps: methods x epsilons x repeats, as runs of the one loop and as one frame; written down, and gone on with.

A `Config` is a JSON document that says it all, names it by a hash, and can be read back. A `Store`
keeps finished runs in a file that survives kill -9, or in memory, so that a sweep goes on where it
was stopped.

There is one file per data set, schema, split, measures and version, named by their hash, in which
the rows are keyed with the folder's secret; one line of JSON per run, written whole and flushed
when the run is finished. A run is known by its method, parameters, epsilon and repeat, so that
another sweep of the same data, or more repeats, finds what is there. An unseeded run counts too: a
finished run is a draw. Nothing of the data is in it but aggregates; yet they were measured on real
rows without noise, and are not private.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from dpcore.accounting.ledger import EPSILONS, Entry
from dpcore.accounting.relation import exact
from dpcore.accounting.store.file import folder_secret
from dpcore.arguments import Progress, is_number, is_whole, no_progress
from dpcore.datasets import Content, Dataset
from dpcore.domain.documents import json_ready, json_value
from dpcore.domain.former_names import LABELS, renamed_fields, renamed_parameters
from dpcore.errors import DataError, DPCoreError, ParameterError
from dpcore.evaluate.evaluator import MEASURES, Method, MetricModel, check_measures
from dpcore.evaluate.learners import MODELS, Label, again
from dpcore.experiment.study import NewLedger, Run, Study
from dpcore.language import phrase
from dpcore.methods import METHODS
from dpcore.methods.registry import advise
from dpcore.text import finite_or_text

Location = Path | dict[str, bytes]
"""Where finished runs are kept: a folder, or memory, by what would be the files' names."""

FORMAT = "dpcore sweep 1"
MOST_TEXT, MOST_METHODS, MOST_EPSILONS, MOST_REPEATS = 5_000_000, 100, 100, 10_000
MOST_EPSILON = 1e9

INFINITY, MOST = "infinity", 1e300
NUMBERS = ("seconds", *EPSILONS)
VALUES = ["metric", "model", "value"]

RUN = phrase("run {run:,}")
PURPOSE = "Comparison"  # of its runs, in the ledger file
ORDER = ["method", "epsilon", "repeat", "metric", "model"]
COLUMNS = [*ORDER, "value", *EPSILONS, "void", "relation", "seconds", "error"]


@dataclass(frozen=True, eq=False)
class Config:
    """All arguments of `sweep` but the data; `sweep(data=data, **config.arguments)` runs it.

    Parameters
    ----------
    methods : mapping of str to Synthesizer or PrivateClassifier
        Unfitted methods under names for the chart.
    epsilons : sequence of float
        The epsilons of the runs.
    repeats, measures, models, label, rows, skip
        As for `sweep`.
    """

    methods: Mapping[str, Method]
    epsilons: Sequence[float]
    repeats: int = 5
    measures: Sequence[str] = MEASURES[:1]
    models: Sequence[str] = MODELS[:1]
    label: Label | None = None
    rows: int | None = None
    skip: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of `sweep` but the data set, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def runs(self) -> list[Run]:
        """The runs, repeats outermost, so that an interrupted sweep has whole curves.

        A method with a `random_state` s gets s + repeat: repeats differ, and the sweep repeats.
        """
        if not self.methods or not self.epsilons or self.repeats < 1:
            raise ParameterError("There is nothing to run.", "Choose a method, an epsilon and one repeat or more.")
        return [
            Run(
                again(method, repeat).set_params(epsilon=float(epsilon)),
                {"method": label, "epsilon": float(epsilon), "repeat": repeat},
            )
            for repeat in range(self.repeats)
            for label, method in self.methods.items()
            for epsilon in self.epsilons
        ]

    def pairs(self, data: Dataset) -> dict[str, list[MetricModel]]:
        """Return the (measure, model) pairs that each method is scored by.

        Parameters
        ----------
        data : Dataset
            The data set that the methods run on.

        Returns
        -------
        dict of str to list of tuple
            By method's name, (measure, model) pairs.

        Raises
        ------
        ParameterError
            If a method or the data set cannot give a measure.
        """
        how: dict[str, Any] = {"models": self.models, "label": self.label, "skip": self.skip}
        check = partial(check_measures, self.measures, data, **how)
        return {name: check(method=method) for name, method in self.methods.items()}

    def study(self, data: Dataset) -> Study:
        """Return the study that makes the sweep's runs on a data set.

        Parameters
        ----------
        data : Dataset
            The data set.

        Returns
        -------
        Study
            The runs.

        Raises
        ------
        ParameterError
            If a method or the data set cannot give a measure.
        """
        return Study(data, self.runs, self.rows, self.pairs(data), self.label)

    def to_dict(self, data: Dataset) -> dict[str, Any]:
        """Return the settings of a sweep on a data set as JSON-ready values, without its rows.

        Parameters
        ----------
        data : Dataset
            The data set, whose name and schema are written.

        Returns
        -------
        dict
            The document; `hash` is of all the rest.
        """
        document = {
            "format": FORMAT,
            # of the front door, which imports this
            "dpcore": str(vars(sys.modules["dpcore"])["__version__"]),
            "data": {"name": data.name},
            "schema": json.loads(data.schema.to_json()),
            **self.arguments,
            "methods": {label: parameters_of(method) for label, method in self.methods.items()},
            "epsilons": [float(epsilon) for epsilon in self.epsilons],
            "measures": list(self.measures),
            "models": list(self.models),
            "label": None if self.label is None else asdict(self.label),
        }
        return {**document, "hash": digest(document)}

    def to_json(self, data: Dataset) -> str:
        """Return `to_dict` as text, which `from_json` reads.

        Parameters
        ----------
        data : Dataset
            As for `to_dict`.

        Returns
        -------
        str
            The JSON document.

        Raises
        ------
        ParameterError
            If a method has a parameter that cannot be written down.
        """
        return json.dumps(self.to_dict(data), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a sweep's settings from JSON text. The data set that it names is not compared.

        Parameters
        ----------
        text : str or bytes
            The document; bytes are UTF-8.

        Returns
        -------
        Config
            The arguments.

        Raises
        ------
        ParameterError
            If the text has no settings of a sweep, or a method has a delta.
        """
        cause, remedy = "These settings of a comparison cannot be read", "Choose a file that a comparison saved."
        found = json_value(text, ParameterError, cause, remedy, most=MOST_TEXT)
        with refuse_faults(cause, remedy):
            if not isinstance(found, dict) or found.get("format") != FORMAT:
                raise ParameterError("These are not the settings of a comparison.", remedy)
            given = {field.name: found[field.name] for field in fields(cls)}
            methods, epsilons = given["methods"], given["epsilons"]
            sound = isinstance(methods, dict) and isinstance(epsilons, list) and isinstance(given["skip"], bool)
            sound = sound and 0 < len(methods) <= MOST_METHODS and 0 < len(epsilons) <= MOST_EPSILONS
            sound = sound and all(is_number(number) and 0 < number <= MOST_EPSILON for number in epsilons)
            counts = given["repeats"], given["rows"] or 1
            if not (sound and all(is_whole(number, 1, MOST_REPEATS) for number in counts)):
                raise ParameterError("The comparison's settings have a wrong value.", remedy)
            given["methods"] = {name: method_of(raw) for name, raw in methods.items()}
            # its sums, caps and charts are of pure epsilons
            if any(method.delta for method in given["methods"].values()):
                raise ParameterError("A comparison counts pure epsilon, and a method in this one has a delta.", remedy)
            given["epsilons"] = [*map(float, epsilons)]
            given["measures"] = some_of(given["measures"], MEASURES)
            given["models"] = some_of(given["models"], MODELS)
            given["label"] = None if given["label"] is None else label_of(given["label"])
            return cls(**given)


@contextmanager
def refuse_faults(cause: str, remedy: str) -> Iterator[None]:
    """Turn errors from a malformed settings document into a ParameterError."""
    try:
        yield
    except DPCoreError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
        raise ParameterError(f"{cause}.", remedy) from error


def label_of(raw: Any) -> Label:
    """Read the label that an SVM predicts, a column and a condition, from a settings document."""
    equals, below = raw["equals"], raw["below"]
    if type(equals) not in (str, type(None)) or type(below) not in (int, float, str, type(None)):
        raise TypeError
    return Label(column=str(raw["column"]), equals=equals, below=below)


def some_of(given: Any, known: Sequence[str]) -> list[str]:
    """Read a list of names from a settings document; ParameterError if one is not in `known`."""
    if not isinstance(given, list) or not given or not all(isinstance(name, str) and name in known for name in given):
        raise ParameterError("A measure or model in these settings is not known.", f"Known: {', '.join(known)}.")
    return list(dict.fromkeys(given))


def parameters_of(method: Method) -> dict[str, Any]:
    """Return a method's name and all its parameters but epsilon, JSON-ready.

    Parameters
    ----------
    method : Synthesizer or PrivateClassifier
        The method.

    Returns
    -------
    dict
        `method`, its name in `METHODS`, and `parameters` by name.

    Raises
    ------
    ParameterError
        If a parameter cannot be written down.
    """
    kind = type(method)
    own = f"{kind.__module__}.{kind.__qualname__}"
    name = next((name for name, known in METHODS.items() if known is kind), own)
    given = {key: value for key, value in method.get_params().items() if key != "epsilon"}
    try:
        parameters = json.loads(json.dumps(given, default=json_ready, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"A parameter of {method.title} cannot be written down.", "Use numbers, texts, and tuples of them."
        ) from error
    return {"method": name, "parameters": parameters}


def method_of(raw: Any) -> Method:
    """Return the unfitted method that `parameters_of` wrote; it checks parameters when fitted."""
    kind: Any = METHODS.get(LABELS.get(raw["method"], raw["method"]))
    if kind is None:
        raise ParameterError(
            "A method in these settings is not known.", f"Use a newer version of dpcore.{advise('DPEBM')}"
        )
    given, known = raw["parameters"], kind.parameters()
    given = renamed_parameters(given, known) if isinstance(given, dict) else given
    if not isinstance(given, dict) or not set(given) < set(known):
        raise ParameterError(f"{kind.title} has no such parameters.", "Use the version that wrote these settings.")
    seed, relation = given.get("random_state"), given.get("relation", "")
    if not isinstance(relation, str) or not (seed is None or (type(seed) is int and seed >= 0)):
        raise TypeError
    method: Method = kind(**{name: tuples(value) for name, value in given.items()})
    return method


def tuples(value: Any) -> Any:
    """Convert lists, as JSON has them, to tuples; nested lists as well."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def digest(document: Any) -> str:
    """Return the SHA-256 of a JSON-ready value, independent of the order of keys."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def yardstick_of(config: Config, data: Dataset, location: Location) -> str:
    """Return a hash of all that a run's values depend on but its method, epsilon and repeat.

    The hash names the file of saved runs at `location`. In a folder, the training and test rows, in
    this order, are hashed with a key that is the folder's secret. In memory the data set's token
    stands for its rows, because no one else reads it.
    """
    document, rows = config.to_dict(data), data.token
    if isinstance(location, Path) and data.in_memory:
        rows = Content.from_rows(data.train_sample, data.test_sample).keyed_hash(folder_secret(location))
    elif isinstance(location, Path):  # rows in a folder; how they are split is another secret for each reading
        rows = digest([data.token, data.sizes, data.key(folder_secret(location))])
    kept = ("dpcore", "schema", "measures", "models", "label", "rows", "skip")
    return digest({**{name: document[name] for name in kept}, "data": rows})


class Store:
    """The saved runs of sweeps with the same data and measures, in a folder or a dict.

    A missing folder is made, and only its owner may read its files; a dict is for what must not
    outlive the session.

    Parameters
    ----------
    location : Path or dict
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

    def __init__(self, location: Location, config: Config, data: Dataset) -> None:
        self.location = location
        with refuse_unusable(location):
            self.name = f"{yardstick_of(config, data, location)}.jsonl"

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the finished runs by key: a dict of numbers and values for each.

        Lines that are incomplete, or hold something else, are skipped.
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
        """Return the bytes of the saved runs; empty if there are none."""
        if isinstance(self.location, dict):
            return self.location.get(self.name, b"")
        path = self.location / self.name
        with refuse_unusable(path):
            return path.read_bytes() if path.exists() else b""

    def add(self, key: str, frame: pd.DataFrame) -> None:
        """Save a finished run.

        A failed run is left out, because it may succeed another time.

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
        record = {
            "run": key,
            **{name: finite_or_text(float(frame[name].iloc[0])) for name in NUMBERS},
            "void": frame["void"].iloc[0],
            "values": [[*map(finite_or_text, row)] for row in frame[VALUES].itertuples(index=False)],
        }
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        if isinstance(self.location, dict):
            self.location[self.name] = self._content() + line
            return
        path = self.location / self.name
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
def refuse_unusable(path: Location) -> Iterator[None]:
    """Turn an OSError of a folder of saved runs into a DataError."""
    try:
        yield
    except OSError as error:
        cause = f"The finished runs in {path} cannot be read or written: {error.strerror}."
        raise DataError(cause, "Choose another folder, or none.") from error


def sound(record: Mapping[str, Any]) -> bool:
    """Return whether a saved run's record has all its numbers, and only numbers in range."""

    def number(value: Any, instead: Any) -> bool:
        """Return whether a value is `instead`, or a number from 0 to below `MOST`."""
        return value == instead or (is_number(value) and 0 <= value < MOST)

    values = record.get("values")
    known = all(number(record.get(name), INFINITY) for name in NUMBERS)
    if not (known and isinstance(record.get("void"), str) and isinstance(values, list)):
        return False
    return all(isinstance(one, list) and len(one) == 3 and number(one[2], None) for one in values)


def restore(record: Mapping[str, Any], shared: Mapping[str, Any], pairs: Sequence[MetricModel]) -> pd.DataFrame | None:
    """Return the rows of a saved run; None if its measures are not the `pairs` to score.

    `record` is the saved run, and `shared` has the columns that all its rows share.
    """
    if [tuple(one[:2]) for one in record["values"]] != list(pairs):
        return None
    numbers = {name: math.inf if record[name] == INFINITY else float(record[name]) for name in NUMBERS}
    rows = pd.DataFrame(record["values"], columns=VALUES).astype({"value": float})
    return rows.assign(**shared, **numbers, void=record["void"], error="")


def keys_of(runs: Sequence[Run]) -> list[str]:
    """Return a key for each run from its method, epsilon and repeat, without its labels.

    Runs of equal methods without a seed would have equal keys, so a number is added.
    """
    seen: Counter[str] = Counter()
    keys = []
    for run in runs:
        key = digest({**parameters_of(run.method), "epsilon": run.method.epsilon, "repeat": run.labels["repeat"]})
        seen[key] += 1
        keys.append(key if seen[key] == 1 else f"{key} {seen[key]}")
    return keys


def find_finished_runs(config: Config, data: Dataset, store: Location) -> dict[int, pd.DataFrame]:
    """Return the rows of those runs of a sweep that `store` has, by their index in the sweep."""
    study, records = config.study(data), Store(store, config, data).read()
    found = {
        index: restore(records[key], run.shared_labels, study.pairs(run))
        for index, (run, key) in enumerate(zip(study.runs, keys_of(study.runs), strict=True))
        if key in records
    }
    return {index: frame for index, frame in found.items() if frame is not None}


def stream(
    methods: Mapping[str, Method],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    ledgers: Mapping[str, NewLedger] | None = None,
    store: Location | None = None,
    n_jobs: int = -1,
    progress: Progress = no_progress,
    **how: Any,
) -> Generator[tuple[float, pd.DataFrame]]:
    """Make a sweep's runs, and yield each run's rows as it finishes.

    Closing the generator stops the workers.

    Parameters
    ----------
    methods, data, epsilons, ledgers, store, n_jobs
        As for `sweep`. What `store` holds comes first.
    progress : callable, optional
        Called inside of runs with a fraction and a text; raising inside it cancels
        (`Study.stream`).
    **how
        All else of `sweep`.

    Yields
    ------
    fraction : float
        What is done, in (0, 1].
    frame : DataFrame
        One run's rows, as of `sweep`.

    Raises
    ------
    ParameterError, SchemaError, DataError
        As for `sweep`.
    """
    config, ledgers = Config(methods, epsilons, **how), ledgers or {}
    study = config.study(data)
    runs, keys = study.runs, keys_of(study.runs)
    for table in (data.train_sample, data.test_sample):
        data.schema.encode(table)  # what does not fit is said here, once
    location = {} if store is None else store
    kept, earlier = Store(location, config, data), find_finished_runs(config, data, location)
    for done, frame in enumerate(earlier.values(), 1):
        yield done / len(runs), frame
    missing = [index for index in range(len(runs)) if index not in earlier]
    rest = replace(study, runs=[runs[index] for index in missing])
    how = {"ledgers": lambda run: ledgers.get(run.labels["method"]), "n_jobs": n_jobs, "progress": progress}
    with closing(rest.stream(**how)) as found:
        for done, (index, frame) in enumerate(found, len(earlier) + 1):
            kept.add(keys[missing[index]], frame)
            yield done / len(runs), frame


def sweep(
    methods: Mapping[str, Method],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    repeats: int = 5,
    measures: Sequence[str] = MEASURES[:1],
    models: Sequence[str] = MODELS[:1],
    label: Label | None = None,
    rows: int | None = None,
    skip: bool = False,
    ledgers: Mapping[str, NewLedger] | None = None,
    store: Location | None = None,
    n_jobs: int = -1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Run methods at several epsilons, and measure how good each release is. Not private.

    Every run is a release of the training rows and charges a ledger of its own.

    Parameters
    ----------
    methods : mapping of str to Synthesizer or PrivateClassifier
        Unfitted methods under names for the chart; their epsilon is replaced.
    data : Dataset
        The data set, with a target if accuracy is measured.
    epsilons : sequence of float
        The epsilons, positive.
    repeats : int, default=5
        How often each method runs at each epsilon. A `random_state` s becomes s, s + 1, ...
    measures : sequence of str
        Some of `MEASURES`: accuracies of `models` on real test rows; mean distances to the training
        rows; the mean error of range queries, as a share of the rows; a linear SVM's errors about
        `label` on real test rows, or, as paper 001 has it, on other synthetic rows. Private
        classifiers have `CLASSIFIER_MEASURES` on real test rows, with the model "". Default:
        "accuracy".
    models : sequence of str
        Names from `evaluate.MODELS`. Default: "logistic regression".
    label : Label, optional
        The yes/no label that the SVM predicts.
    rows : int, optional
        Rows to sample per run; by default what each method gives.
    skip : bool, default=False
        Whether a measure that a method cannot have is left out for it instead of refused.
    ledgers : mapping of str to callable, optional
        By method, what makes a new ledger for each of its runs to charge, in a worker; it must be
        picklable.
    store : Path or dict, optional
        A folder, or a dict, in which finished runs are kept, and from which those are taken that
        are there already: a sweep that was stopped, or killed, goes on. See `Store`; what it holds
        was measured on real rows, not privately.
    n_jobs : int, default=-1
        Processes, as in joblib. The values do not depend on it.
    progress : callable, optional
        Called after every run; raising inside it cancels the sweep.

    Returns
    -------
    DataFrame
        One row per run, metric and model with `COLUMNS`; values in [0, 1], but for errors of range
        queries, which may be larger. A run that fails has its reason in `error` and NaN in `value`.
        `seconds` are of fit and sampling.

    Raises
    ------
    ParameterError, SchemaError
        If there is nothing to run, or a measure does not fit a method or the data set.
    DataError
        If the rows do not fit the schema, or the store cannot be read or written.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> methods = {"independent": dp.IndependentMarginals(random_state=1)}
    >>> how = {"measures": ["1-way AVD"], "repeats": 1, "n_jobs": 1}
    >>> found = dp.experiment.sweep(methods, data, epsilons=[0.1, 1.0], **how)
    >>> found[["epsilon", "metric", "epsilon_claimed"]]
       epsilon     metric  epsilon_claimed
    0      0.1  1-way AVD              0.1
    1      1.0  1-way AVD              1.0
    """
    frames = []
    how: dict[str, Any] = {"measures": measures, "models": models, "label": label, "skip": skip}
    how |= {"epsilons": epsilons, "repeats": repeats, "rows": rows}
    how |= {"ledgers": ledgers, "store": store, "n_jobs": n_jobs}
    with closing(stream(methods, data, **how)) as found:
        for fraction, frame in found:
            frames.append(frame)
            progress(fraction, RUN.format(run=len(frames)))
    return join_runs(frames)


def join_runs(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the rows of runs in a fixed order, whatever the order in which runs finished."""
    return pd.concat(frames, ignore_index=True)[COLUMNS].sort_values(ORDER, ignore_index=True)


def entry_of(frame: pd.DataFrame) -> Entry:
    """Return one run of a sweep as a ledger entry, for a list of charges.

    The ledger that the run charged has stayed in its worker process.

    Parameters
    ----------
    frame : DataFrame
        The run's rows, as of `sweep`.

    Returns
    -------
    Entry
        Its claimed and nominal epsilon.
    """
    run = frame.iloc[0]
    return Entry(
        name=phrase("release at epsilon {epsilon}").format(epsilon=f"{run['epsilon']:g}"),
        mechanism="release",
        epsilon_claimed=exact(float(run["epsilon_claimed"])),
        epsilon_nominal=exact(float(run["epsilon_nominal"])),
        sensitivity=np.nan,
        claimed_sensitivity=np.nan,
        scale=np.nan,
    )
