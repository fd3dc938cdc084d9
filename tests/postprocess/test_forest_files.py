"""Forests as JSON: what is written is read back, and what somebody changed is refused or a forest all the same."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from forests import ROWS, SCHEMA, STUMP, assert_equal, grown, make_rows, plain, stump_of

from dpcore.domain.splits import GRID
from dpcore.errors import SchemaError
from dpcore.methods import DiffPC45
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


def with_column(document, place, **fields):
    damaged = json.loads(json.dumps(document))
    damaged["schema"]["columns"][place] |= fields
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
def test_damaged_places_are_refused(name, document):
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


def test_numbers_that_cannot_be_are_refused(document):
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


def test_no_file_makes_a_walk_as_long_as_it_likes():
    assert Forest.from_json(chain_of(60).to_json()).apply(make_rows(9)).shape == (9, 1)
    assert not read(chain_of(3_000).to_json())
