"""Cases of the methods that count groups: levels of the same people, and cuts up to the data's largest number."""

from typing import Any

from dpcore.audit.game import Case
from dpcore.audit.tables import BIT, bits, changed, clipped, frame_of, more
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.methods import DiffGen, DiffGenTree, DTDiff, TaxonomyRelease

THREE, CLASSED = bits("abc"), bits("ay", "y")
NOBODY = more(frame_of(THREE), "111")
CLEAR = changed(frame_of(THREE, "000"), "111")
EVEN = frame_of(CLASSED, "00", "01", "10", "11", times=5)
GROWN, MOVED = more(EVEN, "11"), changed(EVEN.iloc[::-1], "11")
NUMBER = Schema(
    columns=(
        Column(name="n", kind="integer", lower=0, upper=5, bins=6),
        Column(name="y", kind="categorical", categories=BIT),
    ),
    target="y",
    max_rows=100,
)
LOW = frame_of(NUMBER, (0, "0"), (1, "0"), times=5)
END, END_REPLACED = more(LOW, (5, "0")), changed(LOW, (5, "0"))


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
    partition = fitted.tree_.leaves
    noisy = fitted.tree_.noisy[-1].reshape(partition.shape)
    if fitted.relation == "add_remove":
        return float(noisy[-1, -1])
    return clipped(noisy[-1, -1], 5.0) + clipped(5 - noisy[0, 0], 0.0)


def first_cut(fitted: Any) -> float:
    """Where the first cut is: the first number that is above it."""
    return float(fitted.tree_.leaves.axes[0].sizes[0])


def levels(
    relation: str, word: str, pair: Any, story: str, estimator: TaxonomyRelease, more_of_it: str, expected: Any
) -> Case:
    """TaxonomyRelease's levels on a row's way down."""
    paper = estimator.mode == "paper"
    return Case(
        key=f"TaxonomyRelease/{estimator.mode}/{estimator.measure}/{relation}",
        method="TaxonomyRelease",
        mode=estimator.mode,
        title=f"All levels of counts, one row {word}"
        if estimator.measure == "all"
        else f"Leaves alone, one row {word}",
        story=f"{story} {more_of_it}",
        relation=relation,
        schema=THREE,
        pair=pair,
        estimator=estimator,
        looks_at="Log-likelihood ratio of the noisy counts on the row’s way down",
        statistic=path,
        trials=2_000 if paper and estimator.measure == "all" else 3_000,
        expected=expected,
    )


WORDS = (
    ("add_remove", "added", NOBODY, "An empty table, or one row."),
    ("replace", "replaced", CLEAR, "One row of zeros, or one of ones."),
)
TAXONOMY = tuple(
    levels(
        relation,
        word,
        pair,
        story,
        TaxonomyRelease(mode=mode, relation=relation, measure=measure, with_class=False, level_shares="equal"),
        told,
        expected,
    )
    for mode, measure, expected, told in (
        (
            "paper",
            "all",
            "caught",
            "Every level of the tree counts it once more. As the patent is read here, each level is measured with the "
            "whole share of epsilon, which is paid for once. The attacker looks at all levels.",
        ),
        (
            "paper",
            "leaves",
            "not caught",
            "The patent’s words have noise on the leaves only. Those hold different people, and the claim stands.",
        ),
        (
            "corrected",
            "all",
            "not caught",
            "Every level of the tree counts it once more, and every level is paid for. All levels are looked at.",
        ),
        (
            "corrected",
            "leaves",
            "not caught",
            "Leaves hold different people, so that all of epsilon buys their counts.",
        ),
    )
    for relation, word, pair, story in WORDS
)


def range_end(method: str, estimator: Any, relation: str) -> Case:
    """One row at the end of a range."""
    paper = estimator.mode == "paper"
    last = (
        "The authors’ code cuts up to the largest number in the data only: a first cut above 1 is impossible without "
        "that row, whatever epsilon is."
        if paper
        else "Every public place may be cut, with the row and without it."
    )
    others = "Ten rows with the numbers 0 and 1, or "
    return Case(
        key=f"{method}/{estimator.mode}/range/{relation}",
        method=method,
        mode=estimator.mode,
        title="The end of a range, one row " + ("added" if relation == "add_remove" else "replaced"),
        story=others + ("the same and one 5. " if relation == "add_remove" else "one of them a 5. ") + last,
        relation=relation,
        schema=NUMBER,
        pair=END if relation == "add_remove" else END_REPLACED,
        estimator=estimator,
        looks_at="Lowest number above the first cut",
        statistic=first_cut,
        trials=1_000 if paper else 1_500,
        expected="caught" if paper else "not caught",
    )


def counts(method: str, estimator: Any) -> Case:
    """One row in the groups' counts."""
    relation = estimator.relation
    return Case(
        key=f"{method}/{estimator.mode}/counts/{relation}",
        method=method,
        mode=estimator.mode,
        title="Counts of groups, one row " + ("added" if relation == "add_remove" else "replaced"),
        story="Five rows of each kind, or "
        + ("the same and one more (1, 1). " if relation == "add_remove" else "one (0, 0) less and one (1, 1) more. ")
        + "There is one way to divide them, so that nothing is chosen and all of epsilon buys the counts of groups by "
        "class. The attacker looks at what the row changes in them.",
        relation=relation,
        schema=CLASSED,
        pair=GROWN if relation == "add_remove" else MOVED,
        estimator=estimator,
        looks_at="Noisy number of rows (1, 1)" + ("" if relation == "add_remove" else ", and of rows (0, 0) lost"),
        statistic=last_group,
        trials=3_000,
        expected="not caught",
    )


CASES = (
    *TAXONOMY,
    *(
        range_end(method, kind(mode=mode, rounds=1, relation=relation), relation)
        for method, kind in (("DiffGen", DiffGen), ("DiffGen tree", DiffGenTree))
        for mode in ("paper", "corrected")
        for relation in ("add_remove", "replace")
    ),
    *(
        counts(method, kind(mode=mode, rounds=1, relation=relation))
        for method, kind, modes in (
            ("DiffGen", DiffGen, ("corrected",)),
            ("DiffGen tree", DiffGenTree, ("corrected",)),
            ("DT-Diff", DTDiff, ("paper", "corrected")),
        )
        for mode in modes
        for relation in ("add_remove", "replace")
    ),
)
