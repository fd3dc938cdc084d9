"""DiffGen: its shares and ledger by hand, a greedy search in plain Python, and its scores on all small tables."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from grouped import (
    FRAME,
    ONE,
    RECORDS,
    RELATIONS,
    SCHEMA,
    A,
    C,
    Y,
    answers,
    axis,
    holds_no_more_leaves,
    make_frame,
    rows_of,
)

from dpcore.accounting.relation import Relation
from dpcore.domain.column import MISSING, Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.mechanisms.scores import InfoGain, IntervalSplit, Max, Specialization
from dpcore.methods import DiffGen


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    return DiffGen(**{"random_state": 0, **parameters}).fit(frame, schema=schema)


def choices(method):
    return [entry for entry in method.ledger_.entries if entry.mechanism == "exponential"]


# Shares


def numbers(bins, **more):
    return tuple(Column(name=f"n{i}", kind="continuous", lower=0, upper=1, bins=b, **more) for i, b in enumerate(bins))


@pytest.mark.parametrize(
    ("bins", "rounds", "share"),
    [((8, 8), 4, Fraction(1, 20)), ((8,), 10, Fraction(1, 42)), ((8, 1), 4, Fraction(1, 18)), ((), 4, Fraction(1, 16))],
)
@pytest.mark.parametrize("missing", [True, False])
def test_a_share_is_epsilon_by_2_n_and_4_h(bins, rounds, share, missing):
    """A numeric column of one bin cannot be cut, so that it does not count."""
    schema = Schema(columns=(A, *numbers(bins, missing=missing), Y), target="y")
    method = fit(pd.DataFrame(columns=list(schema.names), dtype=object), schema=schema, rounds=rounds)
    spent = [entry.epsilon_of_noise for entry in choices(method)]
    assert set(spent) == {share}
    assert method.ledger_.epsilon_of_noise == 1
    (counts,) = [entry for entry in method.ledger_.entries if entry.mechanism == "laplace"]
    assert counts.epsilon_of_noise >= Fraction(1, 2)


def questions(method):
    """Scope, epsilon and relation of every question, as the ledger tells them."""
    frame = method.ledger_.to_frame()
    return list(zip(frame["scope"], frame["mechanism"], frame["epsilon_of_noise"], frame["relation"], strict=True))


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ledger_by_hand(relation, watched):
    """The class hangs on n >= 4 and is cut there; the halves then are cut in parallel; no third choice is left."""
    n = np.repeat(range(6), 5)
    method = fit(rows_of(n, np.where(n >= 4, "yes", "no")), schema=ONE, relation=relation, rounds=2)
    share = 1 / (2 * (1 + 4))
    half = share if relation == "add_remove" else share / 2  # a replaced row may leave one half and enter the other
    # Four cuts into one side, each as good as the other: the first; and of 4 and 5 there is one place to cut.
    assert questions(method) == [
        ("", "exponential", pytest.approx(share), relation),  # where to cut 0 to 5; then there is one candidate
        ("halves of n 0–5 / left", "exponential", pytest.approx(half), "add_remove"),
        ("halves of n 0–5 / right", "exponential", pytest.approx(half), "add_remove"),
        ("", "exponential", pytest.approx(share), relation),  # which half is divided: 0 to 3
        ("halves of n 0–3 / right", "exponential", pytest.approx(half), "add_remove"),  # 0 alone cannot be cut
        ("", "laplace", pytest.approx(1 - 4 * share), relation),
    ]
    assert method.ledger_.epsilon_of_noise == method.ledger_.epsilon_claimed == 1
    assert method.steps_ == [("n", "0–5"), ("n", "0–3")]
    assert axis(method, "n").names == ("0", "1–3", "4–5")
    assert [candidates for candidates, _ in watched.chosen] == [5, 3, 1, 2, 2]
    # exp(epsilon q) under add_remove, where Max only rises; exp(epsilon q / 2) where a replaced row moves it both ways
    whole = share if relation == "add_remove" else share / 2
    assert [factor for _, factor in watched.chosen] == pytest.approx([whole, half, half, whole, half])
    person = 2 if relation == "replace" else 1
    assert watched.counted == [(6, pytest.approx(person / (1 - 4 * share)))]
    root = 0.0 if relation == "replace" else math.inf  # n is public there, and the counts are moved to it
    assert method.tree_.variances == [root, pytest.approx(2 * (person / (1 - 4 * share)) ** 2)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("classes", "spread"), [(("no", "yes"), 1), (("no", "yes", "both", "none"), 2), (("no",), 1)])
def test_information_gain_pays_for_its_range(classes, spread, relation, watched):
    schema = Schema(columns=(A, C, Column(name="y", kind="categorical", categories=classes)), target="y")
    fit(FRAME.assign(y="no"), schema=schema, score="IG", rounds=1, relation=relation)
    assert watched.chosen == [(2, pytest.approx(1 / 4 / (2 * spread)))]


@pytest.mark.parametrize(
    ("rounds", "score", "relation"),
    [(1, "Max", "replace"), (3, "IG", "replace"), (30, "Max", "add_remove"), (30, "IG", "replace")],
)
def test_epsilon_is_spent_to_the_last(rounds, score, relation):
    method = fit(rounds=rounds, score=score, relation=relation, epsilon=0.7)
    assert method.ledger_.epsilon_of_noise == method.ledger_.epsilon_claimed == 0.7
    counts = method.ledger_.entries[-1]
    assert counts.mechanism == "laplace"
    assert counts.epsilon_of_noise >= Fraction(0.7) / 2
    if rounds == 30:  # all is divided: what is left over goes to the counts
        assert method.tree_.leaves.shape == SCHEMA.sizes
        assert counts.epsilon_of_noise > Fraction(0.7) * 3 / 4


def test_paper_mode_claims_epsilon_and_proves_nothing():
    method = fit(mode="paper")
    assert method.ledger_.epsilon_claimed == 1
    assert method.ledger_.epsilon_of_noise == math.inf
    own = [entry for entry in method.ledger_.entries if entry.mechanism == "none"]
    assert own
    assert all((entry.epsilon_claimed, entry.epsilon_of_noise) == (0, math.inf) and entry.reason for entry in own)
    chosen = choices(method)
    assert len(own) == sum("halves" in scope for scope, mechanism, *_ in questions(method) if mechanism == "none") + 1
    half = [float(entry.epsilon_claimed) / 2 for entry in chosen]  # it does not use that Max only rises
    assert [float(entry.epsilon_of_noise) for entry in chosen] == pytest.approx(half)


# A greedy search in plain Python


def max_of(groups, classes):
    table = Counter(zip(groups, classes, strict=True))
    return sum(max(table[group, c] for c in set(classes)) for group in set(groups))


def gain_of(groups, classes):
    def entropy(values):
        shares = np.array(list(Counter(values).values())) / max(len(values), 1)
        return -(shares * np.log2(shares)).sum()

    parts = [[c for g, c in zip(groups, classes, strict=True) if g == group] for group in set(groups)]
    return entropy(classes) - sum(len(part) * entropy(part) for part in parts) / max(len(classes), 1)


def worth(column, divided, codes, target, rate):
    """The score of dividing the codes of one value into those of its children."""
    group = {code: i for i, part in enumerate(divided) for code in part}
    inside = [(group[c], y) for c, y in zip(codes[column], target, strict=True) if c in group]
    return rate([g for g, _ in inside], [y for _, y in inside])


def greedy(codes, target, rounds, rate):
    """Per column its cut. A value is (codes, the parts that it falls into)."""
    tree = {(0, 1, 2, 3): [(0, 1), (2, 3)], (0, 1): [(0,), (1,)], (2, 3): [(2,), (3,)], "c": [(0,), (1,), (2,)]}

    def cut_of(interval):
        if len(interval) < 2:
            return []
        cuts = [(interval[:i], interval[i:]) for i in range(1, len(interval))]
        return max(cuts, key=lambda cut: round(worth("n", cut, codes, target, rate), 9))

    whole = tuple(range(6))
    cuts = {
        "a": [((0, 1, 2, 3), tree[0, 1, 2, 3])],
        "n": [(whole, cut_of(whole))],
        "c": [((0, 1, 2), tree["c"])],
    }
    for _ in range(rounds):
        open_ = [(name, value) for name, values in cuts.items() for value in values if value[1]]
        if not open_:
            break
        scores = [round(worth(name, value[1], codes, target, rate), 9) for name, value in open_]
        name, value = open_[int(np.argmax(scores))]
        below = [
            (part, cut_of(part) if name == "n" else tree.get(part, []) if name == "a" else []) for part in value[1]
        ]
        at = cuts[name].index(value)
        cuts[name][at : at + 1] = below
    return {name: [value for value, _ in values] for name, values in cuts.items()}


@pytest.mark.parametrize(("score", "rate"), [("Max", max_of), ("IG", gain_of)])
@pytest.mark.parametrize(("seed", "rounds", "relation"), [(0, 3, "add_remove"), (1, 5, "replace"), (2, 8, "replace")])
def test_without_noise_it_is_a_greedy_search(seed, rounds, score, rate, relation, watched):
    frame = make_frame(60, seed)
    encoded = SCHEMA.encode(frame).astype(int)
    codes, target = dict(zip("anc", encoded.T, strict=False)), encoded[:, 3].tolist()
    expected = greedy(codes, target, rounds, rate)
    method = fit(frame, rounds=rounds, score=score, relation=relation)
    assert len(method.steps_) == rounds
    for name, values in expected.items():
        blocks = axis(method, name).blocks
        assert [tuple(np.flatnonzero(blocks == i)) for i in range(blocks.max() + 1)] == values


def test_a_huge_epsilon_cuts_where_the_classes_part():
    n = np.arange(60) % 6
    frame = FRAME.head(60).assign(n=n, y=np.where(n >= 4, "yes", "no"))
    method = fit(frame, epsilon=1e6, rounds=1)
    assert method.steps_ == [("n", "0–5")]
    assert axis(method, "n").names == ("0–3", "4–5")
    assert axis(method, "a").names == ("*",)
    np.testing.assert_allclose(method.leaf_counts_, [40, 0, 0, 20], atol=1e-3)
    made = method.sample()
    assert len(made) == 60
    assert ((made["n"] >= 4) == (made["y"] == "yes")).all()
    assert method.generalized().to_dict("records") == [
        {"n": "0–3", "y": "no", "(rows)": 40},
        {"n": "4–5", "y": "yes", "(rows)": 20},
    ]


# Scores, on all small tables


# Values: all of x in three; 1 and 2 of x, which 0 is outside of; z; and an x of which two parts are one
DIVISIONS = [("x", np.arange(3)), ("x", np.array([-1, 0, 1])), ("z", np.arange(2)), ("x", np.array([0, 1, 1]))]
INNER = {"target": "y", "classes": 2}
SCORES = {
    "specialize": lambda rate: Specialization(**INNER, rated_by=rate, divisions=DIVISIONS),
    "cut": lambda rate: IntervalSplit(**INNER, rated_by=rate, column="x", low=0, high=3),
    "cut a part": lambda rate: IntervalSplit(**INNER, rated_by=rate, column="x", low=1, high=3),
}


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("rate", [Max(), InfoGain()], ids=lambda rate: rate.name)
@pytest.mark.parametrize("name", SCORES)
def test_scores_move_no_more_than_they_say_on_all_small_tables(name, rate, relation):
    """Rows that enter a value, leave it, move inside it, or lie outside."""
    score = SCORES[name](rate)
    values = {
        rows: score.values(answers(rows), [], relation)
        for size in range(4)
        for rows in combinations_with_replacement(RECORDS, size)
    }
    changes = []
    for rows, before in values.items():
        if len(rows) < 3:
            after = np.array([values[tuple(sorted([*rows, record]))] for record in RECORDS])
            step = after - before if relation is Relation.ADD_REMOVE else after[:, None] - after[None]
            changes.append(step.reshape(-1, len(before)))
    moved = np.concatenate(changes)
    sensitivity = score.bounds([], relation, None).sensitivity
    assert np.abs(moved).max() == pytest.approx(sensitivity)  # no more, and no less
    loss = score.bounds([], relation, None).loss
    # exp(t q) loses what a score rises against the largest fall of another; all of a neighbor's moves at once
    assert np.ptp(moved, axis=1).max() <= loss + 1e-12
    if loss < 2 * sensitivity:
        assert moved.min() >= 0
        assert (rate.name, relation) == ("Max", Relation.ADD_REMOVE)
        assert loss == sensitivity


@pytest.mark.parametrize(("rate", "by_hand"), [(Max(), max_of), (InfoGain(), gain_of)], ids=["Max", "IG"])
def test_scores_look_at_the_rows_of_their_value_only(rate, by_hand):
    rng = np.random.default_rng(0)
    for size in [0, 1, 2, *rng.integers(3, 40, 12)]:
        rows = [RECORDS[i] for i in rng.integers(len(RECORDS), size=size)]
        columns = {"x": [r[0] for r in rows], "z": [r[1] for r in rows]}
        target = [r[2] for r in rows]
        found = SCORES["specialize"](rate).values(answers(rows), [], Relation.ADD_REMOVE)
        parts = [("x", [(0,), (1,), (2,)]), ("x", [(1,), (2,)]), ("z", [(0,), (1,)]), ("x", [(0,), (1, 2)])]
        expected = [worth(name, part, columns, target, by_hand) for name, part in parts]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        cuts = SCORES["cut"](rate).values(answers(rows), [], Relation.ADD_REMOVE)
        np.testing.assert_allclose(
            cuts, [worth("x", part, columns, target, by_hand) for part in ([(0,), (1, 2)], [(0, 1), (2,)])], atol=1e-12
        )
        inner = SCORES["cut a part"](rate).values(answers(rows), [], Relation.ADD_REMOVE)
        np.testing.assert_allclose(inner, [worth("x", [(1,), (2,)], columns, target, by_hand)], atol=1e-12)


def test_interval_cuts_are_all_public_places_unless_named():
    split = IntervalSplit(**INNER, rated_by=Max(), column="x", low=2, high=6)
    assert split.cuts.tolist() == [3, 4, 5]
    own = IntervalSplit(**INNER, rated_by=Max(), column="x", low=0, high=3, places=[1, 2], worthless_below=1)
    rows = [(0, 0, 0), (2, 0, 1), (2, 0, 1)]
    assert own.values(answers(rows), [], Relation.ADD_REMOVE).tolist() == [0, 3]


# Cuts and groups


def places(codes, *, epsilon=1e-3, **parameters):
    """Where a column of numbers was cut, in many runs that hardly look."""
    found = set()
    for seed in range(25):
        method = fit(rows_of(codes), schema=ONE, rounds=1, epsilon=epsilon, random_state=seed, **parameters)
        found.add(int(axis(method, "n").sizes[0]) if method.steps_ else None)
    return found


@pytest.mark.parametrize("codes", [[], [0, 2]])
def test_corrected_mode_may_cut_anywhere_in_the_public_range(codes):
    assert places(codes) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(("codes", "possible"), [([], {3}), ([0], {3}), ([1, 1], {1, 2, 3, 4, 5}), ([0, 2], {1, 2})])
def test_paper_mode_cuts_up_to_the_largest_value(codes, possible):
    """Of two values and more; one value is cut anywhere, one row in the middle, as in the published code."""
    assert places(codes, mode="paper") == possible


def test_paper_mode_gives_the_first_place_no_score():
    """Of one class, all places are as good as another; but with nothing to their left the published code has 0."""
    assert places([1, 3], epsilon=1e6) == {1, 2, 3, 4, 5}
    assert places([1, 3], epsilon=1e6, mode="paper") == {2, 3}


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_groups_are_counted_too(rows):
    method = fit(FRAME.head(rows), rounds=30)
    (_, noisy), leaves = method.tree_.noisy, method.tree_.leaves
    assert leaves.shape == SCHEMA.sizes
    assert noisy.shape == (leaves.size,) == (144,)
    assert np.count_nonzero(noisy) == 144
    assert method.leaf_counts_.min() >= 0
    assert method.leaf_counts_.sum() == pytest.approx(max(noisy.sum(), 0))


def test_missing_values_stand_beside_the_numbers():
    missing = Column(name="n", kind="integer", lower=0, upper=5, bins=6, missing=True)
    schema = Schema(columns=(missing, Y), target="y")
    frame = rows_of([0, 1, 4, 5, None, None] * 10, ["no", "no", "yes", "yes", "no", "yes"] * 10)
    method = fit(frame, schema=schema, rounds=1, epsilon=1e6)
    assert method.steps_ == [("n", "0–5")]
    assert axis(method, "n").names[1:] == (axis(method, "n").names[1], MISSING)
    assert axis(method, "n").sizes[-1] == 1
    np.testing.assert_allclose(method.leaf_counts_, [20, 0, 0, 20, 10, 10], atol=1e-3)
    assert method.sample()["n"].isna().sum() == 20
    before = fit(frame, schema=schema, rounds=1, max_leaves=4)
    assert before.steps_ == []
    assert axis(before, "n").names == ("0–5", MISSING)


def test_columns_that_cannot_be_divided():
    schema = Schema(columns=(*numbers((1,)), Column(name="c", kind="categorical", categories=("u",)), Y), target="y")
    frame = pd.DataFrame({"n0": [0.5] * 4, "c": "u", "y": ["no", "no", "no", "yes"]})
    method = fit(frame, schema=schema, epsilon=1e6)
    assert method.steps_ == []
    assert len(method.ledger_.entries) == 1
    np.testing.assert_allclose(method.leaf_counts_, [3, 1], atol=1e-4)
    schema.encode(method.sample())


def test_no_specialization_makes_more_leaves_than_allowed():
    for most in (2, 3, 4, 5, 8, 12, 30, 71):
        assert holds_no_more_leaves(fit(max_leaves=most, rounds=30, epsilon=30.0), most), most


def test_chains_of_single_children_are_no_steps(watched):
    paths = (("x", "only x", "top", "*"), ("y", "pair", "top", "*"), ("z", "pair", "top", "*"))
    chain = Column(name="a", kind="categorical", categories=("x", "y", "z"), taxonomy=Taxonomy(paths))
    schema = Schema(columns=(chain, Y), target="y")
    method = fit(pd.DataFrame({"a": ["x", "y", "z"], "y": "no"}), schema=schema)
    assert method.steps_ == [("a", "top"), ("a", "pair")]
    assert axis(method, "a").names == ("x", "y", "z")
    assert not watched.chosen  # never more than one candidate
    alone = Taxonomy((("x", "only", "*"),))
    schema = Schema(columns=(Column(name="a", kind="categorical", categories=("x",), taxonomy=alone), Y), target="y")
    assert fit(pd.DataFrame({"a": ["x"], "y": "no"}), schema=schema).steps_ == []


def test_the_class_is_never_generalized():
    tree = Taxonomy((("p", "pq", "*"), ("q", "pq", "*"), ("r", "*")))
    target = Column(name="y", kind="categorical", categories=("p", "q", "r"), taxonomy=tree)
    method = fit(FRAME.assign(y="q"), schema=Schema(columns=(A, target)), target="y", rounds=1)
    assert axis(method, "y").names == ("p", "q", "r")
    assert method.target_ == "y"
