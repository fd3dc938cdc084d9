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
    for rows, counts in ((blind, {"yes": people[0] + people[1], "no": people[2] + people[3]}), (seen, None)):
        assert len(rows) == min(total, 200)
        assert not rows.duplicated(["x", "y"]).any()
        for kind, marks in rows["kind"].value_counts().items():
            told = int(kind.rpartition(": ")[2].replace(",", ""))
            assert marks == pytest.approx(told * len(rows) / total, abs=1)
        if counts:
            assert {*rows["kind"]} == {f"said {name}: {n:,}" for name, n in counts.items() if n}
    assert len(seen["kind"].unique()) == sum(n > 0 for n in people)


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
    assert rows["low"].iloc[0] >= low
    assert rows["high"].iloc[0] <= high
    if half == math.inf:
        assert (rows["low"].iloc[0], rows["high"].iloc[0]) == (low, high)
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
    alone = charts.coin_estimates(estimates(0.1), truth=0.25)
    assert "other crowds" not in subtitle(alone)
    assert rows_of(alone, "at")["label"].tolist() == ["truth 25 %"]


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


def test_the_rule_and_the_crossing():
    make, build = LESSONS["descriptions, by setting"]
    rows = rows_of(build(make()), "label").set_index("label")
    assert rows.loc["your setting", "x"] == 0.5
    assert rows.loc["both 58.6 %", "x"] == 0.7071
    assert rows_of(charts.descriptions(described(), against="epsilon", at=math.inf), "label").empty
    beyond = rows_of(charts.descriptions(described(), against="epsilon", at=9.0), "label")
    assert beyond["x"].tolist() == [6]


def test_overlapping_lines_can_both_be_seen():
    spec = spec_of(charts.descriptions(described(), against="epsilon"))
    lines = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    colors = lines[0]["encoding"]["color"]["scale"]["range"]
    assert colors == [RELEASED, {"expr": INK.expr}]  # the thin one has a contrast with the broad one and the page
    widths = lines[0]["encoding"]["strokeWidth"]["scale"]["range"]
    assert widths[0] > 2 * widths[1]
    assert lines[0]["encoding"]["strokeWidth"]["scale"]["type"] == "ordinal"  # others spread two ends over three names


def test_averaging_tells_epsilon_in_all():
    rows = rows_of(charts.averaging(averaged(), alone=0.5), "epsilon")
    fresh, kept = (rows[rows["series"] == name] for name in rows["series"].unique())
    assert fresh["epsilon"].tolist() == ["1.1", "5.5", "22"]
    assert kept["epsilon"].tolist() == ["1.1"] * 3
    assert fresh["value"].is_monotonic_increasing
    assert kept["value"].nunique() == 1
    assert {*rows["label"]} == {"", "epsilon 22", "epsilon 1.1"}
    assert "the truth comes through" in subtitle(charts.averaging(averaged(), alone=0.5))


@pytest.mark.parametrize(
    ("p0", "epsilon", "text"), [(0.0, "0", "as good as a guess"), (1.0, "∞", "the first report is the truth")]
)
def test_where_averaging_changes_nothing_it_is_said(p0, epsilon, text):
    chart = charts.averaging(averaged(ERRPH(10, p0=p0)), alone=0.1)
    rows = rows_of(chart, "epsilon")
    assert {*rows["epsilon"]} == {epsilon}
    assert {*rows.loc[rows["series"] == KEPT, "label"]} == {""}  # not twice in one place
    assert text in subtitle(chart)
    assert "comes through" not in subtitle(chart)


def test_tails_stay_below_the_bound_where_noise_is_corrected():
    chart = charts.tails(far(), bound=1.0)
    rows = rows_of(chart, "series")
    assert rows.loc[rows["series"] == CORRECTED, "value"].max() <= 1
    assert rows.loc[rows["series"] == PRINTED, "value"].max() > 14
    assert rows_of(chart, "label")["label"].tolist() == ["bound: epsilon 1"]


def test_the_truth_is_grey_until_the_noise_and_stays_with_you_here():
    boxes = rows_of(charts.trust(), "head")
    assert boxes[boxes["row"] == "This page"]["holds"].tolist() == ["truth", "noise", "noise"]
    assert boxes[boxes["row"] == "Other pages"]["holds"].tolist() == ["truth", "truth", "noise"]
