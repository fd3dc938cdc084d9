"""The door: what every question costs, how much noise it draws, and that it is paid for first.

A noise source that gives the exact values back and writes down what it was asked for stands in for the real ones, so
every number here is exact. `tests/door/test_door.py` holds the distributions.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import BudgetError, ParameterError, SchemaError
from dpcore.mechanisms.noise import Noise, make_noise
from dpcore.mechanisms.scores import Bounds, ClassLogScore, Entropy, Gini, InfoGain, LinearF, Max, MutualInformation, R
from dpcore.mechanisms.scores.base import Score

ADD, REPLACE = "add_remove", "replace"
RELATIONS = [ADD, REPLACE]
SCHEMA = Schema(
    columns=(
        Column(name="a", kind="categorical", categories=("0", "1")),
        Column(name="b", kind="categorical", categories=("x", "y", "z")),
        Column(name="y", kind="categorical", categories=("no", "yes"), missing=True),
    ),
    target="y",
    max_rows=50,
)
CODES = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [0, 2, 1], [1, 0, 0]], dtype=np.uint8, order="F")
A, B, Y = CODES.T
# Very different rows; under replace the number of rows is public and stays.
OTHER = np.ones_like(CODES)


class Recorded(Noise):
    """Adds nothing, takes the arg max, and remembers the scales that it was asked for."""

    on_counts = "fake"
    label = "none"

    def __init__(self):
        self.asked = []

    def counts(self, counts, scale):
        self.asked.append(("counts", scale))
        return counts.astype(float)

    def reals(self, values, scale, **_):
        self.asked.append(("reals", scale))
        return values.copy()

    def select(self, scores, factor):
        self.asked.append(("select", factor))
        return np.argmax(factor * scores, axis=-1)


class BrokenError(Exception):
    pass


class Broken(Noise):
    """A source of noise that fails."""

    on_counts = "broken"
    label = "broken"

    def counts(self, counts, scale, **_):
        raise BrokenError

    reals = select = counts


def door(relation=ADD, *, codes=CODES, schema=SCHEMA, cap=None, noise=None, paper=False):
    ledger = Ledger(relation, epsilon=cap)
    return PrivateTable(codes, schema, ledger, noise or Recorded(), unprotected_allowed=paper)


def only(table):
    (entry,) = table.ledger.entries
    return entry


# Counts


@pytest.mark.parametrize(("relation", "sensitivity"), [(ADD, 1), (REPLACE, 2)])
def test_counts_are_the_tables_with_noise_of_sensitivity_over_share(relation, sensitivity):
    table = door(relation)
    families = [("a",), ("a", "b"), ("y", "a", "b")]
    answers = table.counts(families, epsilon=0.75)
    assert [answer.shape for answer in answers] == [(2,), (2, 3), (3, 2, 3)]
    np.testing.assert_array_equal(answers[0], [3, 3])
    np.testing.assert_array_equal(answers[1], [[1, 1, 1], [1, 2, 0]])
    assert answers[2][1, 1, 1] == 2
    assert [answer.sum() for answer in answers] == [6, 6, 6]
    assert table._door.noise.asked == [("counts", sensitivity / 0.25)] * 3
    for entry in table.ledger.entries:
        assert (entry.sensitivity, entry.claimed_sensitivity, entry.scale) == (
            sensitivity,
            sensitivity,
            4 * sensitivity,
        )
        assert entry.epsilon_bound == entry.epsilon_claimed == Fraction(1, 4)
        assert (entry.mechanism, entry.draws, entry.reason) == ("fake", 1, "")
    assert [entry.name for entry in table.ledger.entries] == ["counts of a", "counts of a × b", "counts of y × a × b"]
    assert table.ledger.epsilon_bound == table.ledger.epsilon_claimed == 0.75


def test_weights_divide_epsilon():
    table = door()
    table.counts([("a",), ("b",), ("y",)], epsilon=1.0, weights=[1.0, 2.0, 5.0])
    assert [entry.epsilon_bound for entry in table.ledger.entries] == [Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)]
    assert [scale for _, scale in table._door.noise.asked] == [8.0, 4.0, 1.6]


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, math.inf], [1.0, 2.0, 3.0]])
def test_weights_that_do_not_fit_are_refused_unpaid(weights):
    table = door()
    with pytest.raises(ValueError, match=r"shares|zip"):
        table.counts([("a",), ("b",)], epsilon=1.0, weights=weights)
    assert not table.ledger.entries
    assert not table._door.noise.asked


@pytest.mark.parametrize(("relation", "claimed", "bound"), [(REPLACE, 1.0, 2.0), (ADD, 2.0, 0.5), (ADD, 0.25, 4.0)])
def test_a_claimed_sensitivity_sets_the_noise_and_the_truth_sets_the_bound(relation, claimed, bound):
    table = door(relation)
    table.counts([("a",), ("b",)], epsilon=1.0, claimed_sensitivity=claimed)
    assert table._door.noise.asked == [("counts", claimed / 0.5)] * 2
    assert table.ledger.epsilon_claimed == 1.0
    assert table.ledger.epsilon_bound == bound
    for entry in table.ledger.entries:  # the bound is what the drawn noise buys: true sensitivity over scale
        assert entry.sensitivity / entry.scale == float(entry.epsilon_bound)
        assert entry.claimed_sensitivity / entry.scale == float(entry.epsilon_claimed)


def test_a_claimed_epsilon_for_tables_is_shared_as_the_true_one_and_touches_nothing_else():
    for weights, shares in ((None, [1, 1]), ([1.0, 3.0], [Fraction(1, 2), Fraction(3, 2)])):
        table = door(REPLACE)
        table.counts([("a",), ("b",)], epsilon=2.0, weights=weights, claimed_epsilon=0.5, reason="as printed")
        assert [entry.epsilon_bound for entry in table.ledger.entries] == shares
        assert [entry.epsilon_claimed for entry in table.ledger.entries] == [share / Fraction(4) for share in shares]
        assert [scale for _, scale in table._door.noise.asked] == [float(2 / share) for share in shares]
        assert {entry.reason for entry in table.ledger.entries} == {"as printed"}
    both = door(REPLACE)
    both.counts([("a",)], epsilon=2.0, claimed_epsilon=0.5, claimed_sensitivity=1.0)
    assert (only(both).epsilon_claimed, only(both).epsilon_bound, only(both).scale) == (Fraction(1, 2), 4, 0.5)


@pytest.mark.parametrize(("relation", "sensitivity"), [(ADD, 1), (REPLACE, 2)])
def test_a_family_without_columns_is_the_number_of_rows(relation, sensitivity):
    table = door(relation)
    rows, ones = table.counts([(), ("a",)], epsilon=0.5)
    assert (rows.shape, float(rows), ones.tolist()) == ((), 6.0, [3.0, 3.0])
    first, second = table.ledger.entries
    assert (first.name, second.name) == ("number of rows", "counts of a")
    assert (first.sensitivity, first.scale, first.epsilon_bound) == (sensitivity, 4 * sensitivity, Fraction(1, 4))
    for kind in ("laplace", "geometric"):
        (noisy,) = door(relation, noise=make_noise(kind, 1)).counts([()], epsilon=1e-3)
        assert noisy.shape == ()
        assert noisy != 6
    (none,) = table.counts([()], epsilon=0)
    assert (none.shape, float(none)) == ((), 0.0)
    assert float(door(relation, codes=CODES[:0]).counts([()], epsilon=1.0)[0]) == 0


@pytest.mark.parametrize("claimed", [0.0, -1.0, math.nan, math.inf])
def test_a_claimed_sensitivity_must_be_one(claimed):
    table = door()
    for ask in (
        lambda: table.counts([("a",)], epsilon=1.0, claimed_sensitivity=claimed),
        lambda: table.choose(Max(), [("a", "y")], epsilon=1.0, claimed_sensitivity=claimed),
        lambda: table.noisy_scores(Max(), [("a", "y")], epsilon=1.0, claimed_sensitivity=claimed),
    ):
        with pytest.raises(ParameterError, match="claimed sensitivity"):
            ask()
    assert not table.ledger.entries


def test_too_small_a_claim_is_stopped_by_the_cap():
    """Corrected mode caps the bound: a method that passes a paper's wrong constant cannot stay within it."""
    table = door(REPLACE, cap=1.0)
    with pytest.raises(BudgetError):
        table.counts([("a",)], epsilon=1.0, claimed_sensitivity=1.0)
    assert not table._door.noise.asked


@pytest.mark.parametrize("bad", [("nobody",), ("a", "nobody")])
def test_an_unknown_column_is_refused_before_it_is_charged(bad):
    table = door()
    for ask in (
        lambda: table.counts([("a",), bad], epsilon=1.0),
        lambda: table.choose(Max(), [("a", "y"), bad], epsilon=1.0),
        lambda: table.noisy_scores(Max(), [("a", "y"), bad], epsilon=1.0),
        lambda: table.split("nobody"),
    ):
        with pytest.raises(SchemaError, match="nobody"):
            ask()
    assert not table.ledger.entries
    assert not table._door.noise.asked


@pytest.mark.parametrize("epsilon", [-0.1, math.nan])
def test_an_epsilon_below_nothing_is_refused(epsilon):
    table = door()
    for ask in (
        lambda: table.counts([("a",)], epsilon=epsilon),
        lambda: table.choose(Max(), [("a", "y")], epsilon=epsilon),
        lambda: table.noisy_scores(Max(), [("a", "y")], epsilon=epsilon),
    ):
        with pytest.raises(ParameterError, match="negative"):
            ask()
    assert not table.ledger.entries


# Epsilon 0


@pytest.mark.parametrize("kind", ["laplace", "geometric"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_epsilon_0_buys_nothing(kind, relation):
    found = []
    for codes in (CODES, OTHER):
        table = door(relation, codes=codes, noise=make_noise(kind, 3))
        queries = np.array([[0, 0], [1, 2]] * 20, dtype=np.uint8)
        found.append(
            [
                *table.counts([("a",), ("a", "b")], epsilon=0),
                table.choose(Max(), [("a", "y"), ("b", "y")], epsilon=0),
                table.choose(ClassLogScore("y", ("a", "b"), queries, 1.0), [], epsilon=0, draws=40),
                table.choose(R(), [("a", "y"), ("b", "y")], epsilon=0, claimed_sensitivity=0.5),
                table.noisy_scores(Max(), [("a", "y"), ("b", "y")], epsilon=0),
            ]
        )
        assert table.ledger.epsilon_bound == 0
        assert len(table.ledger.entries) == 6
    for here, there in zip(*found, strict=True):
        np.testing.assert_array_equal(here, there)
    assert not found[0][0].any()
    assert found[0][1].shape == (2, 3)
    assert not found[0][-1].any()


def test_hardly_any_epsilon_buys_hardly_anything():
    """Both geometric draws stop at the largest integer when the scale is huge: their difference would be no noise."""
    for scale in (1e16, 1e18, 1e20, 1e300):
        noisy = make_noise("geometric", 1).counts(np.arange(1_000), scale)
        assert np.median(np.abs(noisy)) > scale / 10
        assert (noisy == np.round(noisy)).all()
    table = door(noise=make_noise("geometric", 1))
    (tiny,) = table.counts([("a",)], epsilon=1e-25)
    assert np.abs(tiny).min() > 1e20
    (none,) = table.counts([("a",)], epsilon=5e-324, weights=[1.0])
    assert not none.any() or np.abs(none).min() > 1e20
    assert not any(answer.any() for answer in table.counts([("a",), ("b",)], epsilon=5e-324))


# Charge first, draw second


def questions():
    queries = np.array([[0, 0], [1, 2]], dtype=np.uint8)
    return {
        "counts": lambda table: table.counts([("a",), ("b",)], epsilon=1.0),
        "choose": lambda table: table.choose(Max(), [("a", "y"), ("b", "y")], epsilon=1.0),
        "choose many": lambda table: table.choose(
            ClassLogScore("y", ("a", "b"), queries, 1.0), [], epsilon=0.5, draws=2
        ),
        "noisy_scores": lambda table: table.noisy_scores(Max(), [("a", "y"), ("b", "y")], epsilon=1.0),
    }


@pytest.mark.parametrize("question", questions())
def test_what_was_charged_stays_charged_when_drawing_fails(question):
    table = door(noise=Broken(), cap=1.0)
    with pytest.raises(BrokenError):
        questions()[question](table)
    assert table.ledger.epsilon_bound == 1.0


@pytest.mark.parametrize("question", questions())
def test_an_overdrawn_ledger_draws_nothing_and_counts_nothing(question, monkeypatch):
    table = door(cap=0.875)
    monkeypatch.setattr("dpcore.door.exact_counts.Counter.tables", lambda *_: pytest.fail("the rows were read"))
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        questions()[question](table)
    assert not table._door.noise.asked
    assert not table.ledger.entries
    assert table.ledger.epsilon_bound == table.ledger.epsilon_claimed == 0


def test_families_are_paid_all_or_none():
    """The first family alone would fit under the cap."""
    table = door(cap=0.5)
    with pytest.raises(BudgetError):
        table.counts([("a",), ("b",)], epsilon=1.0)
    assert not table.ledger.entries
    assert not table._door.noise.asked
    table.counts([("a",)], epsilon=0.5)
    assert table.ledger.epsilon_bound == 0.5


def test_raw_rows_under_a_cap_are_not_to_be_had():
    table = door(cap=100.0, paper=True)
    with pytest.raises(BudgetError):
        table.unprotected("because", claimed_epsilon=1.0)
    assert not table.ledger.entries


def test_a_ledger_gives_nothing_back():
    table = door(cap=1.0)
    table.counts([("a",)], epsilon=1.0)
    with pytest.raises(ParameterError, match="less than nothing"):
        table.choose(Max(), [("a", "y")], epsilon=1.0, draws=-1)
    assert table.ledger.epsilon_bound == 1.0


# Choices


CANDIDATES = [("a", "y"), ("b", "y")]


@pytest.mark.parametrize(
    ("score", "relation", "loss"),
    [
        (Max(), ADD, 1.0),  # monotone: the exponent epsilon q / D
        (Max(), REPLACE, 2.0),
        (Gini(), ADD, 2.0),
        (Gini(), REPLACE, 4.0),
        (R(), ADD, 4.0),  # general: epsilon q / (2 D)
        (R(), REPLACE, 2 * 3 * 5 / 36),  # b × y is 3 × 3
        (InfoGain(), ADD, 2 * math.log2(3)),
        (MutualInformation(), ADD, 2 * (math.log2(51) + 50 * math.log2(51 / 50))),  # max_rows = 50, not the 6 rows
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_choices_cost_what_their_exponent_does(score, relation, loss):
    table = door(relation)
    chosen = table.choose(score, CANDIDATES, epsilon=0.5)
    assert chosen.shape == ()
    ((_, factor),) = table._door.noise.asked
    assert factor == pytest.approx(0.5 / loss)
    entry = only(table)
    assert entry.epsilon_bound == entry.epsilon_claimed == Fraction(1, 2)
    assert entry.scale == pytest.approx(loss / 0.5)
    assert (entry.mechanism, entry.draws) == ("exponential", 1)
    assert entry.sensitivity == score.bounds([(2, 3), (3, 3)], table.relation, table.public_rows).sensitivity


def test_the_chosen_candidate_is_the_position_of_the_best():
    assert door().choose(Max(), [("y", "a"), ("a", "b"), ("y", "y")], epsilon=1.0) == 2
    assert door().choose(Max(), [("y", "y"), ("y", "a")], epsilon=1.0) == 0


@pytest.mark.parametrize(("score", "loss"), [(Max(), 1.0), (R(), 4.0)])
def test_a_claimed_sensitivity_in_a_choice(score, loss):
    """Selection by exp(epsilon q / (2 claimed)), whatever the truth; the bound is the loss of that exponent."""
    table = door()
    table.choose(score, CANDIDATES, epsilon=0.5, claimed_sensitivity=0.25, reason="as printed")
    ((_, factor),) = table._door.noise.asked
    assert factor == 0.5 / (2 * 0.25)
    entry = only(table)
    assert entry.epsilon_claimed == Fraction(1, 2)
    assert float(entry.epsilon_bound) == factor * loss
    assert (entry.claimed_sensitivity, entry.reason) == (0.25, "as printed")


@pytest.mark.parametrize(("relation", "factor"), [(ADD, 1), (REPLACE, 2)])
def test_one_candidate_moves_and_every_draw_is_paid(relation, factor):
    queries = np.array(list(product((0, 1), (0, 1, 2))), dtype=np.uint8)
    score = ClassLogScore("y", ("a", "b"), queries, 1.0)
    table = door(relation)
    chosen = table.choose(score, [], epsilon=0.25, draws=6)
    assert chosen.shape == (6,)
    assert table._door.noise.asked == [("select", pytest.approx(0.25 / (factor * 3 * math.log(2))))]
    entry = only(table)
    assert (entry.draws, entry.epsilon_bound, entry.epsilon_claimed) == (6, Fraction(3, 2), Fraction(3, 2))
    # As the paper prints it: six draws for the price of one, at its own sensitivity.
    printed = door(relation)
    printed.choose(score, [], epsilon=1.0, draws=6, claimed_epsilon=1.0, claimed_sensitivity=4.0)
    entry = only(printed)
    assert entry.epsilon_claimed == 1
    assert float(entry.epsilon_bound) == pytest.approx(6 * factor * 3 * math.log(2) / 8)


@pytest.mark.parametrize("draws", [1, 5, 7])
def test_another_number_of_draws_than_was_charged_is_refused(draws):
    table = door()
    score = ClassLogScore("y", ("a", "b"), np.zeros((6, 2), dtype=np.uint8), 1.0)
    with pytest.raises(ParameterError, match="draws="):
        table.choose(score, [], epsilon=0.5, draws=draws)
    assert not table._door.noise.asked
    assert table.ledger.epsilon_bound == draws * 0.5  # charged first


def test_nothing_to_choose_from_is_refused_unpaid():
    table = door()
    for ask in (
        lambda: table.choose(Max(), [], epsilon=1.0),
        lambda: table.noisy_scores(Max(), [], epsilon=1.0),
        lambda: table.counts([], epsilon=1.0),
    ):
        with pytest.raises(ParameterError):
            ask()
    assert not table.ledger.entries


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("score", [Entropy(), MutualInformation(), R(), LinearF(), Max(), Gini()], ids=lambda s: s.name)
def test_tables_so_small_that_nothing_can_move(score, rows):
    """With one row or none, information scores are constant under replace: sensitivity 0, and still an answer."""
    for noise in (Recorded(), make_noise("laplace", 1)):
        table = door(REPLACE, codes=CODES[:rows], noise=noise)
        candidates = [("a", "b"), ("a", "y")]
        assert table.choose(score, candidates, epsilon=0.5) in (0, 1)
        assert table.choose(score, candidates, epsilon=0.5, claimed_sensitivity=1.0) in (0, 1)
        assert np.isfinite(table.noisy_scores(score, candidates, epsilon=0.5)).all()
        assert table.ledger.epsilon_claimed == 1.5


# Noisy scores


@pytest.mark.parametrize(("relation", "sensitivity"), [(ADD, 2.0), (REPLACE, 3 * 5 / 36)])
def test_noisy_scores_share_epsilon(relation, sensitivity):
    table = door(relation)
    candidates = [("a", "b"), ("b", "a"), ("b", "y")]
    values = table.noisy_scores(R(), candidates, epsilon=0.5)
    assert values.shape == (3,)
    assert values[0] == pytest.approx(values[1])
    assert values[0] == pytest.approx(R().of(table._count([("a", "b")])[0], table.relation))
    assert table._door.noise.asked == [("reals", pytest.approx(3 * sensitivity / 0.5))]
    entry = only(table)
    assert entry.epsilon_bound == entry.epsilon_claimed == Fraction(1, 2)
    assert (entry.mechanism, entry.draws, entry.sensitivity) == ("laplace", 3, pytest.approx(sensitivity))
    assert entry.draws * entry.sensitivity / entry.scale == pytest.approx(0.5)


@pytest.mark.parametrize(("relation", "true"), [(ADD, 2.0), (REPLACE, 3 * 5 / 36)])
@pytest.mark.parametrize("claimed", [0.25, 4.0])
def test_a_claimed_sensitivity_of_scores_sets_the_noise_and_the_truth_sets_the_bound(relation, true, claimed):
    table = door(relation)
    candidates = [("a", "b"), ("b", "y")]
    table.noisy_scores(R(), candidates, epsilon=0.5, claimed_sensitivity=claimed, reason="as printed")
    assert table._door.noise.asked == [("reals", 2 * claimed / 0.5)]
    entry = only(table)
    assert (entry.epsilon_claimed, entry.reason) == (Fraction(1, 2), "as printed")
    assert (entry.sensitivity, entry.claimed_sensitivity) == (pytest.approx(true), claimed)
    assert float(entry.epsilon_bound) == pytest.approx(0.5 * true / claimed)
    assert float(entry.epsilon_bound) == pytest.approx(entry.draws * entry.sensitivity / entry.scale)


def test_a_claimed_epsilon_of_scores_touches_nothing_else():
    table = door(REPLACE)
    table.noisy_scores(R(), [("a", "b"), ("b", "y")], epsilon=0.5, claimed_epsilon=0.25)
    assert table._door.noise.asked == [("reals", pytest.approx(2 * 3 * 5 / 36 / 0.5))]
    assert (only(table).epsilon_claimed, only(table).epsilon_bound) == (Fraction(1, 4), Fraction(1, 2))
    tight = door(REPLACE, cap=0.5)
    with pytest.raises(BudgetError):  # the bound is what the cap counts, whatever is claimed
        tight.noisy_scores(R(), [("a", "b")], epsilon=0.75, claimed_epsilon=0.25)
    with pytest.raises(BudgetError):
        tight.noisy_scores(R(), [("a", "b")], epsilon=0.5, claimed_sensitivity=1e-3)
    assert not tight._door.noise.asked


def test_scores_of_many_rows_do_not_pass_as_scores_of_candidates():
    """`ClassLogScore` names its own candidates: no list of families would have bought noise of scale 0."""
    table = door()
    score = ClassLogScore("y", ("a", "b"), np.zeros((2, 2), dtype=np.uint8), 1.0)
    with pytest.raises(ParameterError):
        table.noisy_scores(score, [], epsilon=0.1)
    assert not table.ledger.entries
    with pytest.raises(ParameterError, match="other values"):
        table.noisy_scores(score, [("a",)], epsilon=0.1)
    assert not table._door.noise.asked


# The public bound on the number of rows


def test_the_number_of_rows_is_public_under_replace_only():
    assert door(REPLACE).public_rows == 6
    assert door(ADD).public_rows == 50
    assert door(ADD, schema=Schema(columns=SCHEMA.columns)).public_rows is None


@pytest.mark.parametrize("ask", ["choose", "noisy_scores"])
def test_no_sensitivity_rests_on_a_bound_that_the_table_exceeds(ask):
    """With max_rows = 5 and 6 rows, D would be g(5) and the score could move by more."""
    tight = Schema(columns=SCHEMA.columns, max_rows=5)
    table = door(schema=tight)
    with pytest.raises(ParameterError, match="max_rows"):
        getattr(table, ask)(Entropy(), [("a",), ("b",)], epsilon=1.0)
    assert not table.ledger.entries
    table.choose(Max(), CANDIDATES, epsilon=1.0)  # needs no bound
    getattr(door(REPLACE, schema=tight), ask)(Entropy(), [("a",), ("b",)], epsilon=1.0)  # n is public there
    getattr(door(schema=Schema(columns=SCHEMA.columns, max_rows=6)), ask)(Entropy(), [("a",)], epsilon=1.0)


# Derived columns


def test_a_derived_column_follows_its_rule_row_by_row_and_is_free():
    rule = np.array([[0, 1, 2], [2, 1, 0]])
    table = door()
    derived = table.derive(Column(name="c", kind="categorical", categories=("p", "q", "r")), ["a", "b"], rule)
    assert derived.schema.names == ("a", "b", "y", "c")
    assert (derived.schema.target, derived.schema.max_rows) == ("y", 50)
    assert derived.ledger is table.ledger
    assert not table.ledger.entries
    (counts,) = derived.counts([("c",)], epsilon=1.0)
    np.testing.assert_array_equal(counts, np.bincount(rule[A, B], minlength=3))
    assert len(table.ledger.entries) == 1
    (joint,) = derived.counts([("a", "b", "c")], epsilon=1.0)
    for a, b, c in np.ndindex(2, 3, 3):
        assert joint[a, b, c] == ((a == A) & (b == B)).sum() * (rule[a, b] == c)
    # The first table is as it was.
    assert table.schema is SCHEMA


def test_a_derived_column_may_have_more_codes_than_its_sources():
    many = Column(name="c", kind="integer", lower=0, upper=999, bins=1000)
    derived = door().derive(many, ["a"], np.array([7, 999]))
    (counts,) = derived.counts([("c",)], epsilon=1.0)
    assert (counts[7], counts[999], counts.sum()) == (3, 3, 6)


@pytest.mark.parametrize(
    "rule", [np.array([0, 1, 2]), np.array([0, 2]), np.array([-1, 0]), np.array([[0, 1]]), np.array(1)]
)
def test_a_rule_that_does_not_fit_is_refused(rule):
    column = Column(name="c", kind="categorical", categories=("p", "q"))
    with pytest.raises(ParameterError, match="rule"):
        door().derive(column, ["a"], rule)


def test_a_derived_column_needs_a_name_of_its_own():
    with pytest.raises(SchemaError):
        door().derive(Column(name="a", kind="categorical", categories=("p", "q")), ["a"], np.array([0, 1]))


# Other columns

BITS = Schema(
    columns=tuple(Column(name=name, kind="ordered", categories=("0", "1")) for name in ("b high", "b low", "a not")),
    max_rows=50,
)
RULES = [("b", np.array([0, 0, 1])), ("b", np.array([0, 1, 0])), ("a", np.array([1, 0]))]


def test_recoded_columns_follow_their_rules_row_by_row_and_are_free():
    table = door()
    recoded = table.recode(BITS, RULES)
    assert (recoded.schema, recoded.ledger, recoded.relation) == (BITS, table.ledger, table.relation)
    assert not table.ledger.entries
    (joint,) = recoded.counts([("b high", "b low", "a not")], epsilon=1.0)
    expected = np.zeros((2, 2, 2))
    np.add.at(expected, (B // 2, B % 2, 1 - A), 1)
    np.testing.assert_array_equal(joint, expected)
    assert len(table.ledger.entries) == 1
    assert table._door.noise.asked == recoded._door.noise.asked
    with pytest.raises(SchemaError, match="'a'"):
        recoded.counts([("a",)], epsilon=1.0)
    # The first table is as it was, and its rows are not those of the other.
    np.testing.assert_array_equal(table._codes, CODES)
    assert not np.shares_memory(recoded._codes, table._codes)


def test_recoded_columns_may_have_more_codes_than_their_sources():
    many = Schema(columns=(Column(name="c", kind="integer", lower=0, upper=999, bins=1000),))
    (counts,) = door().recode(many, [("a", np.array([7, 999]))]).counts([("c",)], epsilon=1.0)
    assert (counts[7], counts[999], counts.sum()) == (3, 3, 6)


@pytest.mark.parametrize(
    "rule", [np.array([0, 1]), np.array([0, 1, 2]), np.array([-1, 0, 1]), np.zeros((3, 1), dtype=int), np.array(1)]
)
def test_a_recoding_rule_that_does_not_fit_is_refused(rule):
    with pytest.raises(ParameterError, match="rule"):
        door().recode(BITS, [*RULES[:1], ("b", rule), *RULES[2:]])


def test_recoding_needs_one_rule_per_column_and_columns_that_exist():
    for rules in (RULES[:2], [*RULES, RULES[0]]):
        with pytest.raises(ValueError, match="zip"):
            door().recode(BITS, rules)
    with pytest.raises(SchemaError, match="nobody"):
        door().recode(BITS, [*RULES[:2], ("nobody", np.array([0, 1]))])


def test_recoded_tables_are_of_the_same_door():
    """Sizes stay public or private, raw rows stay closed, and parts stay parts."""
    for relation in RELATIONS:
        assert door(relation).recode(BITS, RULES).public_rows == door(relation).public_rows
    with pytest.raises(ParameterError, match="corrected mode"):
        door().recode(BITS, RULES).unprotected("I would like to", claimed_epsilon=1.0)
    assert door(paper=True).recode(BITS, RULES).unprotected("as printed", claimed_epsilon=1.0).shape == (6, 3)
    table = door(REPLACE)
    for part in table.split("y"):
        part.recode(BITS, RULES).counts([("a not",)], epsilon=0.25)
    assert table.ledger.epsilon_bound == 0.5


def test_networks_grow_over_recoded_columns():
    """Distributions are held by `tests/door/test_network_growth.py`."""
    with pytest.raises(ParameterError, match="Binarize"):
        door().growth(R(), ("a", "b"), max_parents=1)
    table = door(REPLACE)
    growth = table.recode(BITS, RULES).growth(R(), BITS.names, max_parents=1)
    growth.place("b low")
    assert growth.open == ["b high", "a not"]
    assert not table.ledger.entries
    child, *parents = growth.choose(epsilon=0.5)
    assert parents == ["b low"]
    assert growth.open == [{"b high": "a not", "a not": "b high"}[child]]
    ((_, factor),) = table._door.noise.asked
    assert factor == pytest.approx(0.5 / (2 * 2 * 5 / 36))
    assert (only(table).name, only(table).epsilon_bound) == ("choice by R", Fraction(1, 2))


def test_growth_refuses_before_it_charges():
    table = door().recode(BITS, RULES)
    for columns, most in ((BITS.names, 0), (("a not", "a not"), 1)):
        with pytest.raises(ParameterError, match="parent"):
            table.growth(R(), columns, max_parents=most)
    growth = table.growth(R(), BITS.names, max_parents=1)
    for name in BITS.names:
        growth.place(name)
    with pytest.raises(ParameterError, match="placed"):
        growth.choose(epsilon=1.0)
    with pytest.raises(ParameterError, match="not open"):
        growth.place("a not")
    assert not table.ledger.entries


# Parts


@pytest.mark.parametrize(("relation", "factor"), [(ADD, 1), (REPLACE, 2)])
def test_parts_are_disjoint_and_paid_once(relation, factor):
    table = door(relation)
    parts = table.split("y")
    assert len(parts) == 3  # "missing" is declared and empty, and there all the same
    assert not table.ledger.entries
    answers = [part.counts([("a", "b")], epsilon=0.25)[0] for part in parts]
    for code, answer in enumerate(answers):
        expected = np.zeros((2, 3))
        np.add.at(expected, (A[code == Y], B[code == Y]), 1)
        np.testing.assert_array_equal(answer, expected)
    assert not answers[2].any()
    (whole,) = door().counts([("a", "b")], epsilon=1.0)
    np.testing.assert_array_equal(sum(answers), whole)
    # Inside the parts one record comes or goes, under both relations; a replaced one may touch two of them.
    assert [part.relation for part in parts] == [ADD] * 3
    assert {scale for _, scale in table._door.noise.asked} == {4.0}
    assert table.ledger.epsilon_bound == factor * 0.25
    parts[0].counts([("a",)], epsilon=0.125)
    assert table.ledger.epsilon_bound == factor * 0.375
    parts[1].counts([("a",)], epsilon=0.125)
    assert table.ledger.epsilon_bound == factor * 0.375


def test_the_sizes_of_parts_are_not_public():
    for relation in RELATIONS:
        assert [part.public_rows for part in door(relation).split("y")] == [50] * 3
    table = door(REPLACE, schema=Schema(columns=SCHEMA.columns))
    with pytest.raises(ParameterError, match="max_rows"):
        table.split("y")[0].choose(Entropy(), [("a",)], epsilon=1.0)


def test_scores_inside_parts_are_those_of_add_remove():
    table = door(REPLACE)
    part = table.split("y")[1]
    part.choose(Max(), CANDIDATES, epsilon=0.5)
    assert table._door.noise.asked == [("select", 0.5)]  # the monotone form
    assert table.ledger.epsilon_bound == 1.0
    values = part.noisy_scores(R(), [("a", "b")], epsilon=0.5)
    assert values == pytest.approx([R().of(np.array([[0, 0, 1], [0, 2, 0]]), part.relation)])


def test_parts_of_parts_and_of_derived_columns():
    table = door(REPLACE)
    halves = table.derive(
        Column(name="c", kind="categorical", categories=("p", "q")), ["b"], np.array([0, 1, 1])
    ).split("c")
    quarters = [part for half in halves for part in half.split("a")]
    counts = [part.counts([("y",)], epsilon=0.5)[0] for part in quarters]
    assert len(quarters) == 4
    assert [count.sum() for count in counts] == [1, 1, 2, 2]
    assert table.ledger.epsilon_bound == 1.0  # doubled once, not once per level
    with pytest.raises(ParameterError, match="parallel group"):
        table.ledger.children[0].charge(only(quarters[0]))


def test_a_cap_counts_the_largest_part_only():
    table = door(cap=0.5)
    first, second, _ = table.split("y")
    first.counts([("a",)], epsilon=0.5)
    second.counts([("a",)], epsilon=0.5)
    with pytest.raises(BudgetError):
        second.counts([("a",)], epsilon=0.125)
    assert table.ledger.epsilon_bound == 0.5
    tight = door(REPLACE, cap=0.5).split("y")[0]
    with pytest.raises(BudgetError):
        tight.counts([("a",)], epsilon=0.375)
    assert not tight._door.noise.asked


# Raw rows


def test_raw_rows_are_for_papers_only():
    table = door()
    with pytest.raises(ParameterError, match="corrected mode"):
        table.unprotected("I would like to", claimed_epsilon=1.0)
    assert not table.ledger.entries
    for part in [*table.split("a"), table.derive(Column(name="c", kind="categorical", categories=("p",)), [], ONE)]:
        with pytest.raises(ParameterError, match="corrected mode"):
            part.unprotected("I would like to", claimed_epsilon=1.0)


ONE = np.array(0)


def test_raw_rows_cost_infinity_and_are_a_copy():
    table = door(paper=True)
    codes = table.unprotected("the paper says so", claimed_epsilon=1.0)
    np.testing.assert_array_equal(codes, CODES)
    codes[:] = 0
    np.testing.assert_array_equal(table._codes, CODES)
    assert (table.ledger.epsilon_claimed, table.ledger.epsilon_bound) == (1.0, math.inf)
    entry = only(table)
    assert (entry.mechanism, entry.reason, entry.scale) == ("none", "the paper says so", 0.0)
    assert table.split("y")[1].unprotected("again", claimed_epsilon=0).shape == (3, 3)


def test_exact_answers_cost_infinity_once_and_have_an_account_of_their_own():
    table = door(paper=True)
    exact = table.without_noise("the paper says so", claimed_epsilon=1.0)
    entry = only(table)
    assert (table.ledger.epsilon_claimed, table.ledger.epsilon_bound) == (1.0, math.inf)
    assert (entry.mechanism, entry.name, entry.reason, entry.scale) == (
        "none",
        "exact answers",
        "the paper says so",
        0.0,
    )
    assert exact.schema is table.schema
    assert exact.ledger is not table.ledger
    (counts,) = exact.counts([("a", "b")], epsilon=1e-9)
    np.testing.assert_array_equal(counts, [[1, 1, 1], [1, 2, 0]])
    candidates = [("y", "b"), ("a", "y"), ("b", "y")]
    values = exact.noisy_scores(R(), candidates, epsilon=1e-9)
    np.testing.assert_allclose(values, R().values(table._count, candidates, exact.relation))
    assert exact.choose(R(), candidates, epsilon=1e-9) == values.argmax()
    grown = exact.recode(BITS, RULES).growth(R(), BITS.names, max_parents=2)
    while grown.open:
        grown.choose(epsilon=1e-9)
    assert len(table.ledger.entries) == 1
    assert not table._door.noise.asked
    with pytest.raises(ParameterError, match="corrected mode"):  # it does not open another door
        exact.unprotected("and again", claimed_epsilon=0)


def test_exact_answers_are_for_papers_only():
    table = door()
    with pytest.raises(ParameterError, match="corrected mode"):
        table.without_noise("I would like to", claimed_epsilon=1.0)
    assert not table.ledger.entries
    capped = door(cap=100.0, paper=True)
    with pytest.raises(BudgetError):
        capped.without_noise("because", claimed_epsilon=1.0)
    assert not capped.ledger.entries


# The boundary


class Keeping(Noise):
    """Gives its input back as it is, and keeps it: the most careless source there could be."""

    on_counts = "keeping"
    label = "keeping"

    def counts(self, counts, scale):
        return counts

    def reals(self, values, scale, **_):
        return values

    def select(self, scores, factor):
        return np.argmax(scores, axis=-1)


def test_answers_are_no_views_of_the_private_rows():
    codes = CODES.copy(order="F")
    table = door(codes=codes, noise=Keeping(), paper=True)
    derived = table.derive(Column(name="c", kind="categorical", categories=("p", "q")), ["a"], np.array([0, 1]))
    answers = [
        *table.counts([(), ("a",), ("a", "b")], epsilon=1.0),
        table.choose(Max(), CANDIDATES, epsilon=1.0),
        table.noisy_scores(Max(), CANDIDATES, epsilon=1.0),
        table.unprotected("as printed", claimed_epsilon=1.0),
        derived._codes,
        *(part._codes for part in table.split("a")),
    ]
    for answer in answers:
        assert not np.shares_memory(answer, codes)
        if isinstance(answer, np.ndarray) and answer.ndim:
            answer[...] = 1
    np.testing.assert_array_equal(codes, CODES)


def test_nothing_public_leads_to_the_rows():
    """The underscore is the boundary.

    Python cannot hide an attribute. What begins with an underscore is the door's own; a method that touches it breaks
    the contract, and the replay test of `tests/contract` finds it out. Everything else must be the same for any rows.
    """
    for relation in RELATIONS:
        first, second = door(relation), door(relation, codes=OTHER)
        public = [name for name in dir(first) if not name.startswith("_")]
        data = [name for name in public if not callable(getattr(first, name))]
        assert sorted(data) == ["ledger", "public_rows", "relation", "schema", "whole_noise"]
        questions = "cell_variance choose counts derive growth noisy_scores randomize recode split trees"
        assert " ".join(sorted(set(public) - set(data))) == f"{questions} unprotected without_noise"
        assert (first.public_rows, first.relation, first.schema) == (second.public_rows, second.relation, second.schema)
        assert not hasattr(first, "__len__")
        assert not hasattr(first, "__getitem__")
        assert not hasattr(first, "__iter__")
        assert "array" not in repr(first)
        assert "array" not in repr(first.ledger)


def test_codes_of_another_schema_are_refused():
    for codes in (CODES[:, :2], CODES[:, 0]):
        with pytest.raises(SchemaError, match="columns"):
            door(codes=codes)


def test_every_answer_goes_through_the_one_place_that_replay_replaces(seen):
    table = PrivateTable(CODES, SCHEMA, Ledger(ADD), Recorded(), unprotected_allowed=True)
    for part in [table, *table.split("y")[:1]]:
        part.counts([("a",)], epsilon=1.0)
        part.choose(Max(), CANDIDATES, epsilon=1.0)
        part.noisy_scores(Max(), CANDIDATES, epsilon=1.0)
        part.unprotected("as printed", claimed_epsilon=1.0)
    assert seen == ["counts", "choose", "noisy_scores", "unprotected"] * 2


def test_a_score_of_ones_own_is_charged_by_what_it_says_of_itself():
    class Two(Score):
        name = "two rows of scores"

        def values(self, count, candidates, relation):
            return np.array([[0.0, 1.0, 2.0], [5.0, 1.0, 2.0]])

        def bounds(self, shapes, relation, rows):
            return Bounds(sensitivity=3.0, loss=6.0, rounding=0.0)

    table = door()
    np.testing.assert_array_equal(table.choose(Two(), [], epsilon=1.5, draws=2), [2, 0])
    assert table._door.noise.asked == [("select", 0.25)]
    assert only(table).epsilon_bound == 3
