"""What is released: rows, a network or tree that they were drawn from, a classifier, or answers.

An artifact knows its headline, and the files that hold it. A classifier predicts without the
private rows, on another day and another computer: its file is JSON, and checked when it is read;
nothing in it is ever run.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.charts.answers import TOO_FEW
from dpcore.domain.documents import json_ready, json_text, json_value
from dpcore.domain.former_names import LABELS, VALUES
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.export.rendering import spreadsheet_csv
from dpcore.language import phrase
from dpcore.methods.registry import advise
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.group_tree import GroupTree
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports
from dpcore.text import finite_or_text

TableFormat = Literal["csv", "parquet"]
Picture = tuple[Any, pd.DataFrame]
"""A chart, and the numbers behind it."""

FORMAT = "dpcore model 1"
REMEDY = f"Choose a model.json that this program exported.{advise('DPEBM')}"
MEND = "Mend the file and hand it over again; the model knows no other columns and values than its schema's."
PREDICTORS: dict[str, Any] = {"bayes": Bayes, "forest": Forest, "classifier": GroupTree}
ABOUT: dict[str, Any] = {
    **dict.fromkeys(("method", "mode", "relation", "noise", "guarantee_void"), str),
    **dict.fromkeys(("epsilon_claimed", "epsilon_bound"), int | float),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Artifact(ABC):
    """What one run released: rows, a network, a tree of counts, a classifier, or answers.

    Parameters
    ----------
    contents : mapping
        The released values by their names in files (`PrivateEstimator.released_artifacts`).
    reports : Reports, optional
        The randomized answers that it was learned from, where people randomize their own.
    """

    title: ClassVar[str]

    contents: Mapping[str, Any] = field(default_factory=dict)
    reports: Reports | None = None

    @property
    def structure(self) -> dict[str, Any]:
        """Return `contents` as JSON-ready values, for files."""
        return {name: json_ready(part) for name, part in self.contents.items()}

    @property
    @abstractmethod
    def size(self) -> tuple[str, str]:
        """What was released and how much, as two texts for a headline."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Return the artifact's entries of `config.json`."""

    @abstractmethod
    def files(self, table: TableFormat) -> dict[str, str | bytes]:
        """Return the contents of the artifact's files, by name.

        Parameters
        ----------
        table : {"csv", "parquet"}
            The format of rows.

        Returns
        -------
        dict of str to str or bytes
            The contents by file name.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class SyntheticRows(Artifact):
    """Released synthetic rows.

    A replay makes `replay_rows` rows, or by default as many as the method chooses.
    """

    title = phrase("Synthetic data")

    synthetic: pd.DataFrame
    replay_rows: int | None = None

    @property
    def size(self) -> tuple[str, str]:
        return phrase("Synthetic rows"), f"{len(self.synthetic):,}"

    def config(self) -> dict[str, Any]:
        return {} if self.replay_rows is None else {"rows": self.replay_rows}

    def files(self, table: TableFormat) -> dict[str, str | bytes]:
        rows = self.synthetic
        written = spreadsheet_csv(rows) if table == "csv" else rows.to_parquet(index=False)
        found: dict[str, str | bytes] = {f"synthetic.{table}": written}
        if self.contents:
            found["structure.json"] = json_text(self.structure, 1)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Network(SyntheticRows):
    """Released synthetic rows, and the Bayesian network that they were sampled from."""

    @cached_property
    def families(self) -> pd.DataFrame:
        """The network's families, one row each, with the loss `epsilon` that each was charged.

        The loss is rho where there is a column `rho`. Noiseless marginals, whose loss is infinite,
        count as 0.
        """
        frame = pd.DataFrame(self.contents["families"])
        losses = pd.to_numeric(frame["rho" if "rho" in frame else "epsilon"], errors="coerce")
        return frame.assign(epsilon=losses.where(np.isfinite(losses), 0.0))

    @property
    def clusters(self) -> list[list[str]]:
        """The columns, or bits, of each cluster of columns; empty if one network holds all columns.

        Each cluster has a network of its own.
        """
        found: list[list[str]] = self.contents["clusters"]
        return found

    @property
    def similarity(self) -> pd.DataFrame:
        """The noisy similarity `score` of columns `a` and `b`, by which columns are clustered.

        The frame has a row per pair. It is empty if the method makes no clusters.
        """
        names, scores = (self.contents.get("similarity", {}).get(key, []) for key in ("names", "scores"))
        pairs = [(a, b, scores[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i < j]
        return pd.DataFrame(pairs, columns=["a", "b", "score"])

    @property
    def junction_tree(self) -> bool:
        """Whether the families are cliques that a junction tree connects."""
        return "edges" in self.contents

    def picture(self, longest: int = 40) -> Picture:
        """Return a chart of the network's graph, and the table of its families.

        `longest` is the most letters of a column's name in the chart.
        """
        frame = self.families
        if not self.junction_tree:
            return charts.network(frame, longest), frame
        cliques = [[family["child"], *family["parents"]] for family in self.contents["families"]]
        nodes = [*map(", ".join, cliques)]
        held = {node: {*clique} for node, clique in zip(nodes, cliques, strict=True)}
        # The tree joins cliques that share no column as well: nothing was measured between those.
        joined = [edge for edge in self.contents["edges"] if held[edge[0]] & held[edge[1]]]
        edges = pd.DataFrame(joined, columns=["a", "b"])
        # One tree, hence one cluster; which table a clique comes from is another matter.
        return charts.graph(edges, frame.assign(node=nodes, cluster=1), longest), frame


@dataclass(frozen=True, eq=False, kw_only=True)
class CountTree(SyntheticRows):
    """Released synthetic rows, and the tree of noisy counts that they were sampled from."""

    @property
    def tree(self) -> ReleasedTree:
        """The released tree of noisy counts."""
        found: ReleasedTree = self.contents["tree"]
        return found

    @property
    def leaf_counts(self) -> Floats:
        """The released counts of the finest groups, one per leaf of the tree."""
        found: Floats = self.contents["leaf_counts"]
        return found

    @cached_property
    def generalized_rows(self) -> pd.DataFrame:
        """The leaves of the tree as rows of generalized values, with their counts."""
        return self.tree.rows(self.leaf_counts)

    def files(self, table: TableFormat) -> dict[str, str | bytes]:
        own = {"structure.json": json_text(self.structure), "generalized.csv": spreadsheet_csv(self.generalized_rows)}
        return super().files(table) | own


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers(Artifact):
    """Released answers: plain statistics, with intervals of the noise and of sampling.

    `answers` has a row per statistic, group and value, as they were declared
    (`PlainStatistics.answers`).
    """

    title = phrase("Answers")

    answers: pd.DataFrame

    @property
    def size(self) -> tuple[str, str]:
        return phrase("Answers"), f"{len(self.answers):,}"

    def config(self) -> dict[str, Any]:
        return {}

    def files(self, table: TableFormat) -> dict[str, str | bytes]:
        return {"answers.csv": spreadsheet_csv(self.file_table)}

    @property
    def file_table(self) -> pd.DataFrame:
        """The answers with the value and both ends of its interval first."""
        first = ["statistic", "group", "of", "value", "low", "high"]
        return self.answers[[*first, *self.answers.columns.drop(first)]]

    @property
    def names(self) -> list[str]:
        """The statistics as text, in order."""
        return list(dict.fromkeys(self.answers["statistic"]))

    @property
    def table(self) -> pd.DataFrame:
        """The answers for readers: a note says in words where there are too few rows to tell."""
        note = np.where(self.answers["too_few"], TOO_FEW, "")
        table = self.answers.drop(columns="too_few")
        table.insert([*table].index("value") + 1, "note", note)
        return table

    def picture(self, statistic: str, **style: Any) -> Picture:
        """Return a chart of one statistic's answers, and their table.

        `style` has further arguments of `charts.answers`.
        """
        table = self.table[self.answers["statistic"] == statistic]
        drawn = charts.answers(table.rename(columns={"value": "estimate"}), title=statistic, **style)
        return drawn, table.drop(columns="statistic")


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Artifact):
    """A released classifier, and the facts about its training that its file holds.

    Parameters
    ----------
    contents : mapping, optional
        The predictor by its name in files (`PrivateEstimator.released_artifacts`).
    reports : Reports, optional
        The randomized answers that it was learned from.
    schema : Schema
        The schema of rows to predict.
    target : str
        The class column.
    origin : mapping, optional
        `method`, `mode`, `relation`, `unit` (whom it protects, in words, if one is declared),
        `noise`, `epsilon_claimed`, `epsilon_bound` (infinite if nothing can be proved) and
        `guarantee_void` (a sentence, or empty). Of a model from a file, it is what the file says.
    sizes : mapping, optional
        Parameters that were left to a rule, and what it gave.
    """

    title = "A classifier"

    schema: Schema
    target: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)  # parameters that were left to a rule, and what it gave

    @property
    def predictor(self) -> Forest | Bayes:
        """The classifier: a forest, or the counts and normal distributions of naive Bayes."""
        found: Forest | Bayes = next(self.contents[name] for name in PREDICTORS if name in self.contents)
        return found

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the schema's order."""
        return np.array(self.schema[self.target].labels, dtype=object)

    @property
    def size(self) -> tuple[str, str]:
        found = self.predictor
        if isinstance(found, Bayes):
            return phrase("Columns in use"), f"{len(found.columns):,}"
        if isinstance(found, GroupTree):
            return phrase("Nodes of the tree"), f"{len(found.tree):,}"
        return phrase("Trees"), f"{found.trees:,}"

    def config(self) -> dict[str, Any]:
        return {"target": self.target, "classes": self.classes_.tolist(), "sizes": dict(self.sizes)}

    def files(self, table: TableFormat) -> dict[str, str | bytes]:
        return {"model.json": self.to_json()}

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """Predict the probability of each class for every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows. The class is not needed.

        Returns
        -------
        float array of shape (n, classes)
            The probabilities, columns as in `classes_`.

        Raises
        ------
        DataError
            If a column is lacking or a cell does not fit its declaration.
        """
        lacking = [name for name in self.schema.names if name != self.target and name not in frame.columns]
        if lacking:
            more = f" and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
            raise DataError(f"The file lacks columns that the model needs: {', '.join(lacking[:3])}{more}.", MEND)
        try:
            return self.predictor.probability(frame)
        except DataError as error:
            raise DataError(error.cause, MEND) from None

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Predict the most probable class of every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            As for `predict_proba`.

        Returns
        -------
        array of str, shape (n,)
            The classes; the first in the schema's order if several are as probable.

        Raises
        ------
        DataError
            As for `predict_proba`.
        """
        return np.asarray(self.classes_[self.predict_proba(frame).argmax(axis=1)])

    def predictions(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the predicted class and its probability as the last two columns.

        Of trees, the probability is the class's share in the leaves that a row falls into, the mean
        over the trees; it is not the share of the trees' votes, which says nothing if there are
        few.

        Parameters
        ----------
        frame : DataFrame of n rows
            As for `predict_proba`.

        Returns
        -------
        DataFrame of n rows
            A copy with two columns more.

        Raises
        ------
        DataError
            As for `predict_proba`.
        """
        best = self.predict_proba(frame).argmax(axis=1)
        sure = self.predictor
        if isinstance(sure, Forest):
            sure = replace(sure, vote="probability")
        shares = sure.probability(frame)[np.arange(len(frame)), best]
        found = frame.copy()
        for name, values in ((f"predicted {self.target}", self.classes_[best]), ("probability", shares.round(4))):
            while name in found.columns:
                name += " (model)"
            found[name] = values
        return found

    def to_json(self) -> str:
        """Return the model as text that `from_json` reads back."""
        document = {
            "format": FORMAT,
            "target": self.target,
            "classes": self.classes_.tolist(),
            "about": {key: finite_or_text(value) for key, value in self.origin.items()},
            "schema": json.loads(self.schema.to_json()),
            "structure": self.structure,
        }
        return json_text(document)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a model from its file's text.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote; bytes are UTF-8.

        Returns
        -------
        Model
            The classifier.

        Raises
        ------
        SchemaError
            If it is none, or damaged.
        """
        cause = "This file holds no model that can be read"
        document = json_value(text, SchemaError, cause, REMEDY)
        try:
            if document["format"] != FORMAT or not isinstance(document["structure"], dict):
                raise ValueError
            schema, values = Schema.from_json(json.dumps(document["schema"])), values_of(document["about"])
            released = {
                name: PREDICTORS[name].from_dict(schema, part) if name in PREDICTORS else part
                for name, part in document["structure"].items()
            }
            found = cls(schema=schema, target=str(document["target"]), contents=released, origin=values)
            predictor = found.predictor
            deep = isinstance(predictor, Forest) and predictor.level.max() >= len(predictor.level)
            if predictor.target != found.target or schema[found.target].numeric or deep:
                raise ValueError
        except (ValueError, KeyError, TypeError, StopIteration):
            raise SchemaError(f"{cause}.", REMEDY) from None
        return found


def values_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Read from a file's document how a model or a report was made.

    The values are the method, its mode, the relation, the noise, why the guarantee is void, and the
    claimed and proven epsilon. ValueError, KeyError or TypeError if one is missing or wrong.
    """
    kinds = ABOUT | {"unit": str} if "unit" in document else ABOUT
    values: dict[str, Any] = {key: math.inf if document[key] == "infinity" else document[key] for key in kinds}
    if not all(isinstance(values[key], kind) and not isinstance(values[key], bool) for key, kind in kinds.items()):
        raise TypeError
    if not (values["epsilon_claimed"] >= 0 and values["epsilon_bound"] >= 0):
        raise ValueError
    mode, method = values["mode"], values["method"]
    return values | {"mode": VALUES["mode"].get(mode, mode), "method": LABELS.get(method, method)}
