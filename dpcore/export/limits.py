"""What a release can be used for, from public facts alone: its ledger and what was released, never a real row.

Noise is told as half the width of an interval that holds it 19 times of 20. Of a table of K cells over a column of k
values, K / k cells add up to one share. Noise for several histograms at once is told as that of one after another,
which is more.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np

from dpcore.export.artifacts import CountTree
from dpcore.export.model_file import Model
from dpcore.export.quoting import plain
from dpcore.export.release import Release
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import CategoryChannel
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports

NINETEEN = 1.96  # standard deviations that hold noise 19 times of 20
DEVIATIONS = {"gaussian": 1.0, "discrete gaussian": 1.0, "exponential": 0.0}  # at scale 1; the others are Laplace's
LAPLACE = math.sqrt(2)
PART = re.compile(r" \(level \d+\)$| bit \d+$")  # of a column, behind its name in a query
MORE = re.compile(r" and (\d+) more$")
MOST = 3
Cliques = Mapping[frozenset[str], float]


def limits(release: Release) -> tuple[tuple[str, str], tuple[str, str]]:
    """How far noise moves what was released, and which relations were measured."""
    artifact, cliques = release.artifact, measured_cliques(release)
    if isinstance(artifact, Model):
        noise = noise_of_counts(release) if artifact.reports is None else noise_of_reports(artifact.reports)
        relations = relations_of_model(artifact, cliques)
    else:
        noise, relations = noise_of_shares(release, cliques), relations_of_rows(release, cliques)
    return (say("Size of the noise"), noise), (say("Relations measured"), relations)


def measured_cliques(release: Release) -> Cliques:
    """The sets of columns that were counted together, each with the standard deviation of one cell's noise."""
    names, found = release.schema.names, defaultdict[frozenset[str], dict[str, float]](dict)
    for entry in release.ledger.to_frame().to_dict("records"):
        kind, _, queried = entry["name"].partition(" of ")
        deviation = DEVIATIONS.get(entry["mechanism"], LAPLACE) * entry["scale"]
        split = [name for name in names if f"split by {name} / " in f"{entry['scope']} / "]
        together: list[list[str]] = []
        if kind == "counts":
            together = [[PART.sub("", name) for name in queried.split(" × ")]]
        elif kind == "histograms":  # several queries, of all columns together
            together = [[name] for name in names if name not in split]
            more = MORE.search(queried)
            deviation *= queried.count(", ") + 1 + (int(more[1]) if more else 0)
        for clique in together:
            if {*clique} <= {*names}:
                parts = found[frozenset([*clique, *split])]
                parts[entry["scope"]] = min(deviation, parts.get(entry["scope"], math.inf))
    return {clique: max(parts.values()) for clique, parts in found.items()}


def noise_of_shares(release: Release, cliques: Cliques) -> str:
    """How far noise moves the share of one value of a column."""
    sizes = {column.name: column.size for column in release.schema.columns}
    leaves = len(release.artifact.leaf_counts) / 2 if isinstance(release.artifact, CountTree) else 0
    drawn_evenly = {*sizes} - {release.parameters.get("target") or release.schema.target}
    if release.parameters.get("x_source") != "uniform":
        drawn_evenly = set()
    found: dict[str, float] = {}
    for clique, deviation in cliques.items():
        for name in clique - drawn_evenly:
            cells = leaves or math.prod(sizes[other] for other in clique) / sizes[name]
            points = 100 * NINETEEN * deviation * math.sqrt(cells) / max(release.rows, 1.0)
            found[name] = min(points, found.get(name, 100.0))
    if not found:
        return say("not known: no counts of rows were released.")
    groups = phrase(
        "± {most:.2g} percentage points on the share of a group of values, 19 times of 20. Values within a group are "
        "guesses."
    )
    noise = say(groups, most=max(found.values())) if leaves else in_points(found)
    others = [name for name in sizes if name not in found]
    return say("{noise} Shares of {columns} are guesses.", noise=noise, columns=in_short(others)) if others else noise


def in_points(found: Mapping[str, float]) -> str:
    """Noise in percentage points, of the column in the middle and of the noisiest."""
    noisiest = max(found, key=lambda name: found[name])
    return say(
        "± {middle:.2g} percentage points on a share in the median column, ± {most:.2g} in {column}, 19 times of 20. "
        "What the method simplifies comes on top.",
        middle=float(np.median([*found.values()])),
        most=found[noisiest],
        column=plain(noisiest),
    )


def noise_of_counts(release: Release) -> str:
    """How far noise moves a count that a classifier predicts by."""
    frame = release.ledger.to_frame()
    noisy = frame[~frame["mechanism"].isin(["exponential", "none"])]
    if noisy.empty:
        return say("not known: no counts of rows were released.")
    last = noisy.iloc[-1]
    rows = NINETEEN * DEVIATIONS.get(last["mechanism"], LAPLACE) * last["scale"]
    return say("± {rows:.2g} rows on each count in a leaf, 19 times of 20.", rows=rows)


def noise_of_reports(reports: Reports) -> str:
    """How far randomizing moves the share of people with one value."""
    found = {}
    for family, channel in reports.channels.items():
        if isinstance(channel, CategoryChannel) and len(reports.values[family]):
            spread = float(np.sqrt(channel.base * (1 - channel.base)).max())
            people = len(reports.values[family])
            points = 100 * NINETEEN * spread / max(channel.gain, 1e-9) / math.sqrt(people)
            found[" × ".join(family)] = min(points, 100.0)
    return in_points(found) if found else say("not known: no counts of rows were released.")


def relations_of_rows(release: Release, cliques: Cliques) -> str:
    """Which pairs of columns were counted together."""
    pairs = sorted({pair for clique in cliques for pair in combinations(sorted(clique), 2)})
    if not pairs:
        return say("none: all of them are guesses, even where they look plausible.")
    return say(
        "{n:,} of {m:,} pairs of columns: {pairs}. All others are guesses, even where they look plausible.",
        n=len(pairs),
        m=math.comb(len(release.schema), 2),
        pairs=in_short([f"{first} × {second}" for first, second in pairs]),
    )


def relations_of_model(model: Model, cliques: Cliques) -> str:
    """Which columns a classifier predicts by."""
    columns: Iterable[str] = frozenset().union(*cliques)
    if isinstance(model.predictor, Bayes):
        columns = model.predictor.columns
    elif isinstance(model.predictor, Forest) and not model.predictor.leaf.all():
        columns = [str(name) for name, share in model.predictor.importance().items() if share > 0]
    names = [name for name in columns if name != model.target]
    told = phrase("{target} with {columns}. It says nothing of other relations.")
    return say(told, target=plain(model.target), columns=in_short(names) or say("no column"))


def in_short(names: list[str]) -> str:
    """The first of several names, and how many more there are."""
    first = ", ".join(map(plain, names[:MOST]))
    more = len(names) - MOST
    return say("{names} and {more:,} more", names=first, more=more) if more > 0 else first
