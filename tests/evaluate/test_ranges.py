"""Errors of range queries: numbers by hand, the flat histogram's distribution, runs and what they say of themselves."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpcore import evaluate
from dpcore.accounting.relation import Relation
from dpcore.datasets import Dataset
from dpcore.domain.column import Column
from dpcore.domain.range_query import RangeQuery, exact_answers
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import ParameterError
from dpcore.evaluate.ranges import covered
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
    RangeQuery.of({AWKWARD: (0, 1)}),  # 3 rows
    RangeQuery.of({"n": (0, 1, 2), "c": (0,)}),  # 1 row
    RangeQuery.of({"n": (5,)}),  # 1 row
    RangeQuery.of({AWKWARD: (2,)}),  # none
    RangeQuery.of({}, "everything"),  # 4
]
TRUTH = [3, 1, 1, 0, 4]
DATA = Dataset("tiny", pd.concat([FRAME] * 25, ignore_index=True), FRAME, SCHEMA, "0")


def test_errors_by_hand():
    frame = evaluate.range_queries(FRAME, {"a": [3, 1, 1, 0, 4], "b": np.array([4.5, 0, 3, -1, 4])}, SCHEMA, QUERIES)
    assert frame["release"].tolist() == ["a"] * 5 + ["b"] * 5
    assert frame["query"].tolist() == [0, 1, 2, 3, 4] * 2
    assert frame["columns"].tolist()[:5] == [(AWKWARD,), ("n", "c"), ("n",), (AWKWARD,), ()]
    assert frame["size"].tolist()[:5] == pytest.approx([0.5, 0.25, 1 / 6, 0.25, 1])
    assert frame["true"].tolist() == TRUTH * 2
    assert frame["absolute"].tolist() == [0] * 5 + [1.5, 1, 2, 1, 0]
    # the empty range's error is measured against a thousandth of the rows
    assert frame["relative"].tolist() == pytest.approx([0] * 5 + [0.5, 1, 2, 1 / 0.004, 0])


def test_queries_have_names():
    queries = [*QUERIES, RangeQuery.of({AWKWARD: (0, 2, 3)}), RangeQuery.of({"n": (0, 2)}), RangeQuery.of({})]
    assert evaluate.query_names(queries, SCHEMA) == [
        f"{AWKWARD} left",
        "n 0–5, c no",
        "n (missing)",
        f"{AWKWARD} <b>z</b>",
        "everything",
        f"{AWKWARD} x or <b>z</b> or w",
        "n 0–1 or 4–5",
        "all rows",
    ]
    lists = [RangeQuery.of({"n": (0, 1, 2, 4, 5)}), RangeQuery.of({"n": (3, 4, 5)})]  # "missing" is in no interval
    assert evaluate.query_names(lists, SCHEMA) == ["n 0–1 or 2–3 or 3 more", "n 6–7 or 8–9 or (missing)"]


# Answers


def test_rows_answer_by_their_counts():
    found = evaluate.range_answers(FRAME, QUERIES, SCHEMA)
    assert found.dtype == float
    assert found.tolist() == TRUTH
    # a table may have a column of any name
    named = Schema(columns=(Column(name="tree_", kind="categorical", categories=("p", "q")),))
    assert evaluate.range_answers(
        pd.DataFrame({"tree_": ["p", "p", "q"]}), [RangeQuery.of({"tree_": (0,)})], named
    ).tolist() == [2]


def test_methods_answer_by_their_tree_or_by_rows():
    method = TaxonomyRelease(iterations=3, random_state=0).fit(DATA.train, schema=SCHEMA)
    np.testing.assert_array_equal(evaluate.range_answers(method, QUERIES, SCHEMA), method.tree_.answers(QUERIES))
    raw = TaxonomyRelease(iterations=3, random_state=0, consistency=False).fit(DATA.train, schema=SCHEMA)
    np.testing.assert_array_equal(evaluate.range_answers(raw, QUERIES, SCHEMA), method.tree_.noisy_answers(QUERIES)[0])
    other = NaiveBayesSynthesizer(random_state=0, epsilon=50.0).fit(DATA.train, schema=SCHEMA)
    sampled = other.sample()
    expected = exact_answers(SCHEMA.encode(sampled), SCHEMA, QUERIES)
    np.testing.assert_array_equal(evaluate.range_answers(other, QUERIES, SCHEMA), expected)
    assert expected[-1] == len(sampled) == pytest.approx(100, abs=5)
    with pytest.raises(ParameterError, match="another schema"):
        evaluate.range_answers(method, QUERIES[:1], SCHEMA.select([AWKWARD, "c"]))


# The flat histogram


@pytest.mark.parametrize(("relation", "epsilon"), [("add_remove", 0.5), ("replace", 2.0)])
def test_flat_answers_have_the_histograms_distribution(relation, epsilon):
    """The sum of K Laplace variables, K = 48, 24, 2 of 48 cells."""
    queries = [RangeQuery.of({}), RangeQuery.of({"c": (1,)}), RangeQuery.of({AWKWARD: (0,), "n": (5,)})]
    cells = [covered(query, SCHEMA) for query in queries]
    assert cells == [48, 24, 2]
    many = [query for query in queries for _ in range(3_000)]
    truth = np.repeat([40.0, 20.0, 2.0], 3_000)
    found = evaluate.flat_answers(truth, many, SCHEMA, epsilon=epsilon, relation=relation, seed=3)
    noise = (found - truth).reshape(3, -1)
    scale = Relation.parse(relation).histogram_l1 / epsilon
    variance = noise.var(axis=1) / (2 * np.array(cells) * scale**2)
    assert variance == pytest.approx([1, 1, 1], abs=0.15)  # 4 standard deviations, at the kurtosis of two Laplaces
    assert abs(noise.mean(axis=1)).max() < 4 * scale * np.sqrt(2 * 48 / 3_000)
    two = np.random.default_rng(0).laplace(scale=scale, size=(3_000, 2)).sum(axis=1)
    assert stats.ks_2samp(noise[2], two).pvalue > 1e-3
    again = evaluate.flat_answers(truth, many, SCHEMA, epsilon=epsilon, relation=relation, seed=3)
    np.testing.assert_array_equal(found, again)


def wide(columns, size=10):
    names = tuple(str(value) for value in range(size))
    return Schema(columns=tuple(Column(name=f"c{j}", kind="categorical", categories=names) for j in range(columns)))


def test_flat_answers_of_huge_domains():
    queries = [RangeQuery.of({})] * 2_000
    for columns in (12, 15, 16, 40, 150):
        how = {"epsilon": 1.0, "relation": "add_remove", "seed": 1}
        found = evaluate.flat_answers(np.zeros(2_000), queries, wide(columns), **how)
        assert found.std() == pytest.approx(np.sqrt(2) * 10 ** (columns / 2), rel=0.07)
    changes = [{"truth": [1.0]}, {"epsilon": 0.0}, {"epsilon": np.inf}, {"relation": "both"}, {"schema": wide(400)}]
    for change in changes:
        given = {"truth": [1.0, 2.0], "schema": wide(2), "epsilon": 1.0, "relation": "replace", "seed": 0} | change
        with pytest.raises(ParameterError) as caught:
            evaluate.flat_answers(given.pop("truth"), [RangeQuery.of({"c0": (1,)})] * 2, **given)
        assert caught.value.remedy


# By size


def table(size, absolute, repeat=0, release="r"):
    return pd.DataFrame(
        {
            "query": range(len(size)),
            "size": size,
            "absolute": absolute,
            "relative": np.array(absolute) / 10,
            "release": release,
            "repeat": repeat,
        }
    )


def test_errors_are_averaged_by_size():
    sizes = [0.01, 0.04, 0.25, 1.0]
    runs = [table(sizes, [1, 3, 10, 20], 0), table(sizes, [2, 4, 30, 40], 1), table(sizes, [0, 8, 50, 60], 2)]
    other = table(sizes[:1], [7.0], release="a first one in the alphabet")
    found = evaluate.by_size(pd.concat([*runs, other]))
    assert found["release"].tolist() == ["r", "r", "a first one in the alphabet"]
    assert found["bin"].tolist() == ["1–5%", "25% and more", "1–5%"]
    assert found["size"].tolist() == pytest.approx([0.02, 0.5, 0.01])
    assert found["queries"].tolist() == [2, 2, 1]
    assert found["runs"].tolist() == [3, 3, 1]
    assert found["absolute"].tolist() == pytest.approx([3, 35, 7])
    assert found["relative"].tolist() == pytest.approx([0.3, 3.5, 0.7])
    half = 4.3027 * 20 / np.sqrt(3)  # the runs' means are 15, 35, 55
    assert found["absolute_low"][1] == pytest.approx(35 - half, rel=1e-4)
    assert found["absolute_high"][1] == pytest.approx(35 + half, rel=1e-4)
    assert found["relative_high"][1] == pytest.approx(3.5 + half / 10, rel=1e-4)
    assert found.loc[2, ["absolute_low", "relative_high"]].isna().all()
    single = evaluate.by_size(table([0.0003, 0.03, 0.5], [1.0, 2, 3]).drop(columns="repeat"))
    assert single["bin"].tolist() == ["below 0.04%", "1–5%", "25% and more"]
    assert single["runs"].tolist() == [1, 1, 1]
    with pytest.raises(ParameterError):
        evaluate.by_size(table([], []))
