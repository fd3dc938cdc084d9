"""Counts of records in nodes against loops over single records, on random tables with every oddity at once."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.splits import GRID, STEP, CodeCut, Groups, NumberCut, OneValue, flat
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.door import exact_node_counts
from dpcore.door.exact_node_counts import HeldRecords, NodeRows
from dpcore.mechanisms.scores import Max
from dpcore.rows import HeldRows

PATHS = {"a": ("left",), "b": ("left",), "c": ("single", "right"), "d": ("right",), "e": ("right",)}
TAXONOMY = Taxonomy(tuple((code, *above, "all") for code, above in PATHS.items()))
REAL = Column(name="real", kind="continuous", lower=0, upper=10, bins=4, missing=True)
BINNED = Column(name="binned", kind="integer", lower=0, upper=5, bins=6, missing=True)
ORDERED = Column(name="ordered", kind="ordered", categories=("low", "mid", "high"))
TREE = Column(name="tree", kind="categorical", categories=tuple("abcde"), missing=True, taxonomy=TAXONOMY)
FLAT = Column(name="flat", kind="categorical", categories=tuple("uvw"))
MANY = Column(name="many", kind="categorical", categories=tuple("klmnopq"))
NUMBER, CODES, ORDER, GROUPS, VALUES, ONE, TARGET = range(7)
CLASSES = 3
START, END, QUARTER = -1.0, float(GRID), float(GRID // 4)
LAST, MIDDLE = GRID // STEP, GRID // STEP // 4
ATTRIBUTES = {
    NUMBER: NumberCut(REAL),
    CODES: CodeCut(BINNED),
    ORDER: CodeCut(ORDERED),
    GROUPS: Groups(TREE, Hierarchy.of(TREE)),
    VALUES: Groups(FLAT, flat(FLAT)),
    ONE: OneValue(MANY),
}


def records(n, rng, *, classes=CLASSES, missing=0.15):
    columns = [REAL, BINNED, ORDERED, TREE, FLAT, MANY]
    codes = np.stack([*(rng.integers(0, c.size, n) for c in columns), rng.integers(0, classes, n)], axis=1)
    ticks = STEP * rng.choice([0.0, LAST, 1.0, MIDDLE, MIDDLE, MIDDLE + 1, LAST - 1, float(rng.integers(0, LAST))], n)
    ticks[rng.random(n) < missing] = np.nan
    sizes = [*(c.size for c in columns), classes]
    return HeldRecords(HeldRows(codes.astype(np.uint8), sizes, {NUMBER: ticks}), ATTRIBUTES, TARGET, classes)


def random_rows(seed, *, most=60, missing=0.15):
    """Places in some trees' nodes: a record may be in a node twice, and some nodes are empty."""
    rng, size = np.random.default_rng(seed), 7
    n = int(rng.integers(0, most))
    known, places = records(n, rng, missing=missing), int(rng.integers(0, 3 * n + 1))
    node = rng.choice(rng.choice(size, size - 2, replace=False), places if n else 0)
    if seed % 3 == 0:  # every record once, in their order
        return NodeRows(known, slice(None), np.resize(node, n if len(node) else 0), size), rng
    row = rng.integers(0, max(n, 1), len(node))
    return NodeRows(known, row.astype(np.int32), np.sort(node), size), rng


def rows_at(rows):
    return np.arange(len(rows.records))[rows.row]


RANGES = {NUMBER: (START, END), CODES: (0.0, 6.0), ORDER: (0.0, 3.0), ONE: (0.0, 7.0), GROUPS: (0.0, 0.0)}
RANGES[VALUES] = RANGES[GROUPS]
GIVEN = {NUMBER: [START, 0.0, QUARTER, QUARTER + 1, QUARTER + STEP, GRID - 1], CODES: [0.0, 2.0, 3.0, 5.0]}


def child(known, position, row, cut, place=0):
    if position == NUMBER:
        return int(not known.rows.numbers(NUMBER)[row] <= cut)  # missing goes right
    code = known.codes[row, position]
    if position in (GROUPS, VALUES):
        return ATTRIBUTES[position].child_of[int(place)][code]
    return int(code != cut if position == ONE else not code < cut)


def counted(rows, node, group, groups=2):
    """Groups x classes of one node, record by record; `group(row)` is the record's."""
    table = np.zeros((groups, rows.records.classes), dtype=int)
    for row in rows_at(rows)[rows.node == node].tolist():
        table[group(row), rows.records.labels[row]] += 1
    return table


def halves(rows, node, position, cut, place=0, groups=2):
    return counted(rows, node, lambda row: child(rows.records, position, row, cut, place), groups)


def whole(rows, position):
    return list(rows.candidates(position, np.arange(rows.size), *np.tile(RANGES[position], (rows.size, 1)).T))


def places_of(rows, rng):
    """Places of a taxonomy that all records of a node fit to."""
    inner = [place for place, found in enumerate(ATTRIBUTES[GROUPS].children) if len(found) >= 2]
    places = rng.choice(inner, rows.size).astype(float)
    outside = ATTRIBUTES[GROUPS].child_of[places[rows.node].astype(int), rows.records.codes[rows.row, GROUPS]] < 0
    places[rows.node[outside]] = 0.0
    return places


def test_classes_and_tables(seeds):
    for seed in seeds(12):
        rows, rng = random_rows(seed)
        for node in range(rows.size):
            np.testing.assert_array_equal(rows.classes[node], counted(rows, node, lambda _: 0, 1)[0])
        some = np.sort(rng.choice(rows.size, 4, replace=False))
        for (position, column), nodes in product(((CODES, BINNED), (GROUPS, TREE)), (np.arange(rows.size), some)):
            codes, table = rows.records.codes[:, position], rows.tables(position, nodes)
            expected = [counted(rows, node, codes.__getitem__, column.size) for node in nodes.tolist()]
            np.testing.assert_array_equal(table, expected)
            np.testing.assert_array_equal(rows.tables(position, nodes, by_class=False), table.sum(axis=2))


@pytest.mark.parametrize("known_first", [False, True])
def test_only_some_nodes_in_any_order(known_first, seeds):
    for seed in seeds(12):
        rows, rng = random_rows(seed)
        keep = rng.permutation(rows.size)[:4]
        if known_first:
            assert rows.classes.sum() == len(rows_at(rows))
        part = rows.only(keep)
        np.testing.assert_array_equal(part.classes, rows.classes[keep])
        for i, node in enumerate(keep.tolist()):
            assert sorted(rows_at(part)[part.node == i]) == sorted(rows_at(rows)[rows.node == node])
        np.testing.assert_array_equal(part.label, rows.records.labels[rows_at(part)])
        np.testing.assert_array_equal(part.only(np.array([3, 1])).classes, rows.classes[keep[[3, 1]]])
        assert rows.only(np.arange(rows.size)) is rows
        assert rows.only(np.empty(0, dtype=np.intp)).classes.shape == (0, CLASSES)


def test_candidates_are_counted_as_record_by_record(seeds, monkeypatch):
    """All places inside a node's range and none else; every tick of an interval divides as its table says.

    Also of no records, and of numbers that are all missing; by counting all cells, and by sorting the places.
    """
    for seed, position, how in product(seeds(12), ATTRIBUTES, ({}, {"most": 1}, {"missing": 1.0})):
        rows, rng = random_rows(seed, **how)
        monkeypatch.setattr(exact_node_counts, "DENSE", 4 * (seed % 2))
        some = np.sort(rng.choice(rows.size, 5, replace=False))
        places = places_of(rows, rng)[some] if position == GROUPS else np.full(5, RANGES[position][0])
        seen = []
        for cuts in rows.candidates(position, some, places, np.full(5, RANGES[position][1])):
            for i, node in enumerate(cuts.nodes.tolist()):
                low, high, place = cuts.low[i], cuts.high[i], places[some == node][0]
                seen.append((node, low, high))
                # Of an interval its lower end is a cut, and its upper one is not; in front nothing goes left.
                for at in {low, np.floor((low + high) / 2), high - 1} if high > low else {low} - {END}:
                    expected = halves(rows, node, position, at, place, len(cuts.tables))
                    np.testing.assert_array_equal(cuts.tables[:, :, i], expected, str((seed, position, node, at)))
        if position in GIVEN:  # cuts that were chosen before
            cut = rng.choice(GIVEN[position], 5)
            tables = rows.cut(position, some, cut, np.full(5, START))
            expected = [halves(rows, node, position, at) for node, at in zip(some.tolist(), cut, strict=True)]
            np.testing.assert_array_equal(np.moveaxis(tables, -1, 0), expected)
        wanted = []
        for node in some.tolist():
            ticks = rows.records.rows.numbers(NUMBER)[rows_at(rows)[rows.node == node]]
            distinct = np.unique(ticks[~np.isnan(ticks)])
            ends = {
                NUMBER: list(zip([START, *distinct], [*distinct, END], strict=True)),
                CODES: [(at, at) for at in range(1, 6)],
                ORDER: [(at, at) for at in range(1, 3)],
                ONE: [(at, at) for at in range(7)],
            }.get(position, [(np.nan, np.nan)])
            wanted += [(node, *each) for each in ends]
        np.testing.assert_array_equal(np.array(sorted(seen)), np.array(wanted, dtype=float))


def test_a_nodes_own_range_ends_its_candidates():
    known = records(4, np.random.default_rng(0))
    known.rows.numbers(NUMBER)[:], known.codes[:, CODES] = STEP * np.array([25, 30, np.nan, 70]), [2, 3, 4, 1]
    rows = NodeRows(known, np.arange(4, dtype=np.int32), np.array([0, 0, 0, 1], np.int32), 3)
    (cuts,) = rows.candidates(NUMBER, np.arange(3), *(STEP * np.array([[24.0, 60, 10], [40, 70, 20]])))
    assert cuts.nodes.tolist() == [0, 0, 0, 1, 1, 2]
    assert (cuts.low / STEP).tolist() == [24, 25, 30, 60, 70, 10]
    assert (cuts.high / STEP).tolist() == [25, 30, 40, 70, 70, 20]
    assert cuts.tables.sum(axis=1)[0].tolist() == [0, 1, 2, 0, 1, 0]  # missing goes right
    (cuts,) = rows.candidates(CODES, np.arange(3), np.array([2.0, 0.0, 1.0]), np.array([5.0, 2.0, 2.0]))
    assert (cuts.nodes.tolist(), cuts.low.tolist()) == ([0, 0, 1], [3.0, 4.0, 1.0])
    assert cuts.tables.sum(axis=1).tolist() == [[1, 2, 0], [2, 1, 1]]


def test_two_numbers_by_hand():
    """Range [0, 10], records (2, c0) and (5, c1), Max, factor ln 2: (4, 12, 10) / 26, up to steps."""
    known = records(2, np.random.default_rng(0), classes=2)
    known.rows.numbers(NUMBER)[:] = NumberCut(REAL, by_length=True).steps(np.array([2.0, 5.0]))
    assert known.rows.numbers(NUMBER).tolist() == [52_429 * STEP, 2**31]  # .2 and .5 of 2^18 steps, rounded up
    known.labels[:] = [0, 1]
    (cuts,) = whole(NodeRows(known, np.arange(2, dtype=np.int32), np.zeros(2, np.int32), 1), NUMBER)
    values = Max().of_many(cuts.tables, Relation.ADD_REMOVE)
    assert values.tolist() == [1, 2, 1]
    weights = (cuts.high - cuts.low) * 2.0**values
    assert weights.tolist() == [(52_429 * STEP + 1) * 2, (2**31 - 52_429 * STEP) * 4, 2**31 * 2]
    np.testing.assert_allclose(weights / weights.sum(), np.array([4, 12, 10]) / 26, rtol=0, atol=STEP / GRID)


def test_the_next_level_holds_every_place_once(seeds):
    """Divided as the candidates said: each child's counts are the chosen candidate's table."""
    for seed in seeds(12):
        rows, rng = random_rows(seed)
        column = rng.choice(list(ATTRIBUTES), rows.size)
        low, high = np.array([RANGES[position] for position in column.tolist()]).T
        cut, tables = np.full(rows.size, np.nan), []
        for node in range(rows.size):
            (cuts,) = rows.candidates(int(column[node]), np.array([node]), low[[node]], high[[node]])
            pick = int(rng.choice(np.flatnonzero((cuts.high > cuts.low) | (column[node] != NUMBER))))
            cut[node] = cuts.low[pick]
            if column[node] == NUMBER:
                cut[node] = rng.integers(int(cuts.low[pick]), int(cuts.high[pick]))
            tables.append(cuts.tables[:, :, pick])
        fan = np.array([len(table) for table in tables])
        below = rows.divided(column, cut, low, np.cumsum(fan) - fan, int(fan.sum()))
        np.testing.assert_array_equal(below.classes, np.concatenate(tables))
        above = np.repeat(np.arange(rows.size), fan)[below.node]
        assert sorted(zip(rows_at(below), above, strict=True)) == sorted(zip(rows_at(rows), rows.node, strict=True))
        np.testing.assert_array_equal(below.label, rows.records.labels[rows_at(below)])
        np.testing.assert_array_equal(below.only(np.arange(1, below.size)).classes, np.concatenate(tables)[1:])


@pytest.mark.parametrize("values", [1_000, 2**31 - 1])
def test_pairs_of_nodes_and_values_are_told_apart_however_many_there_could_be(values):
    """With two nodes and classes, the larger number of values takes more than 32 bits."""
    label, number = np.array([0, 1, 0, 1, 1], dtype=np.uint8), np.array([0, 0, 1, 1, 1], dtype=np.int8)
    place = np.array([values - 1, values - 1, 0, values - 1, values - 1], dtype=np.int32)
    nodes = NodeRows.__new__(NodeRows)
    object.__setattr__(nodes, "records", SimpleNamespace(classes=2))
    where, counts = nodes._occupied(label, number, place, values)
    assert where.tolist() == [values - 1, values, 2 * values - 1]
    assert counts.tolist() == [[1, 1, 0], [1, 0, 2]]


@pytest.mark.parametrize("most", [0, 255, 256, (1 << 16) - 1, 1 << 16, (1 << 31) - 1])
def test_places_come_in_the_order_of_numbers_of_any_size(most):
    numbers = np.append(np.random.default_rng(0).integers(0, most + 1, 500), [most, 0, most]).astype(np.int32)
    np.testing.assert_array_equal(exact_node_counts.by_radix(numbers, most), np.argsort(numbers, kind="stable"))
