"""Growth of a Bayesian network of 0/1 columns, with one exponential mechanism per new column.

`FamilySearch` has the noiseless scores of the families that may come next. They are private, for
the door only. With V the columns in the network, a column X outside may take any l columns of V as
parents, or all of V while it has at most l. Each family has one parent that was added last. So each
set of l + 1 columns is counted and scored once, when that parent is added, and kept until its child
is added.

Subsets of V are stored in colexicographic order of their positions in V, so a new column only
appends. Marginals come from counts of "all ones" by inclusion and exclusion (`bits`); counts of
smaller sets are shared by all families.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.accounting.relation import Relation
from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.schema import Schema
from dpcore.door.door import Door
from dpcore.door.privacy_costs import ClaimedValues
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import TableScore
from dpcore.postprocess.bayes_net import Family
from dpcore.rows.exact_counts import PackedBits, cells_from_corners, popcounts

SCORED = 1 << 14  # families scored together: their marginals fit the processor's cache


@dataclass(eq=False)
class CandidateBlock:
    """Candidate families of one child: columns of the parents, and scores.

    Shapes are (m, parents) and (m,) for m families. Scores are noiseless, so a block is private.
    """

    parents: Ints
    scores: Floats
    cached_weight: tuple[float, float] = (-1.0, 0.0)

    def weight(self, factor: float) -> float:
        """Return the log of the sum of exp(factor * score) over a block of candidate families.

        `factor` is that of an exponential mechanism.
        """
        if self.cached_weight[0] != factor:
            exponents = factor * self.scores
            highest = exponents.max()
            self.cached_weight = factor, float(highest + np.log(np.exp(exponents - highest).sum()))
        return self.cached_weight[1]


class FamilySearch:
    """Candidate families of every column outside the network, with noiseless scores; private.

    Parameters
    ----------
    bits : PackedBits
        The rows, one bit per cell.
    columns : sequence of int
        Positions of the columns that the network may get.
    score : TableScore
        The score of a family's marginal.
    max_parents : int
        The most parents of a column (l).
    related : bool array, shape (columns, columns), optional
        Which column (first axis) may have which other as a parent. Default: all.
    """

    def __init__(
        self,
        bits: PackedBits,
        columns: Sequence[int],
        score: TableScore,
        relation: Relation,
        *,
        max_parents: int,
        related: Flags | None = None,
    ) -> None:
        d, most = len(columns), max_parents
        self.score, self.shapes = score, [(2,) * (1 + parents) for parents in range(most + 1)]  # of all marginals
        self._bits, self._relation, self._most = bits, relation, most
        self._related = np.ones((d, d), dtype=bool) if related is None else related
        self._row = {column: row for row, column in enumerate(columns)}
        self._placed: list[int] = []
        self._choose = np.array([[comb(p, i) for i in range(most + 1)] for p in range(d + 1)], dtype=np.intp)
        # By size of S: positions in V of its columns; rows that are 1 in X and S, and in S.
        self._parent_sets = [np.zeros((comb(d, j), j), dtype=np.intp) for j in range(most)]
        self._with = [np.zeros((d, comb(d, j)), dtype=np.int32) for j in range(most)]
        self._among = [np.zeros(comb(d, j), dtype=np.int32) for j in range(most)]
        self._with[0][:, 0] = bits.count_ones(np.array(columns, dtype=np.intp)[:, None])
        self._among[0][0] = bits.rows
        self.blocks = {column: [self._single(column, [])] for column in columns}

    def add_column(self, column: int) -> None:
        """Add a column to the network, and score the families in which it is a parent."""
        placed, at, most = self._placed, len(self._placed), self._most
        row = self._row[column]
        del self.blocks[column]
        for size in range(1, most):  # sets of this size that hold the new column
            new = slice(self._choose[at, size], self._choose[at + 1, size])
            rest = self._parent_sets[size - 1][: self._choose[at, size - 1]]
            self._parent_sets[size][new, :-1], self._parent_sets[size][new, -1] = rest, at
            self._among[size][new] = self._with[size - 1][row, : len(rest)]
            for part, products in self._products(column, rest):
                for child in self.blocks:
                    counts = popcounts(products & self._bits.words[child])
                    self._with[size][self._row[child], new][part] = counts
        rest = self._parent_sets[most - 1][: self._choose[at, most - 1]]
        full: dict[int, Ints] = {}
        for child in self.blocks:
            child_row = self._row[child]
            if not self._related[child_row, row]:
                continue
            known = [i for i, other in enumerate(placed) if self._related[child_row, self._row[other]]]
            if len(known) < most:
                self.blocks[child] = [self._single(child, [*(placed[i] for i in known), column])]
            elif len(known) == at:
                full[child] = np.arange(len(rest))
            else:
                full[child] = np.flatnonzero(np.isin(rest, known).all(axis=1))
        if full:
            self._extend(column, rest, full)
        placed.append(column)

    def _single(self, child: int, parents: list[int]) -> CandidateBlock:
        """Return the block of one candidate family, the child with all given parents, scored.

        It is the child's only candidate while it may have all network columns as parents.
        """
        tables = self._bits.marginals(np.array([[child, *parents]], dtype=np.intp)).reshape(2, -1, 1)
        return CandidateBlock(np.array([parents], dtype=np.intp), self.score.score_tables(tables, self._relation))

    def _products(self, column: int, rest: Ints) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """Yield slices of `rest`, each with the rows that are 1 in all columns of a candidate.

        `rest` has sets of columns, as positions in the network. A candidate's columns are one of
        these sets and the new `column`. Rows are packed as bits.
        """
        columns = np.array(self._placed, dtype=np.intp)[rest]
        for part in self._bits.slices(len(rest)):
            holders = np.insert(columns[part], 0, column, axis=1)
            yield part, self._bits.products(holders)

    def _extend(self, column: int, rest: Ints, wanted: dict[int, Ints]) -> None:
        """Score, for each child, the families whose parents are the new column and an older set.

        `rest` has sets of older columns, as positions in the network; `wanted` has, per child, the
        indices of its sets in `rest`.
        """
        parents = np.insert(np.array(self._placed, dtype=np.intp)[rest], 0, column, axis=1)
        counts = {child: np.empty(len(sets), dtype=np.int64) for child, sets in wanted.items()}
        for part, products in self._products(column, rest):
            buffer = np.empty_like(products)
            for child, parent_sets in wanted.items():
                inside = slice(*np.searchsorted(parent_sets, (part.start, part.stop)))
                if inside.stop - inside.start == len(products):
                    np.bitwise_and(products, self._bits.words[child], out=buffer)
                    counts[child][inside] = popcounts(buffer)
                else:
                    chosen = products[parent_sets[inside] - part.start]
                    counts[child][inside] = popcounts(chosen & self._bits.words[child])
        for child, parent_sets in wanted.items():
            if not len(parent_sets):
                continue
            scores = np.empty(len(parent_sets))
            for start in range(0, len(parent_sets), SCORED):
                some = slice(start, start + SCORED)
                tables = self._tables(child, column, rest, parent_sets[some], counts[child][some])
                scores[some] = self.score.score_tables(tables, self._relation)
            self.blocks[child].append(CandidateBlock(parents[parent_sets], scores))

    def _tables(
        self, child: int, column: int, rest: Ints, parent_sets: Ints, counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the marginals of families of 0/1 columns, shape (2, 2^parents, families).

        Axes are the child's value, the parents' values, and the families. The parents are the new
        `column` and a set of older columns in `rest`; `parent_sets` has the index of each family's
        set. `counts` has the number of rows that are 1 in all columns of each family.
        """
        at, most = len(self._placed), self._most
        row, new_row = self._row[child], self._row[column]
        members = rest[parent_sets]
        # Axes: the child, the new column, the columns of S, and the families.
        corners = np.empty((2,) + (2,) * most + (len(parent_sets),), dtype=np.int64)
        for bits in product((0, 1), repeat=most - 1):
            chosen = [i for i, yes in enumerate(bits) if yes]
            size = len(chosen)
            rank = sum((self._choose[members[:, i], k] for k, i in enumerate(chosen, start=1)), np.intp(0))
            later = self._choose[at, size + 1] + rank
            corners[(0, 0, *bits)] = self._among[size][rank]
            corners[(1, 0, *bits)] = self._with[size][row, rank]
            corners[(0, 1, *bits)] = self._with[size][new_row, rank]
            corners[(1, 1, *bits)] = self._with[size + 1][row, later] if size + 1 < most else counts
        return cells_from_corners(corners).reshape(2, 2**most, -1)


class NetworkGrowth:
    """A growing Bayesian network, whose next family is chosen by an exponential mechanism.

    The candidates are public: every column outside the network, with every set of `max_parents`
    columns inside that it may take as parents, or with all of them while they are fewer. Made by
    `PrivateTable.grow_network`. `open` has the names of the columns outside.
    """

    def __init__(self, door: Door, schema: Schema, search: FamilySearch, columns: Sequence[str]) -> None:
        self._door, self._schema, self._search = door, schema, search
        self.open = list(columns)

    def add_column(self, name: str) -> None:
        """Add a column to the network without a query, by a public rule or an earlier answer."""
        if name not in self.open:
            raise ParameterError(f"The column {name!r} is in the network.", "Add each column of `open` once.")
        self.open.remove(name)
        self._search.add_column(self._schema.index(name))

    def choose(self, *, epsilon: PrivacyLoss, **claimed: Unpack[ClaimedValues]) -> Family:
        """Choose the next family by one exponential mechanism, and add its child to the network.

        Parameters
        ----------
        epsilon : float or Fraction
            The privacy loss of the choice, in the ledger's privacy measure.
        **claimed
            What the source claims about the choice (`privacy_costs.ClaimedValues`).

        Returns
        -------
        tuple of str
            The child and its parents.
        """
        if not self.open:
            raise ParameterError("The network has all of its columns already.", "Stop when `open` is empty.")
        search, claim = self._search, self._door.claim(**claimed)
        entry, factor = self._door.selection_entry(search.score, search.shapes, epsilon, claim)
        family: Family = self._door.answer("choose", [entry], lambda: self._draw(factor))
        self.add_column(family[0])
        return family

    def _draw(self, factor: float) -> Family:
        """Draw a family of columns with probability proportional to exp(factor * score)."""
        blocks = [(child, block) for child, blocks in self._search.blocks.items() for block in blocks]
        chosen, index = self._door.noise.select_among([block for _, block in blocks], factor)
        child, block = blocks[chosen]
        return tuple(self._schema.names[column] for column in (child, *block.parents[index]))
