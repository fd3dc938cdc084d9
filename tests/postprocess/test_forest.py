"""Forests: what they predict, what their counts say, their JSON, pruning, and the forest without noise."""

import json
import math
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, CodeCut, Groups, NumberCut, OneValue
from dpcore.domain.taxonomy import Taxonomy
from dpcore.door import Door
from dpcore.errors import DataError, SchemaError
from dpcore.mechanisms.scores import ConditionalEntropy, Gini, InfoGain, Max
from dpcore.methods import DiffPC45, DiffPID3, DiffPRFs, PlainForest
from dpcore.methods.trees.grow import forest_of
from dpcore.methods.trees.plan import Budget
from dpcore.postprocess.forest import ARRAYS, Forest, pessimistic, pruned

SCHEMA = Schema(
    columns=(
        Column(name="size", kind="continuous", lower=-1.0, upper=4.0, bins=(0.0, 1.0, 3.0), missing=True),
        Column(name="age", kind="integer", lower=0, upper=20, bins=7, missing=True),
        Column(name="grade", kind="ordered", categories=("low", "mid", "high", "top")),
        Column(name="y", kind="categorical", categories=("no", "yes", "maybe")),
        Column(
            name="town",
            kind="categorical",
            categories=tuple("abcde"),
            missing=True,
            taxonomy=Taxonomy(tuple((c, "west" if c < "d" else "east", "all") for c in "abcde")),
        ),
        Column(name="many", kind="categorical", categories=tuple("klmnopqr")),
        Column(name="two", kind="categorical", categories=("0", "1"), missing=True),
    ),
    target="y",
    max_rows=2_000,
)


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 21, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    size = np.round(rng.uniform(-1, 4, n), 1)
    town = rng.choice(np.array([*"abcde", None], dtype=object), n)
    y = np.where(age > 11, "yes", np.where(size > 2, "maybe", "no"))
    y = np.where(rng.random(n) < 0.2, rng.choice(["no", "yes", "maybe"], n), y)
    size[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "age": age,
            "grade": rng.choice(["low", "mid", "high", "top"], n),
            "y": y,
            "town": town,
            "many": rng.choice(list("klmnopqr"), n),
            "two": rng.choice(np.array(["0", "1", None], dtype=object), n),
        }
    )


ROWS = make_rows(400)
SAME = {"n_trees": 3, "max_depth": 4, "random_state": 5, "max_features": 3}
VARIANTS = {
    "numbers, few": {"cuts": "numbers", "children": "few"},
    "bins, values": {"cuts": "bins", "children": "values"},
}


def grown(epsilon=40.0, rows=ROWS, **how):
    return DiffPRFs(epsilon=epsilon, **{**SAME, **how}).fit(rows, schema=SCHEMA).forest_


@pytest.fixture(scope="module")
def forest():
    return grown()


# Ever larger epsilon


@pytest.mark.parametrize("noise", ["laplace", "geometric"])
@pytest.mark.parametrize("steps", ["one", "two"])
@pytest.mark.parametrize("criterion", ["Gini", "Max"])
@pytest.mark.parametrize("resample", ["full", "disjoint", "poisson"])
def test_the_plain_forest_is_the_limit_node_by_node(resample, criterion, steps, noise):
    cuts = "bins" if noise == "geometric" else "numbers"  # both, without doubling the cases
    how = {**SAME, "resample": resample, "criterion": criterion, "steps": steps, "noise": noise, "cuts": cuts}
    how |= {"rate": 0.5, "count_share": 0.3}
    private = DiffPRFs(epsilon=1e9, **how).fit(ROWS, schema=SCHEMA)
    plain = PlainForest(**how).fit(ROWS, schema=SCHEMA)
    one, other = private.forest_, plain.forest_
    for name in ("tree", "level", "parent", "column", "first", "fanout"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("cut", "low"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_allclose(one.classes, other.classes, atol=1e-4)
    new = make_rows(150, 9)
    np.testing.assert_array_equal(private.predict(new), plain.predict(new))
    np.testing.assert_array_equal(other.classes, np.rint(other.classes))
    if resample == "full":
        assert (other.counts[other.level == 0] == len(ROWS)).all()
    if resample == "disjoint":
        assert other.counts[other.level == 0].sum() == len(ROWS)
    assert len(one.tree) > 20


def test_the_plain_forests_counts_are_the_rows_in_its_leaves():
    plain = PlainForest(**SAME, resample="full").fit(ROWS, schema=SCHEMA)
    leaves, labels = plain.forest_.apply(ROWS), SCHEMA["y"].encode(ROWS["y"])
    for tree in range(3):
        table = np.zeros((len(plain.forest_.tree), 3))
        np.add.at(table, (leaves[:, tree], labels), 1)
        mine = plain.forest_.leaf & (plain.forest_.tree == tree)
        np.testing.assert_allclose(plain.forest_.classes[mine], table[mine], atol=1e-9)
    assert plain.ledger_.epsilon_of_noise == math.inf


def test_the_plain_forests_divisions_are_the_best_of_their_column():
    """Gini, all columns offered: no other division of the root by any column has a higher score."""
    plain = PlainForest(**{**SAME, "max_features": "all", "max_depth": 1}, resample="full").fit(ROWS, schema=SCHEMA)
    forest = plain.forest_
    tables = [forest.classes[forest.first[r] : forest.first[r] + forest.fanout[r]] for r in range(3)]
    found = [Gini().of_many(np.rint(table)[..., None].astype(int), Relation.ADD_REMOVE)[0] for table in tables]
    best = -np.inf
    labels = SCHEMA["y"].encode(ROWS["y"])
    for name in ("size", "age"):
        for cut in ROWS[name].dropna().unique():
            side = ~(ROWS[name] <= cut)
            table = np.stack([np.bincount(labels[side == s], minlength=3) for s in (False, True)])
            best = max(best, Gini().of_many(table[..., None], Relation.ADD_REMOVE)[0])
    assert min(found) >= best - 1e-9


# Scores


def test_scores_by_hand():
    """One node of counts (3, 1): -Gini = -1.5, and sum x log2(x / s) = -3.2451."""
    table = np.array([[3, 1]])[..., None]
    assert Gini().of_many(table, Relation.ADD_REMOVE)[0] == -1.5
    assert ConditionalEntropy().of_many(table, Relation.ADD_REMOVE)[0] == pytest.approx(-3.2451, abs=5e-5)
    assert Max().of_many(table, Relation.ADD_REMOVE)[0] == 3
    assert InfoGain().of_many(np.array([[3, 0], [0, 1]])[..., None], Relation.ADD_REMOVE)[0] == pytest.approx(
        0.8113, abs=1e-4
    )
    assert InfoGain().of_many(np.zeros((2, 2, 1), dtype=int), Relation.ADD_REMOVE)[0] == 0


# Prediction


def exact_tick(column, value):
    """The place of a number on the grid, which is even between the bins' boundaries, in fractions."""
    edges = sorted({min(Fraction(edge), Fraction(column.upper)) for edge in column.edges.tolist()})
    for i, (low, high) in enumerate(pairwise(edges)):
        if low <= Fraction(value) <= high:
            return (i + (Fraction(value) - low) / (high - low)) * GRID / (len(edges) - 1)
    raise AssertionError


def slow_leaf(forest, row, place):
    """The leaf of one row, by the attributes' own words."""
    while forest.column[place] >= 0:
        position = int(forest.column[place])
        column, attribute, value = forest.schema.columns[position], forest.attributes[position], row.iloc[position]
        absent = value is None or value != value
        cut, low = forest.cut[place], forest.low[place]
        if isinstance(attribute, NumberCut):
            child = 0 if not absent and exact_tick(column, value) <= cut else 1
        else:
            code = column.size - 1 if absent else int(column.encode(pd.Series([value]))[0])
            if isinstance(attribute, CodeCut):
                child = 0 if code < cut else 1
            elif isinstance(attribute, OneValue):
                child = 0 if code == cut else 1
            else:
                assert isinstance(attribute, Groups)
                child = int(attribute.child_of[int(low), code])
        assert 0 <= child < forest.fanout[place]
        place = int(forest.first[place] + child)
    return place


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("vote", ["majority", "probability"])
def test_predictions_are_those_of_a_slow_walk(variant, vote):
    forest = grown(**VARIANTS[variant], vote=vote, n_trees=4, max_depth=5)
    assert len(set(forest.column.tolist())) >= 6  # every kind of question is asked
    new = make_rows(60, 3)
    expected = np.array([[slow_leaf(forest, new.iloc[i], t) for t in range(4)] for i in range(len(new))])
    np.testing.assert_array_equal(forest.apply(new), expected)
    votes = np.zeros((len(new), 3))
    for i, leaves in enumerate(expected):
        for leaf in leaves:
            shares = forest.probabilities[leaf]
            votes[i] += shares if vote == "probability" else np.eye(3)[shares.argmax()]
    np.testing.assert_allclose(forest.probability(new), votes / 4, atol=1e-12)
    np.testing.assert_allclose(forest.probability(new).sum(axis=1), 1)


def test_missing_numbers_go_right(forest):
    root = np.flatnonzero((forest.level == 0) & np.isfinite(forest.cut))
    model = grown(max_features="all", cuts="numbers")
    new = make_rows(20, 4).assign(size=np.nan, age=np.nan)
    assert len(root) or len(model.tree)
    for place in range(model.trees):
        if model.column[place] in (0, 1):
            held = model.apply(new)[:, place]
            while (model.level[held] > 1).any():
                held = np.where(model.level[held] > 1, model.parent[held], held)
            assert (held == model.first[place] + 1).all()
    assert (model.column[: model.trees] <= 1).any()


def test_rows_in_any_order_and_number_get_their_own_leaves(forest):
    new = make_rows(50, 6)
    leaves = forest.apply(new)
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(forest.apply(new.iloc[order]), leaves[order])
    np.testing.assert_array_equal(forest.apply(new.drop(columns="y")), leaves)
    assert forest.apply(new.iloc[:0]).shape == (0, 3)
    assert forest.probability(new.iloc[:0]).shape == (0, 3)
    with pytest.raises(DataError, match="grade"):
        forest.apply(new.drop(columns="grade"))


def test_a_schema_of_nothing_but_a_class():
    schema = Schema(columns=(SCHEMA["y"],), target="y")
    model = DiffPRFs(epsilon=9.0, n_trees=1, max_depth=2, random_state=1).fit(ROWS[["y"]], schema=schema)
    assert len(model.forest_.tree) == 1
    assert set(model.predict(ROWS[["y"]])) == {ROWS["y"].mode()[0]}


# Counts


@pytest.mark.parametrize("noise", ["laplace", "geometric"])
@pytest.mark.parametrize("count_share", [0.0, 0.4])
def test_children_sum_to_their_parents_and_none_is_negative(count_share, noise):
    forest = grown(epsilon=2.0, count_share=count_share, noise=noise, n_trees=2, max_depth=3)
    assert (forest.classes >= 0).all()
    np.testing.assert_allclose(forest.classes.sum(axis=1), forest.counts)
    for place in np.flatnonzero(~forest.leaf).tolist():
        children = slice(forest.first[place], forest.first[place] + forest.fanout[place])
        np.testing.assert_allclose(forest.classes[children].sum(axis=0), forest.classes[place], atol=1e-9)
        assert (forest.parent[children] == place).all()
    assert (forest.probabilities >= 0).all()
    np.testing.assert_allclose(forest.probabilities.sum(axis=1), 1)


def test_consistent_counts_are_nearer_the_truth():
    """Totals of leaves, over runs; the trees differ, so each is compared with the truth in its own leaves."""
    errors = {True: [], False: []}
    for seed in range(100):
        for consistency in errors:
            forest = grown(
                epsilon=1.5, count_share=0.5, consistency=consistency, n_trees=1, max_depth=3, resample="full",
                random_state=seed, max_features="all", criterion="Max",
            )  # fmt: skip
            truth = np.bincount(forest.apply(ROWS)[:, 0], minlength=len(forest.tree))
            errors[consistency].append(((forest.counts - truth)[forest.leaf] ** 2).mean())
    assert np.mean(errors[True]) < 0.7 * np.mean(errors[False])


def test_moving_counts_to_0_or_more_adds_no_records():
    """50 trees with a great many leaves of noise alone: their totals stay around the truth."""
    forest = grown(epsilon=25.0, n_trees=50, resample="full", count_share=0.0, max_depth=3, children="values")
    totals = forest.counts[forest.level == 0]
    assert abs(totals.mean() - len(ROWS)) < 4 * totals.std() / np.sqrt(50)


def levels_of(model, frame, monkeypatch):
    """The grown levels of a fit, and its forest."""
    seen = []

    def watched(levels, *args, **how):
        seen.extend(levels)
        return forest_of(levels, *args, **how)

    monkeypatch.setattr("dpcore.methods.trees.base.forest_of", watched)
    return seen, model.fit(frame, schema=SCHEMA).forest_


@pytest.mark.parametrize("seed", range(4))
def test_paper_leaves_say_what_their_own_noisy_counts_do(seed, monkeypatch):
    """The largest wins, also where all are below 0; counts of some columns only."""
    model = DiffPID3(mode="paper", epsilon=0.6, max_depth=2, random_state=seed)
    levels, forest = levels_of(model, ROWS.iloc[:60], monkeypatch)
    model = DiffPRFs(mode="paper", epsilon=0.6, n_trees=4, max_depth=2, random_state=seed)
    levels, forest = levels_of(model, ROWS.iloc[:60], monkeypatch)
    levels = levels[-int(forest.level.max()) - 1 :]
    noisy = np.concatenate([level.class_counts for level in levels])[forest.leaf]
    assert (noisy < 0).all(axis=1).any()
    np.testing.assert_array_equal(forest.votes[forest.leaf].argmax(axis=1), noisy.argmax(axis=1))
    np.testing.assert_allclose(forest.classes[forest.leaf], np.maximum(noisy, 0))


def test_empty_leaves_take_after_their_parents():
    """Without noise, children without rows say what their parent does; a chain of them what the last full one does."""
    rows = ROWS[ROWS["grade"].isin(["low", "mid"])]
    plain = PlainForest(**{**SAME, "n_trees": 8}, resample="full", children="values").fit(rows, schema=SCHEMA).forest_
    empty = np.flatnonzero((plain.counts == 0) & (plain.parent >= 0))
    assert len(empty)
    np.testing.assert_allclose(plain.probabilities[empty], plain.probabilities[plain.parent[empty]])


def test_no_rows_at_all():
    for count_share in (0.0, 0.4):
        forest = grown(rows=ROWS.iloc[:0], epsilon=1.0, count_share=count_share, n_trees=2)
        np.testing.assert_allclose(forest.probability(ROWS).sum(axis=1), 1)
    plain = PlainForest(**SAME, resample="full").fit(ROWS.iloc[:0], schema=SCHEMA).forest_
    np.testing.assert_allclose(plain.probabilities, 1 / 3)
    assert not plain.importance().any()


def test_importance_is_shares_of_what_divisions_gain(forest):
    shares = forest.importance()
    assert shares.sum() == pytest.approx(1)
    assert list(shares.index) == [name for name in SCHEMA.names if name != "y"]
    assert (shares >= 0).all()
    assert shares.idxmax() == "age"
    # One division by hand: 4 rows (2, 2) into (2, 0) and (0, 2) by the first column, nothing else.
    stump = stump_of([[2.0, 2, 0], [2, 0, 0], [0, 2, 0]])
    assert stump.importance().tolist() == [1.0, 0, 0, 0, 0, 0]
    assert not stump_of([[2.0, 2, 0], [1, 1, 0], [1, 1, 0]]).importance().any()


def stump_of(classes, position=0, cut=GRID * 17 // 32):
    """A tree of one division: of `size` at 1.25, an eighth of the third of four bins."""
    counts = np.array(classes, dtype=float)
    nan, n = np.nan, len(classes)
    totals = counts.sum(axis=1)
    return Forest(
        schema=SCHEMA,
        target="y",
        cuts="numbers",
        children="few",
        vote="majority",
        tree=np.zeros(n, dtype=np.intp),
        level=np.array([0] + [1] * (n - 1)),
        parent=np.array([-1] + [0] * (n - 1)),
        column=np.array([position] + [-1] * (n - 1)),
        first=np.array([1] + [n] * (n - 1)),
        fanout=np.array([n - 1] + [0] * (n - 1)),
        cut=np.array([cut] + [nan] * (n - 1)),
        low=np.array([-1.0] + [nan] * (n - 1)),
        noisy=np.full(n, nan),
        counts=totals,
        classes=counts,
        probabilities=counts / np.maximum(totals, 1)[:, None] + (totals == 0)[:, None] / 3,
        spent=np.full(n, nan),
    )


# JSON


def assert_equal(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert (one.target, one.cuts, one.children, one.vote) == (other.target, other.cuts, other.children, other.vote)


FORESTS = {
    "few": lambda: grown(),
    "values": lambda: grown(children="values", cuts="bins", vote="probability", consistency=False),
    "paper": lambda: grown(mode="paper", epsilon=9.0),
    "plain": lambda: PlainForest(**SAME).fit(ROWS, schema=SCHEMA).forest_,
    "pruned": lambda: DiffPC45(epsilon=30.0, random_state=3).fit(ROWS, schema=SCHEMA).forest_,
    "id3": lambda: DiffPID3(epsilon=30.0, random_state=3).fit(ROWS, schema=SCHEMA).forest_,
    "stump": lambda: stump_of([[2.0, 2, 0], [2, 0, 0], [0, 2, 0]]),
}


@pytest.mark.parametrize("kind", FORESTS)
def test_json_reads_back_to_the_same_forest(kind):
    forest = FORESTS[kind]()
    again = Forest.from_json(forest.to_json())
    assert_equal(again, forest)
    assert again.schema == SCHEMA
    np.testing.assert_array_equal(again.probability(ROWS), forest.probability(ROWS))


@pytest.fixture(scope="module")
def document():
    forest = grown(n_trees=2, max_depth=3)
    assert {0, 1} & set(forest.column[~forest.leaf].tolist())
    return json.loads(forest.to_json())


def refused(document):
    with pytest.raises(SchemaError):
        Forest.from_json(document if isinstance(document, str) else json.dumps(document))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"x"', "{}", '{"schema": 1, "forest": 2}', "[" * 99_999])
def test_what_is_no_forest_file_is_refused(text):
    refused(text)


@pytest.mark.parametrize("field", ["format", "target", "cuts", "children", "vote", "nodes"])
def test_damaged_heads_are_refused(field, document):
    for wrong in (None, True, 1, "", "other", [], {}, ["numbers"], "grade" * 1000):
        damaged = deepcopy(document)
        damaged["forest"][field] = wrong
        refused(damaged)
    del damaged["forest"][field]
    refused(damaged)
    refused({"schema": document["schema"]})
    refused({"schema": document["schema"], "forest": [document["forest"]]})


def test_another_schema_is_refused(document):
    for change in (
        lambda columns: columns.pop(2),
        lambda columns: columns.pop(3),
        lambda columns: columns[3]["categories"].append("never"),
        lambda columns: columns.reverse(),
        lambda columns: columns[1].update(upper=15.0, lower=15.0),  # one whole number is never cut
    ):
        damaged = deepcopy(document)
        change(damaged["schema"]["columns"])
        damaged["schema"]["target"] = None
        refused(damaged)


@pytest.mark.parametrize("change", [{"upper": 21.0, "lower": 15.0}, {"upper": 1e9}, {"kind": "continuous"}])
def test_cuts_are_shares_of_whatever_range_a_schema_declares(change, document):
    """A file that says so in both its parts is a forest of other numbers: its walks end at leaves all the same."""
    damaged = deepcopy(document)
    damaged["schema"]["columns"][1].update(change)
    damaged["schema"]["target"] = None
    column = damaged["schema"]["columns"][1]
    rows = make_rows(100, 8).assign(age=np.linspace(column["lower"], column["upper"], 100).round())
    walks_or_is_refused(damaged, rows)


def places(document):
    """A division, the first and last of several, and a leaf."""
    nodes = document["forest"]["nodes"]
    inner = [i for i, column in enumerate(nodes["column"]) if column >= 0]
    leaves = [i for i, column in enumerate(nodes["column"]) if column < 0]
    return inner, leaves


WRONG = [
    None,
    True,
    False,
    "0",
    "x",
    "",
    [],
    [0],
    {},
    0.5,
    1e300,
    -1e300,
    10**30,
    -(10**30),
    2**31,
    2**63,
    -(2**31),
    -7,
]


@pytest.mark.parametrize("name", ["tree", "level", "parent", "column", "first", "fanout"])
def test_damaged_places_are_refused(name, document):
    inner, leaves = places(document)
    for at in (0, inner[0], inner[-1], leaves[0], leaves[-1]):
        free = name == "first" and at in leaves  # of no meaning there
        for wrong in WRONG:
            if free and type(wrong) is int and abs(wrong) < 2**31:
                continue
            damaged = deepcopy(document)
            damaged["forest"]["nodes"][name][at] = wrong
            refused(damaged)


@pytest.mark.parametrize("name", ["tree", "level", "parent", "column", "first", "fanout"])
def test_every_other_small_number_is_refused(name, document):
    """Cycles, shared children, other fan-outs, other trees, levels that jump."""
    inner, _ = places(document)
    nodes = document["forest"]["nodes"]
    for at in (0, 1, inner[-1]):
        if at not in inner and name == "first":
            continue
        for wrong in range(-1, len(nodes["tree"]) + 2):
            if wrong == nodes[name][at]:
                continue
            damaged = deepcopy(nodes)
            damaged[name][at] = wrong
            text = {**document, "forest": {**document["forest"], "nodes": damaged}}
            if name == "column" and at in inner and 0 <= wrong < len(SCHEMA):
                walks_or_is_refused(text)  # another column may happen to fit
            else:
                refused(text)


def walks_or_is_refused(document, rows=None):
    try:
        forest = Forest.from_json(json.dumps(document))
    except SchemaError:
        return
    leaves = forest.apply(make_rows(100, 8) if rows is None else rows)
    assert forest.leaf[leaves].all()
    assert (forest.tree[leaves] == np.arange(forest.trees)).all()


@pytest.mark.parametrize("name", ["cut", "low", "noisy", "counts", "spent"])
def test_damaged_numbers_are_refused(name, document):
    inner, leaves = places(document)
    for at in (inner[0], leaves[-1]):
        for wrong in (True, "1", "x", [], [1.0], {}, 10**400, math.inf, -math.inf):
            damaged = deepcopy(document)
            damaged["forest"]["nodes"][name][at] = wrong
            refused(damaged)


def test_numbers_that_cannot_be_are_refused(document):
    inner, _ = places(document)
    nodes = document["forest"]["nodes"]
    cut = next(i for i in inner if nodes["cut"][i] is not None)
    group = [i for i in inner if nodes["cut"][i] is None][:1]
    damages = [("counts", 0, -1.0), ("counts", 0, None), ("counts", 0, 1e9), ("spent", 0, -1.0)]
    damages += [("cut", cut, None), ("cut", cut, 1e9), ("cut", cut, -1e9), ("low", cut, None), ("low", cut, -5.0)]
    damages += [("cut", i, 1.0) for i in group] + [("low", i, 0.5) for i in group] + [("low", i, 3.0) for i in group]
    # Cuts of numbers are whole numbers from the tick in front of the range to the last but one of it.
    numbers = [i for i in inner if nodes["column"][i] in (0, 1)]
    assert numbers
    assert nodes["low"][numbers[0]] == -1
    for wrong in (-2.0, -1.5, 0.5, 2.0**31 + 0.5, 2.0**32, 2.0**32 + 1, 1e300):
        damages += [("cut", i, wrong) for i in numbers]
    damages += [("low", numbers[0], wrong) for wrong in (0.0, -2.0, 2.0**31)]
    for name, at, wrong in damages:
        damaged = deepcopy(document)
        damaged["forest"]["nodes"][name][at] = wrong
        refused(damaged)
    for name in ("classes", "probabilities"):
        for wrong in (-1.0, None, math.inf, True, "1", 1e308, 7.5):
            damaged = deepcopy(document)
            damaged["forest"]["nodes"][name][0][1] = wrong
            refused(damaged)
        for row in ([], [0.5, 0.5], [0.25] * 4, 0.5, None, [[0.3, 0.3, 0.4]]):
            damaged = deepcopy(document)
            damaged["forest"]["nodes"][name][0] = row
            refused(damaged)


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_length_or_shape_are_refused(name, document):
    nodes = document["forest"]["nodes"]
    for wrong in ([], nodes[name][:-1], nodes[name] + nodes[name][-1:], None, "x" * len(nodes["tree"]), {}, 3):
        refused({**document, "forest": {**document["forest"], "nodes": {**nodes, name: wrong}}})
    nested = [[v] for v in nodes[name]]
    refused({**document, "forest": {**document["forest"], "nodes": {**nodes, name: nested}}})
    without = {key: value for key, value in nodes.items() if key != name}
    refused({**document, "forest": {**document["forest"], "nodes": without}})
    empty = {key: [] for key in nodes}
    refused({**document, "forest": {**document["forest"], "nodes": empty}})


def chain_of(depth):
    """Divisions that each divide the left half of the last."""
    n = 2 * depth + 1
    inner = [0, *range(1, n - 2, 2)]
    chain, every = stump_of([[1.0, 0, 0]] * n), np.arange(n)
    put = {
        "level": (every + 1) // 2,
        "parent": np.append(-1, np.repeat(inner, 2)),
        "column": np.where(np.isin(every, inner), 0, -1),
        "first": np.full(n, n),
        "fanout": np.where(np.isin(every, inner), 2, 0),
    }
    chain = replace(chain, **put)
    chain.first[inner] = 2 * np.arange(depth) + 1
    chain.cut[inner], chain.low[inner] = np.floor(np.linspace(GRID, -1, depth + 2)[1:-1]), -1.0
    return chain


def test_no_file_makes_a_walk_as_long_as_it_likes():
    again = Forest.from_json(chain_of(60).to_json())
    assert again.apply(make_rows(9)).shape == (9, 1)
    refused(chain_of(3_000).to_json())


@pytest.mark.parametrize("cut", [-1, 0, GRID - 1])
def test_the_first_and_the_last_cut_part_what_is_at_the_ends(cut):
    """In front of the lowest number, between it and all others, and between all others and the highest."""
    stump = Forest.from_json(stump_of([[2.0, 2, 0], [2, 0, 0], [0, 2, 0]], cut=cut).to_json())
    sizes = pd.Series([-1.0, np.nextafter(-1, 0), 0.0, np.nextafter(4, 0) - 1e-8, 4.0, np.nan])
    leaves = stump.apply(make_rows(6).assign(size=sizes))[:, 0]
    left = {-1: 0, 0: 1, GRID - 1: 4}[cut]
    assert leaves.tolist() == [1] * left + [2] * (6 - left)


# Pruning


@pytest.mark.parametrize(
    ("n", "errors", "expected"),
    [
        (6, 0, 6 * 0.206),  # C4.5's own examples
        (9, 0, 9 * 0.143),
        (1, 0, 0.75),
        (2, 0, 2 * 0.5),
        (4, 4, 4),
        (3, 9, 3),
        (0, 0, 0),
        (16, 1, 16 * 0.1596),  # .157 in the book, which interpolates
    ],
)
def test_pessimistic_errors_by_hand(n, errors, expected):
    assert pessimistic(np.array([n]), np.array([errors]))[0] == pytest.approx(expected, rel=5e-3)


def test_pessimistic_errors_are_the_binomial_limit():
    counts, errors = np.array([5.0, 20, 100, 7.5, 1e-3]), np.array([1.0, 3, 40, 0.25, 0.0])
    limits = pessimistic(counts, errors) / counts
    for n, e, p in zip(counts[:3].astype(int), errors[:3].astype(int), limits[:3], strict=True):
        assert sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(e + 1)) == pytest.approx(0.25)
    assert ((limits > 0) & (limits <= 1)).all()
    assert (limits > errors / counts).all()


def test_a_division_is_kept_where_it_pays():
    kept = pruned(stump_of([[20.0, 20, 0], [20, 0, 0], [0, 20, 0]]))
    assert kept.column.tolist() == [0, -1, -1]
    # The same class on both sides: 40 records without an error promise less than twice 20.
    gone = pruned(stump_of([[40.0, 0, 0], [20, 0, 0], [20, 0, 0]]))
    assert (gone.column.tolist(), gone.first.tolist(), gone.fanout.tolist()) == ([-1], [0], [0])
    assert np.isnan(gone.cut).all()
    assert gone.classes.tolist() == [[40, 0, 0]]


@pytest.mark.parametrize("seed", range(6))
def test_pruned_trees_are_forests_with_no_more_nodes(seed):
    how = {"epsilon": 3.0, "random_state": seed, "max_depth": 4}
    whole = DiffPC45(**how, prune=False).fit(ROWS, schema=SCHEMA).forest_
    less = DiffPC45(**how).fit(ROWS, schema=SCHEMA).forest_
    assert_equal(less, pruned(whole))
    assert len(less.tree) <= len(whole.tree)
    Forest.from_json(less.to_json())
    assert_equal(pruned(less), less)
    # By its own numbers the pruned tree promises no more errors.
    assert promised(less) <= promised(whole) + 1e-9
    # Every row ends in its old leaf or an ancestor of it, with that one's counts.
    new = make_rows(50, seed)
    for old, now in zip(whole.apply(new)[:, 0].tolist(), less.apply(new)[:, 0].tolist(), strict=True):
        above = []
        while old >= 0:
            above.append(whole.classes[old].tolist())
            old = int(whole.parent[old])
        assert less.classes[now].tolist() in above


def promised(forest):
    leaves = forest.classes[forest.leaf]
    return pessimistic(leaves.sum(axis=1), leaves.sum(axis=1) - leaves.max(axis=1)).sum()


def test_a_forest_of_several_trees_is_pruned_tree_by_tree(forest):
    less = pruned(forest)
    assert less.trees == forest.trees
    for tree in range(3):
        alone = {name: getattr(forest, name)[forest.tree == tree] for name in ("counts",)}
        assert (less.tree == tree).sum() <= len(alone["counts"])
    Forest.from_json(less.to_json())


# Budgets


@pytest.mark.parametrize("depth", [1, 2, 5, 20])
@pytest.mark.parametrize("refund", [True, False])
def test_equal_budgets_add_up_on_every_way(depth, refund):
    budget = Budget.equal(0.7, depth, refund=refund)
    ways = [budget.until(level) for level in range(depth + 1)]
    assert ways[-1] == budget.total
    assert all(way == budget.total if refund else way < budget.total for way in ways[:-1])
    assert all(paid > 0 for paid in (*budget.counts, *budget.choices, *budget.leaves))


@pytest.mark.parametrize("depth", [1, 2, 5, 20])
@pytest.mark.parametrize("growth", [0.1, 1.0, 1.4, 10.0])
def test_shared_budgets_add_up_on_every_way(depth, growth):
    budget = Budget.shared(0.7, depth, counts=0.25, leaves=0.3, growth=growth)
    assert all(budget.until(level) == budget.total for level in range(depth + 1))
    assert float(sum(budget.counts)) == pytest.approx(0.25 * 0.7)
    assert float(budget.leaves[-1]) == pytest.approx(0.3 * 0.7)
    ratios = [float(b / a) for a, b in zip(budget.choices, budget.choices[1:], strict=False)]
    assert ratios == pytest.approx([growth] * (depth - 1))
    assert all(paid > 0 for paid in (*budget.counts, *budget.choices, *budget.leaves))


def test_the_door_is_asked_for_whole_forests_only_through_trees(monkeypatch):
    """Nothing reads the rows but answers that are paid for: with taped answers no row is needed."""
    model = DiffPRFs(**SAME, epsilon=5.0)
    tape, answer = [], Door.answer

    def record(door, question, entries, draw):
        tape.append(answer(door, question, entries, draw))
        return tape[-1]

    monkeypatch.setattr(Door, "answer", record)
    first = model.fit(ROWS, schema=SCHEMA).forest_
    played = iter(list(tape))
    monkeypatch.setattr(Door, "answer", lambda *_: next(played))
    again = DiffPRFs(**SAME, epsilon=5.0).fit(make_rows(300, 77), schema=SCHEMA).forest_
    assert_equal(first, again)
