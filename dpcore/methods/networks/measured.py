"""What methods share that fit the distribution of maximal entropy to tables of columns and pairs that they measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Codes, code_dtype
from dpcore.domain.partition import block_columns
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.methods.base import Synthesizer
from dpcore.methods.networks.base import list_families
from dpcore.methods.parameters import choice, fitted_field
from dpcore.postprocess import junction_tree
from dpcore.postprocess.junction_tree import Clique, Edge
from dpcore.postprocess.max_entropy import MaximalEntropy, one_hot
from dpcore.postprocess.simplex import draw_given, rows_to_one


class CliqueSynthesizer(Synthesizer):
    """Base of methods that release the cliques of a junction tree.

    Attributes
    ----------
    cliques_ : list of tuples of column names
        The junction tree, from its root downwards.
    parents_ : list of int
        For each clique the position of its parent, -1 for the root.
    tables_ : list of arrays
        Each clique's counts, an axis per column in groups.
    """

    page = "networks"
    cliques_: list[tuple[str, ...]] = fitted_field()
    parents_: list[int] = fitted_field()
    tables_: list[Floats] = fitted_field()

    def _describe_tree(self, clusters: Sequence[int], losses: Sequence[float]) -> dict[str, Any]:
        """The cliques as families, each with its cluster and loss, and the junction tree's edges."""
        names = [", ".join(clique) for clique in self.cliques_]
        edges = [[names[up], name] for name, up in zip(names, self.parents_, strict=True) if up >= 0]
        families = list_families(self, self.cliques_, clusters, losses)
        return {"families": families, "edges": edges}

    @property
    def _cliques(self) -> list[Clique]:
        return [tuple(self.schema_.index(name) for name in clique) for clique in self.cliques_]

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        rows = junction_tree.sample_rows(self._cliques, self.parents_, self.tables_, n, rng)
        return rows.astype(code_dtype(max(self.schema_.sizes)), order="F")


class MeasuredTables(CliqueSynthesizer):
    """Base of methods whose junction tree is over columns in groups of values.

    They release as well what tells values apart that the model has as one.

    Parameters
    ----------
    mode
        There is no other.

    Attributes
    ----------
    rows_ : float
        The number of rows: public, or estimated from noisy answers.
    margins_ : list of arrays of shape (values,)
        Per column: the released counts.
    groups_ : list of int arrays of shape (values,)
        Per column: the model's value of each value.
    pairs_ : list of tuples of column names
        What was chosen, in this order.
    epsilons_ : list of float
        What was charged for the marginals that a clique holds first, of rho if there is a delta;
        what they cost together is in equal parts.
    """

    mode: str = choice(default="corrected", options=("corrected",))
    rows_: float = fitted_field()
    margins_: list[Floats] = fitted_field()
    groups_: list[Ints] = fitted_field()
    pairs_: list[tuple[str, ...]] = fitted_field()
    epsilons_: list[float] = fitted_field()

    def _keep(
        self,
        schema: Schema,
        model: MaximalEntropy,
        rows: float,
        groups: list[Ints],
        pairs: Sequence[Clique],
        losses: Sequence[tuple[Clique, float]],
        marginals: list[Floats] | None = None,
    ) -> None:
        """Set what was learned; `losses` has what was measured. Without margins, values of a group are as frequent."""
        even = ((model.marginal((j,)) * rows / np.bincount(own))[own] for j, own in enumerate(groups))
        self.rows_, self.margins_, self.groups_ = rows, marginals or list(even), groups
        self.pairs_ = column_names(schema, pairs)
        self.cliques_, self.parents_ = column_names(schema, model.cliques), list(model.parents)
        self.tables_ = [belief * self.rows_ for belief in model.beliefs]
        self.epsilons_ = [0.0] * len(model.cliques)
        for scope, loss in losses:
            holder = next(i for i, clique in enumerate(model.cliques) if set(scope) <= set(clique))
            self.epsilons_[holder] += loss

    def released(self) -> dict[str, Any]:
        """Return the cliques as `families`, and the junction tree's `edges`."""
        return self._describe_tree([1] * len(self.cliques_), self.epsilons_) | {"clusters": []}

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        codes = super()._sample(n, rng)
        for j, within in enumerate(self._within):
            codes[:, j] = draw_given(within, codes[:, j], rng)
        return codes

    def _expected(self, size: int) -> dict[Edge, Floats]:
        """The counts of all pairs of columns' values that so many rows are expected to have."""
        model, within = MaximalEntropy([table / table.sum() for table in self.tables_], self._cliques), self._within
        return {(a, b): within[a].T @ (table * size) @ within[b] for (a, b), table in model.pairs().items()}

    @property
    def _within(self) -> list[Floats]:
        """P(value | the model's value), per column."""
        both = zip(self.groups_, self.margins_, strict=True)
        return [rows_to_one(one_hot(groups) * marginal) for groups, marginal in both]


def column_names(schema: Schema, cliques: Iterable[Clique]) -> list[tuple[str, ...]]:
    """The names of the columns at the positions of some cliques."""
    return [tuple(schema.names[j] for j in clique) for clique in cliques]


def in_groups(table: PrivateTable, groups: Mapping[int, Ints]) -> PrivateTable:
    """Some columns of a table, by position, with values in groups: record by record, hence free."""
    names = table.schema.names
    return table.recode(*block_columns(table.schema, [(names[j], names[j], own) for j, own in groups.items()]))
