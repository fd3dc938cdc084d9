"""What is released: rows, and what they were drawn from (a network or a tree of counts), each as its own type.

An artifact knows its headline, and the files that hold it. A classifier is one, too: `model_file.Model`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.domain.documents import json_ready, json_text
from dpcore.export.quoting import spreadsheet_csv
from dpcore.language import phrase
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.reports import Reports

Table = Literal["csv", "parquet"]
Picture = tuple[Any, pd.DataFrame]
"""A chart, and the numbers behind it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Artifact(ABC):
    """What was released of one run: rows, a network, counts, or a classifier.

    Parameters
    ----------
    released : mapping
        It, by its names in files (`PrivateEstimator.released`).
    reports : Reports, optional
        The randomized answers that it was learned from, where people randomize their own.
    """

    title: ClassVar[str]

    released: Mapping[str, Any] = field(default_factory=dict)
    reports: Reports | None = None

    @property
    def structure(self) -> dict[str, Any]:
        """`released` as JSON-ready values, for files."""
        return {name: json_ready(part) for name, part in self.released.items()}

    @property
    @abstractmethod
    def size(self) -> tuple[str, str]:
        """How much was released, for a headline: of what, and how many."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Return what `config.json` says of it."""

    @abstractmethod
    def files(self, table: Table) -> dict[str, str | bytes]:
        """Return the files that hold it.

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
class Rows(Artifact):
    """Synthetic rows; a replay makes `replay_rows`, or as many as it says itself."""

    title = phrase("Synthetic data")

    synthetic: pd.DataFrame
    replay_rows: int | None = None

    @property
    def size(self) -> tuple[str, str]:
        return phrase("Synthetic rows"), f"{len(self.synthetic):,}"

    def config(self) -> dict[str, Any]:
        return {} if self.replay_rows is None else {"rows": self.replay_rows}

    def files(self, table: Table) -> dict[str, str | bytes]:
        rows = self.synthetic
        written = spreadsheet_csv(rows) if table == "csv" else rows.to_parquet(index=False)
        found: dict[str, str | bytes] = {f"synthetic.{table}": written}
        if self.released:
            found["structure.json"] = json_text(self.structure, 1)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Network(Rows):
    """Synthetic rows, and the network that they were drawn from."""

    @cached_property
    def families(self) -> pd.DataFrame:
        """The families, a row each; noiseless tables, which have no finite price, count as free.

        `epsilon` is what each was charged, which is of rho where there is a column `rho`.
        """
        frame = pd.DataFrame(self.released["families"])
        prices = pd.to_numeric(frame["rho" if "rho" in frame else "epsilon"], errors="coerce")
        return frame.assign(epsilon=prices.where(np.isfinite(prices), 0.0))

    @property
    def clusters(self) -> list[list[str]]:
        """The clusters' columns, or bits; empty if one network holds all columns."""
        found: list[list[str]] = self.released["clusters"]
        return found

    @property
    def similarity(self) -> pd.DataFrame:
        """The noisy scores (`score`) of pairs (`a`, `b`) that the clusters come from; empty without any."""
        names, scores = (self.released.get("similarity", {}).get(key, []) for key in ("names", "scores"))
        pairs = [(a, b, scores[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i < j]
        return pd.DataFrame(pairs, columns=["a", "b", "score"])

    @property
    def junction_tree(self) -> bool:
        """Whether the families are cliques, and a tree connects them."""
        return "edges" in self.released

    def picture(self, longest: int = 40) -> Picture:
        """The graph, with names of at most so many letters, and the families behind it."""
        frame = self.families
        if not self.junction_tree:
            return charts.network(frame, longest), frame
        cliques = [[family["child"], *family["parents"]] for family in self.released["families"]]
        nodes = [*map(", ".join, cliques)]
        held = {node: {*clique} for node, clique in zip(nodes, cliques, strict=True)}
        # The tree joins cliques that share no column as well: nothing was measured between those.
        joined = [edge for edge in self.released["edges"] if held[edge[0]] & held[edge[1]]]
        edges = pd.DataFrame(joined, columns=["a", "b"])
        # One tree, hence one cluster; which table a clique comes from is another matter.
        return charts.graph(edges, frame.assign(node=nodes, cluster=1), longest), frame


@dataclass(frozen=True, eq=False, kw_only=True)
class CountTree(Rows):
    """Synthetic rows, and the tree of noisy counts that they were drawn from."""

    @property
    def tree(self) -> ReleasedTree:
        """The tree."""
        found: ReleasedTree = self.released["tree"]
        return found

    @property
    def leaf_counts(self) -> Floats:
        """The published counts of the finest groups."""
        found: Floats = self.released["leaf_counts"]
        return found

    @cached_property
    def generalized(self) -> pd.DataFrame:
        """The generalized rows with their counts."""
        return self.tree.rows(self.leaf_counts)

    def files(self, table: Table) -> dict[str, str | bytes]:
        own = {"structure.json": json_text(self.structure), "generalized.csv": spreadsheet_csv(self.generalized)}
        return super().files(table) | own
