"""Tree nodes over private rows: answers, splits, and noiseless counts against loops over rows."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from private_rows import EVERY, RELATIONS, REPLACE, TICKS, TREES, offered, roots

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.splits import GRID, STEP, CodeSplit, Groups, NumberSplit, OneValue, flat_hierarchy
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.door import Split, exact_node_counts
from dpcore.door.exact_node_counts import NOWHERE, KeyCounts, NodeRows, Records, identity_numbers
from dpcore.errors import BudgetError, ParameterError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import ConditionalEntropy, Gini, InfoGain, Max
from dpcore.rows import HeldRows, exact_counts

TENTH = Fraction(1, 10)


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    monkeypatch.setattr(exact_counts, "BLOCK", 16)


def last(table):
    return table.ledger.entries[-1]


def test_answers_are_counts_of_records_classes_and_codes():
    _, nodes, budget = roots(REPLACE)
    assert budget == Fraction(1, 2)  # a record that is replaced leaves one node and comes to another
    np.testing.assert_array_equal(nodes.counts("n", epsilon=1), [6])
    np.testing.assert_array_equal(nodes.class_counts("c", epsilon=1), [[3, 3]])
    ((plain, crossed), (_, codes)) = nodes.tables("t", [2, 1], epsilon=1, one_by_one=False)
    np.testing.assert_array_equal(plain, [[2, 2, 2]])
    np.testing.assert_array_equal(crossed, [[[2, 0], [1, 1], [0, 2]]])
    assert codes.shape == (1, 4, 2)
    assert nodes.count_variance(Fraction(1, 4)) == 2 * 4.0**2
    assert nodes.count_variance(0) == math.inf
    assert (nodes.sensitivity(Max()), nodes.sensitivity(Gini())) == (1, 2)


def test_disjoint_nodes_cost_the_largest_part_and_splitting_nothing():
    table, nodes, _ = roots()
    nodes.counts("n", epsilon=TENTH)
    below = nodes.divide(Split(np.array([0]), TICKS[1:2]), offered(nodes)[1], first=np.array([0]), size=2)
    np.testing.assert_array_equal(below.class_counts("c", epsilon=TENTH), [[2, 2], [1, 1]])
    one, two = below.partition({"": np.array([1]), "leaves": np.array([0])})
    np.testing.assert_array_equal(one.counts("n", epsilon=TENTH), [2])
    np.testing.assert_array_equal(two.counts("n", epsilon=3 * TENTH), [4])
    one.counts("n", epsilon=TENTH)
    assert table.ledger.totals.bound == 5 * TENTH
    assert table.ledger.to_frame()["scope"].iloc[-1] == "one tree / leaves"


def test_each_column_weighs_1_and_an_interval_its_ticks():
    table, nodes, _ = roots()
    found = nodes.choose("q", Max(), *offered(nodes), epsilon=1)
    ((scores, groups, (part, whole)),) = table._door.noise.choices
    weights = part / whole
    # In front of 0, [0, 2), [2, 5), [5, 9.5), [9.5, 10), 10; three places between four bins; three letters at once
    np.testing.assert_allclose(weights[:6] * (GRID + 1), np.diff([-1, *np.unique(TICKS), GRID]), rtol=1e-12)
    np.testing.assert_allclose(weights[:6], [0, 0.2, 0.3, 0.45, 0.05, 0], atol=STEP / GRID)
    assert weights[0] > weights[5] == 0
    np.testing.assert_allclose(weights[6:], [1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_array_equal(scores, [3, 4, 3, 3, 4, 3, 3, 4, 3, 5])
    assert not groups.any()
    assert (found.column.tolist(), np.isnan(found.point).all()) == ([2], True)
    assert last(table).name == f"q, by {Max().name}"
    # Cuts that were chosen before compete with whole columns.
    point = float(TICKS[3]) + 7
    points, (table, nodes, _) = np.array([[point, 2.0, np.nan, np.nan]]), roots()
    found = nodes.choose("q", Max(), *offered(nodes), epsilon=1, points=points)
    ((scores, _, weights),) = table._door.noise.choices
    assert (scores.tolist(), weights, found.column.tolist()) == ([4, 4, 5], None, [2])
    found = nodes.choose("q", Max(), *offered(nodes, EVERY & [True, True, False, False]), epsilon=1, points=points)
    assert (found.column.tolist(), found.point.tolist()) == ([0], [point])


@pytest.mark.parametrize("relation", RELATIONS)
def test_with_epsilon_0_a_split_is_independent_of_the_rows(relation):
    found = []
    for codes in (TREES, np.ones_like(TREES)):
        table, nodes, _ = roots(relation, noise=make_noise("laplace", 5), codes=codes)
        groups = offered(nodes, EVERY & [False, True, True, False])
        chosen = [nodes.choose("q", Max(), *groups, epsilon=0) for _ in range(40)]
        chosen += [nodes.choose("q", Max(), *groups, epsilon=0, claimed_sensitivity=9.0)]
        found.append([(int(one.column[0]), str(one.point[0])) for one in chosen])
        number = offered(nodes, EVERY & [True, False, False, False])
        point = nodes.choose("q", Max(), *number, epsilon=0).point[0]
        assert -1 <= point == np.floor(point) < GRID
        assert table.ledger.epsilon_bound == 0
    assert found[0] == found[1]


def test_the_selection_bound_is_what_the_ledger_records():
    for score, claimed, relation in product((Max(), Gini(), InfoGain(), ConditionalEntropy()), (None, 0.25), RELATIONS):
        table, nodes, _ = roots(relation)
        foretold = nodes.selection_bound(score, Fraction(1, 7), claimed)
        nodes.choose("q", score, *offered(nodes), epsilon=Fraction(1, 7), claimed_sensitivity=claimed)
        (entry,) = table.ledger.entries
        assert entry.epsilon_bound == foretold > 0


def test_nodes_that_cannot_be_split_are_refused():
    table, nodes, _ = roots()
    with pytest.raises(ParameterError, match="no column"):
        nodes.choose("q", Max(), *offered(nodes, np.zeros(4, dtype=bool)), epsilon=1)
    assert not table.ledger.entries
    table, nodes, _ = roots(trees=3)
    # No place of a node weighs anything: nothing is released, and no node has another's answer.
    select = table._door.noise.select_grouped
    table._door.noise.select_grouped = lambda *choice: select(*choice)[1:]
    with pytest.raises(ParameterError, match="weight 0"):
        nodes.choose("q", Max(), *offered(nodes), epsilon=1)
    assert table.ledger.epsilon_bound == 3  # paid for, as answers would have been drawn


def test_purity_is_for_published_mode_and_unused_queries_are_charged():
    table, nodes, _ = roots()
    with pytest.raises(ParameterError, match="unprotected rows"):
        nodes.find_pure("because")
    assert not table.ledger.entries
    table, nodes, _ = roots(paper=True)
    assert not nodes.find_pure("because").any()
    assert nodes.select(np.array([], dtype=np.intp)).find_pure("because").shape == (0,)
    assert (table.ledger.epsilon_claimed, table.ledger.epsilon_bound) == (0, math.inf)
    assert last(table).reason == "because"
    third, fourth = Fraction(1, 3), Fraction(1, 4)
    for (table, nodes, _), bound in ((roots(), fourth), (roots(REPLACE, plainly_claimed=True), 2 * fourth)):
        nodes.charge_unused("lower levels", third, fourth)
        assert (table.ledger.totals.claimed_loss, table.ledger.totals.bound) == (third, bound)
        assert (last(table).draws, last(table).mechanism, last(table).name) == (0, "none", "lower levels")


def test_what_trees_spend_costs_exactly_epsilon_and_more_for_bootstrap_samples():
    epsilon = Fraction(7, 3)
    for trees, resample, relation in product((1, 7), ("disjoint", "poisson", "full"), RELATIONS):
        table, nodes, budget = roots(relation, trees=trees, epsilon=epsilon, resample=resample, rate=0.3, cap=epsilon)
        assert nodes.size == trees
        nodes.counts("n", epsilon=budget)
        assert table.ledger.totals.bound == table.ledger.totals.claimed_loss == epsilon, (trees, resample, relation)
        with pytest.raises(BudgetError):
            nodes.counts("n", epsilon=Fraction(1, 10**15))
    # Bootstrap samples are bounded by what several copies cost.
    for (relation, moved), plainly in product(RELATIONS.items(), (True, False)):
        table, nodes, budget = roots(relation, trees=4, resample="bootstrap", plainly_claimed=plainly)
        assert budget == Fraction(1, 4) / (1 if plainly else moved)
        nodes.counts("n", epsilon=budget)
        assert table.ledger.totals.claimed_loss == 1
        inside = moved * Fraction(1, 4) if plainly else Fraction(1, 4)
        assert table.ledger.totals.bound == 4 * bootstrap_loss(inside, Relation.parse(relation), len(TREES))


def test_trees_have_the_rows_of_their_samples():
    held, codes = {}, np.tile(TREES, (500, 1))
    for resample in ("disjoint", "poisson", "full", "bootstrap"):
        _, nodes, _ = roots(noise=make_noise("laplace", 3), codes=codes, trees=5, resample=resample, rate=0.3)
        held[resample] = [rows_in(nodes._rows, tree) for tree in range(5)]
    assert sorted(np.concatenate(held["disjoint"])) == list(range(3000))
    for disjoint, poisson, full, bootstrap in zip(*held.values(), strict=True):
        assert abs(len(disjoint) - 600) < 5 * math.sqrt(480)
        assert abs(len(poisson) - 900) < 5 * math.sqrt(630)
        assert (np.diff(poisson) > 0).all()
        assert full.tolist() == list(range(3000))
        assert len(bootstrap) == 3000
        assert abs(len(np.unique(bootstrap)) - 3000 * (1 - math.exp(-1))) < 150
    for resample in ("poisson", "bootstrap"):
        assert held[resample][0].tolist() != held[resample][1].tolist()


def test_the_sampling_rate_is_rounded_down():
    noise = make_noise("auto", None)
    noise.uniforms = lambda count: np.arange(count) / 2.0**53
    _, nodes, _ = roots(noise=noise, resample="poisson", rate=3.9 / 2**53)
    assert places(nodes._rows)[0].tolist() == [0, 1, 2]


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
    NUMBER: NumberSplit(REAL),
    CODES: CodeSplit(BINNED),
    ORDER: CodeSplit(ORDERED),
    GROUPS: Groups(TREE, Hierarchy.from_column(TREE)),
    VALUES: Groups(FLAT, flat_hierarchy(FLAT)),
    ONE: OneValue(MANY),
}


def records(n, rng, *, classes=CLASSES, missing=0.15):
    columns = [REAL, BINNED, ORDERED, TREE, FLAT, MANY]
    codes = np.stack([*(rng.integers(0, c.size, n) for c in columns), rng.integers(0, classes, n)], axis=1)
    ticks = STEP * rng.choice([0.0, LAST, 1.0, MIDDLE, MIDDLE, MIDDLE + 1, LAST - 1, float(rng.integers(0, LAST))], n)
    ticks[rng.random(n) < missing] = np.nan
    sizes = [*(c.size for c in columns), classes]
    return Records(HeldRows(codes.astype(np.uint8), sizes, {NUMBER: ticks}), ATTRIBUTES, TARGET, classes)


def random_rows(seed, *, most=60, missing=0.15):
    """Places in some trees' nodes: a record may be in a node twice, and some nodes are empty."""
    rng, size, samples = np.random.default_rng(seed), 7, 1 + seed % 3
    n = int(rng.integers(0, most))
    node = rng.choice([*rng.choice(size, size - 2, replace=False), NOWHERE], (samples, n)).astype(np.int8)
    times = rng.integers(0, 3, node.shape, np.uint8) if samples > 1 else None
    return NodeRows(records(n, rng, missing=missing), node, times, identity_numbers(size), size), rng


def places(rows):
    """The rows at all places, and the nodes that they are in."""
    times = np.ones(rows.node.size, int) if rows.times is None else rows.times.ravel()
    node = np.repeat(rows.number[rows.node].ravel(), times)
    row = np.repeat(np.tile(np.arange(len(rows.records.rows)), len(rows.node)), times)
    return row[node != NOWHERE], node[node != NOWHERE]


def rows_in(rows, node):
    row, nodes = places(rows)
    return row[nodes == node]


RANGES = {NUMBER: (START, END), CODES: (0.0, 6.0), ORDER: (0.0, 3.0), ONE: (0.0, 7.0), GROUPS: (0.0, 0.0)}
RANGES[VALUES] = RANGES[GROUPS]
GIVEN = {NUMBER: [START, 0.0, QUARTER, QUARTER + 1, QUARTER + STEP, GRID - 1], CODES: [0.0, 2.0, 3.0, 5.0]}


def child(known, position, row, cut, index=0):
    if position == NUMBER:
        return int(not known.rows.numbers(NUMBER)[row] <= cut)  # missing goes right
    code = known.rows.codes[row, position]
    if position in (GROUPS, VALUES):
        return ATTRIBUTES[position].child_of[int(index)][code]
    return int(code != cut if position == ONE else not code < cut)


def counted(rows, node, group, groups=2):
    """Groups x classes of one node, record by record; `group(row)` is the record's."""
    table = np.zeros((groups, rows.records.classes), dtype=int)
    for row in rows_in(rows, node).tolist():
        table[group(row), rows.records.rows.codes[row, TARGET]] += 1
    return table


def halves(rows, node, position, cut, index=0, groups=2):
    return counted(rows, node, lambda row: child(rows.records, position, row, cut, index), groups)


def whole(rows, position):
    return list(rows.candidates(position, np.arange(rows.size), *np.tile(RANGES[position], (rows.size, 1)).T))


def places_of(rows, rng):
    """Places of a taxonomy that all records of a node fit to."""
    inner = [index for index, found in enumerate(ATTRIBUTES[GROUPS].children) if len(found) >= 2]
    found, (row, node) = rng.choice(inner, rows.size).astype(float), places(rows)
    outside = ATTRIBUTES[GROUPS].child_of[found[node].astype(int), rows.records.rows.codes[row, GROUPS]] < 0
    found[node[outside]] = 0.0
    return found


def test_classes_and_tables(seeds):
    for seed in seeds(12):
        rows, rng = random_rows(seed)
        for node in range(rows.size):
            np.testing.assert_array_equal(rows.classes[node], counted(rows, node, lambda _: 0, 1)[0])
        some = np.sort(rng.choice(rows.size, 4, replace=False))
        for (position, column), nodes in product(((CODES, BINNED), (GROUPS, TREE)), (np.arange(rows.size), some)):
            codes, table = rows.records.rows.codes[:, position], rows.tables(position, nodes)
            expected = [counted(rows, node, codes.__getitem__, column.size) for node in nodes.tolist()]
            np.testing.assert_array_equal(table, expected)
            np.testing.assert_array_equal(rows.tables(position, nodes, by_class=False), table.sum(axis=2))


@pytest.mark.parametrize("known_first", [False, True])
def test_selected_nodes_keep_their_counts_in_any_order(known_first, seeds):
    for seed in seeds(12):
        rows, rng = random_rows(seed)
        keep = rng.permutation(rows.size)[:4]
        if known_first:
            assert rows.classes.sum() == len(places(rows)[0])
        part = rows.select(keep)
        np.testing.assert_array_equal(part.classes, rows.classes[keep])
        for i, node in enumerate(keep.tolist()):
            assert sorted(rows_in(part, i)) == sorted(rows_in(rows, node))
        np.testing.assert_array_equal(part.select(np.array([3, 1])).classes, rows.classes[keep[[3, 1]]])
        assert rows.select(np.empty(0, dtype=np.intp)).classes.shape == (0, CLASSES)


def test_candidates_are_counted_as_record_by_record(seeds, monkeypatch):
    """Candidates cover each node's range once; all ticks of an interval split as its table says.

    Also for nodes without rows, for missing numbers only, and for both ways of counting.
    """
    for seed, position, how in product(seeds(12), ATTRIBUTES, ({}, {"most": 1}, {"missing": 1.0})):
        rows, rng = random_rows(seed, **how)
        monkeypatch.setattr(exact_node_counts, "CELL", 99 * (seed % 2))
        some = np.sort(rng.choice(rows.size, 5, replace=False))
        starts = places_of(rows, rng)[some] if position == GROUPS else np.full(5, RANGES[position][0])
        seen = []
        for points in rows.candidates(position, some, starts, np.full(5, RANGES[position][1])):
            for i, node in enumerate(points.nodes.tolist()):
                low, high, index = points.low[i], points.high[i], starts[some == node][0]
                seen.append((node, low, high))
                # Of an interval its lower end is a cut, and its upper one is not; in front nothing goes left.
                for at in {low, np.floor((low + high) / 2), high - 1} if high > low else {low} - {END}:
                    expected = halves(rows, node, position, at, index, len(points.tables))
                    np.testing.assert_array_equal(points.tables[:, :, i], expected, str((seed, position, node, at)))
        if position in GIVEN:  # cuts that were chosen before
            point = rng.choice(GIVEN[position], 5)
            (points,) = rows.candidates(position, some, np.full(5, START), starts, point)
            expected = [halves(rows, node, position, at) for node, at in zip(some.tolist(), point, strict=True)]
            np.testing.assert_array_equal(np.moveaxis(points.tables, -1, 0), expected)
        wanted = []
        for node in some.tolist():
            ticks = rows.records.rows.numbers(NUMBER)[rows_in(rows, node)]
            distinct = np.unique(ticks[~np.isnan(ticks)])
            ends = {
                NUMBER: list(zip([START, *distinct], [*distinct, END], strict=True)),
                CODES: [(at, at) for at in range(1, 6)],
                ORDER: [(at, at) for at in range(1, 3)],
                ONE: [(at, at) for at in range(7)],
            }.get(position, [(np.nan, np.nan)])
            wanted += [(node, *each) for each in ends]
        np.testing.assert_array_equal(np.array(sorted(seen)), np.array(wanted, dtype=float))


def test_candidates_stay_in_the_range_of_their_node():
    known = records(4, np.random.default_rng(0))
    known.rows._numbers[NUMBER][:], known.rows.codes[:, CODES] = STEP * np.array([25, 30, np.nan, 70]), [2, 3, 4, 1]
    rows = NodeRows(known, np.array([[0, 0, 0, 1]], np.int8), None, identity_numbers(3), 3)
    (points,) = rows.candidates(NUMBER, np.arange(3), *(STEP * np.array([[24.0, 60, 10], [40, 70, 20]])))
    assert points.nodes.tolist() == [0, 0, 0, 1, 1, 2]
    assert (points.low / STEP).tolist() == [24, 25, 30, 60, 70, 10]
    assert (points.high / STEP).tolist() == [25, 30, 40, 70, 70, 20]
    assert points.tables.sum(axis=1)[0].tolist() == [0, 1, 2, 0, 1, 0]  # missing goes right
    (points,) = rows.candidates(CODES, np.arange(3), np.array([2.0, 0.0, 1.0]), np.array([5.0, 2.0, 2.0]))
    assert (points.nodes.tolist(), points.low.tolist()) == ([0, 0, 1], [3.0, 4.0, 1.0])
    assert points.tables.sum(axis=1).tolist() == [[1, 2, 0], [2, 1, 1]]


def test_two_numbers_by_hand():
    """Range [0, 10], records (2, c0) and (5, c1), Max, factor ln 2: (4, 12, 10) / 26, up to steps."""
    known = records(2, np.random.default_rng(0), classes=2)
    known.rows._numbers[NUMBER][:] = NumberSplit(REAL, by_length=True).steps(np.array([2.0, 5.0]))
    assert known.rows.numbers(NUMBER).tolist() == [52_429 * STEP, 2**31]  # .2 and .5 of 2^18 steps, rounded up
    known.rows.codes[:, TARGET] = [0, 1]
    (points,) = whole(NodeRows(known, np.zeros((1, 2), np.int8), None, identity_numbers(1), 1), NUMBER)
    values = Max().score_tables(points.tables, Relation.ADD_REMOVE)
    assert values.tolist() == [1, 2, 1]
    weights = (points.high - points.low) * 2.0**values
    assert weights.tolist() == [(52_429 * STEP + 1) * 2, (2**31 - 52_429 * STEP) * 4, 2**31 * 2]
    np.testing.assert_allclose(weights / weights.sum(), np.array([4, 12, 10]) / 26, rtol=0, atol=STEP / GRID)


def test_the_next_level_has_every_row_once(seeds):
    """Each child's counts are the table of the chosen candidate."""
    for seed in seeds(12):
        rows, rng = random_rows(seed)
        column = rng.choice(list(ATTRIBUTES), rows.size)
        low, high = np.array([RANGES[position] for position in column.tolist()]).T
        point, tables = np.full(rows.size, np.nan), []
        for node in range(rows.size):
            (points,) = rows.candidates(int(column[node]), np.array([node]), low[[node]], high[[node]])
            pick = int(rng.choice(np.flatnonzero((points.high > points.low) | (column[node] != NUMBER))))
            point[node] = points.low[pick]
            if column[node] == NUMBER:
                point[node] = rng.integers(int(points.low[pick]), int(points.high[pick]))
            tables.append(points.tables[:, :, pick])
        fan = np.array([len(table) for table in tables])
        below = rows.split_nodes(column, point, low, np.cumsum(fan) - fan, int(fan.sum()))
        np.testing.assert_array_equal(below.classes, np.concatenate(tables))
        row, node = places(below)
        above = zip(row, np.repeat(np.arange(rows.size), fan)[node], strict=True)
        assert sorted(above) == sorted(zip(*places(rows), strict=True))
        np.testing.assert_array_equal(below.select(np.arange(1, below.size)).classes, np.concatenate(tables)[1:])


@pytest.mark.parametrize("values", [1_000, 2**31 - 1])
def test_keys_of_nodes_and_values_do_not_collide(values):
    """With two nodes and classes, the larger number of values takes more than 32 bits."""
    keys = np.array([4 * values - 1, 1, 4 * values - 1, 2 * values, 0])
    pile = KeyCounts(4 * values, len(keys))
    pile.add(keys.astype(pile.kind))
    pile.end()
    found, times = pile.counts_between(1, 4 * values)
    assert (found.tolist(), times.tolist()) == ([0, 2 * values - 1, 4 * values - 2], [1, 1, 2])
