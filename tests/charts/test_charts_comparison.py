"""The chart of methods beside each other: what is drawn, what is left out, and what it says of its epsilons."""

import math
from itertools import chain, pairwise

import pandas as pd
import pytest

from dpcore import charts
from dpcore.charts.curves import GAP, LINE, piled


def runs(**other):
    rows = [
        {
            "series": series,
            "mode": mode,
            "epsilon_claimed": epsilon,
            "epsilon_bound": bound(mode, epsilon),
            "value": value,
        }
        for series in ("NB-Synth", "PPNB")
        for mode in ("corrected", "as printed")
        for epsilon in (0.1, 1.0)
        for value in (0.2, 0.3, 0.7)
    ]
    return pd.DataFrame(rows).assign(relation="change one row", **other)


def bound(mode, epsilon):
    return epsilon if mode == "corrected" else math.inf


def drawn(frame=None, **other):
    options = {"title": "Accuracy", "y_title": "accuracy", "data": "people", **other}
    return charts.compared(runs() if frame is None else frame, **options)


def table(chart):
    (data,) = chart.to_dict()["datasets"].values()
    return pd.DataFrame(data)


def told(chart):
    return " ".join(chart.to_dict()["title"]["subtitle"])


def test_every_run_is_a_mark_with_median_and_interval():
    data = table(drawn())
    assert len(data) == 24
    assert set(data["series"]) == {"NB-Synth", "PPNB"}
    assert data["low"].tolist() == pytest.approx([0.22] * 24)
    assert data["high"].tolist() == pytest.approx([0.62] * 24)
    chart = drawn().to_dict()
    assert "median(value)" in str(chart) or '"median"' in str(chart).replace("'", '"')
    assert "quantile of the runs" in told(drawn())
    assert "log" in str(chart)


def test_two_runs_have_no_interval():
    frame = runs().groupby(["series", "mode", "epsilon_claimed"]).head(2)
    assert table(drawn(frame))["low"].isna().all()
    assert "3 runs have an interval" in told(drawn(frame))


def test_what_has_no_epsilon_is_not_on_that_axis():
    assert set(table(drawn(x="proved"))["mode"]) == {"corrected"}
    assert len(table(drawn(x="proved"))) == 12
    free = runs().assign(epsilon_claimed=0.0)
    assert len(table(drawn(pd.concat([runs(), free])))) == 24


def test_two_relations_are_refused():
    both = pd.concat([runs(), runs().assign(relation="add or remove one row")])
    with pytest.raises(ValueError, match="two relations"):
        drawn(both)


def test_relation_guarantee_and_data_are_named():
    assert "Pure epsilon, per release; neighbors: change one row. Data: people." in told(drawn())
    mixed = told(drawn(local=("PPNB", "DTPD")))
    assert "Two guarantees on one axis: epsilon of PPNB is of one person's reports" in mixed
    alone = told(drawn(runs().query("series == 'PPNB'"), local=("PPNB",)))
    assert "Two guarantees" not in alone
    assert "nobody is trusted" in alone
    assert "neighbors: change one row" in drawn().description


def test_epsilons_far_apart_keep_their_digits():
    frame = runs()
    frame.loc[frame["mode"] == "as printed", "epsilon_bound"] = 18_904.0
    axis = drawn(frame, x="proved").to_dict()
    assert ",.3~r" in str(axis)
    assert ",.0f" not in str(axis)


def test_a_method_keeps_its_color_where_another_is_missing():
    only = runs().query("series == 'PPNB'")

    def scale(chart):
        (found,) = {str(part["scale"]) for part in find(chart.to_dict(), "color") if part.get("field") == "series"}
        return found

    def find(node, key):
        if isinstance(node, dict):
            yield from ([node[key]] if isinstance(node.get(key), dict) else [])
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                yield from find(child, key)

    names = ["NB-Synth", "PPNB"]
    assert scale(drawn(only, names=names)) == scale(drawn(names=names)) != scale(drawn(only))
    assert "'values': ['PPNB']" in str(drawn(only, names=names).to_dict())


def test_references_are_lines():
    lines = pd.DataFrame({"label": ["majority class"], "value": [0.5]})
    data = table(drawn(references=lines))
    assert data.loc[data["label"] != "", ["label", "value"]].values.tolist() == [["majority class", 0.5]]


def test_no_line_runs_through_a_name():
    """Lines that are close are named together, the highest first; others have their own names."""
    lines = pd.DataFrame({"label": ["b", "low", "a", "c"], "value": [0.68, 0.25, 0.69, 0.66]})
    data = table(drawn(references=lines)).query("rule > 0").set_index("label")
    assert data["names"].to_dict() == {"a": "a\nb\nc", "b": "", "c": "", "low": "low"}
    assert data.loc["a", "lift"] == data.loc["low", "lift"] - 2 * LINE
    wide = table(drawn(references=lines, log_y=True)).query("rule > 0").set_index("label")
    assert wide.loc["low", "names"] == "low"


@pytest.mark.parametrize(
    ("places", "count"),
    [([0, 1, 2], 1), ([0, 60, 120, 125, 130], 3), ([0, 40, 80, 85, 90], 1), ([10, 60, 70, 75, 200], 3), ([], 0)],
)
def test_piles_of_names_are_clear_of_the_lines_above_them(places, count):
    piles = {}
    for place, pile in zip(places, piled(places), strict=True):
        piles.setdefault(pile, []).append(place)
    found = list(piles.values())
    assert list(chain(*found)) == places
    for above, pile in pairwise(found):
        assert pile[0] - GAP - LINE * len(pile) >= above[-1]
    assert len(found) == count


def test_panels_with_one_axis_have_one_idea_of_close():
    frame = pd.concat([runs(panel="a", value=value) for value in (0.8, 0.84)] + [runs(panel="b", value=0.2)])
    lines = pd.DataFrame({"panel": "a", "label": ["x", "y"], "value": [0.83, 0.82]})
    look = {"x": "epsilon_bound", "y": "value", "x_title": "epsilon", "y_title": "accuracy", "panel": "panel"}
    for same, names in ((True, ["x\ny", ""]), (False, ["x", "y"])):
        chart = charts.curves(frame, **look, references=lines, same_y=same)
        assert chart.data.query("rule > 0")["names"].to_list() == names


def test_names_from_users_are_data_only():
    chart = drawn(data="a.b[0]|<img>")
    assert "<img>" not in str(
        {key: value for key, value in chart.to_dict().items() if key not in ("title", "description")}
    )
    assert "a.b[0]" in told(chart)
