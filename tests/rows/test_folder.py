"""Rows in a folder against the same rows in memory: counts and models are equal, bit for bit."""

import json
import os
from functools import partial
from itertools import combinations

import joblib
import numpy as np
import pytest
from folders import encoded, views_of, write
from hypothesis import given
from hypothesis import strategies as st
from tables import SMALL, categorical, make_frame
from variants import EVERY_FIT, alike, fitted_state

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, STEP, CodeSplit, Groups, NumberSplit, OneValue, flat_hierarchy
from dpcore.door import exact_node_counts
from dpcore.door.exact_node_counts import Records, root_nodes
from dpcore.errors import DataError, SchemaError
from dpcore.mechanisms.noise import NoNoise, make_noise
from dpcore.methods import METHODS
from dpcore.rows import Folder, FolderData, FolderRows, HeldRows, exact_counts, folder


def schema_of(sizes):
    return categorical({f"x{j}": map(str, range(size)) for j, size in enumerate(sizes)})


def both(path, sizes, rows, seed, points=(), numbers=()):
    """Return the same rows in memory and in a folder of parts; every fifth number is missing."""
    rng = np.random.default_rng(seed)
    codes = np.asfortranarray(rng.integers(0, sizes, (rows, len(sizes))).astype(np.uint16))
    found = {j: np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 9, rows) * float(STEP)) for j in numbers}
    write(path, schema_of(sizes), codes, found, sorted(points))
    return HeldRows(codes, sizes, found), FolderRows(Folder.open(path), dict.fromkeys(numbers, lambda own: own))


@given(st.data())
def test_marginals_and_blocks_of_rows_and_views(tmp_path_factory, data):
    sizes = data.draw(st.sampled_from([[2, 2, 2, 2], [3, 2, 5, 300], [1, 4, 2, 2]]))
    rows = data.draw(st.sampled_from([0, 1, 63, 64, 65, 200]))
    points = data.draw(st.lists(st.integers(0, rows), max_size=3))
    pair = both(tmp_path_factory.mktemp("rows"), sizes, rows, data.draw(st.integers(0, 99)), points, numbers=(1,))
    pair = views_of(pair, data)
    held, streamed = pair
    assert (held.sizes, len(held), held.number_columns) == (streamed.sizes, len(streamed), streamed.number_columns)
    every = range(len(held.sizes))
    families = [(), *((j,) for j in every), *combinations(every, 2), (1, 0), (0, 0), (2, 1, 0)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_counts, "BLOCK", 64)
        patch.setattr(exact_counts, "WORTH_PACKING", data.draw(st.sampled_from([2, 99])))
        assert alike(held.marginals(families), streamed.marginals(families))
        np.testing.assert_array_equal(held.flat_indices([2, 0]), streamed.flat_indices([2, 0]))
        for mine, other in zip(*(x.blocks(every, held.number_columns) for x in (held, streamed)), strict=True):
            assert len(mine[0]) == len(other[0]) <= 64
            for values, same in zip(mine, other, strict=True):
                np.testing.assert_array_equal(values, same)


def test_a_split_of_a_split_satisfies_both_conditions(tmp_path):
    pair = both(tmp_path, [2, 3, 4], 200, 5, [90])
    held, streamed = ([again for part in rows.split(0) for again in part.split(1)] for rows in pair)
    for mine, other in zip(held, streamed, strict=True):
        assert len(mine) == len(other) > 0
        assert alike(mine.marginals([(2,), (0, 1)]), other.marginals([(2,), (0, 1)]))


def test_several_processes_count_parts(tmp_path):
    held, streamed = both(tmp_path, [3, 4, 2], 300, 1, [10, 10, 200])
    with joblib.parallel_config("threading", n_jobs=2):
        assert alike(held.marginals([(0, 1), (2,)]), streamed.marginals([(0, 1), (2,)]))


COLUMNS = schema_of([5, 6, 7, 3]).columns
ATTRIBUTES = {0: Groups(COLUMNS[0], flat_hierarchy(COLUMNS[0])), 1: CodeSplit(COLUMNS[1]), 2: OneValue(COLUMNS[2])}
ATTRIBUTES |= {3: NumberSplit(Column(name="n", kind="continuous", lower=0, upper=1))}


SEEDED = partial(make_noise, "laplace", 4)


@pytest.mark.parametrize("resample", ["disjoint", "poisson", "full", "bootstrap", "without noise"])
def test_counts_of_nodes_however_trees_are_sampled(tmp_path, monkeypatch, resample):
    monkeypatch.setattr(exact_counts, "BLOCK", 64)
    monkeypatch.setattr("dpcore.mechanisms.noise.sources.BLOCK", 50)
    pair = both(tmp_path, [5, 6, 7, 3, 2], 200, 2, [100, 101], numbers=(3,))
    source, way = (NoNoise, "bootstrap") if resample == "without noise" else (SEEDED, resample)
    levels = [root_nodes(Records(rows, ATTRIBUTES, 4, 2), source(), 3, way, 0.4) for rows in pair]
    for depth in range(3):
        size = levels[0].size
        ranges = {0: (0, 0), 1: (0, 6), 2: (0, 7), 3: (-1, GRID)}
        np.testing.assert_array_equal(levels[0].classes, levels[1].classes)
        for position, (low, high) in ranges.items():
            for nodes in (np.arange(size), np.arange(size)[::2]):
                ends = np.full(len(nodes), float(low)), np.full(len(nodes), float(high))
                wanted = ([*level.candidates(position, nodes, *ends)] for level in levels)
                assert alike(*([(one.nodes, one.tables, one.low, one.high) for one in each] for each in wanted))
        column = np.arange(size) % 4
        point = np.array([np.nan, 3.0, 2.0, 4.0 * STEP])[column]
        fans = np.array([5, 2, 2, 2])[column]
        first = np.cumsum(fans) - fans
        levels = [level.split_nodes(column, point, np.zeros(size), first, int(fans.sum())) for level in levels]
        keep = np.random.default_rng(depth).permutation(levels[0].size)[: 3 + depth]
        levels = [level.select(np.sort(keep)).select(np.arange(len(keep))[1:]) for level in levels]


def counted(level, offered, known, points, low, high):
    """Return the counts of nodes by column, and the sizes of the piles of each pass."""
    found, room, ends, last = {}, [], [0], []
    for start, stop, rows in level.batches(offered, known, points, low):
        assert ends[-1] == start < stop
        ends.append(stop)
        for position in np.flatnonzero(offered[start:stop].any(axis=0)).tolist():
            at = start + np.flatnonzero(offered[start:stop, position])
            fixed = points[at, position] if known[position] else None
            wanted = rows.candidates(position, at, low[at, position], high[at, position], fixed)
            batches = [(each.nodes, each.tables, each.low, each.high) for each in wanted]
            found.setdefault(position, []).extend(batches)
        piles = [pile for _, pile in rows.piles.values()]
        if piles != last:
            room.append(sum(len(pile._keys) if pile._counts is None else 4 * len(pile._counts) for pile in piles))
        last = piles
    assert ends[-1] == level.size
    together = {at: [np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)] for at, parts in found.items()}
    return together, room, len(ends) - 1


@pytest.mark.parametrize("resample", ["disjoint", "bootstrap"])
@pytest.mark.parametrize(
    ("pile", "candidates", "cell"), [(1, 1, 4), (300, 1, 4), (300, 20, 1), (10**6, 20, 0), (900, 9, 99)]
)
def test_nodes_are_queried_in_batches_that_fit(tmp_path, monkeypatch, resample, pile, candidates, cell):
    """The division into passes and batches of nodes changes no count; keys and cells are few."""
    for name, value in (("MOST_KEYS", pile), ("MOST_CANDIDATES", candidates), ("CELL", cell), ("DENSE", 0)):
        monkeypatch.setattr(exact_node_counts, name, value)
    monkeypatch.setattr(exact_counts, "BLOCK", 64)
    pair = both(tmp_path, [5, 6, 7, 3, 2], 400, 3, [100, 101], numbers=(3,))
    levels = [root_nodes(Records(rows, ATTRIBUTES, 4, 2), SEEDED(), 9, resample, 0.4) for rows in pair]
    rng, size = np.random.default_rng(5), 9
    low, high = (np.tile(each, (size, 1)).astype(float) for each in ([0, 0, 0, -1, 0], [0, 6, 7, GRID, 0]))
    points = np.full((size, 5), np.nan)
    for chosen in (False, True):
        offered = np.append(rng.random((size, 4)) < 0.6, np.zeros((size, 1), dtype=bool), axis=1)
        offered[np.arange(size), rng.integers(0, 4, size)] = True
        if chosen:  # cuts that were chosen before
            points[:, 1], points[:, 3] = rng.integers(1, 6, size), rng.integers(0, 9, size) * STEP
        known = np.array([False, chosen, False, chosen, False])
        (held, *same), (streamed, room, draws) = (counted(each, offered, known, points, low, high) for each in levels)
        assert same[0] == room  # passes are the same, and lots of nodes twice as large in memory
        assert alike(sorted(held.items()), sorted(streamed.items()))
        if pile == 1:
            assert len(room) == draws == size  # a node alone may be too large
        elif cell == 4:
            assert max(room) <= pile
            assert size > len(room) > 1 or chosen
        assert (pile < 10**6) or (len(room) == 1 < draws)


TINY = make_frame(120, 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    index = tmp_path_factory.mktemp("small")
    return encoded(index, TINY, 50)


PRINTED = {"mode": "published"}
LOOKS = [("NB-Synth", PRINTED | how) for how in ({"variant": "Alg1"}, {"prior": "frequency"})]
LOOKS += [("HMPrivBayes", PRINTED), ("JTree", PRINTED)]
FEW = {"n_trees": 2, "max_depth": 3}


@pytest.mark.parametrize(("name", "extra"), EVERY_FIT, ids=str)
def test_every_method_learns_the_same(name, extra, small, monkeypatch):
    monkeypatch.setattr(exact_node_counts, "MOST_KEYS", 100)  # so that trees take several passes, and batches of nodes
    monkeypatch.setattr(exact_node_counts, "MOST_CANDIDATES", 20)
    few = {key: value for key, value in FEW.items() if key in METHODS[name]().get_params()}
    method = METHODS[name](**{"random_state": 3, **few, **extra})
    if (name, extra) in LOOKS:
        with pytest.raises(DataError, match="all rows in memory"):
            method.fit(small, schema=SMALL)
        return
    method.fit(str(small), schema=SMALL)
    held = METHODS[name](**method.get_params()).fit(TINY, schema=SMALL)
    assert alike(fitted_state(method), fitted_state(held))


def test_a_folder_that_changes_between_two_queries_is_refused(tmp_path):
    _, rows = both(tmp_path, [3, 2], 100, 0, [50])
    rows.marginals([(0,)])
    path = tmp_path / "part-00001.parquet"
    for change in (lambda: os.utime(path, ns=(1, 1)), path.unlink):
        change()
        for ask in (lambda: rows.marginals([(0,)]), lambda: rows.split(1)):
            with pytest.raises(DataError, match=r"part-00001.*changed"):
                ask()


def test_the_split_seed_is_not_printed(small):
    """Printed or logged rows show neither the secret seed nor the path of the rows."""
    found = FolderData.open(small, split_seed=8_675_309)
    assert found.train.parts[0].selection.seed == found.reading["split_seed"] == 8_675_309
    for shown in map(repr, (found, found.train)):
        assert "8675309" not in shown
        assert str(small) not in shown
    first, second = (FolderData.open(small) for _ in range(2))  # and they are new for each reading
    assert not first.train_sample.equals(second.train_sample)


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(DataError, match="no readable manifest"):
        Folder.open(tmp_path)
    codes = np.zeros((20, 2), dtype=np.uint8)
    path = write(tmp_path / "rows", schema_of([3, 2]), codes, cuts=[5])
    manifest = json.loads((path / folder.MANIFEST).read_text())
    first, second = manifest["parts"]
    for match, changes in (
        ("add up", {"rows": 21}),
        ("not in the folder", {"parts": [{**first, "file": "../rows/part-00000.parquet"}, second]}),
        ("not the one", {"parts": [{**first, "sha256": "0"}, second]}),
        ("does not match", {"parts": [{**first, "rows": 6}, {**second, "rows": 14}]}),
    ):
        (path / folder.MANIFEST).write_text(json.dumps({**manifest, **changes}))
        with pytest.raises(DataError, match=match):
            Folder.open(path)
    codes[3, 0] = 7
    with pytest.raises(DataError, match="a code"):
        FolderRows(Folder.open(write(path, schema_of([3, 2]), codes))).marginals([(0,)])


def test_a_folder_must_have_the_schema_and_the_numbers_that_trees_split(small, tmp_path):
    method, columns = METHODS["NB-Synth"](random_state=3), SMALL.columns
    other = Column(name=columns[0].name, kind="categorical", categories=("only", "these"))
    with pytest.raises(SchemaError, match="encoded with another column"):
        method.fit(small, schema=Schema(columns=(other, *columns[1:]), target=SMALL.target))
    codes = encoded(tmp_path, TINY, 50, numbers=False)
    with pytest.raises(DataError, match="the method needs"):
        METHODS["DiffPRFs"](random_state=3).fit(codes, schema=SMALL)
    assert method.fit(codes, schema=SMALL.select([SMALL.names[0], "ill"])).ledger_.entries
