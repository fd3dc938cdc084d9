"""Choices of splits in private trees, and the loss of whole trees.

Every path from a root to a leaf spends the budget, and papers claim their shares of epsilon. Probabilities are computed
by hand from few records. All draws are seeded, or come from the tests' names, so these tests always pass or always
fail. False-alarm rate: with fresh seeds, each test of fit would fail for right code about once in 10,000 (exactly
sampled draws: once in a million)."""

import math
import weakref
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tables import FOREST, SMALL, make_frame
from variants import GIVEN, alike, fitted, fitted_state

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.splits import GRID, STEP, CodeSplit, Groups, NumberSplit, OneValue, flat_hierarchy
from dpcore.door import PrivateTable, exact_node_counts
from dpcore.door.exact_node_counts import NodeRows
from dpcore.mechanisms.noise import NoNoise, make_noise
from dpcore.mechanisms.scores import Gini, InfoGain, Max
from dpcore.methods import METHODS, PINQID3, DiffGenTree, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, DTDiff, SuLQID3
from dpcore.methods.trees.grow import ExponentialChooser, draw_columns, nodes_to_split
from dpcore.rows import HeldRows

MOVED = {Relation.ADD_REMOVE: 1, Relation.REPLACE: 2}  # the nodes of a level that one person changes
CORRECTED = [
    (DiffPRFs, {"n_trees": 3, "resample": "disjoint", "split_selection": "two_stage", "count_share": 0.3}),
    (DiffPRFs, {"n_trees": 3, "resample": "poisson", "rate": 0.3, "count_share": 0.5, "leaf_share": 0.2}),
    (DiffPRFs, {"n_trees": 3, "resample": "full", "count_share": 0.0, "cuts": "bins"}),
    (DiffPRF, {"n_trees": 2, "resample": "disjoint"}),
    (SuLQID3, {}),
    (PINQID3, {}),
    (DiffPC45, {"prune": False, "cuts": "bins"}),
]


def fit(method, frame, schema, **parameters):
    return method(**{"epsilon": 1.0, "random_state": 1, **parameters}).fit(frame, schema=schema)


def test_every_way_to_a_leaf_costs_the_whole_budget(small_frame, small_schema, monkeypatch):
    """Leaves on several levels: the noise is small enough for trees to grow, and large enough for some to stop."""
    budgets, epsilon, trees = [], 7.3, PrivateTable.trees

    def watched(self, *args, **how):
        budgets.append(trees(self, *args, **how))
        return budgets[-1]

    monkeypatch.setattr(PrivateTable, "trees", watched)
    for (method, how), (relation, moved) in product(CORRECTED, MOVED.items()):
        model = fit(method, small_frame, small_schema, relation=str(relation), epsilon=epsilon, max_depth=3, **how)
        forest, (_, budget), text = model.forest_, budgets[-1], (method, how, relation)
        np.testing.assert_allclose(forest.spent[forest.leaf], float(budget), rtol=1e-12)
        inner, below = np.flatnonzero(~forest.leaf), forest.parent >= 0
        assert len(inner), text
        assert (forest.spent[inner] < float(budget)).all(), text
        assert (forest.spent[below] >= forest.spent[forest.parent[below]]).all(), text
        many = 1 if how.get("resample") == "disjoint" else how.get("n_trees", 1)
        assert budget == Fraction(epsilon) / many / moved or how.get("resample") == "poisson", text


LEVELS = 3
ID3 = (8, 3)  # in how many parts a tree divides its epsilon: all of them, and those for choices on all levels
C45 = ((2 + 2) * LEVELS + 2, (2 + 1) * LEVELS)  # with two numbers
PRINTED = [
    *((method, {}, 1, ID3, False) for method in (SuLQID3, PINQID3)),  # trees, parts, and whether the score only rises
    *((DiffPID3, {"criterion": name}, 1, ID3, name != "InfoGain") for name in ("Max", "InfoGain")),
    (DiffPC45, {"prune": False, "cuts": "bins"}, 1, C45, True),
    (DiffPRF, {"n_trees": 2, "criterion": "InfoGain"}, 2, ID3, False),
]


@pytest.mark.parametrize(("method", "how", "trees", "shares", "rises"), PRINTED)
def test_paper_modes_bound_is_that_of_the_mechanism(method, how, trees, shares, rises, small_frame, small_schema):
    """The same whether trees stop at the root or reach the last level, and whichever rows stop them.

    exp(e q / (2 D)) costs half of e if the score only rises, and e if it does not. Under replace a row leaves one node
    and comes to another. A bootstrap sample costs what `amplification` says.
    """
    parts, choices = shares
    for unit, (relation, moved) in zip((1.9, 2.0), MOVED.items(), strict=True):
        epsilon, reached = unit * parts * trees, set()
        each = Fraction(epsilon) / trees * moved
        tree = each - choices * each / parts / 2 if rises else each
        for rows in (0, 60, 600):
            paper = {"mode": "published", "relation": str(relation), "epsilon": epsilon, "max_depth": LEVELS, **how}
            model = fit(method, small_frame.iloc[:rows], small_schema, **paper)
            expected = trees * bootstrap_loss(tree, relation, rows) if method is DiffPRF else tree
            found = model.ledger_.totals.nominal
            assert float(found) == pytest.approx(float(expected), rel=1e-12)
            assert found == expected or unit != 2.0 or method is DiffPRF
            depth = int(model.forest_.level.max())
            assert len(entries_of(model, "levels that no tree reached")) == (depth < LEVELS)
            reached.add(depth)
        assert reached >= ({LEVELS} if method is DiffPRF else {0, LEVELS})  # DiffPRF has no rule to stop


@pytest.mark.parametrize("mode", ["published", "corrected"])
@pytest.mark.parametrize("method", [DiffPID3, SuLQID3, PINQID3, DiffPRF, DiffPC45])
def test_a_single_record_is_split_in_published_mode_only(method, mode, small_frame, small_schema):
    own = {DiffPRF: {"n_trees": 1}, DiffPC45: {"prune": False}}.get(method, {})
    how = {"mode": mode, "max_depth": 1, "epsilon": 1e6, "random_state": 2, **own}
    assert (len(fit(method, small_frame.iloc[:1], small_schema, **how).forest_.tree) > 1) == (mode == "published")


def test_with_node_counts_two_records_are_split(small_frame, small_schema):
    how = {"n_trees": 1, "count_share": 0.4, "max_depth": 1, "epsilon": 1e6, "random_state": 2}
    sizes = [len(fit(DiffPRFs, small_frame.iloc[:rows], small_schema, **how).forest_.tree) for rows in (1, 2)]
    assert sizes[0] == 1 < sizes[1]


def test_the_largest_or_random_nodes_are_split_if_there_are_too_many(monkeypatch):
    """Without counts the first nodes must not be preferred: they would be those of the first trees."""
    monkeypatch.setattr("dpcore.methods.trees.grow.MOST_NODES", 10)
    rng, draws = np.random.default_rng(1), 1_000
    fans, noisy = np.array([4, 0, 4, 4, 4]), np.array([5.0, 99.0, 7.0, -3.0, 6.0])
    assert nodes_to_split(fans, noisy, rng).tolist() == [False, True, True, False, True]
    assert nodes_to_split(fans[:2], noisy[:2], rng).all()
    goes_on = np.array([nodes_to_split(np.full(20, 3), np.full(20, np.nan), rng) for _ in range(draws)])
    assert (goes_on.sum(axis=1) == 3).all()
    assert np.abs(goes_on.mean(axis=0) - 3 / 20).max() < 4.5 * math.sqrt(3 / 20 * 17 / 20 / draws)


def test_a_node_draws_the_square_root_of_the_columns_among_those_that_split_it(small_schema):
    assert DiffPRFs(mode="published")._columns_per_node(small_schema) == math.isqrt(len(small_schema) - 1)
    found = draw_columns(np.tile([True, False, True, True], (3_000, 1)), 2, np.random.default_rng(1)).sum(axis=0)
    assert (found[1], found.sum(), stats.chisquare(found[[0, 2, 3]]).pvalue > 1e-4) == (0, 6_000, True)


def entries_of(model, part):
    return [entry for entry in model.ledger_.entries if part in entry.name]


# Per part of a ledger what an entry claims, as the papers say by hand. SuLQ, PINQ: e = B / (2 (d + 1)), and at the
# root e / (|A| m_A (1 + |C|)) for each count of SuLQ. C4.5: e = B / ((2 + n_c) d + 2) with n_c = 2, per level a count,
# two cuts, a column; two at the leaves. DiffPRFs, with B = 1, t = 25, d = 5: 1/300 per question; 1/900 for each of
# three if two numbers are cut first, and 1/600 for each of two.
SIZES = {"a.b[0]:Q": 4, "grade": 3, "age": 10, "height": 3}
ROOT = {f"level 0: division: {name}": (Fraction(1, 12), Fraction(1, 6)) for name in SIZES}
PINQ = {"level 0: division": (Fraction(1, 8),), "level 1: division": (Fraction(1, 6),)}  # three columns are left
UNITS = dict.fromkeys(("level 0: records", "cut 1 of 2", "cut 2 of 2", "the column", "classes in leaves"), (1,))
THIRD, HALF = Fraction(1, 900), Fraction(1, 600)
CUTS = {"a cut": (HALF,), "cut 1 of 2": (THIRD,), "cut 2 of 2": (THIRD,), "the column": (HALF, THIRD)}
COUNTS = dict.fromkeys(("records", "classes in leaves"), (Fraction(1, 300),))
BY_HAND = [
    (SuLQID3, {"epsilon": 8.0, "max_depth": 3}, {"level 0: records": (1,), **ROOT}),
    (PINQID3, {"epsilon": 8.0, "max_depth": 3}, PINQ),
    (DiffPC45, {"epsilon": 10.0, "max_depth": 2, "prune": False}, UNITS),
    (DiffPRFs, {"n_trees": 25, "max_depth": 5, "max_features": "sqrt", "criterion": "Max"}, {**CUTS, **COUNTS}),
]


def test_rows_of_earlier_levels_are_forgotten(small_frame, small_schema, monkeypatch):
    """They take as much memory as the level that grows; only the ledger is kept."""
    divide, alive = NodeRows.split_nodes, []

    def watched(self, *how):
        alive.append(weakref.ref(self))
        assert [each() is None for each in alive] == [True] * (len(alive) - 1) + [False]
        return divide(self, *how)

    monkeypatch.setattr(NodeRows, "split_nodes", watched)
    fit(DiffPRFs, small_frame, small_schema, max_depth=4, epsilon=50)
    assert len(alive) == 4


@pytest.mark.parametrize(("method", "how", "shares"), BY_HAND)
def test_the_papers_shares_by_hand(method, how, shares, small_frame, small_schema):
    model = fit(method, small_frame, small_schema, mode="published", **how)
    assert method is not DiffPRFs or "bootstrap" in model.ledger_.to_frame()["scope"].iloc[0]
    for part, expected in shares.items():
        found = entries_of(model, part)
        assert {entry.epsilon_claimed for entry in found} == set(expected), part
        for entry in found:
            of_each = float(entry.epsilon_claimed) / entry.draws
            # exp(e q / 2), which for a score that only rises costs half
            twice = 2 if entry.mechanism == "exponential" else 1
            assert entry.scale == pytest.approx(twice / of_each), part
            assert entry.epsilon_nominal == pytest.approx(entry.epsilon_claimed / twice), part
            if method is SuLQID3 and "division" in part:
                assert of_each == pytest.approx(1 / (4 * SIZES[part.rpartition(": ")[2]] * 3))


@pytest.mark.parametrize("method", [DiffPRFs, DiffPRF, DiffPID3, DiffPC45, DiffGenTree, DTDiff])
def test_sensitivity_of_the_papers_gain_is_lb_of_the_number_of_classes(method, small_frame, small_schema):
    """Section 3.2 derives lb m, 1 for two classes; that it prints ln |C| before is read as a slip of lb."""
    for target, moved in {"ill": 1.0, "grade": math.log2(3)}.items():
        how = {"mode": "published", "criterion": "InfoGain", "target": target, "epsilon": 50.0}
        entries = fit(method, small_frame, small_schema, **how).ledger_.to_frame().query("mechanism == 'exponential'")
        assert set(entries["sensitivity"]) == set(entries["claimed_sensitivity"]) == {moved}
        assert entries["epsilon_nominal"].equals(entries["epsilon_claimed"])


@pytest.mark.parametrize("method", [SuLQID3, PINQID3])
def test_without_noise_id3_splits_by_the_largest_gain(method, small_frame, small_schema):
    codes = pd.DataFrame(small_schema.encode(small_frame), columns=small_schema.names)
    tables = {j: pd.crosstab(codes[name], codes["ill"]).to_numpy() for j, name in enumerate(codes) if name != "ill"}
    gains = {j: InfoGain().score_table(table, Relation.ADD_REMOVE) for j, table in tables.items()}
    forest = fit(method, small_frame, small_schema, mode="published", epsilon=1e9, max_depth=1).forest_
    assert forest.column[0] == max(gains, key=gains.get)


@pytest.mark.parametrize("children", ["grouped", "values", "one_vs_rest"])
def test_paper_mode_reads_two_children_in_two_ways(children, small_frame, small_schema):
    how = {"mode": "published", "n_trees": 5, "max_depth": 2, "max_features": "all", "categorical_splits": children}
    forest = fit(DiffPRFs, small_frame, small_schema, **how).forest_
    assert set(forest.fanout[forest.column == small_schema.index("age")]) == {2}
    assert (forest.fanout.max() > 2) == (children != "one_vs_rest")


ALARM, RARE, DRAWS = 1e-4, 1e-6, 60_000
COLUMNS = (*FOREST.columns[:3], Column(name="one", kind="categorical", categories=("k", "l", "m")), FOREST["y"])
SCHEMA = replace(FOREST, columns=COLUMNS)
NUMBERS = np.array([2.0, 5.0, 5.0, 9.5, 0.0])
CODES = np.array([[0, 0, 0, 1, 0], [1, 1, 1, 1, 1], [1, 2, 1, 2, 1], [1, 3, 2, 0, 1], [0, 0, 2, 0, 0]], dtype=np.uint8)
ENDS = np.array([0.0, 2.0, 5.0, 9.5, 10.0])
LOWEST, HIGHEST = -1.0, float(GRID)


def on_steps(ticks):
    """Return ticks rounded up to steps; ticks below all numbers stay there."""
    return np.where(ticks < 0, ticks, np.ceil(ticks / STEP) * STEP)


KINDS = NumberSplit(COLUMNS[0], by_length=False), CodeSplit(COLUMNS[1]), Groups(COLUMNS[2], flat_hierarchy(COLUMNS[2]))
ATTRIBUTES = dict(enumerate([*KINDS, OneValue(COLUMNS[3])]))


def nodes_of(draws, *, seed=0, codes=CODES, ticks=None):
    """Return `draws` roots that hold all rows; each makes one choice."""
    rows = HeldRows(codes, SCHEMA.sizes, {0: on_steps(shares(NUMBERS) * GRID) if ticks is None else ticks})
    table = PrivateTable(rows, SCHEMA, Ledger("add_remove"), make_noise("laplace", seed))
    return table.trees("y", ATTRIBUTES, trees=draws, epsilon=1, resample="full")[0]


def offer(draws, *columns):
    whole = np.isin(np.arange(5), columns), [LOWEST, 0, 0, 0, 0], [HIGHEST, 4, 0, 3, 0]
    return tuple(np.tile(each, (draws, 1)) for each in whole)


def split(sides, score):
    """Return the score of a split by hand, from the side of each row."""
    classes, sides = CODES[:, 4], np.asarray(sides)
    tables = [np.bincount(classes[sides == side], minlength=2) for side in np.unique(sides)]
    if isinstance(score, Max):
        return sum(int(table.max()) for table in tables)
    return sum((table**2).sum() / table.sum() - table.sum() for table in tables)


def real_scores(score):
    return np.array([split(low < NUMBERS, score) for low in ENDS[:-1]])


def shares(numbers):
    """Return shares of the range up to some numbers: the lower 4 weigh as much as the upper 6."""
    return np.where(numbers < 4, numbers / 8, 0.5 + (numbers - 4) / 12)


MEASURES = np.diff(shares(ENDS))  # of the range between values
TICKS = on_steps(shares(ENDS) * GRID)  # of the values, which begin what is cut right behind them


def expected(score, factor, measures=MEASURES):
    """Candidates: 4 intervals, 3 split points of codes, the letters, 3 single values; each column weighs 1."""
    values = [*real_scores(score), *(split(CODES[:, 1] >= point, score) for point in (1, 2, 3))]
    values += [split(CODES[:, 2], score), *(split(CODES[:, 3] != code, score) for code in range(3))]
    weights = np.concatenate([measures, [1 / 3] * 3, [1.0], [1 / 3] * 3])
    chances = weights * np.exp(factor * np.array(values))
    return chances / chances.sum()


def observed(division):
    """Count the choices of the same candidates. The one tick below the lowest value, of 4 billion, does not come."""
    column, point = division.column, division.point
    index = np.searchsorted(TICKS, point[column == 0], side="right") - 1
    found = np.bincount(index, minlength=4).tolist()
    found += [int(((column == 1) & (point == at)).sum()) for at in (1, 2, 3)]
    found += [int(((column == 2) & np.isnan(point)).sum())]
    found += [int(((column == 3) & (point == code)).sum()) for code in range(3)]
    assert sum(found) == len(column)
    return np.array(found)


def uniform_inside(cut):
    """Return p-values of the split points in each interval against uniform whole numbers."""
    parts = [(cut[(cut >= low) & (cut < high)], low, high) for low, high in pairwise(TICKS.tolist())]
    return [p for inside, low, high in parts if len(inside) > 50 for p in even_ticks(inside, low, high)]


def even_ticks(cut, low, high):
    """p-values of some cuts against uniform ticks of [low, high): where in it they are, and their lowest bits.

    Ten thousand ticks are a continuum to 60,000 draws, and leave no remainder of 16 that would show.
    """
    assert (cut == np.floor(cut)).all()
    assert high - low > 1e4
    where = stats.kstest((cut - low + 0.5) / (high - low), "uniform").pvalue
    if len(cut) < 160:
        return [where]
    return [where, stats.chisquare(np.bincount(cut.astype(np.int64) % 16, minlength=16)).pvalue]


@pytest.mark.parametrize(("score", "epsilon", "factor"), [(Max(), math.log(2), math.log(2)), (Gini(), 1.5, 0.75)])
def test_columns_and_split_points_chosen_jointly(score, epsilon, factor):
    division = nodes_of(DRAWS).choose("q", score, *offer(DRAWS, 0, 1, 2, 3), epsilon=epsilon)
    chances, counts = expected(score, factor), observed(division)
    assert stats.chisquare(counts, DRAWS * chances).pvalue > ALARM
    point = division.point[division.column == 0]
    assert 0 <= point.min() <= point.max() < GRID
    found = uniform_inside(point)
    assert len(found) == 8
    assert min(found) > ALARM
    # Enough draws to distinguish other measures and exponents.
    assert stats.chisquare(counts, DRAWS * expected(score, factor, np.diff(ENDS / 10))).pvalue < ALARM
    assert stats.chisquare(counts, DRAWS * expected(score, factor + 0.1)).pvalue < ALARM


def test_nodes_with_no_records_choose_by_the_base_measure():
    nodes = nodes_of(DRAWS, codes=CODES[:0], ticks=np.zeros(0), seed=5)
    division = nodes.choose("q", Gini(), *offer(DRAWS, 0, 1, 2, 3), epsilon=9)
    counts = np.bincount(division.column, minlength=4)
    assert stats.chisquare(counts[:4]).pvalue > ALARM
    assert min(even_ticks(division.point[division.column == 0], LOWEST, HIGHEST)) > ALARM


@pytest.mark.parametrize(
    ("rows", "ticks", "edges", "weights"),
    [
        ([0, 1], [0.2 * GRID, 0.5 * GRID], [LOWEST, 0.2 * GRID, 0.5 * GRID, HIGHEST], [4, 12, 10]),
        ([1, 2], [0.55 * GRID, 0.7 * GRID], [0.5 * GRID, 0.8 * GRID], [1]),  # of one class: all points are alike
        ([0, 1], [11 * STEP, 13 * STEP], range(10 * STEP, 17 * STEP, STEP), [1, 2, 2, 1, 1, 1]),  # split at 11 or 12
    ],
)
def test_a_number_is_split_inside_the_range_of_its_node(rows, ticks, edges, weights):
    """Max, factor ln 2: an interval weighs its ticks, and twice as much if it separates two classes."""
    edges = on_steps(np.array(edges, dtype=float))
    columns, low, high = offer(DRAWS, 0)
    low[:, 0], high[:, 0] = edges[0], edges[-1]
    nodes = nodes_of(DRAWS, codes=CODES[rows], ticks=on_steps(np.array(ticks)))
    point = nodes.choose("q", Max(), columns, low, high, epsilon=math.log(2)).point
    counts = np.histogram(point, edges - 0.5)[0]
    assert counts.sum() == DRAWS
    assert weights == [1] or stats.chisquare(counts, DRAWS * np.array(weights) / sum(weights)).pvalue > ALARM
    for first, last in pairwise(edges.tolist()):
        inside = point[(point >= first) & (point < last)]
        assert last - first == 1 or min(even_ticks(inside, first, last)) > ALARM


def test_split_points_are_chosen_before_the_column():
    """Half of epsilon each for the split point and for the column, which competes with that point."""
    score, chooser = Gini(), ExponentialChooser(score=Gini(), selection="two_stage")
    nodes, real, (columns, low, high) = nodes_of(DRAWS, seed=7), np.arange(5) == 0, offer(DRAWS, 0, 2)
    division = chooser.choose("q", nodes, columns, real, low, high, 3.0)
    factor = 1.5 / 2
    first = MEASURES * np.exp(factor * real_scores(score))
    first /= first.sum()
    number, letters = np.exp(factor * real_scores(score)), np.exp(factor * split(CODES[:, 2], score))
    chances = np.append(first * number / (number + letters), (first * letters / (number + letters)).sum())
    counts = observed(division)
    assert stats.chisquare(counts[[0, 1, 2, 3, 7]], DRAWS * chances).pvalue > ALARM
    assert min(uniform_inside(division.point[division.column == 0])) > ALARM


def test_split_points_of_two_numbers_are_chosen_in_sequence():
    """A third of epsilon for each of three choices."""
    chooser = ExponentialChooser(score=Max(), selection="two_stage")
    nodes, real, (columns, low, high) = nodes_of(DRAWS, seed=8), np.arange(5) < 2, offer(DRAWS, 0, 1, 2)
    division = chooser.choose("q", nodes, columns, real, low, high, 2.4)
    values = [real_scores(Max()), np.array([split(CODES[:, 1] >= point, Max()) for point in (1, 2, 3)])]
    firsts = [weights * np.exp(0.8 * v) for weights, v in zip((MEASURES, np.ones(3)), values, strict=True)]
    joint = np.outer(*(first / first.sum() for first in firsts))
    exps = [np.exp(0.8 * v) for v in values]
    letters = np.exp(0.8 * split(CODES[:, 2], Max()))
    total = exps[0][:, None] + exps[1] + letters
    chances = [*(joint * exps[0][:, None] / total).sum(axis=1), *(joint * exps[1] / total).sum(axis=0)]
    chances.append((joint * letters / total).sum())
    assert stats.chisquare(observed(division)[:8], DRAWS * np.array(chances)).pvalue > ALARM


def test_random_points_of_intervals_and_uniform_draws():
    source = make_noise("laplace", 9)
    drawn = source.between(np.full(DRAWS, -2.0), np.full(DRAWS, 6.0))
    assert stats.chisquare(np.bincount(drawn.astype(int) + 2, minlength=8)).pvalue > ALARM
    assert min(even_ticks(source.between(np.full(DRAWS, LOWEST), np.full(DRAWS, HIGHEST)), LOWEST, HIGHEST)) > ALARM
    low, high = np.array([-1.0, -1, 3, 7, GRID - 1]), np.array([0.0, GRID, 5, 8, GRID])
    for other in (source, source.noiseless(), NoNoise()):
        found = other.between(low, high)
        assert (found == np.floor(found)).all()
        assert ((low <= found) & (found < high)).all()
    for rng in (source.uniforms(DRAWS), make_noise("auto", None).uniforms(DRAWS)):
        assert stats.kstest(rng, "uniform").pvalue > RARE
        assert 0 <= rng.min() <= rng.max() < 1


def test_nodes_choose_the_same_in_batches_and_all_at_once(monkeypatch):
    together, frame = fitted("DiffPRFs"), make_frame(600, 1)
    monkeypatch.setattr(exact_node_counts, "MOST_CANDIDATES", 40)
    parts = METHODS["DiffPRFs"](**GIVEN).fit(frame, schema=SMALL)
    assert alike(fitted_state(together), fitted_state(parts))
