"""Product partitions, range queries on them, and released trees of counts: plain enumeration and numbers by hand."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpcore.domain.column import MISSING, Column
from dpcore.domain.partition import Axis, Partition
from dpcore.domain.range_query import RangeQuery, exact_answers, random_queries
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import ANY, Hierarchy
from dpcore.errors import DPCoreError, ParameterError, SchemaError
from dpcore.postprocess.count_tree import HUGE, SURE, ReleasedTree


def category(name, size, **more):
    return Column(name=name, kind="categorical", categories=tuple(f"{name}{value}" for value in range(size)), **more)


SCHEMA = Schema(
    columns=(
        category(
            "a",
            4,
            taxonomy=Taxonomy((("a0", "left", "*"), ("a1", "left", "*"), ("a2", "right", "*"), ("a3", "right", "*"))),
        ),
        Column(name="n", kind="integer", lower=0, upper=9, bins=5, missing=True),
        category("one", 1),
        category("c", 2),
    ),
    target="c",
)
DOMAIN = list(product(*map(range, SCHEMA.sizes)))


def random_chain(seed):
    """A small schema and partitions that refine each other, their blocks in no order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=rng.integers(1, 4))
    schema = Schema(columns=tuple(category(f"x{j}", int(size)) for j, size in enumerate(sizes)))
    last = Partition.whole(schema)
    for column in schema:
        blocks = np.unique(rng.integers(column.size, size=column.size), return_inverse=True)[1]
        last = last.refined(column.name, blocks, [f"leaf {i}" for i in range(blocks.max() + 1)])
    chain = [last]
    for level in range(3):
        coarser = chain[0]
        for axis, column in zip(chain[0].axes, schema, strict=True):
            kept = len(axis.names)
            joined = np.unique(rng.integers(kept, size=kept), return_inverse=True)[1]
            names = [f"{level} {i}" for i in range(joined.max() + 1)]
            coarser = coarser.refined(column.name, joined[axis.blocks], names)
        chain.insert(0, coarser)
    return schema, [Partition.whole(schema), *chain], rng


def cell_of(partition, row):
    """The cell of a row, one column after another."""
    cell = 0
    for axis, code in zip(partition.axes, row, strict=True):
        cell = cell * len(axis.names) + axis.blocks[code]
    return cell


def domain(schema):
    return list(product(*map(range, schema.sizes)))


def test_an_axis_by_hand():
    axis = Axis(np.array([1, 0, 1, 2]), ("x", "y", "z"))
    assert axis.sizes.tolist() == [1, 2, 1]
    assert axis.ordered.tolist() == [1, 0, 2, 3]
    assert axis.shares(np.array([True, False, False, True])).tolist() == [0, 0.5, 1]
    drawn = axis.draw(np.array([0, 2, 0]), np.random.default_rng(0))
    assert drawn.tolist() == [1, 3, 1]


def test_the_whole_domain_is_one_cell():
    whole = Partition.whole(SCHEMA)
    assert (whole.shape, whole.size, whole.family) == ((1, 1, 1, 1), 1, ())
    assert [axis.names for axis in whole.axes] == [(ANY,)] * 4
    finer = whole.refined("n", np.array([0, 0, 1, 1, 1, 2]), ["low", "high", MISSING])
    assert (finer.shape, finer.size, finer.family) == ((1, 3, 1, 1), 3, ("n",))
    assert whole.size == 1  # nothing is changed in place


@pytest.mark.parametrize("seed", range(20))
def test_parents_hold_their_children(seed):
    schema, chain, _ = random_chain(seed)
    for coarse, fine in [(chain[i], chain[j]) for i in range(len(chain)) for j in range(i, len(chain))]:
        parents = fine.parents(coarse)
        assert parents.shape == (fine.size,)
        for row in domain(schema):
            assert parents[cell_of(fine, row)] == cell_of(coarse, row)


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_the_covered_shares_of_cells(seed):
    schema, chain, rng = random_chain(seed)
    sets = {
        column.name: rng.random(column.size) < 0.6 for column in schema if rng.random() < 0.7
    }  # an empty set covers nothing
    for partition in chain:
        inside, held = np.zeros((2, partition.size))
        for row in domain(schema):
            cell = cell_of(partition, row)
            held[cell] += 1
            inside[cell] += all(sets.get(name, np.ones(9))[code] for name, code in zip(schema.names, row, strict=True))
        np.testing.assert_allclose(partition.weights(sets), inside / held, atol=1e-12)
    np.testing.assert_allclose(chain[-1].weights({}), 1)


def test_draws_stay_in_their_cell_and_are_uniform():
    partition = Partition.whole(SCHEMA).refined("a", np.array([1, 0, 1, 1]), ["x", "y"])
    partition = partition.refined("n", np.array([0, 1, 1, 0, 2, 2]), ["p", "q", "r"])
    cells = np.repeat(np.arange(partition.size), 4_000)
    codes = partition.draw(cells, np.random.default_rng(0))
    assert codes.shape == (len(cells), 4)
    assert np.array_equal([cell_of(partition, row) for row in codes[::37]], cells[::37])
    flat = np.ravel_multi_index(tuple(codes.T.astype(int)), SCHEMA.sizes)
    observed = np.bincount(flat, minlength=len(DOMAIN))
    cell = np.array([cell_of(partition, row) for row in DOMAIN])
    np.testing.assert_array_equal(np.bincount(cell, weights=observed), 4_000)  # none left its cell
    expected = 4_000 / np.bincount(cell)[cell]
    freedom = len(DOMAIN) - partition.size
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), freedom) > 1e-3


def test_recoding_numbers_the_blocks():
    blocks = np.array([2, 0, 1, 1])
    schema, rules = Partition.whole(SCHEMA).refined("a", blocks, ["x", "y", "z"]).recoding()
    assert schema.sizes == (3, 1, 1, 1)
    assert schema.names == SCHEMA.names
    assert rules[0][0] == "a"
    np.testing.assert_array_equal(rules[0][1], blocks)


# Range queries


def test_a_query_sorts_its_codes_and_knows_its_share():
    query = RangeQuery.of({"a": [3, 1, 3], "n": np.array([5])}, "some")
    assert query.codes == (("a", (1, 3)), ("n", (5,)))
    assert query.size(SCHEMA) == 2 / 4 * 1 / 6
    sets = query.sets(SCHEMA)
    assert sets["a"].tolist() == [False, True, False, True]
    assert sets["n"].tolist() == [False] * 5 + [True]
    assert RangeQuery.of({}).size(SCHEMA) == 1


@pytest.mark.parametrize("codes", [{"a": []}, {"a": [4]}, {"a": [-1, 2]}, {"n": [6]}])
def test_queries_of_undeclared_values_are_refused(codes):
    with pytest.raises(ParameterError, match="declared value") as caught:
        RangeQuery.of(codes).sets(SCHEMA)
    assert caught.value.remedy
    with pytest.raises(SchemaError, match="'b'"):
        RangeQuery.of({"b": [0]}).sets(SCHEMA)


def test_workloads_repeat_per_seed_and_ask_for_nodes_and_intervals():
    workload = random_queries(SCHEMA, 400, max_columns=3, seed=4)
    assert workload == random_queries(SCHEMA, 400, max_columns=3, seed=4)
    assert workload != random_queries(SCHEMA, 400, max_columns=3, seed=5)
    assert len(workload) == 400
    widths = np.bincount([len(query.codes) for query in workload], minlength=4)
    assert widths[0] == 0
    assert stats.chisquare(widths[1:]).pvalue > 1e-3
    asked = {name: set() for name in SCHEMA.names}
    for query in workload:
        assert [name for name, _ in query.codes] == sorted({name for name, _ in query.codes}, key=SCHEMA.index)
        matching = [all(row[SCHEMA.index(name)] in chosen for name, chosen in query.codes) for row in DOMAIN]
        assert query.size(SCHEMA) == pytest.approx(np.mean(matching))
        for name, chosen in query.codes:
            asked[name].add(chosen)
    assert not asked["one"]
    assert asked["a"] == {(0, 1), (2, 3), (0,), (1,), (2,), (3,)}  # never all of them
    assert asked["c"] == {(0,), (1,)}
    spans = {tuple(range(i, j + 1)) for i in range(5) for j in range(i, 5)}
    assert asked["n"] == spans | {(5,)}  # "missing" is a node, and in no interval


def test_workloads_follow_the_fanout():
    schema = SCHEMA.select(["n"])
    nodes = {node.codes for node in Hierarchy.of(schema["n"], 5).nodes}
    halves = {node.codes for node in Hierarchy.of(schema["n"], 2).nodes}
    assert (0, 1) in halves - nodes
    often = [sum(query.codes[0][1] == (0, 1) for query in random_queries(schema, 600, fanout=f)) for f in (5, 2)]
    assert often[0] < 0.6 * often[1]


@pytest.mark.parametrize("arguments", [{"count": 0}, {"max_columns": 0}])
def test_workloads_need_queries_and_columns(arguments):
    with pytest.raises(ParameterError):
        random_queries(SCHEMA, **arguments)
    with pytest.raises(ParameterError, match="two values"):
        random_queries(SCHEMA.select(["one"]))


def test_exact_answers_count_rows():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(size, size=300) for size in SCHEMA.sizes]).astype(np.uint8)
    queries = [RangeQuery.of({}), *random_queries(SCHEMA, 60, seed=1)]
    frame = pd.DataFrame(codes, columns=list(SCHEMA.names))
    expected = [
        int(np.logical_and.reduce([np.ones(300, dtype=bool), *(frame[n].isin(c) for n, c in q.codes)]).sum())
        for q in queries
    ]
    assert exact_answers(codes, SCHEMA, queries).tolist() == expected
    assert len(set(expected)) > 20
    assert exact_answers(codes[:0], SCHEMA, queries).tolist() == [0] * len(queries)


# Released trees. Hay et al. (2010): the root 10, its children 6 and 3, their children 2, 1 and 3, 4

FOUR = SCHEMA.select(["a"])
HAY = [np.array([10.0]), np.array([6.0, 3.0]), np.array([2.0, 1.0, 3.0, 4.0])]
LEAVES = [3.0952, 2.0952, 1.7619, 2.7619]


def four(noisy=HAY, variances=(1.0, 1.0, 1.0)):
    whole = Partition.whole(FOUR)
    halves = whole.refined("a", np.array([0, 0, 1, 1]), ["left", "right"])
    return ReleasedTree([whole, halves, halves.refined("a", np.arange(4), FOUR["a"].labels)], noisy, variances)


def of(*codes):
    return RangeQuery.of({"a": codes})


def test_answers_are_sums_of_consistent_leaves():
    tree = four()
    np.testing.assert_allclose(tree.consistent.counts[-1], LEAVES, atol=5e-5)
    queries = [of(0, 1, 2), of(3), of(0, 1, 2, 3), RangeQuery.of({})]
    expected = [sum(LEAVES[:3]), LEAVES[3], sum(LEAVES), sum(LEAVES)]
    np.testing.assert_allclose(tree.answers(queries), expected, atol=2e-4)
    np.testing.assert_allclose(tree.answers(queries, np.array([1.0, 10, 100, 1000])), [111, 1000, 1111, 1111])


def gls(tree):
    """Dense least squares: the leaves' estimate and covariance. Levels of no noise get hardly any."""
    rows, values, weights = [], [], []
    for partition, noisy, variance in zip(tree.partitions, tree.noisy, tree.variances, strict=True):
        if variance < np.inf:
            rows.append(np.eye(partition.size)[:, tree.leaves.parents(partition)])
            values.append(noisy)
            weights.append(np.full(partition.size, 1 / max(variance, 1e-9)))
    design, weight = np.concatenate(rows), np.concatenate(weights)
    covariance = np.linalg.inv(design.T @ (weight[:, None] * design))
    return covariance @ (design.T @ (weight * np.concatenate(values))), covariance


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
    return ReleasedTree(chain, noisy, variances), [RangeQuery.of({}), *queries]


@pytest.mark.parametrize("seed", range(20))
def test_answers_and_margins_equal_dense_least_squares(seed):
    tree, queries = random_tree(seed)
    leaves, covariance = gls(tree)
    weights = np.array([tree.leaves.weights(query.sets(tree.schema)) for query in queries])
    np.testing.assert_allclose(tree.answers(queries), weights @ leaves, atol=1e-4)
    expected = SURE * np.sqrt(np.einsum("qi,ij,qj->q", weights, covariance, weights))
    np.testing.assert_allclose(tree.margins(queries), expected, atol=1e-3)


def test_half_a_95_percent_interval_of_one_laplace_variable():
    assert stats.laplace(scale=1 / math.sqrt(2)).cdf(SURE) == pytest.approx(0.975)  # of variance 1


@pytest.mark.parametrize(
    ("variances", "query", "estimate", "variance"),
    [
        ((1, 2, 4), of(0, 1, 2, 3), 10, 1),
        ((0, 2, 4), of(0, 1, 2, 3), 10, 0),  # a public root
        ((np.inf, 2, 4), of(0, 1, 2, 3), 9, 4),
        ((np.inf, np.inf, 4), of(0, 1, 2, 3), 10, 16),
        ((1, 2, 4), of(0, 1, 2), 6 + 3, 2 + 4),
        ((1, np.inf, 4), of(0, 1, 2), 2 + 1 + 3, 12),
        ((1, 2, 4), of(2, 3), 3, 2),
        ((1, 2, 4), of(0, 3), 6, 8),
        ((0, np.inf, 4), of(2), 3, 4),
    ],
)
def test_answers_without_consistency_take_the_fewest_measured_nodes(variances, query, estimate, variance):
    noisy = [n if v < np.inf else np.empty(0) for n, v in zip(HAY, variances, strict=True)]
    estimates, margins = four(noisy, variances).noisy_answers([query])
    assert estimates.tolist() == [estimate]
    assert margins == pytest.approx([SURE * math.sqrt(variance)])


def test_a_leaf_that_is_covered_in_part_counts_in_part():
    whole = Partition.whole(FOUR)
    tree = ReleasedTree([whole, whole.refined("a", np.array([0, 1, 1, 1]), ["x", "y"])], [HAY[0], HAY[1]], [1.0, 2.0])
    estimates, margins = tree.noisy_answers([of(0, 1), of(2), of(1, 2, 3)])
    np.testing.assert_allclose(estimates, [6 + 1, 1, 3])
    np.testing.assert_allclose(margins, SURE * np.sqrt([2 + 2 / 9, 2 / 9, 2]))
    np.testing.assert_allclose(tree.answers([of(2)]), tree.consistent.counts[1][1] / 3)


def fewest_nodes(tree, query):
    """The nodes of a query by descending from the root: estimate, variance, and how many."""
    sets = query.sets(tree.schema)
    shares = [partition.weights(sets) for partition in tree.partitions]
    links = [fine.parents(coarse) for coarse, fine in zip(tree.partitions, tree.partitions[1:], strict=False)]

    def below(level, node):
        last = level == len(tree.partitions) - 1
        share = shares[level][node]
        if tree.measured[level] and (last or share == 1):
            found = share * tree.noisy[level][node], share**2 * tree.variances[level], int(share > 0)
            return np.array(found)
        return sum((below(level + 1, child) for child in np.flatnonzero(links[level] == node)), np.zeros(3))

    return below(0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_answers_without_consistency_on_random_trees(seed):
    tree, queries = random_tree(seed)
    estimates, margins = tree.noisy_answers(queries)
    expected = np.array([fewest_nodes(tree, query) for query in queries])
    np.testing.assert_allclose(estimates, expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(margins, SURE * np.sqrt(expected[:, 1]), atol=1e-9)


def test_no_queries_have_no_answers():
    tree = four()
    assert [len(found) for found in (tree.answers([]), tree.margins([]), *tree.noisy_answers([]))] == [0] * 4


def test_published_rows_name_the_divided_columns():
    whole = Partition.whole(SCHEMA)
    leaves = whole.refined("a", np.array([0, 0, 1, 1]), ["left", "right"]).refined("c", np.arange(2), ["c0", "c1"])
    tree = ReleasedTree([whole, leaves], [np.empty(0), np.ones(4)], [np.inf, 1.0])
    rows = tree.rows(np.array([3, 0, 1, 2]))
    assert rows.to_dict("records") == [
        {"a": "left", "c": "c0", "(rows)": 3},
        {"a": "right", "c": "c0", "(rows)": 1},
        {"a": "right", "c": "c1", "(rows)": 2},
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_survives_a_document(seed):
    tree, queries = random_tree(seed)
    document = json.loads(json.dumps(tree.to_dict(), allow_nan=False))
    back = ReleasedTree.from_dict(tree.schema, document)
    assert back == tree
    assert back.variances == tree.variances
    for one, other in zip(back.partitions, tree.partitions, strict=True):
        for mine, theirs in zip(one.axes, other.axes, strict=True):
            assert mine.names == theirs.names
            np.testing.assert_array_equal(mine.blocks, theirs.blocks)
    np.testing.assert_array_equal(back.answers(queries), tree.answers(queries))
    assert back != random_tree(seed + 100)[0]
    assert tree != "a tree"


def test_a_document_lists_what_a_level_divides_anew():
    tree = four([np.empty(0), *HAY[1:]], (np.inf, HUGE, 2.0))
    levels = tree.to_dict()["levels"]
    assert [level["variance"] for level in levels] == [None, HUGE, 2.0]
    assert [level["noisy"] for level in levels] == [[], [6, 3], [2, 1, 3, 4]]
    assert [[change["column"] for change in level["divides"]] for level in levels] == [[], ["a"], ["a"]]
    assert levels[1]["divides"][0]["blocks"] == [0, 0, 1, 1]


def level(**changes):
    return {"divides": [], "variance": 1.0, "noisy": [1.0]} | changes


def dividing(blocks, names=("x", "y"), column="a"):
    return [level(), level(divides=[{"column": column, "blocks": blocks, "names": list(names)}], noisy=[1.0, 2.0])]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"levels": dividing([0, 1, 1, 0])},
        {"whole_noise": False, "levels": 3},
        {"whole_noise": False, "levels": [{}]},
        {"whole_noise": False, "levels": [7]},
        {"whole_noise": False, "levels": [level(variance="small")]},
        {"whole_noise": False, "levels": [level(noisy=["many"])]},
        {"whole_noise": False, "levels": [level(divides=[{"column": "a"}])]},
        {"whole_noise": False, "levels": dividing("0011")},
        {"whole_noise": False, "levels": dividing([0, 0, 1, 1], column="b")},
        {"whole_noise": False, "levels": []},
        {"whole_noise": False, "levels": dividing([0, 0, 1])},
        {"whole_noise": False, "levels": dividing([0, 0, 1, 2])},
        {"whole_noise": False, "levels": dividing([0, 0, -1, 1])},
        {"whole_noise": False, "levels": dividing([0, 0, 0, 0])},
        {"whole_noise": False, "levels": [level(noisy=[1.0, 2.0])]},
        {"whole_noise": False, "levels": [level(), level(noisy=[])]},
        {"whole_noise": False, "levels": [level(variance=None, noisy=[]), level(variance=None)]},
        None,
    ],
)
def test_documents_that_are_no_trees_are_refused(document):
    with pytest.raises(DPCoreError) as caught:
        ReleasedTree.from_dict(FOUR, document)
    assert caught.value.remedy


def test_documents_that_are_trees_are_read():
    assert ReleasedTree.from_dict(FOUR, {"whole_noise": True, "levels": dividing([0, 1, 1, 0])}).leaves.size == 2
