"""Cases of the methods that count groups: levels of the same people, and cuts up to the data's largest number."""

from typing import Any

from dpcore.audit.tables import BIT, Neighbors, bits, both, changed, clipped, even, frame_of, more
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.language import phrase
from dpcore.methods import DiffGen, DiffGenTree, DTDiff, TaxonomyRelease

THREE = bits("abc")
ONE_ROW = Neighbors(
    THREE,
    more(frame_of(THREE), "111"),
    changed(frame_of(THREE, "000"), "111"),
    (phrase("An empty table, or one row."), phrase("One row of zeros, or one of ones.")),
)
EVEN = even(5)
NUMBER = Schema(
    columns=(
        Column(name="n", kind="integer", lower=0, upper=5, bins=6),
        Column(name="y", kind="categorical", categories=BIT),
    ),
    target="y",
    max_rows=100,
)
LOW = frame_of(NUMBER, (0, "0"), (1, "0"), times=5)
END = Neighbors(
    NUMBER, more(LOW, (5, "0")), changed(LOW, (5, "0")), (phrase("the same and one 5"), phrase("one of them a 5"))
)


def path(fitted: Any) -> float:
    """The log-likelihood ratio of the counts of all levels that hold the row (1, 1, 1), or also the row (0, 0, 0)."""
    found, row = 0.0, 2.0 if fitted.relation == "replace" else 1.0
    for noisy, epsilon in zip(fitted.tree_.noisy, fitted.level_epsilons_, strict=True):
        if epsilon:
            found += 2 * epsilon / row * clipped(noisy[-1], 0.0)
            if row == 2 and len(noisy) > 1:
                found += 2 * epsilon / row * clipped(1 - noisy[0], 0.0)
    return round(found, 9)


def last_group(fitted: Any) -> float:
    """The noisy count of the group of (1, 1), and how many rows that of (0, 0) lost, where one is replaced."""
    noisy = fitted.tree_.noisy[-1].reshape(fitted.tree_.leaves.shape)
    if fitted.relation == "add_remove":
        return float(noisy[-1, -1])
    return clipped(noisy[-1, -1], 5.0) + clipped(5 - noisy[0, 0], 0.0)


PATHS = {
    ("published", "all"): phrase(
        "Every level of the tree counts it once more. In our reconstruction of the patent, each level is measured "
        "with the whole share of epsilon, which is paid for once. The attacker looks at all levels."
    ),
    ("published", "leaves"): phrase(
        "The patent has noise on the leaves only. Those hold different people, and the claim stands."
    ),
    ("corrected", "all"): phrase(
        "Every level of the tree counts it once more, and every level is paid for. All levels are looked at."
    ),
    ("corrected", "leaves"): phrase("Leaves hold different people, so that all of epsilon buys their counts."),
}
ENDS = {
    "published": phrase(
        "The authors’ code cuts up to the largest number in the data only: a first cut above 1 is impossible "
        "without that row, whatever epsilon is."
    ),
    "corrected": phrase("Every public place may be cut, with the row and without it."),
}
CASES = (
    *(
        case
        for (mode, measure), told in PATHS.items()
        for case in both(
            f"TaxonomyRelease/{mode}/{measure}",
            phrase("All levels of counts, one row") if measure == "all" else phrase("Leaves alone, one row"),
            ("{other}", told),
            ONE_ROW,
            TaxonomyRelease(mode=mode, measure=measure, with_class=False, level_shares="equal"),
            phrase("Log-likelihood ratio of the noisy counts on the row’s way down"),
            path,
            2_000 if (mode, measure) == ("published", "all") else 3_000,
            "caught" if (mode, measure) == ("published", "all") else "not caught",
        )
    ),
    *(
        case
        for kind in (DiffGen, DiffGenTree)
        for mode, told in ENDS.items()
        for case in both(
            f"{kind.title}/{mode}/range",
            phrase("The end of a range, one row"),
            (phrase("Ten rows with the numbers 0 and 1, or {other}."), told),
            END,
            kind(mode=mode, rounds=1),
            phrase("Lowest number above the first cut"),
            lambda fitted: float(fitted.tree_.leaves.axes[0].sizes[0]),
            1_000 if mode == "published" else 1_500,
            "caught" if mode == "published" else "not caught",
        )
    ),
    *(
        case
        for kind, mode in (
            (DiffGen, "corrected"),
            (DiffGenTree, "corrected"),
            (DTDiff, "published"),
            (DTDiff, "corrected"),
        )
        for case in both(
            f"{kind.title}/{mode}/counts",
            phrase("Counts of groups, one row"),
            phrase(
                "Five rows of each kind, or {other}. There is one way to divide them, so that nothing is chosen and "
                "all of epsilon buys the counts of groups by class. The attacker looks at what the row changes in them."
            ),
            EVEN,
            kind(mode=mode, rounds=1),
            (phrase("Noisy number of rows (1, 1)"), phrase("Noisy number of rows (1, 1), and of rows (0, 0) lost")),
            last_group,
            3_000,
        )
    ),
)
