"""Charts of randomized answers: what is drawn, where, and that only the game's own picture knows who told the truth."""

import json
import math

import numpy as np
import pytest
from lessons import LESSONS, averaged, described, estimates, far, said
from specs import marks_of, rows_of, spec_of, subtitle, title, walk

from dpcore import charts
from dpcore.charts.colors import INK, REAL, RELEASED
from dpcore.charts.responses import CORRECTED, KEPT, PRINTED
from dpcore.mechanisms.randomizers import ERRPH


@pytest.mark.parametrize("people", [(20, 18, 9, 53), (200, 180, 90, 530), (0, 5_000, 0, 5_000), (1, 0, 0, 0)])
def test_marks_are_in_proportion_and_few(people):
    frame, total = said(people), sum(people)
    blind, seen = (rows_of(charts.crowd(frame, revealed=revealed), "kind") for revealed in (False, True))
    for rows in (blind, seen):
        assert len(rows) == min(total, 200)
        assert not rows.duplicated(["x", "y"]).any()
        for kind, marks in rows["kind"].value_counts().items():
            told = int(kind.rpartition(": ")[2].replace(",", ""))
            assert marks == pytest.approx(told * len(rows) / total, abs=1)
    counts = {"yes": people[0] + people[1], "no": people[2] + people[3]}
    assert {*blind["kind"]} == {f"said {name}: {n:,}" for name, n in counts.items() if n}
    assert seen["kind"].nunique() == sum(n > 0 for n in people)


def test_only_the_games_own_picture_knows_the_truth():
    blind = charts.crowd(said())
    assert {*rows_of(blind)} == {"kind", "x", "y"}
    known = json.dumps(spec_of(blind)) + "".join(rows_of(blind)["kind"])
    assert not any(word in known for word in ("which is true", ": 530", ": 180"))  # nor the cells behind it
    revealed = charts.crowd(said(), revealed=True)
    assert "no collector has this view" in subtitle(revealed)
    assert {"said yes, which is not true: 180", "said no, which is true: 530"} <= {*rows_of(revealed, "kind")["kind"]}
    fills = [node["range"] for path, node in walk(spec_of(revealed)) if path[-2:] == ("fill", "scale")]
    assert [fill == "transparent" for fill in fills[0]] == [False, True, True, False]


@pytest.mark.parametrize(("values", "half"), [((0.3,), 0.05), ((-0.4, 0.2), 0.5), ((1.3,), 0.2), ((0.5,), math.inf)])
def test_the_axis_goes_beyond_what_is_possible(values, half):
    chart = charts.coin_estimates(estimates(*values, half=half), truth=0.3)
    zones = rows_of(chart, "from", "to")
    assert (zones["text"] == "impossible: noise").all()
    (low, zero), (one, high) = zones[["from", "to"]].to_numpy()
    assert (zero, one) == (0, 1)
    assert low < min(-0.2, *values)
    assert high > max(1.2, *values)
    rows = rows_of(chart, "estimate")
    assert rows["shown"].between(low, high).all()
    assert rows["kept"].tolist() == pytest.approx(np.clip(values, 0, 1).tolist())
    ends = rows["low"].iloc[0], rows["high"].iloc[0]
    assert ends == (low, high) if half == math.inf else low <= ends[0] < ends[1] <= high
    assert ("Hollow" in subtitle(chart)) == (not 0 <= values[0] <= 1)


def test_other_crowds_are_dots_and_the_truth_a_grey_rule():
    chart = charts.coin_estimates(estimates(0.1, -0.2, 1.1, 0.4), truth=0.25)
    rows = rows_of(chart, "estimate")
    assert rows["which"].tolist() == ["this crowd"] + ["another crowd"] * 3
    assert rows["lane"].iloc[0] > rows["lane"].iloc[1:].max()
    assert "3 other crowds" in subtitle(chart)
    assert "2 of all are impossible" in subtitle(chart)
    marks = [layer["mark"] for layer in marks_of(chart)]
    assert any(mark["type"] == "rule" and mark["color"] == REAL for mark in marks)
    assert any(mark["type"] == "point" and mark["color"] == RELEASED and mark["opacity"] < 1 for mark in marks)
    assert rows_of(chart, "at")["label"].tolist() == ["truth 25%"]
    assert "other crowds" not in subtitle(charts.coin_estimates(estimates(0.1), truth=0.25))


def test_against_epsilon_honest_measures_are_one_curve_and_breach_is_two():
    settings = np.linspace(0, 1, 21).tolist()
    for measure in ("Breach", "Best guess is right", "Right after 9 reports"):
        chart = charts.descriptions(described(measure, settings), against="epsilon")
        rows = rows_of(chart, "series")
        assert title(chart) == measure
        assert rows["x"].max() <= 6
        one, other = (rows[rows["series"] == name].sort_values("x") for name in ("RRPH", "Warner"))
        apart = np.abs(np.interp(other["x"], one["x"], one["value"]) - other["value"])
        assert (apart.max() > 0.3) if measure == "Breach" else (apart.max() < 1e-9)


def test_rules_stand_at_the_setting_and_the_crossing_and_overlapping_lines_can_both_be_seen():
    make, build = LESSONS["descriptions, by setting"]
    rows = rows_of(build(make()), "label").set_index("label")["x"]
    assert rows.loc[["your setting", "both 58.6%"]].tolist() == [0.5, 0.7071]
    assert rows_of(charts.descriptions(described(), against="epsilon", at=math.inf), "label").empty
    beyond = charts.descriptions(described(), against="epsilon", at=9.0)
    assert rows_of(beyond, "label")["x"].tolist() == [6]
    line = next(layer["encoding"] for layer in marks_of(beyond) if layer["mark"]["type"] == "line")
    assert line["color"]["scale"]["range"] == [RELEASED, {"expr": INK.expr}]  # the thin one is seen on the broad one
    widths = line["strokeWidth"]["scale"]
    assert widths["range"][0] > 2 * widths["range"][1]
    assert widths["type"] == "ordinal"  # others spread two ends over three names


def test_averaging_tells_epsilon_in_all_and_where_it_changes_nothing():
    chart = charts.averaging(averaged(), alone=0.5)
    rows = rows_of(chart, "epsilon")
    fresh, kept = (rows[rows["series"] == name] for name in rows["series"].unique())
    assert fresh["epsilon"].tolist() == ["1.1", "5.5", "22"]
    assert kept["epsilon"].tolist() == ["1.1"] * 3
    assert fresh["value"].is_monotonic_increasing
    assert kept["value"].nunique() == 1
    assert {*rows["label"]} == {"", "epsilon 22", "epsilon 1.1"}
    for p0, epsilon, text in ((0.0, "0", "as good as a guess"), (1.0, "∞", "the first report is the truth")):
        other = charts.averaging(averaged(ERRPH(10, p0=p0)), alone=0.1)
        rows = rows_of(other, "epsilon")
        assert {*rows["epsilon"]} == {epsilon}
        assert {*rows.loc[rows["series"] == KEPT, "label"]} == {""}  # not twice in one place
        assert text in subtitle(other)
        assert ["the truth comes through" in subtitle(each) for each in (chart, other)] == [True, False]


def test_tails_stay_below_the_bound_where_noise_is_corrected_and_the_truth_is_grey_until_the_noise():
    chart = charts.tails(far(), bound=1.0)
    rows = rows_of(chart, "series")
    assert rows.loc[rows["series"] == CORRECTED, "value"].max() <= 1
    assert rows.loc[rows["series"] == PRINTED, "value"].max() > 14
    assert rows_of(chart, "label")["label"].tolist() == ["bound: epsilon 1"]
    holds = rows_of(charts.trust(), "head").groupby("row")["holds"].agg(list).to_dict()
    assert holds == {"This page": ["truth", "noise", "noise"], "Other pages": ["truth", "truth", "noise"]}
