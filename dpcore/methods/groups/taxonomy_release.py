r"""TaxonomyRelease: generalized rows from a tree of noisy counts that is made consistent (paper 002, a patent).

Idea      Divide the table, column by column, along public taxonomies. Count every cell of every level with noise, and
          let the levels correct each other: children have to sum to their parents.

Steps
  1  All rows in one cell. Then `iterations` times: choose a column, none twice on the same level of its taxonomy, and
     divide *every* cell by the next level of it, empty cells included. With a class column the choice is by
     exponential mechanisms on how well the finer cells tell the classes apart (choose); without one, the columns take
     turns, which costs nothing. Columns that would make more than `max_leaves` leaves are left out.
  2  With a class column, it is divided last. In corrected mode the divisions are then put in another order, coarse
     ones first, which keeps the finest cells the same (`order`); inner levels with few nodes are worth more.
                                                                                                        post-processing
  3  Noisy counts of the measured levels (`level_shares`), or of the leaves only.                                counts
  4  The weighted least-squares adjustment, a pass up and a pass down (`least_squares`).                post-processing
  5  Negative counts moved to 0 from the top, children still summing to parents; generalized rows are the rounded
     leaves; a range query is a sum of leaves; rows for classifiers and charts are drawn uniformly out of the leaves.
                                                                                                        post-processing
Privacy
  Public    the schema, its taxonomies, the number of iterations, the cap on leaves, all shares; n under replace.
  1         `iterations` exponential mechanisms at epsilon_sel / iterations, sequential. Max has sensitivity 1 and is
            monotone, because the cells partition the records. Which columns are candidates follows from earlier
            choices and public sizes alone. What is not spent here goes to the counts.
  2         A function of earlier choices and public sizes.
  3         The cells of one level partition the records: one table per level, of L1 sensitivity 1 (add_remove) or 2
            (replace), at epsilon_l. Levels hold the same records, so they compose sequentially: sum epsilon_l =
            epsilon_cnt. Under replace the root is n and free.
  Sum       epsilon_sel + epsilon_cnt = epsilon.

As printed (mode="published")
  The leaves alone get noise (measure="leaves"), divisions stay in the order in which they were chosen. "Without
  repetition" has two readings, which cost the same. The printed one, and the default: no column is selected twice
  (max_per_attribute=1), and as a division is one level of a taxonomy, a number is only halved. The second
  (max_per_attribute="levels"): no division is done twice, and a column is divided once for each of its levels. The
  patent's own example needs it (ages from 20 to 50 are the sum of four groups of ten years), and its claim on deeper
  taxonomies says something only then. Ours are there: the class, which guides the choice and is divided last, and turns
  without one, where the patent has an exponential mechanism of no score that is left; and that negative counts become 0
  (non_negative=False leaves them).

What the patent claims, and where it is wrong
  What is left of it claims differential privacy without a sum of epsilons; as epsilon it holds. It also claims that an
  adjustment f, from the leaves up and down again, spreads the noise of the leaves over all nodes and lowers it; the
  formulas are lost. That cannot be: with noisy leaves alone parents are their children's sums already, the leaves are
  the best unbiased estimate, and f changes nothing (under replace the public total helps a little).
  For f to gain, inner levels must be measured too (measure="all"), and then every level has to be paid. With both,
  published mode is our reconstruction of how the patent could have gained, not its words: each level gets the whole of
  epsilon_cnt, which can cost that many times.

Reference  A Chinese patent on optimizing non-interactive differentially private release by
consistency, of which our copy names no inventors and no year; Hay, Rastogi, Miklau and Suciu, PVLDB
3(1), 2010, for the adjustment; Cormode et al., ICDE 2012, for shares that grow geometrically.
"""

from collections.abc import Sequence
from math import inf

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
    Walk,
    check_leaves,
    leaf_share,
    leaves_in_turn,
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

DONE = phrase("{done:d} of {iterations:d} divisions")
LEAVES_PER_NODE = 1_000  # an inner level pays from some 400 on: (leaves' epsilon / its own)^2


class TaxonomyRelease(GeneralizingSynthesizer):
    """Synthetic rows from a taxonomy tree of counts that are made consistent.

    After a Chinese patent: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    measure
        Which levels get noisy counts. By default all in corrected mode, and as the patent has it
        the leaves in published mode.
    iterations
        How many times a column is divided.
    level_shares
        How measure='all' divides the counts' epsilon, in corrected mode. 'leaves first': the leaves
        get so much that no consistent answer has more than 1.1 times the standard deviation that
        the leaves alone would give it (10/11; of noise on whole numbers more); the root and the
        finest level whose nodes hold 1,000 leaves on average share the rest, and other levels are
        not measured. 'equal', as the patent is read. 'geometric': in proportion to the third root
        of a level's nodes. Or your own weights, from the root to the leaves, 0 for 'not measured'
        (the last one is the leaves'; if there are fewer levels, those before it go).
    order
        In which order the divisions make the levels that are counted, in corrected mode. 'coarse':
        by the taxonomy's level, then by how many parts a division makes. 'chosen': as they were
        chosen, the class last.
    selection_share
        What of epsilon chooses columns, if there is a class.
    score
        What columns are chosen by. 'entropy' needs the schema's max_rows under add_remove.
    with_class
        Whether the class column guides the choice and is divided once, after it. False: all columns
        take turns.
    target
        The class column; by default the schema's. Without either, columns take turns.
    max_per_attribute
        How often one column may be divided; 'levels': as often as its taxonomy has levels. By default
        once as published, where the patent says "without repetition", and 'levels' in corrected
        mode. Published, 'levels' is the second reading of these words: no division is done twice.
    max_leaves
        Cells of the finest level, the class included; columns that would make more are left out.
    fanout
        Parts per interval of numeric columns without a taxonomy.
    consistency
        Whether the levels correct each other; False is the baseline whose leaves are the noisy
        ones.
    non_negative
        Whether negative counts are moved to 0.

    Attributes
    ----------
    steps_ : list of (column, level)
        Which column was divided, down to which level of its taxonomy.
    levels_ : list of (column, level)
        The same in the order of the tree's levels below the root, the class included.
    level_epsilons_ : list of float
        What each level of the tree was charged.
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
    selection_share: float = number(default=0.5, most=1, open="()")
    score: str = choice(default="Max", options=("Max", "entropy"))
    with_class: bool = flag(default=True)
    target: str | None = text(default=None)
    max_per_attribute: int | str | None = whole(default=None, words=("levels",))
    max_leaves: int = whole(default=100_000, most=MOST_LEAVES)
    fanout: int = whole(default=2, least=2)
    consistency: bool = flag(default=True)
    non_negative: bool = flag(default=True)
    steps_: list[LevelStep] = fitted_field()
    levels_: list[LevelStep] = fitted_field()
    level_epsilons_: list[float] = fitted_field()

    def _check(self, schema: Schema) -> None:
        target = self._class(schema)
        if target is not None:
            check_leaves(self.max_leaves, schema[target].size)
            self._check_score(CRITERIA[self.score], schema)

    def _class(self, schema: Schema) -> str | None:
        known = schema.target if self.target is None else self.target
        return self._target(schema, self.target) if self.with_class and known is not None else None

    @property
    def _most(self) -> float:
        """How often one column may be divided."""
        most = self.max_per_attribute or (1 if self._published else "levels")
        return inf if most == "levels" else float(most)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, total = table.schema, exact(self.epsilon)
        self.target_ = self._class(schema)
        progress(0.0, phrase("Dividing"))
        walk = Walk(schema, self.target_, max_leaves=self.max_leaves, fanout=self.fanout, most=self._most)
        spent = self._divide(walk, table, total * exact(self.selection_share), progress)
        self.steps_ = walk.steps
        if self.order == "coarse" and self.mode == "corrected":
            walk = walk.coarse_first()
        self.levels_ = walk.used
        progress(0.7, phrase("Counting"))
        noisy, variances = self._measure(walk, table, total - spent)
        progress(0.9, phrase("Making counts consistent"))
        tree = ReleasedTree(walk.partitions, noisy, variances, whole_noise=table.whole_noise)
        self._keep(tree, consistency=self.consistency, non_negative=self.non_negative)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        target = self._class(table.schema)
        share = exact(self.epsilon) * (1 if target is None else 1 - exact(self.selection_share))
        return [leaves_in_turn(table, share, target, self.iterations, self.max_leaves, self._most)]

    def _divide(self, walk: Walk, table: PrivateTable, epsilon: Epsilon, progress: Progress) -> Epsilon:
        """Divide in turn or, with a class, by exponential mechanisms; what these cost.

        A single candidate is no choice and costs nothing.
        """
        share, spent = epsilon / self.iterations, exact(0.0)
        levels = [(name, level) for name, tree in walk.trees.items() for level in tree.levels if self.target_]
        leveled = walk.leveled(table, levels)
        # The patent is taken to use the mechanism's general form, with the score's own sensitivity.
        claimed = 1.0 if self._published and self.score == "Max" else None

        def choose(open_: list[str]) -> str:
            nonlocal spent
            done = len(walk.steps)
            progress(0.7 * done / self.iterations, DONE.format(done=done, iterations=self.iterations))
            if len(open_) == 1:
                return open_[0]
            families = [walk.family(name) for name in open_]
            spent += share
            at = leveled.choose(CRITERIA[self.score], families, epsilon=share, claimed_sensitivity=claimed)
            return open_[int(at)]

        walk.go_down(self.iterations, choose if self.target_ else None)
        return spent

    def _measure(self, walk: Walk, table: PrivateTable, epsilon: Epsilon) -> tuple[list[Floats], list[float]]:
        """Noisy counts and their noise's variance per level; empty and infinite where nothing was measured."""
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
        leveled = walk.leveled(table, walk.used)
        families = [walk.families[level] for level in measured_levels]
        before = len(table.ledger.entries)
        found = leveled.counts(families, epsilon=epsilon, weights=shares, claimed_epsilon=claimed, reason=reason)
        for level, counts, entry in zip(measured_levels, found, table.ledger.entries[before:], strict=True):
            noisy[level], variances[level] = counts.ravel(), table.cell_variance(entry.epsilon_nominal)
            self.level_epsilons_[level] = float(entry.epsilon_nominal)
        return noisy, variances

    def _weights(self, sizes: list[int], root_is_free: bool, table: PrivateTable, epsilon: Epsilon) -> list[float]:
        """Each level's share of the counts' epsilon, up to a factor."""
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
