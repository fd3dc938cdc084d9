"""The facts of a release: what it is, what it protects, whose, from whom, how far, and what it can be used for.

One record for the files that are taken home (card, README, HTML report, settings, script, notebook) and for the
dashboard, so that they cannot disagree.
"""

import inspect
import math
from dataclasses import dataclass

import pandas as pd

from dpcore.accounting.currency import above
from dpcore.accounting.relation import Relation
from dpcore.datasets import DATASETS
from dpcore.domain.rules import ORDER
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import protection
from dpcore.export.artifacts import Rows
from dpcore.export.limits import in_short, limits
from dpcore.export.quoting import plain
from dpcore.export.release import Release
from dpcore.export.rendering import SENTENCES, sentence
from dpcore.language import retold, say
from dpcore.methods import METHODS, parameters
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import number, odds

LEAST_MISSING = 0.2  # of a column's cells, from which on it is said
NAMED = 10  # rules, on a card


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is said of a release, in the language that is spoken; names of users are quoted for Markdown.

    Parameters
    ----------
    title : str
        What was released, and by which method.
    verdict : str
        Claimed and proven epsilon, in a sentence.
    reasons : tuple of str
        Why less is proved than is claimed, if so.
    void : str
        Why no guarantee holds, if so.
    card : tuple of (str, str)
        The lines of the card.
    limits : tuple of (str, str)
        What it can be used for, as far as public facts tell.
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
        """What a line of the card says, by its English name."""
        return dict(self.card)[say(what)]

    @property
    def is_bundled(self) -> bool:
        """Whether dpcore knows the data set."""
        return self.release.data_name in DATASETS


def facts(release: Release) -> Facts:
    """Return what is said of a release of rows or of a classifier.

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
    who, as_read = sentence("against", where), "as_read" if release.reconstructed else "claimed"
    claimed = sentence("card", as_read, why=say(release.reconstructed))
    (size, many), method = release.artifact.size, plain(release.method)
    mode, work = sentence("card", release.parameters["mode"]), source(release.registered)
    seed = sentence("card", "no_seed") if release.seed is None else str(release.seed)
    noise, fit = retold(release.noise_label), "void" if release.guarantee_void else "sound"
    sure = in_odds(release, who)
    made = sentence("card", "method", method=method, mode=mode, source=work)
    card = [
        (say("Method"), made.strip()),
        (say("Released"), sentence("card", "released", what=say(size), many=many, data=data)),
        *mostly_missing(release),
        (say("Guarantee"), guarantee(release, proved)),
        (say("Neighboring relation"), protection.neighbors(unit, ledger.relation)),
        (claimed, said(ledger.epsilon_claimed, unit, ledger.delta)),
        (say("Epsilon that can be proved"), bound(release)),
        *([(say("Delta"), protection.of_delta(ledger.delta))] if ledger.delta and proved < math.inf else []),
        (say("In odds"), sure),
        (say("Trusted party"), sentence("trusted", where)),
        (say("Protected against"), against(release, who)),
        *grounds_of(release),
        *rules_kept(release),
        (say("Source of noise"), sentence("card", "full_stop", sentence=noise)),
        (say("Seed"), sentence("card", "full_stop", sentence=seed)),
        (say("Publication"), sentence("publication", fit)),
        (say("Further releases"), sentence("card", "further")),
    ]
    return Facts(
        title=sentence("card", "title", what=say(release.artifact.title), method=method),
        verdict=verdict(release, sure),
        reasons=tuple(dict.fromkeys(entry.reason for entry in ledger.entries if entry.reason)),
        void=release.guarantee_void,
        card=tuple(card),
        limits=limits(release),
        open=tuple(not_protected(release, local=local)),
        data=data,
        release=release,
    )


def mostly_missing(release: Release) -> list[tuple[str, str]]:
    """The columns of released rows in which many cells are missing, and which share; rare values count so, too."""
    shares = release.synthetic.isna().mean() if isinstance(release.artifact, Rows) else pd.Series(dtype=float)
    many = shares[shares >= LEAST_MISSING].sort_values(ascending=False)
    told = in_short([f"{name} ({share:.0%})" for name, share in many.items()])
    return [(say("Missing, or rare values"), told)] if told else []


def verdict(release: Release, sure: str) -> str:
    """Claimed and proven epsilon in a sentence."""
    if release.guarantee_void:
        return release.guarantee_void
    unit, ledger = release.schema.unit, release.ledger
    proved = sentence("card", "verdict", epsilon=said(ledger.epsilon_bound, unit, ledger.delta))
    return f"{proved} {sure} {release.attackable}".strip()


def grounds(schema: Schema, relation: Relation | str, delta: float, noise: str) -> list[tuple[str, str]]:
    """What a release rests on besides its proof: four lines, each true by itself, and none in place of another."""
    return [
        (say("Noise"), say(noise)),
        (say("Schema"), provenance(schema)),
        (say("Privacy unit"), protection.protected(schema.unit, relation, delta=delta)),
        (say("Outside review"), sentence("publication", "review")),
    ]


def grounds_of(release: Release) -> list[tuple[str, str]]:
    """These lines of a release."""
    noise = parameters.grade(release.noiseless, release.exactly_sampled, release.parameters["mode"])
    return grounds(release.schema, release.ledger.relation, release.ledger.delta, noise)


def rules_kept(release: Release) -> list[tuple[str, str]]:
    """The rules that released rows keep, if there are any."""
    rules = [plain(rule.replace(ORDER, "≤")) for rule in release.schema.rules]
    few = "; ".join(rules[:NAMED]) + (" …" if rules[NAMED:] else "")  # the schema's file has them all
    text = sentence("publication", "rules", rules=few)
    if many := len(release.schema.proposed_rules):
        text += sentence("publication", "proposed_rules", n=many, m=len(rules))
    return [(say("Rules kept"), text)] if rules and isinstance(release.artifact, Rows) else []


def provenance(schema: Schema) -> str:
    """Who says what a schema says, and how many of its lines were first said by a document, or by the program."""
    if schema.source == "declared" and {*schema.origins} == {"declared"}:
        return sentence("schema", "as_declared")
    found = schema.origins.items()
    lines = [sentence("origins", origin, n=many, m=len(schema)) for origin, many in found]
    return sentence("schema", schema.source, lines=", ".join(lines))


def is_local(release: Release) -> bool:
    """Whether people randomize their own answers."""
    return issubclass(METHODS.get(release.registered, object), LocalClassifier)


def guarantee(release: Release, proved: float) -> str:
    """Which kind of privacy is promised, in a sentence."""
    if math.isinf(proved):
        return sentence("guarantee", "none")
    kind = "rho" if release.ledger.delta else "local" if is_local(release) else "pure"
    epsilon = said(proved, release.schema.unit, release.ledger.delta)
    rho = number(above(release.ledger.totals.bound))
    promised = sentence("guarantee", kind, rho=rho, epsilon=epsilon)
    return f"{promised} {release.attackable}".strip()


def bound(release: Release) -> str:
    """The epsilon that can be proved; where there is none, also what the noise alone would give."""
    unit, ledger = release.schema.unit, release.ledger
    proved, of_noise = (said(each, unit, ledger.delta) for each in (ledger.epsilon_bound, ledger.epsilon_nominal))
    return proved if proved == of_noise else sentence("guarantee", "unbounded", epsilon=of_noise)


def said(epsilon: float, unit: PrivacyUnit | None, delta: float = 0.0) -> str:
    """An epsilon in a sentence."""
    finite = math.isfinite(epsilon)
    return protection.headline(unit, epsilon, delta) if finite else sentence("guarantee", "nothing")


def in_odds(release: Release, who: str) -> str:
    """What the most that log-odds move means, in the worst case but for a chance of delta."""
    unit, ledger = release.schema.unit, release.ledger
    sure = odds(protection.gained(unit, ledger.currency, ledger.totals.bound))
    values = {"whom": sentence("odds", "row" if unit is None else "person"), "who": who}
    share = f"{100 * sure:.{1 if sure < 0.999 else 3}f}"
    values["limit"] = sentence("odds", "certain" if sure >= 0.99995 else "limit", sure=share)
    values["delta"] = f"{ledger.delta:g}"
    return sentence("odds", "delta" if ledger.delta else "pure", **values)


def against(release: Release, who: str) -> str:
    """Whom a guarantee holds against."""
    case = "exact" if release.attackable else "all"
    case = "none" if math.isinf(release.ledger.epsilon_bound) else case
    return sentence("against", case, who=who.rstrip(",，"), why=release.attackable)


def not_protected(release: Release, *, local: bool) -> list[str]:
    """What the guarantee leaves open, even where it holds."""
    reports = release.artifact.reports
    clear = [] if reports is None else [plain(name) for family in reports.clear for name in family]
    groups = protection.groups(release.schema.unit, release.ledger.delta)
    known = {"void": release.guarantee_void, "clear": clear, "local": local}
    known["replace"] = release.ledger.relation == "replace"
    names = [name for name in SENTENCES["open"] if known.get(name, True)]
    found = [sentence("open", name, columns=", ".join(clear)) for name in names]
    found.insert(names.index("people") + 1, groups)
    return found


def source(method: str) -> str:
    """The publication that a method is from, as its module names it; empty if the method is not known."""
    if method not in METHODS:
        return ""
    text = (inspect.getmodule(METHODS[method]) or object).__doc__ or ""
    reference = " ".join(text.partition("\nReference")[2].split())
    if not reference:
        return ""
    return sentence("card", "reference" if METHODS[method].paper else "own", work=reference)
