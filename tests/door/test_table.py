"""The private table: answers, derived and recoded columns, parts, raw rows, and its boundary."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import private_rows
import pytest
from private_rows import ADD, BITS, CANDIDATES, CODES, RELATIONS, REPLACE, RULES, SCHEMA, Listening, door, only

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import BudgetError, ParameterError, SchemaError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import ClassLogScore, Entropy, Gini, LinearF, Max, MutualInformation, R

A, B, Y = CODES.T
PAIR = Column(name="c", kind="categorical", categories=("p", "q"))
MANY = Column(name="c", kind="integer", lower=0, upper=999, bins=1000)
BOUNDLESS = Schema(columns=SCHEMA.columns)


def counted(*columns, sizes):
    table = np.zeros(sizes)
    np.add.at(table, columns, 1)
    return table


def test_answers_are_the_tables_the_best_candidates_and_their_values():
    table = door()
    rows, one, two, three = table.counts([(), ("a",), ("a", "b"), ("y", "a", "b")], epsilon=1.0)
    assert (rows.shape, float(rows), one.tolist(), two.tolist()) == ((), 6.0, [3, 3], [[1, 1, 1], [1, 2, 0]])
    np.testing.assert_array_equal(three, counted(Y, A, B, sizes=(3, 2, 3)))
    assert table.choose(Max(), [("y", "a"), ("a", "b"), ("y", "y")], epsilon=1.0) == 2
    assert table.choose(Max(), [("y", "y"), ("y", "a")], epsilon=1.0) == 0
    values = table.noisy_scores(R(), [("a", "b"), ("b", "a"), ("b", "y")], epsilon=0.5)
    assert values.shape == (3,)
    assert values[0] == pytest.approx(values[1]) == pytest.approx(R().score_table(two.astype(int), table.relation))
    assert float(door(codes=CODES[:0]).counts([()], epsilon=1.0)[0]) == 0
    for kind in ("laplace", "geometric"):
        (noisy,) = door(noise=make_noise(kind, 1)).counts([()], epsilon=1e-3)
        assert noisy.shape == ()
        assert noisy != 6


def test_tiny_epsilons_give_hardly_any_information():
    """At a huge scale both geometric draws would stop at the largest integer, and cancel."""
    for scale in (1e16, 1e18, 1e20, 1e300):
        noisy = make_noise("geometric", 1).counts(np.arange(1_000), scale)
        assert np.median(np.abs(noisy)) > scale / 10
        assert (noisy == np.round(noisy)).all()


@pytest.mark.parametrize("kind", ["auto", "geometric", "laplace"])
def test_too_wide_noise_is_charged_and_independent_of_the_rows(kind):
    """An answer that depends on the rows would have no noise to hide it."""
    seed = None if kind == "auto" else 1
    for codes in (CODES, CODES[:0]):
        table = door(codes=codes, noise=make_noise(kind, seed))
        answers = [
            *table.counts([("a",), ("a", "b")], epsilon=2.0**-54),
            *table.counts([("a",)], epsilon=5e-324, weights=[1.0]),
            table.noisy_scores(Max(), [("y", "a"), ("a", "b")], epsilon=2.0**-54),
            *table.histograms([("a",), ("b",)], epsilon=2.0**-54),
        ]
        assert [answer.shape for answer in answers] == [(2,), (2, 3), (2,), (2,), (2,), (3,)]
        assert not any(answer.any() for answer in answers)
        assert {entry.scale for entry in table.ledger.entries} == {math.inf}
        assert {*table.ledger.totals} == {3 * Fraction(2) ** -54 + Fraction(5e-324)}
    (noisy,) = door(noise=make_noise(kind, seed)).counts([("a",)], epsilon=2.0**-50)
    assert np.abs(noisy).min() > 100  # here it is drawn, as wide as can be


def test_every_draw_is_charged_unless_the_source_claims_otherwise():
    """As published: six draws for the loss of one, at the source's sensitivity."""
    score = ClassLogScore("y", ("a", "b"), private_rows.PEOPLE, 1.0)
    for relation, moved in RELATIONS.items():
        published = door(relation)
        chosen = published.choose(score, [], epsilon=1.0, draws=6, claimed_epsilon=1.0, claimed_sensitivity=4.0)
        assert chosen.shape == (6,)
        assert only(published).epsilon_claimed == 1
        assert float(only(published).epsilon_bound) == pytest.approx(6 * moved * 3 * math.log(2) / 8)
    for draws in (1, 5, 7):  # charged first, and then refused
        table = door()
        with pytest.raises(ParameterError, match="draws="):
            table.choose(score, [], epsilon=0.5, draws=draws)
        assert not table._door.noise.scales
        assert table.ledger.epsilon_bound == draws * 0.5


def test_scores_of_many_rows_do_not_pass_as_scores_of_candidates():
    """`ClassLogScore` names its own candidates: no list of families would have bought noise of scale 0."""
    table, score = door(), ClassLogScore("y", ("a", "b"), private_rows.PEOPLE[:2], 1.0)
    for candidates, cause in (([], "is empty"), ([("a",)], "one value per")):
        assert not table.ledger.entries
        with pytest.raises(ParameterError, match=cause):
            table.noisy_scores(score, candidates, epsilon=0.1)
    assert not table._door.noise.scales


def test_data_sets_too_small_for_any_sensitivity():
    """With one row or none, information scores are constant under replace: sensitivity 0."""
    candidates, scores = [("a", "b"), ("a", "y")], (Entropy(), MutualInformation(), R(), LinearF(), Max(), Gini())
    for rows, score, noise in product((0, 1), scores, (Listening(), make_noise("laplace", 1))):
        table = door(REPLACE, codes=CODES[:rows], noise=noise)
        for how in ({}, {"claimed_sensitivity": 1.0}):
            assert table.choose(score, candidates, epsilon=0.5, **how) in (0, 1)
        assert np.isfinite(table.noisy_scores(score, candidates, epsilon=0.5)).all()
        assert table.ledger.epsilon_claimed == 1.5


def test_derived_and_recoded_columns_follow_their_rules_row_by_row_and_are_free():
    rule, three = np.array([[0, 1, 2], [2, 1, 0]]), Column(name="c", kind="categorical", categories=("p", "q", "r"))
    many, codes = np.array([7, 999]), np.array([7, 7, 999, 999, 7, 999])  # more codes than the source
    for make, names, columns in (
        (lambda table: table.derive(three, ["a", "b"], rule), ("a", "b", "c"), [A, B, rule[A, B]]),
        (lambda table: table.derive(MANY, ["a"], many), ("c",), [codes]),
        (lambda table: table.recode(BITS, RULES), BITS.names, [B // 2, B % 2, 1 - A]),
        (lambda table: table.recode(Schema(columns=(MANY,)), [("a", many)]), ("c",), [codes]),
    ):
        table = door()
        made = make(table)
        assert (made.ledger, made.relation, made._door.noise) == (table.ledger, table.relation, table._door.noise)
        (joint,) = made.counts([names], epsilon=1.0)
        np.testing.assert_array_equal(joint, counted(*columns, sizes=[made.schema[name].size for name in names]))
        assert len(table.ledger.entries) == 1
        np.testing.assert_array_equal(table._rows.codes, CODES)  # the first table is as it was
    derived = door().derive(three, ["a", "b"], rule)
    assert (derived.schema.names, derived.schema.target, derived.schema.max_rows) == (("a", "b", "y", "c"), "y", 50)


def test_rules_and_codes_that_do_not_fit_are_refused():
    table = door()
    for rule in ([0, 1, 2], [0, 2], [-1, 0], [[0, 1]], 1):
        with pytest.raises(ParameterError, match="rule"):
            table.derive(PAIR, ["a"], np.array(rule))
        with pytest.raises(ParameterError, match="rule"):
            table.recode(BITS, [*RULES[:2], ("a", np.array(rule))])
    with pytest.raises(ValueError, match="zip"):
        table.recode(BITS, RULES[:2])
    for codes in (CODES[:, :2], CODES[:, 0]):
        with pytest.raises(SchemaError, match="columns"):
            door(codes=codes)
    with pytest.raises(SchemaError, match="'a'"):
        table.recode(BITS, RULES).counts([("a",)], epsilon=1.0)


def test_sizes_are_public_under_replace_only_and_recoded_tables_are_of_the_same_door():
    for make in (lambda table: table, lambda table: table.recode(BITS, RULES)):
        assert [make(door(relation)).public_rows for relation in (REPLACE, ADD)] == [6, 50]
    assert door(ADD, schema=BOUNDLESS).public_rows is None
    assert door(paper=True).recode(BITS, RULES).read_unprotected("as printed", claimed_epsilon=1.0).shape == (6, 3)
    table = door(REPLACE)
    for part in table.partition_by("y"):
        part.recode(BITS, RULES).counts([("a not",)], epsilon=0.25)
    assert table.ledger.epsilon_bound == 0.5


def test_parts_are_disjoint_and_charged_once():
    """In a part a row is added or removed; a replaced row may be in two parts."""
    for relation, moved in RELATIONS.items():
        table = door(relation, cap=0.5 * moved)
        parts = table.partition_by("y")
        assert len(parts) == 3  # "missing" is declared and empty, and there all the same
        assert not table.ledger.entries
        for code, part in enumerate(parts):
            (answer,) = part.counts([("a", "b")], epsilon=0.25)
            np.testing.assert_array_equal(answer, counted(A[code == Y], B[code == Y], sizes=(2, 3)))
        assert [part.relation for part in parts] == [ADD] * 3
        assert [part.public_rows for part in parts] == [50] * 3  # sizes of parts are not public
        assert set(table._door.noise.scales) == {4.0}
        assert table.ledger.epsilon_bound == moved * 0.25
        for part, total in ((parts[0], 0.375), (parts[1], 0.375), (parts[1], 0.5)):
            part.counts([("a",)], epsilon=0.125)
            assert table.ledger.epsilon_bound == moved * total
        scales = list(table._door.noise.scales)
        with pytest.raises(BudgetError):  # a cap counts the largest part only, and that one is spent
            parts[1].counts([("a",)], epsilon=0.125)
        assert (table.ledger.epsilon_bound, table._door.noise.scales) == (moved * 0.5, scales)


def test_parts_have_the_bound_on_rows_of_their_table():
    """Under replace the bound is the number of all rows, whatever the schema declares."""
    with pytest.raises(ParameterError, match="max_rows"):
        door(ADD, schema=BOUNDLESS).partition_by("y")[0].choose(Entropy(), [("a",)], epsilon=1.0)
    for schema in (BOUNDLESS, replace(SCHEMA, max_rows=2)):
        table = door(REPLACE, schema=schema)
        for part in table.partition_by("y"):
            part.choose(Entropy(), [("a",)], epsilon=1.0)
        of_all = door(ADD, schema=replace(SCHEMA, max_rows=len(CODES)))
        of_all.choose(Entropy(), [("a",)], epsilon=1.0)
        assert table._door.noise.scales == of_all._door.noise.scales * 3


def test_scores_inside_parts_are_those_of_add_remove_and_parts_have_parts():
    table = door(REPLACE)
    part = table.partition_by("y")[1]
    part.choose(Max(), CANDIDATES, epsilon=0.5)
    assert table._door.noise.scales == [2]  # the monotone form
    assert table.ledger.epsilon_bound == 1.0
    values = part.noisy_scores(R(), [("a", "b")], epsilon=0.5)
    assert values == pytest.approx([R().score_table(np.array([[0, 0, 1], [0, 2, 0]]), part.relation)])
    table = door(REPLACE)
    halves = table.derive(PAIR, ["b"], np.array([0, 1, 1])).partition_by("c")
    quarters = [part for half in halves for part in half.partition_by("a")]
    assert [part.counts([("y",)], epsilon=0.5)[0].sum() for part in quarters] == [1, 1, 2, 2]
    assert table.ledger.epsilon_bound == 1.0  # doubled once, not once per level
    with pytest.raises(ParameterError, match="parallel group"):
        table.ledger.children[0].charge(only(quarters[0]))


def test_raw_rows_and_noiseless_answers_need_published_mode_and_no_cap():
    table, capped = door(), door(cap=100.0, paper=True)
    noiseless = door(paper=True).noiseless("as printed", claimed_epsilon=1.0)  # it does not open another door
    derived = table.derive(PAIR, [], np.array(0)), table.recode(BITS, RULES)
    for part in (table, *table.partition_by("a"), *derived, noiseless):
        for ask in (part.read_unprotected, part.noiseless):
            with pytest.raises(ParameterError, match="Corrected mode"):
                ask("I would like to", claimed_epsilon=1.0)
    for ask in (capped.read_unprotected, capped.noiseless):
        with pytest.raises(BudgetError):
            ask("because", claimed_epsilon=1.0)
    assert not table.ledger.entries
    assert not capped.ledger.entries


def test_raw_rows_and_noiseless_answers_cost_infinity_once():
    """Raw rows are a copy, and noiseless answers have an account of their own."""
    table, other = door(paper=True), door(paper=True)
    codes = table.read_unprotected("the paper says so", claimed_epsilon=1.0)
    np.testing.assert_array_equal(codes, CODES)
    codes[:] = 0
    np.testing.assert_array_equal(table._rows.codes, CODES)
    noiseless = other.noiseless("the paper says so", claimed_epsilon=1.0)
    for each, name in ((table, "raw rows"), (other, "noiseless answers")):
        assert (each.ledger.epsilon_claimed, each.ledger.epsilon_bound) == (1.0, math.inf)
        entry = only(each)
        text = (entry.mechanism, entry.name, entry.reason, entry.scale)
        assert text == ("none", name, "the paper says so", 0.0)
    assert table.partition_by("y")[1].read_unprotected("again", claimed_epsilon=0).shape == (3, 3)
    (counts,) = noiseless.counts([("a", "b")], epsilon=1e-9)
    np.testing.assert_array_equal(counts, [[1, 1, 1], [1, 2, 0]])
    candidates = [("y", "b"), ("a", "y"), ("b", "y")]
    values = noiseless.noisy_scores(R(), candidates, epsilon=1e-9)
    np.testing.assert_allclose(values, R().values(other._marginals, candidates, noiseless.relation))
    assert noiseless.choose(R(), candidates, epsilon=1e-9) == values.argmax()
    noiseless.recode(BITS, RULES).grow_network(R(), BITS.names, max_parents=2).choose(epsilon=1e-9)
    assert len(other.ledger.entries) == 1
    assert not other._door.noise.scales


def test_answers_are_no_views_of_the_private_rows():
    """Even of the most careless source there could be, which gives its input back as it is."""

    class Keeping(Listening):
        def counts(self, counts, scale):
            return counts

        def reals(self, values, scale, **_):
            return values

    codes = CODES.copy(order="F")
    table = door(codes=codes, noise=Keeping(), paper=True)
    answers = [
        *table.counts([("a",), ("a", "b")], epsilon=1.0),
        table.noisy_scores(Max(), CANDIDATES, epsilon=1.0),
        table.read_unprotected("as printed", claimed_epsilon=1.0),
        table.derive(PAIR, ["a"], np.array([0, 1]))._rows.codes,
        *(part._rows.codes for part in table.partition_by("a")),
    ]
    for answer in answers:
        answer[...] = 1
    np.testing.assert_array_equal(codes, CODES)


def test_nothing_public_leads_to_the_rows():
    """Names with an underscore are the door's own; all others are equal for all rows."""
    questions = (
        "cell_error cell_variance choose count_scale counts derive grow_network histogram_spreads histograms "
        "moments noiseless noisy_scores number_codes partition_by prefetch randomize ranks read_unprotected "
        "recode selection_rate trees"
    )
    for relation in RELATIONS:
        first, second = door(relation), door(relation, codes=private_rows.OTHER)
        public = [name for name in dir(first) if not name.startswith("_")]
        data = [name for name in public if not callable(getattr(first, name))]
        named = ["ledger", "persons", "public_rows", "relation", "rows_per_person", "schema", "whole_noise"]
        assert sorted(data) == named
        assert " ".join(sorted(set(public) - set(data))) == questions
        assert (first.public_rows, first.relation, first.schema) == (second.public_rows, second.relation, second.schema)
        assert "array" not in repr(first) + repr(first.ledger)
