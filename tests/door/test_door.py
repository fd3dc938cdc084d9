"""Noisy answers and randomized responses have the distributions that their loss was computed from.

Draws are seeded. With fresh seeds each of some 20 assertions would fail for right code about once
in 10,000 runs (p-values below ALARM).
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from private_rows import PEOPLE, RELATIONS, REPLACE, Broken, BrokenError, Listening
from scipy import stats
from tables import categorical

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import shares_of
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import BudgetError, ParameterError, SchemaError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, TRR, AdditiveNoise, Channel, Warner
from dpcore.mechanisms.scores import ClassLogScore, Max, R, class_log_scores
from dpcore.postprocess.reports import Questionnaire, families
from dpcore.rows import HeldRows

ALARM = 1e-4
WIDE = Schema(columns=(Column(name="bin", kind="integer", lower=0, upper=4_999, bins=5_000),), max_rows=100)
NARROW = categorical({"a": "01", "b": "012", "y": "012"}, target="y", max_rows=100)
FEW = np.random.default_rng(1).integers(0, 5_000, size=(40, 1)).astype(np.uint16)
ROWS = np.asfortranarray(np.random.default_rng(5).integers(0, [2, 3, 3], size=(12, 3)).astype(np.uint8))


def door(relation, seed, *, codes=ROWS, schema=NARROW):
    return PrivateTable(codes, schema, Ledger(relation), make_noise("laplace", seed))


def in_rho(relation, seed, *, codes=ROWS, schema=NARROW):
    noise = make_noise("laplace", seed, 0, "gaussian")
    return PrivateTable(codes, schema, Ledger(relation, delta=1e-9), noise, unprotected_allowed=True)


def noise_on_counts(relation, epsilon, seed, times=4, **how):
    """20,000 draws, enough to see a scale that is 10% off; a row of them for each table."""
    table = door(relation, seed, codes=FEW, schema=WIDE)
    families, exact = [("bin",)] * len(how.get("weights", "1")), np.bincount(FEW[:, 0], minlength=5_000)
    wanted = [np.array(table.counts(families, epsilon=epsilon, **how)) - exact for _ in range(times)]
    return np.concatenate(wanted, axis=1)


def test_noise_on_counts_and_scores():
    for relation, epsilon in (("add_remove", 0.1), (REPLACE, 2.0)):
        (noise,) = noise_on_counts(relation, epsilon, seed=11)
        assert stats.kstest(noise, "laplace", args=(0, RELATIONS[relation] / epsilon)).pvalue > ALARM, relation
    first, second = noise_on_counts("add_remove", 1.0, seed=3, times=2, weights=[1.0, 3.0])
    assert stats.kstest(first, "laplace", args=(0, 4.0)).pvalue > ALARM
    assert stats.kstest(second, "laplace", args=(0, 4 / 3)).pvalue > ALARM
    for one, other in ((first, second), (first[:-1], first[1:])):  # families and cells are independent
        assert stats.pearsonr(one, other).pvalue > ALARM
    for relation, step in (("add_remove", 2.0), (REPLACE, 3 * 11 / 12**2)):
        table, candidates = door(relation, seed=4), [("a", "b"), ("a", "y"), ("b", "y")] * 5_000
        exact = np.tile(R().values(table._marginals, candidates[:3], table.relation), 5_000)
        noise = table.noisy_scores(R(), candidates, epsilon=1.5) - exact
        assert stats.kstest(noise, "laplace", args=(0, 15_000 * step / 1.5)).pvalue > ALARM, relation


def test_noise_in_rho_is_gaussian_with_the_l2_sensitivity():
    """A table of counts by 1, or by 1 in each of two cells; three scores by their sensitivity each."""
    for relation, squared in (("add_remove", 1), (REPLACE, 2)):
        table, exact = in_rho(relation, 7, codes=FEW, schema=WIDE), np.bincount(FEW[:, 0], minlength=5_000)
        small, large = np.array(table.counts([("bin",)] * 2, epsilon=0.004, weights=[1.0, 3.0])) - exact
        for noise, rho in ((small, 0.001), (large, 0.003)):
            sigma = (squared / (2 * rho)) ** 0.5
            assert stats.kstest(noise, "norm", args=(0, sigma)).pvalue > ALARM, relation
        assert [entry.epsilon_nominal for entry in table.ledger.entries] == shares_of(0.004, [1.0, 3.0])
        assert {(entry.sensitivity, entry.mechanism) for entry in table.ledger.entries} == {(squared**0.5, "gaussian")}
        assert table.cell_variance(0.002) == pytest.approx(squared / 0.004)
    for relation, step in (("add_remove", 2.0), (REPLACE, 3 * 11 / 12**2)):
        table, candidates = in_rho(relation, 4), [("a", "b"), ("a", "y"), ("b", "y")] * 5_000
        exact = np.tile(R().values(table._marginals, candidates[:3], table.relation), 5_000)
        noise = table.noisy_scores(R(), candidates, epsilon=1.5) - exact
        assert stats.kstest(noise, "norm", args=(0, step * (15_000 / 3) ** 0.5)).pvalue > ALARM, relation


def test_the_selection_exponent_in_rho_is_the_root_of_eight_rho():
    table, votes = in_rho("add_remove", 9), np.array([2.0, 0.0, 1.0])

    class Told(Max):
        """Scores that are told, many times over; one person moves each by 1, one way."""

        def values(self, count, candidates, relation):
            return np.tile(votes, (20_000, 1))

    chosen = table.choose(Told(), [("a", "y")] * 3, epsilon=0.02, draws=20_000)
    expected = np.exp((8 * 0.02) ** 0.5 * votes)
    assert stats.chisquare(np.bincount(chosen), 20_000 * expected / expected.sum()).pvalue > ALARM
    assert table.ledger.totals.bound == 20_000 * Fraction(0.02)
    with pytest.raises(ParameterError, match="pure epsilon"):
        table.choose(Told(), [("a", "y")] * 3, epsilon=0.02, claimed_sensitivity=2.0)


def test_queries_without_a_loss_in_rho_are_refused_before_the_charge():
    table = in_rho(REPLACE, 1)
    for ask in (
        lambda: table.trees("y", {}, trees=1, epsilon=0.1),
        lambda: table.randomize(None),
        lambda: table.read_unprotected("why", claimed_epsilon=1.0),
    ):
        with pytest.raises(ParameterError):
            ask()
    assert not table.ledger.entries
    with pytest.raises(ParameterError, match="privacy measure needs"):
        PrivateTable(ROWS, NARROW, Ledger(REPLACE, delta=1e-9), make_noise("laplace", 1))


def test_choices_of_families_are_the_exponential_mechanism():
    """Max has sensitivity 1 and is monotone."""
    candidates, draws = [("a", "y"), ("b", "y"), ("y", "a"), ("y", "y")], 20_000

    class Often(Max):
        def values(self, *wanted):
            return np.tile(super().values(*wanted), (draws, 1))

    for (relation, loss), epsilon in zip(RELATIONS.items(), (0.2, 1.0), strict=True):
        table = door(relation, seed=6)
        scores = Max().values(table._marginals, candidates, table.relation)
        weights = np.exp(epsilon * (scores - scores.max()) / loss)
        chosen = table.choose(Often(), candidates, epsilon=epsilon, draws=draws)
        expected = draws * weights / weights.sum()
        assert stats.chisquare(np.bincount(chosen, minlength=4), expected).pvalue > ALARM, relation


def test_choices_of_labels_are_the_exponential_mechanism():
    """100,000 draws in one call: 6 public rows x, about 16,667 labels for each."""
    draws, epsilon = 100_000, 2.0
    which = np.arange(draws) % 6
    score = ClassLogScore("y", ("a", "b"), PEOPLE[which], 1.0)
    for relation, exponent, how in (
        ("add_remove", epsilon / (3 * np.log(2)), {}),
        (REPLACE, epsilon / (2 * 3 * np.log(2)), {}),
        (REPLACE, epsilon / (2 * 3.0), {"claimed_sensitivity": 3.0}),
    ):
        table = door(relation, seed=8)
        chosen = table.choose(score, [], epsilon=epsilon, draws=draws, **how)
        prior, *tables = table._marginals([("y",), ("y", "a"), ("y", "b")])
        weights = np.exp(exponent * class_log_scores(np.log(prior + 1), tables, PEOPLE, 1.0))
        for x, shares in enumerate(weights / weights.sum(axis=1, keepdims=True)):
            observed = np.bincount(chosen[which == x], minlength=3)
            assert stats.chisquare(observed, observed.sum() * shares).pvalue > ALARM, (relation, x)
    chosen = door("add_remove", seed=9).choose(score, [], epsilon=0, draws=draws)
    assert stats.chisquare(np.bincount(chosen, minlength=3)).pvalue > ALARM


NUMBER = Column(name="n", kind="continuous", lower=-5, upper=15, bins=4)
SCHEMA = categorical({"a": "01", "b": "xyz", "c": "pqrs"}, NUMBER)
A, B, C, N = families(SCHEMA.names)
CODES = np.asfortranarray(
    [[0, 0, 0, 0], [1, 2, 3, 3], [0, 1, 2, 1], [1, 1, 1, 2], [0, 2, 0, 0], [1, 0, 3, 3]], np.uint8
)
NUMBERS = {3: np.array([-5.0, 14, 3, 8, -1, 15])}


class Replayed(Listening):
    """Lots and Laplace noise from a tape that is the same every time, and a note of who asked for how many."""

    def __init__(self, seed=0):
        self._rng, self.asked = np.random.default_rng(seed), []

    def uniforms(self, count):
        self.asked.append(count)
        return self._rng.random(count)

    def reals(self, values, scale, **_):
        self.asked.append((len(values), scale))
        return values + self._rng.laplace(0, scale, len(values))


def answering(source=None, *, codes=CODES, numbers=NUMBERS, relation="replace", cap=None, paper=False):
    ledger, rows = Ledger(relation, epsilon=cap), HeldRows(codes, SCHEMA.sizes, numbers)
    return PrivateTable(rows, SCHEMA, ledger, source or Replayed(), unprotected_allowed=paper)


THIRD = Fraction(1, 3)
FOUR = {A: ERRPH(2, epsilon=THIRD), B: OUE(3, epsilon=0.1), C: OLH(4, epsilon=1), N: TRR(lower=-5, upper=15, epsilon=2)}


def test_reports_of_one_person_add_up_exactly_and_of_optional_ones_the_largest():
    table = answering()
    table.randomize(Questionnaire(FOUR))
    entries = table.ledger.entries
    bounds = [THIRD, Fraction(0.1), 1, 2]
    assert [entry.epsilon_bound for entry in entries] == [entry.epsilon_claimed for entry in entries] == bounds
    assert [(entry.name, entry.mechanism) for entry in entries] == [
        ("report of a", "randomized response"),
        ("report of b", "unary encoding"),
        ("report of c", "local hashing"),
        ("report of n", "laplace"),
    ]
    assert (entries[3].sensitivity, entries[3].scale) == (20, 10)
    for wanted, loss in ((1, 2), (2, 3), (3, 3 + Fraction(0.1))):
        table = answering()
        table.randomize(Questionnaire(FOUR, [B, C, N], wanted))
        assert table.ledger.totals.bound == THIRD + loss
        assert table.ledger.entries[-1].name == f"report of {wanted} of 3 answers, at random"


def test_every_report_is_charged_first_and_drawn_anew():
    channels = {A: ERRPH(2, epsilon=1), ("a", "b"): ERRPH(6, epsilon=2), ("c", "a"): OUE(8, epsilon=4)}
    table = answering(cap=14, codes=np.zeros((200, 4), np.uint8), numbers={})
    first, second = (table.randomize(Questionnaire(channels)).values[A] for _ in range(2))
    assert (first != second).any()
    assert table.ledger.epsilon_bound == 14
    drawn = list(table._door.noise.asked)
    with pytest.raises(BudgetError):
        table.randomize(Questionnaire({A: ERRPH(2, epsilon=Fraction(1, 10**30))}))
    assert (table._door.noise.asked, len(table.ledger.entries)) == (drawn, 6)
    table = answering(Broken())
    with pytest.raises(BrokenError):
        table.randomize(Questionnaire({A: ERRPH(2, epsilon=1)}))
    assert table.ledger.epsilon_bound == 1


def test_answers_that_share_a_draw_have_no_finite_epsilon_and_change_together():
    table = answering(paper=True, codes=np.zeros((600, 4), np.uint8), numbers={})
    channels = {A: Warner(p=0.5), B: ERRPH(3, p0=0.5), C: ERRPH(4, epsilon=2)}
    together = Questionnaire(channels, together=[[A, B], [C]])
    values = table.randomize(together, claimed_epsilon=0.5, reasons={A: "because", B: "because"}).values
    alone, tied = table.ledger.entries
    assert (alone.epsilon_bound, tied.epsilon_bound) == (2, math.inf)  # a lot of one's own is no tie
    assert tied.epsilon_claimed == alone.epsilon_claimed == 0.5
    assert tied.reason == "because"
    assert "kept or changed together" in tied.name
    changed = values[A] == 1
    assert 200 < changed.sum() < 400
    assert not values[B][~changed].any()  # who keeps a keeps b
    assert values[B][changed].mean() > 0.5
    assert values[C][~changed].any()  # c has lots of its own


ONE, NUMBER = {A: ERRPH(2, epsilon=1)}, {N: FOUR[N]}
REFUSED = [
    (answering(), {A: OUE(3, epsilon=1)}, "wrong number of values"),
    (answering(), {("a", "b"): ERRPH(5, epsilon=1)}, "wrong number of values"),
    (answering(), {("n", "a"): TRR(lower=0, upper=1, epsilon=1)}, "not a column of numbers"),
    (answering(numbers={}), NUMBER, "not a column of numbers"),
    (answering(), {A: ERRPH(2, p0=1)}, "no finite epsilon"),  # the truth
    (answering(), {N: TRR(factors=[1.0], offsets=[0.0])}, "no finite epsilon"),  # sets
    (answering(), {N: AdditiveNoise("uniform", 100, lower=-5, upper=15)}, "no finite epsilon"),
    (answering(), {A: type("Own", (Channel,), {"epsilon": 0, "mechanism": "own"})()}, "is unknown"),
    (answering(), {("z",): ERRPH(2, epsilon=1)}, "no column 'z'"),
    (answering(relation="add_remove"), ONE, "replace"),  # who takes part is not hidden
    (answering().partition_by("a")[0], ONE, "replace"),
]


def test_refused_questionnaires_cost_nothing():
    cases = [(table, Questionnaire({C: ERRPH(4, epsilon=1), **channels}), cause) for table, channels, cause in REFUSED]
    tied = Questionnaire({**ONE, B: ERRPH(3, epsilon=1)}, together=[[A, B]])
    for table, questions, cause in (*cases, (answering(), tied, "no finite epsilon")):
        with pytest.raises(SchemaError if "no column" in cause else ParameterError, match=cause):
            table.randomize(questions)
        assert not table.ledger.entries, cause
        assert not table._door.noise.asked, cause


ASKED = {
    "all of everybody": Questionnaire({**FOUR, ("a", "c"): ERRPH(8, epsilon=1)}),
    "two of four by lot": Questionnaire({**FOUR, ("b", "c"): ERRPH(12, epsilon=1)}, [B, C, N, ("b", "c")], 2),
    "together": Questionnaire({A: Warner(p=0.6), B: ERRPH(3, p0=0.5), C: ERRPH(4, p0=0.5)}, together=[[A, B]]),
    "sets": Questionnaire({A: ERRPH(2, p0=1), N: TRR(factors=[1.0, 2], offsets=[0.0, 5], lower=-5, upper=15)}),
    "uniform noise": Questionnaire({N: AdditiveNoise("uniform", 3, lower=-5, upper=15)}),
}


def test_one_record_changes_its_own_reports_only(seeds):
    for seed, person, questions in product(seeds(20), (0, 3, 5), ASKED.values()):
        other, numbers = CODES.copy(order="F"), NUMBERS[3].copy()
        other[person], numbers[person] = [1, 2, 3, 3] if person != 5 else [0, 1, 0, 0], 1.5
        sources = Replayed(seed), Replayed(seed)
        first = answering(sources[0], paper=True).randomize(questions)
        second = answering(sources[1], paper=True, codes=other, numbers={3: numbers}).randomize(questions)
        assert sources[0].asked == sources[1].asked
        for family in questions.channels:
            who = first.positions(family)
            np.testing.assert_array_equal(who, second.positions(family))  # answers do not decide who is asked
            rest = who != person
            np.testing.assert_array_equal(first.values[family][rest], second.values[family][rest])


def test_optional_queries_are_assigned_at_random():
    """Each person answers two of four; each pair of questions equally often (4,000 people, 6 standard errors)."""
    channels = {A: ERRPH(2, epsilon=1), B: OUE(3, epsilon=1), C: ERRPH(4, epsilon=1), ("a", "b"): ERRPH(6, epsilon=1)}
    table = answering(codes=np.zeros((4_000, 4), np.uint8), numbers={})
    reports, answered = table.randomize(Questionnaire(channels, list(channels), 2)), np.zeros((4_000, 4), dtype=int)
    for i, family in enumerate(channels):
        answered[reports.positions(family), i] += 1
        assert len(reports.values[family]) == len(reports.positions(family))
        assert (np.diff(reports.positions(family)) > 0).all()
    assert (answered.sum(axis=1) == 2).all()
    both = (answered.T @ answered)[np.triu_indices(4, 1)]
    assert np.abs(both - 4_000 / 6).max() < 6 * math.sqrt(4_000 * 5 / 36)


def test_families_are_coded_with_the_last_column_fastest():
    questions = Questionnaire({("b", "a"): ERRPH(6, p0=1), ("a", "b", "c"): ERRPH(24, p0=1)})
    reports, (a, b, c, _) = answering(paper=True).randomize(questions), CODES.T
    assert reports.values["b", "a"].tolist() == (b * 2 + a).tolist()
    assert reports.values["a", "b", "c"].tolist() == (a * 12 + b * 4 + c).tolist()
    labels = reports.labels(("b", "a"))
    assert [labels[code] for code in reports.values["b", "a"]] == [
        f"{'xyz'[b]} / {a}" for a, b in CODES[:, :2].tolist()
    ]
    big = Schema(columns=tuple(Column(name=n, kind="integer", lower=0, upper=199, bins=200) for n in "uv"))
    codes = np.asfortranarray([[199, 199], [0, 199], [199, 0]], dtype=np.uint8)  # fewer than the pair has values
    table = PrivateTable(codes, big, Ledger("replace"), Replayed(), unprotected_allowed=True)
    for channel in (ERRPH(40_000, p0=1), ERRPH(40_000, epsilon=60)):
        found = table.randomize(Questionnaire({("u", "v"): channel})).values["u", "v"]
        assert found.tolist() == [39_999, 199, 39_800]


def test_hashes_of_large_codes_do_not_overflow():
    """a v + b has up to 62 bits; codes of 8 bits are widened first."""
    channel, rng = OLH(250, epsilon=40), iter([np.array([1 - 2**-53]), np.array([1 - 2**-53]), np.array([0.0])])
    report, prime = channel.report(np.array([249], dtype=np.uint8), lambda _: next(rng)), 2**31 - 1
    assert report.tolist() == [[prime - 1, prime - 1, ((prime - 1) * 249 + prime - 1) % prime % channel.buckets]]


def test_numbers_go_through_their_bounds_and_the_sources_own_noise():
    source = Replayed()
    narrow = TRR(lower=0, upper=4, epsilon=Fraction(1, 2))
    reports = answering(source).randomize(Questionnaire({N: narrow}))
    assert source.asked == [(6, 8.0)]
    noise = np.random.default_rng(0).laplace(0, 8, 6)
    np.testing.assert_allclose(reports.values[N], np.clip(NUMBERS[3], 0, 4) + noise)


def test_reports_share_no_memory_with_the_rows():
    codes, numbers = CODES.copy(order="F"), NUMBERS[3].copy()
    table = answering(make_noise("laplace", 0).noiseless(), codes=codes, numbers={3: numbers}, paper=True)
    questions = {A: ERRPH(2, p0=1), B: ERRPH(3, p0=1), N: TRR(factors=[1.0], offsets=[0.0])}
    for values in table.randomize(Questionnaire(questions)).values.values():
        values[...] = 1
    np.testing.assert_array_equal(codes, CODES)
    np.testing.assert_array_equal(numbers, NUMBERS[3])
