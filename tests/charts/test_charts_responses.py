"""Charts of randomized answers: what is drawn, where, and that only the game's own picture knows who told the truth."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from specs import rows_of, spec_of, subtitle, walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.charts.colors import FADED, INK, REAL, RELEASED
from dpcore.charts.responses import CORRECTED, KEPT, PRINTED
from dpcore.mechanisms.randomizers import ERRPH, RRPH, TRR
from dpcore.teaching import report_privacy
from dpcore.text import number

HOSTILE = ["a.b[0]:Q", "<img src=x>", 'it\'s "quoted" \\ \n', "{{y}}", "x" * 60]
FIELDS = {
    *("left", "right", "row", "middle", "holds", "head", "foot", "text", "kind", "x", "y", "from", "to", "edge"),
    *("truth", "estimate", "low", "high", "lane", "which", "kept", "shown", "reported", "probability"),
    *("series", "value", "label", "epsilon", "at"),
}


def said(*people):
    rows = [
        (a, b, n) for (a, b), n in zip(product(("yes", "no"), repeat=2), people or (200, 180, 90, 530), strict=True)
    ]
    return pd.DataFrame(rows, columns=["said", "truth", "people"])


def estimates(*values, half=0.05):
    found = np.array(values or (0.31, 0.28, 0.35), dtype=float)
    return pd.DataFrame({"estimate": found, "low": found - half, "high": found + half})


def matrix(names=("a", "b", "c"), p0=0.5):
    found = ERRPH(len(names), p0=p0).matrix
    rows = [(a, b, found[j, i]) for i, a in enumerate(names) for j, b in enumerate(names)]
    return pd.DataFrame(rows, columns=["truth", "reported", "probability"])


def curves(measure="Breach", settings=(0.0, 0.25, 0.5, 0.75, 1.0)):
    found = report_privacy.descriptions(settings)
    return found[found["measure"] == measure]


def asked(channel=RRPH(p0=0.5)):  # noqa: B008 - it never changes
    found = report_privacy.averaging(channel, [1, 5, 20])
    return found.assign(epsilon=found["epsilon"].map(number))


def far():
    pairs = ((PRINTED, report_privacy.linear((1, 1), (0, 1))), (CORRECTED, TRR(lower=0, upper=10, epsilon=1.0)))
    found = [report_privacy.tail_ratios(channel, 0, 10, [0, 5, 10]).assign(series=name) for name, channel in pairs]
    return pd.concat(found, ignore_index=True)


BUILDERS = {
    "crowd": (said, charts.crowd),
    "revealed": (said, lambda frame: charts.crowd(frame, revealed=True)),
    "coin_estimates": (estimates, lambda frame: charts.coin_estimates(frame, truth=0.3)),
    "channel_matrix": (matrix, charts.channel_matrix),
    "by setting": (
        curves,
        lambda frame: charts.descriptions(frame, against="setting", at=0.5, crossing=(0.7071, 0.586)),
    ),
    "by epsilon": (curves, lambda frame: charts.descriptions(frame, against="epsilon", at=1.1)),
    "averaging": (asked, lambda frame: charts.averaging(frame, alone=0.5)),
    "tails": (far, lambda frame: charts.tails(frame, bound=1.0)),
    "trust": (said, lambda _: charts.trust()),
}
every_chart = pytest.mark.parametrize("name", BUILDERS)


@every_chart
def test_fields_are_ours_and_every_mark_has_its_own_tooltip(name):
    make, build = BUILDERS[name]
    spec = spec_of(build(make()))
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 40
    for path, node in walk({key: value for key, value in spec.items() if key != "datasets"}):
        if path and path[-1] == "field":
            assert node in FIELDS
        if isinstance(node, dict) and "mark" in node and "encoding" in node:
            assert "tooltip" in node["encoding"]


@every_chart
def test_other_columns_and_numbers_that_are_none_stay_behind(name):
    make, build = BUILDERS[name]
    frame = make().assign(hiv_status="secret")
    before = frame.copy(deep=True)
    spec = json.dumps(spec_of(build(frame)))
    assert "secret" not in spec
    assert not any(word in spec for word in ('"white"', '"black"', "#ffffff", "#000000"))
    pd.testing.assert_frame_equal(frame, before)
    for column in frame.select_dtypes(["float", "int"]).columns:
        frame[column] = frame[column].astype(float)
        frame[column] = frame[column].where(frame.index % 3 != 0, np.inf).where(frame.index % 3 != 1, np.nan)
    spec_of(build(frame))


@every_chart
def test_a_chart_of_nothing_is_drawn(name):
    make, build = BUILDERS[name]
    spec_of(build(make().head(0)))
    marked = spec_of(charts.mark_real(build(make())))
    assert marked["title"]["text"][-1] == REAL_DATA


def test_names_are_data():
    chart = charts.channel_matrix(matrix(HOSTILE))
    spec = spec_of(chart)
    assert "[0]" in json.dumps(spec.pop("datasets"))
    for path, node in walk(spec):
        if path and path[-1] in {"filter", "expr", "test", "calculate", "labelExpr"}:
            assert not any(text in node for text in ("a.b", "<img", "quoted", "{{"))


# A crowd


@pytest.mark.parametrize("people", [(20, 18, 9, 53), (200, 180, 90, 530), (0, 5_000, 0, 5_000), (1, 0, 0, 0)])
def test_marks_are_in_proportion_and_few(people):
    frame, total = said(*people), sum(people)
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
    blind = json.dumps(spec_of(charts.crowd(said())))
    assert not any(word in blind for word in ("which is true", "530", "180"))  # nor the cells behind it
    revealed = charts.crowd(said(), revealed=True)
    assert "no collector has this view" in subtitle(revealed)
    assert {"said yes, which is not true: 180", "said no, which is true: 530"} <= {*rows_of(revealed, "kind")["kind"]}
    fills = [node["range"] for path, node in walk(spec_of(revealed)) if path[-2:] == ("fill", "scale")]
    assert [fill == "transparent" for fill in fills[0]] == [False, True, True, False]


# Estimates


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
    marks = [layer["mark"] for layer in spec_of(chart)["layer"]]
    assert any(mark["type"] == "rule" and mark["color"] == REAL for mark in marks)
    assert any(mark["type"] == "point" and mark["color"] == RELEASED and mark["opacity"] < 1 for mark in marks)
    alone = charts.coin_estimates(estimates(0.1), truth=0.25)
    assert "other crowds" not in subtitle(alone)
    assert rows_of(alone, "at")["label"].tolist() == ["truth 25 %"]


# Measures


def test_against_epsilon_honest_measures_are_one_curve_and_breach_is_two():
    settings = np.linspace(0, 1, 21).tolist()
    for measure in ("Breach", "Best guess is right", "Right after 9 reports"):
        chart = charts.descriptions(curves(measure, settings), against="epsilon")
        rows = rows_of(chart, "series")
        assert spec_of(chart)["title"]["text"] == [measure]
        assert rows["x"].max() <= 6
        one, other = (rows[rows["series"] == name].sort_values("x") for name in ("RRPH", "Warner"))
        apart = np.abs(np.interp(other["x"], one["x"], one["value"]) - other["value"])
        assert (apart.max() > 0.3) if measure == "Breach" else (apart.max() < 1e-9)


def test_the_rule_and_the_crossing():
    make, build = BUILDERS["by setting"]
    rows = rows_of(build(make()), "label").set_index("label")
    assert rows.loc["your setting", "x"] == 0.5
    assert rows.loc["both 58.6 %", "x"] == 0.7071
    assert rows_of(charts.descriptions(curves(), against="epsilon", at=math.inf), "label").empty
    beyond = rows_of(charts.descriptions(curves(), against="epsilon", at=9.0), "label")
    assert beyond["x"].tolist() == [6]


def test_overlapping_lines_can_both_be_seen():
    spec = spec_of(charts.descriptions(curves(), against="epsilon"))
    lines = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    colors = lines[0]["encoding"]["color"]["scale"]["range"]
    assert colors == [RELEASED, {"expr": INK.expr}]  # the thin one has a contrast with the broad one and the page
    widths = lines[0]["encoding"]["strokeWidth"]["scale"]["range"]
    assert widths[0] > 2 * widths[1]
    assert lines[0]["encoding"]["strokeWidth"]["scale"]["type"] == "ordinal"  # others spread two ends over three names


def test_averaging_tells_epsilon_in_all():
    rows = rows_of(charts.averaging(asked(), alone=0.5), "epsilon")
    fresh, kept = (rows[rows["series"] == name] for name in rows["series"].unique())
    assert fresh["epsilon"].tolist() == ["1.1", "5.5", "22"]
    assert kept["epsilon"].tolist() == ["1.1"] * 3
    assert fresh["value"].is_monotonic_increasing
    assert kept["value"].nunique() == 1
    assert {*rows["label"]} == {"", "epsilon 22", "epsilon 1.1"}
    assert "the truth comes through" in subtitle(charts.averaging(asked(), alone=0.5))


@pytest.mark.parametrize(
    ("p0", "epsilon", "text"), [(0.0, "0", "as good as a guess"), (1.0, "∞", "the first report is the truth")]
)
def test_where_averaging_changes_nothing_it_is_said(p0, epsilon, text):
    chart = charts.averaging(asked(ERRPH(10, p0=p0)), alone=0.1)
    rows = rows_of(chart, "epsilon")
    assert {*rows["epsilon"]} == {epsilon}
    assert {*rows.loc[rows["series"] == KEPT, "label"]} == {""}  # not twice in one place
    assert text in subtitle(chart)
    assert "comes through" not in subtitle(chart)


@every_chart
def test_letters_can_be_read_on_every_page(name):
    make, build = BUILDERS[name]
    spec = spec_of(build(make()))
    assert spec["title"]["subtitleColor"] == {"expr": FADED.expr}
    layers = spec.get("layer", [spec])
    inks = [layer["mark"].get("color") for layer in layers if layer["mark"]["type"] == "text"]
    assert all(ink == {"expr": INK.expr} for ink in inks if name != "channel_matrix")


def test_every_row_of_a_channel_sums_to_one():
    rows = rows_of(charts.channel_matrix(matrix()), "probability")
    assert rows.groupby("truth")["probability"].sum().tolist() == pytest.approx([1] * 3)


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
