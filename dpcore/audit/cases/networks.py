"""Cases of the methods that release networks: noisy similarities, noisy tables, and the size of the noise itself."""

from math import log2
from typing import Any

import numpy as np
from sklearn.base import clone

from dpcore.audit.game import Case
from dpcore.audit.tables import bits, changed, clipped, difference_ratio, frame_of, more
from dpcore.methods import HMPrivBayes, IndependentMargins, NoPrivacy, PrivBayes, PrivSCBN, RefinedPrivBayes

ONE, TWO, THREE, FOUR = bits("a"), bits("ab"), bits("abc"), bits("abcd")
CLASSED = bits("ay", "y")
N = 40
ZEROS_FOUR, ZEROS_THREE = (changed(frame_of(s, "0" * len(s), times=N), "1" * len(s)) for s in (FOUR, THREE))
ALONE = changed(frame_of(TWO, "00", times=N), "10")
HALVES = frame_of(TWO, "11", "00", times=200)
MOVED, GROWN = changed(HALVES, "11"), more(HALVES, "11")
TWO_ROWS = changed(frame_of(THREE, "000", "111"), "011")
EVEN = frame_of(CLASSED, "00", "01", "10", "11", times=50)
EVEN_MOVED, EVEN_GROWN = changed(EVEN.iloc[::-1], "11"), more(EVEN, "11")
STEP = (1 / N) * log2(N) + (1 - 1 / N) * log2(N / (N - 1))  # what one row of ones makes of every pair's information


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


def index(fitted: Any) -> float:
    """The noisy Jaccard index of the two columns."""
    return float(fitted.similarity_[0, 1])


def ones(fitted: Any) -> float:
    """The log-likelihood ratio of all tables' differences between the cells of ones and of zeros.

    Tables were moved to one total, which leaves differences as they were.
    """
    found, row = 0.0, 2.0 if fitted.relation == "replace" else 1.0
    for table, price in zip(fitted.tables_, fitted.epsilons_, strict=True):
        if price:
            moved = float(table[(1,) * table.ndim] - table[(0,) * table.ndim])
            found += difference_ratio(moved, row, row / price)
    return found


def margins(fitted: Any) -> float:
    """The released number of rows (1, 1), less the one of rows (0, 0) where these lose what those gain."""
    margin = fitted.margins_[0]
    return float(margin[1, 1] - (margin[0, 0] if fitted.relation == "replace" else 0))


def exact_tables(fitted: Any) -> float:
    """The released number of rows of ones, over all tables."""
    return float(sum(table[(1,) * table.ndim] for table in fitted.tables_))


def pairs(key: str, method: str, estimator: Any, how: str, what: str = "Tables", **change: Any) -> tuple[Case, Case]:
    """A corrected network of two columns, under both relations."""
    found = []
    for relation, pair, tables in (
        ("replace", MOVED, "200 rows of zeros and 200 of ones, or one row of zeros less and one of ones more."),
        ("add_remove", GROWN, "200 rows of zeros and 200 of ones, or the same and one more row of ones."),
    ):
        found.append(
            Case(
                **{
                    "key": f"{key}/{relation}",
                    "method": method,
                    "mode": estimator.mode,
                    "title": f"{what}, one row " + ("replaced" if relation == "replace" else "added"),
                    "story": f"{tables} {how}",
                    "relation": relation,
                    "schema": TWO,
                    "pair": pair,
                    "estimator": clone(estimator).set_params(relation=relation),
                    "looks_at": "Log-likelihood ratio of the cells of ones and of zeros",
                    "statistic": ones,
                    "trials": 2_000,
                    "expected": "not caught",
                    **change,
                }
            )
        )
    return found[0], found[1]


HM = (
    Case(
        key="HMPrivBayes/paper/pairs",
        method="HMPrivBayes",
        mode="paper",
        title="All pairs of columns, paid for as if each person were in one of them",
        story="Forty rows of zeros, or one of them all ones. That row raises the similarity of all six pairs of four "
        "columns at once. The paper pays as if pairs held different people: half of what they cost. What is attacked "
        "is compared with the part of epsilon that the paper counts for all pairs.",
        relation="replace",
        schema=FOUR,
        pair=ZEROS_FOUR,
        estimator=HMPrivBayes(mode="paper", epsilon=19.0, n_clusters=1, max_parents=1),
        looks_at="Released similarities, each cut off outside of what the two tables have, summed",
        statistic=similarities,
        trials=6_000,
        expected="caught",
        step=" values of ",
    ),
    Case(
        key="HMPrivBayes/paper/clusters",
        method="HMPrivBayes",
        mode="paper",
        title="Three clusters of columns, paid for as one",
        story="Forty rows of zeros, or one of them all ones. Every cluster's table holds that row, and the paper pays "
        "for all three tables as for one, as if they held different people. The attacker looks at all of them.",
        relation="replace",
        schema=THREE,
        pair=ZEROS_THREE,
        estimator=HMPrivBayes(mode="paper", epsilon=6.0, n_clusters=3),
        looks_at="Cells of zeros and of ones, each cut off outside of what the two tables have, summed",
        statistic=corners,
        trials=1_500,
        expected="caught",
        step="counts of",
    ),
    Case(
        key="HMPrivBayes/paper/entropies",
        method="HMPrivBayes",
        mode="paper",
        title="Noise whose size depends on the data",
        story="Two rows that differ in one value of column a. Entropies without noise decide how much noise each table "
        "gets, so the tables of the other columns, whose rows are the same, have larger noise in one world. The paper "
        "claims an epsilon of 0.05; no finite epsilon holds.",
        relation="replace",
        schema=THREE,
        pair=TWO_ROWS,
        estimator=HMPrivBayes(mode="paper", epsilon=0.05, n_clusters=1, max_parents=1),
        looks_at="Size of the noisiest table of columns b and c",
        statistic=noise_elsewhere,
        trials=1_500,
        expected="caught",
    ),
    *pairs(
        "HMPrivBayes/corrected/tables",
        "HMPrivBayes",
        HMPrivBayes(epsilon=4.0, n_clusters=1),
        "Every question about the row is paid for one after the other. The attacker sees the tables; the similarities "
        "and the choice of the network have had their own parts of epsilon.",
    ),
    Case(
        key="HMPrivBayes/corrected/pairs",
        method="HMPrivBayes",
        mode="corrected",
        title="All pairs of columns, each paid for",
        story="Forty rows of zeros, or one of them all ones, which moves all six pairs. Each pair is paid for here, "
        "and the noise is larger. What is attacked is compared with the part of epsilon that all pairs have together.",
        relation="replace",
        schema=FOUR,
        pair=ZEROS_FOUR,
        estimator=HMPrivBayes(epsilon=19.0, n_clusters=1, max_parents=1, score="MI"),
        looks_at="Released similarities, each cut off outside of what the two tables have, summed",
        statistic=similarities,
        trials=1_000,
        expected="not caught",
        step=" values of ",
    ),
)
PRIVBAYES = (
    Case(
        key="PrivBayes/paper/tables",
        method="PrivBayes",
        mode="paper",
        title="Tables, one row replaced",
        story="200 rows of zeros and 200 of ones, or one row of zeros less and one of ones more. The paper pays for "
        "every table in turn, and is right. The attacker sees both tables that the row is in.",
        relation="replace",
        schema=TWO,
        pair=MOVED,
        estimator=PrivBayes(mode="paper", epsilon=2.0, variant="binary", theta=200.0),
        looks_at="Log-likelihood ratio of the cells of ones and of zeros",
        statistic=ones,
        trials=3_000,
        expected="not caught",
    ),
    *pairs(
        "PrivBayes/corrected/tables",
        "PrivBayes",
        PrivBayes(epsilon=2.0, variant="binary", theta=200.0),
        "All of epsilon goes to one table per column, and the attacker sees both.",
        trials=3_000,
    ),
    *pairs(
        "PrivBayes/corrected/network",
        "PrivBayes",
        PrivBayes(epsilon=2.0),
        "A part of epsilon chooses the network, the rest measures its two tables. The attacker sees both.",
        what="A network and its tables",
    ),
    *pairs(
        "Independent margins/corrected/tables",
        "Independent margins",
        IndependentMargins(epsilon=2.0),
        "All of epsilon goes to one table per column, and the attacker sees both.",
        trials=3_000,
    ),
    *(
        Case(
            key=f"PrivBayes refined/corrected/{relation}",
            method="PrivBayes refined",
            mode="corrected",
            title=f"The one table, one row {word}",
            story=f"{story} There is one column beside the class, so all of epsilon buys its table, in two askings. "
            "The attacker looks at the cell that gains a row.",
            relation=relation,
            schema=CLASSED,
            pair=pair,
            estimator=RefinedPrivBayes(relation=relation),
            looks_at="Released number of rows (1, 1)" + (" less that of rows (0, 0)" if relation == "replace" else ""),
            statistic=margins,
            trials=3_000,
            expected="not caught",
        )
        for relation, word, pair, story in (
            ("add_remove", "added", EVEN_GROWN, "Fifty rows of each kind, or one (1, 1) more."),
            ("replace", "replaced", EVEN_MOVED, "Fifty rows of each kind, or one (0, 0) less and one (1, 1) more."),
        )
    ),
)
OTHERS = (
    Case(
        key="PrivSCBN/paper/index",
        method="PrivSCBN",
        mode="paper",
        title="An index that one person moves all the way",
        story="Forty rows of zeros, or one of them with a one in the first column. Jaccard's index of the two columns "
        "falls from 1 to 0, but the noise is made for changes of 1/40.",
        relation="replace",
        schema=TWO,
        pair=ALONE,
        estimator=PrivSCBN(mode="paper", epsilon=0.5, n_clusters=1),
        looks_at="Released Jaccard index of the two columns",
        statistic=index,
        trials=1_000,
        expected="caught",
    ),
    *pairs(
        "PrivSCBN/corrected/tables",
        "PrivSCBN",
        PrivSCBN(epsilon=4.0, n_clusters=1),
        "Pairs are compared by noisy tables, and each question is paid for one after the other. The attacker sees the "
        "tables that are released.",
    ),
    Case(
        key="NoPrivacy/paper/tables",
        method="NoPrivacy",
        mode="paper",
        title="The same network without noise",
        story="Forty rows of zeros, or one of them all ones. The tables are released as they are, so that one run "
        "tells the two apart for sure. Nothing is claimed; more runs only make the lower bound larger.",
        relation="replace",
        schema=THREE,
        pair=ZEROS_THREE,
        estimator=NoPrivacy(n_clusters=1),
        looks_at="Released number of rows of ones, over all tables",
        statistic=exact_tables,
        trials=300,
        expected="no claim",
    ),
)
CASES = (*HM, *PRIVBAYES, *OTHERS)
