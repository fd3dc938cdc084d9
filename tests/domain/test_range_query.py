"""Range queries: their codes, public workloads, and matching rows counted by pandas."""

import numpy as np
import pandas as pd
import pytest
from partitions import SCHEMA, domain
from scipy import stats

from dpcore.domain.range_query import RangeQuery, count_matches, random_queries
from dpcore.errors import ParameterError, SchemaError

N = SCHEMA.select(["n"])


def test_queries_sort_their_codes_and_refuse_undeclared_ones():
    query = RangeQuery.from_codes({"a": [3, 1, 3], "n": np.array([5])}, "some")
    assert query.codes == (("a", (1, 3)), ("n", (5,)))
    assert query.size(SCHEMA) == 2 / 4 * 1 / 6
    sets = query.code_masks(SCHEMA)
    assert (sets["a"].tolist(), sets["n"].tolist()) == ([False, True, False, True], [False] * 5 + [True])
    assert RangeQuery.from_codes({}).size(SCHEMA) == 1
    for codes in ({"a": []}, {"a": [4]}, {"a": [-1, 2]}, {"n": [6]}):
        with pytest.raises(ParameterError, match="undeclared codes"):
            RangeQuery.from_codes(codes).code_masks(SCHEMA)
    with pytest.raises(SchemaError, match="'b'"):
        RangeQuery.from_codes({"b": [0]}).code_masks(SCHEMA)
    for schema, wrong in ((SCHEMA, {"count": 0}), (SCHEMA, {"max_columns": 0}), (SCHEMA.select(["one"]), {})):
        with pytest.raises(ParameterError):
            random_queries(schema, **wrong)


def test_workloads_repeat_per_seed_and_ask_for_nodes_and_intervals():
    workload = random_queries(SCHEMA, 400, max_columns=3, seed=4)
    assert workload == random_queries(SCHEMA, 400, max_columns=3, seed=4)
    assert workload != random_queries(SCHEMA, 400, max_columns=3, seed=5)
    widths = np.bincount([len(query.codes) for query in workload], minlength=4)
    assert widths[0] == 0
    assert stats.chisquare(widths[1:]).pvalue > 1e-3
    for query in workload[:50]:
        assert [name for name, _ in query.codes] == sorted({name for name, _ in query.codes}, key=SCHEMA.index)
        matching = [all(row[SCHEMA.index(name)] in chosen for name, chosen in query.codes) for row in domain(SCHEMA)]
        assert query.size(SCHEMA) == pytest.approx(np.mean(matching))
    wanted = {name: {dict(query.codes)[name] for query in workload if name in dict(query.codes)} for name in "acn"}
    assert wanted["a"] == {(0, 1), (2, 3), (0,), (1,), (2,), (3,)}  # never all of them, and never the only one
    assert wanted["c"] == {(0,), (1,)}
    # "missing" is a node, and in no interval
    assert wanted["n"] == {tuple(range(i, j + 1)) for i in range(5) for j in range(i, 5)} | {(5,)}
    pairs = [sum(query.codes[0][1] == (0, 1) for query in random_queries(N, 600, fanout=f)) for f in (5, 2)]
    assert pairs[0] < 0.6 * pairs[1]  # a node of halves, and of fifths an interval only


def test_matching_rows_are_counted():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(size, size=300) for size in SCHEMA.sizes]).astype(np.uint8)
    queries = [RangeQuery.from_codes({}), *random_queries(SCHEMA, 60, seed=1)]
    frame = pd.DataFrame(codes, columns=list(SCHEMA.names))
    expected = [
        int(np.logical_and.reduce([np.ones(300, dtype=bool), *(frame[n].isin(c) for n, c in q.codes)]).sum())
        for q in queries
    ]
    assert count_matches(codes, SCHEMA, queries).tolist() == expected
    assert len(set(expected)) > 20
    assert count_matches(codes[:0], SCHEMA, queries).tolist() == [0] * len(queries)
