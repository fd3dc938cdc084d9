"""What floating point adds to a score's changes, in exact rational arithmetic, and that it is paid for."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest

from dpcore.accounting.relation import Relation, exact
from dpcore.door import prices
from dpcore.door.prices import Claim
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.noise.opendp_noise import SPARE
from dpcore.mechanisms.scores import (
    ClassLogScore,
    ConditionalEntropy,
    DistanceFromMargins,
    Entropy,
    Gini,
    InfoGain,
    Jaccard,
    LinearF,
    Max,
    MutualInformation,
    R,
)

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
SCORES = [Entropy(), MutualInformation(), R(), LinearF(), Jaccard(), Max(), Gini(), ConditionalEntropy(), InfoGain()]
EVERY = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
BOTH = pytest.mark.parametrize("relation", [ADD, REPLACE])
SMALL = [np.array(cells).reshape(2, 2) for cells in product(range(5), repeat=4) if sum(cells) <= 4]


def neighbors(table, relation):
    """All tables in which one row is removed, or is another."""
    for cell in np.ndindex(table.shape):
        if table[cell]:
            less = table.copy()
            less[cell] -= 1
            if relation is ADD:
                yield less
            else:
                for other in np.ndindex(table.shape):
                    more = less.copy()
                    more[other] += 1
                    yield more


def moved(score, tables, other, relation):
    """Exact changes of computed scores from a table to another."""
    both = (score.of_many(np.stack(pair, axis=-1), relation) for pair in zip(tables, other, strict=True))
    return [Fraction(float(b)) - Fraction(float(a)) for a, b in both]


def allowed(score, shape, relation, rows):
    bounds = score.bounds([shape], relation, rows)
    return Fraction(bounds.sensitivity) + Fraction(bounds.rounding)


@EVERY
@BOTH
def test_no_computed_score_moves_further_than_sensitivity_and_rounding(score, relation):
    for n in range(1, 5):
        most = allowed(score, (2, 2), relation, n)
        for table in (table for table in SMALL if table.sum() == n):
            there = list(neighbors(table, relation))
            assert max(map(abs, moved(score, [table] * len(there), there, relation))) <= most


def large_neighbors(score, relation, n):
    """Tables at which scores are steep: nearly all rows in one cell, an even margin, or anything."""
    rng = np.random.default_rng(n)
    shape = (2, 2) if isinstance(score, LinearF | Jaccard) else (3, 4)
    for start in range(30):
        table = np.zeros(shape, dtype=np.int64)
        kind = start % 3
        if kind == 0:
            table[0, 0] = n
        elif kind == 1:
            table[0, 0], table[1, 1] = n // 2, n - n // 2
        else:
            table += rng.multinomial(n, rng.dirichlet(np.ones(table.size))).reshape(shape)
        yield from ((table, other) for other in neighbors(table, relation))


@EVERY
@BOTH
def test_nor_does_that_of_a_large_table(score, relation):
    exceeded = 0
    for n in (1_000, 123_457, 10_000_019):
        pairs = list(large_neighbors(score, relation, n))
        shape = pairs[0][0].shape
        found = moved(score, *zip(*pairs, strict=True), relation)
        assert max(map(abs, found)) <= allowed(score, shape, relation, n)
        exceeded += max(map(abs, found)) > Fraction(score.bounds([shape], relation, n).sensitivity)
    if (score.name, relation) == ("entropy", REPLACE):
        assert exceeded  # without `rounding` a bound that is tight does not hold


def exact_value(score, table, relation):
    """A score to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        two = Decimal(2).ln()

        def xlog(counts):
            return sum((Decimal(int(x)) * Decimal(int(x)).ln() / two for x in np.ravel(counts) if x), Decimal(0))

        n, rows, columns = int(table.sum()), table.sum(axis=1), table.sum(axis=0)
        if score.name == "entropy":
            value = xlog(n) - xlog(table)
        elif score.name == "conditional entropy":
            value = xlog(table) - xlog(rows)
        elif score.name in ("mutual information", "information gain"):
            value = xlog(n) + xlog(table) - xlog(rows) - xlog(columns)
        elif score.name == "Gini":
            return sum((Fraction(int((row**2).sum()), int(row.sum())) for row in table if row.sum()), Fraction(0)) - n
        else:
            apart = (abs(n * int(table[i, j]) - int(rows[i] * columns[j])) for i, j in np.ndindex(table.shape))
            value = Fraction(sum(apart), 2 * n)
        per_record = score.name == "information gain" or (
            relation is REPLACE and score.name not in ("conditional entropy", "Gini")
        )
        return Fraction(value) / (n if per_record else 1)


@pytest.mark.parametrize("score", [Entropy(), MutualInformation(), R(), Gini(), ConditionalEntropy(), InfoGain()])
@BOTH
def test_a_computed_score_is_out_by_half_of_its_rounding_at_most(score, relation):
    """What moves is then out by all of it. Tables of 2 to 400 cells, and of 10 to 10 million rows."""
    rng = np.random.default_rng(5)
    for shape in ((1, 2), (3, 4), (20, 20)):
        for n in (10, 54_321, 10_000_000):
            for _ in range(4):
                table = rng.multinomial(n, rng.dirichlet(np.full(shape[0] * shape[1], 0.3))).reshape(shape)
                computed = Fraction(score.of(table, relation))
                off = abs(computed - exact_value(score, table, relation))
                assert off <= Fraction(score.bounds([shape], relation, n).rounding) / 2


def test_labels_and_distances_are_out_by_no_more():
    rng = np.random.default_rng(2)
    margins = {"a": rng.uniform(0, 50, (4, 3)), "b": rng.uniform(0, 50, (5, 3))}
    totals = rng.uniform(20, 60, 3)
    score = DistanceFromMargins(margins, totals, penalty=0.3)
    with localcontext() as context:
        context.prec = 60
        for _ in range(20):
            table = rng.integers(0, 90, (4, 5, 3))
            (value,) = score.values(lambda _, table=table: [table], [("a", "b", "y")], ADD)
            fixed = margins["a"][:, None] * margins["b"][None] / totals  # what it is in floats
            off = sum(abs(Fraction(int(x)) - Fraction(float(e))) for x, e in zip(table.flat, fixed.flat, strict=True))
            off = off / 2 - Fraction(score.penalty * table.size) - Fraction(float(value))
            assert abs(off) <= Fraction(score.bounds([table.shape], ADD, int(table.sum())).rounding) / 2
        labels = ClassLogScore("y", ("a",), np.array([[0], [1]], dtype=np.uint8), 0.7)
        for _ in range(20):
            prior, table = rng.integers(0, 10**6, 2), rng.integers(0, 10**6, (2, 2))
            values = labels.values(lambda _, found=(prior, table): list(found), [], ADD)
            for x, c in np.ndindex(2, 2):
                s = Decimal(labels.smoothing)
                true = (Decimal(int(prior[c])) + s).ln() + (Decimal(int(table[c, x])) + s).ln()
                true -= (Decimal(int(table[c].sum())) + 2 * s).ln()
                off = abs(Fraction(true) - Fraction(float(values[x, c])))
                assert off <= Fraction(labels.bounds([], ADD, int(table.sum())).rounding) / 2


# Booked


@EVERY
@BOTH
@pytest.mark.parametrize("claimed", [None, 0.4, 7.0])
def test_an_exact_choice_never_costs_more_than_is_booked(score, relation, claimed):
    """Two candidates that one person moves both: all pairs of small tables, and pairs of large ones."""
    for n in (4, 10_000_019):
        pairs = list(large_neighbors(score, relation, n)) if n > 4 else []
        if n == 4:
            pairs = [(table, other) for table in SMALL if table.sum() == 4 for other in neighbors(table, relation)]
        bounds = score.bounds([pairs[0][0].shape], relation, n)
        claim = Claim(claimed_sensitivity=claimed)
        entry, factor = prices.choice(score.name, bounds, exact(0.3), 1, claim, exactly=True)
        changes = moved(score, *zip(*pairs, strict=True), relation)
        if relation is REPLACE:  # the opposite change is there as well
            assert min(changes) == -max(changes) or score.name == "Jaccard" or n > 4
        # An unmonotone score may rise for one candidate and fall for another; a monotone one moves one way.
        spread = max(changes) - min(changes)
        assert Fraction(factor * (1 - SPARE)) * spread <= Fraction(entry.epsilon_bound)


@pytest.mark.parametrize("score", [R(), MutualInformation(), Entropy()], ids=lambda score: score.name)
@BOTH
@pytest.mark.parametrize("claimed", [None, 0.4, 7.0])
def test_exact_noise_on_scores_never_costs_more_than_is_booked(score, relation, claimed, monkeypatch):
    """Values on the grid, in whole steps, against the scale in steps: their L1 distance over it is what is lost."""
    heard = {}

    def listen(_, counts, scale):
        heard.setdefault(scale, []).append(counts)
        return counts.astype(float)

    noise = make_noise("auto", None)
    monkeypatch.setattr(type(noise), "counts", listen)
    for n in (4, 10_000_019):
        heard.clear()
        pairs = list(large_neighbors(score, relation, n)) if n > 4 else []
        if n == 4:
            pairs = [(table, other) for table in SMALL if table.sum() == 4 for other in neighbors(table, relation)]
        bounds = score.bounds([pairs[0][0].shape], relation, n)
        entry, grid = prices.noisy_values(
            score.name, bounds, 1, exact(0.3), Claim(claimed_sensitivity=claimed), exactly=True
        )
        for pair in pairs:
            noise.reals(score.of_many(np.stack(pair, axis=-1), relation), entry.scale, grid=grid)
        ((scale, steps),) = heard.items()
        most = max(abs(int(a) - int(b)) for found in steps for a, b in pairwise(found))
        assert most / Fraction(scale * (1 + SPARE)) <= Fraction(entry.epsilon_bound)


def test_teaching_noise_pays_for_no_rounding():
    for n in (10, 10_000):
        bounds = R().bounds([(2, 2)], ADD, n)
        plain, factor = prices.choice("R", bounds, exact(1.0), 1, Claim(), exactly=False)
        assert factor == 1 / bounds.loss
        entry, less = prices.choice("R", bounds, exact(1.0), 1, Claim(), exactly=True)
        assert factor * 0.999999 < less < factor
        assert entry.epsilon_bound == plain.epsilon_bound == 1
        assert entry.scale == 1 / less < inf
