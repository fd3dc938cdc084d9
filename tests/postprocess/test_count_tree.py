"""Released trees of counts: answers, margins and nodes by hand and against loops, rows, and documents.

That the consistent leaves are those of least squares is for `test_least_squares`.
"""

import json
import math

import numpy as np
import pytest
from partitions import SCHEMA, random_chain
from scipy import stats
from tables import categorical

from dpcore.domain.partition import Partition
from dpcore.domain.range_query import RangeQuery, random_queries
from dpcore.errors import DPCoreError, ParameterError
from dpcore.evaluate import tree_errors
from dpcore.postprocess import count_tree
from dpcore.postprocess.count_tree import HUGE, SURE, ReleasedTree
from dpcore.rows import HeldRows

# Hay et al. (2010): the root 10, its children 6 and 3, their children 2, 1 and 3, 4
FOUR = SCHEMA.select(["a"])
HAY = [np.array([10.0]), np.array([6.0, 3.0]), np.array([2.0, 1.0, 3.0, 4.0])]
LEAVES = [3.0952, 2.0952, 1.7619, 2.7619]


def four(noisy=HAY, variances=(1.0, 1.0, 1.0)):
    whole = Partition.whole(FOUR)
    halves = whole.refine("a", np.array([0, 0, 1, 1]), ["left", "right"])
    return ReleasedTree([whole, halves, halves.refine("a", np.arange(4), FOUR["a"].labels)], noisy, variances)


def of(*codes):
    return RangeQuery.from_codes({"a": codes})


def random_tree(seed):
    """A random chain of partitions with a count for each cell; some levels are unmeasured, some roots public."""
    schema, chain, rng = random_chain(seed)
    variances = [float(rng.choice([0.5, 2.0, 8.0, np.inf])) for _ in chain]
    variances[-1] = 3.0
    if seed % 3 == 0:
        variances[0] = 0.0
    noisy = [
        rng.normal(5, 4, size=partition.size) if variance < np.inf else np.empty(0)
        for partition, variance in zip(chain, variances, strict=True)
    ]
    queries = random_queries(schema, 12, seed=seed) if max(schema.sizes) > 1 else []
    return ReleasedTree(chain, noisy, variances), [RangeQuery.from_codes({}), *queries]


def fewest_nodes(tree, query):
    """The nodes of a query by descending from the root: estimate and variance."""
    shares = [partition.weights(query.code_masks(tree.schema)) for partition in tree.partitions]
    last = len(shares) - 1

    def below(level, node):
        share = shares[level][node]
        if tree.measured_levels[level] and (level == last or share == 1):
            return np.array([share * tree.noisy[level][node], share**2 * tree.variances[level]])
        children = np.flatnonzero(tree.tree.parents[level] == node)
        return sum((below(level + 1, child) for child in children), np.zeros(2))

    return below(0, 0)


def test_answers_and_half_widths_on_random_trees(seeds):
    """Consistent ones sum the consistent leaves; those without consistency the fewest measured nodes."""
    halves = ReleasedTree(four().partitions[:2], HAY[:2], [1.0, 2.0])  # 10 - 9 is shared out by 2 / (1 + 2 + 2)
    np.testing.assert_allclose(halves.consistent.counts[1], [6.4, 3.4])
    queries, sums = [of(0, 1, 2), of(3), RangeQuery.from_codes({})], [sum(LEAVES[:3]), LEAVES[3], sum(LEAVES)]
    np.testing.assert_allclose(four().answers(queries), sums, atol=2e-4)
    np.testing.assert_allclose(four().answers(queries, np.array([1.0, 10, 100, 1000])), [111, 1000, 1111])
    for seed in seeds(20):
        tree, queries = random_tree(seed)
        leaves = tree.consistent.counts[-1]
        weights = np.array([tree.leaves.weights(query.code_masks(tree.schema)) for query in queries])
        np.testing.assert_allclose(tree.answers(queries), weights @ leaves)
        variances = [tree.consistent.query_variance(weight) for weight in weights]
        np.testing.assert_allclose(tree.half_widths(queries), SURE * np.sqrt(variances))
        estimates, marginals = tree.noisy_answers(queries)
        fewest = np.array([fewest_nodes(tree, query) for query in queries])
        np.testing.assert_allclose(estimates, fewest[:, 0], atol=1e-9)
        np.testing.assert_allclose(marginals, SURE * np.sqrt(fewest[:, 1]), atol=1e-9)
    assert [len(found) for found in (tree.answers([]), tree.half_widths([]), *tree.noisy_answers([]))] == [0] * 4


def test_half_widths_are_those_of_95_percent_intervals_and_partial_leaves_count_in_part():
    assert stats.laplace(scale=1 / math.sqrt(2)).cdf(SURE) == pytest.approx(0.975)  # of variance 1
    tree = four()
    assert tree.half_width(np.array([4.0, 0.0, -1e-9])).tolist() == [2 * SURE, 0, 0]
    noisy = ReleasedTree(tree.partitions, tree.noisy, tree.variances, whole_noise=True)
    assert noisy.half_width(np.array([4.0, 0.0])).tolist() == [2 * SURE + 1, 0]
    whole = Partition.whole(FOUR)
    tree = ReleasedTree([whole, whole.refine("a", np.array([0, 1, 1, 1]), ["x", "y"])], HAY[:2], [1.0, 2.0])
    estimates, marginals = tree.noisy_answers([of(0, 1), of(2), of(1, 2, 3)])
    np.testing.assert_allclose(estimates, [6 + 1, 1, 3])
    np.testing.assert_allclose(marginals, SURE * np.sqrt([2 + 2 / 9, 2 / 9, 2]))
    np.testing.assert_allclose(tree.answers([of(2)]), tree.consistent.counts[1][1] / 3)


def test_published_rows_name_the_divided_columns():
    whole = Partition.whole(SCHEMA)
    leaves = whole.refine("a", np.array([0, 0, 1, 1]), ["left", "right"]).refine("c", np.arange(2), ["c0", "c1"])
    tree = ReleasedTree([whole, leaves], [np.empty(0), np.ones(4)], [np.inf, 1.0])
    rows = tree.rows(np.array([3, 0, 1, 2]))
    assert rows.to_dict("records") == [
        {"a": "left", "c": "c0", "(rows)": 3},
        {"a": "right", "c": "c0", "(rows)": 1},
        {"a": "right", "c": "c1", "(rows)": 2},
    ]


def test_a_tree_reads_back_from_its_document(seeds):
    for seed in seeds(20):
        tree, queries = random_tree(seed)
        back = ReleasedTree.from_dict(tree.schema, json.loads(json.dumps(tree.to_dict(), allow_nan=False)))
        assert (back.schema, back.to_dict()) == (tree.schema, tree.to_dict())
        assert back.variances == tree.variances
        for one, other in zip(back.partitions, tree.partitions, strict=True):
            assert [axis.names for axis in one.axes] == [axis.names for axis in other.axes]
        np.testing.assert_array_equal(back.answers(queries), tree.answers(queries))
    levels = four([np.empty(0), *HAY[1:]], (np.inf, HUGE, 2.0)).to_dict()["levels"]
    assert [level["variance"] for level in levels] == [None, HUGE, 2.0]
    assert [level["noisy"] for level in levels] == [[], [6, 3], [2, 1, 3, 4]]
    assert levels[1]["divides"] == [{"column": "a", "blocks": [0, 0, 1, 1], "names": ["left", "right"]}]


def level(**changes):
    return {"divides": [], "variance": 1.0, "noisy": [1.0]} | changes


def dividing(blocks, column="a"):
    divides = [{"column": column, "blocks": blocks, "names": ["x", "y"]}]
    return [level(), level(divides=divides, noisy=[1.0, 2.0])]


def test_invalid_documents_are_refused():
    levels = [3, [], [{}], [level(variance="small")], [level(noisy=["many"])], [level(noisy=[1.0, 2.0])]]
    levels += [dividing(blocks) for blocks in ("0011", [0, 0, 1], [0, 0, 1, 2], [0, 0, -1, 1], [0, 0, 0, 0])]
    levels += [dividing([0, 0, 1, 1], column="b"), [level(variance=None, noisy=[])], [level(variance=-1)]]
    exact = dividing([0, 0, 1, 1])
    levels += [[level(variance="nan", noisy=[])], [level(variance=0, noisy=[9.0]), exact[1] | {"variance": 0}]]
    good = {"whole_noise": True, "levels": dividing([0, 1, 1, 0])}
    for document in (None, {}, {"levels": good["levels"]}, *({**good, "levels": found} for found in levels)):
        with pytest.raises(DPCoreError) as caught:
            ReleasedTree.from_dict(FOUR, document)
        assert caught.value.remedy, document
    assert ReleasedTree.from_dict(FOUR, good).leaves.size == 2


AWKWARD = "a.b[0]:Q"
AWKWARD_SCHEMA = categorical({AWKWARD: "pqrs", "c": ("no", "<b>yes</b>")}, target="c", max_rows=500)
WHOLE = Partition.whole(AWKWARD_SCHEMA)
CLASSES = WHOLE.refine("c", np.arange(2), AWKWARD_SCHEMA["c"].labels)
HALVES = CLASSES.refine(AWKWARD, np.array([0, 1, 0, 1]), ["pr", "qs"])
FINEST = HALVES.refine(AWKWARD, np.arange(4), AWKWARD_SCHEMA[AWKWARD].labels)
CHAIN = [WHOLE, CLASSES, HALVES, FINEST]
CODES = np.array([[0, 0]] * 5 + [[2, 0]] * 3 + [[1, 1]] * 2 + [[3, 1]], dtype=np.uint8)
ROWS = HeldRows(CODES, AWKWARD_SCHEMA.sizes)
TRUTH = [[11], [8, 3], [8, 0, 0, 3], [5, 0, 0, 2, 3, 0, 0, 1]]
VARIANCES = [1.0, math.inf, 4.0, 2.0]


def tree(seed=0, variances=VARIANCES):
    rng = np.random.default_rng(seed)
    pairs = zip(TRUTH, variances, strict=True)
    noisy = [t + rng.normal(size=len(t)) if v < math.inf else np.empty(0) for t, v in pairs]
    return ReleasedTree(CHAIN, noisy, variances)


def test_nodes_by_hand():
    released = tree()
    frame = count_tree.node_table(released)
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
    found = tree_errors.add_true_counts(frame, tree_errors.true_counts(released, ROWS))
    assert found["true"].tolist() == [11, 8, 3, 8, 0, 0, 3, 5, 3, 0, 0, 0, 0, 2, 1]
    np.testing.assert_allclose(found["noise"], frame["noisy"] - found["true"])
    both = count_tree.node_table(ReleasedTree([WHOLE, FINEST], [np.ones(1), np.ones(8)], [1.0, 1.0]))
    assert both["divides"].unique().tolist() == ["all rows", f"{AWKWARD}, c"]
    assert both["label"][1] == "p, no"
    # A public root, and levels that were never measured.
    frame = count_tree.node_table(tree(variances=[0.0, math.inf, math.inf, 2.0]))
    assert frame.loc[0, ["measured", "noisy_margin"]].tolist() == [True, 0]
    assert frame["consistent_margin"][0] == pytest.approx(0, abs=1e-6)
    assert frame["measured"].tolist() == [True] + [False] * 6 + [True] * 8


def test_whole_levels_of_a_part_are_shown_as_long_as_there_is_room():
    for most, shown in {1: 1, 3: 3, 6: 3, 7: 7, 14: 7, 15: 15, 400: 15}.items():
        assert len(count_tree.node_table(tree(), most=most)) == shown
    frame = count_tree.node_table(tree(), at=(2, 3))
    assert frame["name"].tolist() == [f"{AWKWARD} {x}, c <b>yes</b>" for x in ("qs", "q", "s")]
    assert frame[["left", "right"]].to_numpy().tolist() == [[0, 2], [0, 1], [1, 2]]
    assert frame["parent"].tolist() == [-1, 3, 3]
    assert len(count_tree.node_table(tree(), at=(3, 7))) == 1
    for arguments in ({"at": (4, 0)}, {"at": (-1, 0)}, {"at": (1, 2)}, {"at": (1, -1)}, {"most": 0}):
        with pytest.raises(ParameterError):
            count_tree.node_table(tree(), **arguments)


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
