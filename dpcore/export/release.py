"""A release: what one run gave, its settings and its price, and what it says of both.

A release that may be published has no seed, so none is exported with it. Nor is a checksum of the
private rows: whoever knows all rows but one could test every guess of that one against it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

from dpcore.accounting.ledger import Ledger
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.export.artifacts import Answers, Artifact, CountTree, Model, Network, SyntheticRows
from dpcore.export.protection import describe_unit
from dpcore.export.rendering import sentence
from dpcore.language import phrase, say
from dpcore.mechanisms.noise import TEACHING, NoNoise
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier, PrivateEstimator, Synthesizer
from dpcore.methods.statistics import PlainStatistics
from dpcore.postprocess.reports import Reports
from dpcore.text import finite_or_text, html_table, number, writable

Kind = TypeVar("Kind", bound=Artifact)
SIZES = ("n_trees", "max_depth")
PURPOSE = phrase("{method}, {mode} mode")  # what books call a run
NOISELESS = NoNoise.label.capitalize()

__all__ = ["Model", "Release", "make_release", "release_of"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """Everything published of one run. Immutable; every panel and export draws from it.

    Parameters
    ----------
    artifact : Artifact
        `SyntheticRows` (also `Network` and `CountTree`), a `Model`, or `Answers`.
    method : str
        The method's title: as in `METHODS`, or as the caller calls it.
    class_name : str
        The name of its class.
    parameters : dict
        Its parameters.
    schema : Schema
        The public description of the columns.
    ledger : Ledger
        Its queries and their privacy losses.
    noise_label : str
        The source of the noise, in words.
    exactly_sampled : bool
        Whether that noise is exactly sampled; it says nothing of proof, schema or privacy unit.
    data_name : str
        The name of the data set.
    seconds : float
        How long the run took, in seconds; NaN if not known.
    reading : mapping, optional
        How the rows of a file were divided: `test_share` (0 if all were used), `split_seed`;
        `encoded` of rows in a folder. How a file is written is never handed on, whatever is in it:
        one row may decide whether a person has to declare that. None if it is not known; of no use
        for the data sets of `datasets.load`.
    reading_note : str, optional
        In published mode, a sentence on why the source had to be interpreted; otherwise empty.
    rows : float, optional
        The number of rows of the data set, where it is public or was estimated with noise; 0 if it is
        not known.
    page : mapping, optional
        The dashboard's page where the run was made: its `name` and `settings`.
    """

    artifact: Artifact  # `SyntheticRows` (also `Network` and `CountTree`), a `Model`, or `Answers`
    method: str  # its title: as in `METHODS`, or as the caller calls it
    class_name: str
    parameters: dict[str, Any]
    schema: Schema
    ledger: Ledger
    noise_label: str  # which source of noise made it
    exactly_sampled: bool  # whether that noise is exactly sampled; it says nothing of proof, schema or unit
    data_name: str
    seconds: float
    reading: Mapping[str, Any] | None = None
    reading_note: str = ""  # in published mode, why that is our reading of the method's source, in a sentence
    rows: float = 0.0  # of the data set: public, or estimated with noise; 0 if not known
    page: Mapping[str, Any] = field(default_factory=dict)  # of the dashboard, if it is from there: `name`, `settings`

    def __repr__(self) -> str:
        return f"Release({self.method!r}, {self.parameters['mode']}, {self.ledger.epsilon_text})"

    def _repr_html_(self) -> str:
        origin, (what, many) = self.origin, self.artifact.size
        facts = {"method": self.method, "version": origin["mode"], say(what).lower(): many}
        facts |= {"privacy loss": self.ledger.epsilon_text, "guarantee void": origin["guarantee_void"]}
        facts |= {"relation": origin["relation"], "noise": origin["noise"], "data": self.data_name}
        return html_table("Release", (), [fact for fact in facts.items() if fact[1]])

    @property
    def seed(self) -> int | None:
        """The seed of a teaching run, None for operating-system entropy."""
        seed: int | None = self.parameters.get("random_state")
        return seed

    @property
    def method_key(self) -> str:
        """The method's name in `METHODS`, independent of its title; empty for other methods."""
        return METHODS.name_of(self.class_name, "")

    def new_method(self, **changes: Any) -> Any:
        """Return the release's method, unfitted.

        Parameters
        ----------
        **changes
            Parameters that differ from the release's.

        Returns
        -------
        PrivateEstimator
            The method, with the release's other parameters.
        """
        return METHODS.get(self.method_key, PlainStatistics)(**{**self.parameters, **changes})

    def artifact_as(self, kind: type[Kind]) -> Kind:
        """Return the artifact if it is of this class; otherwise raise an error.

        Parameters
        ----------
        kind : type
            A subclass of `Artifact`.

        Returns
        -------
        Artifact
            The artifact.

        Raises
        ------
        AttributeError
            If it is of another kind.
        """
        if not isinstance(self.artifact, kind):
            raise AttributeError(f"This release is no {kind.__name__}.")
        return self.artifact

    @property
    def synthetic(self) -> pd.DataFrame:
        """The synthetic rows of a release of rows."""
        return self.artifact_as(SyntheticRows).synthetic

    @property
    def model(self) -> Model:
        """The released classifier."""
        return self.artifact_as(Model)

    @property
    def structure(self) -> Mapping[str, Any]:
        """What was released besides rows, as JSON-ready values by their names in files."""
        return self.artifact.structure

    @property
    def table_of_reports(self) -> Reports | None:
        """The local reports that may be handed on with a model; None if they may not.

        Reports without a finite epsilon include true answers, and those with a known seed can be
        undone.
        """
        return self.artifact.reports if math.isfinite(self.ledger.epsilon_nominal) and self.seed is None else None

    @property
    def noiseless(self) -> bool:
        """Whether the release has no noise: for comparison on a screen, never to be published."""
        return self.noise_label == NOISELESS

    @property
    def guarantee_void(self) -> str:
        """A sentence on why no guarantee holds; empty if one does."""
        if self.ledger.guarantee_void:
            return say(self.ledger.guarantee_void)
        if math.isinf(self.ledger.epsilon_bound):
            return say("No finite epsilon can be proved for this run.")
        if self.ledger.epsilon_bound > self.ledger.epsilon_claimed:
            claimed, bound = self.ledger.epsilon_claimed, self.ledger.epsilon_bound
            case = f"{'read' if self.reading_note else 'printed'}_{self.ledger.relation}"
            values = {"claimed": number(claimed), "bound": number(bound)}
            return sentence("refuted", case, why=say(self.reading_note), **values)
        return ""

    @property
    def attackable(self) -> str:
        """A warning where the proof holds except for floating-point noise; empty elsewhere."""
        proved = math.isfinite(self.ledger.epsilon_bound) and not self.ledger.guarantee_void
        return say(TEACHING) if proved and not self.exactly_sampled else ""

    @property
    def origin(self) -> dict[str, Any]:
        """The facts on how a release was made that the file of a model holds.

        They are the method, its mode, the relation, the privacy unit, the noise, and the epsilons.
        """
        unit = self.schema.unit
        return {
            "method": self.method,
            "mode": self.parameters["mode"],
            "relation": str(self.ledger.relation),
            **({} if unit is None else {"unit": describe_unit(unit, self.ledger.relation, delta=self.ledger.delta)}),
            "noise": f"{self.noise_label}. {self.attackable}" if self.attackable else self.noise_label,
            "guarantee_void": self.guarantee_void,
            "epsilon_claimed": self.ledger.epsilon_claimed,
            "epsilon_bound": self.ledger.epsilon_bound,
            **({"delta": self.ledger.delta} if self.ledger.delta else {}),
        }

    def config(self) -> dict[str, Any]:
        """Return the settings of the run as JSON-ready values."""
        return {
            "format": "dpcore release 1",
            "method": self.method,
            "class": self.class_name,
            "parameters": {key: finite_or_text(value) for key, value in self.parameters.items()},
            "data": {"name": self.data_name},
            "schema_source": self.schema.source,
            **({} if {*self.schema.origins} == {"declared"} else {"schema_origins": self.schema.origins}),
            **({} if self.schema.unit is None else {"unit": self.schema.unit.to_dict()}),
            "noise": self.noise_label,
            **({"page": dict(self.page)} if self.page else {}),
            **self.artifact.config(),
        }


def make_release(
    fitted: PrivateEstimator,
    method: str,
    synthetic: pd.DataFrame | None = None,
    *,
    data_name: str,
    seconds: float = math.nan,
    reading: Mapping[str, Any] | None = None,
) -> Release:
    """Return the release of a fitted method.

    Parameters
    ----------
    fitted : PrivateEstimator
        A fitted classifier or synthesizer, or fitted `PlainStatistics`.
    method : str
        The method's title, for people.
    synthetic : DataFrame, optional
        The rows that were sampled from a synthesizer.
    data_name : str
        The name of the data set, for people.
    seconds : float, optional
        How long the fit took.
    reading : mapping, optional
        `Dataset.reading`, if the rows are from a file.

    Returns
    -------
    Release
        What `bundle`, `make_report`, `make_notebook` and `show_code` take.

    Raises
    ------
    ParameterError
        If the rows are lacking, or the method is not fitted.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> method = dp.IndependentMarginals().fit(data.train, schema=data.schema)
    >>> rows = method.sample(100)
    >>> release = dp.export.make_release(method, "Independent marginals", rows, data_name="sample")
    >>> release.guarantee_void
    ''
    """
    fitted._check_fitted()
    made = Release(
        artifact=artifact_of(fitted, synthetic),
        method=writable(method),
        class_name=type(fitted).__name__,
        parameters=fitted.get_params(deep=False),
        schema=fitted.schema_,
        ledger=fitted.ledger_,
        noise_label=fitted.noise_label_,
        exactly_sampled=fitted.exactly_sampled_,
        data_name=writable(data_name),
        seconds=seconds,
        reading=reading,
        reading_note=fitted.reconstruction_note if fitted.mode == "published" else "",
        rows=fitted._row_estimate,
    )
    if not isinstance(made.artifact, Model):
        return made
    return replace(made, artifact=replace(made.artifact, origin=made.origin))


release_of = make_release  # as scripts call it that were taken home with a classifier


def artifact_of(fitted: PrivateEstimator, synthetic: pd.DataFrame | None) -> Artifact:
    """Return the artifact that a fitted method released."""
    if isinstance(fitted, PlainStatistics):
        return Answers(answers=fitted.answers())
    released = fitted.released_artifacts()
    if isinstance(fitted, PrivateClassifier):
        sizes = {name: int(getattr(fitted, f"{name}_")) for name in SIZES if hasattr(fitted, f"{name}_")}
        reports: Reports | None = getattr(fitted, "reports_", None)
        if reports is not None and fitted.schema_.persons is not None:
            reports = replace(reports, rows=fitted.schema_)  # which says how many of them a person has
        return Model(contents=released, reports=reports, schema=fitted.schema_, target=fitted.target_, sizes=sizes)
    if synthetic is None:
        raise ParameterError("A release of a synthesizer holds rows.", "Pass method.sample(n) after the name.")
    kind = Network if "families" in released else CountTree if "tree" in released else SyntheticRows
    usual = isinstance(fitted, Synthesizer) and len(synthetic) == fitted.estimated_rows()
    return kind(contents=released, synthetic=synthetic, replay_rows=None if usual else len(synthetic))
