r"""DTPD: ID3 on records of bits that were sent as they are or turned round (compared with in paper 004).

Idea      Every answer is one bit, and the class too. Each person sends all bits with probability theta, and otherwise
          the complement of each of them. Shares of records in which some bits have some values follow from the reports,
          and ID3 needs nothing else.

Steps, as printed (mode="published")
  1  Every column becomes a bit: whether the value is in the second half of its bins, of its categories in the schema's
     order, or of the groups below its taxonomy's root. k classes become ceil(log2 k) bits.                 recode, free
  2  groups="one": all bits as they are with probability theta, otherwise all complements.             unprotected, all
     groups="each": every bit for itself.                                                                randomize, each
  3  For a conjunction E of bits within a group, and E' of their complements, with the reports' shares P*:
     P(E) = (theta P*(E) - (1 - theta) P*(E')) / (2 theta - 1). Over several groups these inverses multiply: a report
     counts, in each group that E touches, theta / (2 theta - 1) if it agrees with all of E there, -(1 - theta) /
     (2 theta - 1) if with nothing, and otherwise 0; P(E) is the mean of the products.               post-processing
  4  ID3: the bit of the largest information gain divides a node, until no bit is left or the classes agree. Estimates
     never quite do: here nodes end at depth 10 and below .001 of the people. Estimates are moved into [0, 1], and
     classes scaled to 1.                                                                         post-processing

Steps, corrected (mode="corrected"): epsilon is what all reports of one person cost together
  2  Every one of the r bits for itself, with theta = e^(epsilon / r) / (1 + e^(epsilon / r)).    randomize, epsilon / r
  4  A bit divides a node only if the reports say that it has to do with the class there (`certainty`); otherwise ID3
     takes the noise for gains, and a tree of leaves that know nothing. Nodes end at depth 5, below .02 of the people,
     and below .05 bits of entropy.                                                                   post-processing

Privacy   Local.
  Public    the schema, its taxonomies, theta; who takes part.
  2, each   Warner's rule for a bit: |ln (theta / (1 - theta))|. The r bits of a record add up.
  2, one    A report is the record or its complement. Two records that are neither equal nor complements have no report
            in common: whichever of them was sent is told apart for sure, and no epsilon holds.

What the paper claims, and where it is wrong
  It claims no epsilon. That theta hides a record is true against its complement only, so the rule for one group hides
  whether a person is x or exactly the opposite in everything, which hardly anybody is. Groups of one bit do have an
  epsilon, and the error of P(E) grows with 1 / (2 theta - 1) for every bit in E.

Reference  Du and Zhan, Using randomized response techniques for privacy-preserving data mining, KDD 2003.
           Warner, Randomized response, JASA 1965. Quinlan, Induction of decision trees, 1986.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Groups, attributes_of
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import Warner
from dpcore.methods.local.base import (
    LEAST,
    PAGES,
    REASONS,
    LocalSplit,
    LocalTree,
    Node,
    Stops,
    Survey,
    entropy,
    grow,
)
from dpcore.methods.parameters import choice, controls_of, number, presets_of
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import Questionnaire, Reports, families

CUTS, CHILDREN = "values", "halves"
NOTHING = 1e-6  # below this, 2 theta - 1 tells nothing that any number of people could make up for


def of_one_bit(method: Any, _: Schema) -> str:
    """What a bit gives away."""
    informative = abs(log(method.theta / (1 - method.theta)))
    return say("One bit alone: local epsilon **{told:.2f}**. At 1/2, reports would tell nothing.", told=informative)


class DTPD(LocalTree):
    """Decision tree learned from randomized bits (local DP).

    Du and Zhan 2003: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    theta
        As published: the probability that bits are sent as they are; not 1/2, where reports tell
        nothing.
    groups
        As published: whether all bits are kept or flipped together, or each by itself.
    min_entropy
        Nodes with a smaller entropy of the classes, in bits, are leaves; by default, as printed and
        corrected, 0 and .05.
    certainty
        Corrected mode: a bit splits a node only if its covariance with a class there is so many
        standard errors from 0. 0 asks for none, as published. 3 is what the bundled sample and
        simulated data bear out: with less, the trees of small epsilons grow on noise alone and fall
        below the majority class.
    """

    reference = phrase("Du and Zhan 2003")
    provable_published = "none, or per bit (none claimed)"
    presets = presets_of(PAGES, "DTPD")
    controls = controls_of(PAGES["DTPD"], theta={"note": of_one_bit})
    theta: float = number(default=0.7, most=1, open="(")
    groups: str = choice(default="one", options=("one", "each"))
    min_entropy: float | None = number(default=None)
    certainty: float = number(default=3.0)

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        if self.theta == 0.5:
            raise ParameterError("The 'theta' parameter is 1/2, at which reports tell nothing.", "Try 0.7.")

    def _survey(self, table: PrivateTable) -> Survey:
        schema = table.schema
        rules = Booleans(schema, self._target(schema, self.target))
        names, paper = families(rules.schema.names), self._published
        coin = Warner(p=float(self.theta)) if paper else Warner(epsilon=exact(self.epsilon) / len(names))
        together = [names] if paper and self.groups == "one" else []
        questions = Questionnaire(dict.fromkeys(names, coin), together=together)
        reasons = dict.fromkeys(names, REASONS[self.groups])
        return questions, reasons, rules.schema, rules.rules

    def untold(self, reports: Reports) -> str:
        coins = {channel.p if isinstance(channel, Warner) else None for channel in reports.channels.values()}
        if len(coins) != 1 or None in coins:
            return "They are not of a bit for every column."
        rules = Booleans(reports.source, reports.target)
        same_families = reports.schema == rules.schema and [*reports.channels] == families(rules.schema.names)
        same = len(rules.rules) == len(reports.recoded) and all(
            name == own and np.array_equal(rule, codes)
            for (name, rule), (own, codes) in zip(rules.rules, reports.recoded, strict=True)
        )
        return "" if same_families and same and not reports.asked else "They are not of a bit for every column."

    def _learn(self, progress: Progress) -> None:
        reports, paper = self.reports_, self._published
        rules, names = Booleans(reports.source, reports.target), [*reports.channels]
        coin = reports.channels[names[0]]
        assert isinstance(coin, Warner)
        bits = np.stack([reports.values[name] for name in names], axis=1)
        tied = [names.index(name) for group in reports.together for name in group]
        known = Conjunctions(bits, [tied] if tied else [[bit] for bit in range(len(names))], coin.p)
        least = (0.0 if paper else 0.05) if self.min_entropy is None else self.min_entropy
        self.forest_ = id3(known, rules, self._stops(least), progress, 0.0 if paper else float(self.certainty))


class Booleans:
    """A schema's columns as bits: public rules.

    `schema` is of the bits, of which a column with one value has none; `rules` are for
    `PrivateTable.recode`; `bit_of` says which bit a column has, by the column's position; `classes`
    has the bits of every class.
    """

    def __init__(self, source: Schema, target: str) -> None:
        self.source, self.target, columns = source, target, list[Column]()
        self.rules: list[tuple[str, NDArray[np.int64]]] = []
        self.bit_of: dict[int, int] = {}
        for position, attribute in attributes_of(source, target, cuts=CUTS, children=CHILDREN).items():
            assert isinstance(attribute, Groups)
            if attribute.fans[0] == 2:
                self.bit_of[position] = len(columns)
                names, known = tuple(attribute.names[index] for index in attribute.children[0]), attribute.column
                columns.append(Column(name=known.name, kind="ordered", categories=names, origin=known.origin))
                self.rules.append((attribute.column.name, attribute.child_of[0].astype(np.int64)))
        label = source[target]
        width, start = max((label.size - 1).bit_length(), 1), len(columns)
        for shift in reversed(range(width)):
            name, values = f"{target} bit {width - shift}", ("0", "1")
            if width == 1:
                name, values = target, (label.labels[0], label.labels[-1] if label.size == 2 else "(nothing else)")
            while name in {column.name for column in columns}:
                name += "'"
            columns.append(Column(name=name, kind="ordered", categories=values, origin=label.origin))
            self.rules.append((target, np.arange(label.size) >> shift & 1))
        self.schema = Schema(columns=tuple(columns), source=source.source, max_rows=source.max_rows)
        self.classes = [{start + i: code >> (width - 1 - i) & 1 for i in range(width)} for code in range(label.size)]


class Conjunctions:
    """Estimated shares of people of whom some bits have some values, from reports of shape (n, bits).

    The bits of a group were kept or turned round together, kept with probability `theta`; every bit
    is in one group.
    """

    def __init__(self, bits: NDArray[Any], groups: Sequence[Sequence[int]], theta: float) -> None:
        packed = np.packbits(bits.astype(bool), axis=1)
        _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
        self.people = len(bits)
        self.counts = counts.astype(float)
        self.bits = np.ascontiguousarray(bits[first].T.astype(np.uint8))  # records that differ
        self.group = {bit: index for index, group in enumerate(groups) for bit in group}
        gain = 2 * theta - 1
        informative = abs(gain) > NOTHING
        self.kept, self.turned = (theta / gain, (theta - 1) / gain) if informative else (0.5, 0.5)

    def weights(self, literals: Mapping[int, int]) -> Floats:
        """What every different record counts for a conjunction (bit: value); their mean is its share."""
        found = np.ones(len(self.counts))
        for index in {self.group[bit] for bit in literals}:
            agree = [self.bits[bit] == value for bit, value in literals.items() if self.group[bit] == index]
            same, none = np.logical_and.reduce(agree), ~np.logical_or.reduce(agree)
            found *= self.kept * same + self.turned * none
        return found

    def share(self, literals: Mapping[int, int]) -> float:
        """The share of people; without bias, so it may be negative or more than 1."""
        return self.mean(self.weights(literals))

    def mean(self, weights: Floats) -> float:
        """Of all records."""
        return float(self.counts @ weights) / max(self.people, 1)

    def certainty(self, among: Mapping[int, int], first: Mapping[int, int], second: Mapping[int, int]) -> float:
        """How many standard errors the covariance of two conjunctions lies from 0, among the people of a third."""
        here = self.weights(among)
        share = self.mean(here)
        if share <= 0:
            return 0.0
        one, other, both = (self.weights({**among, **more}) for more in (first, second, {**first, **second}))
        a, b = (min(max(self.mean(found) / share, 0.0), 1.0) for found in (one, other))
        # what each record adds, for shares a and b
        each = both - a * other - b * one + a * b * here
        mean = self.mean(each)
        spread = self.mean(each**2) - mean * mean
        return abs(mean) / float(np.sqrt(spread / self.people)) if spread > 0 else 0.0


def id3(known: Conjunctions, rules: Booleans, stops: Stops, progress: Progress, sure: float) -> Forest:
    """The tree that ID3 grows from estimated shares; a node holds the bits that lead to it.

    A bit splits a node only if its covariance with a class there is `sure` standard errors from 0,
    unless that is 0.
    """

    def classes(literals: Mapping[int, int]) -> Floats:
        return np.clip([known.share({**literals, **own}) for own in rules.classes], 0.0, 1.0)

    # what holds of one holds of the other
    tested = rules.classes[:1] if len(rules.classes) == 2 else rules.classes

    def divided(node: Node) -> LocalSplit | None:
        best, most = None, 0.0
        for position, bit in rules.bit_of.items():
            if bit in node.held:
                continue
            if sure and max(known.certainty(node.held, {bit: 1}, own) for own in tested) < sure:
                continue
            halves = [{**node.held, bit: value} for value in (0, 1)]
            shares = np.stack([classes(half) for half in halves])
            total = float(shares.sum())
            if not total:
                continue
            # Children are weighed against the node that they add up to, not against another estimate of it.
            gain = float(entropy(shares.sum(axis=0)) - (shares.sum(axis=1) / total) @ entropy(shares))
            if gain > most + LEAST:
                best, most = LocalSplit(position, np.nan, known.people * shares, halves), gain
        return best

    people = known.people * classes({})
    return grow(rules.source, rules.target, people, {}, divided, stops, progress, cuts=CUTS, children=CHILDREN)
