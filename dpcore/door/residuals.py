"""What rows lack of a released additive model's answer, in whole numbers. Private input: see the package.

The model scores every class by a start and by one number for each column's value. A row of class y lacks e_y - p: p has
the classes' probabilities, and e_y is 1 at y. What one row lacks is worked out from its own codes and the model alone,
in whole numbers all the way, so that neither other rows nor a processor's way of rounding change it:

scores   are whole multiples of 1 / `STEPS`, and their sums are exact; a class more than `DEPTH` behind the best counts
         as that far behind;
weights  w = exp(-behind) come from a public table, as whole numbers up to 2^20;
p        is floor(`GRID` w / sum of w), in units of 1 / `GRID`, so that all p together are at most `GRID`.

Lemma. Let a = `GRID` - p_y, which is 0 to `GRID`. All other p together are at most a, and none is negative. What a row
lacks is a at y and -p_c at the other classes: its L1 norm is at most 2a, and its L2 norm at most root 2 times a, as the
squares of what sums to a sum to a^2 at most. Of two classes only the second is told, at most `GRID` from 0.

A row is in one cell of a column, so that adding it moves all sums by what it lacks: by 1 with two classes, by 2 (L1) or
root 2 (L2) with more. Changing one takes one away and adds another: twice that, in either norm, also if both are in one
cell.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from dpcore.accounting.currency import Amount, Currency
from dpcore.accounting.relation import Relation
from dpcore.arguments import Ints
from dpcore.postprocess.additive import STEPS, Additive
from dpcore.rows import Rows

DEPTH = 16
GRID = 1 << 12
WEIGHTS = np.rint(np.exp(-np.arange(DEPTH * STEPS + 1) / STEPS) * (1 << 20)).astype(np.int64)


def moved(classes: int, relation: Relation, currency: Currency) -> float:
    """How much one person moves the sums of a column, in the norm that the noise answers to; see the module."""
    one = 1.0 if classes == 2 else sqrt(2) if currency.delta else 2.0
    return one * (1 if relation is Relation.ADD_REMOVE else 2)


def variance(share: Amount, classes: int, relation: Relation, currency: Currency) -> float:
    """The variance of the noise in every sum that is bought for a share; public. Infinite if it buys nothing."""
    return currency.scale(share, moved(classes, relation, currency)) ** 2 * (1 if currency.delta else 2)


def lacking(start: Ints, scores: Sequence[Ints], codes: Sequence[Ints], classes: Ints) -> Ints:
    """What rows lack in units of 1 / `GRID`, shape (n, classes); codes and scores are of the same columns."""
    total = np.tile(start.astype(np.int64), (len(classes), 1))
    for score, values in zip(scores, codes, strict=True):
        total += score[values]
    behind = np.minimum(total.max(axis=1, keepdims=True) - total, DEPTH * STEPS)
    weights = WEIGHTS[behind]
    found: Ints = -(GRID * weights // weights.sum(axis=1, keepdims=True))
    found[np.arange(len(classes)), classes] += GRID
    return found


def sums(rows: Rows, model: Additive, names: Sequence[str], column: str) -> Ints:
    """The sums by value of a column, shape (size, classes), or (size, 1) of the second of two classes."""
    asked = [name for name in names if name in model.scores]
    places = [names.index(name) for name in (*asked, column, model.target)]
    size, classes = rows.sizes[places[-2]], rows.sizes[places[-1]]
    found = np.zeros((size, classes), dtype=np.int64)
    scores = [model.scores[name] for name in asked]
    for *codes, own, label in rows.blocks(places):
        np.add.at(found, own.astype(np.intp), lacking(model.start, scores, codes, label.astype(np.intp)))
    return found[:, -1:] if classes == 2 else found
