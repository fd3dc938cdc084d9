"""Cells: pairs of columns, tables of two, classes, and what becomes of an answer."""

import pandas as pd
import pytest
from lessons import frame
from pictures import cells, pairs, tables
from specs import domain, marks_of, rows_of, spec_of, subtitle, types_of, walk

from dpcore import charts


def shades(chart):
    """What the colors go from and to."""
    return next(
        node["scale"]["domain"] for path, node in walk(spec_of(chart)) if path[-1:] == ("color",) and node.get("field")
    )


def symmetric(rows, value):
    """Whether every cell says what the one across the diagonal does."""
    found = rows.set_index(["x", "y"])[value]
    return all(found[b, a] == each for (a, b), each in found.items())


def test_the_heat_map_is_symmetric_and_starts_at_zero():
    for columns in (15, 57):
        chart = charts.pair_heatmap(pairs([f"c{i}" for i in range(columns)]))
        rows = rows_of(chart)
        assert len(rows) == columns * (columns - 1)
        assert symmetric(rows, "shade")
        assert shades(chart) == [0, 1]  # of any release, so that mere noise does not fill the scale


def test_pair_tables_share_one_scale_with_real_first_and_keep_all_the_mass():
    chart = charts.pair_tables(tables([f"v{i}" for i in range(50)]), x="age", y="income")
    spec, rows = spec_of(chart), rows_of(chart, "shade")
    assert shades(chart) == [0, 1]
    assert spec["width"] == "container"
    assert rows.groupby("source")["shade"].sum().tolist() == pytest.approx([1, 1])
    assert rows["x"].nunique() == 2 * rows["y"].nunique() == 82
    names = domain(chart, "x")
    assert {*rows[rows["source"] == "real"]["x"]} == {*names[:41]}
    assert [name.removeprefix("\u200b") for name in names] == [*names[:41], "", *names[:41]]
    assert names[40] == "(10 others)"


def scored(names):
    rows = [(a, b, 0.1 * (place % 14) - 0.1) for place, a in enumerate(names) for b in names[:place]]
    return frame("a b score", rows)


def test_affinity_is_symmetric_clipped_and_says_so():
    names = [f"bit {bit}" for bit in range(52)]
    chart = charts.affinity(scored(names), dict.fromkeys(names, 1))
    found = rows_of(chart)
    assert len(found) == 52 * 51
    assert symmetric(found, "score")
    assert found["score"].min() < 0 == found["shade"].min()
    assert found["score"].max() > 1 == found["shade"].max()
    assert "are below 0" in subtitle(chart)
    assert "are above 1" in subtitle(chart)
    assert "drawn as" not in subtitle(charts.affinity(scored(names[:5]).assign(score=0.5), {}))


def test_affinity_stands_in_the_order_of_clusters_with_gaps_between_and_names_up_to_60_columns():
    clusters = pd.DataFrame({"column": ["a", "b", "c", "d"], "cluster": [1, 2, 1, 3]})
    for given in (clusters, dict(zip(clusters["column"], clusters["cluster"], strict=True))):
        chart = charts.affinity(scored(list("abcd")), given)
        assert [name.replace("\u200b", "") for name in domain(chart, "x")] == ["a", "c", "", "b", "", "d"]
        assert len({*domain(chart, "y")}) == 6
        assert types_of(chart)[1] == "text"
    for columns, named in ((60, True), (61, False)):
        names = [f"Q{number}" for number in range(columns)]
        (layer,) = marks_of(charts.affinity(scored(names), {name: place % 5 for place, name in enumerate(names)}))
        assert [layer["encoding"][axis]["axis"].get("labels", True) for axis in "xy"] == [named] * 2


def test_a_confusion_has_shares_and_counts_while_they_fit():
    marks = [types_of(charts.confusion(cells(range(classes)))) for classes in (2, 9, 20)]
    assert marks == [["rect", "text", "text"], ["rect", "text"], ["rect"]]
    chart = charts.confusion(cells())
    assert domain(chart, "x") == domain(chart, "y") == ("no", "yes")
    assert shades(chart) == [0, 1]
