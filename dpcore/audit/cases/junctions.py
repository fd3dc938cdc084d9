"""Cases of JTree: comparisons with one noisy threshold, and what stands in their place."""

from typing import Any

from dpcore.audit.game import Case
from dpcore.audit.tables import bits, changed, difference_ratio, frame_of, more
from dpcore.methods import JTree

BLOCKS, TWO = bits("abcdwxyz"), bits("ab")
ZEROS = frame_of(BLOCKS, "00000000", times=19)
PAIR = (more(ZEROS, "11110000")[1], more(ZEROS, "00001111")[1])
HALVES = frame_of(TWO, "11", "00", times=200)
MOVED, GROWN = changed(HALVES, "11"), more(HALVES, "11")


def towards_second(fitted: Any) -> float:
    """How many more edges lie among w, x, y, z than among a, b, c, d."""
    return float(sum(min(edge) >= "w" for edge in fitted.edges_) - sum(max(edge) <= "d" for edge in fitted.edges_))


def cells(fitted: Any) -> float:
    """The log-likelihood ratio of the one table's cells of ones and of zeros; those of ones alone if a row is added."""
    (table,), (price,) = fitted.tables_, fitted.epsilons_
    if fitted.relation == "add_remove":
        return float(table[1, 1])
    return difference_ratio(float(table[1, 1] - table[0, 0]), 2.0, 2 / price)


CASES = (
    Case(
        key="JTree/paper/comparisons",
        method="JTree",
        mode="paper",
        title="Twelve comparisons with one noisy threshold",
        story="Twenty rows of zeros but for one, which has ones in a, b, c, d or in w, x, y, z. It makes six pairs of "
        "columns look dependent, or six others. The paper pays for all answers as for one; the attacker counts edges.",
        relation="replace",
        schema=BLOCKS,
        pair=PAIR,
        estimator=JTree(mode="paper", epsilon=2.0, structure_share=0.8),
        looks_at="Edges among w, x, y, z, less those among a, b, c, d",
        statistic=towards_second,
        trials=1_500,
        expected="caught",
    ),
    Case(
        key="JTree/corrected/picks",
        method="JTree",
        mode="corrected",
        title="Picks by the exponential mechanism",
        story="The same two tables. Each of three edges is picked and paid for in turn, and together they cost what "
        "they claim.",
        relation="replace",
        schema=BLOCKS,
        pair=PAIR,
        estimator=JTree(epsilon=2.0, structure_share=0.8, edges=3, max_cells=16),
        looks_at="Edges among w, x, y, z, less those among a, b, c, d",
        statistic=towards_second,
        trials=400,
        expected="not caught",
    ),
    *(
        Case(
            key=f"JTree/corrected/table/{relation}",
            method="JTree",
            mode="corrected",
            title=f"The one table, one row {word}",
            story=f"200 rows of zeros and 200 of ones, or {story}. There is one pair of columns, and nearly all of "
            "epsilon buys its table.",
            relation=relation,
            schema=TWO,
            pair=pair,
            estimator=JTree(epsilon=2.0, relation=relation, structure_share=0.01, max_cells=16),
            looks_at=looks_at,
            statistic=cells,
            trials=2_000,
            expected="not caught",
        )
        for relation, word, pair, story, looks_at in (
            ("add_remove", "added", GROWN, "the same and one more row of ones", "Released number of rows of ones"),
            (
                "replace",
                "replaced",
                MOVED,
                "one row of zeros less and one of ones more",
                "Log-likelihood ratio of the cells of ones and of zeros",
            ),
        )
    ),
)
