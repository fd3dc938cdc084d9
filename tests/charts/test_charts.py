"""Charts carry aggregates only, under our own field names, and nothing that JSON cannot say."""

import ast
import functools
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.charts.scores import TRAINED_ON

HOSTILE = [
    "a.b[0]:Q",
    "<b>x</b>",
    "image",
    "title",
    "",
    " ",
    "x" * 60,
    'it\'s "quoted" \\ \n',
    "{{y}}",
    "価格",
    None,
    math.nan,
]
HOSTILE_NAME = "a.b['0']:Q<img src=https://x.test/y>" + "z" * 60
TEXTS = "dpcore.text"  # of ours, because an epsilon is written in one way everywhere
FIELDS = """
    value real released floor_low floor_high attributes avd floor x y shade source model trained_on accuracy label name
    epsilon_claimed epsilon_of_noise epsilon_claimed_text epsilon_of_noise_text who epsilon epsilon_text low metric run
    which lane series kind panel mode low high aside at node edge rank x2 y2 cells share near cluster score group other
    paid names
""".split()  # noqa: SIM905
TIPS = {
    *(
        "value",
        "real",
        "released",
        "noise floor from",
        "to",
        "columns",
        "AVD",
        "noise floor",
        "column",
        "and",
        "across",
    ),
    *(
        "down",
        "source",
        "share",
        "model",
        "trained on",
        "accuracy",
        "reference",
        "entry",
        "claimed",
        "run",
    ),
    *("provable bound", "epsilon", "metric", "which", "series", "at", "mode", "child", "parents", "node", "neighbors"),
    *("cluster", "and cluster", "cells of its table", "share of epsilon", "table", "noisy score"),
}
INF, NAN = math.inf, math.nan


def marginal_frame(labels: list[Any]) -> pd.DataFrame:
    share = np.linspace(1, 2, len(labels)) / len(labels) / 1.5
    return pd.DataFrame(
        {"value": labels, "real": share, "released": share[::-1], "floor_low": share * 0.9, "floor_high": share * 1.1}
    )


def pairs_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(a, b, 0.01 * (i + j), 0.01) for i, a in enumerate(names) for j, b in enumerate(names) if j < i]
    return pd.DataFrame(rows or [("a", "b", 0.2, 0.1)], columns=["a", "b", "avd", "floor"])


def tables_frame(labels: list[Any]) -> pd.DataFrame:
    rows = [(a, b, s, 1 / len(labels) ** 2) for a in labels for b in labels for s in ("released", "real")]
    return pd.DataFrame(rows, columns=["x_value", "y_value", "source", "share"])


def accuracy_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(m, t, 0.8, r) for m in names for t in ("released", "real") for r in range(3)]
    return pd.DataFrame(rows, columns=["model", "trained_on", "accuracy", "run"])


def ledger_frame(names: list[Any]) -> pd.DataFrame:
    epsilon = np.linspace(0, 1, len(names))
    return pd.DataFrame({"name": names, "epsilon_claimed": epsilon, "epsilon_of_noise": 2 * epsilon, "void": False})


def redraws_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(m, 0.1 * r, r, r == 3) for m in names for r in range(5)]
    return pd.DataFrame(rows, columns=["metric", "value", "run", "chosen"])


def sweep_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(e, s, m, 0.5 + 0.1 * r) for e in (0.1, 1.0) for s in names for m in names[:3] for r in range(2)]
    return pd.DataFrame(rows, columns=["epsilon", "series", "model", "accuracy"])


def references_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(m, label, value) for m in names[:3] for label, value in (("majority", 0.4), ("<i>top</i>", 0.9))]
    return pd.DataFrame([*rows, ("not in the sweep", "x", 1.0)], columns=["model", "label", "value"])


def sweep_chart(frame: pd.DataFrame) -> alt.Chart:
    references = references_frame(list(frame["model"].unique()))
    return charts.sweep(frame, y="accuracy", y_title="accuracy", references=references)


def curves_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(x, s, m, s, 0.5 + r) for x in (1, 2) for s in names for m in ("as printed", "corrected") for r in range(2)]
    return pd.DataFrame(rows, columns=["rows", "series", "mode", "data", "risk"]).astype({"risk": float})


def curves_chart(frame: pd.DataFrame) -> Any:
    names: Any = {"x": "rows", "y": "risk", "x_title": "rows", "y_title": "risk", "panel": "data", "mode": "mode"}
    lines = pd.DataFrame({"data": frame["data"].unique(), "label": "<i>a.b[0]</i>", "value": 1.0, "claimed": True})
    return charts.curves(frame, **names, references=lines, log_x=True, log_y=True, interval="t", same_y=False)


def families_frame(names: list[Any]) -> pd.DataFrame:
    rows = [(n, names[max(0, i - 2) : i], i % 2, 2.0 + i, 0.1 * (i % 3), -0.1) for i, n in enumerate(names)]
    return pd.DataFrame(rows, columns=["child", "parents", "cluster", "cells", "epsilon", "score"])


def graph_chart(frame: pd.DataFrame) -> Any:
    edges = pd.DataFrame({"a": frame["child"].to_numpy()[:-1], "b": frame["child"].to_numpy()[1:]})
    return charts.graph(edges, frame.drop(columns="score").rename(columns={"child": "node"}))


def affinity_frame(names: list[Any]) -> pd.DataFrame:
    return pairs_frame(names).rename(columns={"avd": "score"})


def affinity_chart(frame: pd.DataFrame) -> Any:
    names = [name for name in frame["a"].unique() if isinstance(name, str)]
    return charts.affinity(frame, {name: place % 2 for place, name in enumerate(names)})


# name -> frame from labels, chart from frame, most data rows per row of the frame, data rows beside those
BUILDERS: dict[str, tuple[Callable[[list[Any]], pd.DataFrame], Callable[[pd.DataFrame], Any], int, int]] = {
    "marginal": (marginal_frame, lambda f: charts.marginal(f, column=HOSTILE_NAME), 1, 0),
    "worst_columns": (lambda n: pairs_frame(n).rename(columns={"a": "attributes"}), charts.worst_columns, 1, 0),
    "pair_heatmap": (pairs_frame, charts.pair_heatmap, 2, 0),
    "pair_tables": (tables_frame, lambda f: charts.pair_tables(f, x=HOSTILE_NAME, y="image"), 1, 0),
    "accuracy": (accuracy_frame, lambda f: charts.accuracy(f, majority=0.75), 1, 1),
    "epsilon_split": (ledger_frame, charts.epsilon_split, 1, 0),
    "claimed_vs_bound": (ledger_frame, lambda _: charts.claimed_vs_bound(claimed=1, bound=INF), 0, 2),
    "redraws": (redraws_frame, charts.redraws, 1, 0),
    "sweep": (sweep_frame, sweep_chart, 1, 6),
    "sweep_variance": (sweep_frame, lambda f: charts.sweep_variance(f.rename(columns={"accuracy": "value"})), 1, 0),
    "curves": (curves_frame, curves_chart, 1, 50),
    "network": (families_frame, charts.network, 12, 2),
    "graph": (families_frame, graph_chart, 6, 2),
    "affinity": (affinity_frame, affinity_chart, 2, 0),
    "odds_icons": (ledger_frame, lambda _: charts.odds_icons(0.73), 0, 100),
}
LABELS: dict[str, list[Any]] = {
    "none": [],
    "one": ["only"],
    "normal": ["a", "b", "c", "d"],
    "hostile": HOSTILE,
    "large": [f"value {i}" for i in range(45)],
}
every_chart = pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in BUILDERS for kind in LABELS])


@functools.cache
def chart_of(name: str, kind: str) -> Any:
    make, build, *_ = BUILDERS[name]
    return build(make(LABELS[kind]))


@functools.cache
def spec_for(name: str, kind: str) -> str:
    return json.dumps(chart_of(name, kind).to_dict(), allow_nan=False)


def spec_of(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    json.dumps(spec, allow_nan=False)
    return spec


def rows_of(chart: Any) -> list[dict[str, Any]]:
    return [row for rows in spec_of(chart)["datasets"].values() for row in rows]


def walk(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from walk(child, (*path, str(key)))


def marks_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for _, node in walk(spec) if isinstance(node, dict) and "mark" in node and "encoding" in node]


@every_chart
def test_a_spec_is_json_with_title_and_alternative_text_and_no_more_rows_than_the_aggregate(
    name: str, kind: str
) -> None:
    make, _, per_row, more = BUILDERS[name]
    spec = json.loads(spec_for(name, kind))
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 20
    assert sum(map(len, spec["datasets"].values())) <= per_row * len(make(LABELS[kind])) + more


@every_chart
def test_fields_and_tooltip_titles_are_ours_and_no_expression_holds_text_from_users(name: str, kind: str) -> None:
    spec = json.loads(spec_for(name, kind))
    del spec["datasets"]
    loud = ("a.b", "<b>", "<img", "xxx", "quoted", "価格", "value 1")
    for path, node in walk(spec):
        if path and path[-1] == "field":
            assert node in FIELDS
        if path and path[-1] in {"filter", "expr", "labelExpr", "test", "calculate", "signal"}:
            assert not any(text in node for text in loud)
        if path and path[-1] == "sort" and isinstance(node, list):  # outside facets, Vega-Lite makes expressions of it
            assert path[-2] in {"facet", "column"} or node in (["released", "real"], list(TRAINED_ON))
    for mark in marks_of(spec):
        tips = mark["encoding"]["tooltip"]  # always stated: the theme's default would show the axes' titles
        assert tips == {"value": None} or {tip["title"] for tip in tips} <= TIPS


@every_chart
def test_colors_suit_light_and_dark_pages(name: str, kind: str) -> None:
    spec = json.loads(spec_for(name, kind))
    words = {node.lower() for _, node in walk(spec) if isinstance(node, str)}
    assert not words & {"white", "black", "#fff", "#ffffff", "#000", "#000000"}
    assert not any(path and path[-1] in {"background", "labelColor", "titleColor"} for path, _ in walk(spec))


@pytest.mark.parametrize("name", BUILDERS)
def test_columns_that_a_chart_does_not_use_stay_behind_and_the_frame_stays_as_it_was(name: str) -> None:
    make, build, *_ = BUILDERS[name]
    frame = make(["a", "b", "c"]).assign(hiv_status="secret")
    before = frame.copy(deep=True)
    assert "secret" not in json.dumps(spec_of(build(frame)))
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("name", BUILDERS)
def test_numbers_that_are_not_finite_never_reach_the_frame_that_is_sent(name: str) -> None:
    make, build, *_ = BUILDERS[name]
    frame = make(["a", "b", "c", "d"])
    for column in frame.select_dtypes("float"):
        frame[column] = frame[column].where(frame.index % 3 != 0, INF).where(frame.index % 3 != 1, NAN)
    chart = build(frame)
    sent = [part.data for part in [chart, *getattr(chart, "layer", [])] if isinstance(part.data, pd.DataFrame)]
    assert sent
    for data in sent:
        assert not np.isinf(data.select_dtypes("number").to_numpy(dtype=float)).any()
    spec_of(chart)


def test_marginal_keeps_order_values_and_labels() -> None:
    chart = charts.marginal(marginal_frame(["b", "", None, "b"]), column="age")
    assert [row["value"] for row in rows_of(chart)] == ["b", "(empty)", "(missing)", "b (2)"]
    assert rows_of(chart)[0]["real"] == pytest.approx(1 / 6)
    assert [mark["mark"]["type"] for mark in marks_of(spec_of(chart))] == ["bar", "rule", "point"]
    assert spec_of(chart)["title"]["text"] == ["age: real and released shares"]


def test_a_long_marginal_keeps_the_largest_and_tells_the_rest() -> None:
    frame = marginal_frame([f"v{i}" for i in range(1000)])
    frame["released"] = frame["real"]
    chart = charts.marginal(frame, column="age")
    assert [row["value"] for row in rows_of(chart)] == [f"v{i}" for i in range(960, 1000)]
    title = spec_of(chart)["title"]
    assert title["text"] == ["age: real and released shares (top 40 of 1,000 values)"]
    assert f"{frame['real'][:960].sum():.1%} real" in " ".join(title["subtitle"])


def test_worst_columns_come_first() -> None:
    frame = pd.DataFrame({"attributes": list("abc"), "avd": [0.1, 0.3, 0.2], "floor": 0.05})
    many = pd.concat([frame] + [frame.head(1)] * 20)
    assert [row["attributes"] for row in rows_of(charts.worst_columns(many))][:3] == ["b", "c", "a"]
    domain = spec_of(charts.worst_columns(frame))["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert domain == ["b", "c", "a"]  # stated, because a chart that is drawn already would keep its order
    assert "(worst 20 of 23)" in spec_of(charts.worst_columns(many))["title"]["text"][0]


@pytest.mark.parametrize("columns", [15, 57])
def test_the_heat_map_is_symmetric_and_starts_at_zero(columns: int) -> None:
    chart = charts.pair_heatmap(pairs_frame([f"c{i}" for i in range(columns)]))
    cells = {(row["x"], row["y"]): row["shade"] for row in rows_of(chart)}
    assert len(cells) == columns * (columns - 1)
    assert all(cells[b, a] == value for (a, b), value in cells.items())
    assert [0, max(cells.values())] in [node for path, node in walk(spec_of(chart)) if path[-1:] == ("domain",)]


def test_mere_noise_does_not_fill_the_scale() -> None:
    spec = spec_of(charts.pair_heatmap(pd.DataFrame({"a": ["x"], "b": ["y"], "avd": [0.002], "floor": [0.002]})))
    assert [0, 0.1] in [node for path, node in walk(spec) if path[-1:] == ("domain",)]


def test_pair_tables_share_one_scale_with_real_first_and_keep_all_the_mass() -> None:
    chart = charts.pair_tables(tables_frame([f"v{i}" for i in range(50)]), x="age", y="income")
    spec = spec_of(chart)
    assert spec["facet"]["column"]["sort"] == ["real", "released"]
    assert "resolve" not in spec
    rows = pd.DataFrame(rows_of(chart))
    assert rows.groupby("source")["shade"].sum().tolist() == pytest.approx([1, 1])
    assert rows["x"].nunique() == rows["y"].nunique() == 41
    (domain,) = [mark["encoding"]["x"]["scale"]["domain"] for mark in marks_of(spec)]
    assert domain[-1] == "(10 others)"


def test_accuracy_shows_its_references_only_if_there_are_any() -> None:
    labels = {
        row["label"] for row in rows_of(charts.accuracy(accuracy_frame(["tree"]), majority=0.752)) if "label" in row
    }
    assert labels == {"majority class 75.2%"}
    assert not any("label" in row for row in rows_of(charts.accuracy(accuracy_frame(["tree"]), majority=NAN)))


def test_a_chart_never_shows_less_than_what_a_run_cost() -> None:
    rows = rows_of(charts.claimed_vs_bound(claimed=1.0, bound=9_452.38))
    assert [row["epsilon_text"] for row in rows] == ["1", "9,453"]


def test_epsilon_is_summed_by_name_sorted_and_folded() -> None:
    frame = pd.DataFrame(
        {
            "name": ["a", "b", "a", "raw"],
            "epsilon_claimed": [0.1, 0.5, 0.1, 0],
            "epsilon_of_noise": [0.2, 0.5, 0.2, INF],
            "void": False,
        }
    )
    rows = rows_of(charts.epsilon_split(frame))
    assert [row["name"] for row in rows] == ["raw", "b", "a"]
    assert [row["epsilon_of_noise_text"] for row in rows] == ["∞ (no guarantee)", "0.5", "0.4"]
    assert rows[0]["epsilon_of_noise"] == pytest.approx(1.15 * 0.5)
    many = rows_of(charts.epsilon_split(ledger_frame([f"step {i}" for i in range(50)])))
    assert len(many) == 21
    assert many[-1]["name"] == "(30 others)"
    assert sum(row["epsilon_of_noise"] for row in many) == pytest.approx(50)


@pytest.mark.parametrize("claimed", [0, 1e-5, 0.5, 1, 1e6, INF, NAN])
@pytest.mark.parametrize("bound", [0, 0.5, 1, 10, 1e12, INF])
def test_claim_and_bound_never_crash_and_stay_on_the_axis(claimed: float, bound: float) -> None:
    chart = charts.claimed_vs_bound(claimed=claimed, bound=bound)
    low, high = marks_of(spec_of(chart))[0]["encoding"]["x"]["scale"]["domain"]
    rows = rows_of(chart)
    assert 0 < low <= 0.01
    assert high >= 10
    assert all(low <= row["epsilon"] <= high for row in rows)
    assert (rows[1]["epsilon"] == high) == (bound == INF)
    assert ("no guarantee" in rows[1]["epsilon_text"]) == (bound == INF)


def test_the_release_on_the_screen_is_drawn_on_top() -> None:
    rows = rows_of(charts.redraws(redraws_frame(["AVD"])))
    assert [row["which"] for row in rows] == ["another draw"] * 4 + ["this release"]
    assert rows[-1]["run"] == "3"
    assert spec_of(charts.redraws(redraws_frame(["AVD"])))["width"] == "container"
    several = spec_of(charts.redraws(redraws_frame(["AVD", "accuracy"])))
    assert several["spec"]["width"] == 560
    assert several["resolve"]["scale"]["x"] == "independent"


def test_a_sweep_keeps_runs_and_references_of_its_models_apart() -> None:
    frame = sweep_frame(["paper", "corrected"])
    frame.loc[len(frame)] = [INF, "paper", "paper", 0.9]
    rows = rows_of(charts.sweep(frame, y="accuracy", y_title="accuracy", references=references_frame(["paper"])))
    assert len([row for row in rows if not row["rule"]]) == len(frame) - 1
    assert [row["label"] for row in rows if row["rule"]] == ["<i>top</i>", "majority"]


def test_variance_is_across_runs() -> None:
    frame = pd.DataFrame({"epsilon": 1.0, "series": "paper", "model": "tree", "value": [0.1, 0.3]})
    assert [row["value"] for row in rows_of(charts.sweep_variance(frame))] == pytest.approx([0.02])
    assert rows_of(charts.sweep_variance(frame.head(1))) == []


@pytest.mark.parametrize(
    ("probability", "filled"), [(0.5, 50), (0.731, 73), (0.505, 51), (0.99995, 99), (1.0, 100), (0, 0)]
)
def test_icons_are_filled_up_to_the_odds_and_only_certainty_fills_all(probability: float, filled: int) -> None:
    rows = rows_of(charts.odds_icons(probability))
    assert len({(row["x"], row["y"]) for row in rows}) == 100
    assert [row["kind"] for row in rows] == ["filled"] * filled + ["open"] * (100 - filled)


@pytest.mark.parametrize(("epsilon", "sure"), [(0, 0.5), (1, 0.7310585786), (1e9, 1), (INF, 1), (-INF, 0), (-1e9, 0)])
def test_odds(epsilon: float, sure: float) -> None:
    assert charts.odds(epsilon) == pytest.approx(sure)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_mark_is_visible_said_aloud_and_set_once(name: str) -> None:
    chart = chart_of(name, "normal")
    before = spec_of(chart)
    marked = spec_of(charts.mark_real(charts.mark_real(chart)))
    assert marked["title"]["text"] == [*before["title"]["text"], REAL_DATA]
    assert "do not publish" in marked["description"]
    assert spec_of(chart) == before


def test_charts_import_altair_pandas_numpy_and_nothing_else_of_others() -> None:
    names: set[str] = set()
    for path in Path(charts.__file__).parent.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    others = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if not name.startswith("dpcore.charts")} == {"altair", "numpy", "pandas", TEXTS}


def test_every_public_name_is_a_builder() -> None:
    assert all(callable(getattr(charts, name)) for name in charts.__all__)
