"""Three rules for every chart: it tells what it draws and nothing else, it can be read, it speaks one language.

Beside them a record: of every picture its title, key, marks and axes, and digests of its numbers and of its look. A
line that changes is a defect, or is meant: then the commit makes the record anew, and its reader sees what changed.

    DPCORE_GOLDEN=new .venv/bin/python -m pytest -n 0 tests/charts/test_charts.py -k record
"""

import hashlib
import html
import io
import json
import os
import re
from difflib import unified_diff
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import vl_convert
from altair.utils import schemapi
from pictures import HOSTILE, LESSONS, PICTURES, RESULTS, frame_of
from PIL import Image
from specs import luminance, rgb, walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.language import say, use_language

FILE = Path(__file__).with_name("pictures.json")
LOUD = ("a.b", "<img", "xxx", "zzz", "quoted", "{{y}}")
EXPRESSIONS = {"filter", "expr", "labelExpr", "test", "calculate", "signal"}
PLAIN = {"white", "black", "#fff", "#ffffff", "#000", "#000000"}  # what cannot be seen on one of two pages
SPOKEN = ("title", "text", "subtitle", "description", "domain")
# What the pictures' frames say, the function exp, and what stands in no place that somebody sees.
GIVEN = """today tree flat left right age sex no yes count a.b image majority top AVD error Accuracy NB-Synth PPNB RRPH
    DiffPRFs Warner Holes Number Right Alone alone columns questions Scores score exp("""
GIVEN = {*GIVEN.split(), "epsilon 2.9 with", "delta 1e-6", "A number", "below 1%", "did not", "took part"}
GIVEN.add("change one row")
UNSEEN = {"baseline", "method", "filled", "open", "noise", "truth", "noisy", "consistent", "low", "high"}


def draw(name, *names):
    return PICTURES[name][1](frame_of(name, *names))


@pytest.mark.listed
def test_every_chart_is_among_the_pictures():
    functions = {*charts.__all__} - {"class_size", "mark_real", "odds", "on_phones", "specification"}
    pictures = {name.partition(",")[0] for name in PICTURES}
    assert pictures == functions, f"give tests/charts/pictures.py a small frame for: {sorted(pictures ^ functions)}"


# The rules


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_chart_tells_what_it_draws_and_words_of_users_are_data_only(name):
    frame = frame_of(name, HOSTILE).assign(hiv_status="secret")
    before = frame.copy(deep=True)
    chart = PICTURES[name][1](frame)
    pd.testing.assert_frame_equal(frame, before)
    spec = charts.specification(chart)
    tables = spec.pop("datasets")
    sent = "".join(table.to_csv() for table in tables.values()) + json.dumps(spec, allow_nan=False)
    assert "secret" not in sent  # nor any other column that is not drawn
    assert sum(map(len, tables.values())) <= 12 * len(frame) + 160
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 20
    for path, node in walk(spec):
        of = path[-1] if path else ""
        assert of != "background", f"{path}: the theme's colors suit light and dark pages"
        if isinstance(node, str):
            assert node.lower() not in PLAIN
            assert of != "field" or re.fullmatch("[a-z_0-9]+", node)
            assert of not in EXPRESSIONS or not any(word in node for word in LOUD)
        if of == "sort" and isinstance(node, list):  # outside facets, Vega-Lite makes expressions of it
            assert path[-2] in {"facet", "column"} or not any(word in str(node) for word in LOUD), node
        if isinstance(node, dict) and "mark" in node and "encoding" in node:
            tips = node["encoding"]["tooltip"]  # always stated: the theme's default would show the axes' titles
            titles = [] if tips == {"value": None} else [tip["title"] for tip in tips]
            assert not {*titles} & {*HOSTILE}
            assert not any(word in " ".join(titles) for word in LOUD)
        if name in LESSONS and isinstance(node, dict) and node.get("type") == "text" and name != "channel_matrix":
            assert node["fontSize"] >= 13
    marked = charts.mark_real(charts.mark_real(chart))
    assert marked.title.text == [*spec["title"]["text"], say(REAL_DATA)]
    assert say(REAL_DATA) in marked.description
    assert chart.title.text == spec["title"]["text"]


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_chart_is_vega_lite_and_in_chinese_says_no_english_word(name):
    with use_language("zh"):
        chart = charts.mark_real(draw(name))
        spec = chart.to_dict()  # which checks it
        mark = say(REAL_DATA)
    assert spec["title"]["text"].count(mark) == 1
    texts = {text for rows in spec.pop("datasets").values() for row in rows for text in row.values()}
    for path, node in walk(spec):
        names = [part for part in path if not part.isdecimal()] or [""]
        texts |= {node} if isinstance(node, str) and names[-1] in SPOKEN else set()
        texts |= {*re.findall(r"'(\w+)'", node)} if isinstance(node, str) and names[-1] == "labelExpr" else set()
    for text in {text for text in texts if isinstance(text, str)} - UNSEEN:
        rest = re.sub(r"[!-~]*(<img|src=|zzz)[!-~]*", " ", text)  # a long name is cut, and parted where a line ends
        for given in sorted(GIVEN, key=len, reverse=True):
            rest = rest.replace(given, " ")
        assert not re.search("[A-Za-z]{2,}", rest), text


# The record


def plain(value):
    """A value as JSON says it, with the digits that every computer finds."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else f"{round(value, 12) + 0.0:.5g}"
    return f"{value:.5g}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else value


def digest(value):
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()[:12]


def channel(name, told):
    """What a channel shows, and what stands beside its axis or in its key."""
    if isinstance(told, list):
        return f"{name} {' '.join(each['field'] for each in told)}"
    axis = told.get("title") or (told.get("axis") or {}).get("title") or (told.get("legend") or {}).get("title")
    return f"{name} {told.get('field', 'fixed')}" + (f" “{axis}”" if axis else "")


def mark(layer):
    kind = layer["mark"]["type"]
    drawn = [channel(name, text) for name, text in layer["encoding"].items() if name != "tooltip"]
    tips = layer["encoding"].get("tooltip") or []
    text = [tip["title"] for tip in tips] if isinstance(tips, list) else []
    return f"{kind}: {', '.join(drawn)}" + (f"; tells {', '.join(text)}" if text else "")


def recorded(name):
    """A picture in words, as lines; with digests of its numbers, and of the specification around them."""
    spec = charts.specification(draw(name))
    tables = {key: table.to_dict("list") for key, table in spec.pop("datasets").items()}
    look = json.loads(re.sub(r"data-[0-9a-f]{32}|view_\w+", "name", json.dumps(spec)))
    look.pop("$schema")  # which names Altair's version, as names of tables and views hang on it
    title = spec["title"]
    marks = [mark(node) for _, node in walk(spec) if isinstance(node, dict) and "mark" in node and "encoding" in node]
    rows = [f"{len(next(iter(table.values()), []))} rows: {', '.join(table)}" for table in tables.values()]
    return {
        "title": " ".join(title["text"]),
        "key": " ".join(title.get("subtitle") or []),
        "description": spec["description"],
        "marks": marks,
        "tables": rows,
        "numbers": digest(list(tables.values())),
        "look": digest(look),
    }


@pytest.mark.listed
def test_every_picture_is_as_the_record_has_it():
    """All at once, so that a word which many charts say is one failure, and its lines are told."""
    with schemapi.debug_mode(True):  # the parts are checked as they are made
        found = {name: recorded(name) for name in sorted(PICTURES)}
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("DPCORE_GOLDEN") == "new":
        FILE.write_text(text, encoding="utf-8")
    before = json.loads(FILE.read_text(encoding="utf-8"))
    changed = [name for name in {**before, **found} if before.get(name) != found.get(name)]
    lines = [json.dumps({name: one.get(name) for name in changed}, indent=1).split("\n") for one in (before, found)]
    lacking = f"{changed} have another record, or none; the top of tests/charts/test_charts.py says how to make it"
    assert not changed, "\n".join((lacking, *unified_diff(*lines, "record", "found", lineterm="", n=2)))


def test_words_of_a_title_are_no_expression():
    chart = charts.marginal(frame_of("marginal"), column="\"] + alert('x') + ['")
    spec = charts.on_phones(charts.specification(chart))
    tables = {name: table.to_dict("records") for name, table in spec["datasets"].items()}
    drawn = vl_convert.vegalite_to_svg(spec | {"width": 340, "datasets": tables})
    assert "alert('x')" in html.unescape(drawn)


def test_letters_grow_in_class_and_cells_lose_their_numbers_on_a_phone():
    more = pd.DataFrame([("e", other, 0.02, 0.01) for other in "abcd"], columns=["a", "b", "avd", "floor"])
    chart = charts.pair_heatmap(pd.concat([frame_of("pair_heatmap"), more]))  # of four names there is room for all
    large, phone = charts.class_size(charts.specification(chart)), charts.on_phones(charts.specification(chart))
    assert (large["width"] / large["height"], large["title"]["fontSize"]) == (16 / 9, 1.4 * 18)
    assert phone["config"]["style"]["digits"]["opacity"]["expr"].endswith("? 1 : 0")
    assert any(node.get("style") == "digits" for _, node in walk(phone["layer"]) if isinstance(node, dict))


def test_the_run_before_stands_beside_this_one_and_says_its_name():
    frame = frame_of("marginal")
    chart = charts.marginal(frame, column="age", previous=frame.assign(released=[0.1, 0.2, 0.3, 0.4]), before="earlier")
    (table,) = (rows for rows in charts.specification(chart)["datasets"].values() if "previous" in rows)
    assert table["previous"].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert "earlier" in chart.description


PAGES = {"light": "#ffffff", "dark": "#0e1117"}  # as .streamlit/config.toml has them
LEAST, HERE = 4.5, np.eye(3)
MARK, NUMBER = "{http://www.w3.org/2000/svg}", r"-?[\d.]+(?:e-?\d+)?"


def drawn(name, page):
    """A chart as wide as on a laptop: its texts, and its picture without them."""
    spec = PICTURES[name][1](frame_of(name)).to_dict(validate=False)
    if spec.get("width") == "container":
        spec["width"] = 900
    svg = vl_convert.vegalite_to_svg(spec | {"background": page})
    bare = vl_convert.svg_to_png(re.sub(r"<text.*?</text>", "", svg, flags=re.DOTALL))
    return list(texts(ElementTree.fromstring(svg))), np.asarray(Image.open(io.BytesIO(bare)).convert("RGB"))


def texts(node, at=HERE, seen=1.0):
    """What is written, its color, how opaque it is, and its corners in pixels."""
    for kind, numbers in re.findall(r"(\w+)\(([^)]*)\)", node.get("transform", "")):
        x, y, *_ = [*map(float, re.findall(NUMBER, numbers)), 0.0]
        turn = np.deg2rad(x)
        move = [[1, 0, x], [0, 1, y], [0, 0, 1]]
        turned = [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
        at = at @ np.array({"translate": move, "rotate": turned}[kind])
    seen *= float(node.get("opacity", 1)) * float(node.get("fill-opacity", 1))
    if node.tag == f"{MARK}text":
        lines = ["".join(part.itertext()) for part in node.iter() if part.text]
        high = float(node.get("font-size", "12px").removesuffix("px"))
        wide = 0.5 * high * max(map(len, lines), default=0)
        left = {"middle": -0.5, "end": -1.0}.get(node.get("text-anchor"), 0.0) * wide
        box = np.array([[left, -0.6 * high, 1], [left + wide, -0.1 * high, 1]]) @ at.T
        yield " ".join(lines), node.get("fill"), seen, box[:, :2]
    for child in node:
        yield from texts(child, at, seen)


def contrast(fill, seen, below):
    """Of a color, so opaque, with most of the pixels below it: a line that crosses them is let pass."""
    color = rgb(fill) if fill[0] == "#" else [*map(float, re.findall(NUMBER, fill))]
    one, other = luminance(seen * np.array(color) + (1 - seen) * below) + 0.05, luminance(below) + 0.05
    return np.quantile(np.maximum(one, other) / np.minimum(one, other), 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_every_text_of_a_chart_can_be_read_in_both_themes(name):
    for page in PAGES.values():
        written, picture = drawn(name, page)
        assert written
        high, wide, _ = picture.shape
        for words, fill, seen, box in written:
            (left, top), (right, bottom) = np.floor(box.min(axis=0)).astype(int), np.ceil(box.max(axis=0)).astype(int)
            below = picture[max(top, 0) : min(bottom, high), max(left, 0) : min(right, wide)].reshape(-1, 3)
            if words.strip() and seen and len(below):
                assert contrast(fill, seen, below) >= LEAST, (words, fill, page)
