"""Charts of range queries and of trees: what is drawn, on which scale, and that text from users stays data."""

import json

import altair as alt
import numpy as np
import pandas as pd
import pytest
from specs import spec_of, walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA

HOSTILE = ["a.b[0]:Q", "<img src=x>", "image", "", 'it\'s "quoted" \\ \n', "{{y}}", "x" * 60]
FIELDS = {
    *(
        "release",
        "kind",
        "aside",
        "size",
        "value",
        "low",
        "high",
        "bin",
        "queries",
        "estimate",
        "at",
        "label",
        "text",
        "true",
    ),
    *("row", "left", "right", "middle", "shade", "name", "noisy", "consistent", "noise", "which", "error"),
}


def errors(releases=("tree", "flat"), **changes):
    rows = [
        (release, label, size, 10, 4.0 * (i + 1) * size**0.5, 0.2 * (i + 1))
        for i, release in enumerate(releases)
        for label, size in (("below 1 %", 0.001), ("25 % and more", 0.4))
    ]
    frame = pd.DataFrame(rows, columns=["release", "bin", "size", "queries", "absolute", "relative"])
    for name in ("absolute", "relative"):
        frame[f"{name}_low"], frame[f"{name}_high"] = frame[name] - 1, frame[name] + 1
    return frame.assign(**changes)


def answers(releases=("tree", "rows"), **changes):
    frame = pd.DataFrame({"release": releases, "estimate": np.arange(len(releases)) + 10.0})
    frame = frame.assign(low=frame["estimate"] - 2, high=frame["estimate"] + 2, true=11.0)
    frame.loc[len(frame) - 1, ["low", "high"]] = np.nan
    return frame.assign(**changes)


def nodes(names=("all rows", "left", "right"), **changes):
    frame = pd.DataFrame(
        {
            "level": [0, *[1] * (len(names) - 1)],
            "divides": [names[0], *[names[-1]] * (len(names) - 1)],
            "left": [0, *range(len(names) - 1)],
            "right": [len(names) - 1, *range(1, len(names))],
            "label": names,
            "name": names,
            "noisy": [10.0, *[np.nan] * (len(names) - 1)],
            "noisy_margin": [3.0, *[np.nan] * (len(names) - 1)],
            "consistent": np.arange(len(names)) + 1.0,
            "consistent_margin": np.arange(len(names)) + 0.5,
        }
    )
    frame = frame.assign(true=frame["consistent"] + 2)
    return frame.assign(noise=frame["noisy"] - frame["true"]).assign(**changes)


def runs(names=("all rows", "age"), **changes):
    rows = [
        (level, name, which, 1.0 + level + run + (which == "noisy"))
        for run in range(3)
        for level, name in enumerate(names)
        for which in ("noisy", "consistent")
    ]
    return pd.DataFrame(rows, columns=["level", "divides", "which", "error"]).assign(**changes)


BUILDERS = {
    "error_by_range": (errors, charts.error_by_range),
    "range_answers": (answers, charts.range_answers),
    "count_tree": (nodes, charts.count_tree),
    "level_errors": (runs, charts.level_errors),
}
every_chart = pytest.mark.parametrize("name", BUILDERS)


def rows_of(chart):
    return [row for rows in spec_of(chart)["datasets"].values() for row in rows]


@every_chart
def test_names_are_data_and_never_fields_or_expressions(name):
    make, build = BUILDERS[name]
    chart = build(make(HOSTILE))
    spec = spec_of(chart)
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 40
    assert "[0]" in json.dumps(spec["datasets"])
    del spec["datasets"]
    for path, node in walk(spec):
        if path and path[-1] == "field":
            assert node in FIELDS
        if path and path[-1] in {"filter", "expr", "test", "calculate", "labelExpr"}:
            assert not any(text in node for text in ("a.b", "<img", "quoted", "{{"))
        if path and path[-1] == "sort" and isinstance(node, list):
            assert path[-2] == "facet"
        if isinstance(node, dict) and "mark" in node and "encoding" in node:
            assert "tooltip" in node["encoding"]  # the theme's default would show the axes' titles


@every_chart
def test_other_columns_and_numbers_that_are_none_stay_behind(name):
    make, build = BUILDERS[name]
    frame = make().assign(hiv_status="secret")
    before = frame.copy(deep=True)
    spec = json.dumps(spec_of(build(frame)))
    assert "secret" not in spec
    assert not any(word in spec for word in ('"white"', '"black"', "#ffffff", "#000000"))
    pd.testing.assert_frame_equal(frame, before)
    for column in frame.select_dtypes("float"):
        frame[column] = frame[column].where(frame.index % 3 != 0, np.inf).where(frame.index % 3 != 1, np.nan)
    spec_of(build(frame))


@every_chart
def test_a_chart_of_nothing_is_drawn(name):
    make, build = BUILDERS[name]
    spec_of(build(make().head(0)))
    marked = spec_of(charts.mark_real(build(make())))
    assert marked["title"]["text"][-1] == REAL_DATA


# Errors by size


def test_errors_are_on_log_scales_with_intervals_and_baselines_dashed():
    frame = errors(("tree", "flat"), baseline=[False, False, True, True])
    frame.loc[0, "absolute"] = 0.0
    chart = charts.error_by_range(frame)
    spec = spec_of(chart)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "rule", "point"]
    assert {layer["encoding"]["y"]["scale"]["type"] for layer in spec["layer"]} == {"log"}
    assert {layer["encoding"]["x"]["scale"]["type"] for layer in spec["layer"]} == {"log"}
    rows = [row for row in rows_of(chart) if "value" in row]
    assert len(rows) == 3  # an error of 0 has no place
    assert min(row["low"] for row in rows) > 0
    assert {(row["release"], row["kind"]) for row in rows} == {("tree", "method"), ("flat", "baseline")}
    assert spec["layer"][0]["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [6, 4]]
    assert "Dashed: baselines" in " ".join(spec["title"]["subtitle"])
    colors = spec["layer"][2]["encoding"]["color"]["scale"]
    assert len(set(colors["range"][:2])) == 2


def test_single_runs_have_no_bars():
    single = errors(absolute_low=np.nan, absolute_high=np.nan)
    spec = spec_of(charts.error_by_range(single))
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "point"]
    assert "Bars" not in " ".join(spec["title"]["subtitle"])


def test_an_axis_over_decades_has_their_ticks():
    frame = errors(size=[0.002, 0.3] * 2, absolute=[0.5, 2_000.0] * 2)
    (axis,) = {json.dumps(layer["encoding"]["x"]["axis"]) for layer in spec_of(charts.error_by_range(frame))["layer"]}
    assert json.loads(axis)["values"] == [0.01, 0.1]
    axis = spec_of(charts.error_by_range(frame))["layer"][0]["encoding"]["y"]["axis"]
    assert axis["values"] == [1, 10, 100, 1000]


# One answer


def test_an_answer_with_its_interval_beside_the_truth():
    chart = charts.range_answers(answers())
    spec = spec_of(chart)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rule", "rule", "point", "text"]
    assert [row["label"] for row in rows_of(chart) if "label" in row] == ["true count 11"]
    estimates = [row for row in rows_of(chart) if "estimate" in row]
    assert [row["estimate"] for row in estimates] == [10, 11]
    assert estimates[1]["low"] is None


def test_without_the_truth_nothing_private_is_drawn():
    chart = charts.range_answers(answers().drop(columns="true"))
    spec = spec_of(chart)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rule", "point"]
    assert "true count" not in " ".join(spec["title"]["subtitle"])
    same = charts.range_answers(answers(("a", "a", "b")))
    assert [row["release"] for row in rows_of(same) if "estimate" in row] == ["a", "a (2)", "b"]


# The tree


def test_a_tree_is_drawn_noisy_and_consistent_on_one_scale():
    chart = charts.count_tree(nodes())
    spec = spec_of(chart)
    assert spec["facet"]["sort"] == ["noisy", "consistent"]
    rows = pd.DataFrame(rows_of(chart))
    shades = rows.set_index(["which", "name"])["shade"]
    assert shades["noisy", "all rows"] == 7  # |10 - 3|
    assert shades["consistent"].tolist() == [2, 2, 2]
    blank = rows[rows["text"] == "(not measured)"]
    assert blank[["which", "row", "left", "right"]].to_numpy().tolist() == [["noisy", "1: right", 0, 2]]
    scales = [node for path, node in walk(spec) if path[-2:] == ("scale", "domain") and node[:1] == [0]]
    assert [0, 7] in scales
    assert "absolute error" in spec["description"]


def test_without_true_counts_colors_are_intervals():
    chart = charts.count_tree(nodes().drop(columns=["true", "noise"]))
    rows = pd.DataFrame(rows_of(chart))
    assert rows[rows["which"] == "consistent"]["shade"].tolist() == [0.5, 1.5, 2.5]
    tips = {
        node["title"] for path, node in walk(spec_of(chart)) if path[-2:-1] == ("tooltip",) and isinstance(node, dict)
    }
    assert tips == {"node", "noisy count", "consistent count", "interval from", "to"}


def test_names_are_written_where_they_fit():
    wide = [f"a rather long name {i}" for i in range(100)]
    rows = pd.DataFrame(rows_of(charts.count_tree(nodes(["all rows", *wide]))))
    assert set(rows[rows["which"] == "consistent"]["text"]) == {"all rows", ""}
    few = pd.DataFrame(rows_of(charts.count_tree(nodes(["all rows", *wide[:8]]))))
    assert few["text"].str.endswith("…").any()


def test_runs_per_level():
    chart = charts.level_errors(runs())
    spec = spec_of(chart)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["point", "tick"]
    rows = pd.DataFrame(rows_of(chart))
    assert rows["row"].unique().tolist() == ["0: all rows", "1: age"]
    assert len(rows) == 12
    single = spec_of(charts.level_errors(runs().head(4)))
    assert len(single["layer"]) == 1
    mixed = runs()
    mixed.loc[2, "divides"] = "sex"  # another run divided another column
    assert set(pd.DataFrame(rows_of(charts.level_errors(mixed)))["row"]) == {"0: all rows", "level 1"}
    public = runs()
    public.loc[0, "error"] = 0.0  # a root that is public; a log scale has no place for it
    assert len(pd.DataFrame(rows_of(charts.level_errors(public)))) == 11
    assert isinstance(chart, alt.LayerChart)
