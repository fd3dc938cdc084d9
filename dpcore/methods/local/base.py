"""What the classifiers share that learn from randomized answers."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import ClassVar, Self

import numpy as np

from dpcore.accounting.relation import Relation
from dpcore.arguments import Progress, no_progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import NoNoise, exactly_sampled
from dpcore.mechanisms.randomizers import CategoryChannel
from dpcore.methods.base import Measurement, PrivateClassifier, clique
from dpcore.methods.local.estimated_nodes import Stops
from dpcore.methods.parameters import CORRECTED, Control, learned, number, text, whole
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import Family, Questionnaire, Recoded, Reports
from dpcore.rows import NumberRule

Survey = tuple[Questionnaire, Mapping[Family, str], Schema, Recoded]

MOST_ALPHA = 1e6
WIDEST = 1e100  # numbers are squared
EPSILONS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
ABOUT = phrase(
    "About you: what you answered, all your answers together. Worst case over all observers, the collector among "
    "them; for one round of questions. Holds with a declared schema and without a seed; as published, only "
    "where its proof holds."
)
HIDDEN = phrase("Hides what you answer, not whether you take part.")
LOTS = {"auto": phrase("Exactly sampled (for publication)"), "laplace": phrase("NumPy (teaching)")}
P0 = (0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95)
UNLESS, DEPTHS = "by default, as printed and corrected,", {"published": 10, "corrected": 5}
NO_EPSILON = phrase("The paper knows no epsilon: it was written before that was a habit.")
CLEAR = phrase("The class is handed in as it is. The paper knows no epsilon: it was written before that was a habit.")


class LocalClassifier(PrivateClassifier):
    """Base of methods that learn from answers which people randomize first (local DP)."""

    paper = "004"
    page = "responses"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    learning: ClassVar[tuple[str, ...]] = ()  # parameters that matter once people have reported
    provable = "epsilon, local"
    seen = phrase("your reports")
    controls: ClassVar[tuple[Control, ...]] = (
        Control("epsilon", "Privacy budget epsilon", steps=EPSILONS, initial=4.0, note=ABOUT, when=CORRECTED),
        Control("relation", "What is protected: one row", note=HIDDEN),
        Control("noise", "Coins and noise", LOTS),
    )
    relation: str = text(
        default="replace", kind="{'replace'}", about="Reports hide what people say, not who takes part."
    )
    reports_: Reports = learned("Reports", "What the collector has; all else is made of it.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        progress(0.0, phrase("everyone reports"))
        self.reports_ = self._collect(table)
        self.noise_label_ = self._noise_of(self.reports_)
        self._learn(progress)

    def _collect(self, table: PrivateTable) -> Reports:
        """What everybody answers."""
        questions, reasons, schema, recoded = self._survey(table)
        paper, own = self._published, table.recode(schema, recoded) if recoded else table
        told = own.randomize(questions, claimed_epsilon=inf if paper else None, reasons=reasons if paper else {})
        return replace(told, rows=table.schema, recoded=recoded, target=self._target(table.schema, self.target))

    @abstractmethod
    def _survey(self, table: PrivateTable) -> Survey:
        """What everybody reports, of their rows or of what public rules make of them.

        Record by record, and free. What a paper prints claims no epsilon, for reasons by family.
        """

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        questions, _, schema, _ = self._survey(table)
        found, rows = list[Measurement](), table.public_rows or 1
        for family, channel in questions.channels.items():
            if isinstance(channel, CategoryChannel):
                share = questions.asked / max(len(questions.optional), 1)
                people = rows * (share if family in questions.optional else 1.0)
                variance = channel.variance(np.full(channel.size, 1 / channel.size), people).mean()
                columns = [schema.index(name) for name in family]
                found.append(clique(schema.sizes, columns, float(variance) * rows**2))
        return found

    def learn(self, reports: Reports, *, progress: Progress = no_progress) -> Self:
        """Learn from reports that were collected, as `fit` does from its own.

        Post-processing, at no privacy loss. What the reports cost the people is not known here, so
        there is no `ledger_`, and no `exactly_sampled_`.

        Parameters
        ----------
        reports : Reports
            `reports_` of a fit, or those of a file (`dpcore.export.collection`).
        progress : callable, optional
            Called with a fraction and a text; raising inside it stops.

        Returns
        -------
        self
            Fitted, without a ledger.

        Raises
        ------
        ParameterError
            If they do not tell what this method learns from, or its parameters do not fit them.
        """
        schema = reports.source
        self.check(schema)
        if self._target(schema, self.target or reports.target) != reports.target:
            raise ParameterError("These reports were collected for another class.", "Leave target= out.")
        if why := self.untold(reports):
            raise ParameterError(f"{self.title} cannot learn from these reports. {why}", "Use another method.")
        self._forget()
        self.reports_ = reports
        try:
            self._learn(progress)
        except BaseException:
            self._forget()
            raise
        self.target_, self.classes_ = reports.target, np.array(schema[reports.target].labels, dtype=object)
        self.noise_label_ = phrase("As the reports were made")
        self.schema_ = schema
        return self

    def untold(self, reports: Reports) -> str:
        """Return why this method cannot learn from some reports, in a sentence; empty if it can.

        Parameters
        ----------
        reports : Reports
            The reports.

        Returns
        -------
        str
            The sentence.
        """
        return "It learns from true answers."

    def _learn(self, progress: Progress) -> None:
        """Learn from `reports_`, which tell what is needed."""

    def _noise_of(self, reports: Reports) -> str:
        """Which noise is in the reports, and whose lots people toss, in words."""
        rules = dict.fromkeys(channel.mechanism for channel in reports.channels.values() if not channel.truthful)
        if not rules:
            return NoNoise.label.capitalize()
        told = " and ".join(rules)
        lots = f"NumPy's random numbers, {'un' * (self.random_state is None)}seeded: for teaching"
        if exactly_sampled(self.noise, self.random_state):
            lots = "chance from the operating system's entropy" + ", exactly sampled noise" * ("laplace" in rules)
        return f"{told[:1].upper()}{told[1:]}; {lots}"

    def _numbers(self, schema: Schema) -> dict[int, NumberRule]:
        """Numbers to be randomized, moved into their bounds; a missing one is taken for the middle."""
        found: dict[int, NumberRule] = {}
        for position, column in enumerate(schema):
            if column.numeric:
                low, high = float(column.lower or 0.0), float(column.upper or 0.0)
                if high - low > WIDEST:
                    raise ParameterError(f"The bounds of {column.name!r} are too far apart.", "Declare narrower ones.")
                found[position] = partial(np.nan_to_num, nan=(low + high) / 2)
        return found


class LocalTree(LocalClassifier):
    """Base of methods that learn one decision tree from reports."""

    best_for = "comparison"
    learning = ("max_depth", "min_support", "min_entropy", "certainty", "variant", "intervals")
    artifacts: ClassVar[tuple[str, ...]] = ("forest",)
    controls: ClassVar[tuple[Control, ...]] = (
        Control("max_depth", "Depth at most", within=(1, 20), initial=lambda method, _: DEPTHS[method.mode]),
    )
    max_depth: int | None = whole(
        default=None, most=20, about=f"The most divisions from the root to a leaf; {UNLESS} 10 and 5."
    )
    min_support: float | None = number(
        default=None,
        least=0.001,
        most=1,
        open=")",
        about=f"Nodes with a smaller share of all people are leaves; {UNLESS} .001 and .02.",
    )
    forest_: Forest = learned("Forest", "One tree.")

    def _stops(self) -> Stops:
        """When nodes are leaves. As printed they stop nearly where ID3 does, where nothing is left to divide."""
        depth, support = (10, 0.001) if self._published else (5, 0.02)
        return Stops(self.max_depth or depth, support if self.min_support is None else self.min_support)
