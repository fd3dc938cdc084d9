"""Nodes of a released tree as a table: every node by enumeration, children adjacent, counts and intervals by hand."""

import math

import numpy as np
import pytest

from dpcore.domain.column import Column
from dpcore.domain.partition import Partition
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate import tree_errors
from dpcore.postprocess import count_tree_frames
from dpcore.postprocess.count_tree import SURE, ReleasedTree
from dpcore.rows import HeldRows

AWKWARD = "a.b[0]:Q"
SCHEMA = Schema(
    columns=(
        Column(name=AWKWARD, kind="categorical", categories=("p", "q", "r", "s")),
        Column(name="c", kind="categorical", categories=("no", "<b>yes</b>")),
    ),
    target="c",
    max_rows=500,
)
WHOLE = Partition.whole(SCHEMA)
CLASSES = WHOLE.refined("c", np.arange(2), SCHEMA["c"].labels)
HALVES = CLASSES.refined(AWKWARD, np.array([0, 1, 0, 1]), ["pr", "qs"])
LEAVES = HALVES.refined(AWKWARD, np.arange(4), SCHEMA[AWKWARD].labels)
CHAIN = [WHOLE, CLASSES, HALVES, LEAVES]
CODES = np.array([[0, 0]] * 5 + [[2, 0]] * 3 + [[1, 1]] * 2 + [[3, 1]], dtype=np.uint8)
ROWS = HeldRows(CODES, SCHEMA.sizes)
TRUTH = [[11], [8, 3], [8, 0, 0, 3], [5, 0, 0, 2, 3, 0, 0, 1]]
VARIANCES = [1.0, math.inf, 4.0, 2.0]


def tree(seed=0, variances=VARIANCES):
    rng = np.random.default_rng(seed)
    pairs = zip(TRUTH, variances, strict=True)
    noisy = [t + rng.normal(size=len(t)) if v < math.inf else np.empty(0) for t, v in pairs]
    return ReleasedTree(CHAIN, noisy, variances)


def test_nodes_by_hand():
    released = tree()
    frame = count_tree_frames.nodes(released)
    assert frame["level"].tolist() == [0] + [1] * 2 + [2] * 4 + [3] * 8
    # cells are numbered with the awkward column outermost, so the classes' nodes have to be brought together
    assert frame["place"].tolist() == [0, 0, 1, 0, 2, 1, 3, 0, 4, 2, 6, 1, 5, 3, 7]
    assert frame["parent"].tolist() == [-1, 0, 0, 0, 0, 1, 1, 0, 0, 2, 2, 1, 1, 3, 3]
    assert frame["left"].tolist() == [0, 0, 4, 0, 2, 4, 6, 0, 1, 2, 3, 4, 5, 6, 7]
    assert frame["right"].tolist() == [8, 4, 8, 2, 4, 6, 8, *range(1, 9)]
    assert frame["divides"].unique().tolist() == ["all rows", "c", AWKWARD]
    assert frame["label"].tolist()[:4] == ["all rows", "no", "<b>yes</b>", "pr"]
    assert frame["name"].tolist()[:4] == ["all rows", "c no", "c <b>yes</b>", f"{AWKWARD} pr, c no"]
    assert frame["measured"].tolist() == [True, False, False, *[True] * 12]
    assert frame["noisy"].isna().tolist() == [False, True, True, *[False] * 12]
    assert frame["noisy"][3] == released.noisy[2][0]
    assert frame["noisy"][10] == released.noisy[3][6]
    assert frame["consistent"][10] == released.consistent.counts[3][6]
    assert frame["noisy_margin"].dropna().unique() == pytest.approx(SURE * np.sqrt([1, 4, 2]))
    expected = SURE * math.sqrt(released.consistent.variances[1][0])
    assert frame["consistent_margin"][1] == pytest.approx(expected)
    found = tree_errors.with_truth(frame, tree_errors.true_counts(released, ROWS))
    assert found["true"].tolist() == [11, 8, 3, 8, 0, 0, 3, 5, 3, 0, 0, 0, 0, 2, 1]
    np.testing.assert_allclose(found["noise"], frame["noisy"] - found["true"])
    both = count_tree_frames.nodes(ReleasedTree([WHOLE, LEAVES], [np.ones(1), np.ones(8)], [1.0, 1.0]))
    assert both["divides"].unique().tolist() == ["all rows", f"{AWKWARD}, c"]
    assert both["label"][1] == "p, no"
    # A public root, and levels that were never measured.
    frame = count_tree_frames.nodes(tree(variances=[0.0, math.inf, math.inf, 2.0]))
    assert frame.loc[0, ["measured", "noisy_margin"]].tolist() == [True, 0]
    assert frame["consistent_margin"][0] == pytest.approx(0, abs=1e-6)
    assert frame["measured"].tolist() == [True] + [False] * 6 + [True] * 8


def test_whole_levels_of_a_part_are_shown_as_long_as_there_is_room():
    for most, shown in {1: 1, 3: 3, 6: 3, 7: 7, 14: 7, 15: 15, 400: 15}.items():
        assert len(count_tree_frames.nodes(tree(), most=most)) == shown
    frame = count_tree_frames.nodes(tree(), at=(2, 3))
    assert frame["name"].tolist() == [f"{AWKWARD} {x}, c <b>yes</b>" for x in ("qs", "q", "s")]
    assert frame[["left", "right"]].to_numpy().tolist() == [[0, 2], [0, 1], [1, 2]]
    assert frame["parent"].tolist() == [-1, 3, 3]
    assert len(count_tree_frames.nodes(tree(), at=(3, 7))) == 1
    for arguments in ({"at": (4, 0)}, {"at": (-1, 0)}, {"at": (1, 2)}, {"at": (1, -1)}, {"most": 0}):
        with pytest.raises(ParameterError):
            count_tree_frames.nodes(tree(), **arguments)


def test_errors_per_level_by_hand():
    released = tree()
    truth = tree_errors.true_counts(released, ROWS)
    assert [counts.tolist() for counts in truth] == TRUTH
    found = tree_errors.level_errors(released, truth)
    assert found["which"].tolist() == ["noisy", "consistent", "consistent", *["noisy", "consistent"] * 2]
    assert found["level"].tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert found["nodes"].tolist() == [1, 1, 2, 4, 4, 8, 8]
    assert found["error"][3] == pytest.approx(np.abs(released.noisy[2] - TRUTH[2]).mean())
    assert found["error"][6] == pytest.approx(np.abs(released.consistent.counts[3] - TRUTH[3]).mean())
