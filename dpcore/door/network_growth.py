"""A network of 0/1 columns that grows behind the door, one exponential mechanism per new column.

`FamilySearch` has the exact scores of the families that may come next: private, for the door only.
With V the columns that stand already, a column X outside may take any l of them as parents, or all
of them while they are l or fewer. Every family has one last column, so each set of l + 1 columns is
counted and scored once, when its second last column is placed, and kept until its child is placed.

Subsets of V are held in colexicographic order of their places in V: a new column then only appends.
Tables come from the counts of "all ones" by inclusion and exclusion (`bits`); those of smaller
subsets are shared by all families.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.currency import PrivacyLoss
from dpcore.accounting.relation import Relation
from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.schema import Schema
from dpcore.door.door import Door
from dpcore.door.prices import ClaimedValues
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import TableScore
from dpcore.postprocess.bayes_net import Family
from dpcore.rows.exact_counts import PackedBits, cells_from_corners, popcounts

SCORED = 1 << 14  # families that are scored together: their tables fit the processor's cache


@dataclass(eq=False)
class CandidateBlock:
    """Families of one child: the parents' columns, shape (m, parents), and the exact scores, shape (m,)."""

    parents: Ints
    scores: Floats
    weighed: tuple[float, float] = (-1.0, 0.0)

    def weight(self, factor: float) -> float:
        """log of the sum of exp(factor * score)."""
        if self.weighed[0] != factor:
            exponents = factor * self.scores
            highest = exponents.max()
            self.weighed = factor, float(highest + np.log(np.exp(exponents - highest).sum()))
        return self.weighed[1]


class FamilySearch:
    """The candidates of each column that is not placed yet, with exact scores; see `PrivateTable.growth`."""

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
        self.score, self.shapes = score, [(2,) * (1 + parents) for parents in range(most + 1)]  # those of all tables
        self._bits, self._relation, self._most = bits, relation, most
        self._related = np.ones((d, d), dtype=bool) if related is None else related
        self._row = {column: row for row, column in enumerate(columns)}
        self._placed: list[int] = []
        self._choose = np.array([[comb(p, i) for i in range(most + 1)] for p in range(d + 1)], dtype=np.intp)
        # By size of S, in colexicographic order: S itself as places in V; the rows that are 1 in X and S, and in S.
        self._parent_sets: list[Ints] = [np.zeros((comb(d, j), j), dtype=np.intp) for j in range(most)]
        self._with: list[NDArray[np.int32]] = [np.zeros((d, comb(d, j)), dtype=np.int32) for j in range(most)]
        self._among: list[NDArray[np.int32]] = [np.zeros(comb(d, j), dtype=np.int32) for j in range(most)]
        self._with[0][:, 0] = bits.count_ones(np.array(columns, dtype=np.intp)[:, None])
        self._among[0][0] = bits.rows
        self.blocks: dict[int, list[CandidateBlock]] = {column: [self._single(column, [])] for column in columns}

    def place(self, column: int) -> None:
        """Move a column into V: its candidates go, and the others get those that have it as a parent."""
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
            known = [index for index, other in enumerate(placed) if self._related[child_row, self._row[other]]]
            if len(known) < most:
                self.blocks[child] = [self._single(child, [*(placed[index] for index in known), column])]
            elif len(known) == at:
                full[child] = np.arange(len(rest))
            else:
                full[child] = np.flatnonzero(np.isin(rest, known).all(axis=1))
        if full:
            self._extend(column, rest, full)
        placed.append(column)

    def _single(self, child: int, parents: list[int]) -> CandidateBlock:
        """All that a column may take, while that is not more than l."""
        tables = self._bits.marginals(np.array([[child, *parents]], dtype=np.intp)).reshape(2, -1, 1)
        return CandidateBlock(np.array([parents], dtype=np.intp), self.score.of_many(tables, self._relation))

    def _products(self, column: int, rest: Ints) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """Rows that are 1 in the new column and in each of some subsets of V, in slices."""
        columns = np.array(self._placed, dtype=np.intp)[rest]
        for part in self._bits.slices(len(rest)):
            holders = np.insert(columns[part], 0, column, axis=1)
            yield part, self._bits.products(holders)

    def _extend(self, column: int, rest: Ints, wanted: dict[int, Ints]) -> None:
        """Score the families of each child whose parents are the new column and one of the wanted subsets."""
        parents = np.insert(np.array(self._placed, dtype=np.intp)[rest], 0, column, axis=1)
        counts = {child: np.empty(len(parent_sets), dtype=np.int64) for child, parent_sets in wanted.items()}
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
                scores[some] = self.score.of_many(tables, self._relation)
            self.blocks[child].append(CandidateBlock(parents[parent_sets], scores))

    def _tables(
        self, child: int, column: int, rest: Ints, parent_sets: Ints, counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Child x parents tables, shape (2, 2^l, m), of families with the new column and m subsets of V."""
        at, most = len(self._placed), self._most
        row, new_row = self._row[child], self._row[column]
        members = rest[parent_sets]
        corners = np.empty((2,) + (2,) * most + (len(parent_sets),), dtype=np.int64)  # child, new column, members of S
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


class Growth:
    """The families that a growing network may take next, and the choice among them.

    Which families there are is public: every column that is not placed, with every set of
    `max_parents` placed columns that it may take, or all of them while they are fewer. Made by
    `PrivateTable.growth`.
    """

    def __init__(self, door: Door, schema: Schema, search: FamilySearch, columns: Sequence[str]) -> None:
        self._door, self._schema, self._search = door, schema, search
        self.open = list(columns)

    def place(self, name: str) -> None:
        """Let the network have a column without a question, by a public rule or an earlier answer."""
        if name not in self.open:
            raise ParameterError(f"The column {name!r} is not open.", "Place one of the network's columns, once.")
        self.open.remove(name)
        self._search.place(self._schema.index(name))

    def choose(self, *, epsilon: PrivacyLoss, **claimed: Unpack[ClaimedValues]) -> Family:
        """One exponential mechanism over all families: the child and its parents. The child is then placed.

        `epsilon` is an amount in the account's currency, as for `PrivateTable`.
        """
        if not self.open:
            raise ParameterError("Every column of this network is placed.", "There is nothing left to choose.")
        entry, factor = self._door.choice(self._search.score, self._search.shapes, epsilon, self._door.claim(**claimed))
        family: Family = self._door.answer("choose", [entry], lambda: self._draw(factor))
        self.place(family[0])
        return family

    def _draw(self, factor: float) -> Family:
        blocks = [(child, block) for child, blocks in self._search.blocks.items() for block in blocks]
        chosen, index = self._door.noise.select_among([block for _, block in blocks], factor)
        child, block = blocks[chosen]
        names = self._schema.names
        return (names[child], *(names[parent] for parent in block.parents[index]))
