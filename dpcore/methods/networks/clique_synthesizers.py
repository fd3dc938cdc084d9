"""Base of methods that fit a maximum-entropy distribution to noisy marginals."""

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
    """Base of methods that release the marginals of a junction tree's cliques.

    Attributes
    ----------
    cliques_ : list of tuples of column names
        The junction tree, from its root downwards.
    parents_ : list of int
        For each clique the position of its parent, -1 for the root.
    tables_ : list of arrays
        Each clique's counts, with one axis per column (of merged values).
    """

    page = "networks"
    cliques_: list[tuple[str, ...]] = fitted_field()
    parents_: list[int] = fitted_field()
    tables_: list[Floats] = fitted_field()

    def _describe_tree(self, clusters: Sequence[int], losses: Sequence[float]) -> dict[str, Any]:
        """Return the cliques as `families`, and the junction tree's `edges`.

        `clusters` and `losses` have the cluster number and the privacy loss of each clique.
        """
        names = [", ".join(clique) for clique in self.cliques_]
        edges = [[names[up], name] for name, up in zip(names, self.parents_, strict=True) if up >= 0]
        return {"families": list_families(self, self.cliques_, clusters, losses), "edges": edges}

    @property
    def _cliques(self) -> list[Clique]:
        """The cliques as tuples of column positions."""
        return [tuple(self.schema_.index(name) for name in clique) for clique in self.cliques_]

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return the codes of `n` rows, sampled along the junction tree."""
        rows = junction_tree.sample_rows(self._cliques, self.parents_, self.tables_, n, rng)
        return rows.astype(code_dtype(max(self.schema_.sizes)), order="F")


class MaxEntropySynthesizer(CliqueSynthesizer):
    """Base of methods whose junction tree is over columns with merged values.

    The release also has counts of the single values, which split merged values again when rows are
    sampled.

    Parameters
    ----------
    mode
        Only 'corrected'.

    Attributes
    ----------
    rows_ : float
        Number of rows: public, or estimated from noisy answers.
    marginals_ : list of arrays of shape (values,)
        Per column: the released counts of its values.
    groups_ : list of int arrays of shape (values,)
        Per column: the merged value (code in the model) of each value.
    pairs_ : list of tuples of column names
        The selected cliques, in order of selection.
    epsilons_ : list of float
        Per clique: the epsilon of its marginals (rho if there is a delta). A marginal counts for
        the first clique that contains it.
    """

    mode: str = choice(default="corrected", options=("corrected",))
    rows_: float = fitted_field()
    marginals_: list[Floats] = fitted_field()
    groups_: list[Ints] = fitted_field()
    pairs_: list[tuple[str, ...]] = fitted_field()
    epsilons_: list[float] = fitted_field()

    def _set_model(
        self,
        schema: Schema,
        model: MaximalEntropy,
        rows: float,
        groups: list[Ints],
        pairs: Sequence[Clique],
        losses: Sequence[tuple[Clique, float]],
        marginals: list[Floats] | None = None,
    ) -> None:
        """Set all learned attributes from a fitted model.

        `rows` is the total number of rows, `groups` the merged value of each value per column, and
        `pairs` the selected cliques. `losses` has each measured clique with its privacy loss.
        `marginals` has the counts of values per column; without it, the values of a group get equal
        counts.
        """
        even = ((model.marginal((j,)) * rows / np.bincount(own))[own] for j, own in enumerate(groups))
        self.rows_, self.marginals_, self.groups_ = rows, marginals or list(even), groups
        self.pairs_ = column_names(schema, pairs)
        self.cliques_, self.parents_ = column_names(schema, model.cliques), list(model.parents)
        self.tables_ = [belief * self.rows_ for belief in model.beliefs]
        self.epsilons_ = [0.0] * len(model.cliques)
        for clique, loss in losses:
            holder = next(i for i, whole in enumerate(model.cliques) if set(clique) <= set(whole))
            self.epsilons_[holder] += loss

    def released_artifacts(self) -> dict[str, Any]:
        """Return the cliques as `families`, and the junction tree's `edges`."""
        return self._describe_tree([1] * len(self.cliques_), self.epsilons_) | {"clusters": []}

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return the codes of `n` rows: merged values from the tree, then single values."""
        codes = super()._sample(n, rng)
        for j, shares in enumerate(self._value_shares):
            codes[:, j] = draw_given(shares, codes[:, j], rng)
        return codes

    def _expected_pair_counts(self, size: int) -> dict[Edge, Floats]:
        """Return the model's counts of all pairs of columns, by pair, for `size` rows."""
        model, shares = MaximalEntropy([t / t.sum() for t in self.tables_], self._cliques), self._value_shares
        return {(a, b): shares[a].T @ (table * size) @ shares[b] for (a, b), table in model.pairs().items()}

    @property
    def _value_shares(self) -> list[Floats]:
        """Probabilities of values given the merged value, per column: shape (merged, values)."""
        both = zip(self.groups_, self.marginals_, strict=True)
        return [rows_to_one(one_hot(groups) * marginal) for groups, marginal in both]


def column_names(schema: Schema, cliques: Iterable[Clique]) -> list[tuple[str, ...]]:
    """Return cliques of column positions as cliques of column names."""
    return [tuple(schema.names[j] for j in clique) for clique in cliques]


def recode_groups(table: PrivateTable, groups: Mapping[int, Ints]) -> PrivateTable:
    """Return the private table with values of some columns merged, row by row, at no privacy loss.

    `groups` has the new code of each value, by column position. Other columns are left out.
    """
    names = table.schema.names
    return table.recode(*block_columns(table.schema, [(names[j], names[j], own) for j, own in groups.items()]))
