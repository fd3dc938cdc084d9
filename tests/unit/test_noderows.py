"""Counts of records in nodes against loops over single records, on random tables with every oddity at once."""

import numpy as np
import pytest

from dpcore.attributes import CodeCut, Groups, NumberCut, OneValue, flat
from dpcore.column import Column
from dpcore.hierarchy import Hierarchy
from dpcore.ledger import Relation
from dpcore.noderows import NodeRows, Records
from dpcore.scores import Max
from dpcore.taxonomy import Taxonomy

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
    numbers = rng.choice([0.0, 10.0, 2.5, 2.5, 7.125, 1 / 3, np.nextafter(10, 0), rng.uniform(0, 10)], n)
    numbers[rng.random(n) < 0.15] = np.nan
    return Records(codes.astype(np.uint8), ATTRIBUTES, {NUMBER: numbers}, TARGET, classes)


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
    """Every distinct number in a node and the range's two ends; every count by hand; left is "at most"."""
    rows, rng = random_rows(seed)
    numbers = rows.records.numbers[NUMBER]
    nodes = np.sort(rng.choice(rows.size, 5, replace=False))
    low, high = np.zeros(5), np.full(5, 10.0)
    (cuts,) = rows.candidates(NUMBER, nodes, low, high)
    assert (np.diff(cuts.nodes) >= 0).all()
    for node in nodes.tolist():
        at = np.flatnonzero(cuts.nodes == node)
        inside = numbers[rows.row[rows.node == node]]
        distinct = np.unique(inside[~np.isnan(inside)])
        np.testing.assert_array_equal(cuts.low[at], [0.0, *distinct])
        np.testing.assert_array_equal(cuts.high[at], [*distinct, 10.0])
        assert (cuts.high[at] - cuts.low[at]).sum() == pytest.approx(10)
        for i in at.tolist():
            # Anywhere in the interval, its lower end included; in front of the first number nothing goes left.
            middle = cuts.low[i] + (cuts.high[i] - cuts.low[i]) / 2
            places = [middle, cuts.low[i]] if i > at[0] or not len(distinct) or distinct[0] > 0 else []
            for cut in [c for c in places if cuts.high[i] > cuts.low[i] and c < cuts.high[i]]:
                expected = count(rows, node, lambda r, c=cut: 0 if numbers[r] <= c else 1)
                np.testing.assert_array_equal(cuts.tables[:, :, i], expected)
    assert cuts.tables.sum() == sum(rows.classes[node].sum() * (cuts.nodes == node).sum() for node in nodes)


def test_a_nodes_own_range_ends_its_intervals():
    known = records(4, np.random.default_rng(0))
    known.numbers[NUMBER][:] = [2.5, 3.0, np.nan, 7.0]
    rows = NodeRows(known, np.array([0, 1, 2, 3], np.int32), np.array([0, 0, 0, 1], np.int32), 3)
    (cuts,) = rows.candidates(NUMBER, np.arange(3), np.array([2.5, 6.0, 1.0]), np.array([4.0, 7.0, 2.0]))
    assert cuts.nodes.tolist() == [0, 0, 0, 1, 1, 2]
    assert cuts.low.tolist() == [2.5, 2.5, 3.0, 6.0, 7.0, 1.0]
    assert cuts.high.tolist() == [2.5, 3.0, 4.0, 7.0, 7.0, 2.0]
    assert cuts.tables.sum(axis=1)[0].tolist() == [0, 1, 2, 0, 1, 0]  # missing goes right


def test_two_numbers_by_hand():
    """Range [0, 10], records (2, c0) and (5, c1), Max, factor ln 2: (4, 12, 10) / 26."""
    known = records(2, np.random.default_rng(0), classes=2)
    known.numbers[NUMBER][:] = [2.0, 5.0]
    known.labels[:] = [0, 1]
    rows = NodeRows(known, np.arange(2, dtype=np.int32), np.zeros(2, np.int32), 1)
    (cuts,) = rows.candidates(NUMBER, np.arange(1), np.zeros(1), np.full(1, 10.0))
    values = Max().of_many(cuts.tables, Relation.ADD_REMOVE)
    assert values.tolist() == [1, 2, 1]
    weights = (cuts.high - cuts.low) * 2.0**values
    np.testing.assert_array_equal(weights, [4, 12, 10])


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
    cut = rng.choice([0.0, 2.5, 3.0, 7.125], 4)
    tables = rows.cut(position, nodes, cut, np.zeros(4))
    numbers, codes = rows.records.numbers[NUMBER], rows.records.codes[:, CODES]
    for i, node in enumerate(nodes.tolist()):
        if position == NUMBER:
            expected = count(rows, node, lambda r, c=cut[i]: 0 if numbers[r] <= c else 1)
        else:
            expected = count(rows, node, lambda r, c=cut[i]: 0 if codes[r] < c else 1)
        np.testing.assert_array_equal(tables[:, :, i], expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_level_holds_every_place_once(seed):
    """Divided as the candidates said: each child's counts are the chosen candidate's table."""
    rows, rng = random_rows(seed)
    column = rng.choice([NUMBER, CODES, ORDER, GROUPS, VALUES, ONE], rows.size)
    low = np.zeros(rows.size)
    high = np.array([{NUMBER: 10.0, CODES: 6.0, ORDER: 3.0, ONE: 7.0}.get(c, 0.0) for c in column.tolist()])
    cut, tables = np.full(rows.size, np.nan), []
    for node in range(rows.size):
        (cuts,) = rows.candidates(int(column[node]), np.array([node]), low[[node]], high[[node]])
        possible = np.flatnonzero((cuts.high > cuts.low) | (column[node] != NUMBER))
        pick = int(rng.choice(possible))
        cut[node] = cuts.low[pick]
        if column[node] == NUMBER:
            cut[node] = (cuts.low[pick] + cuts.high[pick]) / 2
            if cut[node] >= cuts.high[pick]:
                cut[node] = cuts.low[pick]
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
    known.numbers[NUMBER][:] = np.nan
    rows = NodeRows(known, np.arange(n, dtype=np.int32), np.zeros(n, np.int32), 2)
    (cuts,) = rows.candidates(NUMBER, np.arange(2), np.zeros(2), np.full(2, 10.0))
    assert (cuts.nodes.tolist(), cuts.low.tolist(), cuts.high.tolist()) == ([0, 1], [0.0, 0.0], [10.0, 10.0])
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
    (together,) = rows.candidates(NUMBER, np.arange(trees), np.zeros(trees), np.full(trees, 10.0))
    for tree in (0, 13, 29):
        alone = NodeRows(known, rows.row[node == tree], np.zeros(int((node == tree).sum()), np.int32), 1)
        (cuts,) = alone.candidates(NUMBER, np.arange(1), np.zeros(1), np.full(1, 10.0))
        np.testing.assert_array_equal(together.tables[:, :, together.nodes == tree], cuts.tables)
        np.testing.assert_array_equal(together.low[together.nodes == tree], cuts.low)
