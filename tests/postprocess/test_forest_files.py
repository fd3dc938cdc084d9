"""Forests that are handed on: as JSON, read back or refused, and as tables of nodes with epsilon by level."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from forests import ROWS, SCHEMA, STUMP, assert_equal, grown, make_rows, plain, stump_of

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.domain.splits import GRID
from dpcore.errors import ParameterError, SchemaError
from dpcore.methods import DiffPC45, DiffPRFs, NaiveBayesSynthesizer, SuLQID3
from dpcore.postprocess import forest_frames
from dpcore.postprocess.forest import Forest


def test_json_reads_back_to_the_same_forest():
    c45 = DiffPC45(epsilon=30.0, random_state=3).fit(ROWS, schema=SCHEMA).forest_
    values = grown(categorical_splits="values", cuts="bins", vote="probability", consistency=False)
    for forest in (grown(), values, grown(mode="published", epsilon=9.0), plain(), c45, STUMP):
        again = Forest.from_json(forest.to_json())
        assert_equal(again, forest)
        assert again.schema == SCHEMA
        np.testing.assert_array_equal(again.probability(ROWS), forest.probability(ROWS))


@pytest.fixture
def document():
    return json.loads(grown(n_trees=2, max_depth=2).to_json())


def read(document):
    """The forest of a file, if it is one."""
    try:
        return Forest.from_json(document if isinstance(document, str) else json.dumps(document))
    except SchemaError:
        return None


def with_fields(document, **fields):
    return {**document, "forest": {**document["forest"], **fields}}


def with_nodes(document, name, values):
    """The document with other values for one of its arrays."""
    return with_fields(document, nodes={**document["forest"]["nodes"], name: values})


def spoiled(document, name, at, wrong):
    """The document with another value in one of its arrays."""
    right = document["forest"]["nodes"][name]
    return with_nodes(document, name, [*right[:at], wrong, *right[at + 1 :]])


def walks_or_is_refused(document, rows):
    if (forest := read(document)) is not None:
        leaves = forest.apply(rows)
        assert forest.leaf[leaves].all()
        assert (forest.tree[leaves] == np.arange(forest.trees)).all()


def with_column(document, index, **fields):
    damaged = json.loads(json.dumps(document))
    damaged["schema"]["columns"][index] |= fields
    damaged["schema"]["target"] = None
    return damaged


def test_damaged_heads_are_refused(document):
    for text in ("", "{", "[]", "null", '{"schema": 1, "forest": 2}', {"schema": document["schema"]}):
        assert not read(text), text
    for field in ("format", "target", "cuts", "children", "vote", "nodes"):
        for wrong in (None, 1, "other", [], {}):
            assert not read(with_fields(document, **{field: wrong})), f"{field} {wrong}"
        less = {key: value for key, value in document["forest"].items() if key != field}
        assert not read({**document, "forest": less}), field


def test_another_schema_is_refused_unless_cuts_are_shares_of_its_range(document):
    """A file that says so in both its parts is a forest of other numbers: its walks end at leaves all the same."""
    classes = [*SCHEMA["y"].categories, "never"]
    assert not read(with_column(document, 3, categories=classes))
    assert not read(with_column(document, 1, upper=15.0, lower=15.0))  # one whole number is never cut
    ages = np.linspace(0, 1e9, 100).round()
    walks_or_is_refused(with_column(document, 1, upper=1e9), make_rows(100, 8).assign(age=ages))
    del document["schema"]["columns"][2]
    assert not read(document)


def places(document):
    """Where nodes are divided, and where leaves are."""
    leaf = np.array(document["forest"]["nodes"]["column"]) < 0
    return np.flatnonzero(~leaf).tolist(), np.flatnonzero(leaf).tolist()


@pytest.mark.parametrize("name", ["tree", "level", "parent", "column", "first", "fanout"])
def test_damaged_positions_are_refused(name, document):
    """What is no such number; and cycles, shared children, other fan-outs, other trees, levels that jump."""
    inner, leaves = places(document)
    right, rows = document["forest"]["nodes"][name], make_rows(20, 8)
    for at in {0, inner[-1], leaves[-1]}:
        for wrong in (None, True, "0", [0], 0.5, 10**30, 2**31):
            assert not read(spoiled(document, name, at, wrong)), f"{at} {wrong}"
        for wrong in {*range(-1, len(right) + 2)} - {right[at]}:
            damaged = spoiled(document, name, at, wrong)
            if name == "column" and at in inner and 0 <= wrong < len(SCHEMA):
                walks_or_is_refused(damaged, rows)  # another column may happen to fit
            elif not (name == "first" and at in leaves):  # a leaf's first child means nothing
                assert not read(damaged), f"{at} {wrong}"


def test_impossible_numbers_are_refused(document):
    inner, leaves = places(document)
    nodes = document["forest"]["nodes"]
    code = next(i for i in inner if nodes["cut"][i] is not None and nodes["column"][i] > 1)
    group = next((i for i in inner if nodes["cut"][i] is None), None)
    numbers = [i for i in inner if nodes["column"][i] in (0, 1)]
    assert nodes["low"][numbers[0]] == -1
    damages = [("counts", 0, -1.0), ("counts", 0, None), ("counts", 0, 1e9), ("spent", 0, -1.0)]
    damages += [("cut", code, wrong) for wrong in (None, 1e9, -1e9)] + [("low", code, None), ("low", code, -5.0)]
    damages += [("cut", group, 1.0), ("low", group, 0.5), ("low", group, 3.0)] if group is not None else []
    # Cuts of numbers are whole numbers from the tick in front of the range to the last but one of it.
    damages += [("cut", i, x) for x in (-2.0, -1.5, 2.0**32, 2.0**32 + 1) for i in numbers]
    damages += [("low", numbers[0], wrong) for wrong in (0.0, -2.0)]
    for name in ("cut", "low", "noisy", "counts", "spent"):
        damages += [(name, at, x) for at in (inner[0], leaves[-1]) for x in (True, "1", [], 10**400, math.inf)]
    for name in ("classes", "probabilities"):
        one, _, three = nodes[name][0]
        damages += [(name, 0, [one, x, three]) for x in (-1.0, None, math.inf, True, "1", 1e308, 7.5)]
        damages += [(name, 0, x) for x in ([], [0.5, 0.5], [0.25] * 4, 0.5, None)]
    for damage in damages:
        assert not read(spoiled(document, *damage)), damage
    for name, right in nodes.items():
        for wrong in ([], right[:-1], right + right[-1:], None, 3, [[value] for value in right]):
            assert not read(with_nodes(document, name, wrong)), name
        assert not read(with_fields(document, nodes={key: nodes[key] for key in nodes if key != name})), name
    assert not read(with_fields(document, nodes={name: [] for name in nodes}))


def chain_of(depth):
    """Divisions that each divide the left half of the last."""
    n = 2 * depth + 1
    inner, every = [0, *range(1, n - 2, 2)], np.arange(n)
    divided = np.isin(every, inner)
    parent, fanout = np.append(-1, np.repeat(inner, 2)), np.where(divided, 2, 0)
    put = {"level": (every + 1) // 2, "parent": parent, "column": np.where(divided, 0, -1), "fanout": fanout}
    chain = replace(stump_of([[1, 0, 0]] * n), **put)
    chain.first[inner] = 2 * np.arange(depth) + 1
    chain.cut[inner], chain.low[inner] = np.floor(np.linspace(GRID, -1, depth + 2)[1:-1]), -1.0
    return chain


def test_trees_in_files_have_a_bounded_depth():
    assert Forest.from_json(chain_of(60).to_json()).apply(make_rows(9)).shape == (9, 1)
    assert not read(chain_of(3_000).to_json())


NONE = np.nan
CUT = np.floor(4.05 / 10 * 2**32)  # of ten bins of ages, 40.5


@pytest.fixture(scope="module")
def fitted(small_frame, small_schema):
    return DiffPRFs(epsilon=20.0, n_trees=3, max_depth=4, random_state=2).fit(small_frame, schema=small_schema)


@pytest.fixture(scope="module")
def forest(fitted):
    """Two trees: one asks age, then a letter of the older; the other is a leaf."""
    numbers = {"tree": [0, 1, 0, 0, 0, 0, 0, 0], "level": [0, 0, 1, 1, 2, 2, 2, 2], "fanout": [2, 0, 0, 4, 0, 0, 0, 0]}
    numbers |= {"parent": [-1, -1, 0, 0, 3, 3, 3, 3], "first": [2, 0, 0, 4, 0, 0, 0, 0]}
    numbers |= {"column": [2, -1, -1, 0, -1, -1, -1, -1]}
    classes = np.array([[70.0, 30], [99, 0], [60, 0], [10, 30], [1, 9], [2, 8], [3, 7], [4, 6]])
    return replace(
        fitted.forest_,
        **{name: np.array(values) for name, values in numbers.items()},
        cut=np.array([CUT, *[NONE] * 7]),
        low=np.array([0.0, NONE, NONE, 0.0, *[NONE] * 4]),
        noisy=np.array([101.0, 99.0, 61.5, -3.0, NONE, 8.0, 9.0, 10.0]),
        counts=classes.sum(axis=1),
        classes=classes,
        probabilities=classes / classes.sum(axis=1, keepdims=True),
        spent=np.array([0.1, 1.0, 1.0, 0.4, 1.0, 1.0, 1.0, 1.0]),
    )


def test_a_tree_by_hand(forest):
    frame = forest_frames.node_table(forest)
    assert frame["place"].tolist() == [0, 2, 3, 4, 5, 6, 7]
    assert frame["parent"].tolist() == [-1, 0, 0, 3, 3, 3, 3]
    assert frame["level"].tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert frame["text"].tolist() == ["age", "", "a.b[0]:Q", "", "", "", ""]
    assert frame["side"].tolist() == ["", "≤ 40", "> 40", "x", "y", "<b>z</b>", "(missing)"]
    assert frame["edge"].tolist()[:4] == ["", "age ≤ 40", "age > 40", "a.b[0]:Q: x"]
    assert frame["class"].tolist() == ["no", "no", "yes", "yes", "yes", "yes", "yes"]
    assert frame["share"].tolist() == pytest.approx([0.7, 1.0, 0.75, 0.9, 0.8, 0.7, 0.6])
    assert frame["leaf"].tolist() == [False, True, False, True, True, True, True]
    assert frame["spent"].tolist() == [0.1, 1.0, 0.4, 1.0, 1.0, 1.0, 1.0]
    assert frame["noisy"].tolist()[:3] == [101.0, 61.5, -3.0]
    assert frame["counts"].tolist()[:3] == [100.0, 60.0, 40.0]
    assert not frame["folded"].any()
    leaf = forest_frames.node_table(forest, 1)
    assert leaf[["place", "parent", "text", "side", "class"]].to_numpy().tolist() == [[1, -1, "", "", "no"]]


def test_deep_levels_are_folded_and_counted(forest):
    for most, indices, folded in (
        (7, [0, 2, 3, 4, 5, 6, 7], [0] * 7),
        (3, [0, 2, 3], [4, 0, 4]),
        (2, [0, 2], [5, 0]),  # the largest child
        (1, [0], [6]),
    ):
        frame = forest_frames.node_table(forest, most=most)
        assert (frame["place"].tolist(), frame["folded"].tolist()) == (indices, folded)
        assert frame["leaf"].tolist() == [index not in (0, 3) for index in indices]
    for wanted in ({"tree": 2}, {"tree": -1}, {"most": 0}):
        with pytest.raises(ParameterError):
            forest_frames.node_table(forest, **wanted)


def test_levels_sum_to_the_ledger_of_one_tree(small_frame, small_schema):
    inside = np.log(1 + (np.exp(1 / 3) - 1) / 0.25)  # of a sample: ln(1 + g (e^x - 1)) = 1/3
    for chosen, spent, account, per_tree in (
        ({"relation": "replace"}, 0.5, "3 trees on disjoint rows", True),  # a record leaves one node and enters another
        ({"resample": "full", "relation": "replace"}, 1 / 6, "3 trees, each", True),
        ({"resample": "full", "n_trees": 1}, 1.0, "one tree", False),
        ({"split_selection": "two_stage", "count_share": 0.5, "max_depth": 4}, 1.0, "3 trees on disjoint rows", False),
        ({"resample": "poisson", "rate": 0.25}, inside, "3 trees, each: a random 25 % of the rows", True),
    ):
        wanted = {"epsilon": 1.0, "n_trees": 3, "max_depth": 3, "random_state": 1, **chosen}
        fitted = DiffPRFs(**wanted).fit(small_frame, schema=small_schema)
        frame = forest_frames.budget(fitted.ledger_)
        for kind in ("epsilon_nominal", "epsilon_claimed"):
            assert frame[kind].sum() == pytest.approx(spent, rel=1e-6), chosen
        assert (set(frame["account"]), set(frame["per_tree"])) == ({account}, {per_tree})
        assert frame["level"].is_monotonic_increasing
        assert set(frame["purpose"]) <= {"counts of records", "choices of splits", "classes in leaves"}
        assert frame["purpose"].iloc[-1] == "classes in leaves"
        assert not frame.duplicated(["level", "purpose"]).any()
        # The way is one that a record can take: the deepest leaf has spent as much.
        assert fitted.forest_.spent.max() == pytest.approx(spent)


def test_unprotected_queries_cost_infinitely_much_on_their_level(small_frame, small_schema):
    method = DiffPRFs(mode="published", epsilon=1.0, n_trees=2, max_depth=2, random_state=1)
    ledger = method.fit(small_frame, schema=small_schema).ledger_
    frame = forest_frames.budget(ledger).set_index(["level", "purpose"])
    assert frame["epsilon_claimed"].sum() == pytest.approx(0.5)
    assert [frame.loc[(level, "other purposes"), "epsilon_nominal"] for level in (0, 1)] == [np.inf] * 2
    assert frame.loc[(0, "counts of records"), "epsilon_nominal"] == pytest.approx(0.5 / 6)


def test_single_trees_spend_evenly_and_other_methods_have_no_levels(small_frame, small_schema):
    steps = [(0, "counts of records"), (0, "choices of splits"), (1, "counts of records"), (1, "classes in leaves")]
    for method, expected in ((SuLQID3(max_depth=1), steps), (NaiveBayesSynthesizer(), [(-1, "other purposes")])):
        frame = forest_frames.budget(method.fit(small_frame, schema=small_schema).ledger_)
        assert frame["epsilon_nominal"].sum() == pytest.approx(method.epsilon)
        assert list(zip(frame["level"], frame["purpose"], strict=True)) == expected
    assert forest_frames.budget(Ledger("replace")).empty


def entry(name, epsilon, claimed=None):
    kind = {"mechanism": "laplace", "sensitivity": 1.0, "claimed_sensitivity": 1.0, "scale": 1.0}
    claimed = epsilon if claimed is None else claimed
    return Entry(name=name, epsilon_claimed=claimed, epsilon_nominal=epsilon, **kind)


def test_disjoint_parts_count_once_and_ties_take_the_longest_path():
    ledger = Ledger("add_remove")
    root = ledger.child("one tree")
    root.charge(entry("level 0: records", 1))
    group = root.parallel("", by="value")
    stop, long, cheap = group.part("leaves of level 0"), group.part(""), group.part("")
    stop.charge(entry("level 0: classes in leaves", 5))
    long.charge(entry("level 0: split, by Max", 2), entry("level 1: records", 1))
    long.charge(entry("level 1: classes in leaves", 2, claimed=1))
    cheap.charge(entry("level 0: split, by Max", 4))
    root.charge(entry("levels that no tree reached", 0, claimed=3))
    frame = forest_frames.budget(ledger).set_index(["level", "purpose"])
    noise, claimed = (frame[kind][frame[kind] > 0] for kind in ("epsilon_nominal", "epsilon_claimed"))
    steps = [(0, "counts of records"), (0, "choices of splits"), (1, "counts of records"), (1, "classes in leaves")]
    assert noise.to_dict() == dict(zip(steps, [1.0, 2.0, 1.0, 2.0], strict=True))
    # By the claim, the way that stops at once is the dearest, and what was not asked belongs to no level.
    assert claimed.to_dict() == {steps[0]: 1.0, (0, "classes in leaves"): 5.0, (-1, "other purposes"): 3.0}
    assert frame.index[-1][0] == -1
    assert (ledger.epsilon_claimed, ledger.epsilon_bound) == (claimed.sum(), noise.sum()) == (9.0, 6.0)
