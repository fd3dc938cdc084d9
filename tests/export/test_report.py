"""The report: one harmless file with all charts, which needs no network, and no real row unless asked for."""

import re
from xml.etree import ElementTree

import altair as alt
import pandas as pd
import pytest
from taken_home import HOSTILE, NO_REPORT, Page, released

from dpcore import charts, export
from dpcore.export import archive, report
from dpcore.export.facts import facts

EVERY = {  # one of each kind of release: its parameters, and what its charts are called
    "PrivBayes refined": ({}, ["The network:"]),
    "TaxonomyRelease": ({}, ["The tree of counts,"]),
    "DiffPRFs": ({"n_trees": 2, "max_depth": 2}, ["Tree 1 of 2", "What the trees ask about", "From the root"]),
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
    told = export.make_report(made)
    page, html = Page(told.html), told.html
    texts = "".join(page.texts)
    titles = ["Epsilon: claimed, and what it can cost", "Where did epsilon go?", *own]
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
    assert not told.real


def test_it_says_what_the_card_says_and_the_same_of_the_same_release(quick_pictures):
    made = released("NB-Synth", random_state=3)
    html = export.make_report(made).html
    assert html == export.make_report(made).html
    assert '<p class="void">A known seed made the noise' in html
    assert "none (the noise alone would give 1)" in html


def test_comparisons_with_real_rows_come_last_and_under_their_name():
    made = released("NB-Synth", x_source="model")
    frame = pd.DataFrame({"attributes": ["age", HOSTILE], "avd": [0.25, 0.125], "floor": [0.01, 0.02]})
    told = export.make_report(made, [(charts.worst_columns(frame), frame)])
    assert told.real
    html = told.html
    before, _, after = html.partition('<h2 class="real">Uses real data: do not publish</h2>')
    assert "⚠ Uses real data: do not publish" in after  # the chart's own mark
    assert before.count('<p class="real">') == 1
    assert ("0.125</td>" in before, "0.125</td>" in after) == (False, True)
    assert [("do not publish it" in archive.readme(facts(made), "csv", each)) for each in (told, NO_REPORT)] == [
        True,
        False,
    ]
    assert "<script" not in html


def test_no_chart_may_fetch_anything():
    chart = alt.Chart("https://example.com/a.csv", width=30, title="t", description="d").mark_point().encode(x="a:Q")
    with pytest.raises(ValueError, match=r"(?i)not allowed|denied|base url"):
        report.svg(chart.properties(title=alt.TitleParams("t")), 0)
