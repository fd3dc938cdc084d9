"""What a release can be used for, from public facts alone: its ledger and what was released, never a real row.

Noise is given as half the width of an interval that holds it 19 times of 20. A share of a column of k values adds up
K / k cells of a table of K cells, if the table tells all k apart.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dpcore.accounting.relation import Relation
from dpcore.export.artifacts import CountTree
from dpcore.export.model_file import Model
from dpcore.export.quoting import plain
from dpcore.export.release import Release
from dpcore.export.rendering import sentence
from dpcore.language import say
from dpcore.mechanisms.noise.histograms import WIDEST, Spread, spreads
from dpcore.mechanisms.randomizers import CategoryChannel
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports
from dpcore.text import number

NINETEEN = 2.12  # standard deviations that hold Laplace noise 19 times of 20; sums, and Gaussian noise, need fewer
VARIANCES = {"laplace": 2.0, "discrete laplace": 2.0, "gaussian": 1.0, "discrete gaussian": 1.0}  # at scale 1

MOST = 3


class NoisyTable(NamedTuple):
    """Noisy counts of a clique: how many values are told apart of each column, and the noise's standard deviations.

    Of columns that the rows were split by, one value is in each table.
    """

    sizes: Mapping[str, int]
    strata: tuple[str, ...]
    cells: int
    noise: Spread

    def variance(self, column: str, declared: Mapping[str, int]) -> float:
        """The variance of the noise on a value of a column; infinite if values are not told apart."""
        if column not in self.strata and self.sizes.get(column, 0) < declared[column]:
            return math.inf
        size, parts = self.sizes.get(column, 1), math.prod(declared[name] for name in self.strata if name != column)
        return parts * (self.noise.total**2 if size == 1 else self.cells / size * self.noise.cell**2)


def limits(release: Release) -> tuple[tuple[str, str], tuple[str, str]]:
    """How far noise moves what was released, and which relations were measured."""
    artifact, tables, entries = release.artifact, noisy_tables(release), release.ledger.entries
    if isinstance(artifact, Model):
        noise = noise_of_counts(release) if artifact.reports is None else noise_of_reports(artifact.reports)
        relations = relations_of_model(artifact, tables)
    else:
        noise, relations = noise_of_shares(release, tables), relations_of_rows(release, tables)
    if release.noiseless:
        noise = sentence("noise", "noiseless")
        relations = relations if isinstance(artifact, Model) else sentence("relations", "real")
    elif any(one.mechanism == "none" and one.draws and math.isinf(one.epsilon_nominal) for one in entries):
        noise = sentence("noise", "some", noise=noise)
    return (say("Size of the noise"), noise), (say("Relations measured"), relations)


def noisy_tables(release: Release) -> list[NoisyTable]:
    """The tables that were counted with noise, by the schema's columns."""
    found = []
    for entry, relation in zip(release.ledger.entries, release.ledger.to_frame()["relation"], strict=True):
        cells = [math.prod(size for _, size in table) for table in entry.tables if entry.scale <= WIDEST]
        one = math.sqrt(VARIANCES.get(entry.mechanism, math.inf)) * entry.scale
        noise = {many: Spread(one, math.sqrt(many) * one) for many in cells}
        if cells and entry.mechanism == "k-norm":
            noise = spreads(cells, 1 / entry.scale, public_total=relation == Relation.REPLACE)
        for table, many in zip(entry.tables, cells, strict=False):
            sizes = defaultdict[str, int](lambda: 1)
            for name, size in table:  # several, where bits of one column were counted
                sizes[name] *= size
            found.append(NoisyTable(sizes, entry.strata, many, noise[many]))
    return found


def noise_of_shares(release: Release, tables: list[NoisyTable]) -> str:
    """How far noise moves the share of one value of a column."""
    if not tables:
        return sentence("noise", "unknown")
    if release.parameters.get("x_source") == "uniform":  # the class follows from values that are drawn
        return sentence("noise", "model", noise=noise_of_counts(release))
    if release.rows <= 0:
        return sentence("noise", "rows")
    points, declared = 100 * NINETEEN / release.rows, {column.name: column.size for column in release.schema.columns}
    counted = columns_of(tables)
    if isinstance(release.artifact, CountTree):  # a group of values has half of the finest groups, or less
        finest = max(tables, key=lambda table: table.cells)
        most = format_points(points * finest.noise.cell * math.sqrt(max(finest.cells / 2, 1)))
        return noise_and(sentence("noise", "group", most=most), guesses={*declared} - counted)
    variances = {name: min(table.variance(name, declared) for table in tables) for name in declared}
    found = {name: points * math.sqrt(one) for name, one in variances.items() if math.isfinite(one)}
    return noise_and(in_points(found) if found else "", counted - {*found}, {*declared} - counted)


def noise_and(noise: str, unknown: Iterable[str] = (), guesses: Iterable[str] = (), clear: Iterable[str] = ()) -> str:
    """What is said of noise, and then of columns that it says nothing of."""
    more = {"unknown_columns": unknown, "guessed_columns": guesses, "clear_columns": clear}
    named = {case: in_short(sorted(columns)) for case, columns in more.items()}
    said = [sentence("noise", case, columns=names) for case, names in named.items() if names]
    return " ".join(filter(None, [noise, *said]))


def in_points(found: Mapping[str, float]) -> str:
    """Noise in percentage points, of the column in the middle and of the noisiest."""
    noisiest = max(found, key=lambda name: found[name])
    middle = format_points(float(np.median([*found.values()])))
    values = {"most": format_points(found[noisiest]), "column": plain(noisiest)}
    return sentence("noise", "shares", middle=middle, **values)


def format_points(points: float) -> str:
    """Percentage points, of which a share has no more than 100."""
    return sentence("noise", "over") if points > 100 else number(points)


def noise_of_counts(release: Release) -> str:
    """How far noise moves a count that a model is made of."""
    noisy = [one for one in release.ledger.entries if one.mechanism in VARIANCES and 0 < one.scale < math.inf]
    if not noisy:
        return sentence("noise", "unknown")
    rows = NINETEEN * math.sqrt(VARIANCES[noisy[-1].mechanism]) * noisy[-1].scale
    return sentence("noise", "counts", rows=number(rows))


def noise_of_reports(reports: Reports) -> str:
    """How far randomizing moves the share of people with one value."""
    found, names = dict[str, float](), {family: " × ".join(family) for family in reports.channels}
    clear = {names[family] for family in reports.clear}
    for family, channel in reports.channels.items():
        people = len(reports.values[family])
        if isinstance(channel, CategoryChannel) and people and not channel.truthful:
            spread = float(np.sqrt(channel.base * (1 - channel.base)).max())
            found[names[family]] = 100 * NINETEEN * spread / max(channel.gain, 1e-9) / math.sqrt(people)
    return noise_and(in_points(found) if found else "", {*names.values()} - {*found} - clear, clear=clear)


def relations_of_rows(release: Release, tables: list[NoisyTable]) -> str:
    """Which pairs of columns were counted together."""
    pairs = sorted({pair for table in tables for pair in combinations(sorted(columns_of([table])), 2)})
    shown, many = in_short([" × ".join(pair) for pair in pairs]), math.comb(len(release.schema), 2)
    return sentence("relations", "some" if pairs else "none", n=len(pairs), m=many, pairs=shown)


def columns_of(tables: list[NoisyTable]) -> set[str]:
    """The columns that were counted."""
    return {name for table in tables for name in (*table.sizes, *table.strata)}


def relations_of_model(model: Model, tables: list[NoisyTable]) -> str:
    """Which columns a classifier predicts by."""
    columns: Iterable[str] = sorted(columns_of(tables))
    if isinstance(model.predictor, Bayes):
        columns = model.predictor.columns
    elif isinstance(model.predictor, Forest) and not model.predictor.leaf.all():
        columns = [str(name) for name, share in model.predictor.importance().items() if share > 0]
    names = [name for name in columns if name != model.target]
    shown = in_short(names) or sentence("relations", "no_column")
    return sentence("relations", "model", target=plain(model.target), columns=shown)


def in_short(names: list[str]) -> str:
    """The first of several names, and how many more there are."""
    first = ", ".join(map(plain, names[:MOST]))
    more = len(names) - MOST
    return sentence("relations", "more", names=first, more=more) if more > 0 else first
