"""DiffGen, its tree, and DT-Diff: ledgers by hand, greedy searches, and what may depend on rows."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grouped import FRAME, ONE, RELATIONS, SCHEMA, A, C, N, Y, axis, make_frame, rows_of
from scipy.stats import chisquare

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import MISSING, Column
from dpcore.domain.partition import Partition
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import SchemaError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import Max, Specialization
from dpcore.methods import DiffGen, DiffGenTree, DTDiff, DTDiffRows
from dpcore.methods.local.base import entropy
from dpcore.postprocess.group_tree import GroupTree, fit_group_tree, group_indicators


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    return DiffGen(**{"epsilon": 1.0, "noise": "laplace", "random_state": 0, **parameters}).fit(frame, schema=schema)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize(
    ("bins", "rounds", "share"), [((8, 8), 4, Fraction(1, 20)), ((8, 1), 4, Fraction(1, 18)), ((), 4, Fraction(1, 16))]
)
def test_a_share_is_epsilon_by_2_n_and_4_h(bins, rounds, share, missing):
    """A numeric column of one bin has no split point, and is not counted."""
    numbers = [Column(f"n{i}", "continuous", lower=0, upper=1, bins=b, missing=missing) for i, b in enumerate(bins)]
    schema = Schema(columns=(A, *numbers, Y), target="y")
    method = fit(pd.DataFrame(columns=list(schema.names), dtype=object), schema=schema, rounds=rounds)
    *chosen, counts = method.ledger_.entries
    assert {entry.epsilon_nominal for entry in chosen} == {share}
    assert counts.epsilon_nominal >= Fraction(1, 2)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ledger_by_hand(relation, watched):
    """The class depends on n >= 4, the first split. Then the halves are split in parallel."""
    n = np.repeat(range(6), 5)
    method = fit(rows_of(n, np.where(n >= 4, "yes", "no")), schema=ONE, relation=relation, rounds=2)
    share = 1 / (2 * (1 + 4))
    half = share if relation == "add_remove" else share / 2  # a replaced row may leave one half and enter the other
    # Four split points of equal score: the first is chosen. 4 and 5 have a single split point.
    text = method.ledger_.to_frame()[["scope", "mechanism", "epsilon_nominal", "relation"]]
    assert list(text.itertuples(index=False, name=None)) == [
        ("", "exponential", pytest.approx(share), relation),  # the split point of 0 to 5; then one candidate
        ("halves of n 0–5 / left", "exponential", pytest.approx(half), "add_remove"),
        ("halves of n 0–5 / right", "exponential", pytest.approx(half), "add_remove"),
        ("", "exponential", pytest.approx(share), relation),  # which half is specialized: 0 to 3
        ("halves of n 0–3 / right", "exponential", pytest.approx(half), "add_remove"),  # 0 alone has no split point
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
    """Return each column's values after a greedy search. A value is (codes, its children)."""
    tree = {(0, 1, 2, 3): [(0, 1), (2, 3)], (0, 1): [(0,), (1,)], (2, 3): [(2,), (3,)]}

    def worth(name, parts):
        table = [np.bincount(target[np.isin(codes[name], part)], minlength=2) for part in parts]
        return round(float(rate(np.array(table))), 9)

    def cut_of(interval):
        points = [(interval[:i], interval[i:]) for i in range(1, len(interval))]
        return max(points, key=lambda point: worth("n", point), default=[])

    whole = tuple(range(6))
    points = {
        "a": [((0, 1, 2, 3), tree[0, 1, 2, 3])],
        "n": [(whole, cut_of(whole))],
        "c": [((0, 1, 2), [(0,), (1,), (2,)])],
    }
    for _ in range(rounds):
        open_ = [(name, value) for name, values in points.items() for value in values if value[1]]
        name, value = open_[int(np.argmax([worth(name, value[1]) for name, value in open_]))]
        parts = {"a": tree.get, "n": lambda part, _: cut_of(part), "c": lambda *_: []}[name]
        at = points[name].index(value)
        points[name][at : at + 1] = [(part, parts(part, [])) for part in value[1]]
    return {name: [value for value, _ in values] for name, values in points.items()}


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
        # with one class all split points have equal scores; published code gives 0 to those with nothing on their left
        ([1, 3], {"epsilon": 1e6}, {1, 2, 3, 4, 5}),
        ([1, 3], {"epsilon": 1e6, "mode": "published"}, {2, 3}),
    ],
)
def test_possible_split_points_of_a_numeric_column(codes, how, possible):
    found = set()
    for seed in range(25):
        method = fit(rows_of(codes), schema=ONE, rounds=1, random_state=seed, **{"epsilon": 1e-3, **how})
        found.add(int(axis(method, "n").sizes[0]) if method.steps_ else None)
    assert found == possible


def test_empty_groups_are_counted_and_unspent_epsilon_goes_to_the_counts():
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
    rows = method.generalized_rows()
    assert rows["(rows)'"].sum() == 60  # the column of that name keeps it
    assert set(rows["(rows)"]) == {"u"}


def fit_dtdiff(frame=FRAME, schema=SCHEMA, **parameters):
    return DTDiff(**{"epsilon": 1.0, "random_state": 0, **parameters}).fit(frame, schema=schema)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("criterion", "moved_once"), [("Max", True), ("InfoGain", False)])
def test_the_ledger_of_dtdiff_by_hand(criterion, moved_once, relation, watched):
    """The class depends on n >= 4, the first split. Then both halves have split points of equal score."""
    n = np.repeat(range(6), 5)
    method = fit_dtdiff(
        rows_of(n, np.where(n >= 4, "yes", "no")), ONE, relation=relation, rounds=2, criterion=criterion
    )
    entries = method.ledger_.entries
    assert [e.mechanism for e in entries] == ["exponential", "exponential", "laplace"]
    assert [e.epsilon_nominal for e in entries] == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    assert [e.sensitivity for e in entries] == [1, 1, 2 if relation == "replace" else 1]
    assert method.steps_ == [("n", "0–5"), ("n", "0–3")]
    assert axis(method, "n").names == ("0", "1–3", "4–5")
    factor = 1 / 4 if relation == "add_remove" and moved_once else 1 / 8
    assert watched.chosen == [(5, pytest.approx(factor)), (3 + 1, pytest.approx(factor))]
    person = 2 if relation == "replace" else 1
    assert watched.counted == [(6, pytest.approx(2 * person))]


def test_a_single_candidate_is_no_choice_and_costs_nothing(watched):
    method = fit_dtdiff(FRAME, Schema(columns=(C, Y), target="y"))
    assert method.steps_ == [("c", "(any)")]
    assert [(e.mechanism, e.epsilon_nominal) for e in method.ledger_.entries] == [("laplace", 1)]
    assert not watched.chosen


@pytest.mark.parametrize(
    ("criterion", "relation", "cost"),
    [("Max", "add_remove", 3 / 4), ("Max", "replace", 1), ("InfoGain", "add_remove", 1)],
)
def test_published_choices_by_a_monotone_score_cost_half(criterion, relation, cost):
    method = fit_dtdiff(mode="published", criterion=criterion, relation=relation, rounds=2)
    assert method.ledger_.epsilon_nominal == pytest.approx(cost)


class Again(Specialization):
    def values(self, *wanted):
        return np.tile(super().values(*wanted), (20_000, 1))


SMALL = Schema(columns=(replace(N, upper=2, bins=3), replace(C, categories=("u", "v")), Y), target="y")
FOUR = pd.DataFrame({"n": [0, 1, 2, 2], "c": list("uvuv"), "y": ["no", "no", "yes", "yes"]})


@pytest.mark.parametrize(("relation", "person"), [("add_remove", 1), ("replace", 2)])
def test_weighted_choices_have_their_probabilities(relation, person):
    """Max: 1 + 1 for c; 1 + 2 below 1; 2 + 2 below 2. At exp(t) = 2 the weights are 1 * 4, 8 / 2 and 16 / 2."""
    table = PrivateTable(SMALL.encode(FOUR), SMALL, Ledger(relation), make_noise("laplace", 5))
    splits, intervals = [("c", np.arange(2))], [("n", 0, 3)]
    score = Again(target="y", classes=2, table_score=Max(), splits=splits, intervals=intervals)
    chosen = table.choose(score, [], epsilon=person * np.log(2), draws=20_000)
    seen = np.bincount(chosen, minlength=3)
    assert chisquare(seen, 20_000 * np.array([4, 4, 8]) / 16).pvalue > 1e-4
    assert table.ledger.epsilon_nominal == pytest.approx(20_000 * person * np.log(2))


def test_without_noise_dtdiff_takes_the_best_candidate(watched):
    """Of 24 rows, 12 have n < 3, all of them "no"; of the rest, "yes" are the 9 that do not have a3.

    Max of a: 6 + 9; of c: 15; of n below 1 to 5: 15, 17, 12 + 9, 13 + 6, 17. Then of a and c still 15, of n 12 and 9.
    """
    frame = pd.DataFrame({"a": np.tile(["a0", "a1", "a2", "a3"], 6), "n": np.repeat(range(6), 4), "c": "u"})
    frame["y"] = np.where((frame["n"] >= 3) & (frame["a"] != "a3"), "yes", "no")
    method = fit_dtdiff(frame, rounds=2)
    assert method.steps_ == [("n", "0–5"), ("a", "*")]
    assert axis(method, "n").names == ("0–2", "3–5")
    assert axis(method, "a").names == ("left", "right")
    assert axis(method, "c").names == ("(any)",)
    assert [size for size, _ in watched.chosen] == [2 + 5, 2 + 2 + 2]


@pytest.mark.parametrize(("kind", "name", "share"), [(DiffGen, "IG", 1 / 4), (DTDiff, "InfoGain", 1 / 2)])
@pytest.mark.parametrize(("classes", "spread"), [(("no", "yes"), 1), (("no", "p", "q", "r"), 2)])
def test_sensitivity_of_information_gain_is_its_range(classes, spread, kind, name, share, watched):
    schema = Schema(columns=(A, C, Column(name="y", kind="categorical", categories=classes)), target="y")
    how = {"score" if kind is DiffGen else "criterion": name, "rounds": 1}
    for relation in RELATIONS:
        kind(epsilon=1.0, random_state=0, relation=relation, **how).fit(FRAME.assign(y="no"), schema=schema)
    assert watched.chosen == [(2, pytest.approx(share / (2 * spread)))] * 2


@pytest.mark.parametrize("kind", [DiffGen, DTDiff])
def test_no_specialization_makes_more_leaves_than_allowed(kind):
    """All releases fit into the cap, and no further specialization would."""
    for most in (2, 5, 12, 71):
        method = kind(max_leaves=most, rounds=30, epsilon=30.0, random_state=0).fit(FRAME, schema=SCHEMA)
        cells, shape = method.tree_.leaves.size, dict(zip(SCHEMA.names, method.tree_.leaves.shape, strict=True))
        undivided = [column for column in (A, N, C) if axis(method, column.name).sizes.max() > 1]
        more = [cells // shape[c.name] * (shape[c.name] + (2 if c is C else 1)) for c in undivided]
        assert cells <= most < min(more, default=most + 1), most


M = Column(name="m", kind="integer", lower=0, upper=3, bins=4, missing=True)
MISSING_SCHEMA = Schema(columns=(N, C, Y, M), target="y")  # the class is not the last column
# The class depends on n, and more weakly on a column that this schema lacks.
MISSING_FRAME = make_frame(300, 0).drop(columns="a").assign(m=np.arange(300) % 4)


def fit_tree(frame=MISSING_FRAME, schema=MISSING_SCHEMA, **parameters):
    return DiffGenTree(**{"epsilon": 1.0, "random_state": 0, **parameters}).fit(frame, schema=schema)


@pytest.mark.parametrize(("relation", "mode"), [("replace", "corrected"), ("add_remove", "published")])
@pytest.mark.parametrize(("tree", "rows"), [(DiffGenTree, DiffGen), (DTDiff, DTDiffRows)])
def test_trees_are_learned_from_the_counts_that_rows_are_drawn_from(tree, rows, relation, mode):
    settings = {"relation": relation, "mode": mode, "rounds": 4, "random_state": 2}
    for criterion, score in {"InfoGain": "IG", "Max": "Max"}.items():
        released = rows(score=score, **settings).fit(MISSING_FRAME, schema=MISSING_SCHEMA)
        method = tree(criterion=criterion, **settings).fit(MISSING_FRAME, schema=MISSING_SCHEMA)
        pd.testing.assert_frame_equal(method.ledger_.to_frame(), released.ledger_.to_frame())
        assert method.steps_ == released.steps_
        document = method.structure()
        assert document == {**released.structure(), "classifier": document["classifier"]}


def grown(counts, columns, deviation=0.0):
    schema = Schema(columns=(*columns, Y), target="y")
    leaves = Partition.whole(schema)
    for column in schema:
        leaves = leaves.refine(column.name, np.arange(column.size), column.labels)
    return fit_group_tree(leaves, np.array(counts, dtype=float).ravel(), "y", deviation=deviation)


def test_a_tree_by_hand():
    """One test separates v. u and w do not differ, and are separated all the same."""
    tree = grown([[9, 1], [2, 4], [18, 2]], [C])
    root, *_ = nodes = tree.to_dict()["nodes"]
    assert (root["column"], root["goes_left"]) == ("c", [0, 2])
    assert root["classes"] == pytest.approx((29, 7))
    assert nodes[root["left"]]["classes"] == pytest.approx((27, 3))
    assert nodes[root["right"]]["column"] == ""
    assert nodes[root["right"]]["classes"] == pytest.approx((2, 4))
    assert sorted(node["classes"][0] for node in nodes if not node["column"]) == pytest.approx([2, 9, 18])
    shares = tree.probability(pd.DataFrame({"c": ["v", "u", "w"]}))
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3], [0.9, 0.1], [0.9, 0.1]])


def test_a_tree_may_split_off_missing_numbers():
    ranks, missing = group_indicators(M, 3)
    assert ranks.tolist() == [0, 1, 2]
    assert missing.tolist() == [0, 0, 1]
    assert group_indicators(C, 1) == []  # not divided
    tree = grown([[8, 0], [8, 0], [8, 0], [8, 0], [0, 8]], [M])
    assert [node["column"] for node in tree.to_dict()["nodes"]] == ["m", "", ""]
    np.testing.assert_allclose(tree.probability(pd.DataFrame({"m": [None, 3]})), [[0, 1], [1, 0]])


@pytest.mark.parametrize(("deviation", "leaves"), [(0.0, 3), (2.4, 3), (2.6, 2), (1e50, 1)])
def test_a_leaf_holds_four_deviations_of_the_noise(deviation, leaves):
    tree = grown([[10, 0], [3, 9], [15, 10]], [C], deviation)
    assert tree.leaf.sum() == leaves


def test_a_tree_may_be_very_deep_or_have_no_rows_columns_or_classes():
    many = Column(name="c", kind="categorical", categories=tuple(f"v{i}" for i in range(120)))
    tree = grown([[100 + i, 100 - 50 * (i % 2) + i] for i in range(120)], [many])
    assert tree.level.max() > 100
    assert GroupTree.from_dict(tree.schema, tree.to_dict()).to_dict() == tree.to_dict()
    for counts, columns, share in (
        (np.zeros((3, 2)), [C], [1 / 2, 1 / 2]),
        ([5, 3], [], [5 / 8, 3 / 8]),
        ([[0, 5], [0, 2], [0, 0]], [C], [0, 1]),
    ):
        np.testing.assert_allclose(grown(counts, columns).probability(MISSING_FRAME), [share] * 300)


def test_the_document_alone_predicts():
    """By a walk in plain Python through what `structure` tells."""
    method = fit_tree(epsilon=1e6, rounds=20)
    document = json.loads(json.dumps(method.structure(), allow_nan=False))["classifier"]
    codes = dict(zip(MISSING_SCHEMA.names, MISSING_SCHEMA.encode(MISSING_FRAME).T, strict=True))
    shares = method.predict_proba(MISSING_FRAME)
    for row in range(len(MISSING_FRAME)):
        node = document["nodes"][0]
        while node["column"]:
            group = document["groups"][node["column"]][codes[node["column"]][row]]
            node = document["nodes"][node["left"] if group in node["goes_left"] else node["right"]]
        assert shares[row] == pytest.approx(np.array(node["classes"]) / sum(node["classes"]))
    again = GroupTree.from_dict(MISSING_SCHEMA, document)
    assert again.to_dict() == document
    np.testing.assert_array_equal(again.probability(MISSING_FRAME), shares)


def test_damaged_documents_are_refused():
    document = fit_tree().classifier_.to_dict()
    first, *rest = document["nodes"]
    name, (_, *groups) = next(iter(document["groups"].items()))
    broken = [{"format": "other"}, {"target": "nobody"}, {"groups": {}}, {"nodes": rest}]
    broken += [{"groups": {**document["groups"], name: begin + groups}} for begin in ([], [-1], [10**9])]
    changes = [{"left": 0}, {"right": 1}, {"left": 10**6}, {"goes_left": [77]}, {"column": "y"}, {"classes": None}]
    changes += [{"classes": classes} for classes in ([1.0], [1.0, -1.0], [1.0, float("nan")])]
    broken += [{"nodes": [{**first, **change}, *rest]} for change in changes]
    for change in broken:
        with pytest.raises(SchemaError, match="not a tree"):
            GroupTree.from_dict(MISSING_SCHEMA, {**document, **change})
