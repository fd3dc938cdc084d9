"""How private trees choose divisions: the exponential mechanism over groups, codes and all places of a range.

Probabilities are computed by hand from few records. All draws are seeded, or come from the tests' names, so these tests
either always pass or always fail. False-alarm rate: were the seeds drawn afresh, each test of fit would fail for right
code about once in 10,000 (exactly sampled draws: once in a million).
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tables import SMALL, make_frame
from variants import GIVEN, alike, fitted, fitted_state

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, STEP, CodeCut, Groups, NumberCut, OneValue, flat
from dpcore.door import PrivateTable, nodes
from dpcore.mechanisms.noise import NoNoise, make_noise
from dpcore.mechanisms.scores import Gini, Max
from dpcore.methods import METHODS
from dpcore.methods.trees.plan import Exponential
from dpcore.rows import HeldRows

ALARM, RARE, DRAWS = 1e-4, 1e-6, 60_000
SCHEMA = Schema(
    columns=(
        Column(name="real", kind="continuous", lower=0, upper=10, bins=(4.0,)),
        Column(name="binned", kind="integer", lower=0, upper=3, bins=4),
        Column(name="letter", kind="categorical", categories=("a", "b", "c")),
        Column(name="one", kind="categorical", categories=("k", "l", "m")),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=50,
)
COLUMNS = SCHEMA.columns
NUMBERS = np.array([2.0, 5.0, 5.0, 9.5, 0.0])
CODES = np.array([[0, 0, 0, 1, 0], [1, 1, 1, 1, 1], [1, 2, 1, 2, 1], [1, 3, 2, 0, 1], [0, 0, 2, 0, 0]], dtype=np.uint8)
ENDS = np.array([0.0, 2.0, 5.0, 9.5, 10.0])
LOWEST, HIGHEST = -1.0, float(GRID)


def on_steps(ticks):
    """Moved up; what lies in front of all numbers stays there."""
    return np.where(ticks < 0, ticks, np.ceil(ticks / STEP) * STEP)


ATTRIBUTES = {
    0: NumberCut(COLUMNS[0], by_length=False),
    1: CodeCut(COLUMNS[1]),
    2: Groups(COLUMNS[2], flat(COLUMNS[2])),
    3: OneValue(COLUMNS[3]),
}


def nodes_of(draws, *, seed=0, codes=CODES, ticks=None):
    """As many roots that hold all rows: each makes one choice."""
    rows = HeldRows(codes, SCHEMA.sizes, {0: on_steps(shares(NUMBERS) * GRID) if ticks is None else ticks})
    table = PrivateTable(rows, SCHEMA, Ledger("add_remove"), make_noise("laplace", seed))
    return table.trees("y", ATTRIBUTES, trees=draws, epsilon=1, resample="full")[0]


def asked(draws, *columns):
    whole = np.isin(np.arange(5), columns), [LOWEST, 0, 0, 0, 0], [HIGHEST, 4, 0, 3, 0]
    return tuple(np.tile(each, (draws, 1)) for each in whole)


def split(sides, score):
    """The score of a division by hand: the side of each of the rows."""
    classes, sides = CODES[:, 4], np.asarray(sides)
    tables = [np.bincount(classes[sides == side], minlength=2) for side in np.unique(sides)]
    if isinstance(score, Max):
        return sum(int(table.max()) for table in tables)
    return sum((table**2).sum() / table.sum() - table.sum() for table in tables)


def real_scores(score):
    return np.array([split(low < NUMBERS, score) for low in ENDS[:-1]])


def shares(numbers):
    """Shares of the range up to some numbers: the lower 4 and the upper 6 are alike."""
    return np.where(numbers < 4, numbers / 8, 0.5 + (numbers - 4) / 12)


MEASURES = np.diff(shares(ENDS))  # of the range between values
TICKS = on_steps(shares(ENDS) * GRID)  # of the values, which begin what is cut right behind them


def expected(score, factor, measures=MEASURES):
    """Places: 4 intervals, 3 cuts of codes, the letters, 3 single values; every column weighs 1 beforehand."""
    values = [*real_scores(score), *(split(CODES[:, 1] >= cut, score) for cut in (1, 2, 3))]
    values += [split(CODES[:, 2], score), *(split(CODES[:, 3] != code, score) for code in range(3))]
    weights = np.concatenate([measures, [1 / 3] * 3, [1.0], [1 / 3] * 3])
    chances = weights * np.exp(factor * np.array(values))
    return chances / chances.sum()


def observed(division):
    """Counts of the same places. The one tick in front of the lowest value, of 4 billion, does not come."""
    column, cut = division.column, division.cut
    place = np.searchsorted(TICKS, cut[column == 0], side="right") - 1
    found = np.bincount(place, minlength=4).tolist()
    found += [int(((column == 1) & (cut == at)).sum()) for at in (1, 2, 3)]
    found += [int(((column == 2) & np.isnan(cut)).sum())]
    found += [int(((column == 3) & (cut == code)).sum()) for code in range(3)]
    assert sum(found) == len(column)
    return np.array(found)


def uniform_inside(cut):
    """p-values of the cuts of each interval against whole numbers of it that are all alike."""
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
def test_columns_and_cuts_at_once(score, epsilon, factor):
    division = nodes_of(DRAWS).choose("q", score, *asked(DRAWS, 0, 1, 2, 3), epsilon=epsilon)
    chances, counts = expected(score, factor), observed(division)
    assert stats.chisquare(counts, DRAWS * chances).pvalue > ALARM
    cut = division.cut[division.column == 0]
    assert 0 <= cut.min() <= cut.max() < GRID
    found = uniform_inside(cut)
    assert len(found) == 8
    assert min(found) > ALARM
    # Enough draws to tell them from other measures and exponents.
    assert stats.chisquare(counts, DRAWS * expected(score, factor, np.diff(ENDS / 10))).pvalue < ALARM
    assert stats.chisquare(counts, DRAWS * expected(score, factor + 0.1)).pvalue < ALARM


def test_nodes_with_no_records_choose_by_the_base_measure():
    nodes = nodes_of(DRAWS, codes=CODES[:0], ticks=np.zeros(0), seed=5)
    division = nodes.choose("q", Gini(), *asked(DRAWS, 0, 1, 2, 3), epsilon=9)
    counts = np.bincount(division.column, minlength=4)
    assert stats.chisquare(counts[:4]).pvalue > ALARM
    assert min(even_ticks(division.cut[division.column == 0], LOWEST, HIGHEST)) > ALARM


@pytest.mark.parametrize(
    ("rows", "ticks", "edges", "weights"),
    [
        ([0, 1], [0.2 * GRID, 0.5 * GRID], [LOWEST, 0.2 * GRID, 0.5 * GRID, HIGHEST], [4, 12, 10]),
        ([1, 2], [0.55 * GRID, 0.7 * GRID], [0.5 * GRID, 0.8 * GRID], [1]),  # of one class: all places are alike
        ([0, 1], [11 * STEP, 13 * STEP], range(10 * STEP, 17 * STEP, STEP), [1, 2, 2, 1, 1, 1]),  # 11 or 12 parts them
    ],
)
def test_a_number_is_cut_inside_the_range_of_its_node(rows, ticks, edges, weights):
    """Max, factor ln 2: a place weighs its ticks, and twice as much where it sets two classes apart."""
    edges = on_steps(np.array(edges, dtype=float))
    columns, low, high = asked(DRAWS, 0)
    low[:, 0], high[:, 0] = edges[0], edges[-1]
    nodes = nodes_of(DRAWS, codes=CODES[rows], ticks=on_steps(np.array(ticks)))
    cut = nodes.choose("q", Max(), columns, low, high, epsilon=math.log(2)).cut
    counts = np.histogram(cut, edges - 0.5)[0]
    assert counts.sum() == DRAWS
    assert weights == [1] or stats.chisquare(counts, DRAWS * np.array(weights) / sum(weights)).pvalue > ALARM
    for first, last in pairwise(edges.tolist()):
        inside = cut[(cut >= first) & (cut < last)]
        assert last - first == 1 or min(even_ticks(inside, first, last)) > ALARM


def test_cuts_first_and_then_the_column():
    """Half of epsilon each for the cut and for the column, which competes with its chosen cut."""
    score, chooser = Gini(), Exponential(score=Gini(), selection="two_stage")
    nodes, real, (columns, low, high) = nodes_of(DRAWS, seed=7), np.arange(5) == 0, asked(DRAWS, 0, 2)
    division = chooser.choose("q", nodes, columns, real, low, high, 3.0)
    factor = 1.5 / 2
    first = MEASURES * np.exp(factor * real_scores(score))
    first /= first.sum()
    number, letters = np.exp(factor * real_scores(score)), np.exp(factor * split(CODES[:, 2], score))
    chances = np.append(first * number / (number + letters), (first * letters / (number + letters)).sum())
    counts = observed(division)
    assert stats.chisquare(counts[[0, 1, 2, 3, 7]], DRAWS * chances).pvalue > ALARM
    assert min(uniform_inside(division.cut[division.column == 0])) > ALARM


def test_two_numbers_are_cut_one_after_the_other():
    """A third of epsilon for each of three choices."""
    chooser = Exponential(score=Max(), selection="two_stage")
    nodes, real, (columns, low, high) = nodes_of(DRAWS, seed=8), np.arange(5) < 2, asked(DRAWS, 0, 1, 2)
    division = chooser.choose("q", nodes, columns, real, low, high, 2.4)
    values = [real_scores(Max()), np.array([split(CODES[:, 1] >= cut, Max()) for cut in (1, 2, 3)])]
    firsts = [weights * np.exp(0.8 * v) for weights, v in zip((MEASURES, np.ones(3)), values, strict=True)]
    joint = np.outer(*(first / first.sum() for first in firsts))
    exps = [np.exp(0.8 * v) for v in values]
    letters = np.exp(0.8 * split(CODES[:, 2], Max()))
    total = exps[0][:, None] + exps[1] + letters
    chances = [*(joint * exps[0][:, None] / total).sum(axis=1), *(joint * exps[1] / total).sum(axis=0)]
    chances.append((joint * letters / total).sum())
    assert stats.chisquare(observed(division)[:8], DRAWS * np.array(chances)).pvalue > ALARM


def test_points_between_and_lots():
    source = make_noise("laplace", 9)
    drawn = source.between(np.full(DRAWS, -2.0), np.full(DRAWS, 6.0))
    assert stats.chisquare(np.bincount(drawn.astype(int) + 2, minlength=8)).pvalue > ALARM
    assert min(even_ticks(source.between(np.full(DRAWS, LOWEST), np.full(DRAWS, HIGHEST)), LOWEST, HIGHEST)) > ALARM
    low, high = np.array([-1.0, -1, 3, 7, GRID - 1]), np.array([0.0, GRID, 5, 8, GRID])
    for other in (source, source.noiseless(), NoNoise()):
        found = other.between(low, high)
        assert (found == np.floor(found)).all()
        assert ((low <= found) & (found < high)).all()
    for lots in (source.lots(DRAWS), make_noise("auto", None).lots(DRAWS)):
        assert stats.kstest(lots, "uniform").pvalue > RARE
        assert 0 <= lots.min() <= lots.max() < 1


def test_nodes_that_choose_in_lots_choose_what_they_would_all_together(monkeypatch):
    together, frame = fitted("DiffPRFs"), make_frame(600, 1)
    monkeypatch.setattr(nodes, "LOT", 40)
    parts = METHODS["DiffPRFs"](**GIVEN).fit(frame, schema=SMALL)
    assert alike(fitted_state(together), fitted_state(parts))
