r"""DiffGen: generalized rows by top-down specialization, and a tree from them (in papers 002, 003).

Idea      Start with the most general value in every column. Repeatedly choose one value privately,
          and replace it by its children in the taxonomy. Count the resulting groups with noise. The
          published rows of these groups are meant for learning. DiffGen's paper and the papers that
          compare with it learn a tree in the manner of C4.5 from them (the DiffGen tree).

Steps     epsilon' = epsilon / (2 (n_c + 2h)), for n_c numeric columns with a split point, h rounds
  1  A split point for each numeric column's whole interval.                    choose, n_c times
  2  h times: one of the current values to specialize, scored by how well its
     children separate the classes.                                                        choose
     If the value is an interval: a later split point for each of its two
     halves. The halves hold different records.                               choose, in parallel
  3  Counts of all groups x classes, empty ones included, with the remaining
     epsilon (at least epsilon / 2).                                                       counts
  4  Under replace, the counts are shifted by equal steps to the public total.
     Negative counts are moved to 0.                                              post-processing
  5  DiffGen: rows are drawn uniformly from the groups.
     DiffGen tree: a binary tree by entropy on one row per group and class,
     weighted by the count. No rows are drawn, which would only add noise. A
     categorical test compares with one group, a numeric test with all groups
     up to one. A leaf holds at least four standard deviations of the noise on
     a count, which is three of a difference of two counts. With fewer rows,
     noise alone may make another class the largest. A row is predicted by the
     groups that contain its values.                                              post-processing

  Numeric columns are split between bins, whatever taxonomy they have.

Privacy
  Public    the schema, its taxonomies, h, the cap on groups; n under replace.
  1, 2      Max has sensitivity 1 and is monotone. Paper 003 says that values are chosen by
            information gain: its sensitivity is its range, log2 of the number of classes
            (`Specialization`). The two halves of an interval partition its records: parallel
            composition, one epsilon'. (Under replace each half is charged as a removal or an
            addition, at epsilon' / 2.) The candidates follow from earlier choices and public sizes
            alone.
  3         Groups partition the records: sensitivity 1 (add_remove) or 2 (replace).
  4, 5      Use only released counts, public groups and a fixed seed for ties.
  Sum       At most epsilon' (n_c + 2h) = epsilon / 2, and the rest for the counts: epsilon.

What is claimed, and where it is wrong
  The paper's proof holds. The code that its authors published does not follow the proof
  (mode="published"). That code splits an interval with at most one row in the middle, and an
  interval with a single distinct value anywhere. Other intervals are split up to the data's largest
  value, and split points with no row on their left score 0. So the possible outcomes depend on the
  data: one person can make impossible outcomes possible, so no epsilon holds. Corrected mode
  considers every public split point.
  That code also truncates its noise to whole numbers towards 0, which costs up to ln 2 more per
  count. We do not reproduce this.

Reference  Mohammed, Chen, Fung and Yu, Differentially private data release for data mining, KDD
2011.
"""

from dataclasses import replace

import numpy as np

from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Progress
from dpcore.domain.column import Column
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.scores import IntervalSplit, Specialization
from dpcore.methods.groups.base import (
    PAGES,
    SURVEY,
    Descent,
    Frontier,
    GroupClassifier,
    Specializer,
    SpecializingSynthesizer,
    TreeValue,
    codes_by_value,
)
from dpcore.methods.parameters import presets_of


class TopDownSpecializer(Specializer):
    """Base of methods that choose a value to specialize and split points in separate choices."""

    reference = phrase("Mohammed et al. 2011")
    provable_published = phrase("no epsilon (numbers)")

    def _start(self, descent: Descent, progress: Progress) -> Epsilon:
        """Choose a split point for each numeric column's interval; return the epsilon of a choice.

        `descent` takes the two halves of each interval. The split point is chosen even if the
        interval is never specialized.
        """
        numeric, frontier = descent.numeric_columns, descent.frontier
        share = exact(self.epsilon) / (2 * (len(numeric) + 2 * self.rounds))
        progress(0.0, phrase("Choosing split points"))
        for name in numeric:
            frontier[name] = tuple(choose_halves(descent, descent.table, name, v, share) for v in frontier[name])
            descent.spent += share
        return share

    def _specialize_once(self, descent: Descent, share: Epsilon) -> bool:
        """Specialize one chosen value, and choose split points of an interval's halves.

        The choice of the value spends epsilon `share`. The split points of the two halves are
        chosen in parallel, and spend it once more. Returns False if no value is left.
        """
        candidates, schema = list(descent.candidates()), descent.table.schema
        if candidates:
            splits = [(name, codes_by_value(value.children, schema[name].size)) for name, value in candidates]
            score = Specialization(**descent.score_options, splits=splits)
            name, value = candidates[descent.choose_unless_single(len(candidates), score, share)]
            children = value.children
            if schema[name].numeric and any(len(half.codes) > 1 for half in children):
                children = choose_halves_in_parallel(descent, name, value, share)
                descent.spent += share  # in parallel
            descent.specialize(name, value, children)
        return bool(candidates)


class DiffGen(TopDownSpecializer, SpecializingSynthesizer):
    """Synthetic rows from generalized groups by top-down specialization.

    Mohammed et al. 2011: as in the authors' published code, and corrected. See the module for steps
    and privacy.
    """

    survey_row = SURVEY
    best_for = "generalized rows for a classifier"
    presets = presets_of(PAGES, "DiffGen")
    paper = "002, 003"


class DiffGenTree(TopDownSpecializer, GroupClassifier):
    """Decision tree learned from DiffGen's generalized groups.

    Mohammed et al. 2011: as in the authors' published code, and corrected. See the module for steps
    and privacy.
    """

    title = "DiffGen tree"
    best_for = "a tree with its groups"
    presets = presets_of(PAGES, "DiffGenTree")
    paper = "003, 002"


def choose_halves(descent: Descent, table: PrivateTable, name: str, value: TreeValue, epsilon: Epsilon) -> TreeValue:
    """Return an interval with two halves as its children, split at a privately chosen point.

    `value` is the interval, of column `name`. The rows of `table` score the split points, at a loss
    of `epsilon`. An interval of a single code is returned as it is, at no loss.
    """
    low, high = value.codes[0], value.codes[-1] + 1
    if high - low < 2:
        return value
    split_points, worthless = list(range(low + 1, high)), -1
    if descent.paper:
        counts = table.noiseless(PAGES["reasons"]["code"], claimed_epsilon=0).counts([(name,)], epsilon=1)[0][low:high]
        present = low + np.flatnonzero(counts)
        if counts.sum() <= 1:
            split_points = [(low + high) // 2]
        elif len(present) > 1:
            split_points, worthless = list(range(low + 1, int(present[-1]) + 1)), int(present[0])
    options = descent.score_options | {"column": name, "low": low, "high": high}
    score = IntervalSplit(**options, points=split_points, worthless_below=worthless)
    point = split_points[descent.choose(score, epsilon, table)]
    return replace(value, children=value.split_at(table.schema[name], point))


def choose_halves_in_parallel(descent: Descent, name: str, value: TreeValue, epsilon: Epsilon) -> Frontier:
    """Return the two halves of an interval, each with halves at a privately chosen split point.

    `value` is the interval, of column `name`. Its halves hold different records, so both choices
    together cost `epsilon`.
    """
    table, side = descent.table, "side"
    where = codes_by_value(value.children, table.schema[name].size)
    while side in table.schema.names:
        side += "'"
    sides = Column(name=side, kind="categorical", categories=("left", "right", "elsewhere"))
    table = table.derive(sides, [name], np.where(where < 0, 2, where))
    parts = table.partition_by(side, name=f"halves of {name} {value.name}")
    return tuple(
        choose_halves(descent, part, name, half, part.ledger.share_of(epsilon))
        for part, half in zip(parts, value.children, strict=False)
    )
