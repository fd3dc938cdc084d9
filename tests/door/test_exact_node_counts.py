"""Counts of records in nodes against loops over single records, on random tables with every oddity at once."""

from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.splits import GRID, CodeCut, Groups, NumberCut, OneValue, flat
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.door.exact_node_counts import NodeRows, Records
from dpcore.mechanisms.scores import Max

TAXONOMY = Taxonomy(
    (
        ("a", "left", "all"),
        ("b", "left", "all"),
        ("c", "single", "right", "all"),
        ("d", "right", "all"),
        ("e", "right", "all"),
    )
)
REAL = Column(name="real", kind="continuous", lower=0, upper=10, bins=4, missing=True)
BINNED = Column(name="binned", kind="integer", lower=0, upper=5, bins=6, missing=True)
ORDERED = Column(name="ordered", kind="ordered", categories=("low", "mid", "high"))
TREE = Column(name="tree", kind="categorical", categories=tuple("abcde"), missing=True, taxonomy=TAXONOMY)
FLAT = Column(name="flat", kind="categorical", categories=tuple("uvw"))
MANY = Column(name="many", kind="categorical", categories=tuple("klmnopq"))
NUMBER, CODES, ORDER, GROUPS, VALUES, ONE, TARGET = range(7)
CLASSES = 3
START, END, QUARTER = -1.0, float(GRID), float(GRID // 4)
ATTRIBUTES = {
    NUMBER: NumberCut(REAL),
    CODES: CodeCut(BINNED),
    ORDER: CodeCut(ORDERED),
    GROUPS: Groups(TREE, Hierarchy.of(TREE)),
    VALUES: Groups(FLAT, flat(FLAT)),
    ONE: OneValue(MANY),
}


def records(n, rng, classes=CLASSES):
    columns = [REAL, BINNED, ORDERED, TREE, FLAT, MANY]
    codes = np.stack([*(rng.integers(0, c.size, n) for c in columns), rng.integers(0, classes, n)], axis=1)
    ticks = rng.choice([0.0, GRID, 1.0, QUARTER, QUARTER, QUARTER + 1, GRID - 1, float(rng.integers(0, GRID))], n)
    ticks[rng.random(n) < 0.15] = np.nan
    return Records(codes.astype(np.uint8), ATTRIBUTES, {NUMBER: ticks}, TARGET, classes)


def random_rows(seed, size=7):
    """Places in some trees' nodes: a record may be in a node twice, and some nodes are empty."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    known = records(n, rng)
    places = int(rng.integers(0, 3 * n))
    used = rng.choice(size, size - 2, replace=False)
    node = np.sort(rng.choice(used, places))
    return NodeRows(known, rng.integers(0, n, places).astype(np.int32), node.astype(np.int32), size), rng


def count(rows, node, left, groups=2):
    """Children x classes of one node, record by record; `left(row)` is the child's number."""
    table = np.zeros((groups, rows.records.classes), dtype=int)
    for row, where in zip(rows.row.tolist(), rows.node.tolist(), strict=True):
        if where == node:
            table[left(row), rows.records.labels[row]] += 1
    return table


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_classes_and_tables(seed):
    rows, rng = random_rows(seed)
    for node in range(rows.size):
        np.testing.assert_array_equal(rows.classes[node], count(rows, node, lambda _: 0, 1)[0])
    some = np.sort(rng.choice(rows.size, 4, replace=False))
    for position, column in ((CODES, BINNED), (GROUPS, TREE), (VALUES, FLAT)):
        for nodes in (np.arange(rows.size), some):
            table = rows.tables(position, nodes)
            assert table.shape == (len(nodes), column.size, CLASSES)
            for i, node in enumerate(nodes.tolist()):
                codes = rows.records.codes[:, position]
                np.testing.assert_array_equal(table[i], count(rows, node, lambda r, c=codes: c[r], column.size))
            np.testing.assert_array_equal(rows.tables(position, nodes, by_class=False), table.sum(axis=2))


@pytest.mark.parametrize("seed", SEEDS)
def test_only_some_nodes_in_any_order(seed):
    rows, rng = random_rows(seed)
    keep = rng.permutation(rows.size)[:4]
    for known_first in (False, True):
        if known_first:
            assert rows.classes.sum() == len(rows.row)
        part = rows.only(keep)
        assert part.size == 4
        assert (np.diff(part.node) >= 0).all()
        np.testing.assert_array_equal(part.classes, rows.classes[keep])
        for i, node in enumerate(keep.tolist()):
            assert sorted(part.row[part.node == i]) == sorted(rows.row[rows.node == node])
        np.testing.assert_array_equal(part.label, rows.records.labels[part.row])
        again = part.only(np.array([3, 1]))
        np.testing.assert_array_equal(again.classes, rows.classes[keep[[3, 1]]])
    assert rows.only(np.arange(rows.size)) is rows
    assert rows.only(np.empty(0, dtype=np.intp)).classes.shape == (0, CLASSES)


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_of_numbers(seed):
    """Every distinct tick in a node and the range's two ends; every count by hand; left is "at most"."""
    rows, rng = random_rows(seed)
    ticks = rows.records.ticks[NUMBER]
    nodes = np.sort(rng.choice(rows.size, 5, replace=False))
    low, high = np.full(5, START), np.full(5, END)
    (cuts,) = rows.candidates(NUMBER, nodes, low, high)
    assert (np.diff(cuts.nodes) >= 0).all()
    for node in nodes.tolist():
        at = np.flatnonzero(cuts.nodes == node)
        inside = ticks[rows.row[rows.node == node]]
        distinct = np.unique(inside[~np.isnan(inside)])
        np.testing.assert_array_equal(cuts.low[at], [START, *distinct])
        np.testing.assert_array_equal(cuts.high[at], [*distinct, END])
        assert (cuts.high[at] - cuts.low[at]).sum() == GRID + 1
        for i in at.tolist():
            # All ticks of the interval, its lower end included and its upper one not; in front nothing goes left.
            middle = np.floor((cuts.low[i] + cuts.high[i]) / 2)
            places = [cuts.low[i], middle, cuts.high[i] - 1] if cuts.high[i] > cuts.low[i] else []
            assert places or (i == at[-1] and distinct[-1] == END)
            for cut in places:
                expected = count(rows, node, lambda r, c=cut: 0 if ticks[r] <= c else 1)
                np.testing.assert_array_equal(cuts.tables[:, :, i], expected)
    assert cuts.tables.sum() == sum(rows.classes[node].sum() * (cuts.nodes == node).sum() for node in nodes)


def test_a_nodes_own_range_ends_its_intervals():
    known = records(4, np.random.default_rng(0))
    known.ticks[NUMBER][:] = [25.0, 30.0, np.nan, 70.0]
    rows = NodeRows(known, np.array([0, 1, 2, 3], np.int32), np.array([0, 0, 0, 1], np.int32), 3)
    (cuts,) = rows.candidates(NUMBER, np.arange(3), np.array([24.0, 60.0, 10.0]), np.array([40.0, 70.0, 20.0]))
    assert cuts.nodes.tolist() == [0, 0, 0, 1, 1, 2]
    assert cuts.low.tolist() == [24, 25, 30, 60, 70, 10]
    assert cuts.high.tolist() == [25, 30, 40, 70, 70, 20]
    assert cuts.tables.sum(axis=1)[0].tolist() == [0, 1, 2, 0, 1, 0]  # missing goes right


def test_two_numbers_by_hand():
    """Range [0, 10], records (2, c0) and (5, c1), Max, factor ln 2: (4, 12, 10) / 26, up to steps of the grid."""
    known = records(2, np.random.default_rng(0), classes=2)
    known.ticks[NUMBER][:] = NumberCut(REAL, by_length=True).ticks(np.array([2.0, 5.0]))
    assert known.ticks[NUMBER].tolist() == [858_993_460, 2**31]  # .2 and .5 of 2^32, rounded up
    known.labels[:] = [0, 1]
    rows = NodeRows(known, np.arange(2, dtype=np.int32), np.zeros(2, np.int32), 1)
    (cuts,) = rows.candidates(NUMBER, np.arange(1), np.full(1, START), np.full(1, END))
    values = Max().of_many(cuts.tables, Relation.ADD_REMOVE)
    assert values.tolist() == [1, 2, 1]
    weights = (cuts.high - cuts.low) * 2.0**values
    assert weights.tolist() == [858_993_461 * 2, (2**31 - 858_993_460) * 4, 2**31 * 2]
    np.testing.assert_allclose(weights / weights.sum(), np.array([4, 12, 10]) / 26, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("position", "size"), [(CODES, 6), (ORDER, 3)])
def test_cuts_of_codes(seed, position, size):
    """All places inside the node's range, and none else; "missing" goes right."""
    rows, _ = random_rows(seed)
    codes = rows.records.codes[:, position]
    (cuts,) = rows.candidates(position, np.arange(rows.size), np.zeros(rows.size), np.full(rows.size, float(size)))
    assert len(cuts.nodes) == rows.size * (size - 1)
    np.testing.assert_array_equal(cuts.low, cuts.high)
    np.testing.assert_array_equal(cuts.low, np.tile(np.arange(1, size), rows.size))
    for i, (node, cut) in enumerate(zip(cuts.nodes.tolist(), cuts.low.tolist(), strict=True)):
        expected = count(rows, node, lambda r, c=cut: 0 if codes[r] < c else 1)
        np.testing.assert_array_equal(cuts.tables[:, :, i], expected)


def test_cuts_of_codes_in_narrow_ranges():
    rng = np.random.default_rng(3)
    known = records(80, rng)
    known.codes[:, CODES] = rng.integers(2, 5, 80)
    rows = NodeRows(known, np.arange(80, dtype=np.int32), np.zeros(80, np.int32), 2)
    (cuts,) = rows.candidates(CODES, np.arange(2), np.array([2.0, 0.0]), np.array([5.0, 2.0]))
    assert (cuts.nodes.tolist(), cuts.low.tolist()) == ([0, 0, 1], [3.0, 4.0, 1.0])
    for i, cut in enumerate([3, 4]):
        expected = count(rows, 0, lambda r, c=cut: 0 if known.codes[r, CODES] < c else 1)
        np.testing.assert_array_equal(cuts.tables[:, :, i], expected)
    assert not cuts.tables[:, :, 2].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_value_and_the_rest(seed):
    rows, rng = random_rows(seed)
    nodes = np.sort(rng.choice(rows.size, 3, replace=False))
    (cuts,) = rows.candidates(ONE, nodes, np.zeros(3), np.full(3, 7.0))
    assert len(cuts.nodes) == 3 * 7
    codes = rows.records.codes[:, ONE]
    for i, (node, code) in enumerate(zip(cuts.nodes.tolist(), cuts.low.tolist(), strict=True)):
        expected = count(rows, node, lambda r, c=code: 0 if codes[r] == c else 1)
        np.testing.assert_array_equal(cuts.tables[:, :, i], expected)


def test_a_taxonomys_groups_pass_over_nodes_with_one_child():
    groups = ATTRIBUTES[GROUPS]
    names = {name: place for place, name in enumerate(groups.names)}
    below = {name: [groups.names[child] for child in groups.children[place]] for name, place in names.items()}
    assert below["all"] == ["left", "right", "(missing)"]
    assert below["left"] == ["a", "b"]
    assert below["right"] == ["c", "d", "e"]  # "single" holds c alone
    assert groups.fanout(np.array([names["all"], names["right"], names["a"]], float), np.zeros(3)).tolist() == [3, 3, 0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("position", [GROUPS, VALUES])
def test_groups_of_values(seed, position):
    """Nodes at different places of one taxonomy, whose records fit their place; a batch per number of children."""
    rows, rng = random_rows(seed)
    groups = ATTRIBUTES[position]
    inner = [place for place, found in enumerate(groups.children) if len(found) >= 2]
    places = rng.choice(inner, rows.size).astype(float)
    for row, node in zip(rows.row.tolist(), rows.node.tolist(), strict=True):
        allowed = np.flatnonzero(groups.child_of[int(places[node])] >= 0)
        if rows.records.codes[row, position] not in allowed:  # the record's last node decides; all places of it move
            places[node] = 0.0
    seen = []
    for cuts in rows.candidates(position, np.arange(rows.size), places, np.zeros(rows.size)):
        assert np.isnan(cuts.low).all()
        assert np.isnan(cuts.high).all()
        for i, node in enumerate(cuts.nodes.tolist()):
            place = int(places[node])
            side = {code: child for code, child in enumerate(groups.child_of[place].tolist()) if child >= 0}
            expected = count(
                rows, node, lambda r, s=side: s[rows.records.codes[r, position]], len(groups.children[place])
            )
            np.testing.assert_array_equal(cuts.tables[:, :, i], expected)
            seen.append(node)
    assert sorted(seen) == list(range(rows.size))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("position", [NUMBER, CODES])
def test_given_cuts(seed, position):
    rows, rng = random_rows(seed)
    nodes = np.sort(rng.choice(rows.size, 4, replace=False))
    cut = rng.choice([START, 0.0, QUARTER, QUARTER + 1, GRID - 1] if position == NUMBER else [0.0, 2.0, 3.0, 5.0], 4)
    tables = rows.cut(position, nodes, cut, np.full(4, START))
    ticks, codes = rows.records.ticks[NUMBER], rows.records.codes[:, CODES]
    for i, node in enumerate(nodes.tolist()):
        if position == NUMBER:
            expected = count(rows, node, lambda r, c=cut[i]: 0 if ticks[r] <= c else 1)
        else:
            expected = count(rows, node, lambda r, c=cut[i]: 0 if codes[r] < c else 1)
        np.testing.assert_array_equal(tables[:, :, i], expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_level_holds_every_place_once(seed):
    """Divided as the candidates said: each child's counts are the chosen candidate's table."""
    rows, rng = random_rows(seed)
    column = rng.choice([NUMBER, CODES, ORDER, GROUPS, VALUES, ONE], rows.size)
    low = np.where(column == NUMBER, START, 0.0)
    high = np.array([{NUMBER: END, CODES: 6.0, ORDER: 3.0, ONE: 7.0}.get(c, 0.0) for c in column.tolist()])
    cut, tables = np.full(rows.size, np.nan), []
    for node in range(rows.size):
        (cuts,) = rows.candidates(int(column[node]), np.array([node]), low[[node]], high[[node]])
        possible = np.flatnonzero((cuts.high > cuts.low) | (column[node] != NUMBER))
        pick = int(rng.choice(possible))
        cut[node] = cuts.low[pick]
        if column[node] == NUMBER:
            cut[node] = rng.integers(int(cuts.low[pick]), int(cuts.high[pick]))
        tables.append(cuts.tables[:, :, pick])
    fan = np.array([len(table) for table in tables])
    first = np.cumsum(fan) - fan
    below = rows.divided(column, cut, low, first, int(fan.sum()))
    np.testing.assert_array_equal(below.classes, np.concatenate(tables))
    assert (np.diff(below.node) >= 0).all()
    above = np.repeat(np.arange(rows.size), fan)[below.node]
    assert sorted(zip(below.row, above, strict=True)) == sorted(zip(rows.row, rows.node, strict=True))
    np.testing.assert_array_equal(below.label, rows.records.labels[below.row])
    np.testing.assert_array_equal(below.only(np.arange(1, below.size)).classes, np.concatenate(tables)[1:])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_no_records_and_numbers_that_are_all_missing(n):
    known = records(n, np.random.default_rng(1))
    known.ticks[NUMBER][:] = np.nan
    rows = NodeRows(known, np.arange(n, dtype=np.int32), np.zeros(n, np.int32), 2)
    (cuts,) = rows.candidates(NUMBER, np.arange(2), np.full(2, START), np.full(2, END))
    assert (cuts.nodes.tolist(), cuts.low.tolist(), cuts.high.tolist()) == ([0, 1], [START, START], [END, END])
    assert not cuts.tables[0].any()  # all go right
    np.testing.assert_array_equal(cuts.tables[1].T, rows.classes)
    for position, high in ((CODES, 6.0), (GROUPS, 0.0), (ONE, 7.0)):
        for found in rows.candidates(position, np.arange(2), np.zeros(2), np.full(2, high)):
            assert (found.tables.sum(axis=(0, 1)) == n * (found.nodes == 0)).all()


def test_many_trees_count_as_one_by_one():
    """30 trees at once, with wide codes: no sum or key runs over."""
    rng = np.random.default_rng(5)
    n, trees = 500, 30
    known = records(n, rng)
    row = np.tile(np.arange(n, dtype=np.int32), trees)
    keep = rng.random(len(row)) < 0.7
    node = np.repeat(np.arange(trees, dtype=np.int32), n)[keep]
    rows = NodeRows(known, row[keep], node, trees)
    (together,) = rows.candidates(NUMBER, np.arange(trees), np.full(trees, START), np.full(trees, END))
    for tree in (0, 13, 29):
        alone = NodeRows(known, rows.row[node == tree], np.zeros(int((node == tree).sum()), np.int32), 1)
        (cuts,) = alone.candidates(NUMBER, np.arange(1), np.full(1, START), np.full(1, END))
        np.testing.assert_array_equal(together.tables[:, :, together.nodes == tree], cuts.tables)
        np.testing.assert_array_equal(together.low[together.nodes == tree], cuts.low)


# The grid of numbers

COLUMNS = {
    "even": Column(name="x", kind="continuous", lower=-1, upper=4, bins=5),
    "uneven": Column(name="x", kind="continuous", lower=-1, upper=4, bins=(-0.999, 0.0, 0.1, 3.0)),
    "seven": Column(name="x", kind="continuous", lower=0, upper=1e-6, bins=7),
    "far": Column(name="x", kind="continuous", lower=1e6, upper=1e6 + 3, bins=(1e6 + 1,)),
    "whole": Column(name="x", kind="integer", lower=-7, upper=13, bins=21),
    "whole, sevenths": Column(name="x", kind="integer", lower=0, upper=20, bins=6),
    "whole, uneven": Column(name="x", kind="integer", lower=0, upper=1_000, bins=(1.0, 2.0, 990.0)),
    "whole, last alone": Column(name="x", kind="integer", lower=0, upper=300, bins=(7.0, 300.0)),
    "two": Column(name="x", kind="integer", lower=3, upper=4, bins=2),
    "one": Column(name="x", kind="integer", lower=5, upper=5, bins=1),
    "many": Column(name="x", kind="integer", lower=0, upper=2_000_000, bins=(3.0,)),
    "more than ticks": Column(name="x", kind="integer", lower=-(10**13), upper=10**13, bins=3),
}
WHOLE = [name for name, column in COLUMNS.items() if column.kind == "integer"]
BY_LENGTH = [True, False]


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


def values_of(column, by_length, rng, n=400):
    """Numbers of a column: edges and their neighbors, and any."""
    ends = np.array(ends_of(column, by_length), dtype=float)
    if column.kind == "integer":
        found = np.concatenate([np.floor(ends), np.ceil(ends), rng.integers(column.lower, column.upper + 1, n)])
    else:
        near = [ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), rng.choice(ends, n) * (1 + 1e-12)]
        found = np.concatenate([*near, rng.uniform(column.lower, column.upper, n)])
    return np.sort(np.clip(found, column.lower, column.upper))


@pytest.mark.parametrize("by_length", BY_LENGTH)
@pytest.mark.parametrize("name", COLUMNS)
def test_ticks_are_the_public_rules(name, by_length):
    column, rng = COLUMNS[name], np.random.default_rng(4)
    cut = NumberCut(column, by_length=by_length)
    values = values_of(column, by_length, rng)
    ticks = cut.ticks(values)
    assert (ticks == np.floor(ticks)).all()
    assert ((ticks >= 0) & (ticks <= GRID)).all()
    assert (np.diff(ticks) >= 0).all()
    order = rng.permutation(len(values))
    np.testing.assert_array_equal(cut.ticks(values[order]), ticks[order])
    for i in rng.integers(0, len(values), 30).tolist():
        assert cut.ticks(values[[i]])[0] == ticks[i]  # alone as among others
    if column.lower < column.upper:
        ends = np.array([column.lower, column.upper, column.lower - 5, column.upper + 5])
        assert cut.ticks(ends).tolist() == [0, GRID, 0, GRID]
        for value, tick in zip(values.tolist(), ticks.tolist(), strict=True):
            there = exact_tick(value, column, by_length)
            assert abs(tick - ceil(there)) <= (0 if abs(there - round(there)) > Fraction(1, 2**16) else 1)
        missing = cut.ticks(np.array([np.nan, values[0], np.nan]))
        assert np.isnan(missing).tolist() == [True, False, True]


@pytest.mark.parametrize("by_length", BY_LENGTH)
@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "one"])
def test_ticks_lead_back_to_numbers(name, by_length):
    """To within one step of the grid, upwards: the number of the tick is at or above the one that was sent there."""
    column, rng = COLUMNS[name], np.random.default_rng(5)
    cut = NumberCut(column, by_length=by_length)
    ends = np.array(ends_of(column, by_length), dtype=float)
    step = np.diff(ends).max() / (GRID / (len(ends) - 1))
    rounding = 4 * np.spacing(np.abs(ends).max())
    values = values_of(column, by_length, rng)
    there = cut.at(cut.ticks(values)) - values
    assert (there >= -rounding).all()
    assert (there <= step + rounding).all()
    assert cut.at(np.array([0.0, GRID, START])).tolist() == [column.lower, column.upper, column.lower]
    ticks = np.sort(rng.integers(0, GRID + 1, 500)).astype(float)
    assert (np.diff(cut.at(ticks)) >= 0).all()


@pytest.mark.parametrize("by_length", BY_LENGTH)
@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_go_left_up_to_the_number_of_the_cut(name, by_length):
    """All ticks of [low, high) are cuts; records in (low, cut] go left, those in (cut, high] and missing ones right."""
    column, rng = COLUMNS[name], np.random.default_rng(6)
    cut = NumberCut(column, by_length=by_length)
    assert cut.start == (-1, GRID)
    values = values_of(column, by_length, rng)
    ticks = cut.ticks(values)
    cuts = np.concatenate([rng.integers(-1, GRID, 50), rng.choice(ticks, 50), rng.choice(ticks, 50) - 1])
    for at in np.clip(cuts, -1, GRID - 1).tolist():
        side = cut.side(ticks, np.full(len(values), at), np.full(len(values), START))
        np.testing.assert_array_equal(side, np.where(ticks <= at, 0, 1))
        assert (np.diff(side) >= 0).all()
        low, high = cut.ranges(np.full(2, START), np.full(2, END), np.full(2, at), np.array([0, 1]))
        assert (low.tolist(), high.tolist()) == ([START, at], [at, END])
        assert ((ticks > low[side]) & (ticks <= high[side])).all()
    none = cut.side(np.full(1, np.nan), np.full(1, END - 1), np.full(1, START))
    assert none.tolist() == [1]


def cuts_of(ticks, rng):
    """Cuts at random, at, in front of and behind the ticks of some numbers."""
    chosen = rng.choice(ticks, min(len(ticks), 60), replace=False)
    found = np.concatenate([[START, END - 1], chosen - 1, chosen, chosen + 1, rng.integers(-1, GRID, 60)])
    return np.unique(np.clip(found, START, END - 1))


@pytest.mark.parametrize("by_length", BY_LENGTH)
@pytest.mark.parametrize("name", [name for name in WHOLE if name not in ("many", "more than ticks")])
def test_whole_cuts_say_which_whole_numbers_they_part(name, by_length):
    """All whole numbers of a column against what the texts say; where none goes left, the texts name the lowest."""
    column, rng = COLUMNS[name], np.random.default_rng(7)
    cut = NumberCut(column, by_length=by_length)
    values = np.arange(column.lower, column.upper + 1)
    ticks = cut.ticks(values)
    for at in cuts_of(ticks, rng).tolist():
        left = cut.side(ticks, np.full(len(values), at), np.zeros(len(values))) == 0
        texts = [cut.text(START, at, child) for child in (0, 1)]
        said = float(texts[0].removeprefix("≤ ").replace(",", ""))
        assert texts[1] == texts[0].replace("≤", ">")
        if left.any():
            np.testing.assert_array_equal(values <= said, left)
        else:
            assert said == column.lower


@pytest.mark.parametrize("by_length", BY_LENGTH)
@pytest.mark.parametrize("name", ["many", "more than ticks"])
def test_whole_cuts_of_wide_columns_part_neighbors(name, by_length):
    column, rng = COLUMNS[name], np.random.default_rng(8)
    cut = NumberCut(column, by_length=by_length)
    for at in rng.integers(0, GRID - 2**12, 2_000).astype(float).tolist():
        said = float(cut.text(START, at, 0).removeprefix("≤ ").replace(",", ""))
        left = cut.ticks(np.array([said, said + 1])) <= at
        assert left.tolist() == [True, False]


@pytest.mark.parametrize("by_length", BY_LENGTH)
@pytest.mark.parametrize("name", [name for name in WHOLE if name not in ("many", "more than ticks")])
def test_whole_numbers_are_cut_while_two_are_in_the_range(name, by_length):
    column, rng = COLUMNS[name], np.random.default_rng(9)
    cut = NumberCut(column, by_length=by_length)
    ticks = cut.ticks(np.arange(column.lower, column.upper + 1))
    ends = np.append(cuts_of(ticks, rng), END)
    low, high = np.sort(rng.choice(ends, (2, 3_000)), axis=0)
    near = np.clip(low + rng.integers(0, 3, len(low)), START, END)
    low, high = np.append(low, low), np.append(high, near)
    inside = ((ticks > low[:, None]) & (ticks <= high[:, None])).sum(axis=1)
    np.testing.assert_array_equal(cut.fanout(low, high), np.where(inside >= 2, 2, 0))
    assert cut.fanout(np.array([START]), np.array([END]))[0] == (2 if column.upper > column.lower else 0)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in WHOLE])
def test_other_numbers_are_cut_while_two_ticks_are_in_the_range(name):
    cut = NumberCut(COLUMNS[name])
    low, high = np.array([START, START, 4, 4, 4, END - 2, END - 1]), np.array([END, 0, 4, 5, 6, END, END])
    assert cut.fanout(low, high).tolist() == [2, 0, 0, 0, 2, 2, 0]
    with np.errstate(all="raise"):
        assert cut.text(START, START, 1).startswith("> ")
