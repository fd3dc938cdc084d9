"""What a sweep runs, written down: a JSON document that says it all, names it by a hash, and can be read back."""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Self

from dpcore.accounting.store.file import kept_secret
from dpcore.datasets import Content, Dataset
from dpcore.domain.documents import json_ready, json_value
from dpcore.domain.former_names import LABELS, renamed_parameters
from dpcore.errors import DPCoreError, ParameterError
from dpcore.evaluate.evaluator import MEASURES, Method, Pair, check_measures
from dpcore.evaluate.labels import Label
from dpcore.evaluate.learners import MODELS, again
from dpcore.experiment.study import Run, Study
from dpcore.methods import METHODS
from dpcore.methods.registry import advise

Place = Path | dict[str, bytes]
"""Where finished runs are kept: a folder, or memory, by what would be the files' names."""

FORMAT = "dpcore sweep 1"
MOST_TEXT, MOST_METHODS, MOST_EPSILONS, MOST_REPEATS = 5_000_000, 100, 100, 10_000
MOST_EPSILON = 1e9


@dataclass(frozen=True, eq=False)
class Config:
    """All arguments of `sweep` but the data; `sweep(data=data, **config.asked)` runs it.

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
    def asked(self) -> dict[str, Any]:
        """The arguments of `sweep`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def runs(self) -> list[Run]:
        """The runs, repeats outermost, so that a sweep that is cut short has whole curves.

        A method with a `random_state` s gets s + repeat: repeats differ, and the sweep repeats.
        """
        if not self.methods or not self.epsilons or self.repeats < 1:
            raise ParameterError("The sweep has nothing to run.", "Choose a method, an epsilon and one repeat or more.")
        return [
            Run(
                again(method, repeat).set_params(epsilon=float(epsilon)),
                {"method": label, "epsilon": float(epsilon), "repeat": repeat},
            )
            for repeat in range(self.repeats)
            for label, method in self.methods.items()
            for epsilon in self.epsilons
        ]

    def pairs(self, data: Dataset) -> dict[str, list[Pair]]:
        """Return what each method is scored by.

        Parameters
        ----------
        data : Dataset
            The data set that the methods run on.

        Returns
        -------
        dict of str to list of tuple
            By method, the measures and their models.

        Raises
        ------
        ParameterError
            If a method or the data set cannot give a measure.
        """
        how: dict[str, Any] = {"models": self.models, "label": self.label, "skip": self.skip}
        check = partial(check_measures, self.measures, data, **how)
        return {name: check(method=method) for name, method in self.methods.items()}

    def study(self, data: Dataset) -> Study:
        """Return the runs on a data set, and what scores them.

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
            As of `pairs`.
        """
        return Study(data, self.runs, self.rows, self.pairs(data), self.label)

    def to_dict(self, data: Dataset) -> dict[str, Any]:
        """Return what would run on a data set as JSON-ready values, and nothing of its rows.

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
            **self.asked,
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
        """Read a document of `to_json`. What it says of data is not compared.

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
            If it is none, contradicts itself, or has a method with a delta.
        """
        cause, remedy = "This description of a sweep cannot be read", "Choose a file that a comparison was saved to."
        found = json_value(text, ParameterError, cause, remedy, most=MOST_TEXT)
        with refuse_faults(cause, remedy):
            if not isinstance(found, dict) or found.get("format") != FORMAT:
                raise ParameterError("This is no description of a sweep.", remedy)
            given = {field.name: found[field.name] for field in fields(cls)}
            methods, epsilons = given["methods"], given["epsilons"]
            sound = (
                isinstance(methods, dict)
                and 0 < len(methods) <= MOST_METHODS
                and isinstance(epsilons, list)
                and 0 < len(epsilons) <= MOST_EPSILONS
                and all(type(number) in (int, float) and 0 < number <= MOST_EPSILON for number in epsilons)
                and all(
                    type(number) is int and 1 <= number <= MOST_REPEATS
                    for number in (given["repeats"], given["rows"] or 1)
                )
                and isinstance(given["skip"], bool)
            )
            if not sound:
                raise ParameterError("This description of a sweep contradicts itself.", remedy)
            given |= {
                "methods": {name: method_of(raw) for name, raw in methods.items()},
                "epsilons": [*map(float, epsilons)],
            }
            # its sums, caps and charts are of pure epsilons
            if any(method.delta for method in given["methods"].values()):
                raise ParameterError("A comparison counts pure epsilon, and a method in this one has a delta.", remedy)
            given["measures"] = some_of(given["measures"], MEASURES)
            given["models"] = some_of(given["models"], MODELS)
            given["label"] = None if given["label"] is None else label_of(given["label"])
            return cls(**given)


@contextmanager
def refuse_faults(cause: str, remedy: str) -> Iterator[None]:
    """Refuse a document of which a part is not what it should be: ParameterError."""
    try:
        yield
    except DPCoreError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
        raise ParameterError(f"{cause}.", remedy) from error


def label_of(raw: Any) -> Label:
    """A label out of a document."""
    equals, below = raw["equals"], raw["below"]
    if type(equals) not in (str, type(None)) or type(below) not in (int, float, str, type(None)):
        raise TypeError
    return Label(column=str(raw["column"]), equals=equals, below=below)


def some_of(given: Any, known: Sequence[str]) -> list[str]:
    """Names out of a document, if they are known; ParameterError otherwise."""
    if not isinstance(given, list) or not given or not all(isinstance(name, str) and name in known for name in given):
        raise ParameterError("A measure or model in this description is not known.", f"Known: {', '.join(known)}.")
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
    """An unfitted method from what `parameters_of` wrote; its own checks come when it is fitted."""
    kind: Any = METHODS.get(LABELS.get(raw["method"], raw["method"]))
    if kind is None:
        raise ParameterError(
            "A method in this description is not known.", f"Use a newer version of this program.{advise('DPEBM')}"
        )
    given, known = raw["parameters"], kind.parameters()
    given = renamed_parameters(given, known) if isinstance(given, dict) else given
    if not isinstance(given, dict) or not set(given) < set(known):
        raise ParameterError(f"{kind.title} has no such parameters.", "Use the version that wrote this description.")
    seed, relation = given.get("random_state"), given.get("relation", "")
    if not isinstance(relation, str) or not (seed is None or (type(seed) is int and seed >= 0)):
        raise TypeError
    method: Method = kind(**{name: tuples(value) for name, value in given.items()})
    return method


def tuples(value: Any) -> Any:
    """JSON's lists as tuples, which parameters are."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def digest(document: Any) -> str:
    """The SHA-256 of a JSON-ready value, whatever the order of its keys."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def key_of_rows(data: Dataset, place: Place) -> str:
    """A name, in stored sweeps, for these training and test rows in this order: keyed with the folder's secret.

    In memory it is the data's token: nobody else looks there.
    """
    if isinstance(place, dict):
        return data.token
    if not data.held:  # in a folder; how they are split is another secret for each reading
        return digest([data.token, data.sizes, data.key(kept_secret(place))])
    return Content.of_rows(data.train_sample, data.test_sample).keyed(kept_secret(place))


def yardstick_of(config: Config, data: Dataset, place: Place) -> str:
    """A hash of all that a run's values depend on besides its method, epsilon and repeat; the rows are keyed."""
    document = config.to_dict(data)
    kept = ("dpcore", "schema", "measures", "models", "label", "rows", "skip")
    return digest({**{name: document[name] for name in kept}, "data": key_of_rows(data, place)})
