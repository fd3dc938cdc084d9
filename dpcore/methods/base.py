"""scikit-learn conventions over the door: parameters in the constructor, `fit` on rows, learned state with a `_`.

`fit` does four things and no more: check the parameters against what is public, encode, open the
door, and hand the `PrivateTable` to the method's `_fit`. A method therefore cannot see a row, and a
replay test can put recorded answers in the door's place. A `Synthesizer` releases rows, in memory
or block by block into a file of any length, a `PrivateClassifier` what scikit-learn takes for a
classifier.

Before a run a method says what it will measure, as far as public facts tell (`Measurement`). Where
a fit chooses cliques by private data, `PrivateEstimator.measurements` names others, of the same
size and number.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from dpcore.accounting.currency import DELTA, PrivacyLoss, PrivacyMeasure, describe_measure
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation, exact
from dpcore.accounting.spending import OPEN, block_ledger, this_process
from dpcore.arguments import Floats, Progress, check_arguments, is_whole, no_progress, one_per_row, plain, require_frame
from dpcore.datasets.streams import output_path, write_frames
from dpcore.domain.column import Codes
from dpcore.domain.documents import json_ready
from dpcore.domain.schema import Schema, require_schema
from dpcore.door import PrivateTable
from dpcore.errors import DataError, ParameterError
from dpcore.language import phrase, say
from dpcore.mechanisms.noise import CUT, SEEDED, NoNoise, generator, make_noise
from dpcore.mechanisms.scores import Score
from dpcore.methods.parameters import (
    INFERRED,
    Choice,
    Control,
    ParameterClass,
    Preset,
    choice,
    controls_of,
    fitted_field,
    is_learned,
    number,
    teaching_note,
    text,
    whole,
)
from dpcore.methods.registry import METHODS, advise
from dpcore.postprocess.exchanges import decode_with_rules
from dpcore.rows import HeldRows, NumberRule, RowSource, check_source, rows_of
from dpcore.text import read_toml

PAGES = read_toml(Path(__file__).with_name("pages.toml"))
MOST_DELTA = 0.001
MEMORY = 4_000_000_000  # bytes that sampled rows may take while they are made
# bytes: what every row takes, and a cell in codes, in drawing and as a value
PER_ROW, PER_CELL = 100, 24
BLOCK, MOST_CELLS = 1 << 17, 1 << 23  # rows and cells that are made together for a file


class Measurement(NamedTuple):
    """Noisy counts of a clique of columns, by position; of each they tell so many values apart."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    variance: float  # of a count's noise
    cells: float  # counts, those of other things than these columns included
    for_columns: bool = True  # whether columns are sampled from them, and not only their ties
    clips: bool = False  # negative counts become 0, instead of being projected
    merges: bool = False  # values that noise drowns count the same
    spread: float = 0.0  # rows that are added, evenly
    bits: bool = False  # whether columns are sampled bit by bit
    bias: float = 0.0  # how far a column is off without any noise


def clique(sizes: Sequence[int], columns: Sequence[int], variance: float, most: float = inf, **how: Any) -> Measurement:
    """The marginal of some columns, with values merged until no column has more than so many."""
    own = tuple(int(min(sizes[j], max(most, 2))) for j in columns)
    return Measurement(tuple(columns), own, variance, prod(own), **how)


def clique_before(sizes: Sequence[int], column: int, most: int, cells: float) -> list[int]:
    """A column and at most so many before it whose marginal has no more cells."""
    found, room = [column], cells / sizes[column]
    for other in reversed(range(column)):
        if len(found) <= most and sizes[other] <= room:
            found.append(other)
            room /= sizes[other]
    return found


def public_total(table: PrivateTable, otherwise: Any = None) -> Any:
    """The number of rows, where it is public; otherwise what stands for it."""
    return table.public_rows if table.relation is Relation.REPLACE else otherwise


def count_rows(table: PrivateTable, share: PrivacyLoss) -> tuple[float, PrivacyLoss]:
    """The number of rows, noisy unless it is public, and what it cost."""
    public = public_total(table)
    return (float(table.counts([()], epsilon=share)[0]), share) if public is None else (float(public), 0)


def said_of_delta(method: Any, _: Schema) -> str:
    """What is risked."""
    return say(DELTA, **describe_measure(method.delta)) if method.delta else ""


class PrivateEstimator(ParameterClass, BaseEstimator, ABC):
    """Base of synthesizers and private classifiers: parameters, `fit`, and what it charges.

    Subclasses declare parameters as fields, and implement `_fit`; `_check` has what may not be
    together.

    Parameters
    ----------
    epsilon
        Privacy budget of the whole fit: of a row, or of a person if a column names persons.
    mode
        The version with a proof, or the source's.
    relation
        Which data sets are neighbors.
    delta
        0 for pure epsilon. Otherwise the run counts rho (zCDP), with Gaussian noise, and `epsilon`
        is the loss of the whole fit at this delta; far below 1 / rows, as 1e-9. Corrected mode
        only.
    noise
        Which source draws; 'auto' samples exactly, or with a seed is 'laplace'.
    random_state
        Seeded runs are for teaching and are not private.

    Attributes
    ----------
    schema_ : Schema
        The public schema that `fit` was given.
    ledger_ : Ledger
        The privacy loss of `fit`; of a failed or stopped fit, too, which leaves nothing else.
    noise_label_ : str
        Which source of noise made this release, in words.
    exactly_sampled_ : bool
        Whether the noise is exactly sampled.
    """

    title: ClassVar[str]  # by the registry; the class's own name, if it is not there
    reference: ClassVar[str] = ""  # who published it, and when
    paper: ClassVar[str] = ""
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE)
    modes: ClassVar[Collection[str]]  # the options of `mode`
    best_for: ClassVar[str] = ""  # in a few words
    provable_published: ClassVar[str] = ""  # of the source's epsilon, as printed
    provable: ClassVar[str] = "epsilon"  # corrected
    page: ClassVar[str] = ""  # where the dashboard offers it
    presets: ClassVar[tuple[Preset, ...]] = ()
    # by name and mode, if not as it is
    compared: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    # what is released besides rows: attributes, less their "_"
    artifacts: ClassVar[tuple[str, ...]] = ()
    # why published mode is this project's reading of its source, in a sentence
    reconstructed: ClassVar[str] = ""
    published_relations: ClassVar[tuple[Relation, ...]] = ()  # of published mode, if not all
    # table 1 of paper 003: mechanisms, noise, framework, data
    survey_row: ClassVar[tuple[str, ...]] = ()
    # for a table of 200,000 cells, corrected and as printed
    seconds: ClassVar[tuple[float, float]] = (0.06, 0.06)
    seen: ClassVar[str] = phrase("the release")  # what somebody gets to see of a person
    controls: ClassVar[tuple[Control, ...]] = controls_of(
        PAGES["PrivateEstimator"], delta={"note": said_of_delta}, random_state={"note": teaching_note}
    )

    # the process that pickled it inside a `dp.spending` block
    _sender: ClassVar[tuple[int, str] | None] = None
    # pure epsilon; methods that are made of counts and choices, and so can count in rho, have a parameter of this name
    delta = 0.0
    epsilon: float = number(default=1.0)
    mode: str = choice(default="corrected", options=(phrase("corrected"), phrase("published")))
    relation: str = text(default="add_remove", kind="{'add_remove', 'replace'}")
    noise: str = text(default="auto", kind="{'auto', 'geometric', 'laplace'}")
    random_state: int | None = whole(default=None, least=0)

    schema_: Schema = fitted_field()
    ledger_: Ledger = fitted_field()
    noise_label_: str = fitted_field()
    exactly_sampled_: bool = fitted_field()

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        cls.modes = cast(Choice, cls.parameters()["mode"]).options
        cls.title = vars(cls).get("title") or METHODS.name_of(cls.__name__, cls.__name__)

    def __setattr__(self, name: str, value: Any) -> None:
        """Parameters are kept as Python's numbers, of whichever kind they are given."""
        super().__setattr__(name, value if name.endswith("_") else plain(value))

    def fit(
        self,
        frame: RowSource,
        y: Any = None,
        *,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        progress: Progress = no_progress,
    ) -> Self:
        """Learn from private rows, and charge a ledger for it before noise is drawn.

        Parameters
        ----------
        frame : DataFrame, or path of a folder
            The private rows, with the schema's columns, and the one that says whose row it is, if
            there is one; or a folder of encoded rows (`dpcore.rows.Folder`), which may be larger
            than memory: `dp.encode_folder` writes one.
        y : ignored
            The class is one of the frame's columns.
        schema : Schema
            What is public about the rows.
        ledger : Ledger, optional
            The ledger to charge, of this method's relation and delta. Default: that of a
            `dp.spending` block, or one of its own.
        progress : callable, optional
            Called with a fraction and a text; raising inside it stops the fit, and what was spent
            stays spent.

        Returns
        -------
        self
            Fitted: what it released, and `ledger_`.

        Raises
        ------
        ParameterError, SchemaError, DataError
            Before anything is measured or charged.
        BudgetError
            If the ledger's cap would be exceeded; earlier answers stay charged, and `ledger_` has
            them.
        """
        check_source(frame)
        schema = require_schema(schema)
        relation, unit = self.check(schema), schema.persons
        rows = rows_of(frame, schema, self._numbers(schema))
        if not isinstance(ledger, Ledger | None):
            raise ParameterError("`ledger` must be a dp.Ledger.", "Pass dp.Ledger(relation), or leave it out.")
        ledger = block_ledger(self._sender) if ledger is None else ledger
        measure = PrivacyMeasure.of(self.delta)
        source = make_noise(self.noise, self.random_state, 0, measure.distribution)
        if unit is not None:
            if not isinstance(rows, HeldRows) or not isinstance(frame, pd.DataFrame):
                raise DataError("Rows in a folder do not identify persons.", "Fit on a DataFrame, or by rows.")
            draws = make_noise(self.noise, self.random_state, CUT).lots(len(rows))
            rows = rows.at(unit.kept(unit.persons(frame), draws, fill=relation is Relation.REPLACE))
        if relation is Relation.ADD_REMOVE and schema.max_rows is not None and len(rows) > schema.max_rows:
            raise DataError(
                "The table has more rows than the schema's max_rows.",
                "Declare a larger max_rows; it must come from public knowledge, not from this table.",
            )
        if ledger is not None and ledger.relation != relation:
            raise ParameterError(
                f"The ledger counts under {ledger.relation}, the method under {relation}.", "Use one relation per run."
            )
        if ledger is not None and ledger.measure != measure:
            raise ParameterError(
                f"The ledger counts {ledger.measure}, the method {measure}.", "Give both the same delta."
            )
        id_column = None if unit is None else unit.id_column
        if ledger is not None:
            ledger.set_privacy_unit(id_column)
        plan = None if self._published else measure.loss_of(self.epsilon)
        own = Ledger(relation, plan=plan, name=self.title, delta=self.delta)
        run = own if ledger is None else ledger.child(self.title, plan=plan)
        run.set_privacy_unit(id_column)
        method, account = self, run
        if unit is not None:
            method = self.for_rows(unit.max_contributions)
            most = unit.max_contributions
            account = run.group(most, plan=None if plan is None else plan / measure.group_factor(most))
        # the door knows rows, and no persons
        known = schema if schema.unit is None else replace(schema, unit=None)
        table = PrivateTable(rows, known, account, source, unprotected_allowed=self._published)
        self._forget()
        # before the first question: whoever stops this fit has the answers until then, and pays
        self.ledger_ = run
        if schema.source == "inferred":
            run.void_because(INFERRED)
        if self.random_state is not None:
            run.void_because(SEEDED)
        self.noise_label_ = source.label if "corrected" in self.modes else NoNoise.label.capitalize()
        try:
            method._fit(table, progress)
            self.__dict__.update({name: found for name, found in vars(method).items() if is_learned(name)})
            progress(1.0, phrase("Done"))
        except BaseException:
            run.close(finished=False)
            self._forget()
            self.ledger_ = run
            raise
        run.close()
        self.schema_ = schema
        self.exactly_sampled_ = source.exactly_sampled and self.noise_label_ != NoNoise.label.capitalize()
        return self

    def _budget(self, table: PrivateTable) -> PrivacyLoss:
        """What may be spent on a table, in the run's currency; as printed nothing is planned, and it is epsilon."""
        return exact(self.epsilon) if table.ledger.plan is None else table.ledger.plan

    def _forget(self) -> None:
        """Drop what was learned: a fit that fails leaves no mixture of two releases behind."""
        for found in filter(is_learned, list(vars(self))):
            delattr(self, found)

    def for_rows(self, rows: int) -> Self:
        """Return an unfitted copy that runs on rows, several of them a person's.

        Parameters
        ----------
        rows : int
            The most rows of one person: each has its exact share of the privacy loss.

        Returns
        -------
        PrivateEstimator
            The copy.
        """
        measure = PrivacyMeasure.of(self.delta)
        share = measure.epsilon(measure.loss_of(self.epsilon) / measure.group_factor(rows)) if self.delta else None
        copy: Self = clone(self).set_params(epsilon=exact(self.epsilon) / rows if share is None else share)
        return copy

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name, former names too.

        Raises
        ------
        ParameterError
            If a name is not known.
        """
        changed: Self = super().set_params(**self._known_parameters(parameters))
        return changed

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the schema's columns, in order, without a classifier's target: shape (d,)."""
        left_out = self.target_ if isinstance(self, PrivateClassifier) else None
        return np.array([name for name in self.schema_.names if name != left_out], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns `feature_names_in_` has."""
        return len(self.feature_names_in_)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_sender": this_process() if OPEN else None}

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy.__dict__["_sender"] = self._sender
        return copy

    if not TYPE_CHECKING:  # who still know which names there are

        def __getattr__(self, name: str) -> Any:
            """Say what to write in place of a name that is not there, or not before `fit`."""
            early = is_learned(name) and "schema_" not in vars(self)
            known = "" if name.startswith("_") else "attributes"  # scikit-learn asks every copy for names of its own
            advice = " Call fit(frame, schema=…) first." if early else advise(name, known)
            cause = f"{type(self).__name__!r} object has no attribute {name!r}.{advice}"
            raise AttributeError(cause, name=name, obj=self)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise ParameterError(f"This {type(self).__name__} is not fitted yet.", "Call fit(frame, schema=…) first.")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end; one that did not leaves `ledger_` alone."""
        return hasattr(self, "schema_")

    def check(self, schema: Schema) -> Relation:
        """Check that the parameters fit each other and a schema. Reads no row.

        Parameters
        ----------
        schema : Schema
            What is public about the rows.

        Returns
        -------
        Relation
            The neighboring relation of a fit.

        Raises
        ------
        ParameterError
            If they do not.
        SchemaError
            If a column that they name is not in the schema.
        """
        schema = require_schema(schema)
        for name, parameter in self.parameters().items():
            parameter.check(name, getattr(self, name), self, schema)
        relation, known = Relation.parse(self.relation), self.relations_in(self.mode)
        if relation not in known:
            words = f"{self.title}{' as published' * self._published} is not defined under {relation}."
            raise ParameterError(words, f"Use the relation {' or '.join(known)}.")
        if self._published and self.delta:
            raise ParameterError(f"{self.title} as published has no delta.", "Use delta=0, or mode='corrected'.")
        PrivacyMeasure.of(self.delta)
        self._check(schema)
        return relation

    def released(self) -> dict[str, Any]:
        """Return what was released besides rows, by its name in files.

        Each is an object, or a value that JSON can hold.
        """
        return {name: getattr(self, f"{name}_") for name in self.artifacts}

    def structure(self) -> dict[str, Any]:
        """Return `released` as JSON-ready values, for files."""
        return {name: json_ready(part) for name, part in self.released().items()}

    def at_epsilon(self, epsilon: float) -> Self:
        """Return an unfitted copy for another epsilon.

        Parameters
        ----------
        epsilon : float
            Its epsilon. A method may keep the sizes that its own epsilon allows.

        Returns
        -------
        PrivateEstimator
            The copy.
        """
        copy: Self = clone(self).set_params(epsilon=epsilon)
        return copy

    def _target(self, schema: Schema, chosen: str | None) -> str:
        target = schema.target if chosen is None else chosen
        if target is None:
            raise ParameterError(f"{self.title} needs a class column.", "Choose it here (target=), or with the data.")
        if schema[target].numeric:
            raise ParameterError(
                f"The target {target!r} is a numeric column.", "Choose a categorical column, or declare it as one."
            )
        return target

    def _class_index(self, schema: Schema, most: float = inf) -> int:
        """Where the class column is that was chosen, or else the schema's with categories, `most` at most; or -1."""
        own = schema.target and not schema[schema.target].numeric and schema[schema.target].size <= most
        name = getattr(self, "target", None) or (schema.target if own else None)
        return schema.index(name) if name else -1

    def _numbers(self, schema: Schema) -> dict[int, NumberRule]:
        """What the door needs of numbers besides codes: rules on those of columns, by position."""
        return {}

    @classmethod
    def relations_in(cls, mode: str) -> tuple[Relation, ...]:
        """Return the relations that the method is defined under in a mode.

        Parameters
        ----------
        mode : str
            One of `modes`.

        Returns
        -------
        tuple of Relation
            The relations.
        """
        return (mode == "published" and cls.published_relations) or cls.relations

    @property
    def _estimate(self) -> float:
        """How many rows the data have, public or estimated with noise; 0 if it is not known."""
        return float(np.sum(getattr(self, "rows_", 0.0) or getattr(self, "class_totals_", 0.0)))

    def implied(self, rows: int | None) -> dict[str, Any]:
        """Return other parameters, as a page sets them after those that were chosen.

        Parameters
        ----------
        rows : int or None
            How many synthetic rows are wanted; None for as many as the release says.

        Returns
        -------
        dict
            Values by the names of parameters; empty if none follows.
        """
        return {}

    def foretold(self, rows: int | None) -> str:
        """Describe in a sentence what a rule will make of a number of rows that is public.

        Parameters
        ----------
        rows : int or None
            The public number or bound; None if there is none.

        Returns
        -------
        str
            The sentence; empty if there is no such rule.
        """
        return ""

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return what a fit measures, as far as public facts tell; no question.

        Parameters
        ----------
        table : PrivateTable
            A table whose schema, number of rows and ledger are looked at, and nothing else.

        Returns
        -------
        list of Measurement, or None
            Cliques and their noise; None if nothing can be said.
        """
        return None

    def fit_seconds(self, table: PrivateTable) -> float:
        """Return about how long a fit takes, from public facts; no question.

        Parameters
        ----------
        table : PrivateTable
            As for `measurements`.

        Returns
        -------
        float
            Seconds on a usual computer, often out by a factor of three.
        """
        columns = len(table.schema)
        cells = (table.public_rows or 0) * columns / 200_000 * (columns / 15) ** 0.5
        return float(self.seconds[self._published] * (0.25 + 0.35 * cells))

    def _check_score(self, score: Score, schema: Schema) -> None:
        """Refuse a score that needs a public bound on the number of rows where there is none."""
        if self.relation == Relation.ADD_REMOVE:
            score.bounds([(2, 2)], Relation.ADD_REMOVE, schema.max_rows)

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the parameters do not fit each other, or the public schema."""
        target = getattr(self, "target", None)
        if target is not None:
            self._target(schema, target)

    @property
    def _published(self) -> bool:
        """Whether the method runs as printed."""
        return self.mode == "published"

    @abstractmethod
    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Learn from the door's answers; set attributes that end in `_`."""


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of methods that release a classifier.

    Works where scikit-learn's classifiers do: in a `Pipeline`, `cross_val_score` and
    `GridSearchCV`, with the schema passed on as a parameter of `fit`. Every fit is charged; a
    `dp.spending` block around has one ledger for all of them, and says which folds it is sound for.
    What a search does with the scores is not charged: they are read off real rows, so the best of
    several has no guarantee. (Of a table with as many rows as columns, scikit-learn takes the
    schema for a row each.) Classes are texts, as in the schema; `score` compares them with numbers
    and truth values as the schema does.

    Parameters
    ----------
    target
        The class column; by default the schema's.

    Attributes
    ----------
    target_ : str
        The class column.
    classes_ : array of str
        All classes that the schema declares, in its order; not what the rows happened to hold.
    """

    predictor: ClassVar[str] = "forest"  # which of its `artifacts` predicts
    target: str | None = text(default=None)
    target_: str = fitted_field()
    classes_: NDArray[Any] = fitted_field()

    def fit(
        self,
        frame: RowSource,
        y: Any = None,
        *,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        progress: Progress = no_progress,
    ) -> Self:
        """Learn from private rows, and charge a ledger for it before noise is drawn.

        Parameters
        ----------
        frame : DataFrame, or path of a folder
            The private rows, with the schema's columns, as for `PrivateEstimator.fit`; the class
            may be left to `y`.
        y : array-like of shape (n,), optional
            The classes. If the frame has them as well, these count.
        schema, ledger, progress
            As for `PrivateEstimator.fit`.

        Returns
        -------
        self
            Fitted: what it released, and `ledger_`.

        Raises
        ------
        ParameterError, SchemaError, DataError, BudgetError
            As for `PrivateEstimator.fit`.
        """
        if y is not None:
            table, schema = require_frame(frame), require_schema(schema)
            self.check(schema)
            frame = table.assign(**{self._target(schema, self.target): one_per_row(y, table)})
        super().fit(frame, schema=schema, ledger=ledger, progress=progress)
        self.target_ = self._target(self.schema_, self.target)
        self.classes_ = np.array(self.schema_[self.target_].labels, dtype=object)
        return self

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Predict the most probable class of every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows. The class column may be there, and is not looked at.

        Returns
        -------
        array of str, shape (n,)
            The classes; the first in the schema's order if several are as probable.

        Raises
        ------
        ParameterError
            If the method is not fitted yet.
        DataError
            If a column is lacking or a cell does not fit its declaration.
        """
        return np.asarray(self.classes_[self.predict_proba(frame).argmax(axis=1)])

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """Predict the probability of each class for every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            As for `predict`.

        Returns
        -------
        float array of shape (n, classes)
            The probabilities, columns as in `classes_`.

        Raises
        ------
        ParameterError, DataError
            As for `predict`.
        """
        self._check_fitted()
        return np.asarray(getattr(self, f"{self.predictor}_").probability(require_frame(frame)))

    def score(self, frame: pd.DataFrame, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on rows with known classes. Reads them: not private.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows.
        y : array-like of shape (n,), optional
            Their classes; by default those in the frame.
        sample_weight : array-like of shape (n,), optional
            How much each row counts. Default: equally.

        Returns
        -------
        float
            The accuracy, in [0, 1].

        Raises
        ------
        ParameterError, DataError
            As for `predict`, and if the classes are lacking.
        """
        predicted = self.predict_proba(frame).argmax(axis=1)
        column = self.schema_[self.target_]
        if y is None and column.name not in frame.columns:
            raise DataError(f"The data lack the classes, {column.name!r}.", "Pass them as y, or in the frame.")
        truth = column.encode(pd.Series(frame[column.name] if y is None else one_per_row(y, frame)))
        return float(np.average(predicted == truth, weights=sample_weight))

    def _check(self, schema: Schema) -> None:
        self._target(schema, self.target)


def most_rows(schema: Schema) -> int:
    """How many rows of a schema, about, can be made in `MEMORY`; public, like the schema."""
    return MEMORY // (PER_ROW + PER_CELL * len(schema))


def block_sizes(n: int, schema: Schema) -> Iterator[int]:
    """The sizes of the fewest blocks that n rows take: they differ by one row at most."""
    blocks = -(-n // min(BLOCK, max(MOST_CELLS // len(schema), 1)))
    return (n * (i + 1) // blocks - n * i // blocks for i in range(blocks))


class Synthesizer(PrivateEstimator):
    """Base of methods that release synthetic rows."""

    @check_arguments
    def sample(self, n: int | None = None) -> pd.DataFrame:
        """Sample synthetic rows inside the schema (post-processing, at no privacy loss).

        No row breaks a rule of the schema (`postprocess.exchanges`).

        Parameters
        ----------
        n : int, optional
            How many rows; by default as many as the release says the data have; of persons under
            replace, one for each.

        Returns
        -------
        DataFrame of n rows
            With `random_state` set, the same rows at every call.

        Raises
        ------
        ParameterError
            If the method is not fitted yet, `n` is no number of rows, or more rows than fit into
            memory.
        """
        self._check_fitted()
        rows = self.estimated_rows() if n is None else n
        self._check_rows(rows)
        if rows > (most := most_rows(self.schema_)):
            noise = " The release says that there are so many, which is mostly noise." if n is None else ""
            words = f"{rows:,} rows do not fit into {MEMORY / 1e9:g} GB; {most:,} of this schema do.{noise}"
            raise ParameterError(words, f"Pass n={most:_} or less, or write them to a file: sample_to(path, n).")
        rng = generator(self.random_state, 2)
        return decode_with_rules(self.schema_, self._sample(rows, rng), rng)

    @check_arguments
    def sample_to(
        self, path: str | PathLike[str], n: int, *, replace: bool = False, progress: Progress = no_progress
    ) -> Path:
        """Write any number of synthetic rows to a file, block by block at constant memory.

        Post-processing, at no privacy loss. The rows are made in the fewest blocks of at most
        131,072 rows, whose sizes differ by one row at most. Each block is as `sample` would make
        it, with random numbers of its own, so that in each one counts are the expected ones,
        rounded. They are other rows than those of `sample(n)`, and break no rule either.

        Parameters
        ----------
        path : path
            Its end tells the format: .parquet (with types) or .csv. All of it is there in the end,
            or nothing.
        n : int
            How many rows.
        replace : bool, default=False
            Whether a file that is there is replaced.
        progress : callable, optional
            Called with a fraction and a text; raising inside it stops, and leaves no file.

        Returns
        -------
        Path
            The file. With `random_state` set, of the same rows at every call.

        Raises
        ------
        ParameterError
            If n is no number of rows, or more than a release holds that is made of rows; if the
            format is not known, or the method is not fitted yet.
        DataError
            If the file cannot be written, or is there.
        """
        self._check_fitted()
        self._check_rows(n)
        location, rng = output_path(path, replace=replace), generator(self.random_state, 2)

        def frames() -> Iterator[pd.DataFrame]:
            made = 0
            for codes in self._blocks(block_sizes(n, self.schema_), rng):
                progress(made / n, phrase("{rows:,} rows written").format(rows=made))
                yield decode_with_rules(self.schema_, codes, rng)
                made += len(codes)

        write_frames(location, frames())
        progress(1.0, phrase("Done"))
        return location

    def _check_rows(self, n: object) -> None:
        if not is_whole(n, 1):
            raise ParameterError("The number of rows to sample must be a whole number of 1 or more.", "Try n=10_000.")

    def _blocks(self, sizes: Iterable[int], rng: np.random.Generator) -> Iterator[Codes]:
        """Codes of blocks of so many rows, each drawn with a stream of its own."""
        return (self._sample(size, rng.spawn(1)[0]) for size in sizes)

    def estimated_rows(self) -> int:
        """Return how many rows the release says that the data have, at least one.

        Returns
        -------
        int
            The public number or the noisy one, at most the public bound; of persons under replace,
            one row for each. It may be mostly noise, and then far from the real number.

        Raises
        ------
        ParameterError
            If the method is not fitted yet.
        """
        self._check_fitted()
        # in which a person has several
        unit, bounded = self.schema_.persons, self.relation == Relation.REPLACE
        rows = max(round(self._estimate / (unit.max_contributions if bounded and unit else 1)), 1)
        return rows if bounded or self.schema_.max_rows is None else min(rows, self.schema_.max_rows)

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Codes of n rows, shape (n, d)."""
