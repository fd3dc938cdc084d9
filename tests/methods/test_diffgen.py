"""DiffGen: its shares and ledger by hand, a greedy search in plain Python, and its scores on all small tables."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grouped import FRAME, ONE, RELATIONS, SCHEMA, A, Y, axis, make_frame, rows_of

from dpcore.domain.column import MISSING, Column
from dpcore.domain.schema import Schema
from dpcore.methods import DiffGen
from dpcore.methods.local.estimated_nodes import entropy


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    return DiffGen(**{"epsilon": 1.0, "noise": "laplace", "random_state": 0, **parameters}).fit(frame, schema=schema)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize(
    ("bins", "rounds", "share"), [((8, 8), 4, Fraction(1, 20)), ((8, 1), 4, Fraction(1, 18)), ((), 4, Fraction(1, 16))]
)
def test_a_share_is_epsilon_by_2_n_and_4_h(bins, rounds, share, missing):
    """A numeric column of one bin cannot be cut, so that it does not count."""
    numbers = [
        Column(name=f"n{i}", kind="continuous", lower=0, upper=1, bins=b, missing=missing) for i, b in enumerate(bins)
    ]
    schema = Schema(columns=(A, *numbers, Y), target="y")
    method = fit(pd.DataFrame(columns=list(schema.names), dtype=object), schema=schema, rounds=rounds)
    *chosen, counts = method.ledger_.entries
    assert {entry.epsilon_nominal for entry in chosen} == {share}
    assert counts.epsilon_nominal >= Fraction(1, 2)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ledger_by_hand(relation, watched):
    """The class hangs on n >= 4 and is cut there; the halves then are cut in parallel; no third choice is left."""
    n = np.repeat(range(6), 5)
    method = fit(rows_of(n, np.where(n >= 4, "yes", "no")), schema=ONE, relation=relation, rounds=2)
    share = 1 / (2 * (1 + 4))
    half = share if relation == "add_remove" else share / 2  # a replaced row may leave one half and enter the other
    # Four cuts into one side, each as good as the other: the first; and of 4 and 5 there is one place to cut.
    told = method.ledger_.to_frame()[["scope", "mechanism", "epsilon_nominal", "relation"]]
    assert list(told.itertuples(index=False, name=None)) == [
        ("", "exponential", pytest.approx(share), relation),  # where to cut 0 to 5; then there is one candidate
        ("halves of n 0–5 / left", "exponential", pytest.approx(half), "add_remove"),
        ("halves of n 0–5 / right", "exponential", pytest.approx(half), "add_remove"),
        ("", "exponential", pytest.approx(share), relation),  # which half is divided: 0 to 3
        ("halves of n 0–3 / right", "exponential", pytest.approx(half), "add_remove"),  # 0 alone cannot be cut
        ("", "laplace", pytest.approx(1 - 4 * share), relation),
    ]
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


RATES = {
    "Max": lambda table: table.max(axis=1).sum(),
    "IG": lambda table: entropy(table.sum(axis=0)) - table.sum(axis=1) @ entropy(table) / max(table.sum(), 1),
}


def greedy(codes, target, rounds, rate):
    """Per column its cut. A value is (codes, the parts that it falls into)."""
    tree = {(0, 1, 2, 3): [(0, 1), (2, 3)], (0, 1): [(0,), (1,)], (2, 3): [(2,), (3,)]}

    def worth(name, parts):
        table = [np.bincount(target[np.isin(codes[name], part)], minlength=2) for part in parts]
        return round(float(rate(np.array(table))), 9)

    def cut_of(interval):
        cuts = [(interval[:i], interval[i:]) for i in range(1, len(interval))]
        return max(cuts, key=lambda cut: worth("n", cut), default=[])

    whole = tuple(range(6))
    cuts = {
        "a": [((0, 1, 2, 3), tree[0, 1, 2, 3])],
        "n": [(whole, cut_of(whole))],
        "c": [((0, 1, 2), [(0,), (1,), (2,)])],
    }
    for _ in range(rounds):
        open_ = [(name, value) for name, values in cuts.items() for value in values if value[1]]
        name, value = open_[int(np.argmax([worth(name, value[1]) for name, value in open_]))]
        parts = {"a": tree.get, "n": lambda part, _: cut_of(part), "c": lambda *_: []}[name]
        at = cuts[name].index(value)
        cuts[name][at : at + 1] = [(part, parts(part, [])) for part in value[1]]
    return {name: [value for value, _ in values] for name, values in cuts.items()}


@pytest.mark.parametrize("score", RATES)
@pytest.mark.parametrize(("seed", "rounds", "relation"), [(0, 3, "add_remove"), (2, 8, "replace")])
def test_without_noise_it_is_a_greedy_search(seed, rounds, score, relation, watched):
    frame = make_frame(60, seed)
    encoded = SCHEMA.encode(frame).astype(int)
    expected = greedy(dict(zip("anc", encoded.T, strict=False)), encoded[:, 3], rounds, RATES[score])
    method = fit(frame, rounds=rounds, score=score, relation=relation)
    assert len(method.steps_) == rounds
    for name, values in expected.items():
        blocks = axis(method, name).blocks
        assert [tuple(np.flatnonzero(blocks == i)) for i in range(blocks.max() + 1)] == values


@pytest.mark.parametrize(
    ("codes", "how", "possible"),
    [
        ([0, 2], {}, {1, 2, 3, 4, 5}),  # anywhere in the public range
        ([], {"mode": "published"}, {3}),  # one row in the middle, as in the published code
        ([1, 1], {"mode": "published"}, {1, 2, 3, 4, 5}),  # one value anywhere
        ([0, 2], {"mode": "published"}, {1, 2}),  # of two values and more, up to the largest
        # of one class all places are as good as another; but with nothing to their left the published code has 0
        ([1, 3], {"epsilon": 1e6}, {1, 2, 3, 4, 5}),
        ([1, 3], {"epsilon": 1e6, "mode": "published"}, {2, 3}),
    ],
)
def test_where_a_column_of_numbers_may_be_cut(codes, how, possible):
    found = set()
    for seed in range(25):
        method = fit(rows_of(codes), schema=ONE, rounds=1, random_state=seed, **{"epsilon": 1e-3, **how})
        found.add(int(axis(method, "n").sizes[0]) if method.steps_ else None)
    assert found == possible


def test_empty_groups_are_counted_too_and_what_is_left_over_goes_to_the_counts():
    method = fit(FRAME.head(1), rounds=30)
    (_, noisy), leaves = method.tree_.noisy, method.tree_.leaves
    assert leaves.shape == SCHEMA.sizes
    assert np.count_nonzero(noisy) == len(noisy) == 144
    assert method.leaf_counts_.min() >= 0
    assert method.leaf_counts_.sum() == pytest.approx(max(noisy.sum(), 0))
    assert method.ledger_.entries[-1].epsilon_nominal > Fraction(3, 4)


def test_missing_values_stand_beside_the_numbers():
    missing = Column(name="n", kind="integer", lower=0, upper=5, bins=6, missing=True)
    schema = Schema(columns=(missing, Y), target="y")
    frame = rows_of([0, 1, 4, 5, None, None] * 10, ["no", "no", "yes", "yes", "no", "yes"] * 10)
    method = fit(frame, schema=schema, rounds=1, epsilon=1e6)
    assert method.steps_ == [("n", "0–5")]
    assert (len(axis(method, "n").names), axis(method, "n").names[-1]) == (3, MISSING)
    np.testing.assert_allclose(method.leaf_counts_, [20, 0, 0, 20, 10, 10], atol=1e-3)
    assert method.sample()["n"].isna().sum() == 20
    before = fit(frame, schema=schema, rounds=1, max_leaves=4)
    assert (before.steps_, axis(before, "n").names) == ([], ("0–5", MISSING))


def test_a_class_called_missing_is_not_the_missing_class():
    y = Column(name="y", kind="categorical", categories=("yes", "(missing)"), missing=True)
    schema = Schema(columns=(Column(name="(rows)", kind="categorical", categories=("u", "v")), y), target="y")
    frame = pd.DataFrame({"(rows)": ["u"] * 60, "y": ["(missing)"] * 60})
    method = fit(frame, schema, epsilon=1e6)
    assert method.sample(60)["y"].eq("(missing)").all()
    rows = method.generalized()
    assert rows["(rows)'"].sum() == 60  # the column of that name keeps it
    assert set(rows["(rows)"]) == {"u"}
