"""Trees from estimated class counts: halves of columns, growth, shown counts, votes, corrected classes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Groups
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import split_in_halves
from dpcore.mechanisms.randomizers import ERRPH, TRR
from dpcore.methods.local.base import LocalSplit, StopRule, entropy, gini, grow
from dpcore.methods.local.dtcrd import IntervalTreeBuilder
from dpcore.postprocess import forest_frames
from dpcore.postprocess.reports import Reports

NUMBER = Column(name="age", kind="integer", lower=0, upper=9, bins=5, missing=True)
TOWNS = Taxonomy(tuple((c, "west" if c < "d" else "east" if c < "f" else "south", "all") for c in "abcdefg"))
SCHEMA = Schema(columns=(
    NUMBER,
    Column(name="town", kind="categorical", categories=tuple("abcdefg"), taxonomy=TOWNS),
    Column(name="y", kind="categorical", categories=("no", "yes")),
    Column(name="grade", kind="ordered", categories=("low", "mid", "high")),
    Column(name="one", kind="categorical", categories=("only",)),
), target="y")  # fmt: skip


BELOW_ONE = Taxonomy((("a", "u", "v", "all"), ("b", "w", "v", "all"), ("c", "w", "v", "all")))
THREE = Column(name="n", kind="categorical", categories=tuple("abc"), taxonomy=BELOW_ONE)
EIGHT = Column(name="n", kind="categorical", categories=tuple("abcdefgh"), missing=True)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (NUMBER, {"0–5": (0, 1, 2), "6–9 or (missing)": (3, 4, 5)}),
        (SCHEMA["grade"], {"low, mid": (0, 1), "high": (2,)}),
        (SCHEMA["town"], {"west, east": (0, 1, 2, 3, 4), "south": (5, 6)}),
        (EIGHT, {"a, b, … d": (0, 1, 2, 3), "e, f, … (missing)": (4, 5, 6, 7, 8)}),
        (THREE, {"u": (0,), "w": (1, 2)}),  # everything below one group: the groups below that one
        (SCHEMA["one"], {}),
    ],
)
def test_halves(column, expected):
    tree = split_in_halves(column)
    assert {tree.nodes[i].name: tree.nodes[i].codes for i in tree.children[0]} == expected
    attribute = Groups(column, tree)
    assert attribute.fanout(*map(np.array, zip(attribute.start, strict=True)))[0] == len(expected)
    if expected:
        sides = attribute.side(np.arange(column.size), np.zeros(column.size), np.zeros(column.size))
        assert [tuple(np.flatnonzero(sides == i)) for i in (0, 1)] == list(expected.values())
        below, _ = attribute.ranges(np.zeros(2), np.zeros(2), np.full(2, np.nan), np.arange(2))
        assert attribute.fanout(below, below).tolist() == [0, 0]  # once


DEEP, SPLITS = StopRule(5, 0.001), {"cuts": "values", "children": "halves"}


def planted(splits, classes=(60.0, 40.0), stop=DEEP):
    """Grow a tree by given splits: a mapping from a node's path, such as "lr", to its split."""

    def best_split(node):
        if node.state not in splits:
            return None
        column, point, counts = splits[node.state]
        return LocalSplit(column, point, np.array(counts), [node.state + c for c in "lr"])

    return grow(SCHEMA, "y", np.array(classes), "", best_split, stop, lambda *_: None, splits=SPLITS)


def test_a_tree_shows_sums_and_votes_estimates():
    tree = planted(
        {
            "": (1, np.nan, [[80.0, -5.0], [10.0, 30.0]]),
            "l": (3, np.nan, [[50.0, -50.0], [-1.0, -2.0]]),
            "r": (0, np.nan, [[0.0, 2.0], [2.0, 4.0]]),
        }
    )
    tree._check()
    assert tree.column.tolist() == [1, -1, 0, -1, -1]  # of one class only: left alone
    assert tree.level.tolist() == [0, 1, 1, 2, 2]
    # 80 and 40 are scaled to the root's 100, and 2 and 6 to a third of that.
    assert tree.counts == pytest.approx([100, 200 / 3, 100 / 3, 25 / 3, 25])
    expected = [[200 / 3 + 25 / 3, 25], [200 / 3, 0], [25 / 3, 25], [0, 25 / 3], [25 / 3, 50 / 3]]
    assert tree.classes == pytest.approx(np.array(expected))
    assert tree.probabilities == pytest.approx(np.array([[0.6, 0.4], [1, 0], [0.25, 0.75], [0, 1], [1 / 3, 2 / 3]]))
    assert np.isnan([tree.spent, tree.noisy]).all()
    rows = pd.DataFrame({"age": [0, 9, None, 3], "town": list("abgg"), "grade": "low", "one": "only"})
    assert tree.apply(rows)[:, 0].tolist() == [1, 1, 4, 3]
    edges = forest_frames.nodes(tree)["edge"].tolist()
    assert edges == ["", "town: west, east", "town: south", "age: 0–5", "age: 6–9 or (missing)"]
    assert tree.importance().sum() == pytest.approx(1)


def test_a_child_without_people_votes_as_its_parent():
    some, nobody = (planted({"": (1, np.nan, [[-1.0, -2.0], right])}) for right in ([5.0, 6.0], [-5.0, 0.0]))
    assert some.probabilities[1] == pytest.approx([0.6, 0.4])
    assert some.counts.tolist() == [100, 0, 100]
    assert nobody.classes[1:] == pytest.approx(25)


@pytest.mark.parametrize(("stop", "nodes"), [((5, 0.001), 9), ((1, 0.01), 3), ((9, 0.4), 7), ((9, 0.01, 0.99), 1)])
def test_nodes_stop_by_depth_support_or_entropy(stop, nodes):
    """A third of the people are on the right."""
    split = [[5.0, 5.0], [3.0, 2.0]]
    everything = {way: (position, np.nan, split) for way, position in (("", 0), ("l", 1), ("ll", 3), ("r", 3))}
    assert len(planted(everything, stop=StopRule(*stop)).tree) == nodes
    assert planted({}, classes=(0.0, -3.0)).probabilities.tolist() == [[0.5, 0.5]]


def test_impurities():
    classes = np.array([[1.0, 1, 2], [0, 5, 0], [0, 0, 0]])
    assert entropy(classes) == pytest.approx([1.5, 0, 0])
    assert gini(classes) == pytest.approx([1 - 6 / 16, 0, 0])


CLASSES = (Column("x", "continuous", lower=0, upper=1), Column("y", "categorical", categories=("a", "b", "c")))


def build_intervals(epsilon, labels, numbers):
    channels = {("x",): TRR(lower=0, upper=1, epsilon=1e9), ("y",): ERRPH(3, epsilon=epsilon)}
    schema, values = Schema(columns=CLASSES, target="y"), {("x",): np.array(numbers, float), ("y",): np.array(labels)}
    reports = Reports(schema, len(labels), channels, values)
    return reports, IntervalTreeBuilder(reports, "y", "by_class")


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.floats(0.01, 5))
def test_class_counts_are_corrected_for_the_randomizer(labels, epsilon):
    reports, builder = build_intervals(epsilon, labels, np.linspace(0, 1, len(labels)))
    reported = np.bincount(labels, minlength=3)
    exact, found = reports.estimate_by_group(reported.astype(float), ("y",)), builder.true_classes(reported)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(len(labels))
    if exact.min() >= 0:
        assert found == pytest.approx(exact)


def test_sides_have_enough_people_for_their_classes():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 3_000)
    _, builder = build_intervals(1.0, labels, rng.random(3_000))
    tree = builder.build(StopRule(20, 0.001), lambda *_: None)
    assert len(tree.tree) > 1
    assert tree.counts.min() >= 100 * (1 / builder.channel.gain**2 - 1) - 1e-6
    assert build_intervals(1e9, labels, rng.random(3_000))[1].fewest == 1
