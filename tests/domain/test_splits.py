"""Splits of numbers: ticks of the public grid, and the numbers that a split point names."""

from fractions import Fraction
from itertools import pairwise, product
from math import ceil

import numpy as np

from dpcore.domain.column import Column
from dpcore.domain.splits import GRID, STEP, CodeSplit, Groups, NumberSplit
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy

START, END = -1.0, float(GRID)
COLUMNS = {
    "even": Column(name="x", kind="continuous", lower=-1, upper=4, bins=5),
    "uneven": Column(name="x", kind="continuous", lower=-1, upper=4, bins=(-0.999, 0.0, 0.1, 3.0)),
    "far": Column(name="x", kind="continuous", lower=1e6, upper=1e6 + 3, bins=(1e6 + 1,)),
    "whole": Column(name="x", kind="integer", lower=-7, upper=13, bins=21),
    "whole, sevenths": Column(name="x", kind="integer", lower=0, upper=20, bins=6),
    "whole, uneven": Column(name="x", kind="integer", lower=0, upper=300, bins=(1.0, 2.0, 290.0)),
    "two": Column(name="x", kind="integer", lower=3, upper=4, bins=2),
    "one": Column(name="x", kind="integer", lower=5, upper=5, bins=1),
    "more than ticks": Column(name="x", kind="integer", lower=-(10**13), upper=10**13, bins=3),
}
GRIDS = [
    (name, column, NumberSplit(column, by_length=by_length), by_length)
    for (name, column), by_length in product(COLUMNS.items(), (True, False))
]
WHOLE = [grid for grid in GRIDS if grid[1].kind == "integer" and grid[0] != "more than ticks"]


def ends_of(column, by_length):
    """The numbers between which the grid is even, by the words of the documentation."""
    if by_length:
        return [column.lower, column.upper]
    return sorted({min(float(edge), float(column.upper)) for edge in column.edges})


def exact_tick(value, column, by_length):
    """The tick in fractions, before it is rounded up; all intervals of numbers have as many ticks."""
    ends = [Fraction(end) for end in ends_of(column, by_length)]
    value = min(max(Fraction(value), ends[0]), ends[-1])
    for i, (low, high) in enumerate(pairwise(ends)):
        if value <= high:
            return (i + (value - low) / (high - low)) * GRID / (len(ends) - 1)
    return Fraction(0)


def values_of(column, by_length, rng, n=60):
    """Numbers of a column: edges and their neighbors, and any."""
    ends = np.array(ends_of(column, by_length), dtype=float)
    if column.kind == "integer":
        found = np.concatenate([np.floor(ends), np.ceil(ends), rng.integers(column.lower, column.upper + 1, n)])
    else:
        near = [ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), rng.choice(ends, n) * (1 + 1e-12)]
        found = np.concatenate([*near, rng.uniform(column.lower, column.upper, n)])
    return np.sort(np.clip(found, column.lower, column.upper))


def test_ticks_are_the_public_rules():
    for name, column, point, by_length in GRIDS:
        rng = np.random.default_rng(4)
        values = values_of(column, by_length, rng)
        ticks = point.ticks(values)
        assert (ticks == np.floor(ticks)).all(), name
        assert ((ticks >= 0) & (ticks <= GRID)).all(), name
        assert (np.diff(ticks) >= 0).all(), name
        order = rng.permutation(len(values))[:60]
        np.testing.assert_array_equal(point.ticks(values[order]), ticks[order])
        if column.lower < column.upper:
            ends = np.array([column.lower, column.upper, column.lower - 5, column.upper + 5])
            assert point.ticks(ends).tolist() == [0, GRID, 0, GRID]
            for value, tick in zip(values.tolist(), ticks.tolist(), strict=True):
                there = exact_tick(value, column, by_length)
                assert abs(tick - ceil(there)) <= (0 if abs(there - round(there)) > Fraction(1, 2**16) else 1), name
            missing = point.ticks(np.array([np.nan, values[0], np.nan]))
            assert np.isnan(missing).tolist() == [True, False, True]


def test_ticks_lead_back_to_numbers():
    """Within one step of the grid: the number of a tick is at or above the original number."""
    for name, column, point, by_length in (grid for grid in GRIDS if grid[0] != "one"):
        ends = np.array(ends_of(column, by_length), dtype=float)
        step, rounding = np.diff(ends).max() * (len(ends) - 1) / GRID, 4 * np.spacing(np.abs(ends).max())
        values = values_of(column, by_length, np.random.default_rng(5))
        there = point.to_numbers(point.ticks(values)) - values
        assert ((there >= -rounding) & (there <= step + rounding)).all(), name
        assert point.to_numbers(np.array([0.0, GRID, START])).tolist() == [column.lower, column.upper, column.lower]


def test_numbers_go_left_up_to_the_split_point():
    """Ticks in [low, high) are split points; rows in (low, point] go left, all others right."""
    for name, column, point, by_length in GRIDS:
        rng = np.random.default_rng(6)
        assert point.start == (-1, GRID)
        ticks = point.ticks(values_of(column, by_length, rng))
        for at in cuts_of(ticks, rng).tolist():
            side = point.side(ticks, np.full(len(ticks), at), np.full(len(ticks), START))
            np.testing.assert_array_equal(side, np.where(ticks <= at, 0, 1), name)
            low, high = point.ranges(np.full(2, START), np.full(2, END), np.full(2, at), np.array([0, 1]))
            assert (low.tolist(), high.tolist()) == ([START, at], [at, END])
        assert point.side(np.full(1, np.nan), np.full(1, END - 1), np.full(1, START)).tolist() == [1]


def test_splits_learned_on_steps_hold_for_every_number():
    """A snapped split point divides steps and numbers as the original one divides steps."""
    for name, column, point, by_length in GRIDS:
        rng = np.random.default_rng(8)
        values = values_of(column, by_length, rng)
        ticks, steps = point.ticks(values), point.steps(values)
        assert (steps % STEP == 0).all(), name
        assert ((steps >= ticks) & (steps < ticks + STEP)).all(), name
        assert np.isnan(point.steps(np.array([np.nan]))).all()
        for at in cuts_of(np.append(ticks, steps), rng).tolist():
            (snapped,) = point.snap_points(np.array([at]))
            assert snapped in (START, at // STEP * STEP)
            sides = [point.side(of, np.full(len(values), by), steps) for of, by in ((steps, at), (ticks, snapped))]
            np.testing.assert_array_equal(*sides, err_msg=name)
    assert CodeSplit(COLUMNS["even"]).snap_points(np.array([3.0])).tolist() == [3]


def cuts_of(ticks, rng):
    """Cuts at random, at, in front of and behind the ticks of some numbers."""
    chosen = rng.choice(ticks, min(len(ticks), 30), replace=False)
    found = np.concatenate([[START, END - 1], chosen - 1, chosen, chosen + 1, rng.integers(-1, GRID, 30)])
    return np.unique(np.clip(found, START, END - 1))


def test_split_points_of_integers_name_the_integers_on_each_side():
    """All integers against the texts; where none goes left, the texts name the lowest."""
    for name, column, point, _ in WHOLE:
        rng, values = np.random.default_rng(7), np.arange(column.lower, column.upper + 1)
        ticks = point.ticks(values)
        for at in cuts_of(ticks, rng).tolist():
            left = point.side(ticks, np.full(len(values), at), np.zeros(len(values))) == 0
            texts = [point.text(START, at, child) for child in (0, 1)]
            said = float(texts[0].removeprefix("≤ ").replace(",", ""))
            assert texts[1] == texts[0].replace("≤", ">")
            assert (values <= said).tolist() == left.tolist() if left.any() else said == column.lower, (name, at)


def test_integers_are_split_while_two_are_in_the_range():
    """Integers need two values in the range, other numbers two ticks."""
    for name, column, point, _ in WHOLE:
        rng = np.random.default_rng(9)
        ticks = point.ticks(np.arange(column.lower, column.upper + 1))
        ends = np.append(cuts_of(ticks, rng), END)
        low, high = np.sort(rng.choice(ends, (2, 1_000)), axis=0)
        near = np.clip(low + rng.integers(0, 3, len(low)), START, END)
        low, high = np.append(low, low), np.append(high, near)
        inside = ((ticks > low[:, None]) & (ticks <= high[:, None])).sum(axis=1)
        np.testing.assert_array_equal(point.fanout(low, high), np.where(inside >= 2, 2, 0), name)
        assert point.fanout(np.array([START]), np.array([END]))[0] == (2 if column.upper > column.lower else 0)
    low, high = np.array([START, START, 4, 4, 4, END - 2, END - 1]), np.array([END, 0, 4, 5, 6, END, END])
    for name, _, point, _ in (grid for grid in GRIDS if grid[1].kind != "integer"):
        assert point.fanout(low, high).tolist() == [2, 0, 0, 0, 2, 2, 0], name
        with np.errstate(all="raise"):
            assert point.text(START, START, 1).startswith("> ")


def test_a_taxonomys_groups_pass_over_nodes_with_one_child():
    paths = (("a", "left", "all"), ("b", "left", "all"), ("c", "single", "right", "all"), ("d", "right", "all"))
    tree = Column(name="x", kind="categorical", categories=tuple("abcd"), missing=True, taxonomy=Taxonomy(paths))
    groups = Groups(tree, Hierarchy.from_column(tree))
    index = {name: float(i) for i, name in enumerate(groups.names)}
    below = {name: [groups.names[child] for child in groups.children[int(index[name])]] for name in index}
    assert (below["all"], below["left"], below["right"]) == (["left", "right", "(missing)"], ["a", "b"], ["c", "d"])
    assert groups.fanout(np.array([index["all"], index["right"], index["a"]]), np.zeros(3)).tolist() == [3, 2, 0]
