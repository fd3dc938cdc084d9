"""Cases of the methods that release networks: similarities, tables, noisy comparisons, and the size of the noise."""

from dataclasses import replace
from math import log2
from typing import Any

import numpy as np

from dpcore.audit.game import Case
from dpcore.audit.tables import (
    Neighbors,
    Worlds,
    bits,
    both,
    changed,
    clipped,
    difference_ratio,
    even,
    frame_of,
    gained,
    more,
)
from dpcore.language import phrase
from dpcore.methods import (
    AIM,
    MST,
    AdaptiveMarginals,
    HMPrivBayes,
    IndependentMarginals,
    JTree,
    NoPrivacy,
    PrivBayes,
    PrivSCBN,
    RefinedPrivBayes,
)

TWO, THREE, FOUR, EIGHT = bits("ab"), bits("abc"), bits("abcd"), bits("abcdwxyz")
N = 40
ZEROS_FOUR, ZEROS_THREE = (
    Worlds(schema=s, pair=changed(frame_of(s, "0" * len(s), times=N), "1" * len(s))) for s in (FOUR, THREE)
)
ALONE = Worlds(schema=TWO, pair=changed(frame_of(TWO, "00", times=N), "10"))
TWO_ROWS = Worlds(schema=THREE, pair=changed(frame_of(THREE, "000", "111"), "011"))
ZEROS_EIGHT = frame_of(EIGHT, "00000000", times=19)
FIRST, LAST = (more(ZEROS_EIGHT, ones)[1] for ones in ("11110000", "00001111"))
BLOCKS = Worlds(schema=EIGHT, pair=(FIRST, LAST))
HALVES = frame_of(TWO, "11", "00", times=200)
EITHER = Neighbors(
    TWO,
    more(HALVES, "11"),
    changed(HALVES, "11"),
    (phrase("the same and one more row of ones"), phrase("one row of zeros less and one of ones more")),
)
EVEN = replace(even(50), words=(phrase("one (1, 1) more"), phrase("one (0, 0) less and one (1, 1) more")))
TABLES = phrase("Tables, one row")
CELLS = phrase("Log-likelihood ratio of the cells of ones and of zeros")
# what one row of ones makes of every pair's information
STEP = (1 / N) * log2(N) + (1 - 1 / N) * log2(N / (N - 1))


def similarities(fitted: Any) -> float:
    """How far all noisy similarities lie on the way from the first world's to the second's."""
    d = len(fitted.similarity_)
    return sum(clipped(s, 0.0, STEP) for s in fitted.similarity_[np.triu_indices(d, 1)])


def corners(fitted: Any) -> float:
    """How far all tables' first and last cells lie on the way from N rows of zeros to one row of ones."""
    found = 0.0
    for table in fitted.tables_:
        found += clipped(table[(1,) * table.ndim], 0.0) + clipped(N - table[(0,) * table.ndim], 0.0)
    return found


def noise_elsewhere(fitted: Any) -> float:
    """The largest sum of a table's absolute cells, of tables that are not about the column that differs."""
    sizes = [
        float(np.abs(table).sum())
        for family, table, price in zip(fitted.families_, fitted.tables_, fitted.epsilons_, strict=True)
        if price and family[0] != "a bit 1"
    ]
    return max(sizes, default=0.0)


def ones(fitted: Any) -> float:
    """The log-likelihood ratio of all tables' differences between the cells of ones and of zeros.

    Tables were moved to one total, which leaves differences as they were.
    """
    found, row = 0.0, 2.0 if fitted.relation == "replace" else 1.0
    for table, price in zip(fitted.tables_, fitted.epsilons_, strict=True):
        if price and min(table.shape) > 1:  # of rare values that were merged, a table has one cell
            moved = float(table[(1,) * table.ndim] - table[(0,) * table.ndim])
            found += difference_ratio(moved, row, row / price)
    return found


def towards_second(fitted: Any) -> float:
    """How many more edges lie among w, x, y, z than among a, b, c, d."""
    return float(sum(min(edge) >= "w" for edge in fitted.edges_) - sum(max(edge) <= "d" for edge in fitted.edges_))


def cells(fitted: Any) -> float:
    """The log-likelihood ratio of the one table's cells of ones and of zeros; those of ones alone if a row is added."""
    (table,), (price,) = fitted.tables_, fitted.epsilons_
    if fitted.relation == "add_remove":
        return float(table[1, 1])
    return difference_ratio(float(table[1, 1] - table[0, 0]), 2.0, 2 / price)


def pairs(key: str, how: str, estimator: Any, trials: int = 2_000, title: str = TABLES) -> list[Case]:
    """A corrected network of two columns."""
    story = (phrase("200 rows of zeros and 200 of ones, or {other}."), how)
    return both(f"{estimator.title}/corrected/{key}", title, story, EITHER, estimator, CELLS, ones, trials)[::-1]


CASES = (
    Case(
        key="HMPrivBayes/published/pairs",
        name=phrase("All pairs of columns, paid for as if each person were in one of them"),
        tale=phrase(
            "Forty rows of zeros, or one of them all ones. That row raises the similarity of all six pairs of four "
            "columns at once. The paper charges as if pairs held different people: half of what they can cost. What is "
            "attacked is compared with the part of epsilon that the paper counts for all pairs."
        ),
        **ZEROS_FOUR,
        estimator=HMPrivBayes(mode="published", epsilon=19.0, n_clusters=1, max_parents=1),
        number=phrase("Released similarities, each cut off outside of what the two tables have, summed"),
        statistic=similarities,
        trials=6_000,
        expected="caught",
        step=" values of ",
    ),
    Case(
        key="HMPrivBayes/published/clusters",
        name=phrase("Three clusters of columns, paid for as one"),
        tale=phrase(
            "Forty rows of zeros, or one of them all ones. Every cluster's table holds that row, and the paper pays "
            "for all three tables as for one, as if they held different people. The attacker looks at all of them."
        ),
        **ZEROS_THREE,
        estimator=HMPrivBayes(mode="published", epsilon=6.0, n_clusters=3),
        number=phrase("Cells of zeros and of ones, each cut off outside of what the two tables have, summed"),
        statistic=corners,
        trials=1_500,
        expected="caught",
        step="counts of",
    ),
    Case(
        key="HMPrivBayes/published/entropies",
        name=phrase("Noise whose size depends on the data"),
        tale=phrase(
            "Two rows that differ in whether one person smokes. Entropies without noise decide how much noise each "
            "table gets, so the tables of the other columns, whose rows are the same, have larger noise in one "
            "world. The paper claims an epsilon of 0.05; no finite epsilon holds."
        ),
        **TWO_ROWS,
        estimator=HMPrivBayes(mode="published", epsilon=0.05, n_clusters=1, max_parents=1),
        number=phrase("Size of the noisiest table of “drives” and “votes”"),
        statistic=noise_elsewhere,
        trials=1_500,
        expected="caught",
    ),
    *pairs(
        "tables",
        phrase(
            "Every question about the row is paid for one after the other. The attacker sees the tables; the "
            "similarities and the choice of the network have had their own parts of epsilon."
        ),
        HMPrivBayes(epsilon=4.0, n_clusters=1),
    ),
    Case(
        key="HMPrivBayes/corrected/pairs",
        name=phrase("All pairs of columns, each paid for"),
        tale=phrase(
            "Forty rows of zeros, or one of them all ones, which moves all six pairs. Each pair is paid for here, and "
            "the noise is larger. What is attacked is compared with the part of epsilon that all pairs have together."
        ),
        **ZEROS_FOUR,
        estimator=HMPrivBayes(epsilon=19.0, n_clusters=1, max_parents=1, score="MI"),
        number=phrase("Released similarities, each cut off outside of what the two tables have, summed"),
        statistic=similarities,
        trials=1_000,
        step=" values of ",
    ),
    Case(
        key="PrivBayes/published/tables",
        name=phrase("Tables, one row replaced"),
        tale=phrase(
            "200 rows of zeros and 200 of ones, or one row of zeros less and one of ones more. The paper charges "
            "every table in turn, and is right. The attacker sees both tables that the row is in."
        ),
        schema=TWO,
        pair=EITHER.replaced,
        estimator=PrivBayes(mode="published", epsilon=2.0, variant="binary", theta=200.0),
        number=CELLS,
        statistic=ones,
        trials=3_000,
    ),
    *pairs(
        "tables",
        phrase("All of epsilon goes to one table per column, and the attacker sees both."),
        PrivBayes(epsilon=2.0, variant="binary", theta=200.0),
        3_000,
    ),
    *pairs(
        "network",
        phrase("A part of epsilon chooses the network, the rest measures its two tables. The attacker sees both."),
        PrivBayes(epsilon=2.0),
        title=phrase("A network and its tables, one row"),
    ),
    *pairs(
        "tables",
        phrase("All of epsilon goes to one table per column, and the attacker sees both."),
        IndependentMarginals(epsilon=2.0),
        3_000,
    ),
    *both(
        "PrivBayes refined/corrected",
        phrase("The one table, one row"),
        phrase(
            "Fifty rows of each kind, or {other}. There is one column beside the class, so all of epsilon buys its "
            "table, in two askings. The attacker looks at the cell that gains a row."
        ),
        EVEN,
        RefinedPrivBayes(),
        (phrase("Released number of rows (1, 1)"), phrase("Released number of rows (1, 1) less that of rows (0, 0)")),
        lambda fitted: gained(fitted.margins_[0], fitted.relation),
        3_000,
    ),
    *both(
        "Adaptive marginals/corrected",
        phrase("The one pair, measured again and again"),
        phrase(
            "Fifty rows of each kind, or {other}. The number of rows, the table of the column and the class, and every "
            "round's choice and table are paid for in turn. The attacker looks at the cell that gains a row."
        ),
        EVEN,
        AdaptiveMarginals(),
        (phrase("Released number of rows (1, 1)"), phrase("Released number of rows (1, 1) less that of rows (0, 0)")),
        lambda fitted: gained(fitted.tables_[0], fitted.relation),
        1_000,
    ),
    *pairs(
        "tables",
        phrase(
            "A third of epsilon measures both columns, a third chooses their pair, and a third measures it. The "
            "attacker sees the table that is fitted to all of it."
        ),
        MST(epsilon=4.0),
        1_000,
    ),
    *pairs(
        "rounds",
        phrase(
            "Both columns are measured, and then, round by round, one of them or their pair, until epsilon is spent. "
            "The attacker sees what is fitted to all of it."
        ),
        AIM(epsilon=3.0),
        500,
        title=phrase("Rounds of tables, one row"),
    ),
    Case(
        key="PrivSCBN/published/index",
        name=phrase("An index that one person moves all the way"),
        tale=phrase(
            "Forty rows of zeros, or one of them with a one in the first column. Jaccard's index of the two columns "
            "falls from 1 to 0, but the noise is made for changes of 1/40."
        ),
        **ALONE,
        estimator=PrivSCBN(mode="published", epsilon=0.5, n_clusters=1),
        number=phrase("Released Jaccard index of the two columns"),
        statistic=lambda fitted: float(fitted.similarity_[0, 1]),
        trials=1_000,
        expected="caught",
    ),
    *pairs(
        "tables",
        phrase(
            "Pairs are compared by noisy tables, and each question is paid for one after the other. The attacker sees "
            "the tables that are released."
        ),
        PrivSCBN(epsilon=4.0, n_clusters=1),
    ),
    Case(
        key="NoPrivacy/published/tables",
        name=phrase("The same network without noise"),
        tale=phrase(
            "Forty rows of zeros, or one of them all ones. The tables are released as they are, so that one run "
            "tells the two apart for sure. Nothing is claimed; more runs only make the lower bound larger."
        ),
        **ZEROS_THREE,
        estimator=NoPrivacy(n_clusters=1),
        number=phrase("Released number of rows of ones, over all tables"),
        statistic=lambda fitted: float(sum(table[(1,) * table.ndim] for table in fitted.tables_)),
        trials=300,
        expected="no claim",
    ),
    Case(
        key="JTree/published/comparisons",
        name=phrase("Twelve comparisons with one noisy threshold"),
        tale=phrase(
            "Twenty rows of zeros but for one, which has ones in the first four columns or in the last four. It "
            "makes six pairs of columns look dependent, or six others. The paper charges all answers as one; "
            "the attacker counts edges."
        ),
        **BLOCKS,
        estimator=JTree(mode="published", epsilon=2.0, structure_share=0.8),
        number=phrase("Edges among the last four columns, less those among the first four"),
        statistic=towards_second,
        trials=1_500,
        expected="caught",
    ),
    Case(
        key="JTree/corrected/picks",
        name=phrase("Picks by the exponential mechanism"),
        tale=phrase(
            "The same two tables. Each of three edges is picked and paid for in turn, and together they can cost what "
            "is claimed, and no more."
        ),
        **BLOCKS,
        estimator=JTree(epsilon=2.0, structure_share=0.8, edges=3, max_cells=16),
        number=phrase("Edges among the last four columns, less those among the first four"),
        statistic=towards_second,
        trials=400,
    ),
    *both(
        "JTree/corrected/table",
        phrase("The one table, one row"),
        phrase(
            "200 rows of zeros and 200 of ones, or {other}. There is one pair of columns, and nearly all of epsilon "
            "buys its table."
        ),
        EITHER,
        JTree(epsilon=2.0, structure_share=0.01, max_cells=16),
        (phrase("Released number of rows of ones"), CELLS),
        cells,
        2_000,
    ),
)
