"""No text of a file ends a string, a line or a cell in what is exported; the report is one harmless file."""

import ast
import csv
import io
import json
import math
import re
from contextlib import suppress
from functools import cache
from xml.etree import ElementTree

import altair as alt
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tables import categorical
from taken_home import HOSTILE, NO_REPORT, Page, released

from dpcore import charts, export
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.export import archive, report
from dpcore.export.facts import facts
from dpcore.export.rendering import literal, plain, render, spreadsheet_csv, spreadsheet_safe
from dpcore.methods import METHODS

NASTY = "\u2028\u2029\x85\n\r\t'\"\\{}`<>&|#*_[]()$,;=+-@%: \ufeff\u202e👍ß"
texts = st.text(st.one_of(st.sampled_from(NASTY), st.characters(codec="utf-8")), min_size=1, max_size=25)
OPEN = {"read", "encode_folder"}


def writable(text: str) -> bool:
    with suppress(SchemaError):
        return bool(Column(name=text, kind="categorical", categories=("a",)))
    return False


names = texts.filter(writable)


def called(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def keywords(source: str) -> dict[str, object]:
    """All keyword arguments of a script that are literals."""
    found = {}
    for keyword in (keyword for node in called(source) for keyword in node.keywords):
        with suppress(ValueError):
            found[keyword.arg] = ast.literal_eval(keyword.value)
    return found


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(values)
@example(("a\u2028", math.inf, [(1,)]))
def test_literals_are_one_line_of_ascii_and_read_back(value):
    source = literal(value)
    assert source.isascii()
    assert source.isprintable()
    assert eval(source, {"__builtins__": {}, "float": float}) == value


def releases(name, other, data, category):
    """One of rows and one of a model, of a schema with these names."""
    schema = categorical({name: ("a", category), other: "uv"}, target=name)
    frame = pd.DataFrame({name: ["a", category] * 10, other: ["u", "v", "v", "u"] * 5})
    reading = {"test_share": 0.25, "split_seed": 3, "encoded": True, "query": data}
    rows = METHODS["NB-Synth"](target=name, random_state=1).fit(frame, schema=schema)
    yield export.make_release(rows, "NB-Synth", rows.sample(6), data_name=data, reading=reading)
    model = METHODS["SuLQ-ID3"](target=name, random_state=1, max_depth=1).fit(frame, schema=schema)
    yield export.make_release(model, "SuLQ-ID3", data_name=data, reading={"test_share": 0.25})


@cache
def lines_of_a_card():
    """How many a card has if its names are harmless, by method."""
    return {
        made.method: len(render("card.md", facts=facts(made)).splitlines()) for made in releases("y", "x", "d", "b")
    }


@settings(max_examples=8)
@given(name=names, other=names, data=texts, category=names)
@example(name="a\u2028b", other="'''", data="'); import os; ('", category="a\nb")
@example(name="')", other='"', data="x'\\", category="=1+1")
def test_scripts_notebooks_and_cards_hold_any_names(name, other, data, category):
    if other == name or category == "a":
        return
    for made in releases(name, other, data, category):
        source = export.show_code(made, data=data)
        assert source.isascii()
        assert keywords(source)["target"] == name
        assert keywords(source).get("query", data) == data
        (opened,) = [call for call in called(source) if getattr(call.func, "attr", "") in OPEN and call.args]
        assert ast.literal_eval(opened.args[0]) == data
        cells = json.loads(export.make_notebook(made))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert any(keywords(part).get("target") == name for part in code)  # which is Python
        assert len(render("card.md", facts=facts(made)).splitlines()) == lines_of_a_card()[made.method]


@given(texts)
@example("# [a](http://b) &lt;b&gt; www.example.com")
@example("_a_ __b__ c__")
@example(f"{'x' * 78}_y{'z' * 9}")
def test_names_in_markdown_are_words_on_one_line(text):
    words = plain(text)
    assert len(f"x{words}".splitlines()) == 1
    assert not set(words) & set("<>`*[]#|\\~$@:&")
    assert not re.search(r"_(\W|$)", words)  # no emphasis ends, so none is there
    assert "www." not in words.lower()
    assert len(words) <= 80


@given(st.lists(texts, min_size=2, max_size=2, unique=True), st.lists(texts, min_size=1, max_size=4))
@example(["a\rb", "b"], ["=1\r\n=2", "x\r"])
@example(["0", "+0.0"], ["0"])
def test_csvs_have_the_cells_that_the_table_has(headers, cells):
    frame = pd.DataFrame({headers[0]: cells, headers[1]: 1.5})
    found = list(csv.reader(io.StringIO(spreadsheet_csv(frame), newline=""), strict=True))
    assert [len(row) for row in found] == [2] * (len(cells) + 1)
    assert [row[0].removeprefix("'") for row in found[1:]] == [cell.removeprefix("'") for cell in cells]
    risky = [cell for row in found for cell in row if cell.startswith(("=", "+", "@"))]
    assert all(re.fullmatch(r"\+[0-9]+(\.[0-9]+)?", cell) for cell in risky), risky  # a number is no formula


def test_formulas_are_quoted_and_counted_and_an_escaped_header_may_meet_one_of_its_kind():
    frame = pd.DataFrame(
        {
            "=LINK(1)": ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "plain", None],
            "number": np.linspace(-5, 4, 10),
            "@cat": pd.Categorical(["=x"] * 4 + ["y"] * 5 + [None], categories=["=x", "y", "=unused"]),
            "digits": ["-1", "+1", "-2.5", "3", "-1e5", "- 1", "--1", "-1=1", "+", "-"],
        }
    )
    before = frame.copy(deep=True)
    safe, escaped = spreadsheet_safe(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert list(safe.columns) == ["'=LINK(1)", "number", "'@cat", "digits"]
    expected = ["'=1+1", "'+1+1", "'-1+1", "'@SUM(A1)", "'\t=1", "'\r=1", "'\n=1", "'＝1", "plain", None]
    assert safe.iloc[:, 0].where(safe.iloc[:, 0].notna(), None).tolist() == expected
    assert safe.iloc[:, 2].dropna().tolist() == ["'=x"] * 4 + ["y"] * 5
    assert safe["digits"].tolist() == ["-1", "+1", "-2.5", "3", "'-1e5", "'- 1", "'--1", "'-1=1", "'+", "'-"]
    pd.testing.assert_series_equal(safe["number"], frame["number"])
    assert escaped == 8 + 4 + 6 + 2
    safe, escaped = spreadsheet_safe(pd.DataFrame({"=a": ["=1"], "'=a": ["2"]}))
    assert (list(safe.columns), safe.iloc[0].tolist(), escaped) == (["'=a", "'=a"], ["'=1", "2"], 2)


@pytest.mark.parametrize("bad", ["\0", "\x1f", "\uffff"])
def test_what_no_picture_can_hold_is_in_no_schema(bad):
    """The library that draws SVG ends the whole process at such a character."""
    for wrong in ({"name": bad}, {"description": bad}, {"categories": ("x", bad)}):
        with pytest.raises(SchemaError, match="control character"):
            Column(**{"name": "n", "kind": "categorical", "categories": ("x",), **wrong})
    inferred = Schema.infer(pd.DataFrame({"a": ["x", f"y{bad}"], f"b{bad}": ["u", "v"], "c": ["s", "t"]}))
    assert inferred.names == ("c",)


EVERY = {  # one of each kind of release: its parameters, and what its charts are called
    "PrivBayes refined": ({}, ["The network:"]),
    "TaxonomyRelease": ({}, ["The tree of counts,"]),
    "DiffPRFs": ({"n_trees": 2, "max_depth": 2}, ["Tree 1 of 2", "Columns that the trees split by", "From the root"]),
    "PPNB": ({"relation": "replace"}, []),
    "NB-Synth": ({"x_source": "model"}, []),
}


@pytest.mark.parametrize(
    "name",
    [
        "PrivBayes refined",
        "PPNB",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("NB-Synth", "TaxonomyRelease", "DiffPRFs")),
    ],
)
def test_a_report_holds_all_charts_and_texts_and_runs_and_fetches_nothing(name):
    given, own = EVERY[name]
    made = released(name, data_name=f"{HOSTILE}.csv", **given)
    text = export.make_report(made)
    page, html = Page(text.html), text.html
    texts = "".join(page.texts)
    titles = ["Epsilon: what is claimed, and what a run can cost", "Where did epsilon go?", *own]
    assert all(f">{title}" in html for title in titles)
    for drawn in re.findall("(?s)<svg.*?</svg>", html):
        ElementTree.fromstring(drawn)
    widths = [attrs.get("textlength") for tag, attrs in page.tags if tag == "text" and "font-size" in attrs]
    assert sum(width is not None for width in widths) > 10  # a wider font of a reader's is cut otherwise
    assert name == "TaxonomyRelease" or "…</t" not in html  # which has cells that are too narrow for any label
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
    assert len(pictures) >= len(titles)
    assert all(len(attrs["aria-label"]) > 20 for attrs in pictures)
    (policy,) = [attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    kinds = {tag for tag, _ in page.tags}
    assert not kinds & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "image", "use", "a"}
    for tag, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on") or name in ("src", "href", "xlink:href")], tag
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"url\(|@import", style)
    assert html.count("</svg>") == html.count("<svg")
    assert HOSTILE in texts
    names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(names)) == len(names)
    assert set(re.findall(r"url\(#([^)]*)\)", html)) <= set(names)
    assert not re.search("Uses real data|do not publish", html)
    assert not text.real


def test_it_says_what_the_card_says_and_the_same_of_the_same_release(quick_pictures):
    made = released("NB-Synth", random_state=3)
    html = export.make_report(made).html
    assert html == export.make_report(made).html
    assert '<p class="void">A known seed made the noise' in html
    assert "no epsilon (the noise alone would give 1)" in html


def test_comparisons_with_real_rows_come_last_and_under_their_name():
    made = released("NB-Synth", x_source="model")
    frame = pd.DataFrame({"attributes": ["age", HOSTILE], "avd": [0.25, 0.125], "floor": [0.01, 0.02]})
    text = export.make_report(made, [(charts.worst_columns(frame), frame)])
    assert text.real
    html = text.html
    before, _, after = html.partition('<h2 class="real">Uses real data: do not publish</h2>')
    assert "⚠ Uses real data: do not publish" in after  # the chart's own mark
    assert before.count('<p class="real">') == 1
    assert ("0.125</td>" in before, "0.125</td>" in after) == (False, True)
    readmes = [archive.readme(facts(made), "csv", each) for each in (text, NO_REPORT)]
    assert ["do not publish it" in each for each in readmes] == [True, False]
    assert "<script" not in html


def test_no_chart_may_fetch_anything():
    chart = alt.Chart("https://example.com/a.csv", width=30, title="t", description="d").mark_point().encode(x="a:Q")
    with pytest.raises(ValueError, match=r"(?i)not allowed|denied|base url"):
        report.svg(chart.properties(title=alt.TitleParams("t")), 0)
