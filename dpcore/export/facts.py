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
from dpcore.language import phrase, retold, say
from dpcore.methods import METHODS, presets
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import number, odds

DECLARED = phrase("declared. Bounds, bins and categories are public by declaration.")
SCHEMA_SOURCES = {
    "declared": phrase("declared by the user; {lines}. Bounds, bins and categories are public by declaration."),
    "inferred": phrase("inferred; {lines}. Bounds, bins and categories were read off the private rows."),
}
ORIGINS = {
    "declared": phrase("{n:,} of {m:,} lines without a proposal on record"),
    "document": phrase("{n:,} of {m:,} lines from a document"),
    "proposed": phrase("{n:,} of {m:,} lines as the program proposed them from the rows"),
    "changed": phrase("{n:,} of {m:,} lines proposed from the rows and changed"),
}
LEAST_MISSING = 0.2  # of a column's cells, from which on it is said
MODES = {"corrected": phrase("corrected mode"), "published": phrase("as its source prints it")}
CENTRAL = phrase(
    "The person who runs the method: that program sees every true row. So does anyone who can read that computer's "
    "files and memory. No one else has to be trusted."
)
LOCAL = phrase(
    "None, where people randomize their answers themselves and hand in nothing else. Here this was simulated: one "
    "program held the true rows and played every person's part."
)
SEES = {False: phrase("sees the release"), True: phrase("collects the reports, or sees what is made of them,")}
COMPARISONS = phrase(
    "Comparisons with the real rows. Accuracies and charts that use them carry no guarantee, nor does the choice of "
    "this run among several because of them."
)
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
    proved, who, data = ledger.epsilon_bound, say(SEES[local]), repr(plain(release.data_name))
    claimed = say("Epsilon claimed by the method's source")
    if release.reconstructed:
        why = say(release.reconstructed)
        claimed = say("Epsilon claimed by the method's source, as we read it ({why})", why=why)
    (size, many), method = release.artifact.size, plain(release.method)
    mode, work = say(MODES[release.parameters["mode"]]), source(release.registered)
    seed = say("none (operating-system entropy)") if release.seed is None else str(release.seed)
    sure = in_odds(release, who)
    card = [
        (say("Method"), say("{method}, {mode}. {source}", method=method, mode=mode, source=work).strip()),
        (say("Released"), say("{what}: {many}. Made from {data}.", what=say(size), many=many, data=data)),
        *mostly_missing(release),
        (say("Guarantee"), guarantee(release, proved)),
        (say("Neighboring relation"), protection.neighbors(unit, ledger.relation)),
        (claimed, said(ledger.epsilon_claimed, unit, ledger.delta)),
        (say("Epsilon that can be proved"), bound(release)),
        *([(say("Delta"), protection.of_delta(ledger.delta))] if ledger.delta and proved < math.inf else []),
        (say("In odds"), sure),
        (say("Trusted party"), say(LOCAL if local else CENTRAL)),
        (say("Protected against"), against(release, who)),
        *grounds_of(release),
        *rules_kept(release),
        (say("Source of noise"), say("{sentence}.", sentence=retold(release.noise_label))),
        (say("Seed"), say("{sentence}.", sentence=seed)),
        (say("Publication"), publication(release)),
        (say("Further releases"), say("every further release from the same rows adds to these epsilons.")),
    ]
    return Facts(
        title=say("{what} by {method}", what=say(release.artifact.title), method=method),
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
    proved = say("Epsilon {epsilon}, proven:", epsilon=said(ledger.epsilon_bound, unit, ledger.delta))
    return f"{proved} {sure} {release.attackable}".strip()


def grounds(schema: Schema, relation: Relation | str, delta: float, noise: str) -> list[tuple[str, str]]:
    """What a release rests on besides its proof: four lines, each true by itself, and none in place of another."""
    return [
        (say("Noise"), say(noise)),
        (say("Schema"), provenance(schema)),
        (say("Privacy unit"), protection.protected(schema.unit, relation, delta=delta)),
        (say("Outside review"), say("none of this version.")),
    ]


def grounds_of(release: Release) -> list[tuple[str, str]]:
    """These lines of a release."""
    noise = presets.grade(release.noiseless, release.exactly_sampled, release.parameters["mode"])
    return grounds(release.schema, release.ledger.relation, release.ledger.delta, noise)


def rules_kept(release: Release) -> list[tuple[str, str]]:
    """The rules that released rows keep, if there are any."""
    rules = [plain(rule.replace(ORDER, "≤")) for rule in release.schema.rules]
    few = "; ".join(rules[:NAMED]) + (" …" if rules[NAMED:] else "")  # the schema's file has them all
    text = say("{rules}. No row breaks one.", rules=few)
    if many := len(release.schema.proposed_rules):
        text += say(" Proposed from the rows: {n:,} of {m:,}.", n=many, m=len(rules))
    return [(say("Rules kept"), text)] if rules and isinstance(release.artifact, Rows) else []


def provenance(schema: Schema) -> str:
    """Who says what a schema says, and how many of its lines were first said by a document, or by the program."""
    if schema.source == "declared" and {*schema.origins} == {"declared"}:
        return say(DECLARED)
    lines = [say(ORIGINS[origin], n=many, m=len(schema)) for origin, many in schema.origins.items()]
    return say(SCHEMA_SOURCES[schema.source], lines=", ".join(lines))


def is_local(release: Release) -> bool:
    """Whether people randomize their own answers."""
    return issubclass(METHODS.get(release.registered, object), LocalClassifier)


def guarantee(release: Release, proved: float) -> str:
    """Which kind of privacy is promised, in a sentence."""
    if math.isinf(proved):
        return say("none that can be proved.")
    if release.ledger.delta:
        told = phrase(
            "zero-concentrated differential privacy with rho {rho}, hence approximate differential privacy with "
            "epsilon {epsilon}."
        )
    elif is_local(release):
        told = phrase("pure local differential privacy (no delta) with epsilon {epsilon}.")
    else:
        told = phrase("pure differential privacy (no delta) with epsilon {epsilon}.")
    epsilon = said(proved, release.schema.unit, release.ledger.delta)
    promised = say(told, rho=number(above(release.ledger.totals.bound)), epsilon=epsilon)
    return f"{promised} {release.attackable}".strip()


def bound(release: Release) -> str:
    """The epsilon that can be proved; where there is none, also what the noise alone would give."""
    unit, ledger = release.schema.unit, release.ledger
    proved, of_noise = (said(each, unit, ledger.delta) for each in (ledger.epsilon_bound, ledger.epsilon_nominal))
    return proved if proved == of_noise else say("none (the noise alone would give {epsilon})", epsilon=of_noise)


def said(epsilon: float, unit: PrivacyUnit | None, delta: float = 0.0) -> str:
    """An epsilon in a sentence."""
    return protection.headline(unit, epsilon, delta) if math.isfinite(epsilon) else say("none")


def in_odds(release: Release, who: str) -> str:
    """What the most that log-odds move means, in the worst case but for a chance of delta."""
    unit, ledger = release.schema.unit, release.ledger
    sure = odds(protection.gained(unit, ledger.currency, ledger.totals.bound))
    whom = say("one row (a person, if each has one)") if unit is None else say("a person")
    limit = say("at most {sure}% sure", sure=f"{100 * sure:.{1 if sure < 0.999 else 3}f}")
    if sure >= 0.99995:
        limit = say("practically certain")
    told = phrase("someone who was 50:50 unsure about {whom} and {who} could become {limit}, in the worst case.")
    if ledger.delta:
        told = phrase(
            "someone who was 50:50 unsure about {whom} and {who} could become {limit}, in the worst case but for a "
            "chance of {delta}."
        )
    return say(told, whom=whom, who=who, limit=limit, delta=f"{ledger.delta:g}")


def against(release: Release, who: str) -> str:
    """Whom a guarantee holds against."""
    if math.isinf(release.ledger.epsilon_bound):
        return say("no one, as far as can be proved.")
    if release.attackable:
        return say("in exact arithmetic, anyone who {who}. {why}", who=who.rstrip(",，"), why=release.attackable)
    return say(
        "anyone who {who}, whatever else they know, unless they predict this computer's random numbers.",
        who=who.rstrip(",，"),
    )


def publication(release: Release) -> str:
    """Whether the release may leave the house, in a sentence."""
    if release.guarantee_void:
        return say("do not publish.")
    return say("for you to decide: by this epsilon, the noise, the schema, the privacy unit, and the missing review.")


def not_protected(release: Release, *, local: bool) -> list[str]:
    """What the guarantee leaves open, even where it holds."""
    found = []
    if release.guarantee_void:
        found.append(
            say("Anything, as far as can be proved: see above. What follows is open where a guarantee holds, too.")
        )
    if (reports := release.artifact.reports) is not None and reports.clear:
        names = [plain(name) for family in reports.clear for name in family]
        found.append(say("True answers that people hand in as they are: {columns}.", columns=", ".join(names)))
    found += [
        say(
            "What holds for people in general. Anyone who learns from the release that an illness is frequent at "
            "some age can say so of anyone, whether they are in the data or not."
        ),
        protection.groups(release.schema.unit, release.ledger.delta),
        say("Other releases from the same rows, by this program or any other: their epsilons add up."),
        say(COMPARISONS),
        say("The schema: columns, categories, bounds and bins are taken to be public, and so are the settings."),
        say("How long the run took, and what it did to the computer's memory."),
    ]
    if release.ledger.relation == "replace":
        found.append(say("Who is in the data, and how many: this relation protects values, not presence."))
    if local:
        found.append(say("Who reported, and which question a person was asked."))
    return found


def source(method: str) -> str:
    """The publication that a method is from, as its module names it; empty if the method is not known."""
    if method not in METHODS:
        return ""
    text = (inspect.getmodule(METHODS[method]) or object).__doc__ or ""
    reference = " ".join(text.partition("\nReference")[2].split())
    if not reference:
        return ""
    own = phrase("This project's own method, after: {work}")
    return say("Reference: {work}", work=reference) if METHODS[method].paper else say(own, work=reference)
