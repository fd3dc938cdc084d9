"""Cases of the methods that grow trees: counts on a row's way down, classes read off rows, bootstrap samples."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpcore.audit.game import Case, Verdict
from dpcore.audit.tables import BIT, Neighbors, Worlds, bits, both, changed, clipped, even, frame_of, more
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.language import phrase
from dpcore.methods import PINQID3, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, NonPrivateForest, SuLQID3

EACH = 60
EVEN = even(EACH)
NUMBER = Schema(
    columns=(
        Column(name="n", kind="continuous", lower=0, upper=10, bins=10),
        Column(name="a", kind="categorical", categories=BIT),
        Column(name="y", kind="categorical", categories=BIT),
    ),
    target="y",
    max_rows=100,
)
ALIKE = frame_of(NUMBER, *[(i, "0", "0") for i in range(10)])
ODD_ONE = (9.0, "1", "1")
PURE = Neighbors(
    NUMBER, more(ALIKE, ODD_ONE), changed(ALIKE, ODD_ONE), (phrase("the same and one"), phrase("nine and one"))
)
RIVALS = bits("aby", "y")
BEHIND = more(frame_of(RIVALS, "000", "111", times=5), "100")[1]  # a is, by one row
NEARLY = Worlds(schema=RIVALS, pair=more(BEHIND, "010"))
OLD_ROWS = 40
FRESH = Worlds(schema=EVEN.schema, pair=changed(frame_of(EVEN.schema, "00", times=OLD_ROWS), "11"))
# how often a bootstrap sample holds a row
TIMES = binom.logpmf(np.arange(9), OLD_ROWS, 1 / OLD_ROWS)


def divided(fitted: Any) -> float:
    """How many trees divide their root."""
    forest = fitted.forest_
    return float((~forest.leaf[: forest.trees]).sum())


def leaf(forest: Any, code: int) -> int:
    """Where the one tree puts a row whose column a has that code; column a is all that it can ask."""
    at = 0
    while forest.column[at] >= 0:
        at = int(forest.first[at]) + code
    return at


def seen(fitted: Any, code: int) -> list[tuple[float, float]]:
    """Released counts on the way down of (0, 0) or (1, 1) that the row changes, beside those of the first world."""
    forest = fitted.forest_
    at = leaf(forest, code)
    found = [(float(forest.classes[at, code]), float(EACH))]
    if forest.parent[at] >= 0:
        found.append((float(forest.noisy[at]), 2.0 * EACH))
    if fitted.relation == "add_remove":
        found.append((float(forest.noisy[0]), 4.0 * EACH))
    return [(noisy, true) for noisy, true in found if not np.isnan(noisy)]


def way_down(fitted: Any) -> float:
    """How far all noisy counts on the way down of (1, 1), and of (0, 0) if one is replaced, lie towards the second."""
    found = sum(clipped(noisy, true) for noisy, true in seen(fitted, 1))
    if fitted.relation == "replace":
        found += sum(clipped(true - noisy, 0.0) for noisy, true in seen(fitted, 0))
    return round(found, 9)


def copies(fitted: Any) -> float:
    """The log-likelihood ratio of four counts, over all numbers of times that a sample may hold the row."""
    forest = fitted.forest_
    new, old = leaf(forest, 1), leaf(forest, 0)
    if new == old:
        return 0.0
    gained = [
        forest.noisy[new],
        forest.classes[new, 1],
        OLD_ROWS - forest.noisy[old],
        OLD_ROWS - forest.classes[old, 0],
    ]
    found = np.array([sum(abs(x) - abs(x - k) for x in gained) for k in range(len(TIMES))]) * fitted.epsilon / 4
    return round(float(logsumexp(found + TIMES)), 9)


def counts(estimator: Any, *told: str) -> list[Case]:
    """Noisy counts on one row's way down; what is told under each relation, or under both."""
    story = (
        phrase("Sixty rows of each kind, or {other}."),
        (told[0], told[-1]),
        phrase("The attacker looks at all counts that the row is in."),
    )
    return both(
        f"{estimator.title}/{estimator.mode}/counts",
        phrase("Counts on the way down, one row"),
        story,
        EVEN,
        estimator,
        phrase("Counts on the row’s way down, each cut off outside of what the two tables have, summed"),
        way_down,
        1_500,
    )


STANDS = (
    phrase("The paper charges every level in turn, and its claim stands."),
    phrase(
        "The paper charges every level in turn. A replaced row can touch two nodes of a level, so only a larger "
        "epsilon than claimed can be proved; one level is not enough to show it."
    ),
)
LEVELS = {"published": STANDS, "corrected": (phrase("Every level is charged in turn."),)}


def purity(expected: Verdict, told: str, **how: Any) -> list[Case]:
    """One row of another class."""
    estimator = DiffPRFs(epsilon=1.0, n_trees=25, max_depth=1, criterion="Max", **how)
    return both(
        f"DiffPRFs/{estimator.mode}/purity",
        phrase("One row of another class,"),
        (phrase("Ten rows of one class, or {other} of another."), told),
        PURE,
        estimator,
        phrase("Trees that divide, out of 25"),
        divided,
        300,
        expected,
    )


CASES = (
    *purity(
        "caught",
        phrase(
            "The paper stops where all rows are of one class, and reads that off the rows: in the first world no tree "
            "ever divides, in the second nearly every forest has one that does. No epsilon holds."
        ),
        mode="published",
    ),
    *purity(
        "not caught",
        phrase("Whether a node goes on is decided by noisy counts here, and nobody looks at the rows’ classes."),
        resample="full",
        count_share=0.4,
    ),
    *counts(
        DiffPRFs(epsilon=2.0, n_trees=1, max_depth=1, leaf_share=0.9),
        phrase("One tree, and most of epsilon buys the classes in its leaves."),
    ),
    Case(
        key="DiffPRFs/corrected/choice",
        name=phrase("The choice of a column, one row added"),
        tale=phrase(
            "“Smokes” and “drives” tell the classes apart but for one row, which “drives” gets right; in the second "
            "world one more row makes up for it. Nearly all of epsilon chooses between them, and the attacker sees "
            "which column the tree asks."
        ),
        **NEARLY,
        estimator=DiffPRFs(epsilon=2.0, n_trees=1, max_depth=1, criterion="Max", leaf_share=0.05),
        number=phrase("Whether the tree asks “smokes”: 1 for yes"),
        statistic=lambda fitted: float(fitted.forest_.column[0] == 0),
        trials=1_000,
    ),
    Case(
        key="DiffPRF/published/bootstrap",
        name=phrase("One row, drawn several times"),
        tale=phrase(
            "Forty rows (0, 0), or 39 and one (1, 1). A bootstrap sample may hold that row two or three times, and "
            "each time counts; the paper pays for one. With one tree and an epsilon of 3 that shows. With 25 trees and "
            "an epsilon of 1 it would not, as samples then can cost hardly more than rows."
        ),
        **FRESH,
        estimator=DiffPRF(mode="published", epsilon=3.0, n_trees=1, max_depth=1, relation="replace"),
        number=phrase("Log-likelihood ratio of the leaves’ counts"),
        statistic=copies,
        trials=6_000,
        expected="caught",
    ),
    *counts(
        DiffPRF(epsilon=2.0, n_trees=1, max_depth=1),
        phrase("No bootstrap sample is drawn: every row is in one tree, once."),
    ),
    *(
        case
        for method in (SuLQID3, PINQID3, DiffPID3, partial(DiffPC45, prune=False))
        for mode, told in LEVELS.items()
        for case in counts(method(mode=mode, epsilon=2.0, max_depth=1), *told)
    ),
    Case(
        key="Non-private forest/published/purity",
        name=phrase("A forest without noise"),
        tale=phrase(
            "Ten rows of one class, or the same and one of another. Trees count classes exactly, and somewhere in 25 "
            "bootstrap samples that row is. Nothing is claimed; more runs only make the lower bound larger."
        ),
        schema=NUMBER,
        pair=PURE.added,
        estimator=NonPrivateForest(max_depth=1),
        number=phrase("Rows of class 1, over all trees"),
        statistic=lambda fitted: float(fitted.forest_.classes[: fitted.forest_.trees, 1].sum()),
        trials=200,
        expected="no claim",
    ),
)
