r"""TaxonomyRelease: generalized rows from a consistent tree of noisy counts (paper 002, a patent).

Idea      Split the data set, column by column, along public taxonomies. Count every cell of every
          level with noise. Let the levels correct each other: children must sum to their parents.

Steps
  1  All rows in one cell. Then `iterations` times: choose a column, no column
     twice on the same level of its taxonomy, and split *every* cell by the
     column's next level, empty cells included. With a class column, exponential
     mechanisms choose by how well the finer cells separate the classes.                    choose
     Without a class column, the columns take turns, which costs nothing.
     Columns that would make more than `max_leaves` leaves are no candidates.
  2  A class column is split last. In corrected mode the splits are then
     reordered, coarse ones first, which keeps the finest cells the same
     (`order`). Inner levels with few nodes gain more.                             post-processing
  3  Noisy counts of the measured levels (`level_shares`), or of the leaves only.           counts
  4  The weighted least-squares adjustment, a pass up and a pass down
     (`least_squares`).                                                            post-processing
  5  Negative counts are moved to 0 from the root down, and children still sum
     to their parents. Generalized rows are the rounded leaves. A range query
     is a sum of leaves. Rows for classifiers and charts are drawn uniformly
     from the leaves.                                                              post-processing

Privacy
  Public    the schema, its taxonomies, the number of iterations, the cap on leaves, all shares; n
            under replace.
  1         `iterations` exponential mechanisms at epsilon_sel / iterations, sequential. Max has
            sensitivity 1 and is monotone, because the cells partition the records. The candidate
            columns follow from earlier choices and public sizes alone. Epsilon that is not spent
            here goes to the counts.
  2         A function of earlier choices and public sizes.
  3         The cells of one level partition the records: one histogram per level, of L1 sensitivity
            1 (add_remove) or 2 (replace), at epsilon_l. Levels hold the same records, so their
            losses add up: sum epsilon_l = epsilon_cnt. Under replace the root is n and costs
            nothing.
  Sum       epsilon_sel + epsilon_cnt = epsilon.

As published (mode="published")
  Only the leaves get noise (measure="leaves"), and the splits stay in the order of their choice.
  "Without repetition" has two readings of the same loss. By the printed one, the default, no column
  is selected twice (max_per_attribute=1). As a split is one level of a taxonomy, numbers are only
  halved. By the second reading (max_per_attribute="levels"), no split is repeated: a column is
  split once for each of its levels. The patent's own example needs the second reading (ages from 20
  to 50 are the sum of four groups of ten years). Its claim on deeper taxonomies means something
  only then. Three things are ours. The class guides the choice and is split last. Without a class,
  columns take turns; the patent has an exponential mechanism whose score is lost. Negative counts
  become 0 (non_negative=False leaves them).

What the patent claims, and where it is wrong
  The surviving text claims differential privacy without a sum of epsilons; as epsilon the claim
  holds. The patent also claims that an adjustment f, from the leaves up and down again, spreads the
  leaves' noise over all nodes and lowers it. The formulas are lost. The claim cannot hold. With
  noisy leaves alone, parents are their children's sums already. The leaves are the best unbiased
  estimate, and f changes nothing (under replace the public total helps a little). For f to gain,
  inner levels must be measured too (measure="all"), and every level spends epsilon. Published mode
  with measure="all" is our reconstruction of a possible gain, not the patent's words. Each level
  then gets the whole of epsilon_cnt, so the loss can be that many times larger.

Reference  A Chinese patent on optimizing non-interactive differentially private release by
consistency, of which our copy names no inventors and no year; Hay, Rastogi, Miklau and Suciu, PVLDB
3(1), 2010, for the adjustment; Cormode et al., ICDE 2012, for shares that grow geometrically.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.base import Measurement
from dpcore.methods.groups.base import (
    MOST_LEAVES,
    PAGES,
    GeneralizingSynthesizer,
    LevelStep,
    PartitionWalk,
    check_leaves,
    leaf_share,
    round_robin_leaves,
)
from dpcore.methods.parameters import (
    choice,
    controls_of,
    fitted_field,
    flag,
    number,
    presets_of,
    text,
    weights,
    whole,
)
from dpcore.methods.trees.base import CRITERIA
from dpcore.postprocess.count_tree import ReleasedTree

DONE = phrase("{done:d} of {iterations:d} splits chosen")
LEAVES_PER_NODE = 1_000  # an inner level lowers errors from 400 on: (leaves' epsilon / its own)^2


class TaxonomyRelease(GeneralizingSynthesizer):
    """Synthetic rows from a taxonomy tree of noisy counts that are made consistent.

    After a Chinese patent: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    measure
        Which levels get noisy counts, 'all' or 'leaves'. By default 'all' in corrected mode, and
        'leaves' in published mode, as in the patent.
    iterations
        The number of splits.
    level_shares
        The levels' shares of the counts' epsilon if measure='all', in corrected mode. 'leaves
        first': the leaves get a share for which no consistent answer has more than 1.1 times the
        standard deviation of measuring the leaves only (10/11; more for noise on whole numbers).
        The root and the finest level whose nodes hold 1,000 leaves on average share the rest; other
        levels are not measured. 'equal': as we read the patent. 'geometric': in proportion to the
        third root of a level's number of nodes. Or your own weights, from the root to the leaves, 0
        for a level that is not measured. The last weight is the leaves'. If there are fewer levels,
        the weights just before the last one are ignored.
    order
        The order of the splits that make the counted levels, in corrected mode. 'coarse': by the
        taxonomy's level, then by the mean number of parts of a split. 'chosen': in the order of
        choice, the class last.
    selection_share
        The share of epsilon that chooses columns, if there is a class.
    score
        The score of a column to split. 'entropy' needs the schema's max_rows under add_remove.
    with_class
        Whether the class column guides the choices and is split once, as the last column. If False,
        all columns take turns.
    target
        The class column; by default the schema's. Without a class, columns take turns.
    max_per_attribute
        The most splits of one column; 'levels': as many as its taxonomy has levels. By default 1 as
        published, where the patent says "without repetition", and 'levels' in corrected mode. As
        published, 'levels' is the second reading of these words: no split is repeated.
    max_leaves
        The most cells on the finest level, the class included. Columns that would make more are no
        candidates.
    fanout
        Parts per interval of numeric columns without a taxonomy.
    consistency
        Whether least squares makes the levels consistent. False: a baseline that publishes the
        noisy leaves.
    non_negative
        Whether negative counts are moved to 0.

    Attributes
    ----------
    steps_ : list of (column, level)
        The columns that were split, and the level of the taxonomy that each split reached.
    levels_ : list of (column, level)
        The same steps in the order of the tree's levels below the root, the class included.
    level_epsilons_ : list of float
        The epsilon that each level of the tree was charged.
    """

    reference = phrase("a Chinese patent on optimizing release by consistency; our copy names no inventors and no year")
    best_for = "range queries with intervals"
    provable_published = "epsilon; our reconstruction: per level"
    page = "taxonomy"
    presets = presets_of(PAGES, "TaxonomyRelease")
    paper = "002"
    reconstruction_note = phrase("The patent's formulas are lost: scores and shares of epsilon are ours.")
    controls = controls_of(PAGES["TaxonomyRelease"], with_class={"when": {"target": bool}})
    measure: str | None = choice(default=None, options=("all", "leaves"))
    iterations: int = whole(default=10)
    level_shares: str | Sequence[float] = weights(
        default="leaves first",
        words=("leaves first", "equal", "geometric"),
        things=lambda method, schema: range(1 + method.iterations + (method._class(schema) is not None)),
        request=PAGES["requests"]["level_shares"],
    )
    order: str = choice(default="coarse", options=("coarse", "chosen"))
    selection_share: float = number(default=0.5, maximum=1, open="()")
    score: str = choice(default="Max", options=("Max", "entropy"))
    with_class: bool = flag(default=True)
    target: str | None = text(default=None)
    max_per_attribute: int | str | None = whole(default=None, words=("levels",))
    max_leaves: int = whole(default=100_000, maximum=MOST_LEAVES)
    fanout: int = whole(default=2, minimum=2)
    consistency: bool = flag(default=True)
    non_negative: bool = flag(default=True)
    steps_: list[LevelStep] = fitted_field()
    levels_: list[LevelStep] = fitted_field()
    level_epsilons_: list[float] = fitted_field()

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the class or the score does not fit the schema."""
        target = self._class(schema)
        if target is not None:
            check_leaves(self.max_leaves, schema[target].size)
            self._check_score(CRITERIA[self.score], schema)

    def _class(self, schema: Schema) -> str | None:
        """Return the class column that guides the choices; None if columns take turns."""
        known = schema.target if self.target is None else self.target
        return self._target(schema, self.target) if self.with_class and known is not None else None

    @property
    def _max_splits(self) -> float:
        """Largest number of splits of one column; inf without a limit."""
        most = self.max_per_attribute or (1 if self._published else "levels")
        return inf if most == "levels" else float(most)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Split columns, count the cells of the levels, and make the counts consistent."""
        schema, total = table.schema, exact(self.epsilon)
        self.target_ = self._class(schema)
        progress(0.0, phrase("Splitting columns"))
        limits: dict[str, Any] = {"max_leaves": self.max_leaves, "max_splits": self._max_splits}
        walk = PartitionWalk(schema, self.target_, fanout=self.fanout, **limits)
        spent = self._split_all(walk, table, total * exact(self.selection_share), progress)
        self.steps_ = walk.steps
        if self.order == "coarse" and self.mode == "corrected":
            walk = walk.coarse_first()
        self.levels_ = walk.all_steps
        progress(0.7, phrase("Counting the cells of the tree"))
        noisy, variances = self._measure(walk, table, total - spent)
        progress(0.9, phrase("Making counts consistent"))
        tree = ReleasedTree(walk.partitions, noisy, variances, whole_noise=table.whole_noise)
        self._store_tree(tree, consistency=self.consistency, non_negative=self.non_negative)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the size and noise variance of the leaves' counts, for a forecast."""
        target = self._class(table.schema)
        share = exact(self.epsilon) * (1 if target is None else 1 - exact(self.selection_share))
        return [round_robin_leaves(table, share, target, self.iterations, self.max_leaves, self._max_splits)]

    def _split_all(self, walk: PartitionWalk, table: PrivateTable, epsilon: Epsilon, progress: Progress) -> Epsilon:
        """Split columns in turn, or with a class by private choices; return the epsilon spent.

        The partitions are added to `walk`. All choices together may spend `epsilon`. A single
        candidate needs no choice and costs nothing.
        """
        share, spent = epsilon / self.iterations, exact(0.0)
        levels = [(name, level) for name, tree in walk.trees.items() for level in tree.levels if self.target_]
        recoded = walk.recode_levels(table, levels)
        # The patent is taken to use the mechanism's general form, with the score's own sensitivity.
        claimed = 1.0 if self._published and self.score == "Max" else None

        def choose(names: list[str]) -> str:
            """Return which of `names` to split, by the exponential mechanism; add its epsilon."""
            nonlocal spent
            done = len(walk.steps)
            progress(0.7 * done / self.iterations, DONE.format(done=done, iterations=self.iterations))
            if len(names) == 1:
                return names[0]
            cliques = [walk.clique_after(name) for name in names]
            spent += share
            index = recoded.choose(CRITERIA[self.score], cliques, epsilon=share, claimed_sensitivity=claimed)
            return names[int(index)]

        walk.split_all(self.iterations, choose if self.target_ else None)
        return spent

    def _measure(self, walk: PartitionWalk, table: PrivateTable, epsilon: Epsilon) -> tuple[list[Floats], list[float]]:
        """Return each level's noisy counts and the variance of their noise, for `epsilon` in all.

        `walk` has the levels' partitions. A level that is not measured has an empty array and an
        infinite variance.
        """
        levels = len(walk.partitions)
        noisy: list[Floats] = [np.empty(0)] * levels
        variances, self.level_epsilons_ = [inf] * levels, [0.0] * levels
        free = table.relation is Relation.REPLACE and levels > 1
        if free:
            noisy[0], variances[0] = np.array([float(table.public_rows or 0)]), 0.0
        weights = self._weights([partition.size for partition in walk.partitions], free, table, epsilon)
        measured_levels = [level for level, weight in enumerate(weights) if weight]
        shares = [weights[level] for level in measured_levels]
        claimed, reason = epsilon, ""
        if self._published and len(measured_levels) > 1:
            epsilon, shares = epsilon * len(measured_levels), [1.0] * len(measured_levels)
            reason = PAGES["reasons"]["levels"].format(levels=len(measured_levels))
        recoded = walk.recode_levels(table, walk.all_steps)
        cliques = [walk.cliques[level] for level in measured_levels]
        before = len(table.ledger.entries)
        found = recoded.counts(cliques, epsilon=epsilon, weights=shares, claimed_epsilon=claimed, reason=reason)
        for level, counts, entry in zip(measured_levels, found, table.ledger.entries[before:], strict=True):
            noisy[level], variances[level] = counts.ravel(), table.cell_variance(entry.epsilon_nominal)
            self.level_epsilons_[level] = float(entry.epsilon_nominal)
        return noisy, variances

    def _weights(self, sizes: list[int], root_is_free: bool, table: PrivateTable, epsilon: Epsilon) -> list[float]:
        """Return each level's weight, in proportion to its share of the counts' epsilon.

        `sizes` are the levels' numbers of cells, from the root on, and `epsilon` is for all counts.
        With `root_is_free`, the root's count is public. A weight of 0 means not measured.
        """
        upper = [0.0] * (len(sizes) - 1)
        if (self.measure or ("leaves" if self._published else "all")) == "leaves":
            return [*upper, 1.0]
        if self._published or self.level_shares == "equal":
            weights = [1.0] * len(sizes)
        elif self.level_shares == "geometric":
            weights = [size ** (1 / 3) for size in sizes]
        elif self.level_shares == "leaves first":
            coarse = [level for level, size in enumerate(sizes[:-1]) if size * LEAVES_PER_NODE <= sizes[-1]]
            inner = {0, *coarse[-1:]} - ({0} if root_is_free else set())
            leaves = leaf_share(table, epsilon)
            weights = [*upper, leaves]
            for level in inner - {len(sizes) - 1}:
                weights[level] = (1 - leaves) / len(inner)
        else:
            weights = [*map(float, self.level_shares[: len(upper)]), float(self.level_shares[-1])]
        return [0.0, *weights[1:]] if root_is_free else weights
