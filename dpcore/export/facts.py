"""The facts of a release: what it is, what it protects, whose, from whom, how far, and what it can be used for.

One record for the files that are taken home (card, README, HTML report, settings, script, notebook)
and for the dashboard, so that they cannot disagree.

What a release can be used for is told from public facts alone: its ledger and what was released,
never a real row. Noise is given as half the width of an interval that holds it 19 times of 20. A
share of a column of k values adds up K / k cells of a table of K cells, if the table tells all k
apart.
"""

import inspect
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpcore.accounting.privacy_measure import round_up
from dpcore.accounting.relation import Relation
from dpcore.datasets import DATASETS
from dpcore.domain.rules import ORDER
from dpcore.domain.schema import Schema
from dpcore.export import protection
from dpcore.export.artifacts import Answers, CountTree, Model, SyntheticRows
from dpcore.export.release import Release
from dpcore.export.rendering import SENTENCES, plain, sentence
from dpcore.language import retold, say
from dpcore.mechanisms.noise.histograms import WIDEST, Spread, spreads
from dpcore.mechanisms.randomizers import CategoryChannel
from dpcore.methods import METHODS, parameters
from dpcore.methods.local.base import LocalClassifier
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports
from dpcore.text import number, odds

LEAST_MISSING = 0.2  # of a column's cells, from which on it is said
NAMED = 10  # rules, on a card

NINETEEN = 2.12  # standard deviations that hold Laplace noise 19 times of 20; sums, and Gaussian noise, need fewer
VARIANCES = {"laplace": 2.0, "discrete laplace": 2.0, "gaussian": 1.0, "discrete gaussian": 1.0}  # at scale 1

MOST = 3


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts on a release that the card and the report state, in the language of the screen.

    Users' names are quoted for Markdown.

    Parameters
    ----------
    title : str
        What was released, and by which method.
    verdict : str
        Claimed and proven epsilon, in a sentence.
    reasons : tuple of str
        Why only a larger epsilon than claimed can be proved, if so.
    void : str
        Why no guarantee holds, if so.
    card : tuple of (str, str)
        The lines of the card.
    limits : tuple of (str, str)
        The size of the noise, and which relations of columns were measured.
    open : tuple of str
        What is not protected.
    data : str
        The name of the data set, in quotes.
    release : Release
        The release, whose names are as users wrote them.
    """

    title: str
    verdict: str
    reasons: tuple[str, ...]
    void: str
    card: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    open: tuple[str, ...]
    data: str
    release: Release

    def __getitem__(self, what: str) -> str:
        """Return a line of the card by its English name."""
        return dict(self.card)[say(what)]

    @property
    def is_bundled(self) -> bool:
        """Whether dpcore ships the data set."""
        return self.release.data_name in DATASETS


def facts(release: Release) -> Facts:
    """Collect the facts on a release of rows or of a classifier.

    Parameters
    ----------
    release : Release
        The release.

    Returns
    -------
    Facts
        The facts.
    """
    ledger, local, unit = release.ledger, is_local(release), release.schema.unit
    proved, data = ledger.epsilon_bound, repr(plain(release.data_name))
    where = "local" if local else "central"
    who, as_read = sentence("against", where), "as_read" if release.reading_note else "claimed"
    claimed = sentence("card", as_read, why=say(release.reading_note))
    (size, many), method = release.artifact.size, plain(release.method)
    mode, work = sentence("card", release.parameters["mode"]), source(release.method_key)
    seed = sentence("card", "no_seed") if release.seed is None else str(release.seed)
    noise, fit = retold(release.noise_label), "void" if release.guarantee_void else "sound"
    sure = in_odds(release, who)
    made = sentence("card", "method", method=method, mode=mode, source=work)
    card = [
        (say("Method"), made.strip()),
        (say("What is released"), sentence("card", "released", counted=say(size), number=many, data=data)),
        (say("Missing, or rare values"), mostly_missing(release)),
        (say("Guarantee"), guarantee(release, proved)),
        (say("Neighboring relation"), protection.neighbors(unit, ledger.relation)),
        (claimed, epsilon_sentence(release, ledger.epsilon_claimed)),
        (say("Epsilon that can be proved"), bound(release)),
        (say("Delta"), protection.of_delta(ledger.delta) if ledger.delta and proved < math.inf else ""),
        (say("Worst-case belief"), sure),
        (say("Trusted party"), sentence("trusted", where)),
        (say("Attackers that the guarantee covers"), against_whom(release, who)),
        *grounds_of(release),
        (say("Schema rules kept"), rules_kept(release)),
        (say("Source of noise"), sentence("card", "full_stop", noise_or_seed=noise)),
        (say("Seed"), sentence("card", "full_stop", noise_or_seed=seed)),
        (say("Fit for publication"), sentence("publication", fit)),
        (say("Further releases"), sentence("card", "further")),
    ]
    return Facts(
        title=sentence("card", "title", what=say(release.artifact.title), method=method),
        verdict=verdict(release, sure),
        reasons=tuple(dict.fromkeys(entry.reason for entry in ledger.entries if entry.reason)),
        void=release.guarantee_void,
        card=tuple(line for line in card if line[1]),
        limits=limits(release),
        open=tuple(not_protected(release, local=local)),
        data=data,
        release=release,
    )


def mostly_missing(release: Release) -> str:
    """Name the released columns with many missing cells, and the share of those cells.

    Rare values that were merged count as missing.
    """
    shares = release.synthetic.isna().mean() if isinstance(release.artifact, SyntheticRows) else pd.Series(dtype=float)
    many = shares[shares >= LEAST_MISSING].sort_values(ascending=False)
    return in_short([f"{name} ({share:.0%})" for name, share in many.items()])


def verdict(release: Release, sure: str) -> str:
    """Return a sentence with the proven epsilon, or on why nothing is proven.

    `sure` is the sentence of `in_odds`, which follows.
    """
    if release.guarantee_void:
        return release.guarantee_void
    proved = sentence("card", "verdict", epsilon=epsilon_sentence(release, release.ledger.epsilon_bound))
    return f"{proved} {sure} {release.attackable}".strip()


def grounds(schema: Schema, relation: Relation | str, delta: float, noise: str) -> list[tuple[str, str]]:
    """Return four lines (label, sentence) on what a guarantee rests on besides its proof.

    They are about the noise (`noise` is its description), the schema, the privacy unit, and the
    missing outside review.
    """
    return [
        (say("Noise"), say(noise)),
        (say("Schema"), provenance(schema)),
        (say("Privacy unit"), protection.describe_unit(schema.unit, relation, delta=delta)),
        (say("Outside review"), sentence("publication", "review")),
    ]


def grounds_of(release: Release) -> list[tuple[str, str]]:
    """Return the lines of `grounds` for a release."""
    noise = parameters.describe_noise_quality(release.noiseless, release.exactly_sampled, release.parameters["mode"])
    return grounds(release.schema, release.ledger.relation, release.ledger.delta, noise)


def rules_kept(release: Release) -> str:
    """Return a sentence on the schema's rules that released rows keep; empty if there are none."""
    if not (release.schema.rules and isinstance(release.artifact, SyntheticRows)):
        return ""
    rules = [plain(rule.replace(ORDER, "≤")) for rule in release.schema.rules]
    few = "; ".join(rules[:NAMED]) + (" …" if rules[NAMED:] else "")  # the schema's file has them all
    text = sentence("publication", "rules", rules=few)
    if many := len(release.schema.proposed_rules):
        text += sentence("publication", "proposed_rules", n=many, m=len(rules))
    return text


def provenance(schema: Schema) -> str:
    """Return a sentence on who declared the schema.

    It also says of how many columns a document or dpcore proposed the declaration.
    """
    if schema.source == "declared" and {*schema.origins} == {"declared"}:
        return sentence("schema", "as_declared")
    found = schema.origins.items()
    lines = [sentence("origins", origin, n=many, m=len(schema)) for origin, many in found]
    return sentence("schema", schema.source, lines=", ".join(lines))


def is_local(release: Release) -> bool:
    """Return whether people randomize their own answers."""
    return issubclass(METHODS.get(release.method_key, object), LocalClassifier)


def guarantee(release: Release, proved: float) -> str:
    """Return a sentence on the kind of privacy that is guaranteed; `proved` is the proven epsilon."""
    if math.isinf(proved):
        return sentence("guarantee", "none")
    kind = "rho" if release.ledger.delta else "local" if is_local(release) else "pure"
    rho = number(round_up(release.ledger.totals.bound))
    promised = sentence("guarantee", kind, rho=rho, epsilon=epsilon_sentence(release, proved))
    return f"{promised} {release.attackable}".strip()


def bound(release: Release) -> str:
    """Return the proven epsilon as text, or if there is none, the nominal one as well."""
    ledger = release.ledger
    proved, of_noise = (epsilon_sentence(release, each) for each in (ledger.epsilon_bound, ledger.epsilon_nominal))
    return proved if proved == of_noise else sentence("guarantee", "unbounded", epsilon=of_noise)


def epsilon_sentence(release: Release, epsilon: float) -> str:
    """Return a sentence with an epsilon of a release."""
    if math.isinf(epsilon):
        return sentence("guarantee", "nothing")
    return protection.headline(release.schema.unit, epsilon, release.ledger.delta)


def in_odds(release: Release, who: str) -> str:
    """Return a sentence on the largest change of the odds that someone is in the data.

    `who` says what the observer does, such as "sees the release". With a delta, the change may be
    larger with that probability.
    """
    unit, ledger = release.schema.unit, release.ledger
    sure = odds(protection.log_odds_gained(unit, ledger.measure, ledger.totals.bound))
    values = {"whom": sentence("odds", "row" if unit is None else "person"), "observes": who}
    share = f"{100 * sure:.{1 if sure < 0.999 else 3}f}"
    values["limit"] = sentence("odds", "certain" if sure >= 0.99995 else "limit", sure=share)
    values["delta"] = f"{ledger.delta:g}"
    return sentence("odds", "delta" if ledger.delta else "pure", **values)


def against_whom(release: Release, who: str) -> str:
    """Return a sentence on whom a guarantee protects against.

    `who` says what such a person does, such as "sees the release".
    """
    case = "exact" if release.attackable else "all"
    case = "none" if math.isinf(release.ledger.epsilon_bound) else case
    return sentence("against", case, observes=who.rstrip(",，"), why=release.attackable)


def not_protected(release: Release, *, local: bool) -> list[str]:
    """List what the guarantee does not protect, even where it holds.

    `local` says whether people randomized their own answers.
    """
    reports = release.artifact.reports
    clear = [] if reports is None else [plain(name) for family in reports.truthful_questions for name in family]
    groups = protection.groups(release.schema.unit, release.ledger.delta)
    known = {"void": release.guarantee_void, "clear": clear, "local": local}
    known["replace"] = release.ledger.relation == "replace"
    names = [name for name in SENTENCES["open"] if known.get(name, True)]
    found = [sentence("open", name, columns=", ".join(clear)) for name in names]
    found.insert(names.index("people") + 1, groups)
    return found


def source(method: str) -> str:
    """Return the publication of a method, as its module's docstring names it.

    `method` is a name in `METHODS`; the result is empty for other names.
    """
    if method not in METHODS:
        return ""
    text = (inspect.getmodule(METHODS[method]) or object).__doc__ or ""
    reference = " ".join(text.partition("\nReference")[2].split())
    if not reference:
        return ""
    return sentence("card", "reference" if METHODS[method].paper else "own", work=reference)


class NoisyTable(NamedTuple):
    """Noisy counts of a clique of columns.

    `sizes` has how many values of each column are told apart, `cells` is the number of counts, and
    `noise` has the standard deviations of a count and of their total. Of columns that the rows were
    split by (`strata`), each table has one value.
    """

    sizes: Mapping[str, int]
    strata: tuple[str, ...]
    cells: int
    noise: Spread

    def variance(self, column: str, declared: Mapping[str, int]) -> float:
        """The variance of the noise on a value of a column; infinite if values are alike.

        `declared` has the number of values of each column of the schema.
        """
        if column not in self.strata and self.sizes.get(column, 0) < declared[column]:
            return math.inf
        size, parts = self.sizes.get(column, 1), math.prod(declared[name] for name in self.strata if name != column)
        return parts * (self.noise.total**2 if size == 1 else self.cells / size * self.noise.cell**2)


def limits(release: Release) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return sentences on the size of the noise, and on the relations that were measured."""
    artifact, tables, entries = release.artifact, noisy_tables(release), release.ledger.entries
    if isinstance(artifact, Answers):
        noise, relations = sentence("noise", "answers"), sentence("relations", "answers")
    elif isinstance(artifact, Model):
        noise = noise_of_counts(release) if artifact.reports is None else noise_of_reports(artifact.reports)
        relations = relations_of_model(artifact, tables)
    else:
        noise, relations = noise_of_shares(release, tables), relations_of_rows(release, tables)
    if release.noiseless:
        noise = sentence("noise", "noiseless")
        relations = relations if isinstance(artifact, Model) else sentence("relations", "real")
    elif any(one.mechanism == "none" and one.draws and math.isinf(one.epsilon_nominal) for one in entries):
        noise = sentence("noise", "some", noise=noise)
    return (say("Size of the noise"), noise), (say("Column relations measured"), relations)


def noisy_tables(release: Release) -> list[NoisyTable]:
    """Return the cliques that were counted with noise, in the schema's columns."""
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
    """Return a sentence on how far noise moves the share of one value of a column.

    It is the distance that is not exceeded 19 times of 20.
    """
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
    """Join a sentence on noise with sentences on columns that it does not cover.

    The noise of these columns is `unknown`, they are `guesses` because nothing of them was
    measured, or they are `clear`: reported without noise.
    """
    more = {"unknown_columns": unknown, "guessed_columns": guesses, "clear_columns": clear}
    named = {case: in_short(sorted(columns)) for case, columns in more.items()}
    said = [sentence("noise", case, columns=names) for case, names in named.items() if names]
    return " ".join(filter(None, [noise, *said]))


def in_points(found: Mapping[str, float]) -> str:
    """Return a text with the noise in percentage points, of the median column and the noisiest.

    `found` has the noise by column.
    """
    noisiest = max(found, key=lambda name: found[name])
    middle = format_points(float(np.median([*found.values()])))
    values = {"most": format_points(found[noisiest]), "column": plain(noisiest)}
    return sentence("noise", "shares", middle=middle, **values)


def format_points(points: float) -> str:
    """Format noise as percentage points, at most 100."""
    return sentence("noise", "over") if points > 100 else number(points)


def noise_of_counts(release: Release) -> str:
    """Return a sentence on how far noise moves a count that a model is made of.

    It is the distance that is not exceeded 19 times of 20.
    """
    noisy = [one for one in release.ledger.entries if one.mechanism in VARIANCES and 0 < one.scale < math.inf]
    if not noisy:
        return sentence("noise", "unknown")
    rows = NINETEEN * math.sqrt(VARIANCES[noisy[-1].mechanism]) * noisy[-1].scale
    return sentence("noise", "counts", rows=number(rows))


def noise_of_reports(reports: Reports) -> str:
    """Return a sentence on how far randomized response moves the share of people with one value.

    It is the distance that is not exceeded 19 times of 20.
    """
    found, names = dict[str, float](), {family: " × ".join(family) for family in reports.channels}
    clear = {names[family] for family in reports.truthful_questions}
    for family, channel in reports.channels.items():
        people = len(reports.values[family])
        if isinstance(channel, CategoryChannel) and people and not channel.truthful:
            spread = float(np.sqrt(channel.base * (1 - channel.base)).max())
            found[names[family]] = 100 * NINETEEN * spread / max(channel.gain, 1e-9) / math.sqrt(people)
    return noise_and(in_points(found) if found else "", {*names.values()} - {*found} - clear, clear=clear)


def relations_of_rows(release: Release, tables: list[NoisyTable]) -> str:
    """Return a sentence on which pairs of columns were counted together."""
    pairs = sorted({pair for table in tables for pair in combinations(sorted(columns_of([table])), 2)})
    shown, many = in_short([" × ".join(pair) for pair in pairs]), math.comb(len(release.schema), 2)
    return sentence("relations", "some" if pairs else "none", n=len(pairs), m=many, pairs=shown)


def columns_of(tables: list[NoisyTable]) -> set[str]:
    """Return the columns that occur in any of these noisy tables."""
    return {name for table in tables for name in (*table.sizes, *table.strata)}


def relations_of_model(model: Model, tables: list[NoisyTable]) -> str:
    """Return a sentence on which columns a classifier predicts by."""
    columns: Iterable[str] = sorted(columns_of(tables))
    if isinstance(model.predictor, Bayes):
        columns = model.predictor.columns
    elif isinstance(model.predictor, Forest) and not model.predictor.leaf.all():
        columns = [str(name) for name, share in model.predictor.importance().items() if share > 0]
    names = [name for name in columns if name != model.target]
    shown = in_short(names) or sentence("relations", "no_column")
    return sentence("relations", "model", target=plain(model.target), columns=shown)


def in_short(names: list[str]) -> str:
    """Join the first three names, and say how many more there are."""
    first = ", ".join(map(plain, names[:MOST]))
    more = len(names) - MOST
    return sentence("relations", "more", column_names=first, more=more) if more > 0 else first
