"""The drawn tree holds what its frame holds, in order, and no name stands on a line or on another name."""

import json
from typing import Any

import pandas as pd
import pytest

from dpcore import charts
from dpcore.charts.frames import LETTER
from dpcore.charts.trees import MOST_LEAVES
from dpcore.datasets.published import adult_schema, big5_schema
from dpcore.domain.column import Column
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy

ADULT = adult_schema()


def frame_of(column: Column) -> pd.DataFrame:
    rows = [(node.name, node.parent, len(node.codes)) for node in Hierarchy.of(column).nodes]
    return pd.DataFrame(rows, columns=["node", "parent", "leaves"])


def parts(chart: Any) -> dict[str, pd.DataFrame]:
    """The layers' data under what they are."""
    lines, *others = [layer.data for layer in chart.layer]
    found = {"across": lines[lines["x"] < lines["x2"]], "along": lines[lines["y"] < lines["y2"]]}
    return found | dict(zip(["dots", "groups", "values"], others, strict=True))


def deep(levels: int, letters: int) -> Column:
    """A chain of groups with long names, each with a value of its own."""
    names = [f"{level}{'x' * letters}" for level in range(levels)]
    paths = tuple((f"v{level}", *names[level::-1]) for level in range(levels))
    return Column(
        name=f"deep {levels}", kind="categorical", categories=tuple(p[0] for p in paths), taxonomy=Taxonomy(paths)
    )


@pytest.mark.parametrize(
    "column", [*ADULT, big5_schema()["country"], deep(8, 40), deep(29, 100)], ids=lambda column: column.name
)
def test_values_stand_at_the_right_and_groups_on_lines_of_their_own(column: Column) -> None:
    frame = frame_of(column)
    drawn = parts(charts.taxonomy(frame))
    dots, values, groups = drawn["dots"], drawn["values"], drawn["groups"]
    letters = 13
    assert values["x"].nunique() == 1
    assert values["x"].iloc[0] == dots["x"].max()
    assert (values["x"] + LETTER * letters * values["label"].str.len()).max() <= 960
    if column.size <= MOST_LEAVES:
        assert sorted(values["label"]) == sorted(column.labels)
        assert len(dots) == len(frame)
        assert list(dots["leaves"]) == list(frame["leaves"])
    assert values["y"].sort_values().diff().dropna().min() >= letters
    lines = drawn["across"]
    for group in groups.itertuples():
        end = group.x + 5 + LETTER * letters * len(group.label)
        (mine,) = lines[(lines["x"] == group.x) & (lines["y"] == group.y)]["x2"]
        assert mine >= end  # the name ends before the node
        near = lines[(lines["x"] < end) & (lines["x2"] > group.x) & (lines["y"] < group.y)]
        assert (near["y"] <= group.y - letters - 3).all()  # and below the next line


def test_children_hang_on_their_parent() -> None:
    frame = frame_of(ADULT["education"])
    drawn = parts(charts.taxonomy(frame))
    dots, lines, bars = drawn["dots"], drawn["across"], drawn["along"]
    for child, parent in frame["parent"].items():
        if parent < 0:
            continue
        assert lines["x"][child] == dots["x"][parent]  # a line starts below the parent
        assert lines["x2"][child] == dots["x"][child]
        assert bars["y"][parent] <= dots["y"][child] <= bars["y2"][parent]
        assert bars["x"][parent] == dots["x"][parent]
        assert dots["path"][child] == f"{dots['path'][parent]} › {frame['node'][child]}"
    order = drawn["values"].sort_values("y")["label"]
    assert list(order) == list(ADULT["education"].categories)


def test_large_trees_are_drawn_from_the_root_and_say_so() -> None:
    halves = Column(name="x", kind="integer", lower=0, upper=9_999, bins=10_000)
    chart = charts.taxonomy(frame_of(halves))
    values = parts(chart)["values"]
    assert len(values) == 128
    assert values["label"].str.contains(r"\(7[89]\)").all()  # a group at the right says how many it holds
    assert "10,000 values" in chart.description
    assert "Only the upper part is drawn, down to 128 nodes." in chart.description
    assert "Only the upper part" in chart.title.subtitle[0]

    wide = Column(name="x", kind="categorical", categories=tuple(f"v{i}" for i in range(400)))
    drawn = parts(charts.taxonomy(frame_of(wide)))
    assert len(drawn["values"]) == MOST_LEAVES
    assert drawn["values"]["label"].iloc[-1] == "(others: 251 values)"
    assert drawn["dots"]["leaves"].iloc[1:].sum() == 400


@pytest.mark.parametrize(
    "names", [("a.b[0]:Q", "<img src=x>", "$x$"), ("", "  ", "\n"), ("x" * 400, "y" * 400, "z" * 400)]
)
def test_names_are_data(names: tuple[str, str, str]) -> None:
    root, first, second = names
    chart = charts.taxonomy(pd.DataFrame({"node": [root, first, second], "parent": [-1, 0, 0], "leaves": [2, 1, 1]}))
    spec = chart.to_dict()
    assert parts(chart)["values"]["label"].str.len().between(1, 34).all()
    fields = {part["field"] for layer in spec["layer"] for part in layer["encoding"].values() if "field" in part}
    assert fields == {"x", "y", "x2", "y2", "size", "label"}
    tips = [tip["field"] for layer in spec["layer"] for tip in layer["encoding"].get("tooltip") or [] if "field" in tip]
    assert tips == ["name", "path", "leaves"]
    del spec["datasets"]
    assert root.strip() == "" or root not in json.dumps(spec)


def test_one_node() -> None:
    chart = charts.taxonomy(pd.DataFrame({"node": ["a"], "parent": [-1], "leaves": [1]}))
    assert list(parts(chart)["values"]["label"]) == ["a"]
    assert parts(chart)["along"].empty
    chart.to_dict()
