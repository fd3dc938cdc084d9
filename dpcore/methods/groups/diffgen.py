r"""DiffGen: generalized rows by top-down specialization, and a tree from them (compared with in papers 002 and 003).

Idea      Start from "anything" in every column; again and again choose one value, privately, and replace it by its
          children in the taxonomy; count the groups that are left with noise. Rows of these groups are published so
          that others can learn from them. Its paper does, and so do the papers that compare with it: a tree in the
          manner of C4.5 on the generalized rows (the DiffGen tree).

Steps     epsilon' = epsilon / (2 (n_c + 2h)), for n_c numeric columns that can be cut and h rounds
  1  Where to cut each numeric column's whole interval.                                              choose, n_c times
  2  h times: which value of the current cut to specialize, by how well its children tell the classes apart.    choose
     If it is an interval, where to cut each of its two halves later: they hold different records. choose, in parallel
  3  Counts of all groups x classes, empty ones included, with what is left (at least epsilon / 2).             counts
  4  Under replace, counts moved in equal steps to the public total. Negative counts moved to 0.        post-processing
  5  DiffGen: rows are drawn uniformly out of the groups. DiffGen tree: a binary tree by entropy on one row per group
     and class, weighted by its count; no rows are drawn, which would only add noise. Categories are asked for one
     group, numbers for the groups up to one. A leaf holds at least four standard deviations of the noise on a count,
     three of a difference of two: of fewer rows, noise alone may make another class the largest. A row is predicted by
     the groups that its values lie in.                                                                 post-processing

  Numeric columns are cut between bins, whatever taxonomy they carry.

Privacy
  Public    the schema, its taxonomies, h, the cap on groups; n under replace.
  1, 2      Max has sensitivity 1 and is monotone; the information gain, by which paper 003 says that values are
            chosen, log2 of the number of classes, its range (`Specialization`). The two halves of an interval
            partition its records: parallel composition, one epsilon'
            (under replace each half is charged as a removal or an addition, at epsilon' / 2). Which values may be
            specialized follows from earlier choices and public sizes alone.
  3         Groups partition the records: sensitivity 1 (add_remove) or 2 (replace).
  4, 5      Nothing but released counts, public groups and a fixed seed for ties.
  Sum       epsilon' (n_c + 2h) at most, which is epsilon / 2, and the rest for the counts: epsilon.

What is claimed, and where it is wrong
  The paper's proof holds. The code that its authors published does not follow it (mode="published"): an interval with
  one row or none is cut in the middle, one with a single value of the data anywhere, and any other up to the data's
  largest value, where places that leave nothing to their left score 0. What can come out then depends on the data, so
  that one person can make outcomes possible that were impossible: no epsilon holds. Corrected mode cuts at every public
  place.
  That code also cuts its noise off to whole numbers towards 0, which costs up to ln 2 more per count; that is not done
  here.

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
    SURVEY_ROW,
    Cut,
    Descent,
    GroupClassifier,
    Specializer,
    SpecializingSynthesizer,
    Value,
    codes_by_value,
)
from dpcore.methods.parameters import presets_of


class TopDownSpecializer(Specializer):
    """Base of methods that choose values first, and apart from them where to cut intervals."""

    reference = phrase("Mohammed et al. 2011")
    provable_published = phrase("none with numbers")

    def _begin(self, way: Descent, progress: Progress) -> Epsilon:
        """Cut an interval as soon as it is there, whether it will be specialized or not."""
        numeric = way.numeric
        share = exact(self.epsilon) / (2 * (len(numeric) + 2 * self.rounds))
        progress(0.0, phrase("Choosing cuts"))
        for name in numeric:
            way.cut[name] = tuple(halve(way, way.table, name, value, share) for value in way.cut[name])
            way.spent += share
        return share

    def _descend(self, way: Descent, share: Epsilon) -> bool:
        open_, schema = list(way.open()), way.table.schema
        if open_:
            splits = [(name, codes_by_value(value.children, schema[name].size)) for name, value in open_]
            score = Specialization(**way.how, splits=splits)
            name, value = open_[way.choose_among(len(open_), score, share)]
            children = value.children
            if schema[name].numeric and any(len(half.codes) > 1 for half in children):
                children = both_halved(way, name, value, share)
                way.spent += share  # in parallel
            way.specialize(name, value, children)
        return bool(open_)


class DiffGen(TopDownSpecializer, SpecializingSynthesizer):
    """Synthetic rows from generalized groups by top-down specialization.

    Mohammed et al. 2011: as its authors' code has it, and corrected. See the module for steps and
    privacy.
    """

    survey_row = SURVEY_ROW
    best_for = "generalized rows for a classifier"
    presets = presets_of(PAGES, "DiffGen")
    paper = "002, 003"


class DiffGenTree(TopDownSpecializer, GroupClassifier):
    """Decision tree learned from DiffGen's generalized groups.

    Mohammed et al. 2011: as its authors' code makes it, and corrected. See the module for steps and
    privacy.
    """

    title = "DiffGen tree"
    best_for = "a tree with its groups"
    presets = presets_of(PAGES, "DiffGenTree")
    paper = "003, 002"


def halve(way: Descent, table: PrivateTable, name: str, value: Value, epsilon: Epsilon) -> Value:
    """An interval with the two halves that it would fall into; a single code as it is, and at no cost."""
    low, high = value.codes[0], value.codes[-1] + 1
    if high - low < 2:
        return value
    split_points, worthless = list(range(low + 1, high)), -1
    if way.paper:
        counts = table.noiseless(PAGES["reasons"]["code"], claimed_epsilon=0).counts([(name,)], epsilon=1)[0][low:high]
        present = low + np.flatnonzero(counts)
        if counts.sum() <= 1:
            split_points = [(low + high) // 2]
        elif len(present) > 1:
            split_points, worthless = list(range(low + 1, int(present[-1]) + 1)), int(present[0])
    score = IntervalSplit(**way.how, column=name, low=low, high=high, points=split_points, worthless_below=worthless)
    at = split_points[way.choose(score, epsilon, table)]
    return replace(value, children=value.halves(table.schema[name], at))


def both_halved(way: Descent, name: str, value: Value, epsilon: Epsilon) -> Cut:
    """An interval's halves with halves of their own, chosen in parallel."""
    table, side = way.table, "side"
    where = codes_by_value(value.children, table.schema[name].size)
    while side in table.schema.names:
        side += "'"
    sides = Column(name=side, kind="categorical", categories=("left", "right", "elsewhere"))
    parts = table.derive(sides, [name], np.where(where < 0, 2, where)).split(
        side, name=f"halves of {name} {value.name}"
    )
    return tuple(
        halve(way, part, name, half, part.ledger.share_of(epsilon))
        for part, half in zip(parts, value.children, strict=False)
    )
