"""What floating point adds to a score's changes, in exact rational arithmetic, and that it is paid for."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from dpcore.accounting.currency import PrivacyMeasure
from dpcore.accounting.relation import Relation, exact
from dpcore.door import privacy_costs
from dpcore.door.privacy_costs import QueryClaim
from dpcore.mechanisms import scores
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.noise.sources import SPARE
from dpcore.mechanisms.scores import ConditionalEntropy, Entropy, Gini, InfoGain, Jaccard, LinearF, MutualInformation, R

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
SCORES = [Entropy(), MutualInformation(), R(), LinearF(), Jaccard(), scores.Max(), Gini()]
SCORES += [ConditionalEntropy(), InfoGain()]
EVERY = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
BOTH = pytest.mark.parametrize("relation", [ADD, REPLACE])
LARGE = (1_000, 123_457, 10_000_019)


def small(n):
    cells = (np.array(cells).reshape(2, 2) for cells in product(range(n + 1), repeat=4) if sum(cells) == n)
    return list(cells)


@cache
def steep(shape, n):
    """Large tables at which scores are steep: nearly all rows in one cell, an even margin, or anything."""
    rng = np.random.default_rng(n)
    one, even = np.zeros((2, *shape), dtype=np.int64)
    one[0, 0], even[0, 0], even[1, 1] = n, n // 2, n - n // 2
    return [one, even, *(rng.multinomial(n, rng.dirichlet(np.ones(one.size))).reshape(shape) for _ in range(10))]


@cache
def pairs(shape, n, relation):
    """Tables and what they are if one row is removed, or is another: shape (*shape, pairs, 2)."""
    units, found = np.eye(shape[0] * shape[1], dtype=np.int64).reshape(-1, *shape), []
    for table in small(n) if n < LARGE[0] else steep(shape, n):
        for less in (table - unit for unit in units if (table * unit).any()):
            found += [(table, other) for other in ([less] if relation is ADD else less + units)]
    return np.moveaxis(np.array(found), [1, 0], [-1, -2])


@cache
def score_changes(score, relation, n):
    """The least and the largest change of a computed score from a table to a neighbor, exactly."""
    tables = pairs(shape_of(score, n), n, relation)
    before, after = (score.score_tables(tables[..., side], relation) for side in (0, 1))
    change = after - before  # rounding keeps the order
    ends = [np.flatnonzero(change == end).tolist() for end in (change.min(), change.max())]
    low, high = ([Fraction(float(after[i])) - Fraction(float(before[i])) for i in indices] for indices in ends)
    return min(low), max(high)


def shape_of(score, n):
    return (2, 2) if n < LARGE[0] or isinstance(score, LinearF | Jaccard) else (3, 4)


def bounds_of(score, relation, n):
    return score.bounds([shape_of(score, n)], relation, n)


@EVERY
@BOTH
def test_no_computed_score_moves_further_than_sensitivity_and_rounding(score, relation):
    exceeded = 0
    for n in (1, 2, 3, 4, *LARGE):
        bounds, most = bounds_of(score, relation, n), max(map(abs, score_changes(score, relation, n)))
        assert most <= Fraction(bounds.sensitivity) + Fraction(bounds.rounding)
        exceeded += most > Fraction(bounds.sensitivity)
    if (score.name, relation) == ("entropy", REPLACE):
        assert exceeded  # without `rounding` a bound that is tight does not hold


def exact_value(score, table, relation):
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
            distance = (abs(n * int(table[i, j]) - int(rows[i] * columns[j])) for i, j in np.ndindex(table.shape))
            value = Fraction(sum(distance), 2 * n)
        per_record = score.name == "information gain" or (
            relation is REPLACE and score.name not in ("conditional entropy", "Gini")
        )
        return Fraction(value) / (n if per_record else 1)


@BOTH
def test_a_computed_score_is_out_by_half_of_its_rounding_at_most(relation):
    """What moves is then out by all of it. Tables of 2 to 144 cells, and of 10 to 10 million rows."""
    rng = np.random.default_rng(5)
    for shape, n in product(((1, 2), (3, 4), (12, 12)), (10, 54_321, 10_000_000)):
        table = rng.multinomial(n, rng.dirichlet(np.full(shape[0] * shape[1], 0.3))).reshape(shape)
        for score in (Entropy(), MutualInformation(), R(), Gini(), ConditionalEntropy(), InfoGain()):
            off = abs(Fraction(score.score_table(table, relation)) - exact_value(score, table, relation))
            assert off <= Fraction(score.bounds([shape], relation, n).rounding) / 2, (score.name, shape, n)


def test_errors_of_distances_stay_below_half_of_their_rounding():
    rng = np.random.default_rng(2)
    released, coarse = rng.uniform(0, 50, (4, 5, 3)), rng.uniform(0, 200, (2, 3, 3))
    merges = [np.array([0, 1, 1, 0]), np.arange(5) // 2, np.arange(3)]
    for _ in range(8):
        table, sums = rng.integers(0, 90, (4, 5, 3)), np.zeros(coarse.shape, dtype=np.int64)
        np.add.at(sums, np.ix_(*merges), table)
        for distance, counts in (
            (scores.DistanceFromMarginals([released], penalty=0.3, factors=[1 / 3]), table),
            (scores.DistanceFromMarginals([coarse], 0.3, [merges]), sums),
        ):
            (value,) = distance.values(lambda _, table=table: [table], [("a", "b", "y")], ADD)
            cells = zip(counts.flat, distance.tables[0].flat, strict=True)
            off = sum(abs(Fraction(int(x)) - Fraction(float(e))) for x, e in cells) / 2
            off = (off - Fraction(distance.penalty * counts.size)) * Fraction((distance.factors or [1])[0])
            rounding = distance.bounds([table.shape], ADD, int(table.sum())).rounding
            assert abs(off - Fraction(float(value))) <= Fraction(rounding) / 2


def test_errors_of_class_scores_stay_below_half_of_their_rounding():
    rng = np.random.default_rng(2)
    labels = scores.ClassLogScore("y", ("a",), np.array([[0], [1]], dtype=np.uint8), 0.7)
    with localcontext() as context:
        context.prec = 60
        s = Decimal(labels.smoothing)
        for _ in range(8):
            prior, table = rng.integers(0, 10**6, 2), rng.integers(0, 10**6, (2, 2))
            values = labels.values(lambda _, found=(prior, table): list(found), [], ADD)
            for x, c in np.ndindex(2, 2):
                true = (Decimal(int(prior[c])) + s).ln() + (Decimal(int(table[c, x])) + s).ln()
                true -= (Decimal(int(table[c].sum())) + 2 * s).ln()
                rounding = labels.bounds([], ADD, int(table.sum())).rounding
                assert abs(Fraction(true) - Fraction(float(values[x, c]))) <= Fraction(rounding) / 2


@EVERY
@BOTH
def test_an_exactly_sampled_selection_never_costs_more_than_is_charged(score, relation):
    """Two candidates that one person moves both, with the true sensitivity and with claims below and above it."""
    for n, claimed in product((4, LARGE[-1]), (None, 0.4, 7.0)):
        claim = QueryClaim(claimed_sensitivity=claimed)
        bounds = bounds_of(score, relation, n)
        entry, factor = privacy_costs.selection_entry(score.name, bounds, exact(0.3), 1, claim, exactly=True)
        low, high = score_changes(score, relation, n)
        if relation is REPLACE and n == 4:  # the opposite change is there as well
            assert low == -high or score.name == "Jaccard"
        # An unmonotone score may rise for one candidate and fall for another; a monotone one moves one way.
        assert Fraction(factor * (1 - SPARE)) * (high - low) <= Fraction(entry.epsilon_bound)


@BOTH
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_exactly_sampled_noise_on_scores_never_costs_more_than_is_charged(relation, delta, monkeypatch):
    """Values on the grid, in whole steps, against the scale in steps; in rho choices, too, by their log ratios."""
    measure, heard = PrivacyMeasure.of(delta), []
    noise = make_noise("auto", None, 0, measure.distribution)
    monkeypatch.setattr(type(noise), "counts", lambda _, steps, scale: heard.append((steps, scale)) or steps)
    claims = (None,) if delta else (None, 0.4, 7.0)
    for score, n, claimed in product((R(), MutualInformation(), Entropy()), (4, LARGE[-1]), claims):
        claim, bounds = QueryClaim(claimed_sensitivity=claimed, measure=measure), bounds_of(score, relation, n)
        entry, grid = privacy_costs.score_entry(score.name, bounds, 5, exact(0.3), claim, exactly=True)
        tables = pairs(shape_of(score, n), n, relation)
        for side in (0, 1):
            noise.reals(score.score_tables(tables[..., side], relation), entry.scale, grid=grid)
        (before, scale), (after, _) = heard[-2:]
        worst = int(np.abs(after - before).max()) / Fraction(scale * (1 + SPARE))
        assert 5 * (worst**2 / 2 if delta else worst) <= Fraction(entry.epsilon_bound)
        if delta:
            entry, factor = privacy_costs.selection_entry(score.name, bounds, exact(0.3), 2, claim, exactly=True)
            low, high = score_changes(score, relation, n)
            assert entry.unit == "rho"
            assert 2 * (Fraction(factor * (1 - SPARE)) * (high - low)) ** 2 / 8 <= Fraction(entry.epsilon_bound)
