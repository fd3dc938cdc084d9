"""A report of a release as one HTML file: a chart and a sentence, limits, rows, what was released, card and ledger.

It opens without a network, and prints. Charts are images inside it (SVG), drawn as the dashboard
draws them, or what they show in words and numbers where nothing can draw them (`dpcore.extras`);
there is no script, and the page forbids its readers' programs to run or fetch any. The page is
`templates/report.html`, which escapes all texts. Nothing but the release was computed from real
rows, unless somebody hands over `pictures` that were: these come last, under a heading that says
so.
"""

import json
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

import numpy as np
import pandas as pd

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.charts.base import PAGE, REAL_DATA, for_files
from dpcore.export.artifacts import Answers, Model, Network, Picture, SyntheticRows
from dpcore.export.facts import facts
from dpcore.export.release import Release
from dpcore.export.rendering import part, render
from dpcore.extras import is_installed, missing_package
from dpcore.postprocess import count_tree, forest_frames
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.text import number

MOST_ENTRIES, MOST_ROWS, MOST_VALUES, MOST_COLUMNS, MOST_NODES = 60, 200, 40, 120, 400
FIRST = 6  # synthetic rows
MOST_BARS, MOST_CLASSES = 4, 10  # beside each other: with bars, and as numbers
LEDGER = {"scope": "where", "name": "query", "mechanism": "mechanism", "scale": "noise scale"}
IN_EPSILON = {"epsilon_claimed": "claimed, each", "epsilon_nominal": "proven, each"}
IN_RHO = {"rho_claimed": "rho claimed, each", "rho_nominal": "rho proven, each"}
OF_NOISE = "nominal, each"  # where nothing is proven
EPSILONS = {"epsilon", "spent", OF_NOISE, *IN_EPSILON, *IN_EPSILON.values(), *IN_RHO, *IN_RHO.values()}
LETTERS, LONGEST = 110, 80  # of a subtitle's line, and of a node's name
POINTING = re.compile(r" ?Point at [^.]*\.")  # which nobody can, on paper
NAMED = re.compile(r'\bid="([^"]+)"')
TEXT = re.compile(r"<(text|tspan)\b([^>]*)(?<!/)>([^<]*)(?=<)")  # none that closes itself
FONT = re.compile(r'font-(size|weight)="([^"]+)"')


@dataclass(frozen=True)
class Report:
    """An HTML report.

    `real` says whether it has comparisons with real rows, and `has_charts` whether its charts are
    drawn.
    """

    html: str
    real: bool
    has_charts: bool = True


def make_report(release: Release, pictures: Sequence[Picture] = ()) -> Report:
    """Make the HTML report of a release.

    Parameters
    ----------
    release : Release
        The release.
    pictures : sequence of (chart, DataFrame), optional
        Comparisons with real rows, each with its numbers, which are left out unless given: with
        them the report must not be published. A title in place of a chart stands over a table.

    Returns
    -------
    Report
        `html`, and whether it is `real` (has comparisons with real rows) and its charts are
        `has_charts`.
    """
    known, artifact, ledger, drawn = facts(release), release.artifact, release.ledger, is_installed("vl_convert")
    both = charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=ledger.epsilon_bound, delta=ledger.delta)
    costs = [figure(both, None, 1), figure(charts.epsilon_split(ledger.breakdown()), None, 2)]
    shown = charts.mark_real if math.isinf(ledger.epsilon_claimed) else lambda chart: chart
    released = [figure(shown(chart), frame, i) for i, (chart, frame) in enumerate(pictures_of(release), 10)]
    columns = columns_of(release)
    begins = costs if known.void else columns if isinstance(artifact, SyntheticRows) else [*released, *columns]
    rows = artifact.synthetic.iloc[:FIRST, :MOST_COLUMNS] if isinstance(artifact, SyntheticRows) else pd.DataFrame()
    entries = entries_of(release)
    missing = missing_package("vl_convert", "Tables stand here in place of charts: drawing them")
    html = render(
        "report.html",
        title=known.title,
        facts=known,
        mark=REAL_DATA,
        undrawn="" if drawn else " ".join(missing),
        first=begins[0],
        released=[one for one in released if one is not begins[0]],
        columns=[one for one in columns if one is not begins[0]],
        rows=[(name, [cell_text(value) for value in rows[name]]) for name in rows],
        rows_more=rest(len(release.schema) - MOST_COLUMNS, "more columns are not shown"),
        costs=[one for one in costs if one is not begins[0]],
        entries=table(entries.head(MOST_ENTRIES)),
        entries_more=rest(len(entries) - MOST_ENTRIES, "more lines are in ledger.csv"),
        real=[
            part("figure", part("caption", chart) + table(frame))
            if isinstance(chart, str)
            else figure(charts.mark_real(chart), frame, i)
            for i, (chart, frame) in enumerate(pictures, 90)
        ],
    )
    return Report(html, bool(pictures), drawn)


def entries_of(release: Release) -> pd.DataFrame:
    """Return the ledger's entries for the report; equal entries are one row with a number of times."""
    ledger, frame = release.ledger, release.ledger.to_frame()
    words = LEDGER | (IN_RHO if ledger.delta else IN_EPSILON)
    if ledger.guarantee_void:
        words[f"{ledger.measure.unit}_nominal"] = OF_NOISE
    columns = list(words)[0 if frame["scope"].any() else 1 :]
    return frame.groupby(columns, sort=False, dropna=False).size().reset_index(name="times").rename(columns=words)


def pictures_of(release: Release) -> Iterable[Picture]:
    """Yield the charts of what was released besides rows."""
    artifact = release.artifact
    if isinstance(artifact, Answers):
        yield from map(artifact.picture, artifact.names)
    if isinstance(artifact, Network):
        yield artifact.picture(LONGEST)
    tree = artifact.contents.get("tree")
    if isinstance(tree, ReleasedTree):
        nodes = count_tree.node_table(tree, most=MOST_NODES)
        yield charts.count_tree(nodes, width=PAGE - 180), nodes
    forest = artifact.contents.get("forest")
    if isinstance(forest, Forest):
        if not forest.leaf.all():
            weights = forest.importance().rename_axis("column").reset_index(name="share")
            yield charts.importance(weights), weights
        first = forest_frames.node_table(forest)
        yield charts.forest_tree(first, title=f"Tree 1 of {forest.trees:,}", width=math.inf), first
        if math.isfinite(release.ledger.epsilon_claimed):
            spent = forest_frames.budget(release.ledger)
            title = "One tree: where its epsilon went" if spent["per_tree"].any() else "From the root to a leaf"
            yield charts.forest_budget(spent, title=title), spent.drop(columns="per_tree")


def columns_of(release: Release) -> list[str]:
    """Return HTML of the shares in synthetic rows, the class first, or of a naive Bayes classifier."""
    artifact, schema = release.artifact, release.schema
    if isinstance(artifact, Answers):
        return []
    if isinstance(artifact, Model):
        return tables_of(artifact.predictor) if isinstance(artifact.predictor, Bayes) else []
    codes = schema.encode(release.synthetic)
    target = release.parameters.get("target") or schema.target
    order = sorted(range(len(schema)), key=lambda index: schema.names[index] != target)
    found: list[str] = []
    for index in order[:MOST_COLUMNS]:
        column = schema.columns[index]
        share = np.bincount(codes[:, index], minlength=column.size) / max(len(codes), 1)
        title = f"{column.name}: shares in the {len(codes):,} synthetic rows" if not found else column.name
        found.append(shares(title, column.labels, {"share": share}))
    return found


def tables_of(bayes: Bayes) -> list[str]:
    """Return HTML of a naive Bayes classifier: shares of classes, and columns by class."""
    classes = list(bayes.schema[bayes.target].labels)
    found = [shares(f"{bayes.target}: the classes", classes, {"share": bayes.prior})]
    for name in bayes.columns:
        if name in bayes.tables:
            by_class = dict(zip(classes, bayes.tables[name], strict=True))
            found.append(shares(f"{name}, by {bayes.target}", bayes.schema[name].labels, by_class))
        else:
            frame = pd.DataFrame(bayes.normals[name], columns=["mean", "variance"])
            frame.insert(0, bayes.target, classes)
            shown = table(frame, epsilons=())  # a column has the class's name, which may be any
            found.append(part("figure", part("caption", f"{name}: normal by class") + shown))
    return found


def shares(title: str, labels: Sequence[str], parts: Mapping[str, Floats]) -> str:
    """Return HTML bars of shares with their numbers, at most 40 values in their order.

    Of more values the most frequent ones are drawn. `labels` are the values, and `parts` has the
    shares by class or, of all rows, under one name.
    """
    left_out = rest(len(parts) - MOST_CLASSES, "more classes are in model.json")
    parts = dict(list(parts.items())[:MOST_CLASSES])
    most = np.max([np.asarray(part, dtype=float) for part in parts.values()], axis=0)
    kept = np.sort(np.argsort(-most, kind="stable")[:MOST_VALUES])
    longest = max(float(most.max(initial=0.0)), 1e-9) if len(parts) <= MOST_BARS else 0
    lines = [(str(labels[index]), [float(part[index]) for part in parts.values()]) for index in kept]
    more = [rest(len(labels) - len(kept), "rarer values are not drawn"), left_out]
    return part("shares", title, list(parts), lines, longest, more)


def rest(many: int, text: str) -> str:
    """Return a sentence on how many items are left out; empty if none.

    `many` is their number. `text` says what they are and where, with "are".
    """
    if many == 1:
        text = re.sub("((?<=class)es|s)? are", " is", text, count=1)
    return f"{many:,} {text}." if many > 0 else ""


def figure(chart: Any, frame: pd.DataFrame | None, index: int) -> str:
    """Return HTML of a chart with its table.

    `index` makes the names of its SVG elements unique in the page. Without a renderer, the chart's
    description is shown, and the table is open.
    """
    drawn = is_installed("vl_convert")
    seen = svg(chart, index) if drawn else part("caption", chart.description)
    if frame is None:
        return part("figure", seen)
    more = rest(len(frame) - MOST_ROWS, "more rows are not shown")
    return part("figure", seen, table(frame.head(MOST_ROWS)), not drawn, more)


def svg(chart: Any, index: int) -> str:
    """Return a chart as an SVG element on white, as wide as the page.

    `index` makes the names of its parts unique in the page.
    """
    import vl_convert

    spec = charts.specification(for_files(chart))
    for name, rows in spec["datasets"].items():
        spec["datasets"][name] = json.loads(rows.to_json(orient="records", double_precision=15))
    said = POINTING.sub("", " ".join(spec["title"].get("subtitle", [])))
    spec["title"]["subtitle"] = textwrap.wrap(said, LETTERS)
    spec["background"] = "white"  # which the charts' letters are dark on
    spec.setdefault("config", {}).setdefault("view", {})["stroke"] = None
    drawn = as_wide_as_measured(str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])))
    for i, name in enumerate(dict.fromkeys(NAMED.findall(drawn))):  # the library counts on from chart to chart
        drawn = drawn.replace(f'id="{name}"', f'id="p{index}-{i}"').replace(f"url(#{name})", f"url(#p{index}-{i})")
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(chart.description)}" ', 1)


def as_wide_as_measured(drawn: str) -> str:
    """Set the length of each text in an SVG (`drawn`), so that no text is cut.

    Without it a reader's font may be wider than the one that was measured.
    """
    import vl_convert

    outer: dict[str, str] = {}
    texts: list[dict[str, Any]] = []
    for tag, attributes, text in TEXT.findall(drawn):
        outer = dict(FONT.findall(attributes)) if tag == "text" else outer
        own = outer | dict(FONT.findall(attributes))
        texts.append({"text": unescape(text), "weight": own.get("weight"), "size": float(own["size"].rstrip("px"))})
    if not texts:
        return drawn
    spec = render("widths.vega.json", texts=texts)
    measured = vl_convert.vega_to_scenegraph(spec, allowed_base_urls=[])["scenegraph"]["items"][0]["items"][1]["items"]
    exactly = (f' textLength="{one["text"]}" lengthAdjust="spacingAndGlyphs"' for one in measured)
    return TEXT.sub(lambda found: f"<{found[1]}{found[2]}{next(exactly)}>{found[3]}", drawn)


def table(frame: pd.DataFrame, epsilons: Collection[str] = EPSILONS) -> str:
    """Return a frame as an HTML table, with numbers aligned right.

    `epsilons` are the names of columns that are formatted as epsilons.
    """
    heads = [(str(name), pd.api.types.is_numeric_dtype(column)) for name, column in frame.items()]
    columns = [map(epsilon_text if name in epsilons else cell_text, column) for name, column in frame.items()]
    return part("table", heads, zip(*columns, strict=True))


def epsilon_text(epsilon: float) -> str:
    """Return an epsilon as text; empty if there is none."""
    return "" if math.isnan(epsilon) else number(epsilon)


def cell_text(value: Any) -> str:
    """Return a cell as text; empty if it is missing."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if pd.isna(value):
        return ""
    if not isinstance(value, float | np.floating):
        return str(value)
    real = float(value)
    return "∞" if math.isinf(real) else f"{real:,.0f}" if abs(real) >= 1e5 else f"{real:.4g}"
