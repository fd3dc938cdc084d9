"""DiffGen's classifier: DiffGen's release to the last digit, and a tree that follows from it."""

import json

import numpy as np
import pandas as pd
import pytest
from grouped import C, N, Y
from grouped import make_frame as grouped_frame

from dpcore.domain.column import Column
from dpcore.domain.partition import Partition
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.methods import DiffGen, DiffGenTree
from dpcore.postprocess.group_tree import GroupTree, told_by, tree_of

M = Column(name="m", kind="integer", lower=0, upper=3, bins=4, missing=True)
SCHEMA = Schema(columns=(N, C, Y, M), target="y")  # the class is not the last column


def make_frame(rows=300, seed=0):
    """The class hangs on n, more weakly on a, which is not there."""
    return grouped_frame(rows, seed).drop(columns="a").assign(m=np.arange(rows) % 4)


FRAME = make_frame()


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    return DiffGenTree(**{"epsilon": 1.0, "random_state": 0, **parameters}).fit(frame, schema=schema)


@pytest.mark.parametrize(
    ("criterion", "score", "relation", "mode"),
    [("InfoGain", "IG", "replace", "corrected"), ("Max", "Max", "add_remove", "published")],
)
def test_the_release_is_diffgens(criterion, score, relation, mode):
    settings = {"relation": relation, "mode": mode, "rounds": 4, "random_state": 2}
    released = DiffGen(score=score, **settings).fit(FRAME, schema=SCHEMA)
    method = fit(criterion=criterion, **settings)
    pd.testing.assert_frame_equal(method.ledger_.to_frame(), released.ledger_.to_frame())
    assert method.steps_ == released.steps_
    document = method.structure()
    assert document == {**released.structure(), "classifier": document["classifier"]}


def grown(counts, columns, deviation=0.0):
    schema = Schema(columns=(*columns, Y), target="y")
    leaves = Partition.whole(schema)
    for column in schema:
        leaves = leaves.refined(column.name, np.arange(column.size), column.labels)
    return tree_of(leaves, np.array(counts, dtype=float).ravel(), "y", deviation=deviation)


def test_a_tree_by_hand():
    """One question sets v apart; u and w differ in nothing, and are told apart all the same, as nothing forbids it."""
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


def test_missing_numbers_may_be_asked_for():
    ranks, missing = told_by(M, 3)
    assert ranks.tolist() == [0, 1, 2]
    assert missing.tolist() == [0, 0, 1]
    assert told_by(C, 1) == []  # not divided
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
        np.testing.assert_allclose(grown(counts, columns).probability(FRAME), [share] * 300)


def test_the_document_alone_predicts():
    """By a walk in plain Python through what `structure` tells."""
    method = fit(epsilon=1e6, rounds=20)
    document = json.loads(json.dumps(method.structure(), allow_nan=False))["classifier"]
    codes = dict(zip(SCHEMA.names, SCHEMA.encode(FRAME).T, strict=True))
    shares = method.predict_proba(FRAME)
    for row in range(len(FRAME)):
        node = document["nodes"][0]
        while node["column"]:
            group = document["groups"][node["column"]][codes[node["column"]][row]]
            node = document["nodes"][node["left"] if group in node["goes_left"] else node["right"]]
        assert shares[row] == pytest.approx(np.array(node["classes"]) / sum(node["classes"]))
    again = GroupTree.from_dict(SCHEMA, document)
    assert again.to_dict() == document
    np.testing.assert_array_equal(again.probability(FRAME), shares)


def test_damaged_documents_are_refused():
    document = fit().classifier_.to_dict()
    first, *rest = document["nodes"]
    name, (_, *groups) = next(iter(document["groups"].items()))
    broken = [{"format": "other"}, {"target": "nobody"}, {"groups": {}}, {"nodes": rest}]
    broken += [{"groups": {**document["groups"], name: begin + groups}} for begin in ([], [-1], [10**9])]
    changes = [{"left": 0}, {"right": 1}, {"left": 10**6}, {"goes_left": [77]}, {"column": "y"}, {"classes": None}]
    changes += [{"classes": classes} for classes in ([1.0], [1.0, -1.0], [1.0, float("nan")])]
    broken += [{"nodes": [{**first, **change}, *rest]} for change in changes]
    for change in broken:
        with pytest.raises(SchemaError, match="no tree"):
            GroupTree.from_dict(SCHEMA, {**document, **change})
