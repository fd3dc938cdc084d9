"""Charts of trees, their epsilon and classifiers: what is drawn, where, and that text from users stays data."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from specs import rows_of, spec_of, subtitle, walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.charts.colors import REAL, RELEASED
from dpcore.charts.trees import CLASSES, DARK, LIGHT, _rows

HOSTILE = ["a.b[0]:Q", "<img src=x>", "image", "", 'it\'s "quoted" \\ \n', "{{y}}", "x" * 60]
FIELDS = {
    *("left", "right", "top", "bottom", "fill", "ink", "inset", "x", "x2", "y", "y2", "head", "foot", "branch", "more"),
    *("path", "asks", "label", "noisy", "counts", "share", "spent", "folded", "row", "start", "stop", "purpose"),
    *("amount", "total", "which", "model", "measure", "who", "score", "mean", "low", "high", "text", "end", "accuracy"),
    *("truth", "predicted", "count", "column", "at"),
}


def nodes(names=("age", "sex"), **changes):
    """A root that asks the first name, and a child for every name after it; the last is divided further down."""
    size = len(names)
    frame = pd.DataFrame(
        {
            "place": range(size),
            "parent": [-1, *[0] * (size - 1)],
            "level": [0, *[1] * (size - 1)],
            "text": [names[0], *[""] * (size - 2), "sex"],
            "side": ["", *names[1:]],
            "edge": ["", *[f"age {name}" for name in names[1:]]],
            "noisy": [100.4, *[-2.0] * (size - 1)],
            "counts": [100.0, *[1.5] * (size - 1)],
            "class": names,
            "share": [0.6, *[0.9] * (size - 1)],
            "spent": [0.25, *[1.0] * (size - 1)],
            "leaf": [False, *[True] * (size - 2), False],
            "folded": [4, *[0] * (size - 2), 4],
        }
    )
    return frame.assign(**changes)


def spent(names=("choices", "classes in leaves"), **changes):
    rows = [(0, "counts of records"), (0, "choices"), (1, "counts of records"), (1, "classes in leaves"), (-1, "other")]
    frame = pd.DataFrame(rows, columns=["level", "purpose"])
    epsilons = [0.1, 0.2, 0.1, 0.6, 0.0]
    frame = frame.assign(
        epsilon_claimed=epsilons, epsilon_of_noise=epsilons, account=names[0], per_tree=True, void=False
    )
    return frame.assign(**changes)


def scores(names=("DiffPRFs", "majority class"), **changes):
    frame = pd.DataFrame({"model": names, "accuracy": 0.8, "balanced_accuracy": 0.6})
    return frame.assign(private=[True, *[False] * (len(names) - 1)]).assign(**changes)


def cells(names=("no", "yes"), **changes):
    rows = [(a, b, 10.0 * (a == b) + 5, 0.75 if a == b else 0.25) for a in names for b in names]
    return pd.DataFrame(rows, columns=["truth", "predicted", "count", "share"]).assign(**changes)


def steps(names=("released", "same trees, exact counts", "exact trees"), **changes):
    frame = pd.DataFrame({"step": ["released", "same trees, exact counts", "exact trees"]})
    return frame.assign(accuracy=[0.80, 0.83, 0.85], note=names[0]).assign(**changes)


def gains(names=("age", "sex"), **changes):
    return pd.DataFrame({"column": names, "share": np.arange(len(names)) / 10}).assign(**changes)


BUILDERS = {
    "forest_tree": (nodes, charts.forest_tree),
    "forest_budget": (spent, charts.forest_budget),
    "classifier_scores": (scores, charts.classifier_scores),
    "confusion": (cells, charts.confusion),
    "costs": (steps, charts.costs),
    "importance": (gains, charts.importance),
}
every_chart = pytest.mark.parametrize("name", BUILDERS)


@every_chart
def test_names_are_data_and_never_fields_or_expressions(name):
    make, build = BUILDERS[name]
    spec = spec_of(build(make(HOSTILE)))
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 40
    if name not in ("forest_budget", "costs"):  # these have no text from users
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


# The tree


def test_a_tree_has_a_box_per_node_and_lines_between():
    frame = nodes(("age", "≤ 40", "> 40"), **{"class": ["no", "no", "yes"]})
    chart = charts.forest_tree(frame)
    boxes = rows_of(chart, "fill").set_index("path")
    assert list(boxes.index) == ["(the root)", "age ≤ 40", "age > 40"]
    assert (boxes["left"] < boxes["right"]).all()
    assert boxes["left"].tolist()[0] < boxes["left"].tolist()[1] == boxes["left"].tolist()[2]
    assert boxes["asks"].tolist() == ["age", "(a leaf)", "sex"]
    words = rows_of(chart, "head")
    assert words["head"].tolist() == ["age?", "no 90%", "sex?"]
    assert words["foot"].tolist() == ["≈ 100 · ε 0.25", "≈ −2 · ε 1", "≈ −2 · ε 1"]
    branches = rows_of(chart, "branch")
    assert branches["branch"].tolist() == ["", "≤ 40", "> 40"]
    assert branches["more"].tolist() == ["", "", "+4"]  # told where it happens, not above
    lines = rows_of(chart, "y2")
    assert len(lines) == 3 + 1 + 1  # into every node, out of the root, and down
    assert "4 more nodes are not drawn" in subtitle(chart)
    assert [layer["mark"]["type"] for layer in spec_of(chart)["layer"]][:2] == ["rule", "rect"]


def test_ends_stand_in_even_rows_and_others_amid_their_children():
    parents = np.array([-1, 0, 0, 2, 2, 2, 4, 4])
    rows = _rows(parents)
    assert rows["y"].tolist() == [1.25, 0.0, 2.5, 1.0, 2.5, 4.0, 2.0, 3.0]
    assert rows["high"].dropna().tolist() == [0.0, 1.0, 2.0]
    assert rows["low"].dropna().tolist() == [2.5, 4.0, 3.0]


def channels(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def light(color):
    parts = channels(color)
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_boxes_are_the_paler_the_less_sure_and_can_be_read():
    shares = np.linspace(0.5, 1.0, 12)
    for label in "abgj":
        known = pd.Categorical([label] * 12, list("abcdefghij"))
        frame = nodes(["age"] * 12, **{"class": known, "share": shares})
        chart = charts.forest_tree(frame)
        fills, inks = rows_of(chart, "fill")["fill"], rows_of(chart, "ink")["ink"]
        brightness = [light(fill) for fill in fills]
        assert brightness == sorted(brightness, reverse=True)
        assert fills.iloc[-1] == CLASSES["abcdefghij".index(label)]
        for fill, ink in zip(fills, inks, strict=True):
            bright, dark = sorted((light(fill), light(ink)), reverse=True)
            assert ink in (DARK, LIGHT)
            assert (bright + 0.05) / (dark + 0.05) > 3.4


def test_a_tree_without_a_class_is_colored_like_the_others():
    frame = nodes(("age", "≤ 40", "> 40"), **{"class": pd.Categorical(["yes"] * 3, ["no", "yes"]), "share": 1.0})
    assert set(rows_of(charts.forest_tree(frame), "fill")["fill"]) == {CLASSES[1]}


def test_texts_are_cut_to_their_place_and_boxes_stay_inside():
    long = ["occupation " * 3] * 4
    for levels in (2, 7):
        rows = [nodes(long).iloc[[1]].assign(place=i, parent=i - 1, level=i) for i in range(levels)]
        chart = charts.forest_tree(pd.concat(rows, ignore_index=True), width=700)
        boxes = rows_of(chart, "fill")
        assert boxes["right"].max() <= 700
        assert (boxes["left"].to_numpy()[1:] > boxes["right"].to_numpy()[:-1]).all()
        assert rows_of(chart, "branch")["branch"].str.endswith("…").any()


def test_exact_trees_say_neither_about_nor_epsilon():
    chart = charts.forest_tree(nodes(spent=np.nan))
    assert rows_of(chart, "foot")["foot"].tolist() == ["100", "−2"]
    assert "ε" not in subtitle(chart)
    unasked = charts.forest_tree(nodes(spent=np.nan, noisy=np.nan))  # what was learned from noisy groups is not exact
    assert rows_of(unasked, "foot")["foot"].tolist() == ["≈ 100", "≈ 2"]


# Epsilon


def test_bars_are_stacked_level_by_level():
    chart = charts.forest_budget(spent())
    rows = rows_of(chart, "stop")
    assert rows["row"].tolist() == ["level 0 (root)", "level 0 (root)", "level 1", "level 1", "no level"]
    assert rows["start"].tolist() == pytest.approx([0, 0.1, 0, 0.1, 0])
    assert rows["stop"].tolist() == pytest.approx([0.1, 0.3, 0.1, 0.7, 0])
    assert rows["total"].tolist() == ["0.3", "0.3", "0.7", "0.7", "0"]
    assert set(rows["which"]) == {"provable bound"}
    assert "epsilon 1." in subtitle(chart)
    assert "facet" not in spec_of(chart)


def test_claim_and_bound_apart_and_what_is_infinite_named():
    bound = [0.1, math.inf, 0.1, 0.6, 0.0]
    chart = charts.forest_budget(spent(epsilon_of_noise=bound))
    assert spec_of(chart)["facet"]["sort"] == ["claimed", "provable bound"]
    rows = rows_of(chart, "stop").set_index(["which", "row", "purpose"])
    far = rows.loc[("provable bound", "level 0 (root)", "choices")]
    assert far["amount"] == far["total"] == "∞"
    assert far["start"] == pytest.approx(0.1)
    assert far["stop"] > 0.7
    assert "claimed 1, provable bound ∞" in subtitle(chart)


# Scores


def test_the_release_is_blue_and_references_grey():
    chart = charts.classifier_scores(scores())
    spec = spec_of(chart)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["point", "text"]
    assert spec["layer"][0]["encoding"]["color"]["scale"] == {
        "domain": ["released", "reference"],
        "range": [RELEASED, REAL],
    }
    rows = rows_of(chart, "score")
    assert rows[["model", "who", "measure", "score"]].to_numpy().tolist() == [
        ["DiffPRFs", "released", "accuracy", 0.8],
        ["majority class", "reference", "accuracy", 0.8],
        ["DiffPRFs", "released", "balanced accuracy", 0.6],
        ["majority class", "reference", "balanced accuracy", 0.6],
    ]
    assert "interval" not in subtitle(chart)


def test_repeats_have_an_interval():
    frame = pd.concat([scores(("a", "b")).assign(accuracy=[value, 0.5]).head(2) for value in (0.7, 0.8, 0.9)])
    frame = pd.concat([frame[frame["model"] == "a"], frame[frame["model"] == "b"].head(1)])
    chart = charts.classifier_scores(frame)
    assert [layer["mark"]["type"] for layer in spec_of(chart)["layer"]] == ["rule", "point", "text"]
    rows = rows_of(chart, "score").query("measure == 'accuracy'").set_index("model")
    half = 4.3027 * 0.1 / math.sqrt(3)
    assert rows.loc["a", "low"].tolist() == pytest.approx([0.8 - half] * 3)
    assert rows.loc["a", "high"].tolist() == pytest.approx([0.8 + half] * 3)
    assert math.isnan(rows.loc["b", "low"])
    assert "95% t-interval" in subtitle(chart)


def test_a_confusion_has_shares_and_counts_while_they_fit():
    marks = [
        [layer["mark"]["type"] for layer in spec_of(charts.confusion(cells(range(n))))["layer"]] for n in (2, 9, 20)
    ]
    assert marks == [["rect", "text", "text"], ["rect", "text"], ["rect"]]
    spec = spec_of(charts.confusion(cells()))
    heat = spec["layer"][0]["encoding"]
    assert heat["x"]["scale"]["domain"] == heat["y"]["scale"]["domain"] == ["no", "yes"]
    assert heat["color"]["scale"]["domain"] == [0, 1]


def test_costs_are_told_in_points():
    chart = charts.costs(steps())
    moves = rows_of(chart, "start").set_index("row")
    assert moves["text"].to_dict() == {"cost of choices": "−2.0 points", "cost of noisy counts": "−3.0 points"}
    assert moves.loc["cost of choices", ["start", "stop"]].tolist() == [0.85, 0.83]
    assert moves["end"].tolist() == [0.85, 0.83]  # texts stand right of the bars
    domain = spec_of(chart)["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert domain == ["exact trees", "cost of choices", "same trees, exact counts", "cost of noisy counts", "released"]
    gained = rows_of(charts.costs(steps(accuracy=[0.84, 0.83, 0.85])), "start").set_index("row")
    assert gained.loc["cost of noisy counts", "text"] == "+1.0 points"
    twice = pd.concat([steps(), steps(accuracy=[0.78, 0.83, 0.85])])
    assert rows_of(charts.costs(twice), "start").set_index("row").loc["cost of noisy counts", "text"] == "−4.0 points"
    assert any("75.0%" in str(row) for row in rows_of(charts.costs(steps(), majority=0.75), "label")["label"])


def test_importance_has_the_largest_first():
    chart = charts.importance(gains([f"c{i:02}" for i in range(20)]))
    rows = rows_of(chart, "share")
    assert rows["column"].tolist() == [f"c{i:02}" for i in range(19, 4, -1)]
    assert spec_of(chart)["title"]["text"] == ["What the trees ask about (top 15 of 20)"]
    assert rows_of(charts.importance(gains(["a", "a"])), "share")["column"].tolist() == ["a", "a (2)"]
