"""Errors of range queries: numbers by hand, the flat histogram's distribution, runs and what they say of themselves."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpcore import evaluate
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import ParameterError
from dpcore.evaluate.ranges import cells_covered
from dpcore.methods import NaiveBayesSynthesizer, TaxonomyRelease

AWKWARD = "a.b[0]:Q"
PATHS = (("x", "left", "*"), ("y", "left", "*"), ("<b>z</b>", "right", "*"), ("w", "right", "*"))
SCHEMA = Schema(
    columns=(
        Column(name=AWKWARD, kind="categorical", categories=tuple(path[0] for path in PATHS), taxonomy=Taxonomy(PATHS)),
        Column(name="n", kind="integer", lower=0, upper=9, bins=5, missing=True),
        Column(name="c", kind="categorical", categories=("no", "yes")),
    ),
    target="c",
    max_rows=1_000,
)
FRAME = pd.DataFrame({AWKWARD: ["x", "x", "y", "w"], "n": [0, 1, 9, None], "c": ["no", "yes", "yes", "no"]})
QUERIES = [
    RangeQuery.from_codes({AWKWARD: (0, 1)}),  # 3 rows
    RangeQuery.from_codes({"n": (0, 1, 2), "c": (0,)}),  # 1 row
    RangeQuery.from_codes({"n": (5,)}),  # 1 row
    RangeQuery.from_codes({AWKWARD: (2,)}),  # none
    RangeQuery.from_codes({}, "everything"),  # 4
]
TRUTH = [3, 1, 1, 0, 4]


def test_errors_by_hand():
    answers = {"a": TRUTH, "b": np.array([4.5, 0, 3, -1, 4])}
    frame = evaluate.range_queries(FRAME, answers, SCHEMA, QUERIES)
    assert frame["release"].tolist() == ["a"] * 5 + ["b"] * 5
    assert frame["columns"].tolist()[:5] == [(AWKWARD,), ("n", "c"), ("n",), (AWKWARD,), ()]
    assert frame["size"].tolist()[:5] == pytest.approx([0.5, 0.25, 1 / 6, 0.25, 1])
    assert frame["true"].tolist() == TRUTH * 2
    assert frame["absolute"].tolist() == [0] * 5 + [1.5, 1, 2, 1, 0]
    # the empty range's error is measured against a thousandth of the rows
    assert frame["relative"].tolist() == pytest.approx([0] * 5 + [0.5, 1, 2, 1 / 0.004, 0])


def test_queries_have_names():
    lists = [RangeQuery.from_codes({"n": codes}) for codes in ((0, 2), (0, 1, 2, 4, 5), (3, 4, 5))]
    assert evaluate.query_names([*QUERIES[:2], *lists, *QUERIES[4:]], SCHEMA) == [
        f"{AWKWARD} left",
        "n 0–5, c no",
        "n 0–1 or 4–5",
        "n 0–1 or 2–3 or 3 more",
        "n 6–7 or 8–9 or (missing)",  # "missing" is in no interval
        "everything",
    ]


def test_methods_answer_by_their_tree_or_by_rows():
    def answers(of):
        return evaluate.range_answers(of, QUERIES, SCHEMA).tolist()

    assert answers(FRAME) == TRUTH
    train = pd.concat([FRAME] * 25, ignore_index=True)
    method = TaxonomyRelease(iterations=3, random_state=0).fit(train, schema=SCHEMA)
    assert answers(method) == method.tree_.answers(QUERIES).tolist()
    raw = TaxonomyRelease(iterations=3, random_state=0, consistency=False).fit(train, schema=SCHEMA)
    assert answers(raw) == method.tree_.noisy_answers(QUERIES)[0].tolist()
    other = NaiveBayesSynthesizer(random_state=0, epsilon=50.0).fit(train, schema=SCHEMA)
    assert answers(other) == answers(other.sample())
    with pytest.raises(ParameterError, match="another schema"):
        evaluate.range_answers(method, QUERIES[:1], SCHEMA.select([AWKWARD, "c"]))


@pytest.mark.parametrize(("relation", "epsilon"), [("add_remove", 0.5), ("replace", 2.0)])
def test_flat_answers_have_the_histograms_distribution(relation, epsilon):
    """The sum of K Laplace variables, K = 48, 24, 2 of 48 cells."""
    queries = [
        RangeQuery.from_codes({}),
        RangeQuery.from_codes({"c": (1,)}),
        RangeQuery.from_codes({AWKWARD: (0,), "n": (5,)}),
    ]
    cells = [cells_covered(query, SCHEMA) for query in queries]
    assert cells == [48, 24, 2]
    many = [query for query in queries for _ in range(3_000)]
    truth = np.repeat([40.0, 20.0, 2.0], 3_000)
    found = evaluate.uniform_baseline_answers(truth, many, SCHEMA, epsilon=epsilon, relation=relation, seed=3)
    noise = (found - truth).reshape(3, -1)
    scale = Relation.parse(relation).histogram_l1 / epsilon
    variance = noise.var(axis=1) / (2 * np.array(cells) * scale**2)
    assert variance == pytest.approx([1, 1, 1], abs=0.15)  # 4 standard deviations, at the kurtosis of two Laplaces
    assert abs(noise.mean(axis=1)).max() < 4 * scale * np.sqrt(2 * 48 / 3_000)
    two = np.random.default_rng(0).laplace(scale=scale, size=(3_000, 2)).sum(axis=1)
    assert stats.ks_2samp(noise[2], two).pvalue > 1e-3


def test_flat_answers_of_huge_domains():
    def wide(columns):
        ten = tuple(map(str, range(10)))
        columns = (Column(name=f"c{j}", kind="categorical", categories=ten) for j in range(columns))
        return Schema(columns=tuple(columns))

    how = {"epsilon": 1.0, "relation": "add_remove", "seed": 1}
    queries = [RangeQuery.from_codes({})] * 2_000
    for columns in (12, 16, 150):
        found = evaluate.uniform_baseline_answers(np.zeros(2_000), queries, wide(columns), **how)
        assert found.std() == pytest.approx(np.sqrt(2) * 10 ** (columns / 2), rel=0.07)
    for change in ({"epsilon": 0.0}, {"relation": "both"}, {"schema": wide(400)}, {"queries": []}):
        right = {"truth": np.zeros(2_000), "queries": queries, "schema": wide(2), **how}
        with pytest.raises(ParameterError):
            evaluate.uniform_baseline_answers(**right | change)


def table(size, absolute, repeat=0, release="r"):
    relative = np.array(absolute) / 10
    found = {"query": range(len(size)), "size": size, "absolute": absolute, "relative": relative}
    return pd.DataFrame(found | {"release": release, "repeat": repeat})


def test_errors_are_averaged_by_size():
    sizes = [0.0003, 0.04, 0.25, 1.0]
    runs = [table(sizes, [1, 3, 10, 20], 0), table(sizes, [2, 4, 30, 40], 1), table(sizes, [0, 8, 50, 60], 2)]
    other = table(sizes[:1], [7.0], release="a first one in the alphabet")
    found = evaluate.errors_by_query_size(pd.concat([*runs, other]))
    assert found["release"].tolist() == ["r", "r", "r", "a first one in the alphabet"]
    assert found["bin"].tolist() == ["<0.04%", "1–5%", "≥25%", "<0.04%"]
    assert found["queries"].tolist() == [1, 1, 2, 1]
    assert found["runs"].tolist() == [3, 3, 3, 1]
    assert found["absolute"].tolist() == pytest.approx([1, 5, 35, 7])
    half = 4.3027 * 20 / np.sqrt(3)  # the runs' means are 15, 35, 55
    assert found["absolute_low"][2] == pytest.approx(35 - half, rel=1e-4)
    assert found["relative_high"][2] == pytest.approx(3.5 + half / 10, rel=1e-4)
    assert found.loc[3, ["absolute_low", "relative_high"]].isna().all()
    single = evaluate.errors_by_query_size(table(sizes, [1.0, 2, 3, 4]).drop(columns="repeat"))
    assert single["runs"].tolist() == [1, 1, 1]
    with pytest.raises(ParameterError):
        evaluate.errors_by_query_size(table([], []))
