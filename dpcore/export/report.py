"""A report of a release as one HTML file: its card, its price, and what was released, with the charts.

It opens without a network, and prints. Charts are images inside it (SVG), drawn as the dashboard draws them, or what
they show in words and numbers where nothing can draw them (`dpcore.extras`); there is no script, and the page forbids
its readers' programs to run or fetch any. All texts are escaped. Nothing but the release was computed from real rows,
unless somebody hands over `pictures` that were: these come last, under a heading that says so.
"""

import importlib.resources
import json
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.charts.base import PAGE, REAL_DATA, for_files
from dpcore.export import privacy_card
from dpcore.export.artifacts import Network, Picture, Rows
from dpcore.export.model_file import Model
from dpcore.export.release import Release
from dpcore.extras import lacking, there
from dpcore.postprocess import count_tree_frames, forest_frames
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.text import number

MOST_ENTRIES, MOST_ROWS, MOST_VALUES, MOST_COLUMNS, MOST_NODES = 60, 200, 40, 120, 400
MOST_BARS = 4  # side by side
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LEDGER = {"scope": "where", "name": "question", "mechanism": "mechanism", "scale": "noise scale"}
IN_EPSILON = {"epsilon_claimed": "claimed, each", "epsilon_nominal": "proved, each"}
IN_RHO = {"rho_claimed": "rho claimed, each", "rho_nominal": "rho proved, each"}
OF_NOISE = "of the noise, each"  # where nothing is proved
EPSILONS = {"epsilon", "spent", OF_NOISE, *IN_EPSILON, *IN_EPSILON.values(), *IN_RHO, *IN_RHO.values()}
LETTERS, LONGEST = 110, 80  # of a subtitle's line, and of a node's name
MOST_CLASSES = 10  # beside each other
POINTING = re.compile(r" ?Point at [^.]*\.")  # which nobody can, on paper
NAMED = re.compile(r'\bid="([^"]+)"')


@dataclass(frozen=True)
class Report:
    """A report as HTML: whether it holds comparisons with real rows, and its charts or only what they were drawn of."""

    html: str
    real: bool
    drawn: bool = True


def make_report(release: Release, pictures: Sequence[Picture] = ()) -> Report:
    """Make the HTML report of a release.

    Parameters
    ----------
    release : Release
        The release.
    pictures : sequence of (chart, DataFrame), optional
        Comparisons with real rows, each with its numbers, which are left out unless given: with
        them the report must not be published.

    Returns
    -------
    Report
        `html`, and whether it is `real` (has comparisons with real rows) and its charts are
        `drawn`.
    """
    made = privacy_card.card(release)
    drawn = there("vl_convert")
    tables = " ".join(lacking("vl_convert", "Tables stand here in place of charts: drawing them"))
    compared = f"{REAL_DATA}: the comparisons at the end of this report."
    notes = {"void": made.void, "real": compared if pictures else "", "tables": "" if drawn else tables}
    body = [
        f"<header><h1>{escape(made.title)}</h1>",
        f"<p class='faded'>{escape(made.facts[1][1])}</p></header>",
        *(f"<p class='{kind}'>{escape(note)}</p>" for kind, note in notes.items() if note),
        f"<section><h2>What is protected</h2>{privacy_card.html(made)}</section>",
        f"<section><h2>The price</h2>{price(release)}</section>",
        f"<section><h2>What was released</h2>{released(release)}</section>",
    ]
    if pictures:
        body.append("<section><h2 class='real'>Uses real data: do not publish</h2>")
        body += [figure(charts.mark_real(chart), frame, i) for i, (chart, frame) in enumerate(pictures, 90)]
        body.append("</section>")
    return Report(page(made.title, body), bool(pictures), drawn)


def page(title: str, body: Iterable[str]) -> str:
    """An HTML file of these parts, which are escaped already; the title is not."""
    style = (importlib.resources.files("dpcore.export") / "report.css").read_text(encoding="utf-8")
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n<footer>Made with dpcore, a tool for teaching and exploration without an external security review. This "
        "file runs no script and fetches nothing.</footer>\n</main></body></html>\n"
    )


def price(release: Release) -> str:
    """Claimed and proved epsilon, where it went, and the ledger."""
    ledger, frame, persons = release.ledger, release.ledger.to_frame(), release.schema.persons
    words = LEDGER | (IN_RHO if ledger.delta else IN_EPSILON)
    told = []
    if persons is not None:
        most = f"one person has {persons.max_contributions:,} at most"
        told.append(f"Questions are priced for one row, and {most}: sums are the person's.")
    if ledger.delta:
        told.append("Questions are priced in rho, which adds up.")
    if ledger.guarantee_void:
        words[f"{ledger.currency.unit}_nominal"] = OF_NOISE
        told.append("The guarantee is void: the shares below are of the noise alone, and no bound.")
    told += [reason for reason in dict.fromkeys(frame["reason"]) if reason]
    columns = list(words)[0 if frame["scope"].any() else 1 :]
    entries = frame.groupby(columns, sort=False, dropna=False).size().reset_index(name="times").rename(columns=words)
    both = charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=ledger.epsilon_bound, delta=ledger.delta)
    return (
        "".join(f"<p>{escape(sentence)}</p>" for sentence in told)
        + figure(both, None, 1)
        + figure(charts.epsilon_split(ledger.breakdown()), None, 2)
        + f"<h3>Every question that was asked of the rows</h3>{table(entries.head(MOST_ENTRIES))}"
        + rest(len(entries) - MOST_ENTRIES, "more are in ledger.csv")
    )


def released(release: Release) -> str:
    """What was released, as charts and tables."""
    found, artifact = [], release.artifact
    unprotected = math.isinf(release.ledger.epsilon_claimed)
    for place, (chart, frame) in enumerate(pictures_of(release), start=10):
        found.append(figure(charts.mark_real(chart) if unprotected else chart, frame, place))
    if isinstance(artifact, Model) and isinstance(artifact.predictor, Bayes):
        found.append(tables_of(artifact.predictor))
    if isinstance(artifact, Rows):
        found.append("<h3>The synthetic rows, column by column</h3>")
        columns, codes = release.schema.columns, release.schema.encode(artifact.synthetic)
        drawn = []
        for place, column in enumerate(columns[:MOST_COLUMNS]):
            part = np.bincount(codes[:, place], minlength=column.size) / len(codes)
            drawn.append(shares(column.name, column.labels, {"share": part}))
        found.append(f"<div class='columns'>{''.join(drawn)}</div>")
        found.append(rest(len(columns) - MOST_COLUMNS, "more columns are not drawn"))
    return "".join(found)


def pictures_of(release: Release) -> Iterable[Picture]:
    """The charts of what was released besides rows."""
    artifact = release.artifact
    if isinstance(artifact, Network):
        yield artifact.picture(LONGEST)
    tree = artifact.released.get("tree")
    if isinstance(tree, ReleasedTree):
        nodes = count_tree_frames.nodes(tree, most=MOST_NODES)
        yield charts.count_tree(nodes, width=PAGE - 180), nodes
    forest = artifact.released.get("forest")
    if isinstance(forest, Forest):
        first = forest_frames.nodes(forest)
        yield charts.forest_tree(first, title=f"Tree 1 of {forest.trees:,}", width=PAGE), first
        if not forest.leaf.all():
            weights = forest.importance().rename_axis("column").reset_index(name="share")
            yield charts.importance(weights), weights
        if math.isfinite(release.ledger.epsilon_claimed):
            spent = forest_frames.budget(release.ledger)
            title = "One tree: where its epsilon went" if spent["per_tree"].any() else "From the root to a leaf"
            yield charts.forest_budget(spent, title=title), spent.drop(columns="per_tree")


def tables_of(bayes: Bayes) -> str:
    """What a naive Bayes classifier says: the classes' shares, and each column's distribution by class."""
    classes = list(bayes.schema[bayes.target].labels)
    found = [shares(f"{bayes.target}: the classes", classes, {"share": bayes.prior})]
    for name in bayes.columns:
        if name in bayes.tables:
            by_class = dict(zip(classes, bayes.tables[name], strict=True))
            found.append(shares(f"{name}, by {bayes.target}", bayes.schema[name].labels, by_class))
        else:
            frame = pd.DataFrame(bayes.normals[name], columns=["mean", "variance"])
            frame.insert(0, bayes.target, classes)
            shown = table(frame, epsilons=())  # a column has the name of the class, which may be any
            found.append(f"<figure><figcaption>{escape(name)}: normal by class</figcaption>{shown}</figure>")
    return f"<h3>The tables that predict</h3><div class='columns one'>{''.join(found)}</div>"


def shares(title: str, labels: Sequence[str], parts: Mapping[str, Floats]) -> str:
    """Shares as bars with their numbers: the 40 largest, in their order; beside each other those of 10 at most."""
    untold = rest(len(parts) - MOST_CLASSES, "more classes are in model.json")
    parts = dict(list(parts.items())[:MOST_CLASSES])
    most = np.max([np.asarray(part, dtype=float) for part in parts.values()], axis=0)
    kept = np.sort(np.argsort(-most, kind="stable")[:MOST_VALUES])
    longest = max(float(most.max(initial=0.0)), 1e-9)
    head = ""
    if len(parts) > 1:
        head = f"<thead><tr><th></th>{''.join(f'<th colspan=2>{escape(name)}</th>' for name in parts)}</tr></thead>"
    lines = []
    for place in kept:
        cells = "".join(bar(float(part[place]), longest if len(parts) <= MOST_BARS else 0) for part in parts.values())
        lines.append(f"<tr><td>{escape(str(labels[place])) or '(empty)'}</td>{cells}</tr>")
    more = rest(len(labels) - len(kept), "rarer values are not drawn")
    return (
        f"<figure><figcaption>{escape(title)}</figcaption><table class='shares'>{head}"
        f"<tbody>{''.join(lines)}</tbody></table>{more}{untold}</figure>"
    )


def rest(many: int, told: str) -> str:
    """How many are left out, if any, and where they are."""
    if many == 1:
        told = re.sub("((?<=class)es|s)? are", " is", told, count=1)
    return f"<p class='faded'>{many:,} {told}.</p>" if many > 0 else ""


def bar(share: float, longest: float) -> str:
    """Two cells: a bar, if there is room for one, and its share in per cent."""
    if not longest:
        return f"<td></td><td class='number'>{share:.1%}</td>"
    drawn = f"<rect width='{100 * share / longest:.2f}' height='10'/>"
    image = f"<svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>{drawn}</svg>"
    return f"<td>{image}</td><td class='number'>{share:.1%}</td>"


def figure(chart: Any, frame: pd.DataFrame | None, place: int) -> str:
    """A chart, and the table behind it; without a renderer what the chart shows in words, and the table open."""
    behind, drawn = "", there("vl_convert")
    if frame is not None:
        shown = table(frame.head(MOST_ROWS)) + rest(len(frame) - MOST_ROWS, "more rows are not shown")
        opened = "" if drawn else " open"
        behind = f"<details{opened}><summary>The numbers behind this chart</summary>{shown}</details>"
    seen = svg(chart, place) if drawn else f"<figcaption>{escape(chart.description)}</figcaption>"
    return f"<figure>{seen}</figure>{behind}"


def svg(chart: Any, place: int) -> str:
    """A chart as an SVG element on white, as wide as the page; its names are its own in a page of several."""
    import vl_convert

    spec = charts.specification(for_files(chart))
    for name, rows in spec["datasets"].items():
        spec["datasets"][name] = json.loads(rows.to_json(orient="records", double_precision=15))
    said = POINTING.sub("", " ".join(spec["title"].get("subtitle", [])))
    spec["title"]["subtitle"] = textwrap.wrap(said, LETTERS)
    spec["background"] = "white"  # which the charts' letters are dark on
    spec.setdefault("config", {}).setdefault("view", {})["stroke"] = None
    drawn = str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))
    for i, name in enumerate(dict.fromkeys(NAMED.findall(drawn))):  # the library counts on from chart to chart
        drawn = drawn.replace(f'id="{name}"', f'id="p{place}-{i}"').replace(f"url(#{name})", f"url(#p{place}-{i})")
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(chart.description)}" ', 1)


def table(frame: pd.DataFrame, epsilons: Collection[str] = EPSILONS) -> str:
    """A frame as an HTML table, numbers to the right, and the columns of epsilons as these are everywhere."""
    place = ["class='number'" if pd.api.types.is_numeric_dtype(one) else "" for one in frame.dtypes]
    heads = "".join(f"<th {where}>{escape(str(name))}</th>" for name, where in zip(frame, place, strict=True))
    lines = []
    for row in frame.itertuples(index=False):
        cells = "".join(
            f"<td {where}>{escape(priced(value) if name in epsilons else written(value))}</td>"
            for name, value, where in zip(frame, row, place, strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    return f"<div class='wide'><table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def priced(epsilon: float) -> str:
    """An epsilon's text; nothing where there is none."""
    return "" if math.isnan(epsilon) else number(epsilon)


def written(value: Any) -> str:
    """A cell's text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float | np.floating):
        real = float(value)
        if not math.isfinite(real):
            return "" if math.isnan(real) else "∞"
        return f"{real:,.0f}" if abs(real) >= 1e5 else f"{real:.4g}"
    return str(value)
