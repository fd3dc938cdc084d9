"""scikit-learn conventions over the door: parameters in the constructor, `fit` on private rows.

`PrivateEstimator.fit` does four things. It checks the parameters against the public schema, encodes
the rows, opens the door (`PrivateTable`), and calls the method's `_fit`. A method therefore never
sees a row, and a replay test can put recorded answers in the door's place. What `fit` learns is
stored in attributes whose names end in `_`.

A `Synthesizer` releases synthetic rows, in memory or block by block in a file of any length. A
`PrivateClassifier` releases what scikit-learn accepts as a classifier.

Before a run a method states what it will measure, as far as public facts determine it
(`Measurement`). If a fit selects cliques by private data, `PrivateEstimator.measurements` names
other cliques, of the same size and number.
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

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import DELTA, PrivacyLoss, PrivacyMeasure, describe_measure
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
from dpcore.mechanisms.noise import SAMPLING_STREAM, SEEDED, NoNoise, generator, make_noise
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
MEMORY = 4_000_000_000  # bytes that synthetic rows may take while they are made
# bytes of a row, and of a cell as a code, while it is sampled, and as a value
PER_ROW, PER_CELL = 100, 24
BLOCK, MOST_CELLS = 1 << 17, 1 << 23  # the most rows and cells of a block of a file


class Measurement(NamedTuple):
    """Noisy counts of one clique: its columns, the values counted per column, and the noise.

    `columns` are positions in the schema. `sizes` has one number per column: how many values of the
    column the counts distinguish.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    variance: float  # of the noise of one count
    cells: float  # number of counts, over more columns than `columns` if the marginal has them
    for_columns: bool = True  # whether single columns are sampled from these counts
    clips: bool = False  # whether negative counts become 0, instead of being projected
    merges: bool = False  # whether values whose counts noise hides get equal counts
    spread: float = 0.0  # rows that are added, evenly over the cells
    bits: bool = False  # whether columns are sampled bit by bit
    bias: float = 0.0  # total variation distance of a column that noise does not explain


def clique_measurement(
    sizes: Sequence[int], columns: Sequence[int], variance: float, most: float = inf, **how: Any
) -> Measurement:
    """Return the `Measurement` of the marginal of some columns, each with at most `most` values.

    `sizes` has the number of values of every column of the schema, `columns` the marginal's
    positions, and `variance` the noise variance of one count. A column with more values counts as
    merged to `most` values. `how` sets other fields of `Measurement`.
    """
    own = tuple(int(min(sizes[j], max(most, 2))) for j in columns)
    return Measurement(tuple(columns), own, variance, prod(own), **how)


def greedy_clique(sizes: Sequence[int], column: int, most: int, cells: float) -> list[int]:
    """Return the clique of a column and nearby earlier columns that fit a limit on cells.

    `sizes` has the number of values of every column; `column` and the result are positions. Earlier
    columns are tried from the nearest on. At most `most` of them join, and the marginal of the
    clique has at most `cells` cells.
    """
    found, room = [column], cells / sizes[column]
    for other in reversed(range(column)):
        if len(found) <= most and sizes[other] <= room:
            found.append(other)
            room /= sizes[other]
    return found


def public_total(table: PrivateTable, otherwise: Any = None) -> Any:
    """Return the number of rows if it is public, and `otherwise` if it is private."""
    return table.public_rows if table.relation is Relation.REPLACE else otherwise


def count_rows(table: PrivateTable, share: PrivacyLoss) -> tuple[float, PrivacyLoss]:
    """Return the number of rows and the privacy loss of counting them.

    The number is noisy, at a loss of `share`, unless it is public; then the loss is 0.
    """
    public = public_total(table)
    return (float(table.counts([()], epsilon=share)[0]), share) if public is None else (float(public), 0)


def delta_note(method: Any, _: Schema) -> str:
    """Return a sentence on what the method's delta risks; empty if delta is 0."""
    return say(DELTA, **describe_measure(method.delta)) if method.delta else ""


class PrivateEstimator(ParameterClass, BaseEstimator, ABC):
    """Base of synthesizers and private classifiers: parameters, `fit`, and the charge to a ledger.

    A subclass declares its parameters as fields and implements `_fit`. Its `_check` refuses
    parameters that contradict each other.

    Parameters
    ----------
    epsilon
        Privacy budget of the whole fit, for one row; for one person if a column identifies persons.
    mode
        'corrected': the version with a proof. 'published': the source's algorithm.
    relation
        Which data sets are neighbors.
    delta
        0 for pure epsilon. Otherwise losses are counted in rho (zCDP), noise is Gaussian, and
        `epsilon` is the loss of the whole fit at this delta. Use a value far below 1 / rows, such
        as 1e-9. Corrected mode only.
    noise
        Which source draws noise. 'auto' samples exactly; with a seed it means 'laplace'.
    random_state
        Seed. Seeded runs are for teaching and are not private.

    Attributes
    ----------
    schema_ : Schema
        The public schema that `fit` received.
    ledger_ : Ledger
        The privacy loss of `fit`. A fit that failed or was stopped leaves this attribute only.
    noise_label_ : str
        Which source of noise made this release, in words.
    exactly_sampled_ : bool
        Whether the noise is exactly sampled.
    """

    title: ClassVar[str]  # name in the registry; of a class that is not registered, its own name
    reference: ClassVar[str] = ""  # authors and year
    paper: ClassVar[str] = ""  # number of the paper in docs/fidelity.md
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE)
    modes: ClassVar[Collection[str]]  # the options of the parameter `mode`
    best_for: ClassVar[str] = ""  # purpose, in a few words
    provable_published: ClassVar[str] = ""  # what can be proved in published mode
    provable: ClassVar[str] = "epsilon"  # what can be proved in corrected mode
    page: ClassVar[str] = ""  # page of the dashboard
    presets: ClassVar[tuple[Preset, ...]] = ()
    # variants on the page Compare: parameters by name and mode; empty: the method as it is
    comparison_variants: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    # what is released besides rows: names of attributes, without their "_"
    artifacts: ClassVar[tuple[str, ...]] = ()
    # sentence: why published mode is this project's reading of its source
    reconstruction_note: ClassVar[str] = ""
    published_relations: ClassVar[tuple[Relation, ...]] = ()  # in published mode; empty: `relations`
    # row in table 1 of paper 003: mechanisms, noise, framework, data
    survey_row: ClassVar[tuple[str, ...]] = ()
    # of a fit on 200,000 cells, in corrected and in published mode
    seconds: ClassVar[tuple[float, float]] = (0.06, 0.06)
    observed_output: ClassVar[str] = phrase("the release")  # what an observer sees of a person
    controls: ClassVar[tuple[Control, ...]] = controls_of(
        PAGES["PrivateEstimator"], delta={"note": delta_note}, random_state={"note": teaching_note}
    )

    # the process that pickled this method inside a `dp.spending` block
    _sender: ClassVar[tuple[int, str] | None] = None
    # 0: pure epsilon; methods that can count losses in rho declare a parameter of this name
    delta = 0.0
    epsilon: float = number(default=1.0)
    mode: str = choice(default="corrected", options=(phrase("corrected"), phrase("published")))
    relation: str = text(default="add_remove", kind="{'add_remove', 'replace'}")
    noise: str = text(default="auto", kind="{'auto', 'geometric', 'laplace'}")
    random_state: int | None = whole(default=None, minimum=0)

    schema_: Schema = fitted_field()
    ledger_: Ledger = fitted_field()
    noise_label_: str = fitted_field()
    exactly_sampled_: bool = fitted_field()

    def __init_subclass__(cls, **how: Any) -> None:
        """Set the class's `modes` and `title` from its parameters and the registry."""
        super().__init_subclass__(**how)
        cls.modes = cast(Choice, cls.parameters()["mode"]).options
        cls.title = vars(cls).get("title") or METHODS.name_of(cls.__name__, cls.__name__)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; convert parameters, such as NumPy scalars, to Python values."""
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
        """Learn from private rows, and charge a ledger before any noise is drawn.

        Parameters
        ----------
        frame : DataFrame, or path of a folder
            The private rows, with the schema's columns and, if persons are protected, the column
            that identifies them. Or a folder of encoded rows (`dpcore.rows.Folder`), which may be
            larger than memory: `dp.encode_folder` writes one.
        y : ignored
            The class is one of the frame's columns.
        schema : Schema
            The public description of the columns.
        ledger : Ledger, optional
            The ledger to charge; its relation and delta must be the method's. Default: the ledger
            of the enclosing `dp.spending` block, or a new one.
        progress : callable, optional
            Called with a fraction and a text. An exception that it raises stops the fit; what was
            spent stays spent.

        Returns
        -------
        self
            Fitted, with the release and `ledger_`.

        Raises
        ------
        ParameterError, SchemaError, DataError
            Before anything is measured or charged.
        BudgetError
            If the ledger's cap would be exceeded. Earlier answers stay charged, and `ledger_` has
            them.
        """
        check_source(frame)
        schema = require_schema(schema)
        relation, unit = self.check(schema), schema.persons
        rows = rows_of(frame, schema, self._number_rules(schema))
        if not isinstance(ledger, Ledger | None):
            raise ParameterError("`ledger` must be a dp.Ledger.", "Pass dp.Ledger(relation), or nothing.")
        ledger = block_ledger(self._sender) if ledger is None else ledger
        measure = PrivacyMeasure.from_delta(self.delta)
        source = make_noise(self.noise, self.random_state, 0, measure.distribution)
        if unit is not None:
            if not isinstance(rows, HeldRows) or not isinstance(frame, pd.DataFrame):
                raise DataError("A folder of rows does not identify persons.", "Fit on a DataFrame instead.")
            draws = make_noise(self.noise, self.random_state, SAMPLING_STREAM).uniforms(len(rows))
            persons = unit.persons(frame)
            kept = unit.bound_contributions(persons, draws, fill=relation is Relation.REPLACE)
            rows = rows.take(kept)
            one_each = rows.take(np.unique(persons[kept], return_index=True)[1])
        if relation is Relation.ADD_REMOVE and schema.max_rows is not None and len(rows) > schema.max_rows:
            raise DataError(
                "The table has more rows than the schema's max_rows.",
                "Declare a larger max_rows; it must come from public knowledge, not from this table.",
            )
        if ledger is not None and ledger.relation != relation:
            words = f"The ledger uses the relation {ledger.relation}, the method {relation}."
            raise ParameterError(words, "Use the same relation for both.")
        if ledger is not None and ledger.measure != measure:
            words = f"The ledger counts losses in {ledger.measure}, the method in {measure}."
            raise ParameterError(words, "Give both the same delta.")
        id_column = None if unit is None else unit.id_column
        if ledger is not None:
            ledger.set_privacy_unit(id_column)
        plan = None if self._published else measure.loss_of(self.epsilon)
        own = Ledger(relation, plan=plan, name=self.title, delta=self.delta)
        run = own if ledger is None else ledger.child(self.title, plan=plan)
        run.set_privacy_unit(id_column)
        method, account = self, run
        if unit is not None:
            many = unit.max_contributions
            method = self.with_row_budget(many)
            account = run.group(many, plan=None if plan is None else plan / measure.group_factor(many))
        # the door protects rows: the schema that it sees declares no persons
        known = schema if schema.unit is None else replace(schema, unit=None)
        table = PrivateTable(rows, known, account, source, unprotected_allowed=self._published)
        if unit is not None:
            table.persons = PrivateTable(one_each, known, run, source)
            table.rows_per_person = unit.max_contributions
        self._forget()
        # set before the first query: a stopped fit is charged for the answers up to then
        self.ledger_ = run
        if schema.source == "inferred":
            run.void_because(INFERRED)
        if self.random_state is not None:
            run.void_because(SEEDED)
        no_noise = NoNoise.label.capitalize()
        self.noise_label_ = source.label if "corrected" in self.modes else no_noise
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
        self.exactly_sampled_ = source.exactly_sampled and self.noise_label_ != no_noise
        return self

    def _budget(self, table: PrivateTable) -> PrivacyLoss:
        """Return the privacy loss that a fit on `table` may spend, in the run's privacy measure.

        Published mode has no plan in its ledger; there the budget is `epsilon`.
        """
        return exact(self.epsilon) if table.ledger.plan is None else table.ledger.plan

    def _forget(self) -> None:
        """Delete all learned attributes.

        So a fit that fails does not leave a mixture of two releases.
        """
        for found in filter(is_learned, list(vars(self))):
            delattr(self, found)

    def with_row_budget(self, rows: int) -> Self:
        """Return an unfitted copy with the budget of one row, if a person may have several rows.

        Parameters
        ----------
        rows : int
            The most rows of one person. The copy's epsilon for one row makes the loss of this many
            rows the epsilon of this method.

        Returns
        -------
        PrivateEstimator
            The copy.
        """
        measure = PrivacyMeasure.from_delta(self.delta)
        share = measure.epsilon(measure.loss_of(self.epsilon) / measure.group_factor(rows)) if self.delta else None
        copy: Self = clone(self).set_params(epsilon=exact(self.epsilon) / rows if share is None else share)
        return copy

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; former names of parameters are accepted.

        Raises
        ------
        ParameterError
            If a name is unknown.
        """
        changed: Self = super().set_params(**self._known_parameters(parameters))
        return changed

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the schema's columns without a classifier's target, in order: shape (d,)."""
        left_out = self.target_ if isinstance(self, PrivateClassifier) else None
        return np.array([name for name in self.schema_.names if name != left_out], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns in `feature_names_in_`."""
        return len(self.feature_names_in_)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling.

        `_sender` in it names this process if a `dp.spending` block is open, and is None otherwise.
        """
        return {**super().__getstate__(), "_sender": this_process() if OPEN else None}

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy.

        It keeps `_sender`, the process that pickled the original inside a `dp.spending` block.
        """
        copy: Self = super().__sklearn_clone__()
        copy.__dict__["_sender"] = self._sender
        return copy

    if not TYPE_CHECKING:  # type checkers still report unknown names

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError for an unknown attribute, with advice on what to write."""
            early = is_learned(name) and "schema_" not in vars(self)
            # scikit-learn looks up private names of its own
            known = "" if name.startswith("_") else "attributes"
            advice = " Call fit(frame, schema=…) first." if early else advise(name, known)
            cause = f"{type(self).__name__!r} object has no attribute {name!r}.{advice}"
            raise AttributeError(cause, name=name, obj=self)

    def _check_fitted(self) -> None:
        """Raise ParameterError if the method is not fitted yet."""
        if not self.__sklearn_is_fitted__():
            raise ParameterError(f"This {type(self).__name__} is not fitted yet.", "Call fit(frame, schema=…) first.")

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit finished; a fit that failed or was stopped sets `ledger_` only."""
        return hasattr(self, "schema_")

    def check(self, schema: Schema) -> Relation:
        """Check that the parameters fit each other and a schema, without reading any row.

        Parameters
        ----------
        schema : Schema
            The public description of the columns.

        Returns
        -------
        Relation
            The neighboring relation of a fit.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or contradicts another parameter or the schema.
        SchemaError
            If a parameter names a column that the schema does not have.
        """
        schema = require_schema(schema)
        for name, parameter in self.parameters().items():
            parameter.check(name, getattr(self, name), self, schema)
        relation, known = Relation.parse(self.relation), self.relations_in(self.mode)
        if relation not in known:
            words = f"{self.title}{' as published' * self._published} is not defined under the relation {relation}."
            raise ParameterError(words, f"Use {' or '.join(known)}.")
        if self._published and self.delta:
            raise ParameterError(f"{self.title} as published has no delta.", "Use delta=0, or mode='corrected'.")
        PrivacyMeasure.from_delta(self.delta)
        self._check(schema)
        return relation

    def released_artifacts(self) -> dict[str, Any]:
        """Return what was released besides rows, by its name in files.

        Returns
        -------
        dict
            For each name in `artifacts`, an object or a value that JSON can hold.
        """
        return {name: getattr(self, f"{name}_") for name in self.artifacts}

    def structure(self) -> dict[str, Any]:
        """Return `released_artifacts` as JSON-ready values, for files."""
        return {name: json_ready(part) for name, part in self.released_artifacts().items()}

    def with_epsilon(self, epsilon: float) -> Self:
        """Return an unfitted copy with another epsilon.

        Parameters
        ----------
        epsilon : float
            Epsilon of the copy. A method may keep model sizes that follow from its own epsilon.

        Returns
        -------
        PrivateEstimator
            The copy.
        """
        copy: Self = clone(self).set_params(epsilon=epsilon)
        return copy

    def _target(self, schema: Schema, chosen: str | None) -> str:
        """Return the target column: `chosen`, or the schema's target if `chosen` is None.

        ParameterError if there is no target, or if it is numeric.
        """
        target = schema.target if chosen is None else chosen
        if target is None:
            raise ParameterError(f"{self.title} needs a class column.", "Set target=, or declare one in the schema.")
        if schema[target].numeric:
            raise ParameterError(f"The target {target!r} is a numeric column.", "Choose a categorical column.")
        return target

    def _class_index(self, schema: Schema, most: float = inf) -> int:
        """Return the position of the class column, or -1 if there is none.

        The class column is the `target` parameter. Without it, it is the schema's target if that is
        categorical and has at most `most` values.
        """
        own = schema.target and not schema[schema.target].numeric and schema[schema.target].size <= most
        name = getattr(self, "target", None) or (schema.target if own else None)
        return schema.index(name) if name else -1

    def _number_rules(self, schema: Schema) -> dict[int, NumberRule]:
        """Return, by column position, a function that maps a column's numbers before they are used.

        A column without a rule is read as codes (bins or categories) only. Most methods need
        nothing else, and return no rules.
        """
        return {}

    @classmethod
    def relations_in(cls, mode: str) -> tuple[Relation, ...]:
        """Return the neighboring relations for which the method is defined in a mode.

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
    def _row_estimate(self) -> float:
        """Number of rows of the data set, public or estimated with noise; 0 if unknown."""
        return float(np.sum(getattr(self, "rows_", 0.0) or getattr(self, "class_totals_", 0.0)))

    def implied_parameters(self, rows: int | None) -> dict[str, Any]:
        """Return values of other parameters that follow from the chosen ones.

        Parameters
        ----------
        rows : int or None
            How many synthetic rows are wanted; None for the number that the release estimates.

        Returns
        -------
        dict
            Values by parameter name, which a page sets; empty if nothing follows.
        """
        return {}

    def describe_size_rule(self, rows: int | None) -> str:
        """Describe in a sentence which model sizes a rule derives from the public number of rows.

        Parameters
        ----------
        rows : int or None
            The public number of rows, or a public bound; None if there is none.

        Returns
        -------
        str
            The sentence; empty if the method has no such rule.
        """
        return ""

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return which marginals a fit would measure, and their noise, from public facts only.

        Parameters
        ----------
        table : PrivateTable
            Only its schema, public number of rows and ledger are used. No query is asked.

        Returns
        -------
        list of Measurement, or None
            One for each marginal; None if public facts do not determine them.
        """
        return None

    def fit_seconds(self, table: PrivateTable) -> float:
        """Estimate how long a fit takes, from public facts only.

        Parameters
        ----------
        table : PrivateTable
            As for `measurements`.

        Returns
        -------
        float
            Seconds on a usual computer, often wrong by a factor of three.
        """
        columns = len(table.schema)
        cells = (table.public_rows or 0) * columns / 200_000 * (columns / 15) ** 0.5
        return float(self.seconds[self._published] * (0.25 + 0.35 * cells))

    def _check_score(self, score: Score, schema: Schema) -> None:
        """Raise ParameterError if a score needs a public bound on the rows and there is none.

        The bound is the schema's `max_rows`. Under replace the number of rows is public, so only
        add_remove is checked.
        """
        if self.relation == Relation.ADD_REMOVE:
            score.bounds([(2, 2)], Relation.ADD_REMOVE, schema.max_rows)

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the parameters contradict each other or the public schema."""
        target = getattr(self, "target", None)
        if target is not None:
            self._target(schema, target)

    @property
    def _published(self) -> bool:
        """Whether the method runs in published mode."""
        return self.mode == "published"

    @abstractmethod
    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Learn from noisy answers of `table`, and set attributes whose names end in `_`."""


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of methods that release a classifier.

    A private classifier works where scikit-learn's classifiers do: in a `Pipeline`,
    `cross_val_score` and `GridSearchCV`, with the schema passed on as a parameter of `fit`. Every
    fit is charged. A `dp.spending` block charges all fits inside it to one ledger, and says for
    which folds that is sound. The use that a search makes of the scores is not charged: scores are
    computed on real rows, so choosing the best of several fits has no guarantee.

    Classes are texts, as in the schema. `score` also compares them with numbers and truth values,
    by the schema's rules. If the frame has as many rows as the schema has columns, scikit-learn
    mistakes the schema for a parameter with one value per row.

    Parameters
    ----------
    target
        The class column; by default the schema's.

    Attributes
    ----------
    target_ : str
        The class column.
    classes_ : array of str
        All classes that the schema declares, in its order, whether or not they occur in the rows.
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
        """Learn from private rows, and charge a ledger before any noise is drawn.

        Parameters
        ----------
        frame : DataFrame, or path of a folder
            The private rows, with the schema's columns, as for `PrivateEstimator.fit`. The class
            column may be absent if `y` is given.
        y : array-like of shape (n,), optional
            The classes. They replace a class column of the frame.
        schema, ledger, progress
            As for `PrivateEstimator.fit`.

        Returns
        -------
        self
            Fitted, with the release and `ledger_`.

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
            The rows. A class column is ignored.

        Returns
        -------
        array of str, shape (n,)
            The classes. If several are equally probable, the first in the schema's order.

        Raises
        ------
        ParameterError
            If the method is not fitted yet.
        DataError
            If a column is missing, or a cell does not fit its column's declaration.
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
            The probabilities, with columns in the order of `classes_`.

        Raises
        ------
        ParameterError, DataError
            As for `predict`.
        """
        self._check_fitted()
        return np.asarray(getattr(self, f"{self.predictor}_").probability(require_frame(frame)))

    def score(self, frame: pd.DataFrame, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on rows with known classes. The accuracy is not private.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows.
        y : array-like of shape (n,), optional
            The true classes; by default the frame's class column.
        sample_weight : array-like of shape (n,), optional
            Weight of each row. Default: equal weights.

        Returns
        -------
        float
            The accuracy, in [0, 1].

        Raises
        ------
        ParameterError, DataError
            As for `predict`, and if the classes are missing.
        """
        predicted = self.predict_proba(frame).argmax(axis=1)
        column = self.schema_[self.target_]
        if y is None and column.name not in frame.columns:
            raise DataError(f"The frame lacks the class column {column.name!r}.", "Pass the classes as y.")
        truth = column.encode(pd.Series(frame[column.name] if y is None else one_per_row(y, frame)))
        return float(np.average(predicted == truth, weights=sample_weight))

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if there is no categorical target."""
        self._target(schema, self.target)


def max_rows_in_memory(schema: Schema) -> int:
    """Return about how many synthetic rows of a schema can be made in `MEMORY` bytes.

    The number is public, because the schema is.
    """
    return MEMORY // (PER_ROW + PER_CELL * len(schema))


def block_sizes(n: int, schema: Schema) -> Iterator[int]:
    """Return the sizes of the blocks in which `n` synthetic rows are made.

    There are as few blocks as `BLOCK` rows and `MOST_CELLS` cells per block allow. Their sizes
    differ by at most one row.
    """
    blocks = -(-n // min(BLOCK, max(MOST_CELLS // len(schema), 1)))
    return (n * (i + 1) // blocks - n * i // blocks for i in range(blocks))


class Synthesizer(PrivateEstimator):
    """Base of methods that release synthetic rows."""

    @check_arguments
    def sample(self, n: int | None = None) -> pd.DataFrame:
        """Sample synthetic rows inside the schema (post-processing, no privacy loss).

        No row breaks a rule of the schema (`postprocess.exchanges`).

        Parameters
        ----------
        n : int, optional
            Number of rows. Default: the number that the release estimates for the data set; if
            persons are protected under replace, one row per person.

        Returns
        -------
        DataFrame of n rows
            With `random_state` set, every call returns the same rows.

        Raises
        ------
        ParameterError
            If the method is not fitted yet, if `n` is not a whole number of 1 or more, or if `n`
            rows do not fit into memory.
        """
        self._check_fitted()
        rows = self.estimated_rows() if n is None else n
        self._check_rows(rows)
        if rows > (most := max_rows_in_memory(self.schema_)):
            noise = " The number comes from the release, and is mostly noise." if n is None else ""
            words = f"{rows:,} rows do not fit into {MEMORY / 1e9:g} GB, but {most:,} rows do.{noise}"
            raise ParameterError(words, f"Pass n={most:_} or less, or write them to a file: sample_to(path, n).")
        rng = generator(self.random_state, 2)
        return decode_with_rules(self.schema_, self._sample(rows, rng), rng)

    @check_arguments
    def sample_to(
        self, path: str | PathLike[str], n: int, *, replace: bool = False, progress: Progress = no_progress
    ) -> Path:
        """Write any number of synthetic rows to a file, block by block at constant memory.

        Post-processing, no privacy loss. Rows are made in the fewest blocks of at most 131,072
        rows, whose sizes differ by at most one row. Each block is sampled like `sample`, with its
        own random numbers, so that counts in each block are the expected counts, rounded. The rows
        differ from those of `sample(n)`. No row breaks a rule of the schema.

        Parameters
        ----------
        path : path
            The file. Its suffix decides the format: .parquet (with types) or .csv. The file is
            written completely or not at all.
        n : int
            Number of rows.
        replace : bool, default=False
            Whether an existing file is replaced.
        progress : callable, optional
            Called with a fraction and a text. An exception that it raises stops the writing, and no
            file is left.

        Returns
        -------
        Path
            The file. With `random_state` set, every call writes the same rows.

        Raises
        ------
        ParameterError
            If `n` is not a whole number of 1 or more, or exceeds the rows of a release that
            consists of rows; if the format is unknown, or the method is not fitted yet.
        DataError
            If the file cannot be written, or already exists.
        """
        self._check_fitted()
        self._check_rows(n)
        location, rng = output_path(path, replace=replace), generator(self.random_state, 2)

        def frames() -> Iterator[pd.DataFrame]:
            """Yield the rows of one block after the other."""
            made = 0
            for codes in self._sample_blocks(block_sizes(n, self.schema_), rng):
                progress(made / n, phrase("{rows:,} rows written").format(rows=made))
                yield decode_with_rules(self.schema_, codes, rng)
                made += len(codes)

        write_frames(location, frames())
        progress(1.0, phrase("Done"))
        return location

    def _check_rows(self, n: object) -> None:
        """Raise ParameterError if `n` is not a whole number of 1 or more."""
        if not is_whole(n, 1):
            raise ParameterError("The number of rows to sample must be a whole number of 1 or more.", "Try n=10_000.")

    def _sample_blocks(self, sizes: Iterable[int], rng: np.random.Generator) -> Iterator[Codes]:
        """Yield the codes of a block of rows per size, each drawn from its own random numbers."""
        return (self._sample(size, rng.spawn(1)[0]) for size in sizes)

    def estimated_rows(self) -> int:
        """Return the number of rows that the release estimates for the data set, at least 1.

        Returns
        -------
        int
            The public or the noisy number of rows, at most the public bound. If persons are
            protected under replace: the number of persons. A noisy number may be far from the true
            one.

        Raises
        ------
        ParameterError
            If the method is not fitted yet.
        """
        self._check_fitted()
        # under replace every person has `max_contributions` rows
        unit, bounded = self.schema_.persons, self.relation == Relation.REPLACE
        rows = max(round(self._row_estimate / (unit.max_contributions if bounded and unit else 1)), 1)
        return rows if bounded or self.schema_.max_rows is None else min(rows, self.schema_.max_rows)

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return the codes of `n` synthetic rows, shape (n, columns)."""
