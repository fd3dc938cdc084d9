"""Cases of the methods that grow trees: counts on a row's way down, classes read off rows, bootstrap samples."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpcore.audit.game import Case
from dpcore.audit.tables import BIT, bits, changed, clipped, frame_of, more
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.methods import PINQID3, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, PlainForest, SuLQID3

CLASSED = bits("ay", "y")
EACH = 60
EVEN = frame_of(CLASSED, "00", "01", "10", "11", times=EACH)
GROWN, MOVED = more(EVEN, "11"), changed(EVEN.iloc[::-1], "11")
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
PURE = {"add_remove": more(ALIKE, (9.0, "1", "1")), "replace": changed(ALIKE, (9.0, "1", "1"))}
RIVALS = bits("aby", "y")
NEARLY = more(more(frame_of(RIVALS, "000", "111", times=5), "100")[1], "010")
OLD_ROWS = 40
FRESH = changed(frame_of(CLASSED, "00", times=OLD_ROWS), "11")
TIMES = binom.logpmf(np.arange(9), OLD_ROWS, 1 / OLD_ROWS)  # how often a bootstrap sample holds a row


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
    return [(noisy, exact) for noisy, exact in found if not np.isnan(noisy)]


def way_down(fitted: Any) -> float:
    """How far all noisy counts on the way down of (1, 1), and of (0, 0) if one is replaced, lie towards the second."""
    found = sum(clipped(noisy, exact) for noisy, exact in seen(fitted, 1))
    if fitted.relation == "replace":
        found += sum(clipped(exact - noisy, 0.0) for noisy, exact in seen(fitted, 0))
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


def asks_first(fitted: Any) -> float:
    """Whether the root asks column a."""
    return float(fitted.forest_.column[0] == 0)


def of_the_class(fitted: Any) -> float:
    """How many rows of class 1 all trees say there are."""
    forest = fitted.forest_
    return float(forest.classes[: forest.trees, 1].sum())


WORDS = {
    "add_remove": ("added", "the same and one more (1, 1)"),
    "replace": ("replaced", "one (0, 0) less and one (1, 1) more"),
}


def counts(method: str, estimator: Any, told: str, trials: int = 1_500) -> Case:
    """Noisy counts on one row's way down."""
    word, story = WORDS[estimator.relation]
    return Case(
        key=f"{method}/{estimator.mode}/counts/{estimator.relation}",
        method=method,
        mode=estimator.mode,
        title=f"Counts on the way down, one row {word}",
        story=f"Sixty rows of each kind, or {story}. {told} The attacker looks at all counts that the row is in.",
        relation=estimator.relation,
        schema=CLASSED,
        pair=GROWN if estimator.relation == "add_remove" else MOVED,
        estimator=estimator,
        looks_at="Counts on the row’s way down, each cut off outside of what the two tables have, summed",
        statistic=way_down,
        trials=trials,
        expected="not caught",
    )


PAID = "Every level is paid for in turn."
STANDS = {
    "add_remove": "The paper pays for every level in turn, and its claim stands.",
    "replace": "The paper pays for every level in turn. A replaced row can touch two nodes of a level, so less is "
    "proved than is claimed; one level is not enough to show it.",
}


def purity(estimator: Any) -> Case:
    """One row of another class."""
    paper, replaced = estimator.mode == "paper", estimator.relation == "replace"
    return Case(
        key=f"DiffPRFs/{estimator.mode}/purity/{estimator.relation}",
        method="DiffPRFs",
        mode=estimator.mode,
        title="One row of another class, " + ("replaced" if replaced else "added"),
        story="Ten rows of one class, or "
        + ("nine and one" if replaced else "the same and one")
        + " of another. "
        + (
            "The paper stops where all rows are of one class, and reads that off the rows: in the first world no tree "
            "ever divides, in the second nearly every forest has one that does. No epsilon holds."
            if paper
            else "Whether a node goes on is decided by noisy counts here, and nobody looks at the rows’ classes."
        ),
        relation=estimator.relation,
        schema=NUMBER,
        pair=PURE[estimator.relation],
        estimator=estimator,
        looks_at="Trees that divide, out of 25",
        statistic=divided,
        trials=300,
        expected="caught" if paper else "not caught",
    )


SAFE: dict[str, Any] = {"resample": "full", "count_share": 0.4}
CASES = (
    *(
        purity(DiffPRFs(mode=mode, epsilon=1.0, n_trees=25, max_depth=1, relation=relation, criterion="Max", **how))
        for mode, how in (("paper", dict[str, Any]()), ("corrected", SAFE))
        for relation in WORDS
    ),
    *(
        counts(
            "DiffPRFs",
            DiffPRFs(epsilon=2.0, n_trees=1, max_depth=1, leaf_share=0.9, relation=relation),
            "One tree, and most of epsilon buys the classes in its leaves.",
        )
        for relation in WORDS
    ),
    Case(
        key="DiffPRFs/corrected/choice",
        method="DiffPRFs",
        mode="corrected",
        title="The choice of a column, one row added",
        story="Columns a and b tell the classes apart but for one row, which b gets right and a does not; in the "
        "second world one more row makes up for it. Nearly all of epsilon chooses between them, and the attacker sees "
        "which column the tree asks.",
        relation="add_remove",
        schema=RIVALS,
        pair=NEARLY,
        estimator=DiffPRFs(epsilon=2.0, n_trees=1, max_depth=1, criterion="Max", leaf_share=0.05),
        looks_at="Whether the tree asks column a: 1 for yes",
        statistic=asks_first,
        trials=1_000,
        expected="not caught",
    ),
    Case(
        key="DiffPRF/paper/bootstrap",
        method="DiffPRF",
        mode="paper",
        title="One row, drawn several times",
        story="Forty rows (0, 0), or 39 and one (1, 1). A bootstrap sample may hold that row two or three times, and "
        "each time counts; the paper pays for one. With one tree and an epsilon of 3 that shows. With 25 trees and an "
        "epsilon of 1 it would not, as samples then cost hardly more than rows.",
        relation="replace",
        schema=CLASSED,
        pair=FRESH,
        estimator=DiffPRF(mode="paper", epsilon=3.0, n_trees=1, max_depth=1, relation="replace"),
        looks_at="Log-likelihood ratio of the leaves’ counts",
        statistic=copies,
        trials=6_000,
        expected="caught",
    ),
    *(
        counts(
            "DiffPRF",
            DiffPRF(epsilon=2.0, n_trees=1, max_depth=1, relation=relation),
            "No bootstrap sample is drawn: every row is in one tree, once.",
        )
        for relation in WORDS
    ),
    *(
        counts(
            method,
            kind(mode=mode, epsilon=2.0, max_depth=1, relation=relation),
            STANDS[relation] if mode == "paper" else PAID,
        )
        for method, kind in (
            ("SuLQ-ID3", SuLQID3),
            ("PINQ-ID3", PINQID3),
            ("DiffP-ID3", DiffPID3),
            ("DiffP-C4.5", partial(DiffPC45, prune=False)),
        )
        for mode in ("paper", "corrected")
        for relation in WORDS
    ),
    Case(
        key="Plain forest/paper/purity",
        method="Plain forest",
        mode="paper",
        title="A forest without noise",
        story="Ten rows of one class, or the same and one of another. Trees count classes exactly, and somewhere in 25 "
        "bootstrap samples that row is. Nothing is claimed; more runs only make the lower bound larger.",
        relation="add_remove",
        schema=NUMBER,
        pair=PURE["add_remove"],
        estimator=PlainForest(max_depth=1),
        looks_at="Rows of class 1, over all trees",
        statistic=of_the_class,
        trials=200,
        expected="no claim",
    ),
)
