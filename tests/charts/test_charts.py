"""Every chart carries aggregates only, under our own field names, and nothing that JSON cannot say."""

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert
from lessons import HOSTILE, LESSONS
from pictures import PICTURES, RESULTS, frame_of
from specs import walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.language import LANGUAGES, say, speaking

LOUD = ("a.b", "<img", "xxx", "zzz", "quoted", "{{y}}")
EXPRESSIONS = {"filter", "expr", "labelExpr", "test", "calculate", "signal"}
PLAIN = {"white", "black", "#fff", "#ffffff", "#000", "#000000"}  # what cannot be seen on one of two pages


@pytest.mark.listed
def test_every_chart_is_among_the_pictures():
    functions = {*charts.__all__} - {"mark_real", "odds", "on_phones", "specification"}
    pictures = {name.partition(",")[0] for name in PICTURES}
    assert pictures == functions, f"give tests/charts/pictures.py a small frame for: {sorted(pictures ^ functions)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_chart_is_told_and_drawn_and_words_of_users_are_data_only(name):
    frame = frame_of(name, HOSTILE).assign(hiv_status="secret")
    before = frame.copy(deep=True)
    chart = PICTURES[name][1](frame)
    pd.testing.assert_frame_equal(frame, before)
    spec = chart.to_dict()  # which checks it
    text = json.dumps(spec, allow_nan=False)
    assert "secret" not in text  # nor any other column that is not drawn
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 20
    assert not {node.lower() for _, node in walk(spec) if isinstance(node, str)} & PLAIN
    assert sum(map(len, spec.pop("datasets").values())) <= 12 * len(frame) + 160
    for path, node in walk(spec):
        if path and path[-1] == "field":
            assert re.fullmatch("[a-z_0-9]+", node)
            assert node not in HOSTILE
        if path and path[-1] in EXPRESSIONS and isinstance(node, str):
            assert not any(word in node for word in LOUD)
        if path and path[-1] == "sort" and isinstance(node, list):  # outside facets, Vega-Lite makes expressions of it
            assert path[-2] in {"facet", "column"} or not any(word in str(node) for word in LOUD), node
        if path and path[-1] == "background":
            pytest.fail(f"{path}: the theme's colors suit light and dark pages")
        if isinstance(node, dict) and "mark" in node and "encoding" in node:
            tips = node["encoding"]["tooltip"]  # always stated: the theme's default would show the axes' titles
            titles = [] if tips == {"value": None} else [tip["title"] for tip in tips]
            assert not {*titles} & {*HOSTILE}
            assert not any(word in " ".join(titles) for word in LOUD)
        if name in LESSONS and isinstance(node, dict) and node.get("type") == "text" and name != "channel_matrix":
            assert node["fontSize"] >= 13
    marked = charts.mark_real(charts.mark_real(chart))
    assert marked.title.text == [*spec["title"]["text"], REAL_DATA]
    assert "do not publish" in marked.description
    assert chart.title.text == spec["title"]["text"]


@pytest.mark.parametrize("name", [*RESULTS, "coin_estimates", "descriptions, by epsilon", "averaging", "world_ratios"])
def test_numbers_that_are_none_are_not_sent_and_nothing_is_drawn_of_nothing(name):
    """But of a taxonomy, which has a root. What follows from formulas alone is there, and finite."""
    make, build = PICTURES[name]
    spoiled = make()
    sure = {"left", "right", *(["low"] if "log_ratio" in spoiled else [])}  # where bins end is known
    for column in {*spoiled.select_dtypes("float")} - sure:
        spoiled[column] = spoiled[column].where(spoiled.index % 3 != 0, np.inf).where(spoiled.index % 3 != 1, np.nan)
    for frame in (spoiled, make().head(1 if name == "taxonomy" else 0)):
        spec = charts.specification(build(frame))
        for table in spec.pop("datasets").values():
            assert not np.isinf(table.select_dtypes("number").to_numpy(dtype=float)).any()
        json.dumps(spec, allow_nan=False)


def test_charts_with_expressions_are_drawn():
    for name in ("network", "world_ratios", "known_epsilon"):
        spec = PICTURES[name][1](frame_of(name)).to_dict(validate=False)
        assert vl_convert.vegalite_to_svg(spec | {"width": 600}).startswith("<svg")


def drawn(spec: dict[str, Any], width: int) -> str:
    size = {"width": width, "autosize": {"type": "fit", "contains": "padding"}}
    tables = {name: json.loads(table.to_json(orient="records")) for name, table in spec["datasets"].items()}
    return re.sub(r"(gradient_|clip)\d+", "", vl_convert.vegalite_to_svg(spec | size | {"datasets": tables}))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["claimed_vs_bound", "error_by_range", "classifier_scores", "world_piles"])
def test_on_a_phone_a_title_takes_more_lines_and_nothing_changes_where_there_is_room(name, language):
    with speaking(language):
        chart = charts.mark_real(PICTURES[name][1](frame_of(name)))
        spec = charts.on_phones(charts.specification(chart))
        assert drawn(spec, 1000) == drawn(charts.specification(chart), 1000)
        narrow, mark = drawn(spec, 340), say(REAL_DATA)
    said = html.unescape(re.sub("<[^>]+>", "\n", narrow))
    whole = "".join(said.split())
    for line in (*chart.title.text, *chart.title.subtitle):
        assert "".join(line.split()) in whole
    assert mark in said.split("\n")  # on a line of its own
    assert "…" not in "".join(re.findall(r'<g class="mark-text role-title.*?</g>', narrow, re.DOTALL))


def test_words_of_a_title_are_no_expression():
    spec = charts.on_phones(charts.specification(charts.marginal(frame_of("marginal"), column="\"] + alert('x') + ['")))
    assert "alert('x')" in html.unescape(drawn(spec, 340))


def test_charts_import_altair_pandas_numpy_and_nothing_else_of_others():
    sources = [path.read_text(encoding="utf-8") for path in Path(charts.__file__).parent.glob("*.py")]
    names = {name for source in sources for name in re.findall(r"^\s*(?:from|import) (\w+)", source, re.MULTILINE)}
    assert names - sys.stdlib_module_names == {"altair", "numpy", "pandas", "dpcore"}
