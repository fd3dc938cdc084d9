"""A number against another, run by run: what is drawn, what is left out, and the names of the lines beside it."""

import math
from itertools import chain, pairwise

import numpy as np
import pandas as pd
import pytest
from pictures import compared, curved, lines, methods, runs, sweep
from scipy.stats import t
from specs import contrast, marks_of, rows_of, spec_of, subtitle, types_of

from dpcore import charts
from dpcore.charts.colors import CLAIMED, SERIES, SHAPES
from dpcore.charts.curves import GAP, LINE, _ticks, piled

NAMES = ["method 0", "method 1"]
MODES = ("as printed", "corrected")


def one(names=NAMES):
    """Runs of one mode."""
    return runs(names, modes=MODES[1:], repeats=3)


def test_a_sweep_keeps_runs_and_references_of_its_models_apart_and_variance_is_across_runs():
    frame = sweep(["paper", "corrected"])
    frame.loc[len(frame)] = [math.inf, "paper", "paper", 0.9]
    rows = rows_of(charts.sweep(frame, y="value", y_title="accuracy", references=lines(["paper"])))
    assert len(rows[rows["rule"] == 0]) == len(frame) - 1
    assert rows.loc[rows["rule"] > 0, "label"].tolist() == ["<i>top</i>", "majority"]
    frame = pd.DataFrame({"epsilon": 1.0, "series": "paper", "model": "tree", "value": [0.1, 0.3]})
    assert rows_of(charts.sweep_variance(frame))["value"].tolist() == pytest.approx([0.02])
    assert rows_of(charts.sweep_variance(frame.head(1))).empty


def test_few_series_have_bands_and_many_or_modes_have_bars():
    assert types_of(curved(one())) == ["area", "line", "point"]
    assert types_of(curved(one(list("abcdefghij")))) == ["rule", "line", "point"]
    chart = curved(runs(NAMES), mode="mode")
    assert types_of(chart) == ["rule", "line", "point", "point"]
    layers = marks_of(chart)  # modes are told apart by dashes and by filling
    assert layers[1]["encoding"]["strokeDash"]["scale"] == {"domain": [*MODES], "range": [[6, 4], [1, 0]]}
    assert [layer["mark"]["filled"] for layer in layers[2:]] == [False, True]


def test_ten_series_differ_in_color_and_in_shape_and_can_be_seen_on_any_page():
    assert len(set(SERIES)) == len(set(SHAPES)) == 11
    assert all(contrast(color, page) > 3 for color in SERIES for page in ("#ffffff", "#1b1b18"))
    layer = marks_of(curved(one(list("abcdefghij"))))[-1]["encoding"]
    assert layer["color"]["scale"]["range"] == SERIES[1:]  # orange is for claims
    assert len(layer["shape"]["scale"]["domain"]) == 10
    first = marks_of(curved(one(), claimed_first=True))[-1]["encoding"]["color"]["scale"]["range"][0]
    assert first == CLAIMED


def test_intervals_are_of_the_runs_or_of_their_mean():
    frame = one(NAMES[:1])
    values = [0, 0.0, 0.1, 0.1, 0.2, 0.2]  # two panels, one chart
    half = t.ppf(0.975, 5) * np.std(values, ddof=1) / math.sqrt(6)
    for interval, ends in (("range", (0, 0.2)), ("t", (0.1 - half, 0.1 + half))):
        found = curved(frame, interval=interval)
        assert tuple(found.data.loc[0, ["low", "high"]]) == pytest.approx(ends, abs=1e-4)
        assert ("t-interval" in subtitle(found)) == (interval == "t")
    assert curved(frame.head(1), interval="t").data["low"].isna().all()
    assert "medians" in subtitle(curved(frame, center="median"))


def test_what_a_log_axis_cannot_show_is_left_out_and_numbers_under_an_axis_leave_each_other_room():
    frame = one(NAMES[:1])
    frame.loc[0, "epsilon"] = 0
    frame.loc[1, "value"] = -1
    assert len(curved(frame).data) == len(frame)
    assert len(curved(frame, log_x=True).data) == len(frame) - 1
    shown = curved(frame, log_x=True, log_y=True, interval="t").data
    assert (shown[["x", "value", "low"]] > 0).all(axis=None)
    assert _ticks([0.05, 0.1, 0.2, 0.4, 0.8, 1], log=True) == [0.05, 0.1, 0.2, 0.4, 1]
    assert [_ticks(few, log=False) for few in ([1, 2, 3], [7])] == [[1, 2, 3], [7]]


def test_panels_may_have_their_own_axes_and_their_own_references():
    paper = pd.DataFrame({"panel": ["AVD", "error", "no such"], "label": "paper", "value": 0.5})
    paper = paper.assign(claimed=[True, False, True])
    chart = curved(one(), panel="panel", references=paper, same_y=False, columns=3)
    spec = spec_of(chart)
    assert spec["resolve"]["scale"]["y"] == "independent"
    assert spec["columns"] == 3
    assert chart.data.loc[chart.data["rule"] > 0, "claimed"].tolist() == [1, 0]
    assert CLAIMED in str(marks_of(chart)[0]["encoding"]["color"])
    assert "stated by the paper" in subtitle(chart)
    assert spec_of(curved(one()))["width"] == "container"


# Methods beside each other


def test_every_run_of_a_method_is_a_mark_with_median_and_interval():
    chart = compared(methods())
    data, told = rows_of(chart), str(spec_of(chart))
    assert len(data) == 24
    assert set(data["series"]) == {"NB-Synth", "PPNB"}
    assert data[["low", "high"]].to_numpy().tolist() == pytest.approx(np.tile([0.22, 0.62], (24, 1)))
    assert all(words in told for words in ("median", "'log'", "quantile of the runs"))
    two = compared(methods().groupby(["series", "mode", "epsilon_claimed"]).head(2))
    assert rows_of(two)["low"].isna().all()
    assert "3 runs have an interval" in subtitle(two)


def test_what_has_no_epsilon_is_not_on_that_axis():
    proved = rows_of(compared(methods(), x="proved"))
    assert set(proved["mode"]) == {"corrected"}
    assert len(proved) == 12
    assert len(rows_of(compared(pd.concat([methods(), methods(epsilon_claimed=0.0)])))) == 24
    frame = methods()
    frame.loc[frame["mode"] == "as printed", "epsilon_bound"] = 18_904.0
    assert ",.3~r" in str(spec_of(compared(frame, x="proved")))  # epsilons far apart keep their digits


def test_relation_guarantee_and_data_are_named():
    only = methods(("PPNB",))
    for given, local, words in (
        (methods(), (), "Epsilon without delta, per release; neighbors: change one row. Data: people."),
        (methods(), ("PPNB", "DTPD"), "Two guarantees on one axis: epsilon of PPNB is of one person's reports"),
        (only, ("PPNB",), "nobody is trusted"),
    ):
        chart = compared(given, local=local)
        assert words in subtitle(chart)
        assert ("Two guarantees" in subtitle(chart)) == (len(local) == 2)
        assert "neighbors: change one row" in chart.description
    with pytest.raises(ValueError, match="two relations"):
        compared(pd.concat([methods(), methods(relation="add or remove one row")]))


def test_a_method_keeps_its_color_where_another_is_missing():
    names, only = ["NB-Synth", "PPNB"], methods(("PPNB",))
    all_, kept, alone = (compared(methods(), names=names), compared(only, names=names), compared(only))
    one, same, other = ([layer["encoding"]["color"]["scale"] for layer in marks_of(c)[:2]] for c in (all_, kept, alone))
    assert one == same != other
    assert "'values': ['PPNB']" in str(spec_of(kept))


def test_no_line_runs_through_a_name():
    """Lines that are close are named together, the highest first; others have their own names."""
    beside = pd.DataFrame({"label": ["b", "low", "a", "c"], "value": [0.68, 0.25, 0.69, 0.66]})
    for log_y in (False, True):
        data = rows_of(compared(methods(), references=beside, log_y=log_y)).query("rule > 0").set_index("label")
        assert data.loc["low", "names"] == "low"
        assert log_y or data["names"].to_dict() == {"a": "a\nb\nc", "b": "", "c": "", "low": "low"}
        assert log_y or data.loc["a", "lift"] == data.loc["low", "lift"] - 2 * LINE


def test_piles_of_names_are_clear_of_the_lines_above_them():
    cases = [([0, 1, 2], 1), ([0, 60, 120, 125, 130], 3), ([0, 40, 80, 85, 90], 1), ([10, 60, 70, 75, 200], 3), ([], 0)]
    for places, count in cases:
        piles = {}
        for place, pile in zip(places, piled(places), strict=True):
            piles.setdefault(pile, []).append(place)
        found = list(piles.values())
        assert list(chain(*found)) == places
        assert all(pile[0] - GAP - LINE * len(pile) >= above[-1] for above, pile in pairwise(found)), places
        assert len(found) == count, places


def test_panels_with_one_axis_have_one_idea_of_close():
    frame = pd.concat([methods(panel="a", value=value) for value in (0.8, 0.84)] + [methods(panel="b", value=0.2)])
    beside = pd.DataFrame({"panel": "a", "label": ["x", "y"], "value": [0.83, 0.82]})
    look = {"x": "epsilon_bound", "y": "value", "x_title": "epsilon", "y_title": "accuracy", "panel": "panel"}
    for same, names in ((True, ["x\ny", ""]), (False, ["x", "y"])):
        chart = charts.curves(frame, **look, references=beside, same_y=same)
        assert chart.data.query("rule > 0")["names"].to_list() == names
